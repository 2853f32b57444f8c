"""Exact draws from the law ``exp(-beta * loss)`` over a grid of hypotheses."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
