"""Counted draws for any number of columns: sparse cards, joint steps along directions, stumps."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
