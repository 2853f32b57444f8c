"""Receipts, one of each kind of release: what was promised, and how it is read."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
