"""A prediction that is ended halfway leaves no scored row."""

import os
import signal
import threading

import numpy as np
import pytest

from opdisc.cli.fitting.scored_parts import ScoredPart, written_parts

PART = ScoredPart(
    names=("x",), cells=(["1"],), own={"prediction": np.array(["yes"], dtype=object)}
)


@pytest.mark.parametrize(
    "name", ["a.csv", pytest.param("a.parquet", marks=pytest.mark.extras("pyarrow"))]
)
def test_a_request_to_end_leaves_nothing_behind(name, tmp_path):
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread alone")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    with pytest.raises(SystemExit) as ended, written_parts(tmp_path / name, False) as write:
        write(PART)
        assert [path.suffix for path in tmp_path.iterdir()] == [".tmp"]
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
    assert ended.value.code == 143
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_handler_of_somebody_else_stays(tmp_path):
    def other(*_):
        raise KeyError

    before = signal.signal(signal.SIGTERM, other)
    try:
        with written_parts(tmp_path / "a.csv", False) as write:
            write(PART)
            assert signal.getsignal(signal.SIGTERM) is other
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (tmp_path / "a.csv").read_text(encoding="utf-8") == "x,prediction\n1,yes\n"
