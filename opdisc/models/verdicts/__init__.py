"""What to know of a released card before its points, as an honest colleague says it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
