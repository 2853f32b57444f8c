"""What goes elsewhere: a scorecard as SQL, Python, PMML, Excel, ONNX, FHIR and a record."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
