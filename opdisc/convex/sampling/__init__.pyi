from .exponential import exponential_sampling as exponential_sampling
from .grid_walk import grid_walk_sampling as grid_walk_sampling
from .localized import localization as localization
from .vertex_steps import frank_wolfe as frank_wolfe
