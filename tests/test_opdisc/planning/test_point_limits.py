"""Limits of a feature's points: schema, grid, draws, oracles, plan, receipt and refusals."""

import itertools
import math
from dataclasses import replace

import msgspec
import numpy as np
import pandas as pd
import pytest
from helpers.extras import needs_licence, oracle_params
from helpers.oracles.first_head import first_head_law
from scipy import stats

from opdisc import (
    PrivateLogisticRegression,
    PrivateMulticlassClassifier,
    PrivateScorecardClassifier,
    Schema,
    load_model,
    save_model,
)
from opdisc.cli.schema_findings import header_findings
from opdisc.convex import start_from
from opdisc.data import PointLimits, ThresholdFeature, schema_points
from opdisc.errors import CalibrationError, ModelFileError, SchemaError
from opdisc.mechanisms import ExponentialMechanism, PermuteAndFlipMechanism, StagedMechanism
from opdisc.models.scorecard_file import check_points
from opdisc.planning import grid_around, plan_cards, plan_fit, scorecard_grid
from opdisc.planning.choice import MECHANISMS
from opdisc.privacy import GridPublic, NeighboringRelation, PrivacyParams
from opdisc.privacy.entropy import SeededEntropy
from opdisc.tuned import LARGEST_SHIFT
from oracles import WeightGrid, ZeroOneProblem, available_oracles, get_oracle, solve
from oracles.testing.brute_force import brute_force

AGE, SMOKES, WARD = {"at_least": 0, "at_most": 2}, {"at_most": 1}, {"at_least": -1, "at_most": 2}


def schema(age=AGE, smokes=SMOKES, ward=WARD, **more) -> Schema:
    kinds = [
        ({"column": "age", "thresholds": [30, 60]}, age),
        ({"column": "smokes", "binary": True}, smokes),
        ({"column": "ward", "categories": ["a"]}, ward),
    ]
    return Schema.from_dict(
        {
            "name": "t",
            "target": {"column": "ill", "positive": 1, "negative": 0},
            "feature": [kind | ({} if one is None else {"points": one}) for kind, one in kinds],
        }
        | more
    )


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {
            "age": rng.integers(10, 90, n),
            "smokes": rng.integers(0, 2, n),
            "ward": rng.choice(list("ab"), n),
        }
    )
    # Without limits the best card has many points for age, and against smoking.
    return rows, ((rows["age"] >= 60) & (rows["smokes"] == 0)).astype(int)


def public(grid, epsilon=0.5, n_rows=100):
    return GridPublic(
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=grid,
        n_rows=n_rows,
    )


# --- what a schema may say -----------------------------------------------------------------------


def test_the_grid_has_the_points_that_limits_and_bound_allow():
    grid = scorecard_grid(schema(), 3)
    full = tuple(range(-3, 4))
    assert grid.values == (full, (0, 1, 2), (0, 1, 2), (-3, -2, -1, 0, 1), (-1, 0, 1, 2))
    assert scorecard_grid(schema(), 1).values[1:] == ((0, 1), (0, 1), (-1, 0, 1), (-1, 0, 1))


@pytest.mark.parametrize(
    ("sign", "points", "expected"),
    [
        ("positive", None, (0, 1, 2, 3)),
        ("negative", None, (-3, -2, -1, 0)),
        ("positive", {"at_most": 2}, (0, 1, 2)),
        ("negative", {"at_least": -1, "at_most": 3}, (-1, 0)),
        (None, {"at_least": -2}, (-2, -1, 0, 1, 2, 3)),
    ],
)
def test_a_sign_is_one_of_the_limits(sign, points, expected):
    feature = ThresholdFeature(column="age", thresholds=(30,), sign=sign, points=points)
    assert feature.limits.within(3) == expected


def test_a_schema_survives_a_round_trip_and_only_limits_change_its_digest():
    limited, plain = schema(), schema(None, None, None)
    assert Schema.from_dict(limited.to_dict()) == limited
    assert "points" not in str(plain.to_dict()) and limited.digest() != plain.digest()
    assert limited.digest() != schema(age={"at_least": 0, "at_most": 3}).digest()
    assert limited.without_limits() == plain


def test_limits_are_kept_where_a_fit_finds_thresholds_and_by_statements_of_codes():
    private = {"quantiles": 2, "range": [0, 100]}
    feature = {"column": "age", "thresholds": private, "codes": {"-7": "never"}, "points": AGE}
    declared = schema(feature=[feature])
    found = declared.with_thresholds([(30.0, 60.0)])
    assert found.point_limits == declared.point_limits == (PointLimits(**AGE),) * 3


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ({"at_least": 1}, "at_least of points must be an integer from -1,000 to 0"),
        ({"at_most": -1}, "at_most of points must be an integer from 0 to 1,000"),
        ({"at_most": 2.0}, "at_most of points must be an integer"),
        ({"at_most": True}, "at_most of points must be an integer"),
        ({"at_most": 10**9}, "at_most of points must be an integer"),
        ({"at_least": 0, "at_most": 0}, "leave the feature out"),
        ({}, "must have a limit"),
        ({"at_most": None}, "must have a limit"),
        (PointLimits(), "must have a limit"),
        ({"at_mots": 3}, "did you mean 'at_most'"),
        (3, "must be limits"),
        ([1, 2], "must be limits"),
    ],
)
def test_other_limits_are_refused_in_a_sentence(points, words):
    with pytest.raises(SchemaError, match=words) as refused:
        schema(age=points)
    assert "'age'" in str(refused.value) and "\n" not in str(refused.value)


def test_limits_that_leave_nothing_beside_a_sign_are_refused():
    with pytest.raises(SchemaError, match="beside its sign"):
        ThresholdFeature(column="a", thresholds=(1,), sign="positive", points={"at_most": 0})


def test_a_file_of_points_to_start_from_may_have_limits_too(tmp_path):
    path = tmp_path / "start.toml"
    path.write_text(
        'name = "t"\n"start with" = -1\ntarget = { column = "ill", positive = 1, negative = 0 }\n'
        '[[feature]]\ncolumn = "age"\nthresholds = [30, 60]\npoints = [1, 4]\n'
        '[[feature]]\ncolumn = "smokes"\nbinary = true\npoints = { at_most = 1 }\n'
    )
    assert schema_points(path) == {"start with": -1, "age >= 30": 1, "age >= 60": 4}


# --- draws and oracles ---------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [name for name in MECHANISMS if name != "logistic"])
def test_every_mechanism_obeys_and_says_so(mechanism):
    rows, labels = table()
    model = PrivateScorecardClassifier(
        epsilon=8.0, schema=schema(), weight_bound=2, mechanism=mechanism
    ).fit(rows, labels)
    points = model.scorecard_.hypothesis[1:]
    for point, limits in zip(points, schema().point_limits, strict=True):
        assert limits.allows(point)
    assert [list(v) for v in model.receipt_.weights[1:]] == [
        list(limits.within(2)) for limits in schema().point_limits
    ]
    assert "1 of them in -2..1, 1 of them in -1..2" in " ".join(str(model.receipt_).split())
    assert model.receipt_.schema_digest == schema().digest()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", oracle_params(available_oracles()))
def test_every_oracle_finds_the_best_card_that_obeys(name, seed):
    rng = np.random.default_rng(seed)
    grid = scorecard_grid(schema(), 2)
    problem = ZeroOneProblem(
        points=np.column_stack([np.ones(12, dtype=int), rng.integers(0, 2, (12, 4))]),
        positives=rng.integers(0, 6, 12),
        negatives=rng.integers(0, 6, 12),
        grid=grid,
    )
    found = solve(problem, oracle=needs_licence(get_oracle(name)))
    assert problem.objective(found.hypothesis) == min(brute_force(problem).values())
    assert grid.contains(found.hypothesis)


def _tempted():
    """Return a problem whose best card has points that limits forbid, and its limited grid."""
    made = {"points": [[1, 0], [1, 1]], "positives": [2, 14], "negatives": [6, 0]}
    free = WeightGrid.box(2, 2)
    limited = WeightGrid(values=((-2, -1, 0, 1, 2), PointLimits(at_least=-2, at_most=1).within(2)))
    return [ZeroOneProblem(**made, grid=grid) for grid in (limited, free)]


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("kind", [ExponentialMechanism, PermuteAndFlipMechanism])
def test_draws_have_the_law_of_the_smaller_box(kind):
    # Chi-square, 2,000 draws, false alarm 1e-6. The law of the whole box is noticed.
    limited, free = _tempted()
    mechanism = kind()
    spec = mechanism.calibrate(public(limited.grid))
    cards = list(itertools.product(*free.grid.values))
    loss = np.array([free.loss(card) for card in cards], dtype=float)
    allowed = np.array([limited.grid.contains(card) for card in cards])
    entropy = SeededEntropy(7)

    def drawn():
        if isinstance(mechanism, ExponentialMechanism):
            return mechanism.draw(limited, spec, entropy)
        noisy = mechanism.perturb(limited, spec, entropy)
        return min(itertools.product(*noisy.grid.values), key=noisy.objective)

    seen = [cards.index(drawn()) for _ in range(2000)]
    counts = np.bincount(seen, minlength=len(cards))
    assert counts[~allowed].sum() == 0

    def agrees(among):
        # Half of epsilon for a row: two rows of a replaced one change the loss.
        weights = np.exp(-0.25 * (loss - loss.min())) * among
        law = weights / weights.sum()
        if kind is PermuteAndFlipMechanism:
            law = np.zeros(len(cards))
            law[among] = first_head_law(loss[among], 0.25)
        kept = law > 0
        return stats.chisquare(counts[kept], counts[kept].sum() * law[kept]).pvalue > 1e-6

    assert agrees(allowed)
    assert not agrees(np.ones(len(cards), dtype=bool))


@pytest.mark.statistical
def test_staged_draws_have_the_law_of_the_smaller_box():
    # Chi-square, 2,000 draws, false alarm 1e-6. Half the temperature or equal weights: noticed.
    tempted, _ = _tempted()
    grid = WeightGrid(values=((-1, 0, 1), PointLimits(at_most=0).within(1)))
    limited = replace(tempted, grid=grid)
    mechanism = StagedMechanism()
    spec = mechanism.calibrate(public(grid, n_rows=1000))
    cards = list(itertools.product(*grid.values))
    loss = np.array([limited.loss(card) for card in cards])
    entropy = SeededEntropy(3)
    seen = [cards.index(mechanism.draw(limited, spec, entropy)) for _ in range(2000)]
    counts = np.bincount(seen, minlength=len(cards))

    def agrees(beta, copies):
        return stats.chisquare(counts, 2000 * first_head_law(loss, beta, copies)).pvalue > 1e-6

    # Three cards without a point, three with one: their mass is twice that of those without.
    copies = [1 if card[1] == 0 else 2 for card in cards]
    assert agrees(0.25, copies)
    assert not agrees(0.125, copies)
    assert not agrees(0.25, [1] * len(cards))


def test_a_start_is_moved_within_its_limits_and_changes_obey():
    start = start_from({"start with": 0, "age >= 30": 5, "smokes": 5}, None, schema())
    assert start is not None
    rows, labels = table()
    model = PrivateScorecardClassifier(
        epsilon=8.0,
        schema=schema(),
        mechanism="staged",
        prior={"start with": 0, "age >= 30": 5, "smokes": 5},
    ).fit(rows, labels)
    card = model.receipt_.start_points
    assert card[1:] == (2, 0, 1, 0)
    grid = grid_around(schema(), card)
    assert grid.values[1:] == ((1, 2), (0, 1), (0, 1), (-1, 0, 1))
    assert len(grid.values[0]) == 2 * LARGEST_SHIFT + 1
    assert grid.contains(model.scorecard_.hypothesis)


def test_each_card_of_several_classes_obeys_and_its_plan_says_so():
    rows, _ = table()
    target = {"column": "ill", "classes": ["no", "some", "much"]}
    labels = pd.Series(np.where(rows["age"] >= 60, "much", np.where(rows["smokes"], "some", "no")))
    model = PrivateMulticlassClassifier(
        epsilon=20.0, schema=schema(target=target), weight_bound=2
    ).fit(rows, labels)
    for card in model.scorecards_:
        for point, limits in zip(card.points, schema().point_limits, strict=True):
            assert limits.allows(point)
    plan = plan_cards(schema(target=target), epsilon=2.0, n_rows=200, weight_bound=2)
    assert all("4 statements have limits" in one.reason.brief for one in plan[1:])


def test_a_saved_card_keeps_its_limits_and_one_beyond_them_is_refused(tmp_path):
    saved = PrivateScorecardClassifier(epsilon=8.0, schema=schema(), weight_bound=2).fit(*table())
    save_model(saved.to_model(), tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    assert loaded == saved.to_model() and loaded.schema == schema()
    beyond = msgspec.structs.replace(loaded.scorecard, points=(0, 0, 2, 0))
    with pytest.raises(ModelFileError, match="among those on its receipt"):
        check_points(beyond, loaded.receipt)


# --- noise and plans -----------------------------------------------------------------------------


def test_norms_counts_and_expected_errors_are_those_of_the_smaller_box():
    limited = scorecard_grid(schema(), 3)
    free = scorecard_grid(schema().without_limits(), 3)
    listed = [sum(w * w for w in card) for card in itertools.product(*limited.values)]
    assert limited.largest_norm == max(listed) == 9 + 4 + 4 + 9 + 4 < free.largest_norm
    assert limited.n_hypotheses == len(listed) == 7 * 3 * 3 * 5 * 4 < free.n_hypotheses
    expected = [
        ExponentialMechanism().calibrate(public(g)).expected_excess(g) for g in (limited, free)
    ]
    assert None not in expected and expected[0] < expected[1]
    for kind in (ExponentialMechanism, PermuteAndFlipMechanism):
        first, second = (kind().calibrate(public(grid)) for grid in (limited, free))
        assert first.scales == second.scales  # the sensitivity is that of one row's loss


def test_a_plan_says_what_limits_are_worth():
    (planned,) = plan_fit(schema(), epsilon=0.5, n_rows=5000, weight_bound=3, compare_others=False)
    (free,) = plan_fit(
        schema().without_limits(), epsilon=0.5, n_rows=5000, weight_bound=3, compare_others=False
    )
    assert planned.prediction.mean < free.prediction.mean
    most = math.ceil(planned.prediction.mean)
    text = f"4 statements have limits of points: {most:,} extra errors expected at most"
    assert text in planned.reason.brief and " without" in planned.reason.brief
    assert "limits" not in free.reason.brief


def test_with_error_costs_they_are_worth_units_of_cost():
    costs = {"false_positive": 1, "false_negative": 4}
    settings = {"epsilon": 0.5, "n_rows": 5000, "weight_bound": 2, "compare_others": False}
    (planned,) = plan_fit(schema(), error_costs=costs, **settings)
    most = math.ceil(planned.prediction.mean)
    assert f"{most:,} units of extra cost expected at most" in planned.reason.brief


def test_a_sign_is_worth_the_same_as_its_limit():
    signed = Schema.from_dict(
        schema(None, None, None).to_dict()
        | {"feature": [{"column": "smokes", "binary": True, "sign": "positive"}]}
    )
    limited = schema(feature=[{"column": "smokes", "binary": True, "points": {"at_least": 0}}])
    settings = {"epsilon": 0.5, "n_rows": 5000, "compare_others": False}
    assert plan_fit(signed, **settings) == plan_fit(limited, **settings)


# --- elsewhere -----------------------------------------------------------------------------------


def test_a_logistic_card_refuses_sizes_before_anything_is_spent(tmp_path):
    rows, labels = table()
    for settings in ({"mechanism": "logistic"}, {"prior": {"smokes": 1}}):
        model = PrivateScorecardClassifier(
            epsilon=1.0, schema=schema(), ledger=tmp_path / "budget", **settings
        )
        with pytest.raises(CalibrationError, match="limits of points need a mechanism that draws"):
            model.fit(rows, labels)
    assert not (tmp_path / "budget").exists()
    signs = schema({"at_least": 0}, {"at_most": 0}, None)
    model = PrivateScorecardClassifier(epsilon=1.0, schema=signs, mechanism="logistic")
    points = model.fit(rows, labels).scorecard_.points
    assert points[0] >= 0 and points[1] >= 0 and points[2] <= 0


def test_a_plan_with_a_start_says_the_same():
    start = start_from({"smokes": 1}, None, schema())
    with pytest.raises(CalibrationError, match="limits of points need a mechanism that draws"):
        plan_fit(schema(), epsilon=1.0, n_rows=200, start=start)


def test_auto_takes_a_grid_where_a_logistic_card_would_not_obey():
    columns = [f"x{i}" for i in range(20)]
    free = [{"column": c, "binary": True} for c in columns]
    limited = [{"column": c, "binary": True, "points": {"at_most": 1}} for c in columns]
    chosen = [
        plan_fit(schema(feature=f), epsilon=1.0, n_rows=100_000, compare_others=False)[0].mechanism
        for f in (free, limited)
    ]
    assert chosen[0] == "logistic" != chosen[1]


def test_a_linear_model_refuses_sizes_before_anything_is_spent(tmp_path):
    model = PrivateLogisticRegression(epsilon=1.0, schema=schema(), ledger=tmp_path / "budget")
    with pytest.raises(CalibrationError, match="a linear model has real weights"):
        model.fit(*table())
    assert not (tmp_path / "budget").exists()


def test_a_check_of_the_header_shows_them():
    found = header_findings(["age", "smokes", "ward", "ill"], schema(ward=AGE))
    assert found.lines() == [
        "every declared column is in the header",
        "points 0 to 2: 'age', 'ward'",
        "points at most 1: 'smokes'",
    ]
