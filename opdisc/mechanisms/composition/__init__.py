"""Several releases under one charge: a card with its risks, cards for several classes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
