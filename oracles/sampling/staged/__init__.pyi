from .joint import (
    Direction as Direction,
    JointSteps as JointSteps,
    draw_joint as draw_joint,
)
from .points import MOST_LEVELS as MOST_LEVELS, BinaryPoints as BinaryPoints
from .sparse_cards import (
    CardLevels as CardLevels,
    CardWalk as CardWalk,
    SparseCards as SparseCards,
    draw_sparse_card as draw_sparse_card,
)
from .stumps import Stumps as Stumps, draw_stump as draw_stump, stump_card as stump_card
from .work import (
    LARGEST_TABLES as LARGEST_TABLES,
    joint_work as joint_work,
    sparse_memory as sparse_memory,
    sparse_work as sparse_work,
)
