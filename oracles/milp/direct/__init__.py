"""Solvers called through their own Python interfaces: an oracle, and what is known of each."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
