from .axes import GRID as GRID, INK as INK, MUTED as MUTED, PAPER as PAPER
from .plate import Plate as Plate, plates as plates
from .style import (
    DARK_BACKGROUND as DARK_BACKGROUND,
    LIGHT_BACKGROUND as LIGHT_BACKGROUND,
    Style as Style,
    styles as styles,
)
from .svg import color_rules as color_rules
