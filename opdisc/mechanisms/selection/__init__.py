"""Private selection: the best of several private fits, paid for by a random number of trials."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
