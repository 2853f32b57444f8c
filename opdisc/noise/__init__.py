"""Exact samplers of noise, their distance from the law, and how much accuracy a law may cost."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
