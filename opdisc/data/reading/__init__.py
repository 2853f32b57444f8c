"""Tables as they come in: files read as text, and what a receipt may assume of them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
