from .reach import (
    SAMPLING_LIMITS as SAMPLING_LIMITS,
    can_flip_by_a_star as can_flip_by_a_star,
    can_list as can_list,
    can_sample as can_sample,
    draw_is_short as draw_is_short,
    is_light as is_light,
    is_searched as is_searched,
)
from .work import (
    LARGEST_MEMORY as LARGEST_MEMORY,
    PATIENCE as PATIENCE,
    Work as Work,
    predict_draw as predict_draw,
    predict_work as predict_work,
)
