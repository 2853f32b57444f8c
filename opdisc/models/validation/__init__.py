"""How a released card does on new private rows: noisy counts, their intervals, one receipt."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
