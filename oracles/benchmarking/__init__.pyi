from .measurement import Measurement as Measurement
from .measurement import OracleProcess as OracleProcess
from .measurement import Ratio as Ratio
from .measurement import compare_times as compare_times
from .measurement import machine_facts as machine_facts
