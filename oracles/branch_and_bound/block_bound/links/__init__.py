"""Links between blocks: what one block's points cost by the scores of others, and messages."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
