"""docs/five-papers.md: every algorithm by one import and one command, and none left out."""

import re
import shlex
from pathlib import Path

import pytest

from opdisc.audit import audit_cases
from opdisc.cli.app import cli
from opdisc.comparison.methods import find_method
from opdisc.data import load_comparison_dataset

DOCS = Path(__file__).resolve().parents[3] / "docs"
ROWS = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in (DOCS / "five-papers.md").read_text("utf-8").splitlines()
    if line.startswith("| ") and "`" in line
]


def imports():
    return [cells[2].strip("`") for cells in ROWS]


@pytest.mark.parametrize("line", imports())
def test_each_algorithm_has_an_import(line):
    names = re.fullmatch(r"from opdisc(\.convex)? import (\w+(?:, \w+)*)", line)[2].split(", ")
    scope = {}
    exec(line, scope)
    assert all(callable(scope[name]) for name in names)


@pytest.mark.parametrize("command", sorted({cells[3].strip("`") for cells in ROWS}))
def test_each_algorithm_has_a_command(command):
    program, name, *words = shlex.split(command)
    assert program == "opdisc"
    given = cli.get_command(None, name).make_context(name, list(words)).params
    if name == "audit":
        assert given["names"] == (words[-1],) and words[-1] in audit_cases()
    else:
        assert len(load_comparison_dataset(given["dataset"])[0]) > 0
        methods = words[words.index("--methods") + 1 :]
        assert methods and all(find_method(method).private for method in methods)
        assert set(methods) <= set(str(given["methods"]).replace("'", " ").split())


def test_no_convex_mechanism_and_no_paper_is_left_out():
    table = re.findall(r"^\| `(\w+)`.*", (DOCS / "convex.md").read_text("utf-8"), re.MULTILINE)
    table += ["smooth_hull_perturbation", "OnlineLearner"]
    imported = {name for line in imports() for name in line.split(" import ")[1].split(", ")}
    assert len(table) >= 15 and set(table) - imported == set()
    sources = " ".join(cells[1] for cells in ROWS)
    assert all(paper in sources for paper in ("N19", "B14", "J14", "W17", "A20"))
    # OPDisc and OPSamp; noisy SGD, sampling, strongly convex, localization; SVRG to DP-GD.
    for paper, count in (("N19", 2), ("B14", 4), ("W17", 4), ("A20", 1)):
        named = "; ".join(cells[1] for cells in ROWS)
        found = re.findall(rf"{paper} Algorithm (\d)", named)
        assert set(map(int, found)) == set(range(1, count + 1))
