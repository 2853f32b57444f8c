"""What distinct points may take: announced by a plan, or one sentence before the spend."""

import traceback

import pandas as pd
import pytest
from helpers.opdisc.command_lines import told

from opdisc import PrivateScorecardClassifier
from opdisc.data.counting import count_rows, row_counts
from opdisc.data.schema import Schema
from opdisc.errors import TableError
from opdisc.planning.points_memory import points_note
from opdisc.privacy import Ledger

WIDE = Schema.from_dict(
    {
        "name": "wide",
        "target": {"column": "y", "positive": 1, "negative": 0},
        "feature": [{"column": f"x{at}", "binary": True} for at in range(40)],
    }
)
SMALL = Schema.equal_width(3)


def test_the_note_is_of_public_numbers_and_counts_the_schemas_own_combinations():
    assert points_note(SMALL, 10**12) == ""  # eight combinations, whatever the rows are
    assert points_note(WIDE, None) == points_note(WIDE, 10**6) == ""
    note = points_note(WIDE, 10**7)
    assert "up to 10,000,000 distinct points" in note and "4.9 GB" in note
    assert "up to 1,099,511,627,776" in points_note(WIDE, 10**15)


def test_a_plan_announces_it_where_the_number_of_rows_is_public(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("opdisc.planning.points_memory.LARGEST_MEMORY", 4_000)
    lines = ["x0,x1,target", *["0,1,1", "1,0,0"] * 100]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    feature = '[[feature]]\ncolumn = "x0"\nbinary = true\n[[feature]]\ncolumn = "x1"\n'
    thresholds = f"thresholds = {list(range(1, 90))}\n"
    target = 'name = "s"\ntarget = { column = "target", positive = 1, negative = 0 }\n'
    (tmp_path / "s.toml").write_text(target + feature + thresholds)
    plan = ["plan", "t.csv", "--schema", "./s.toml", "--epsilon", "1"]
    status, out, err = told(*plan)
    assert status == 0 and "note: the table may have up to 180 distinct points" in err
    guess = ["--relation", "add_or_remove_one", "--public-row-guess", "77"]
    status, _, err = told(*plan, *guess)
    assert status == 0 and "up to 77 distinct points" in err and "180" not in err


@pytest.mark.parametrize("step", ["group_rows", "ZeroOneProblem"])
def test_points_that_find_no_room_end_before_the_spend_without_a_count(
    tmp_path, monkeypatch, step
):
    rows = pd.DataFrame({"x0": [0, 1], "x1": [1, 0], "x2": [1, 1], "target": [0, 1]})
    book = Ledger(tmp_path / "book", table="t", epsilon_limit=9)
    counts = count_rows(rows, SMALL)

    def full(*_, **__):
        raise MemoryError("of an array of shape (12345, 7)")

    monkeypatch.setattr(row_counts, step, full)
    with pytest.raises(TableError, match="must fit into memory") as caught:
        if step == "group_rows":
            count_rows(rows, SMALL)
        PrivateScorecardClassifier(schema=SMALL, epsilon=1.0, ledger=book).fit_counts(counts)
    assert "12345" not in "".join(traceback.format_exception(caught.value))
    assert not (tmp_path / "book").exists() or book.spent.epsilon == 0
