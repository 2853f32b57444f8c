"""Publishable integer scorecards from small sensitive tables, under differential privacy.

A table goes through the folders like this. ``data`` reads and encodes it by a public schema.
``planning`` chooses a mechanism from public facts. ``calibration`` and ``noise`` make the
mechanism private. ``mechanisms`` and ``convex`` run it. ``models`` holds what is released, and
``privacy`` what is promised about it. ``estimators`` and ``cli`` are the doors; ``audit``,
``comparison`` and ``report`` test and compare.
"""

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["__version__", *__all__]
