"""The conformance kit that every oracle must pass, and the brute force behind it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
