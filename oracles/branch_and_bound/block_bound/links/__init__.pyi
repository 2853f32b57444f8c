from .kernels import (
    add_tables as add_tables,
    add_up as add_up,
    charge_levels as charge_levels,
    pull_messages as pull_messages,
    step_messages as step_messages,
)
from .links import (
    WIDEST_LINK as WIDEST_LINK,
    BlockLinks as BlockLinks,
    Links as Links,
    PricedLinks as PricedLinks,
    inherit as inherit,
    new_links as new_links,
)
