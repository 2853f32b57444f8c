"""Matrix products on one thread."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager

from threadpoolctl import ThreadpoolController


def products_on_one_thread() -> AbstractContextManager[object]:
    """Return a context within which numpy multiplies matrices on one thread.

    Many small products lose on several threads: those wait for each other, on a busy machine for
    50 times as long as the product takes.
    """
    limited: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limited


@functools.cache
def _controller() -> ThreadpoolController:
    """Return what knows the loaded libraries; looking for them takes a while."""
    return ThreadpoolController()
