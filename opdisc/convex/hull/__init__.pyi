from .logistic_function import sigmoid as sigmoid
from .mechanism import (
    MOST_EPSILON as MOST_EPSILON,
    hull_perturbation as hull_perturbation,
    hull_receipt as hull_receipt,
    suits_hull as suits_hull,
)
from .shape import HullShape as HullShape, mean_square as mean_square
