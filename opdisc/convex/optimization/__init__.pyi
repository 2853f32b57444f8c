from .minimisation import (
    NotReached as NotReached,
    minimise as minimise,
    minimise_on as minimise_on,
    row_spectrum as row_spectrum,
)
from .mirror_maps import Geometry as Geometry, MirrorMap as MirrorMap, mirror_map as mirror_map
from .noiseless import noiseless_minimum as noiseless_minimum, noiseless_plan as noiseless_plan
