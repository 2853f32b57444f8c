from .enumeration.table_oracle import TabularOracle as TabularOracle
from .errors import (
    FormulationError as FormulationError,
    InconsistentSolution as InconsistentSolution,
    InvalidOption as InvalidOption,
    InvalidProblem as InvalidProblem,
    NoHypothesis as NoHypothesis,
    OracleError as OracleError,
    OracleUnavailable as OracleUnavailable,
    UnsupportedProblem as UnsupportedProblem,
)
from .interface.oracle import Oracle as Oracle, SolveOptions as SolveOptions
from .interface.registry import (
    available_oracles as available_oracles,
    get_oracle as get_oracle,
    oracle_versions as oracle_versions,
    register_oracle as register_oracle,
)
from .interface.solution import (
    Certificate as Certificate,
    Claim as Claim,
    Limit as Limit,
    Solution as Solution,
    SolveStats as SolveStats,
    Termination as Termination,
)
from .interface.solving import solve as solve
from .problem.grid import Hypothesis as Hypothesis, WeightGrid as WeightGrid
from .problem.perturbation import Perturbation as Perturbation
from .problem.table import TabularProblem as TabularProblem
from .problem.zero_one import ZeroOneProblem as ZeroOneProblem
