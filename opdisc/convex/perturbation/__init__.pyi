from .objective import (
    approximate_minima as approximate_minima,
    l2_draw as l2_draw,
    objective_perturbation as objective_perturbation,
)
from .objective_calibration import predicted_choice as predicted_choice, pure_scale as pure_scale
from .objective_plan import (
    ACCURACY_CONDITION as ACCURACY_CONDITION,
    OUTPUT_SHARE as OUTPUT_SHARE,
    RELATIVE_ACCURACY as RELATIVE_ACCURACY,
    TAIL as TAIL,
    TYPICAL_MARGIN as TYPICAL_MARGIN,
    ObjectiveNoise as ObjectiveNoise,
    output_noise_scale as output_noise_scale,
    plan_objective_perturbation as plan_objective_perturbation,
    require_ridge as require_ridge,
)
from .output import output_perturbation as output_perturbation
