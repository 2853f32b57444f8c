from .balls import L1Ball as L1Ball
from .balls import L2Ball as L2Ball
from .domain import ExactDomain as ExactDomain
from .polytopes import Box as Box
from .polytopes import Simplex as Simplex
