"""Mechanisms for any table of losses and for a minimiser that the user brings."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
