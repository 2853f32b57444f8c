"""Publishable integer scorecards from small sensitive tables, under differential privacy.

The public names are those of the stub beside this file; each is imported when it is first used.
"""

import lazy_loader

__version__ = "0.1.0.dev0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["__version__", *__all__]
