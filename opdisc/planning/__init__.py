"""Before anything is spent: which mechanism, which weights, what error to expect."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
