"""Figures of a report as SVG, drawn without any other package: axes, curves, plates, styles."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
