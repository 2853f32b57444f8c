from .error_costs import LARGEST_COST as LARGEST_COST, ErrorCosts as ErrorCosts
from .grid import (
    ENUMERATION_LIMIT as ENUMERATION_LIMIT,
    Alternatives as Alternatives,
    Hypothesis as Hypothesis,
    WeightGrid as WeightGrid,
    coordinates_of as coordinates_of,
    grid_assignments as grid_assignments,
    hypothesis_at as hypothesis_at,
    members as members,
    require_no_alternatives as require_no_alternatives,
    squared_norms as squared_norms,
)
from .level_weights import (
    LevelWeights as LevelWeights,
    all_sizes as all_sizes,
    size_counts as size_counts,
)
from .perturbation import Perturbation as Perturbation
from .product_weights import LogWeights as LogWeights, checked_weights as checked_weights
from .structure import ColumnGroup as ColumnGroup, complete_structure as complete_structure
from .table import TabularProblem as TabularProblem
from .zero_one import ZeroOneProblem as ZeroOneProblem
