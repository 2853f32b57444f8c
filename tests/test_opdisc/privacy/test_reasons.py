"""Reasons on a receipt: brief first, nothing lost."""

import pytest

from opdisc.privacy.reasons import Reason, count_in_words


def test_brief_parts_come_before_all_details():
    both = Reason("few cards", "grid").and_also(Reason("small points", "weights"))
    assert both == Reason("few cards; small points", "grid; weights")
    assert str(both) == "few cards; small points; in detail: grid; weights"
    alone = Reason("a", "b")
    assert Reason().and_also(alone) == alone.and_also(Reason()) == alone
    assert Reason("plain").and_also(Reason("more")) == Reason("plain; more")


def test_a_reason_that_says_nothing_is_false():
    assert not Reason() and Reason("a") and Reason(detail="b")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (3, "3"),
        (6561, "6,561"),
        (999_999, "999,999"),
        (1_594_323, "1.6 million"),
        (994_999_999, "995 million"),
        (10**9, "1.0 billion"),
        (3**28, "10^13"),
        (10**400, "10^400"),
    ],
)
def test_counts_are_said_as_one_says_them(number, words):
    assert count_in_words(number) == words


def test_counts_of_more_digits_than_python_prints_are_said_too():
    assert count_in_words(3**10_000) == "10^4771"
