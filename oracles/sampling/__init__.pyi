from .a_star import (
    ROUNDING as ROUNDING,
    check_a_star as check_a_star,
    check_a_star_table as check_a_star_table,
    minimise_by_a_star as minimise_by_a_star,
)
from .by_levels import sample_by_levels as sample_by_levels
from .diagnostics import SearchDiagnostics as SearchDiagnostics, SearchProgress as SearchProgress
from .joint import Direction as Direction, JointSteps as JointSteps, draw_joint as draw_joint
from .listed import (
    draw_level as draw_level,
    draw_weighted as draw_weighted,
    sample_by_enumeration as sample_by_enumeration,
)
from .sparse import (
    check_sparse_table as check_sparse_table,
    is_sparse as is_sparse,
    sample_sparse as sample_sparse,
)
from .sparse_candidates import SparseCards as SparseCards
from .sparse_cards import (
    CardWalk as CardWalk,
    draw_sparse_card as draw_sparse_card,
    draw_weighed_card as draw_weighed_card,
)
from .staged_points import MOST_LEVELS as MOST_LEVELS, BinaryPoints as BinaryPoints
from .staged_work import (
    LARGEST_TABLES as LARGEST_TABLES,
    joint_work as joint_work,
    sparse_memory as sparse_memory,
    sparse_work as sparse_work,
)
from .stumps import Stumps as Stumps, draw_stump as draw_stump
