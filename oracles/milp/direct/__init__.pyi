from .licences import REFUSALS as REFUSALS
from .oracle import DirectOracle as DirectOracle
from .profiles import DirectProfile as DirectProfile, direct_profile as direct_profile
