from .drawing import (
    GRID as GRID,
    INK as INK,
    MUTED as MUTED,
    PAPER as PAPER,
    REFERENCE_DASH as REFERENCE_DASH,
    Drawing as Drawing,
    color_rules as color_rules,
)
from .marks import draw_mark as draw_mark
from .plate import Plate as Plate, plates as plates
from .style import (
    DARK_BACKGROUND as DARK_BACKGROUND,
    LIGHT_BACKGROUND as LIGHT_BACKGROUND,
    Style as Style,
    styles as styles,
)
