"""External peers: what they are given, and how their environment may fail.

The protocol is tested with this interpreter, which has no peers; the real ones need an environment
named by OPDISC_PEERS and are skipped without it.
"""

import dataclasses
import io
import math
import os
import pathlib
import sys

import numpy as np
import pandas as pd
import pytest

from opdisc.comparison import peer_methods as peers, peer_processes, peer_worker
from opdisc.comparison.methods.method import ComparisonError, FitTask, registry
from opdisc.comparison.plan import Plan, runs_of
from opdisc.comparison.runs import execute, setting_of
from opdisc.comparison.source import Source
from opdisc.data.schema import Schema
from opdisc.privacy.params import NeighboringRelation

SCHEMA = Schema.from_dict(
    {
        "name": "peers",
        "target": {"column": "y", "positive": "1", "negative": "0"},
        "feature": [
            {"column": "age", "thresholds": [3, 6]},
            {"column": "ward", "categories": ["a", "b", "c"]},
            {"column": "fever", "binary": True},
        ],
    }
)


def _table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    fever = rng.integers(0, 2, n)
    labels = np.where(rng.random(n) < 0.9, fever, 1 - fever)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 10, n).astype(str),
            "ward": rng.choice(["a", "b", "c", "d"], n),
            "fever": fever.astype(str),
            "y": labels.astype(str),
        }
    )


def _task(**changes):
    table = _table()
    return FitTask(
        **{
            "table": table,
            "test": table.iloc[:0],
            "schema": SCHEMA,
            "epsilon": 1.0,
            "delta": 1e-6,
            "relation": NeighboringRelation.REPLACE_ONE,
            "weight_bound": 1,
            "oracle": "auto",
            "time_limit": None,
            "seed": 0,
            "peers": sys.executable,
            **changes,
        }
    )


def test_unit_rows_are_never_longer_than_one_and_hold_the_constant():
    # Every possible encoded row: age level, ward, fever.
    table = pd.DataFrame(
        [
            {"age": age, "ward": ward, "fever": fever}
            for age in ("0", "4", "9")
            for ward in ("a", "b", "c", "d")
            for fever in ("0", "1")
        ]
    )
    rows = peers.public_rows(table, SCHEMA, "unit rows")
    lengths = np.linalg.norm(rows, axis=1)
    assert lengths.max() <= 1 and lengths.max() > 0.9
    assert np.ptp(rows[:, 0]) == 0 and rows[0, 0] > 0
    # A map of one row: any sub-table gives the same rows.
    assert np.array_equal(peers.public_rows(table.iloc[[5]], SCHEMA, "unit rows")[0], rows[5])


def test_levels_code_each_attribute_once():
    table = pd.DataFrame(
        {"age": ["0", "4", "9"], "ward": ["a", "c", "other"], "fever": ["1", "0", "1"]}
    )
    codes = peers.public_rows(table, SCHEMA, "levels")
    assert codes.tolist() == [["0", "1", "1"], ["1", "3", "0"], ["2", "0", "1"]]
    assert peers.feature_types(SCHEMA) == [["0", "1", "2"], "nominal", ["0", "1"]]
    columns = peers.public_rows(table, SCHEMA, "columns")
    assert columns.shape == (3, 6) and set(np.unique(columns)) == {0.0, 1.0}


def test_messages_survive_the_stream_and_a_torn_one_is_none():
    stream = io.BytesIO()
    peer_worker.write_message(stream, {"a": 1}, X=np.arange(3.0), codes=np.array(["x", "yz"]))
    data = stream.getvalue()
    header, arrays = peer_worker.read_message(io.BytesIO(data))
    assert header == {"a": 1} and arrays["X"].tolist() == [0, 1, 2]
    assert arrays["codes"].tolist() == ["x", "yz"]
    assert peer_worker.read_message(io.BytesIO(data[:-1])) is None
    assert peer_worker.read_message(io.BytesIO()) is None


def test_an_environment_that_is_not_named_says_how_to_make_it(monkeypatch):
    monkeypatch.delenv(peer_processes.VARIABLE, raising=False)
    with pytest.raises(ComparisonError, match="pip install diffprivlib interpret-core") as caught:
        peer_processes.find_interpreter(None)
    assert "\n" not in str(caught.value) and "OPDISC_PEERS" in str(caught.value)
    with pytest.raises(ComparisonError, match="must be an executable file, but '/nowhere/python'"):
        peer_processes.find_interpreter("/nowhere/python")
    monkeypatch.setenv(peer_processes.VARIABLE, sys.executable)
    assert peer_processes.find_interpreter(None) == sys.executable
    assert registry()["dp-ebm"].requires == "peers"


def _lacks(name):
    import importlib.util

    return importlib.util.find_spec(name) is None


@pytest.mark.skipif(not _lacks("diffprivlib"), reason="diffprivlib is installed here")
def test_an_environment_without_the_peers_is_one_sentence():
    with pytest.raises(ComparisonError, match="lacks a package .*make a new one") as caught:
        peers.fit_peer(peers.PEERS[0], _task())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("module", "told"),
    [
        ("sbdt", "build S-BDT from its source"),
        ("dpmm", "dpmm/bin/pip install dpmm"),
        ("fasterrisk", "risk/bin/pip install fasterrisk"),
        ("interpret", "pip install diffprivlib interpret-core"),
    ],
)
def test_a_missing_library_is_answered_with_its_own_recipe(module, told):
    message = peer_processes._explained(f"ModuleNotFoundError: No module named '{module}'")
    assert told in message and message.endswith("and give its interpreter.")


def test_an_interpreter_that_dies_is_one_sentence():
    with pytest.raises(ComparisonError, match="ended without an answer"):
        peers.fit_peer(peers.PEERS[0], _task(peers="/bin/false"))


def test_what_a_peer_cannot_promise_is_refused_before_it_starts():
    ebm = next(peer for peer in peers.PEERS if peer.needs_delta)
    with pytest.raises(ComparisonError, match="needs delta > 0"):
        peers.fit_peer(ebm, _task(delta=0.0, peers="/bin/false"))
    with pytest.raises(ComparisonError, match="finite epsilon"):
        peers.fit_peer(ebm, _task(epsilon=None, peers="/bin/false"))


STAND_IN = '''
import types, sys
import numpy as np

class Majority:
    """Predicts column 0 at the sign it learned; warns or fails when asked to."""

    def __init__(self, epsilon, **settings):
        self.settings = settings
        if epsilon > 50:
            raise ValueError("epsilon is too large for row 17")

    def fit(self, X, y):
        print("noise on standard output")
        if self.settings.get("data_norm") is None:
            import warnings
            warnings.warn("PrivacyLeakWarning: the norm was taken from the data")
        self.sign = 1.0 if np.mean(y[X[:, -1] > 0]) > 0.5 else -1.0

    def decision_function(self, X):
        return self.sign * X[:, -1]

models = types.ModuleType("diffprivlib.models")
models.LogisticRegression = Majority
models.GaussianNB = lambda epsilon, bounds: Majority(epsilon)
package = types.ModuleType("diffprivlib")
package.models = models
sys.modules.update({"diffprivlib": package, "diffprivlib.models": models})
'''


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """A worker script that has a stand-in for diffprivlib in front of the real code."""
    source = open(peer_worker.__file__).read().replace("from __future__ import annotations", "")
    script = tmp_path / "worker.py"
    named = "return {name: version(name) for name in self.packages}"
    assert named in source
    script.write_text(
        STAND_IN + source.replace(named, 'return {name: "0" for name in self.packages}')
    )
    monkeypatch.setattr(peer_worker, "__file__", str(script))


def test_a_fitted_peer_predicts_any_rows(stand_in):
    fitted = peers.fit_peer(peers.PEERS[0], _task())
    fresh = _table(n=50, seed=1)
    assert np.array_equal(fitted.predict(fresh), fresh["fever"].to_numpy() == "1")
    assert fitted.scores(fresh).shape == (50,)
    assert fitted.guarantee == "CONDITIONAL" and fitted.receipt is None
    assert any("replace-one" in condition for condition in fitted.conditions)
    assert fitted.parameters["C"] == pytest.approx(0.1)
    assert peers.PEERS[0].settings_at(0.25)["C"] == pytest.approx(0.0125)
    assert 0 <= fitted.parameters["fit_seconds"] < 60


def test_half_of_epsilon_is_what_a_replaced_row_leaves(stand_in):
    names = {peer.name: peer for peer in peers.PEERS}
    assert "diffprivlib-logistic-half" not in names  # its promise is for replaced rows already
    private = [peer for peer in peers.PEERS if peer.private and not peer.name.endswith("-half")]
    assert {f"{peer.name}-half" for peer in private[1:]} < set(names)
    half = dataclasses.replace(peers.PEERS[0], name="diffprivlib-logistic-half", share=0.5)
    fitted = peers.fit_peer(half, _task(epsilon=80.0))  # 60 are too many for the stand-in
    assert fitted.parameters["epsilon_given"] == 40.0
    assert fitted.parameters["C"] == pytest.approx(0.1 * 40**1.5)


def test_half_of_epsilon_leaves_less_than_half_of_delta():
    """(e/2, d) for one row is (e, (1 + exp(e/2)) d) for two: group privacy, summed up."""
    names = {peer.name: peer for peer in peers.PEERS}
    for epsilon in (0.01, 1.0, 5.0):
        given = names["dp-ebm-half"].delta_beside(epsilon / 2, 1e-6)
        assert given * (1 + math.exp(epsilon / 2)) == pytest.approx(1e-6)
    assert names["dp-ebm"].delta_beside(1.0, 1e-6) == 1e-6


def test_a_promise_for_replaced_rows_is_no_promise_for_added_ones():
    added = _task(relation=NeighboringRelation.ADD_OR_REMOVE_ONE, peers="/bin/false")
    with pytest.raises(ComparisonError, match="replaced rows only; compare it under replace_one"):
        peers.fit_peer(peers.PEERS[0], added)


def test_a_reference_gets_no_epsilon_and_promises_nothing(stand_in):
    method = registry()["fasterrisk"]
    assert (method.private, method.family, method.requires) == (False, "reference", "peers")
    peer = dataclasses.replace(peers.PEERS[0], private=False, per_epsilon={})
    with pytest.raises(ComparisonError, match="the peer failed: TypeError"):
        peers.fit_peer(peer, _task())  # the stand-in cannot do without an epsilon


STAND_INS = """
import types, sys
import numpy as np

class Trees:
    def __init__(self, **settings):
        assert settings["newton_boosting"] and settings["hess_l2_threshold"] == 0.25
        assert settings["privacy_budget"] == 0.5 and settings["num_idx"] == [0, 1, 2, 3, 4, 5]

    def train(self, X, y, name):
        self.sign = 1.0 if np.mean(y[X[:, -1] > 0]) > 0.5 else -1.0

    def predict(self, X):
        return self.sign * (2 * X[:, -1] - 1)

sys.modules["sbdt"] = types.SimpleNamespace(S_BDT=Trees)

class Search:
    def __init__(self, X, y, k, lb, ub):
        assert set(y) == {-1.0, 1.0} and (lb, ub) == (-5, 5) and (X[:, 0] == 1).all()
        self.columns = X.shape[1]

    def optimize(self):
        self.points = np.zeros(self.columns)
        self.points[-1] = 5.0

    def get_models(self, model_index):
        return 2.0, -3.0, self.points

sys.modules["fasterrisk"] = types.ModuleType("fasterrisk")
sys.modules["fasterrisk.fasterrisk"] = types.SimpleNamespace(RiskScoreOptimizer=Search)

class Pipeline:
    def __init__(self, epsilon, delta, max_model_size, gen_kwargs, **settings):
        assert (epsilon, delta) == (1.0, 1e-6)
        assert (max_model_size, gen_kwargs) == (1.0, {"n_iters": 100})

    def fit(self, table, domain):
        assert domain == {"column 0": 3, "column 1": 4, "column 2": 2, "label": 2}
        self.table = table

    def generate(self, n_records):
        return self.table.sample(n_records, replace=True, random_state=0)

sys.modules["dpmm"] = types.ModuleType("dpmm")
sys.modules["dpmm.pipelines"] = types.SimpleNamespace(AIMPipeline=Pipeline)
"""


@pytest.mark.parametrize("name", ["sbdt-half", "fasterrisk", "dpmm-aim-logistic"])
def test_peers_of_other_shapes_learn_the_column_that_decides(stand_in, name):
    script = pathlib.Path(peer_worker.__file__)
    script.write_text(STAND_INS + script.read_text())
    peer = next(peer for peer in peers.PEERS if peer.name == name)
    fitted = peers.fit_peer(peer, _task())
    fresh = _table(n=50, seed=1)
    assert np.array_equal(fitted.predict(fresh), fresh["fever"].to_numpy() == "1")
    assert fitted.guarantee == ("CONDITIONAL" if peer.private else None)


def _process_of(fitted):
    cells = [cell.cell_contents for cell in fitted.scores.__closure__]
    return next(held.process for held in cells if isinstance(held, peer_processes.Lease))


def test_a_process_serves_one_fitted_peer_at_a_time(stand_in):
    first, second = (peers.fit_peer(peers.PEERS[0], _task()) for _ in range(2))
    process = _process_of(first)
    assert process is not _process_of(second)
    del first
    third = peers.fit_peer(peers.PEERS[0], _task())
    assert _process_of(third) is process
    fresh = _table(n=50, seed=1)
    for fitted in (second, third):
        assert np.array_equal(fitted.predict(fresh), fresh["fever"].to_numpy() == "1")


def test_a_process_that_ended_is_not_used_again(stand_in):
    fitted = peers.fit_peer(peers.PEERS[0], _task())
    process = _process_of(fitted)
    process.close()
    assert not process.is_alive
    del fitted
    assert _process_of(peers.fit_peer(peers.PEERS[0], _task())) is not process


def test_a_failure_and_a_leak_warning_become_errors(stand_in):
    with pytest.raises(ComparisonError, match="the peer failed: ValueError"):
        peers.fit_peer(peers.PEERS[0], _task(epsilon=60.0))
    with pytest.raises(ComparisonError, match="warned of a privacy leak"):
        peers.fit_peer(peers.PEERS[1], _task())


def test_a_peers_row_has_its_own_seconds_versions_and_conditions(stand_in):
    plan = Plan(
        methods=("diffprivlib-logistic", "diffprivlib-naive-bayes"),
        epsilons=(1.0,),
        repeats=1,
        peers=sys.executable,
    )
    source = Source(dataset="peers", table=_table(), schema=SCHEMA)
    good, bad = (execute(run, setting_of(plan, source), source) for run in runs_of(plan))
    assert good["status"] == "ok" and good["test_accuracy"] > 0.8
    assert good["seconds"] == good["parameters"]["fit_seconds"]
    assert good["versions"]["diffprivlib"] == "0"
    assert (good["guarantee"], good["label"], good["delta"]) == ("CONDITIONAL", "published", 0.0)
    assert bad["status"] == "failed" and "privacy leak" in bad["error"]


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get(peer_processes.VARIABLE),
    reason="OPDISC_PEERS names no environment with the peers",
)
@pytest.mark.parametrize("peer", peers.PEERS, ids=lambda peer: peer.name)
def test_the_real_peers_learn_the_column_that_decides(peer):
    fitted = peers.fit_peer(peer, _task(epsilon=20.0, peers=None))
    fresh = _table(n=400, seed=1)
    agreement = np.mean(fitted.predict(fresh) == (fresh["fever"].to_numpy() == "1"))
    assert agreement > 0.8
    assert set(fitted.parameters["peer_versions"]) >= {"numpy", "scikit-learn"}
