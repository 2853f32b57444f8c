"""Robust vote: a guarantee that does not rest on the learner or on its oracle."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
