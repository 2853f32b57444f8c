"""The command ``schema``: a schema file from a header, its questions, and what does not match."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
