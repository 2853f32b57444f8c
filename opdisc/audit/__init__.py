"""Audits: measured lower bounds on epsilon, against what a mechanism claims."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
