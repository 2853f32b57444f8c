from .a_star import (
    ROUNDING as ROUNDING,
    check_a_star as check_a_star,
    check_a_star_table as check_a_star_table,
    minimise_by_a_star as minimise_by_a_star,
)
from .by_levels import sample_by_levels as sample_by_levels
from .effort import (
    FAST_NATS as FAST_NATS,
    FAST_WORK as FAST_WORK,
    FLAT_NATS as FLAT_NATS,
    LARGEST_GRID_BITS as LARGEST_GRID_BITS,
    sampling_reach as sampling_reach,
)
from .elimination.blocks import LARGEST_BLOCK as LARGEST_BLOCK, choose_blocks as choose_blocks
from .listed import (
    draw_level as draw_level,
    draw_weighted as draw_weighted,
    sample_by_enumeration as sample_by_enumeration,
)
from .options import (
    DrawProgress as DrawProgress,
    SamplingDiagnostics as SamplingDiagnostics,
    SamplingOptions as SamplingOptions,
    SamplingProgress as SamplingProgress,
    SearchDiagnostics as SearchDiagnostics,
    SearchProgress as SearchProgress,
)
from .rejection.sampler import PartitionSampler as PartitionSampler
from .sparse import (
    check_sparse_table as check_sparse_table,
    is_sparse as is_sparse,
    sample_sparse as sample_sparse,
)
from .staged.directions import Direction as Direction, deal_directions as deal_directions
from .staged.joint import JointSteps as JointSteps, draw_joint as draw_joint
from .staged.points import MOST_LEVELS as MOST_LEVELS, BinaryPoints as BinaryPoints
from .staged.sparse_cards import SparseCards as SparseCards, draw_sparse_card as draw_sparse_card
from .staged.stumps import Stumps as Stumps, draw_stump as draw_stump
from .staged.work import (
    LARGEST_TABLES as LARGEST_TABLES,
    joint_work as joint_work,
    sparse_memory as sparse_memory,
    sparse_work as sparse_work,
)
