"""The tree of block relaxations: its root, its nodes, their columns, and the search."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
