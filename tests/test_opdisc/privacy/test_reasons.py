"""Reasons on a receipt: brief first, nothing lost."""

import pytest

from opdisc.privacy.reasons import all_reasons, count_in_words, reason, split_reason


def test_brief_parts_come_before_all_details():
    both = all_reasons(reason("few cards", "grid"), reason("small points", "weights"))
    assert both == "few cards; small points; in detail: grid; weights"
    assert split_reason(both) == ("few cards; small points", "grid; weights")
    assert (
        all_reasons("", reason("a", "b")) == all_reasons(reason("a", "b"), "") == "a; in detail: b"
    )
    assert all_reasons("plain", reason("a", "b")) == "plain; a; in detail: b"
    assert all_reasons("plain", "more") == "plain; more"


def test_a_long_reason_of_an_older_version_is_detail():
    assert split_reason("short") == ("short", "")
    assert split_reason("long " * 40) == ("", "long " * 40)
    assert split_reason("") == ("", "")


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
