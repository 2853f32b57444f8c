"""Pricing a block whose states are nearly all joint values: each context by its own columns."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
