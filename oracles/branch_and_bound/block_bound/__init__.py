"""The block bound: exact minima over blocks of columns that share out the cost of every point."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
