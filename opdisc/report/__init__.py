"""The report of a comparison: one HTML page, figures and a table of means.

Importing this package is cheap; drawing libraries load when a report is written.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
