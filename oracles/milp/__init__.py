"""Mixed-integer programs: the encodings, and a back end for each solver."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
