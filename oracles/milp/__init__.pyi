from .cp_sat import CpSatOracle as CpSatOracle
from .direct_oracle import DirectOracle as DirectOracle
from .formulation import formulate as formulate
from .highs import HighsOracle as HighsOracle
from .program import MixedIntegerProgram as MixedIntegerProgram
from .pulp_oracle import PulpOracle as PulpOracle
from .size import (
    ProgramSize as ProgramSize,
    largest_program as largest_program,
    problem_beyond as problem_beyond,
)
