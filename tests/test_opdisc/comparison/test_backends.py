"""Workers of a comparison: what their own thread may say."""

import threading

import pytest

from opdisc.comparison.backends import _without_the_race


@pytest.mark.parametrize(
    ("name", "error", "told"),
    [
        ("ExecutorManagerThread", KeyError, False),
        ("ExecutorManagerThread", ValueError, True),
        ("another", KeyError, True),
    ],
)
def test_only_the_race_of_a_cancelled_call_is_hidden(monkeypatch, name, error, told):
    seen = []
    monkeypatch.setattr(threading, "excepthook", seen.append)
    before = threading.excepthook

    def fail():
        raise error(9)

    with _without_the_race():
        thread = threading.Thread(target=fail, name=name)
        thread.start()
        thread.join()
    assert [args.exc_type for args in seen] == [error] * told
    assert threading.excepthook == before
