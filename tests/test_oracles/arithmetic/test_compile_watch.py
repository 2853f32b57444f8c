"""Whoever waits learns that kernels are being compiled."""

import numba

from oracles.arithmetic import compiling, is_watched, njit, watch_compiling


def test_whoever_watches_is_told_once_of_nested_compiling():
    told = []
    with watch_compiling(told.append):
        with compiling(), compiling():
            assert told == [True]
        assert told == [True, False]
    with compiling():
        pass
    assert told == [True, False] and not is_watched()


def test_numba_tells_that_it_compiles():
    @njit(cache=False)
    def twice(number):
        return 2 * number

    told = []
    with watch_compiling(told.append):
        assert twice(3) == 6 and twice(4) == 8
    assert told == [True, False] and isinstance(twice, numba.core.dispatcher.Dispatcher)
