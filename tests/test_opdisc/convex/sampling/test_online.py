"""The online learner: tree noise, the stream beside the batch, and saved states."""

import copy
import json
import math
import os
import pickle
import stat

import numpy as np
import pytest
from scipy import stats

from opdisc.convex.public import ConvexPublic, convex_params
from opdisc.convex.rows import Rows
from opdisc.convex.sampling import online
from opdisc.convex.sampling.ftrl import plan_ftrl, private_ftrl, tree_sensitivity
from opdisc.convex.sampling.online import ONE_RUN, OnlineLearner
from opdisc.convex.sampling.running_sums import no_sums, tree_levels
from opdisc.convex.sampling.simplex import TAIL, zcdp_budget
from opdisc.errors import CalibrationError, FileMistake, LedgerError, ModelFileError
from opdisc.privacy import Ledger
from opdisc.privacy.entropy import SeededEntropy, SystemEntropy
from opdisc.privacy.params import NeighboringRelation
from oracles.convex.constants import RowBounds
from oracles.convex.polytopes import Simplex
from oracles.convex.regression_losses import ScoreLoss

ROUNDS, P = 37, 4


def facts(rounds=ROUNDS, p=P, *, epsilon=1.0, delta=1e-6, units=1):
    return ConvexPublic(
        params=convex_params(epsilon, delta),
        relation=NeighboringRelation.REPLACE_ONE,
        loss=ScoreLoss(),
        bounds=RowBounds(l2=math.sqrt(p), linf=1.0),
        dimension=p,
        domain=Simplex(dimension=p),
        n_rows=rounds,
        rows_per_unit=units,
    )


def vectors(rounds=ROUNDS, p=P):
    return np.random.default_rng(3).uniform(-1, 1, size=(rounds, p))


@pytest.mark.parametrize("noise", ["tree", "zcdp", "published"])
def test_the_stream_is_the_batch_on_the_same_coins(noise):
    X = vectors()
    for seed in range(5):
        batch = private_ftrl(
            Rows(X=X, y=np.zeros(ROUNDS)), facts(), entropy=SeededEntropy(seed), noise=noise
        )
        stream = OnlineLearner(facts(), noise=noise, entropy=SeededEntropy(seed))
        assert [stream.step(x) for x in X] == batch.actions.tolist()


def test_without_noise_the_stream_follows_the_leader():
    X, stream = vectors(), OnlineLearner(facts(epsilon=math.inf))
    leaders = [int(np.argmin(X[:t].sum(axis=0))) for t in range(ROUNDS)]
    assert [stream.step(x) for x in X] == leaders
    assert stream.receipt.guarantee == "VOID"


@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 5, 8, 9, 31, 32, 33])
def test_running_sums_are_exact_without_noise_and_hold_a_vector_in_few_blocks(rounds):
    X = vectors(rounds)
    sums, seen = no_sums(tree_levels(rounds), P), np.zeros(rounds, dtype=int)
    for t in range(rounds - 1):
        sums.add(X[t], 0.0, SystemEntropy())
        np.testing.assert_allclose(sums.total(), X[: t + 1].sum(axis=0), atol=1e-12)
        # The block that was closed holds the last 2^level vectors.
        length = (t + 1) & -(t + 1)
        seen[t + 1 - length : t + 1] += 1
    assert seen.max(initial=0) <= tree_levels(rounds)
    assert rounds < 3 or seen.max() == tree_levels(rounds)


def test_each_block_has_fresh_noise_of_the_stated_scale():
    """63 rounds of zeros, 60 runs: false alarm below 1e-6; half the scale fails the same test."""
    rounds, p, scale = 64, 4, 3.0

    def noises(scale):
        entropy, found = SeededEntropy(11), []
        for _ in range(60):
            sums = no_sums(tree_levels(rounds), p)
            for t in range(rounds - 1):
                sums.add(np.zeros(p), scale, entropy)
                found.append(sums.noisy[((t + 1) & -(t + 1)).bit_length() - 1].copy())
                assert np.count_nonzero(sums.noisy.any(axis=1)) == (t + 1).bit_count()
        return np.concatenate(found) / 3.0

    def stands(values):
        return stats.kstest(values, "norm").pvalue > 1e-6

    honest = noises(scale)
    assert len(set(honest.tolist())) == len(honest)
    assert stands(honest)
    assert not stands(noises(scale / 2))


def exact_delta(shift, epsilon):
    """Delta of two normals of scale 1 whose means differ by ``shift``."""
    return stats.norm.cdf(shift / 2 - epsilon / shift) - math.exp(epsilon) * stats.norm.cdf(
        -shift / 2 - epsilon / shift
    )


@pytest.mark.parametrize("units", [1, 3])
@pytest.mark.parametrize("rounds", [2, 3, 16, 17, 1000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_the_tree_keeps_its_budget_and_half_the_noise_does_not(rounds, epsilon, units):
    public = facts(rounds, epsilon=epsilon, units=units)
    plan = plan_ftrl(public, noise="tree")
    # One vector goes from a corner of the box to the opposite one, in each of its blocks.
    moved = units * 2 * math.sqrt(P) * math.sqrt(tree_levels(rounds))
    assert tree_sensitivity(public) == pytest.approx(units * 2 * math.sqrt(P))
    shift = moved / plan.scales[0]
    assert shift**2 / 2 <= zcdp_budget(public.params)
    assert exact_delta(shift, epsilon) <= 1e-6 < exact_delta(2 * shift, epsilon)


@pytest.mark.parametrize("rounds", [1, 2, 33])
def test_the_cut_tails_of_all_normals_are_in_the_numerical_delta(rounds):
    found = OnlineLearner(facts(rounds)).receipt.delta_numerical
    normals = (rounds - 1) * P
    assert found == pytest.approx((1 + math.e) * 2 * normals * TAIL, rel=1e-9, abs=0.0)


def test_the_whole_charge_comes_before_the_first_step(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger", epsilon_limit=1.5, delta_limit=1e-5)
    stream = OnlineLearner(facts(), ledger=ledger)
    assert ledger.total() == pytest.approx((1.0, 1e-6))
    for x in vectors():
        stream.step(x)
    assert ledger.total() == pytest.approx((1.0, 1e-6))
    assert stream.rounds_left == 0
    with pytest.raises(CalibrationError, match="as many rounds as were declared, and all 37"):
        stream.step(np.zeros(P))
    with pytest.raises(LedgerError):
        OnlineLearner(facts(), ledger=ledger)
    assert ONE_RUN in stream.receipt.conditions
    assert stream.receipt.guarantee == "CONDITIONAL"


@pytest.mark.parametrize("noise", ["tree", "zcdp"])
@pytest.mark.parametrize("stop", [0, 1, 20, 36, 37])
def test_a_saved_state_goes_on_alike(tmp_path, noise, stop):
    X, path = vectors(), tmp_path / "a.private.json"
    whole = OnlineLearner(facts(), noise=noise, entropy=SeededEntropy(2))
    expected = [whole.step(x) for x in X]
    coins = SeededEntropy(2)
    stream = OnlineLearner(facts(), noise=noise, entropy=coins)
    actions = [stream.step(x) for x in X[:stop]]
    stream.save(path)
    stream = OnlineLearner.load(path, facts(), noise=noise, entropy=coins)
    assert stream.rounds_left == ROUNDS - stop
    assert stream.receipt == whole.receipt
    assert actions + [stream.step(x) for x in X[stop:]] == expected


def saved(tmp_path, **arguments):
    stream, path = OnlineLearner(facts(), **arguments), tmp_path / "a.private.json"
    for x in vectors()[:5]:
        stream.step(x)
    stream.save(path)
    return stream, path


def test_a_state_is_private_and_runs_once(tmp_path):
    old = os.umask(0)
    try:
        stream, path = saved(tmp_path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text())["warning"].startswith("PRIVATE")
    for act in (
        lambda: stream.step(np.zeros(P)),
        lambda: stream.save(tmp_path / "b.private.json"),
    ):
        with pytest.raises(CalibrationError, match="goes on from its file only"):
            act()
    assert stream.rounds_left == 0
    again = OnlineLearner.load(path, facts())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileMistake, match="taken from a file"):
        OnlineLearner.load(path, facts())
    for act in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(CalibrationError, match="not copied or pickled"):
            act(again)


def test_a_state_goes_to_a_new_file_whose_name_says_private(tmp_path):
    stream = OnlineLearner(facts())
    with pytest.raises(CalibrationError, match="let its name end in"):
        stream.save(tmp_path / "state.json")
    (tmp_path / "a.private.json").write_text("")
    with pytest.raises(FileMistake, match="goes to a new file"):
        stream.save(tmp_path / "a.private.json")
    assert stream.rounds_left == ROUNDS


def test_a_state_that_load_would_refuse_for_its_size_is_not_written(tmp_path, monkeypatch):
    stream = OnlineLearner(facts())
    monkeypatch.setattr(online, "_MOST_BYTES", 100)
    with pytest.raises(CalibrationError, match="at most 100 bytes"):
        stream.save(tmp_path / "s.private.json")
    assert not list(tmp_path.iterdir())
    stream.step(np.zeros(P))


@pytest.mark.parametrize("is_written", [True, False])
def test_an_interrupted_save_leaves_the_state_in_one_place(tmp_path, monkeypatch, is_written):
    stream, path = OnlineLearner(facts()), tmp_path / "s.private.json"

    def stopped(place, text, *, mode):
        if is_written:
            place.write_text(text)
        raise KeyboardInterrupt

    monkeypatch.setattr(online, "atomic_write_text", stopped)
    with pytest.raises(KeyboardInterrupt):
        stream.save(path)
    assert (stream.rounds_left == 0) == path.exists() == is_written


def test_other_facts_than_were_paid_for_are_refused_and_the_file_stays(tmp_path):
    _, path = saved(tmp_path)
    before = path.read_bytes()
    for public, more in (
        (facts(epsilon=2.0), {}),
        (facts(ROUNDS + 1), {}),
        (facts(p=P + 1), {}),
        (facts(), {"noise": "zcdp"}),
        (facts(), {"entropy": SeededEntropy(1)}),
    ):
        with pytest.raises(CalibrationError, match="that it was paid for with"):
            OnlineLearner.load(path, public, **more)
        assert [p.name for p in tmp_path.iterdir()] == [path.name]
        assert path.read_bytes() == before
    assert OnlineLearner.load(path, facts()).rounds_left == ROUNDS - 5


def _without(record, name):
    return {key: value for key, value in record.items() if key != name}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda record: [],
        lambda record: {**record, "format": "other"},
        lambda record: _without(record, "terms"),
        lambda record: _without(record, "state"),
        lambda record: {**record, "state": []},
        lambda record: {**record, "state": {**record["state"], "rounds": -1}},
        lambda record: {**record, "state": {**record["state"], "rounds": math.inf}},
        lambda record: {**record, "state": {**record["state"], "sums": [[0.0]]}},
        lambda record: {**record, "state": {**record["state"], "noisy sums": [["x"]]}},
    ],
)
def test_a_spoilt_file_is_refused_and_stays(tmp_path, spoil):
    _, path = saved(tmp_path)
    text = json.dumps(spoil(json.loads(path.read_text())))
    path.write_text(text)
    with pytest.raises(ModelFileError, match="what OnlineLearner.save wrote"):
        OnlineLearner.load(path, facts())
    assert path.read_text() == text


def test_a_state_that_others_can_read_is_refused(tmp_path):
    _, path = saved(tmp_path)
    path.chmod(0o640)
    with pytest.raises(ModelFileError, match="its owner alone can read"):
        OnlineLearner.load(path, facts())
    path.chmod(0o600)
    assert OnlineLearner.load(path, facts()).rounds_left == ROUNDS - 5


@pytest.mark.parametrize(
    "x", [[0.0] * 3, [2.0, 0, 0, 0], [math.nan, 0, 0, 0], ["a"] * 4, None, [10**400] * 4]
)
def test_a_vector_out_of_bounds_is_refused_without_its_numbers(x):
    stream = OnlineLearner(facts())
    with pytest.raises(CalibrationError, match="must have 4 finite numbers within") as caught:
        stream.step(x)
    assert "2.0" not in str(caught.value) and "nan" not in str(caught.value)
    assert stream.rounds_left == ROUNDS


def test_tree_noise_has_less_regret_than_a_sampled_vertex():
    """One run of 2,000 rounds with a clear leader; seeded."""
    rounds = 2000
    X = np.clip(np.random.default_rng(0).normal(0.0, 0.3, size=(rounds, 3)), -1, 1)
    X[:, 1] = np.clip(X[:, 1] - 0.4, -1, 1)

    def regret(noise):
        public = facts(rounds, 3, epsilon=2.0)
        rows = Rows(X=X, y=np.zeros(rounds))
        played = private_ftrl(rows, public, entropy=SeededEntropy(1), noise=noise).actions
        return X[np.arange(rounds), played].sum() - X.sum(axis=0).min()

    assert regret("tree") < 0.7 * regret("zcdp")


def test_a_forked_stream_is_not_run_twice(monkeypatch):
    stream = OnlineLearner(facts())
    stream.step(np.zeros(P))
    monkeypatch.setattr(online.os, "getpid", lambda: -1)
    with pytest.raises(CalibrationError, match="in the process that made it"):
        stream.step(np.zeros(P))
