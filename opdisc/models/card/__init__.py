"""Cards people can use: a released scorecard as a page, a picture and text."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
