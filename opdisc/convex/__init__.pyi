from .defaults import RUNNERS as RUNNERS
from .features import LinearFeatures as LinearFeatures
from .given_start import (
    CONSTANT as CONSTANT,
    Pilot as Pilot,
    Prior as Prior,
    start_from as start_from,
    whole_points as whole_points,
)
from .gradient.full_gradient import (
    accelerated_mirror_descent as accelerated_mirror_descent,
    gradient_descent as gradient_descent,
)
from .gradient.one_pass import mirror_descent as mirror_descent
from .gradient.stochastic import BatchPlan as BatchPlan, noisy_sgd as noisy_sgd
from .gradient.variance_reduced import SVRGPlan as SVRGPlan, svrg as svrg
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
from .noise_plan import ConvexRelease as ConvexRelease, NoisePlan as NoisePlan, release as release
from .perturbation.objective import (
    approximate_minima as approximate_minima,
    objective_perturbation as objective_perturbation,
)
from .perturbation.objective_calibration import published_j14 as published_j14
from .perturbation.output import output_perturbation as output_perturbation
from .public import ConvexPublic as ConvexPublic, convex_params as convex_params
from .rows import Rows as Rows
from .sampling.exponential import exponential_sampling as exponential_sampling
from .sampling.ftrl import OnlineRelease as OnlineRelease, private_ftrl as private_ftrl
from .sampling.grid_walk import grid_walk_sampling as grid_walk_sampling
from .sampling.localized import localization as localization
from .sampling.simplex import simplex_sampling as simplex_sampling, zcdp_budget as zcdp_budget
from .sampling.vertex_steps import frank_wolfe as frank_wolfe
from .start import (
    MADE_WITHOUT_ROWS as MADE_WITHOUT_ROWS,
    PublicStart as PublicStart,
    rounded_weights as rounded_weights,
)
