"""Adaptive rejection: a partition of the grid under a lower bound that can be summed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
