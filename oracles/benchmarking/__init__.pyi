from .measurement import (
    Measurement as Measurement,
    OracleProcess as OracleProcess,
    Ratio as Ratio,
    compare_times as compare_times,
    machine_facts as machine_facts,
)
