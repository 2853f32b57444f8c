from . import (
    bounds as bounds,
    branching as branching,
    children as children,
    completion as completion,
    search as search,
)
