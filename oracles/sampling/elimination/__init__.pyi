from .block_sum import BlockDraws as BlockDraws, BlockSum as BlockSum
from .blocks import (
    ColumnBlock as ColumnBlock,
    block_work as block_work,
    choose_blocks as choose_blocks,
)
from .draw_kernels import (
    BROKEN as BROKEN,
    CANDIDATE as CANDIDATE,
    WORDS_TO_SPARE as WORDS_TO_SPARE,
    first_look as first_look,
)
