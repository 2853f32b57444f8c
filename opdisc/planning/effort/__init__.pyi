from .blocks import (
    BLOCK_ASSIGNMENTS as BLOCK_ASSIGNMENTS,
    LARGEST_SEARCHED_BLOCK as LARGEST_SEARCHED_BLOCK,
    even_blocks as even_blocks,
    searchable_blocks as searchable_blocks,
)
from .reach import (
    can_flip_by_a_star as can_flip_by_a_star,
    can_list as can_list,
    is_searched as is_searched,
)
from .work import (
    LARGEST_MEMORY as LARGEST_MEMORY,
    PATIENCE as PATIENCE,
    Work as Work,
    predict_draw as predict_draw,
    predict_work as predict_work,
)
