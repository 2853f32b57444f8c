"""Private mechanisms over finite grids of hypotheses, and how one is run."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
