"""Convex private learning: small functions over a loss and a convex set, each with a receipt."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
