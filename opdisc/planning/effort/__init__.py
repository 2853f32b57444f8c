"""What a fit would take, from public facts: whether a draw ends soon, seconds and memory."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
