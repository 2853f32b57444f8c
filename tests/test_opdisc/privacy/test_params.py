"""Who is protected, in the same words wherever a privacy unit is named."""

from dataclasses import dataclass

import pytest
from helpers.opdisc.ledger_receipts import receipt
from msgspec.structs import replace

from opdisc.privacy import stated_rows, unit_in_words


def test_a_unit_of_several_rows_says_how_many_and_one_row_goes_without_saying():
    assert unit_in_words("one patient", 3) == "one patient (at most 3 rows)"
    assert unit_in_words("one patient", 1200) == "one patient (at most 1,200 rows)"
    assert unit_in_words("one row", 1) == unit_in_words("one row", None) == "one row"


@dataclass(frozen=True)
class Counted:
    """A receipt of another package that tells how many rows a unit has."""

    relation: str = "add_or_remove_one"
    rows_per_unit: int = 3


@dataclass(frozen=True)
class Scored:
    relation: str = "add_or_remove_one"
    score_sensitivity: int = 4


def test_the_rows_of_a_unit_are_read_from_whatever_tells_them():
    assert stated_rows(Counted()) == 3 and stated_rows(Scored()) == 4
    assert stated_rows(object()) is None
    assert stated_rows(replace(receipt(), rows_per_unit=4)) == 4


@pytest.mark.parametrize(
    ("relation", "mechanism", "sensitivity", "rows"),
    [
        ("replace_one", "m", 2, 1),
        ("replace_one", "m", 10, 5),
        ("add_or_remove_one", "m", 5, 5),
        ("replace_one", "robust_vote", 6, 3),
        ("add_or_remove_one", "robust_vote", 6, 3),
        ("replace_one", "m", 0, None),
    ],
)
def test_a_receipt_of_an_older_version_says_what_its_sensitivity_tells(
    relation, mechanism, sensitivity, rows
):
    older = replace(
        receipt(), relation=relation, mechanism=mechanism, sensitivity=sensitivity, n_rows=None
    )
    assert older.rows_per_unit is None and "rows_per_unit" not in older.to_dict()
    assert stated_rows(type(older).from_dict(older.to_dict())) == rows
    words = unit_in_words("one row", rows)
    assert f"privacy unit: {words}\n" in str(older) and f"{words} (" in older.brief()
