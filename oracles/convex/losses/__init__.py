"""Losses of one row as functions of a linear score: values, slopes, conjugates, constants."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
