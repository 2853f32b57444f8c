"""A new mechanism is a line of a table: plans, fits and receipts ask it the rest."""

import doctest
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from opdisc import PrivateScorecardClassifier
from opdisc.data import parse_schema
from opdisc.errors import CalibrationError
from opdisc.mechanisms.base import NoiseSpec
from opdisc.planning.choice import build_mechanism, check_option
from opdisc.planning.named import NAMED, NamedMechanism
from opdisc.planning.plan import plan_fit
from opdisc.privacy.entropy import SeededEntropy
from opdisc.privacy.ledger import Ledger
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles import WeightGrid, ZeroOneProblem

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "how-to" / "write-a-mechanism.md"
TOLD = "with probability 95% at most {} extra errors of 1,000 beside the better constant answer"
N_ROWS = 1000


@pytest.fixture(scope="module")
def majority():
    """The mechanism as the page writes it."""
    namespace = {"__name__": "majority"}
    for example in doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8")):
        exec(example.source, namespace)
        if "class MajorityMechanism" in example.source:
            return namespace["MajorityMechanism"]
    raise AssertionError("the page must define a mechanism")


@pytest.fixture
def named(majority, monkeypatch):
    """The one line that a mechanism of the library would add."""
    monkeypatch.setitem(
        NAMED, "majority", NamedMechanism(lambda grid, settings, public: majority(), (majority,))
    )


def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (N_ROWS, 3)), columns=list("abc"))
    return X, np.where(np.arange(N_ROWS) % 4 > 0, "yes", "no")  # "yes" is right on 750


SCHEMA = parse_schema(
    {
        "name": "three columns",
        "target": {"column": "ill", "positive": "yes", "negative": "no"},
        "feature": [{"column": name, "binary": True} for name in "abc"],
    }
)


def test_a_mechanism_of_a_page_is_planned_beside_the_librarys_own(named):
    planned = {p.mechanism: p for p in plan_fit(SCHEMA, epsilon=1.0, n_rows=N_ROWS)}
    found = planned["majority"]
    assert str(found.prediction) == TOLD.format(6)
    assert found.prediction.over_constants == pytest.approx(2 * math.log(19))
    assert found.promise.guarantee == "HOLDS" and 0 < found.seconds < 1
    assert set(NAMED) <= set(planned)


def test_it_is_fitted_charged_and_stands_on_the_receipt(named, tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl", epsilon_limit=2.0)
    model = PrivateScorecardClassifier(
        epsilon=1.0, schema=SCHEMA, mechanism="majority", weight_bound="auto", ledger=ledger
    )
    X, y = table()
    model.fit(X, y)
    receipt = model.receipt_
    assert receipt.mechanism == "majority" and receipt.calibration == "proven"
    assert receipt.conditions == (  # of a data frame, whoever draws
        "dtypes were declared, not inferred from the rows",
        "columns were made without looking at the rows",
    )
    assert receipt.oracle == "exact sampler: one of two answers"
    assert receipt.choice == "points -1 to 1: all that a constant answer needs"
    assert ledger.total() == (1.0, 0.0)
    # The other answer has a probability of about e^-250.
    assert set(model.predict(X)) == {"yes"} and set(model.scorecard_.points) == {0}


def test_what_it_takes_and_refuses_is_asked_of_it_as_well(named, majority):
    grid = WeightGrid(values=((1, 2), (0, 1)))
    facts = GridPublic(
        params=PrivacyParams(epsilon=1.0, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=grid,
        n_rows=9,
    )
    with pytest.raises(CalibrationError, match="needs a start of 0 and 1"):
        build_mechanism("majority", grid)[0].calibrate(facts)
    with pytest.raises(CalibrationError, match="drop it or name one"):
        check_option("patience", "majority")
    with pytest.raises(CalibrationError, match="mechanism must be one of"):
        build_mechanism("minority", grid)


def test_the_bounds_of_the_page_hold_for_its_law_and_half_of_the_noise_breaks_them(majority):
    # P["-"] = 1 / (1 + exp(beta * difference)), by 600 draws on a table where it is about 1 in 4:
    # an exact binomial test with false alarm 1e-6; the law of half the noise is refuted by it.
    grid, beta = WeightGrid.box(2, 1), 0.5
    problem = ZeroOneProblem(points=[[1, 0]], positives=[6], negatives=[4], grid=grid)
    facts = GridPublic(
        params=PrivacyParams(epsilon=1.0, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=grid,
        n_rows=10,
    )
    entropy, spec = SeededEntropy(1), majority().calibrate(facts)
    drawn = sum(majority().draw(problem, spec, entropy)[0] == 0 for _ in range(600))
    law = {factor: 1 / (1 + math.exp(factor * beta * 2)) for factor in (1, 2)}
    assert stats.binomtest(drawn, 600, law[1]).pvalue > 1e-6
    assert stats.binomtest(drawn, 600, law[2]).pvalue < 1e-6
    worst = max(gap / (1 + math.exp(beta * gap)) for gap in np.linspace(0, 30, 3001))
    assert worst <= spec.expected_excess(grid)
    limit = spec.excess(grid, 0.95).quantile
    assert 1 / (1 + math.exp(beta * limit)) == pytest.approx(0.05)


def test_a_mechanism_that_answers_nothing_runs_and_has_no_bound(majority):
    class Silent(majority):
        def calibrate(self, public):
            fields = ("law", "scales", "theorem", "status", "allowance", "total_variation")
            spec = super().calibrate(public)
            return NoiseSpec(**{name: getattr(spec, name) for name in fields}, spacing=0.0)

    grid = WeightGrid.box(2, 1)
    facts = GridPublic(
        params=PrivacyParams(epsilon=1.0, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=grid,
        n_rows=10,
    )
    spec = Silent().calibrate(facts)
    assert spec.expected_excess(grid) is None and spec.excess_over_constants(0.9) is None
    assert spec.yardstick == ""
    with pytest.raises(CalibrationError, match="no bound on its errors"):
        spec.excess(grid, 0.9)


# --- who asks a class instead of the mechanism ---------------------------------------------------


def files_that_name(word):
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "opdisc").rglob("*.py*")
        if path.suffix in (".py", ".pyi") and re.search(rf"\b{word}\b", path.read_text("utf-8"))
    }


def asked_classes(text):
    """Names of mechanisms and specifications that ``isinstance`` is asked for."""
    for asked in re.findall(r"isinstance\(((?:[^()]|\([^()]*\))*)\)", text):
        kinds = asked.split(",", 1)[-1].strip()
        if re.search(r"(Mechanism|Spec|Stumps|EqualSteps|SparseCards|_DRAWN)\b", kinds):
            yield kinds


def test_hardly_anything_outside_of_mechanisms_asks_which_one_it_is():
    asked = [
        (path.relative_to(ROOT).as_posix(), kinds)
        for path in sorted((ROOT / "opdisc").rglob("*.py"))
        if "mechanisms" not in path.parts
        for kinds in asked_classes(path.read_text("utf-8"))
    ]
    assert len(asked) <= 3, asked
    assert list(asked_classes("if isinstance(spec, BlockSpec | SphereSpec): pass")) == [
        "BlockSpec | SphereSpec"
    ]


def test_a_mechanism_of_the_library_is_named_in_the_files_that_the_page_lists():
    own = {"opdisc/mechanisms/objective_perturbation.py"}
    listed = set(re.findall(r"^\| `(opdisc/[\w./]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE))
    assert "opdisc/mechanisms/majority.py" in listed and len(listed) == 4
    assert files_that_name("SphereMechanism") - own == listed - {"opdisc/mechanisms/majority.py"}
