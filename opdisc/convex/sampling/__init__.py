"""Mechanisms that draw parameters: exponential sampling, grid walks, vertices of a simplex."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
