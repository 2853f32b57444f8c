"""Where runs are carried out: processes here or on a cluster, watched and limited."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
