from .mechanism import hull_perturbation as hull_perturbation, suits_hull as suits_hull
from .shape import HullShape as HullShape
