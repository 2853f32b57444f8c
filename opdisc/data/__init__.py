"""Tables: schemas, features and columns, cells, encoding row by row, files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
