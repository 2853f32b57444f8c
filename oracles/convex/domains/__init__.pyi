from .balls import L1Ball as L1Ball, L2Ball as L2Ball
from .domain import ExactDomain as ExactDomain
from .polytopes import Box as Box, Simplex as Simplex
