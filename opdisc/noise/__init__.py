"""Exact samplers of noise: lattice laws, real laws with their distance from the exact ones."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
