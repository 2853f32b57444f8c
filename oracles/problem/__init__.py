"""The problem: points with counts, a grid of weights, a perturbation, its structure."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
