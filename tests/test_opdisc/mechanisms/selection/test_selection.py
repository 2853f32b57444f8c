"""Private selection: its law, its cost against exact probabilities, and the tuned baselines."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from opdisc import NeighboringRelation, PrivacyParams
from opdisc.comparison.methods import clipped_descent, tuning
from opdisc.comparison.methods.method import FitTask, registry
from opdisc.data.datasets.loading import load_comparison_dataset
from opdisc.errors import CalibrationError, UncertifiedRelease
from opdisc.mechanisms.selection.candidates import count_right, stated_rows
from opdisc.mechanisms.selection.random_stopping import TrialLaw, trial_budget, trial_law
from opdisc.mechanisms.selection.trials import private_selection
from opdisc.privacy.entropy import SeededEntropy, SystemEntropy
from opdisc.privacy.ledger import Ledger

SHAPES = (-0.5, 0.0, 1.0, 2.5)
REPLACE = NeighboringRelation.REPLACE_ONE


def _probabilities(law, largest):
    """P[K = 1..largest] from the definition, normalised by the generating function at 0 and 1."""
    weights = np.ones(largest)
    for k in range(2, largest + 1):
        weights[k - 1] = weights[k - 2] * (1 - law.stop) * (k - 1 + law.shape) / k
    return weights / weights.sum()


def _best(law, masses):
    """Exact law of the best of K draws; outcomes in increasing order, ``masses`` of one draw."""
    upto = np.concatenate([[0.0], np.cumsum(masses)])
    upto[-1] = min(upto[-1], 1.0)
    values = [law.generating(min(x, 1.0)) for x in upto]
    return np.diff(values)


# --- the law of the number of trials -------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_mean_and_generating_function_are_those_of_the_definition(shape):
    law = trial_law(6.0, shape)
    chances = _probabilities(law, 20_000)
    counts = np.arange(1, 20_001)
    assert law.mean == pytest.approx(6.0, rel=1e-6)
    assert law.mean == pytest.approx(chances @ counts, rel=1e-6)
    for x in (0.0, 0.3, 0.9, 1.0):
        assert law.generating(x) == pytest.approx(chances @ x**counts, abs=1e-9)
    assert law.total_variation < 2.0**-100


@pytest.mark.parametrize("shape", SHAPES)
def test_draws_follow_the_law(shape):
    law = trial_law(5.0, shape)
    entropy = SeededEntropy(7)
    drawn = np.array([law.draw(entropy) for _ in range(1200)])
    chances = _probabilities(law, 5000)
    assert drawn.min() == 1
    for k in (1, 2, 3, 5):
        # Five standard errors with a fixed seed.
        error = math.sqrt(chances[k - 1] / 1200)
        assert abs((drawn == k).mean() - chances[k - 1]) < 5 * error


def test_laws_outside_the_proof_are_refused():
    for shape, stop in ((-1.0, 0.5), (11.0, 0.5), (0.0, 0.0), (0.0, 1.0)):
        with pytest.raises(CalibrationError):
            TrialLaw(shape=shape, stop=stop)
    with pytest.raises(CalibrationError, match="expected_trials"):
        trial_law(1.0)


# --- the cost, against exact probabilities -------------------------------------------------------


def _neighbours(epsilon, rng, size):
    """Two laws of one trial with log ratios exactly at or within epsilon."""
    base = rng.dirichlet(np.ones(size) * rng.choice([0.1, 1.0]))
    tilt = np.exp(epsilon / 2 * rng.choice([-1.0, 1.0], size))
    first, second = base * tilt, base / tilt
    # Normalising both moves the ratios by a common factor; check and shrink where it does.
    return first / first.sum(), second / second.sum()


def selection_cost(trial, law):
    """What the whole selection costs, rounded up; docs/tuning.md, entry "random-stopping"."""
    # 1 - E[(1 - delta)^K] <= E[K] delta by convexity; the difference is negligible here.
    delta = min(law.mean * trial.delta * (1 + 1e-12), math.nextafter(1.0, 0.0))
    return PrivacyParams(epsilon=law.cost * trial.epsilon * (1 + 1e-12), delta=delta)


@given(
    seed=st.integers(0, 10**6), shape=st.sampled_from(SHAPES), epsilon=st.sampled_from([0.1, 1])
)
@settings(max_examples=60, deadline=None)
def test_the_exact_privacy_loss_never_exceeds_the_claim(seed, shape, epsilon):
    rng = np.random.default_rng(seed)
    law = trial_law(float(rng.choice([1.5, 5, 50])), shape)
    first, second = _neighbours(epsilon, rng, int(rng.integers(2, 6)))
    kept = (first > 1e-9) & (second > 1e-9)
    if not kept.all():
        return
    actual = float(np.abs(np.log(first / second)).max())
    claim = selection_cost(PrivacyParams(epsilon=max(actual, 1e-6), delta=0.0), law)
    losses = np.log(_best(law, first) / _best(law, second))
    # Differences of the generating function lose digits where a mass is tiny.
    assert np.abs(losses).max() <= claim.epsilon + 1e-5


def _tight(epsilon, top=1e-3, rare=1e-9):
    """Low, middle and top outcome: the middle is rarer, and what beats it is likelier, on D'."""
    first = np.array([0.0, rare * math.exp(epsilon), top * math.exp(-epsilon)])
    second = np.array([0.0, rare, top])
    first[0], second[0] = 1 - first.sum(), 1 - second.sum()
    return first, second


def _middle_loss(law, first, second):
    """Log ratio of the middle outcome, from the derivative: its mass is tiny."""

    def density(masses):
        return masses[1] * (1 - (1 - law.stop) * masses[0]) ** (-law.shape - 1)

    return math.log(density(first) / density(second))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_cost_is_tight_so_half_of_it_would_be_a_violation(shape):
    epsilon, law = 0.5, TrialLaw(shape=shape, stop=1e-6)
    first, second = _tight(epsilon)
    assert np.abs(np.log(first / second)).max() <= epsilon * (1 + 1e-9)
    claim = selection_cost(PrivacyParams(epsilon=epsilon, delta=0.0), law).epsilon
    loss = _middle_loss(law, first, second)
    assert 0.98 * claim <= loss <= claim
    assert loss > claim / 2


def _hockey_stick(first, second, epsilon):
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum())


@pytest.mark.parametrize(("shape", "delta"), list(itertools.product(SHAPES, (0.0, 0.01, 0.05))))
def test_approximate_trials_cost_what_the_theorem_says(shape, delta):
    epsilon, law = 0.4, trial_law(4.0, shape)
    ratio = math.exp(epsilon)
    # Outcome 3 betrays D with probability delta, outcome 0 betrays D'; the rest is pure.
    share = np.array([ratio, 1.0]) / (1 + ratio)
    worst, worst_share = 0.0, 0.0
    for order in itertools.permutations(range(4)):
        first = np.array([0.0, *(1 - delta) * share, delta])[list(order)]
        second = np.array([delta, *(1 - delta) * share[::-1], 0.0])[list(order)]
        claim = selection_cost(PrivacyParams(epsilon=epsilon, delta=delta), law)
        best = _best(law, first), _best(law, second)
        worst = max(worst, _hockey_stick(*best, claim.epsilon))
        assert _hockey_stick(*best, claim.epsilon) <= claim.delta + 1e-12
        worst_share = max(worst_share, _hockey_stick(*best, 0.25 * claim.epsilon))
    if delta > 0:
        # Positive control: a betraying outcome that wins shows in delta, about E[K] times.
        assert worst > 1.5 * delta
        assert worst_share > 0


def test_the_budget_of_a_trial_is_never_more_than_the_total_allows():
    for shape, mean, epsilon, delta in itertools.product(
        SHAPES, (1.5, 10, 100), (0.01, 1.0), (0.0, 1e-9, 1e-3)
    ):
        law = trial_law(mean, shape)
        total = PrivacyParams(epsilon=epsilon, delta=delta)
        back = selection_cost(trial_budget(total, law), law)
        assert back.epsilon <= epsilon and back.delta <= delta
        assert back.epsilon >= 0.999999 * epsilon
        if delta:
            exact = 1 - law.generating(1 - trial_budget(total, law).delta)
            assert exact <= delta * (1 + 1e-6)


# --- the selection -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Receipt:
    epsilon: float
    delta: float
    delta_numerical: float = 0.0
    relation: str = "replace_one"
    schema_digest: str = "d" * 64
    guarantee: str = "HOLDS"
    conditions: tuple = ()
    privacy_unit: str = "one row"
    rows_per_unit: int = 1
    mechanism: str = "a candidate's"
    n_rows: int | None = None


@dataclass(frozen=True)
class _GridLike(_Receipt):
    """States a sensitivity instead of the rows of a unit."""

    sensitivity: int = 2

    def __getattribute__(self, name):
        if name == "rows_per_unit":
            raise AttributeError(name)
        return super().__getattribute__(name)


class _Counting:
    """A candidate that always gives the same number of right answers."""

    def __init__(self, name, right, **receipt):
        self.name, self.right, self.receipt, self.fits = name, right, receipt, 0

    def fit(self, params):
        self.fits += 1
        settings = dict(self.receipt)
        kind = settings.pop("kind", _Receipt)
        return self.name, kind(**{"epsilon": params.epsilon, "delta": params.delta} | settings)

    def correct(self, model):
        assert model == self.name
        return self.right


def _select(candidates, **changes):
    arguments = {
        "params": PrivacyParams(epsilon=1.0, delta=1e-6),
        "relation": REPLACE,
        "expected_trials": 20.0,
        "shape": 1.0,
    }
    return private_selection(candidates, **(arguments | changes))


def test_the_best_candidate_wins_and_the_receipt_covers_everything(tmp_path):
    good, bad = _Counting("good", 9000), _Counting("bad", 5000)
    ledger = Ledger(tmp_path / "ledger")
    wins = 0
    for seed in range(20):
        chosen = _select([good, bad], entropy=SeededEntropy(seed))
        wins += chosen.name == "good"
        assert chosen.model == chosen.name
        assert chosen.receipt.guarantee == "VOID"  # seeded
    assert wins >= 17
    chosen = _select([good, bad], ledger=ledger)
    receipt = chosen.receipt
    assert (receipt.epsilon, receipt.delta, receipt.guarantee) == (1.0, 1e-6, "CONDITIONAL")
    assert receipt.trial_epsilon == pytest.approx(1 / 3)
    assert receipt.score_epsilon == pytest.approx(0.2 / 3)
    assert receipt.delta_numerical < 1e-9
    (spent,) = ledger.spendings()
    assert spent.epsilon == 1.0 and spent.mechanism == "private selection"
    record = receipt.to_dict()
    assert record["candidates"] == ["good", "bad"] and record["theorem"].endswith("stopping)")
    # The number of trials must not leave: nothing released is equal to the fits that were made.
    assert not any("trials_run" in name or name == "trials" for name in record)


def test_every_fit_gets_a_trials_budget_and_no_more():
    seen = []

    class Watching(_Counting):
        def fit(self, params):
            seen.append(params)
            return super().fit(params)

    chosen = _select([Watching("a", 10)], entropy=SystemEntropy())
    receipt = chosen.receipt
    assert len(set(seen)) == 1
    assert seen[0].epsilon + receipt.score_epsilon <= receipt.trial_epsilon
    assert seen[0].delta <= receipt.trial_delta


class _Promising(_Counting):
    """Says before the spend what its receipt will be."""

    def promise(self, params):
        return self.fit(params)[1]


def refused(words, receipt, arguments):
    """A promise is refused in words before the spend; who gives none fails after it, without."""
    with pytest.raises(CalibrationError, match=words):
        _select([_Promising("a", 1, **receipt)], **arguments)
    with pytest.raises(UncertifiedRelease, match="^a candidate failed, or broke its promise"):
        _select([_Counting("a", 1, **receipt)], **arguments)


def test_a_candidate_that_breaks_its_budget_is_refused():
    for receipt in ({"epsilon": 0.9}, {"delta": 1e-3}, {"delta_numerical": 1e-6}):
        refused("keep to the budget", receipt, {})
    refused("under the same relation", {"relation": "add_or_remove_one"}, {})
    assert _select([_Counting("a", 1, guarantee="VOID")]).receipt.guarantee == "VOID"


FIFTY = {"privacy_unit": "one patient", "rows_per_unit": 50}


@pytest.mark.parametrize(
    ("receipt", "arguments", "words"),
    [
        ({"rows_per_unit": 50}, {}, "as many rows as the selection, 1, but one allows 50"),
        ({}, {"rows_per_unit": 50}, "as many rows as the selection, 50, but one allows 1"),
        ({"privacy_unit": "one patient"}, {}, "'one row', but one protects 'one patient'"),
        ({}, {"privacy_unit": "one patient"}, "'one patient', but one protects 'one row'"),
        ({"kind": _GridLike, "sensitivity": 100}, {}, "one allows 50"),
        ({"kind": _GridLike, "sensitivity": 2}, {"rows_per_unit": 2}, "one allows 1"),
    ],
)
def test_candidates_for_other_neighbours_are_refused(receipt, arguments, words):
    refused(words, receipt, arguments)


@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_the_rows_of_a_unit_are_read_off_a_sensitivity(relation):
    def stated(mechanism, sensitivity):
        return stated_rows(
            _GridLike(
                1.0, 0.0, relation=relation.value, mechanism=mechanism, sensitivity=sensitivity
            )
        )

    assert stated("rspm", 3 * relation.loss_sensitivity) == 3
    assert stated("robust_vote", 6) == 3  # a vote moves by two, whatever the relation


def test_mixed_candidates_that_promise_are_refused_before_anything_is_spent(tmp_path):
    class Promising(_Counting):
        def promise(self, params):
            settings = {"epsilon": params.epsilon, "delta": params.delta} | self.receipt
            return _Receipt(**settings)

    ledger = Ledger(tmp_path / "ledger")
    one, other = Promising("a", 1), Promising("b", 1, **FIFTY)
    for arguments in ({}, FIFTY):
        with pytest.raises(CalibrationError, match="candidates must"):
            _select([one, other], ledger=ledger, **arguments)
    assert not ledger.path.exists() and one.fits == other.fits == 0
    # A receipt that will be VOID is recorded as one: its epsilon bounds nothing.
    _select([Promising("a", 1, guarantee="VOID")], ledger=ledger)
    assert [spent.guarantee for spent in ledger.spendings()] == ["VOID"]


@pytest.mark.parametrize("relation", list(NeighboringRelation))
@pytest.mark.parametrize("rows", [1, 50])
def test_the_receipt_states_the_sensitivity_of_the_score(relation, rows):
    agreed = {"relation": relation.value, "rows_per_unit": rows}
    receipt = _select([_Counting("a", 1, **agreed)], relation=relation, rows_per_unit=rows).receipt
    # One unit turns at most `rows` right answers around, adds or removes as many.
    assert receipt.score_sensitivity == rows
    assert receipt.noise_scales == (pytest.approx(rows / receipt.score_epsilon),)
    assert f"sensitivity {rows} rows" in dict(receipt.lines())["its score"]
    assert "one row changes a candidate's number of right answers by at most 1" in (
        receipt.conditions
    )


def test_marks_are_counted_inside():
    class Marking(_Counting):
        def correct(self, model):
            return np.arange(1000) < self.right

    chosen = _select([Marking("a", 700)], params=PrivacyParams(epsilon=1e4, delta=0.0))
    assert chosen.noisy_correct == 700


@pytest.mark.parametrize(
    "marks", [np.array([50, 0, 0]), np.ones((3, 2), dtype=bool), 12.5, True, "many", None]
)
def test_what_is_neither_marks_nor_a_count_is_refused(marks):
    # Weights other than 0 and 1 would be a score of another sensitivity.
    class Wrong(_Counting):
        def correct(self, model):
            return marks

    with pytest.raises(CalibrationError, match="mark each row True or False"):
        count_right(marks)
    with pytest.raises(UncertifiedRelease, match="^a candidate failed, or broke .* its marks"):
        _select([Wrong("a", 1)])


def test_a_candidate_that_fails_releases_nothing_and_says_nothing(tmp_path):
    class Failing(_Counting):
        def correct(self, model):
            raise ZeroDivisionError("row 17 is alice")

    ledger = Ledger(tmp_path / "ledger")
    with pytest.raises(UncertifiedRelease, match="releases nothing") as caught:
        _select([Failing("a", 1)], ledger=ledger)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert len(ledger.spendings()) == 1


def test_bad_arguments_are_refused_before_the_ledger_knows(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    one = [_Counting("a", 1)]
    for candidates, changes in (
        ([], {}),
        ([*one, _Counting("a", 2)], {}),
        (one, {"score_share": 1.0}),
        (one, {"rows_per_unit": 0}),
        (one, {"expected_trials": 1000.0}),
    ):
        with pytest.raises(CalibrationError):
            _select(candidates, ledger=ledger, **changes)
    assert ledger.spendings() == () and one[0].fits == 0


def test_the_scores_noise_has_the_scale_that_the_receipt_states():
    entropy = SeededEntropy(3)
    one = _Counting("a", 1000, rows_per_unit=2)
    drawn = np.array(
        [
            _select([one], entropy=entropy, expected_trials=1.0001, rows_per_unit=2).noisy_correct
            for _ in range(200)
        ]
    )
    receipt = _select([one], entropy=entropy, expected_trials=1.0001, rows_per_unit=2).receipt
    rate = receipt.score_epsilon / 2
    assert receipt.score_sensitivity == 2
    expected = 2 * math.exp(-rate) / (1 - math.exp(-rate)) ** 2
    # The fourth moment of a Laplace variable makes one standard error 16% here; seed fixed.
    assert (drawn - 1000).var() == pytest.approx(expected, rel=0.55)


# --- the baselines -------------------------------------------------------------------------------


def _task(**changes):
    table, schema = load_comparison_dataset("breast-cancer")
    return FitTask(
        **{
            "table": table,
            "test": table.iloc[:0],
            "schema": schema,
            "epsilon": 2.0,
            "delta": 1e-5,
            "relation": REPLACE,
            "weight_bound": 1,
            "oracle": "auto",
            "time_limit": None,
            "seed": 0,
            "noise_seed": 5,
            **changes,
        }
    )


def _naive_sum(X, y, counts, parameters, clip):
    total = np.zeros(X.shape[1])
    for row, label, count in zip(X, y, counts, strict=True):
        gradient = -label / (1 + math.exp(label * (row @ parameters))) * row
        norm = np.linalg.norm(gradient)
        total += count * gradient * min(1.0, clip / norm) if norm > 0 else 0.0
    return total


def test_clipped_gradients_are_those_of_a_loop_and_are_bounded():
    task = clipped_descent.descent_task(_task())
    rng = np.random.default_rng(0)
    parameters = rng.normal(size=task.rows.X.shape[1])
    lengths = np.linalg.norm(task.rows.X, axis=1)
    everything = slice(None)
    for clip in (0.05, 10.0):
        found = clipped_descent._clipped_sum(task.rows, lengths, everything, parameters, clip)
        counts = task.rows.counts
        assert found == pytest.approx(
            _naive_sum(task.rows.X, task.rows.y, counts, parameters, clip)
        )
    one = clipped_descent._clipped_sum(
        task.rows.expanded(),
        np.repeat(lengths, counts.astype(int)),
        np.array([3]),
        parameters,
        0.05,
    )
    assert np.linalg.norm(one) <= 0.05 * (1 + 1e-12)


@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_the_noise_of_clipped_descent_is_calibrated_to_the_clip(relation):
    task = clipped_descent.descent_task(_task(relation=relation))
    params = PrivacyParams(epsilon=1.0, delta=1e-5)
    chosen = clipped_descent.DescentSettings(batch_share=1.0, steps=5, learning_rate=2.0, clip=0.3)
    receipt = clipped_descent.clipped_descent(task, chosen, params, SystemEntropy()).receipt
    settings_ = dict(receipt.settings)
    if relation is REPLACE:
        from opdisc.calibration.gaussian import gaussian_delta

        assert gaussian_delta(settings_["multiplier"] / math.sqrt(5), 1.0) <= 1e-5
    sensitivity = relation.loss_sensitivity * settings_["clip"]
    assert receipt.noise_scales[0] == pytest.approx(settings_["multiplier"] * sensitivity)
    assert settings_["clip"] == pytest.approx(0.3 * receipt.lipschitz)
    assert receipt.guarantee == "CONDITIONAL"


def _accuracy(fitted, task):
    labels = (task.table["diagnosis"] == "malignant").to_numpy()
    return np.mean(fitted.predict(task.table) == labels)


def test_both_searches_learn_and_say_what_they_are(monkeypatch):
    few = [s for s in clipped_descent.SETTINGS if s.batch_share == 1.0][:4]
    monkeypatch.setattr(tuning, "SETTINGS", few)
    task = _task(epsilon=5.0)
    searched = tuning.fit_grid_search(task)
    assert searched.guarantee == "VOID" and "without any privacy" in searched.conditions[0]
    assert searched.delta == 1e-5 and searched.parameters["settings_tried"] == 4
    selected = tuning.fit_private_selection(_task(epsilon=5.0, noise_seed=None))
    assert selected.receipt.epsilon == 5.0 and selected.receipt.guarantee == "CONDITIONAL"
    assert selected.parameters["settings"] in [s.name for s in few]
    for fitted in (searched, selected):
        assert _accuracy(fitted, task) > 0.8
        assert isinstance(task.table, pd.DataFrame)
    methods = registry()
    assert methods["logistic-noisy-sgd-tuned"].tuning == "non-private"
    assert methods["logistic-private-selection"].tuning == "private"
