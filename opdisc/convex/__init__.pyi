from .defaults import RUNNERS as RUNNERS
from .features import LinearFeatures as LinearFeatures
from .full_gradient import (
    accelerated_mirror_descent as accelerated_mirror_descent,
    gradient_descent as gradient_descent,
)
from .given_start import (
    CONSTANT as CONSTANT,
    Pilot as Pilot,
    Prior as Prior,
    start_from as start_from,
    whole_points as whole_points,
)
from .hull.box import BOX_STEPS as BOX_STEPS, box_shape as box_shape, box_table as box_table
from .hull.mechanism import (
    MOST_EPSILON as MOST_EPSILON,
    hull_perturbation as hull_perturbation,
    hull_receipt as hull_receipt,
    largest_score as largest_score,
    suits_hull as suits_hull,
)
from .hull.pilot import weights_of_rows as weights_of_rows
from .hull.shape import HullShape as HullShape, mean_square as mean_square
from .hull.smooth import smooth_hull_perturbation as smooth_hull_perturbation
from .minimisation import (
    NotReached as NotReached,
    minimise as minimise,
    minimise_on as minimise_on,
    row_spectrum as row_spectrum,
)
from .noise_plan import ConvexRelease as ConvexRelease, NoisePlan as NoisePlan, prepare as prepare
from .noiseless import noiseless_minimum as noiseless_minimum, noiseless_plan as noiseless_plan
from .objective import (
    approximate_minima as approximate_minima,
    l2_draw as l2_draw,
    objective_perturbation as objective_perturbation,
)
from .objective_calibration import (
    predicted_choice as predicted_choice,
    published_j14 as published_j14,
    pure_scale as pure_scale,
)
from .objective_plan import (
    ACCURACY_CONDITION as ACCURACY_CONDITION,
    OUTPUT_SHARE as OUTPUT_SHARE,
    RELATIVE_ACCURACY as RELATIVE_ACCURACY,
    TAIL as TAIL,
    output_noise_scale as output_noise_scale,
    plan_objective_perturbation as plan_objective_perturbation,
    require_ridge as require_ridge,
)
from .one_pass import mirror_descent as mirror_descent
from .output import output_perturbation as output_perturbation
from .public import ConvexPublic as ConvexPublic, convex_params as convex_params
from .rows import Rows as Rows
from .sampling.exponential import exponential_sampling as exponential_sampling
from .sampling.ftrl import OnlineRelease as OnlineRelease, private_ftrl as private_ftrl
from .sampling.grid_walk import grid_walk_sampling as grid_walk_sampling
from .sampling.localized import localization as localization
from .sampling.online import OnlineLearner as OnlineLearner
from .sampling.simplex import simplex_sampling as simplex_sampling, zcdp_budget as zcdp_budget
from .sampling.vertex_steps import frank_wolfe as frank_wolfe
from .start import (
    MADE_WITHOUT_ROWS as MADE_WITHOUT_ROWS,
    PublicStart as PublicStart,
    rounded_weights as rounded_weights,
)
from .stochastic import BatchPlan as BatchPlan, noisy_sgd as noisy_sgd
from .variance_reduced import SVRGPlan as SVRGPlan, svrg as svrg
