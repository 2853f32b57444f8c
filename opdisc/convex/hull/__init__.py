"""Logistic regression with noise in the shape of the rows that a schema allows, drawn exactly."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
