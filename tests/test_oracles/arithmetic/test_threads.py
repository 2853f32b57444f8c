"""Matrix products on one thread."""

from __future__ import annotations

from threadpoolctl import threadpool_info

from oracles.arithmetic.threads import products_on_one_thread


def test_products_take_one_thread_within_and_as_many_as_before_after():
    def threads():
        return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]

    before = threads()
    with products_on_one_thread():
        assert threads() == [1] * len(before)
    assert threads() == before
