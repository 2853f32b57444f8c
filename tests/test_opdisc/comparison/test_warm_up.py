"""Loading compiled code before the clock starts: on toys, and never without end."""

import threading

import pytest

from opdisc.comparison import runs, supervision
from opdisc.comparison.methods import method as methods
from opdisc.comparison.methods.method import Fitted, Method
from opdisc.comparison.plan import Plan, runs_of
from opdisc.comparison.runs import setting_of, warm_up
from opdisc.comparison.source import load_source
from oracles.arithmetic import ChildEnded

OWN = "helpers.opdisc.comparison_methods:gridded"


@pytest.fixture(scope="module")
def source():
    return load_source(dataset="breast-cancer")


def run_of(source):
    plan = Plan(methods=(OWN,), epsilons=(0.25,), repeats=1, weight_bound=7)
    (run,) = runs_of(plan)
    return run, setting_of(plan, source)


def test_a_warm_up_sees_neither_the_table_nor_its_grid_nor_the_budget(source, monkeypatch):
    tasks, draws = [], []

    def fit(task):
        tasks.append(task)
        return Fitted(predict=lambda table: None)

    recording = Method(
        name="recording",
        title="recording",
        family="reference",
        private=True,
        tuning="fixed",
        fit=fit,
        has_grid=True,
    )
    monkeypatch.setattr(methods, "_own_method", lambda module, attribute: recording)
    monkeypatch.setattr(runs, "compile_kernels", lambda: draws.append(1))
    runs._compile_once.cache_clear()
    run, setting = run_of(source)
    warm_up(run, setting)
    warm_up(run, setting)
    runs._compile_once.cache_clear()
    assert len(draws) == 1  # once per process
    task = tasks[0]
    assert (task.epsilon, task.weight_bound) == (1.0, 1)
    assert task.schema.n_columns == 5 and len(task.table) == 20
    assert not set(task.table) & set(source.table)


def test_every_method_with_points_learns_the_toy(source):
    names = [name for name, method in methods.registry().items() if method.has_grid]
    learned, failures = [], []

    class Kept:
        def __init__(self, method):
            self.family, self.fit_for_real = method.family, method.fit

        def fit(self, task):
            try:
                learned.append(self.fit_for_real(task))
            except Exception as error:
                failures.append((task, error))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "_compile_once", lambda: None)
        for name in names:
            if methods.find_method(name).requires:
                continue
            plan = Plan(methods=(name,), epsilons=(1.0,), repeats=1)
            for run in runs_of(plan):
                patch.setattr(runs, "parse_method", lambda m: (Kept(methods.find_method(m)), None))
                warm_up(run, setting_of(plan, source))
    assert failures == []
    assert len(learned) >= 10


class Child:
    """Stands in for a process whose warm-up takes too long."""

    def __init__(self, asked):
        self.warm, self.asked = set(), asked

    def ask(self, request, limit):
        self.asked.append(limit)
        raise ChildEnded(status=-9, overran=True)


def test_a_worker_in_which_a_warm_up_took_too_long_does_without(source, monkeypatch):
    asked = []
    monkeypatch.setattr(supervision, "_children", threading.local())
    monkeypatch.setattr(supervision, "_child", lambda packed, digest: Child(asked))
    run, setting = run_of(source)
    for _ in range(3):  # as after a time-out of the run itself: a fresh process each time
        supervision._warmed(Child(asked), run, setting, b"", "")
    assert len(asked) == 1
