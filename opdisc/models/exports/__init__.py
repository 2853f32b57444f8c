"""What goes elsewhere: a released scorecard as SQL, Python, PMML, Excel, ONNX and a record."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
