"""Classifiers that release scorecards: one, one by a named mechanism, several, an elected one."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
