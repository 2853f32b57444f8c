from .blocks import (
    BLOCK_ASSIGNMENTS as BLOCK_ASSIGNMENTS,
    LARGEST_SEARCHED_BLOCK as LARGEST_SEARCHED_BLOCK,
    even_blocks as even_blocks,
    searchable_blocks as searchable_blocks,
)
from .work import (
    LARGEST_MEMORY as LARGEST_MEMORY,
    PATIENCE as PATIENCE,
    ends_soon as ends_soon,
    predict_draw as predict_draw,
    predict_work as predict_work,
)
