"""RSPM: noise on a set of rows that separates all hypotheses."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
