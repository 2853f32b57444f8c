"""Cards for other programs: a released scorecard as PMML and as a sheet with formulas."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
