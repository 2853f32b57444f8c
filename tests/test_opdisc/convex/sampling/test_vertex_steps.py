"""Private Frank-Wolfe: whole scores, exact draws, composition, refusals."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from opdisc import PrivateLinearSVC, PrivateLogisticRegression
from opdisc.convex.minimisation import minimum
from opdisc.convex.noise_plan import FLOATING_POINT
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.convex.sampling import vertex_steps, whole_rows
from opdisc.convex.sampling.simplex import zcdp_budget
from opdisc.convex.sampling.vertex_steps import (
    draw_vertex,
    frank_wolfe,
    plan_frank_wolfe,
    private_steps,
    step_epsilon,
    vertex_sensitivity,
)
from opdisc.convex.sampling.whole_rows import CELL, MOST_ROWS, SLOPE, WholeRows, whole_slopes
from opdisc.errors import CalibrationError
from opdisc.privacy import Ledger
from opdisc.privacy.entropy import SeededEntropy, SystemEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from oracles.arithmetic import RandomBits
from oracles.convex.balls import L1Ball, L2Ball
from oracles.convex.classification_losses import (
    HingeLoss,
    HuberisedHingeLoss,
    LogisticLoss,
    RampLoss,
)
from oracles.convex.constants import RowBounds
from oracles.convex.costly_losses import with_costs
from oracles.convex.polytopes import Simplex
from oracles.convex.regression_losses import SquaredLoss
from oracles.problem import ErrorCosts

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE


def facts(
    *, domain=None, loss=None, p=2, epsilon=1.0, delta=0.0, relation=REPLACE, n=None, **more
):
    return ConvexPublic(
        params=PrivacyParams(epsilon=epsilon, delta=delta),
        relation=relation,
        loss=loss or LogisticLoss(),
        bounds=RowBounds(l2=math.sqrt(p), linf=1.0),
        dimension=p,
        domain=domain or L1Ball(dimension=p, radius=3.0),
        n_rows=n if relation is REPLACE else None,
        **more,
    )


def table(*rows):
    """Return rows of which the last number is the label."""
    numbers = np.array(rows, dtype=np.float64).reshape(len(rows), -1)
    return Rows(X=numbers[:, :-1].copy(), y=numbers[:, -1].copy(), is_exact=True)


def vertices(domain):
    p = domain.dimension
    corners = [(j, 1) for j in range(p)]
    return corners if isinstance(domain, Simplex) else [*corners, *((j, -1) for j in range(p))]


def law(rows, public, steps, rate):
    """Return the chance of every sequence of vertices, by rational gradients row by row."""
    domain, p = public.domain, public.dimension
    corners = vertices(domain)

    def chances(point):
        gradient = [0] * p
        for x, y in zip(rows.X, rows.y, strict=True):
            score = sum(Fraction(float(a)) * b for a, b in zip(x, point, strict=True))
            slope = -y / (1 + math.exp(y * float(score)))
            steepest = 1 / (1 + math.exp(-domain.radius_l1))
            whole = max(-SLOPE, min(SLOPE, round(slope / steepest * SLOPE)))
            for j in range(p):
                gradient[j] += whole * round(x[j] * CELL)
        weights = [math.exp(-rate * sign * gradient[j]) for j, sign in corners]
        return [weight / sum(weights) for weight in weights]

    start = [Fraction(1, p)] * p if isinstance(domain, Simplex) else [Fraction(0)] * p
    found = {(): (1.0, start)}
    for number in range(1, steps + 1):
        longer = {}
        for past, (chance, point) in found.items():
            for (j, sign), part in zip(corners, chances(point), strict=True):
                share = Fraction(2, number + 1)
                moved = [(1 - share) * old for old in point]
                moved[j] += share * sign * Fraction(domain.radius_l1)
                longer[*past, (j, sign)] = (chance * part, moved)
        found = longer
    return found


FEW = table((1, 1, 1), (1, -1, -1), (-1, 0.5, 1), (1, 1, -1), (1, 1, 1))


@pytest.mark.parametrize(
    "domain", [L1Ball(dimension=2, radius=3.0), Simplex(dimension=2)], ids=["ball", "simplex"]
)
def test_the_law_of_two_steps_is_that_of_enumeration(domain):
    """Chi squared, false alarm 1e-6 each; seeded."""
    public = facts(domain=domain, n=5, epsilon=6.0)
    rate = step_epsilon(public.params, 2) / vertex_sensitivity(public)
    points = {}
    for chance, point in law(FEW, public, 2, float(rate)).values():
        key = tuple(round(float(x), 6) for x in point)
        points[key] = points.get(key, 0.0) + chance
    whole, bits = WholeRows.of(FEW, public), RandomBits(SeededEntropy(3))
    drawn = [
        tuple(np.round(private_steps(whole, public, 2, rate, bits), 6).tolist())
        for _ in range(900)
    ]
    assert set(drawn) <= set(points)
    seen = [drawn.count(point) for point in points]
    expected = np.array(list(points.values())) * len(drawn)
    assert stats.chisquare(seen, expected).pvalue > 1e-6
    # Its broken twin, a law of half the noise, is told apart.
    louder = dict.fromkeys(points, 0.0)
    for chance, point in law(FEW, public, 2, 2 * float(rate)).values():
        louder[tuple(round(float(x), 6) for x in point)] += chance
    assert stats.chisquare(seen, np.array(list(louder.values())) * len(drawn)).pvalue < 1e-6


def neighbours(relation, p=2):
    """Return pairs of tables: every row of signs beside every other one, or nothing."""
    rows = [(*x, y) for x in itertools.product((-1, 1), repeat=p) for y in (-1, 1)]
    rest = ((1,) * (p + 1), (1, *(-1,) * p))
    if relation is ADD:
        return [(table(row, *rest), table(*rest)) for row in rows]
    return [(table(a, *rest), table(b, *rest)) for a, b in itertools.combinations(rows, 2)]


def farthest(relation, epsilon, rate):
    """Return the largest log ratio of sequences of two vertices over all neighbours."""
    worst = 0.0
    for first, second in neighbours(relation):
        public = facts(relation=relation, epsilon=epsilon, n=3)
        one, other = (law(rows, public, 2, rate) for rows in (first, second))
        worst = max(worst, *(abs(math.log(one[s][0] / other[s][0])) for s in one))
    return worst


@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_no_sequence_of_vertices_tells_more_than_epsilon(relation):
    public = facts(relation=relation, n=3, public_row_guess=3 if relation is ADD else None)
    rate = float(step_epsilon(public.params, 2) / vertex_sensitivity(public))
    assert farthest(relation, 1.0, rate) <= 1.0
    assert farthest(relation, 1.0, 4 * rate) > 1.0


@pytest.mark.parametrize("relation", [REPLACE, ADD])
@pytest.mark.parametrize("costs", [ErrorCosts(), ErrorCosts(false_negative=3, false_positive=1)])
def test_differences_of_scores_move_by_no_more_than_the_sensitivity(relation, costs):
    loss = with_costs(LogisticLoss(), costs)
    public = facts(relation=relation, loss=loss, n=3)
    worst, steepest = 0, loss.slope_bound(public.bounds, 3.0)
    for first, second in neighbours(relation):
        for theta in itertools.product((-3.0, 0.0, 1.5), repeat=2):
            scores = []
            for rows in (first, second):
                slopes = whole_slopes(loss, rows.X @ np.array(theta), rows.y, steepest)
                gradient = WholeRows.of(rows, public).gradient(slopes)
                scores.append(np.concatenate([gradient, -gradient]))
            moved = scores[0] - scores[1]
            worst = max(worst, int(moved.max() - moved.min()))
    assert worst <= vertex_sensitivity(public)
    # The bound is that of a row at the edge of the ball.
    assert worst > 0.9 * vertex_sensitivity(public)


@pytest.mark.parametrize("loss", [LogisticLoss(), HuberisedHingeLoss(), SquaredLoss()])
def test_what_a_row_adds_does_not_depend_on_the_others(loss):
    rng = np.random.default_rng(1)
    X, y = rng.uniform(-1, 1, size=(5_000, 7)), rng.choice([-1.0, 1.0], size=5_000)
    public = facts(p=7, loss=loss, n=5_000)
    scores, steepest = rng.normal(size=5_000), loss.slope_bound(public.bounds, 3.0)

    def gradient(part):
        whole = WholeRows.of(Rows(X=X[part], y=y[part]), public)
        return whole.gradient(whole_slopes(loss, scores[part], y[part], steepest))

    alone = sum(gradient(slice(i, i + 1)) for i in range(300))
    np.testing.assert_array_equal(gradient(slice(0, 300)), alone)
    np.testing.assert_array_equal(
        gradient(rng.permutation(5_000)), gradient(slice(0, 300)) + gradient(slice(300, None))
    )
    assert np.abs(gradient(slice(0, 1))).max() <= CELL * SLOPE


def test_equal_rows_may_be_merged():
    public = facts(n=4)
    merged = Rows(X=np.array([[1.0, -1.0], [1.0, 1.0]]), y=np.ones(2), counts=np.array([3.0, 1.0]))
    found = [
        private_steps(WholeRows.of(rows, public), public, 7, None, RandomBits(SeededEntropy(0)))
        for rows in (merged, merged.expanded())
    ]
    np.testing.assert_array_equal(*found)


def test_a_cell_or_slope_out_of_bounds_is_cut():
    wild = Rows(X=np.array([[7.0, -7.0]]), y=np.array([1.0]))
    assert WholeRows.of(wild, facts(n=1)).points.tolist() == [[CELL, -CELL]]
    assert whole_slopes(SquaredLoss(), np.array([9.0]), np.zeros(1), 1.0).tolist() == [SLOPE]


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 8.0])
@pytest.mark.parametrize("steps", [1, 3, 40, 1000])
def test_the_steps_together_cost_the_budget(epsilon, steps):
    pure = PrivacyParams(epsilon=epsilon, delta=0.0)
    assert steps * step_epsilon(pure, steps) <= Fraction(epsilon)
    mixed = PrivacyParams(epsilon=epsilon, delta=1e-8)
    one = step_epsilon(mixed, steps)
    assert one >= step_epsilon(pure, steps)
    by_zcdp = steps * one**2 / 8 <= Fraction(zcdp_budget(mixed))
    assert by_zcdp or steps * one <= Fraction(epsilon)


def test_a_vertex_of_bounded_range_is_as_concentrated_as_is_said():
    """Renyi divergences of exponential mechanisms whose scores move within a range of epsilon."""
    rng = np.random.default_rng(0)
    for epsilon in (0.1, 1.0, 4.0):
        worst = 0.0
        for _ in range(200):
            scores = rng.normal(size=4) * 3
            moved = scores + epsilon * rng.choice([0.0, 1.0, rng.random()], size=4)
            p, q = (np.exp(s) / np.exp(s).sum() for s in (scores, moved))
            for alpha in (1.01, 2.0, 5.0, 30.0):
                divergence = math.log(float((p**alpha * q ** (1 - alpha)).sum())) / (alpha - 1)
                worst = max(worst, divergence / alpha)
        assert 0.5 * epsilon**2 / 8 < worst <= epsilon**2 / 8


def test_equal_scores_are_equally_likely():
    bits = RandomBits(SeededEntropy(0))
    drawn = [draw_vertex(np.array([5, 0, 5, 0]), Fraction(50), bits) for _ in range(200)]
    assert set(drawn) == {1, 3} and 60 < drawn.count(1) < 140


@pytest.mark.parametrize("loss", [LogisticLoss(), SquaredLoss()])
@pytest.mark.parametrize("kind", [L1Ball, Simplex])
def test_without_noise_the_steps_reach_the_optimum(kind, loss):
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(400, 5))
    y = np.sign(X @ [2.0, -1.0, 0.5, 0.0, 0.0] + 0.3 * rng.normal(size=400))
    domain = Simplex(dimension=5) if kind is Simplex else L1Ball(dimension=5, radius=2.0)
    public, rows = facts(domain=domain, p=5, loss=loss, n=400), Rows(X=X, y=y)
    whole = WholeRows.of(rows, public)
    best = minimum(rows, loss, domain, ridge=0.0)
    excesses = []
    for steps in (20, 200):
        found = private_steps(whole, public, steps, None, RandomBits(SeededEntropy(0)))
        assert domain.contains(found)
        excess = (rows.sum_value(loss, found) - rows.sum_value(loss, best)) / 400
        # Jaggi 2013, Theorem 1; as much again for scores that are rounded.
        assert excess <= 2 * loss.curvature_bound() * domain.diameter_l1**2 / (steps + 2)
        excesses.append(excess)
    assert excesses[1] < 0.01


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_default_steps_grow_with_rows_and_budget(epsilon):
    def steps(**given):
        public = facts(domain=L1Ball(dimension=2, radius=4.0), **{"epsilon": epsilon, **given})
        return plan_frank_wolfe(public).setting("steps")

    assert steps(n=1_000) < steps(n=100_000) <= 1000
    assert steps(n=1_000) <= steps(n=1_000, epsilon=2 * epsilon)
    assert steps(n=10_000) <= steps(n=10_000, delta=1e-8)


# --- receipts and refusals -----------------------------------------------------------------------


def test_a_receipt_holds_where_no_double_enters():
    def receipt(rows, loss=None, **given):
        public = facts(loss=loss, n=len(rows.y), **given)
        return frank_wolfe(rows, public, entropy=SystemEntropy(), steps=2).receipt

    held = receipt(FEW)
    assert held.guarantee == "HOLDS" and held.delta == 0.0 and "(docs/convex.md," in held.theorem
    assert "delta:              0\n" in str(held)
    for doubtful in (
        receipt(Rows(X=FEW.X.copy(), y=FEW.y.copy())),
        receipt(FEW, HuberisedHingeLoss()),
    ):
        assert doubtful.guarantee == "CONDITIONAL" and FLOATING_POINT in doubtful.conditions
        assert "rounding of doubles not covered" in str(doubtful)
    many = receipt(FEW, delta=1e-9)
    assert many.delta == 0.0 and many.settings["epsilon of one"] == 0.5  # two steps: pure is more


def test_only_a_delta_that_is_used_is_promised():
    public = facts(n=5, delta=1e-9)
    assert frank_wolfe(FEW, public, entropy=SystemEntropy(), steps=900).receipt.delta == 1e-9


SCHEMA = {
    "name": "signs",
    "target": {"column": "answer", "positive": "yes", "negative": "no"},
    "unit": "one row",
    "feature": [{"column": f"c{j}", "binary": True} for j in range(12)],
}


def sparse(n, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, 2, size=(n, 12)).astype(str), dtype=object)
    frame.columns = [f"c{j}" for j in range(12)]
    score = 3 * (frame["c3"] == "1") - 3 * (frame["c7"] == "1")
    frame["answer"] = np.where(score + rng.logistic(size=n) > 0.0, "yes", "no").astype(object)
    return frame


def test_an_estimator_reaches_it_by_name():
    frame = sparse(3_000)
    model = PrivateLogisticRegression(
        epsilon=2.0, mechanism="frank_wolfe", schema=SCHEMA, random_state=0
    ).fit(frame, frame["answer"])
    assert model.receipt_.mechanism == "frank_wolfe" and model.receipt_.domain.startswith("L1Ball")
    assert FLOATING_POINT not in model.receipt_.conditions
    others = np.delete(model.coef_[0], [3, 7])
    assert model.coef_[0, 3] > 1 > np.abs(others).max() and model.coef_[0, 7] < -1
    constant = max(frame["answer"].value_counts(normalize=True))
    assert model.score(frame, frame["answer"]) > constant + 0.05
    assert np.abs(model.decision_function(frame)).max() <= 4.0001


def test_numbers_and_support_vectors_rest_on_doubles():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(500, 3))
    for cls in (PrivateLogisticRegression, PrivateLinearSVC):
        model = cls(mechanism="frank_wolfe", data_norm=2.0, delta=1e-7).fit(X, X[:, 0] > 0)
        assert model.receipt_.guarantee == "CONDITIONAL"
        assert FLOATING_POINT in model.receipt_.conditions


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"domain": L2Ball(dimension=2, radius=1.0)}, "needs an l1 ball or the simplex"),
        ({"loss": RampLoss()}, "needs a convex loss, but the ramp loss is not"),
        ({"loss": HingeLoss()}, "needs a smooth loss, but the hinge loss is not"),
        ({"steps": 0}, "steps must be an integer from 1 to 1,000, got 0"),
        ({"steps": True}, "got True"),
        ({"steps": 2.5}, "got 2.5"),
        ({"relation": ADD}, "under add_or_remove_one give public_row_guess"),
        ({"n": 4}, "n_rows must be the number of rows of the table"),
    ],
)
def test_what_does_not_suit_is_refused_before_the_spend(given, expected, tmp_path):
    given = {"n": 5, **given}
    steps, ledger = given.pop("steps", None), Ledger(tmp_path / "ledger")
    with pytest.raises(CalibrationError, match=expected) as caught:
        frank_wolfe(FEW, facts(**given), entropy=SystemEntropy(), steps=steps, ledger=ledger)
    assert str(caught.value).endswith(".") and ledger.spendings() == ()


def test_too_many_rows_to_add_up_are_refused_before_the_spend(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    many = Rows(X=FEW.X[:1].copy(), y=FEW.y[:1].copy(), counts=np.array([MOST_ROWS + 1.0]))
    public = facts(n=MOST_ROWS + 1)
    with pytest.raises(CalibrationError, match="at most 134,217,727 rows; use another"):
        frank_wolfe(many, public, entropy=SystemEntropy(), ledger=ledger)
    assert ledger.spendings() == ()
    most = replace(many, counts=np.array([float(MOST_ROWS)]))
    whole = WholeRows.of(most, facts(n=MOST_ROWS))
    assert whole.gradient(np.array([SLOPE])).tolist() == [MOST_ROWS * SLOPE * CELL] * 2


def test_the_modules_say_no_number_of_a_table(monkeypatch, tmp_path):
    """What fails on the rows is charged, and says nothing."""
    from opdisc.errors import UncertifiedRelease

    def fails(self, slopes):
        if len(self.y) == 5:
            raise ValueError("5 rows")
        return np.zeros(self.points.shape[1], dtype=np.int64)

    monkeypatch.setattr(whole_rows.WholeRows, "gradient", fails)
    ledger = Ledger(tmp_path / "ledger")
    with pytest.raises(UncertifiedRelease) as caught:
        vertex_steps.frank_wolfe(FEW, facts(n=5), entropy=SystemEntropy(), ledger=ledger)
    assert len(ledger.spendings()) == 1 and "5 rows" not in str(caught.value)
