from .objective import (
    approximate_minima as approximate_minima,
    objective_perturbation as objective_perturbation,
)
from .objective_plan import (
    ACCURACY_CONDITION as ACCURACY_CONDITION,
    RELATIVE_ACCURACY as RELATIVE_ACCURACY,
    TAIL as TAIL,
    ObjectiveNoise as ObjectiveNoise,
    plan_objective_perturbation as plan_objective_perturbation,
    require_ridge as require_ridge,
)
from .output import output_perturbation as output_perturbation
