"""scikit-learn estimators: classifiers and regressors that spend a budget in ``fit``."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
