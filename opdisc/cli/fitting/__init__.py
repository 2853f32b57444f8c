"""From a file to a model and its predictions: what fit, plan, predict and demo share."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
