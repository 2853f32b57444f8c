from .handover import HandoverOracle as HandoverOracle
from .observation import observed_solves as observed_solves
from .oracle import (
    Oracle as Oracle,
    Progress as Progress,
    SolveOptions as SolveOptions,
    refusal as refusal,
)
from .registry import (
    ORACLES as ORACLES,
    OracleEntry as OracleEntry,
    Registry as Registry,
    available_oracles as available_oracles,
    get_oracle as get_oracle,
    oracle_versions as oracle_versions,
)
from .size import FREE_SIZES as FREE_SIZES, SizeLimit as SizeLimit
from .solution import (
    Certificate as Certificate,
    Claim as Claim,
    Limit as Limit,
    Solution as Solution,
    Termination as Termination,
)
from .solving import resolve_oracle as resolve_oracle, solve as solve
