"""Exact minimisation of weighted 0/1 loss over finite grids of integer weights.

The whole interface: state a :class:`ZeroOneProblem`, call :func:`solve`, read the
:class:`Certificate`. Solvers are imported only when they are asked for by name.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
