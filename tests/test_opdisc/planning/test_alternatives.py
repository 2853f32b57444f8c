"""Alternatives of a schema: at most one of these columns has points, and who can keep to it."""

import itertools
import math
from dataclasses import replace

import msgspec
import numpy as np
import pandas as pd
import pytest
from helpers.oracles.first_head import first_head_law
from hypothesis import given, settings, strategies as st
from scipy import stats

from opdisc import (
    OPDiscClassifier,
    PrivateLogisticRegression,
    PrivateMulticlassClassifier,
    PrivateScorecardClassifier,
    RobustVoteClassifier,
    Schema,
    load_model,
    save_model,
)
from opdisc.cli.schema_findings import header_findings
from opdisc.errors import CalibrationError, ModelFileError, SchemaError
from opdisc.mechanisms import (
    BaseMeasure,
    ExponentialMechanism,
    PermuteAndFlipMechanism,
    SphereMechanism,
    StagedMechanism,
    check_candidates,
    run_mechanism,
)
from opdisc.models.scorecard_file import check_points
from opdisc.planning import plan_cards, plan_fit, scorecard_grid
from opdisc.planning.choice import MECHANISMS, BeyondReach, build_mechanism, choose_mechanism
from opdisc.privacy import GridPublic, NeighboringRelation, PrivacyParams
from opdisc.privacy.entropy import SeededEntropy
from oracles import ZeroOneProblem
from oracles.testing.brute_force import brute_force

GROUP = (("systolic", "diastolic"),)
TAKERS = ("permute_and_flip", "exponential", "staged")


def schema(alternatives=GROUP, **more) -> Schema:
    return Schema.from_dict(
        {
            "name": "t",
            "target": {"column": "ill", "positive": 1, "negative": 0},
            "feature": [
                {"column": "systolic", "thresholds": [120, 140]},
                {"column": "smokes", "binary": True},
                {"column": "diastolic", "thresholds": [90]},
            ],
        }
        | ({"alternatives": alternatives} if alternatives else {})
        | more
    )


def wide(n, group=3, **more) -> Schema:
    """A schema of n yes/no columns, the first few of which are alternatives."""
    columns = [f"x{i}" for i in range(n)]
    features = [{"column": column, "binary": True} for column in columns]
    return schema([columns[:group]] if group else None, feature=features, **more)


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    systolic = rng.integers(100, 180, n)
    rows = pd.DataFrame(
        {
            "systolic": systolic,
            "smokes": rng.integers(0, 2, n),
            "diastolic": systolic - rng.integers(30, 70, n),
        }
    )
    # The best card without alternatives has points for both pressures.
    return rows, ((rows["systolic"] >= 140) & (rows["diastolic"] >= 90)).astype(int)


def public(grid, epsilon=0.5, n_rows=100):
    return GridPublic(
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=grid,
        n_rows=n_rows,
    )


def obeys(points, declared=None):
    """Whether at most one column of each group has points, by names alone."""
    declared = declared or schema()
    used = set()
    at = iter(points)
    for feature in declared.features:
        if any([next(at) for _ in feature.column_names]):
            used.add(feature.column)
    return all(len(used.intersection(group)) <= 1 for group in declared.alternatives)


# --- what a schema may say -----------------------------------------------------------------------


def test_a_schema_survives_a_round_trip_and_only_alternatives_change_its_digest():
    with_them, plain = schema(), schema(None)
    assert with_them.alternatives == GROUP and plain.alternatives == ()
    assert Schema.from_dict(with_them.to_dict()) == with_them
    assert Schema.from_stored(with_them.to_dict()).digest() == with_them.digest()
    assert "alternatives" not in plain.to_dict() and with_them.digest() != plain.digest()
    assert replace(with_them, alternatives=()) == plain


def test_a_file_may_have_them(tmp_path):
    path = tmp_path / "t.toml"
    path.write_text(
        'name = "t"\nalternatives = [["a", "b"]]\n'
        'target = { column = "ill", positive = 1, negative = 0 }\n'
        '[[feature]]\ncolumn = "a"\nbinary = true\n[[feature]]\ncolumn = "b"\nbinary = true\n'
    )
    assert Schema.from_toml(path).alternatives == (("a", "b"),)


def test_every_statement_of_a_column_belongs_to_it():
    coded = {"column": "systolic", "thresholds": [120], "codes": {"-7": "never"}}
    twice = {"column": "systolic", "categories": ["high"]}
    other = {"column": "diastolic", "binary": True}
    declared = schema(feature=[coded, other, twice])
    assert declared.alternative_positions == (((1, 2, 4), (3,)),)


def test_they_are_kept_where_a_fit_finds_thresholds():
    private = {"column": "systolic", "thresholds": {"quantiles": 2, "range": [80, 200]}}
    declared = schema(feature=[private, {"column": "diastolic", "binary": True}])
    found = declared.with_thresholds([(100.0, 120.0)])
    assert found.alternative_positions == declared.alternative_positions == (((1, 2), (3,)),)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([["systolic", "diastolik"]], "columns of features, got 'diastolik' .did you mean 'dias"),
        ([["systolic", "ill"]], "must name columns of features, got 'ill'"),
        ([["systolic", 3]], "must name columns of features, got 3"),
        ([["systolic", ["smokes"]]], "must name columns of features"),
        ([["systolic", "systolic"]], "must be distinct, but 'systolic' occurs twice"),
        (
            [["systolic", "diastolic"], ["smokes", "systolic"]],
            "columns of alternatives must be distinct, but 'systolic' occurs twice",
        ),
        ([["systolic"]], "two columns or more, got"),
        ([[]], "two columns or more, got"),
        (["systolic", "diastolic"], "a group of alternatives must be a list, got 'systolic'"),
        ("systolic", "alternatives must be a list, got 'systolic'"),
        ({"systolic": "diastolic"}, "alternatives must be a list"),
    ],
)
def test_other_alternatives_are_refused_in_a_sentence(groups, words):
    with pytest.raises(SchemaError, match=words) as refused:
        schema(groups)
    assert "\n" not in str(refused.value)


def test_a_check_of_the_header_shows_them():
    found = header_findings(["systolic", "smokes", "diastolic", "ill"], schema())
    assert "at most one has points: 'systolic', 'diastolic'" in found.lines()


# --- candidates ----------------------------------------------------------------------------------


@st.composite
def schemas(draw):
    """Three or four features, the first one of two statements, some alternatives."""
    columns = [f"c{k}" for k in range(draw(st.integers(3, 4)))]
    features = [
        {"column": column, "thresholds": [0] if k else [0, 1]}
        | draw(st.sampled_from([{}, {"sign": "positive"}, {"points": {"at_most": 1}}]))
        for k, column in enumerate(columns)
    ]
    mixed = draw(st.permutations(columns))
    first = draw(st.integers(2, len(mixed)))
    groups = [mixed[:first]] + ([mixed[first:]] if len(mixed) - first >= 2 else [])
    return schema(groups, feature=features)


@settings(max_examples=25)
@given(schemas())
def test_candidates_are_the_cards_of_the_box_that_obey(declared):
    grid = scorecard_grid(declared, 1)
    cards = list(itertools.product(*grid.values))
    left = [card for card in cards if obeys(card[1:], declared)]
    assert grid.n_hypotheses == len(left)
    assert all(grid.contains(card) == obeys(card[1:], declared) for card in cards)
    spec = ExponentialMechanism().calibrate(public(grid))
    assert spec.log_inverse == pytest.approx(math.log(len(left)))
    few = StagedMechanism(stump=False).calibrate(public(grid, epsilon=10.0, n_rows=500)).stages
    small = [card for card in left if sum(map(abs, card[1:])) <= few.first.most]
    assert len(grid.values[0]) == len(range(*few.first.starts[0])) + 1
    assert few.n_candidates == len(small)


def test_free_signs_leave_each_card_its_opposite():
    grid = scorecard_grid(schema(), 2)
    for card in itertools.product(*grid.values):
        assert grid.contains(card) == grid.contains(tuple(-w for w in card))


def _tempted():
    """Return a problem whose best cards have points for both of two alternatives."""
    points = [[1, a, b] for a in (0, 1) for b in (0, 1)]
    declared = schema([["a", "b"]], feature=[{"column": c, "binary": True} for c in ("a", "b")])
    grid = scorecard_grid(declared, 1)
    return ZeroOneProblem(
        points=points, positives=[1, 2, 3, 12], negatives=[6, 5, 4, 0], grid=grid
    )


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("kind", [ExponentialMechanism, PermuteAndFlipMechanism, StagedMechanism])
def test_draws_have_the_law_of_the_cards_that_are_left(kind):
    # Chi-square, 2,000 draws, false alarm 1e-6. Half the temperature, and all cards: noticed.
    limited = _tempted()
    mechanism = StagedMechanism(stump=False) if kind is StagedMechanism else kind()
    spec = mechanism.calibrate(public(limited.grid, n_rows=1000))
    free = replace(limited, grid=replace(limited.grid, alternatives=()))
    cards = list(brute_force(free))
    loss = np.array([free.loss(card) for card in cards], dtype=float)
    left = np.array([limited.grid.contains(card) for card in cards])
    entropy = SeededEntropy(11)

    def drawn():
        if kind is not PermuteAndFlipMechanism:
            return mechanism.draw(limited, spec, entropy)
        noisy = mechanism.perturb(limited, spec, entropy)
        return min(brute_force(noisy).items(), key=lambda item: item[1])[0]

    seen = np.bincount([cards.index(drawn()) for _ in range(2000)], minlength=len(cards))
    assert seen[~left].sum() == 0
    sizes = [sum(map(abs, card[1:])) for card in cards]
    copies = np.ones(len(cards))
    if kind is StagedMechanism:
        # 3 cards without points and 12 with one, whose mass is twice as much: 4 and 2 of each.
        copies = np.array([(4.0, 2.0, 1.0)[size] for size in sizes])

    def agrees(among, beta=0.25):
        law = np.zeros(len(cards))
        if kind is ExponentialMechanism:
            law[among] = np.exp(-beta * (loss[among] - loss[among].min()))
        else:
            law[among] = first_head_law(loss[among], beta, copies[among])
        kept = law > 0
        law = law[kept] / law[kept].sum()
        return stats.chisquare(seen[kept], seen[kept].sum() * law).pvalue > 1e-6

    assert agrees(left)
    assert not agrees(left, 0.125)
    assert not agrees(np.ones(len(cards), dtype=bool))


# --- fits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [*TAKERS, "auto"])
def test_every_mechanism_that_can_obeys_and_says_so(mechanism):
    rows, labels = table()
    model = PrivateScorecardClassifier(
        epsilon=8.0, schema=schema(), weight_bound=2, mechanism=mechanism
    ).fit(rows, labels)
    assert obeys(model.scorecard_.points)
    assert model.receipt_.alternatives == (((1, 2), (4,)),)
    assert model.receipt_.schema_digest == schema().digest()
    text = " ".join(str(model.receipt_).split())
    assert "at most one of 2 alternatives with points" in text


def test_a_receipt_without_alternatives_says_nothing_of_them():
    rows, labels = table()
    model = PrivateScorecardClassifier(epsilon=8.0, schema=schema(None), weight_bound=1)
    receipt = model.fit(rows, labels).receipt_
    assert receipt.alternatives == ()
    assert "alternatives" not in receipt.to_dict() and "alternatives" not in str(receipt)


def test_each_card_of_several_classes_obeys_and_its_plan_says_so():
    rows, _ = table()
    labels = pd.Series(
        np.where(rows["systolic"] >= 150, "much", np.where(rows["smokes"], "a", "b"))
    )
    declared = schema(target={"column": "ill", "classes": ["a", "b", "much"]})
    model = PrivateMulticlassClassifier(epsilon=20.0, schema=declared, weight_bound=2)
    assert all(obeys(card.points) for card in model.fit(rows, labels).scorecards_)
    plan = plan_cards(declared, epsilon=2.0, n_rows=200, weight_bound=2)
    assert all("1 group of alternatives leaves" in one.reason.brief for one in plan[1:])


def test_thresholds_that_a_fit_finds_obey_too():
    rows, labels = table()
    private = {"column": "systolic", "thresholds": {"quantiles": 3, "range": [80, 200]}}
    features = [private, {"column": "diastolic", "thresholds": [90]}]
    declared = schema(feature=features)
    model = PrivateScorecardClassifier(epsilon=20.0, schema=declared).fit(rows, labels)
    assert obeys(model.scorecard_.points, declared) and model.schema_.alternatives == GROUP


def test_a_saved_card_keeps_them_and_one_that_breaks_them_is_refused(tmp_path):
    saved = PrivateScorecardClassifier(epsilon=8.0, schema=schema(), weight_bound=2).fit(*table())
    save_model(saved.to_model(), tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    assert loaded == saved.to_model() and loaded.schema == schema()
    both = msgspec.structs.replace(loaded.scorecard, points=(1, 0, 0, 1))
    with pytest.raises(ModelFileError, match="keep to the alternatives on its receipt"):
        check_points(both, loaded.receipt)
    one = msgspec.structs.replace(loaded.scorecard, points=(1, 1, 1, 0))
    check_points(one, loaded.receipt)


# --- plans ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", TAKERS)
def test_a_plan_says_what_is_left_and_what_it_is_worth(mechanism):
    declared = wide(8)
    asked = {"epsilon": 0.1, "n_rows": 30_000, "weight_bound": 1, "compare_others": False}
    grid = scorecard_grid(declared, 1)
    assert grid.n_hypotheses == 3 * 3**5 * 7
    (planned,) = plan_fit(declared, **asked)
    (free,) = plan_fit(replace(declared, alternatives=()), **asked)
    assert planned.mechanism == free.mechanism == "permute_and_flip"
    assert planned.prediction.mean < free.prediction.mean
    most, without = (math.ceil(one.prediction.mean) for one in (planned, free))
    said = (
        f"1 group of alternatives leaves 5,103 of 19,683 cards: {most:,} extra errors expected at "
        f"most, {without:,} without"
    )
    assert said in planned.reason.brief and "alternatives" not in free.reason.brief
    named, others = (
        build_mechanism(mechanism, g)[0] for g in (grid, replace(grid, alternatives=()))
    )
    bounds = [
        one.calibrate(public(g, epsilon=10.0, n_rows=5000)).expected_excess(g)
        for one, g in ((named, grid), (others, replace(grid, alternatives=())))
    ]
    if mechanism != "permute_and_flip":  # whose bound is simulated
        assert bounds[0] < bounds[1]


def test_limits_and_alternatives_have_a_line_each():
    features = [{"column": f"x{i}", "binary": True, "points": {"at_least": 0}} for i in range(6)]
    declared = schema([["x0", "x1"], ["x4", "x5"]], feature=features)
    (planned,) = plan_fit(
        declared, epsilon=0.1, n_rows=30_000, weight_bound=2, compare_others=False
    )
    assert "6 statements have limits of points" in planned.reason.brief
    assert f"2 groups leave {5 * 5 * 5 * 9:,} of {5 * 3**6:,} cards" in planned.reason.brief


def test_auto_takes_few_points_where_a_list_is_too_long_and_says_what_is_left():
    declared = wide(30, group=10)
    (planned,) = plan_fit(declared, epsilon=1.0, n_rows=30_000, compare_others=False)
    assert planned.mechanism == "staged"
    assert "1 group of alternatives leaves" in planned.reason.brief
    grid = scorecard_grid(declared, 1)
    assert choose_mechanism(grid, public=public(grid, 1.0, 30_000))[0] == "staged"


def test_few_points_instead_of_equal_steps_are_announced():
    columns = [f"x{i}" for i in range(9)]
    features = [{"column": c, "thresholds": [4, 7]} for c in columns]
    declared = schema([columns[:3]], feature=features)
    (planned,) = plan_fit(declared, epsilon=0.2, n_rows=500, compare_others=False)
    assert planned.mechanism == "staged"
    said = "; without them all thresholds of a column would have the same point"
    assert planned.reason.brief.endswith(said)
    (planned,) = plan_fit(wide(30), epsilon=1.0, n_rows=500, compare_others=False)
    assert planned.mechanism == "staged" and said not in planned.reason.brief


def test_a_stump_says_that_nothing_is_ruled_out():
    (planned,) = plan_fit(wide(30), epsilon=0.01, n_rows=100, compare_others=False)
    assert "alternatives rule out nothing" in planned.reason.brief


def test_auto_takes_no_logistic_card_and_no_search():
    free, limited = wide(20, group=0), wide(20)
    asked = {"epsilon": 1.0, "n_rows": 100_000, "compare_others": False}
    chosen = [plan_fit(one, **asked)[0].mechanism for one in (free, limited)]
    assert chosen[0] == "logistic" and chosen[1] in TAKERS
    for n in (10, 13, 14):  # boxes that A* sampling searches, or lists slowly
        grid = scorecard_grid(wide(n), 1)
        name, _ = choose_mechanism(grid, public=public(grid, 1.0, 500))
        built, _ = build_mechanism(name, grid, public=public(grid, 1.0, 500))
        assert built.takes_alternatives


# --- elsewhere -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [m for m in MECHANISMS if m not in (*TAKERS, "auto")])
def test_a_mechanism_that_cannot_is_refused_before_a_row_is_read(mechanism, tmp_path):
    model = PrivateScorecardClassifier(
        epsilon=1.0, schema=schema(), mechanism=mechanism, ledger=tmp_path / "budget"
    )
    words = f"'permute_and_flip', 'exponential', 'staged' or 'auto'.*got mechanism='{mechanism}'"
    with pytest.raises(CalibrationError, match=words):
        model.fit(object(), object())
    assert not (tmp_path / "budget").exists()


def test_a_logistic_card_is_refused_so_too(tmp_path):
    model = PrivateScorecardClassifier(epsilon=1.0, schema=schema(), mechanism="logistic")
    with pytest.raises(CalibrationError, match="alternatives need .* got mechanism='logistic'"):
        model.fit(object(), object())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"prior": {"smokes": 1}}, "got a start"),
        ({"prior": {"smokes": 1}, "mechanism": "staged"}, "got a start"),
        ({"oracle": "branch-and-bound"}, "got an oracle by name"),
    ],
)
def test_starts_and_oracles_are_refused_before_a_row_is_read(settings, words):
    model = PrivateScorecardClassifier(epsilon=1.0, schema=schema(), **settings)
    with pytest.raises(CalibrationError, match=words):
        model.fit(object(), object())


def test_the_named_estimator_of_another_mechanism_refuses_them():
    with pytest.raises(CalibrationError, match="alternatives need .* got mechanism='opdisc'"):
        OPDiscClassifier(epsilon=1.0, schema=schema()).fit(*table())


def test_a_base_measure_is_refused():
    grid = scorecard_grid(schema(), 1)
    for measure in (BaseMeasure(penalty=0.5), BaseMeasure(by_levels=True)):
        with pytest.raises(CalibrationError, match="uniform base measure"):
            ExponentialMechanism(base_measure=measure).calibrate(public(grid))


def test_a_list_that_is_too_long_is_refused():
    grid = scorecard_grid(wide(30), 1)
    for name in ("permute_and_flip", "exponential"):
        with pytest.raises(CalibrationError, match="at most 10,000,000 weight combinations"):
            build_mechanism(name, grid)[0].calibrate(public(grid))
    with pytest.raises(BeyondReach):
        choose_mechanism(grid)


def test_a_mechanism_of_somebody_else_is_refused_unless_it_says_that_it_heeds_them():
    problem = _tempted()
    with pytest.raises(CalibrationError, match="'opdisc' does neither"):
        run_mechanism(SphereMechanism(), problem, public(problem.grid), entropy=SeededEntropy(0))


def test_an_oracle_by_name_is_refused_before_the_spend(tmp_path):
    problem = _tempted()
    with pytest.raises(Exception, match="takes no alternatives among the weights"):
        run_mechanism(
            PermuteAndFlipMechanism(),
            problem,
            public(problem.grid),
            entropy=SeededEntropy(0),
            oracle="branch-and-bound",
        )


def test_linear_models_and_votes_refuse_them_before_a_row_is_read(tmp_path):
    settings = {"schema": schema(), "ledger": tmp_path / "budget"}
    linear = PrivateLogisticRegression(epsilon=1.0, **settings)
    with pytest.raises(CalibrationError, match="but a linear model has weights everywhere"):
        linear.fit(object(), object())
    vote = RobustVoteClassifier(epsilon=1.0, delta=1e-3, **settings)
    with pytest.raises(CalibrationError, match="but a vote is on cards of every kind"):
        vote.fit(object(), object())
    assert not (tmp_path / "budget").exists()


def test_a_vote_of_ones_own_refuses_them_too():
    with pytest.raises(CalibrationError, match="a vote takes no alternatives"):
        check_candidates(scorecard_grid(schema(), 1))


def test_a_plan_says_who_cannot():
    plan = plan_fit(schema(), epsilon=1.0, n_rows=5000)
    refused = {one.mechanism: one for one in plan if one.prediction is None}
    assert {"opdisc", "rspm", "one_hot", "block_one_hot"} <= set(refused)
    assert all("alternatives need" in one.reason.brief for one in refused.values())
    assert "logistic" not in {one.mechanism for one in plan}
