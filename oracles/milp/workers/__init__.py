"""Worker processes for solvers of other projects: programs in, reports and answers out."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
