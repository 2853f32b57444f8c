"""The ledger: a file that records every epsilon spent on a table, before anything is released."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
