from .cp_sat import CpSatOracle as CpSatOracle
from .direct import DirectOracle as DirectOracle
from .formulation import formulate as formulate
from .highs import HighsOracle as HighsOracle
from .program import MixedIntegerProgram as MixedIntegerProgram
from .pulp_oracle import PulpOracle as PulpOracle
