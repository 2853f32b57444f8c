from .objective import approximate_minima as approximate_minima
from .objective import objective_perturbation as objective_perturbation
from .objective_plan import ACCURACY_CONDITION as ACCURACY_CONDITION
from .objective_plan import RELATIVE_ACCURACY as RELATIVE_ACCURACY
from .objective_plan import TAIL as TAIL
from .objective_plan import ObjectiveNoise as ObjectiveNoise
from .objective_plan import require_ridge as require_ridge
from .output import output_perturbation as output_perturbation
