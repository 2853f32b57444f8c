"""Whoever waits learns that kernels are being compiled."""

import numba

from oracles.arithmetic import compiled, compiling, is_watched, watch_compiling


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
    @compiled
    def twice(number):
        return 2 * number

    @numba.njit
    def four_times(number):
        return twice(twice(number))

    told = []
    with watch_compiling(told.append):
        assert four_times(3) == 12 and four_times(4) == 16
    assert told == [True, False] and isinstance(twice, numba.core.dispatcher.Dispatcher)
