"""Public configurations: what is chosen, planned and promised for each, as kept in one file.

``PYTHONPATH=tests python -m helpers.opdisc.frozen_plans`` writes the file anew. Nothing in it
depends on rows, random numbers, the machine or the versions of packages.
"""

import json
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import opdisc
from opdisc import Schema, count_rows, read_table
from opdisc.data import parse_schema
from opdisc.planning import plan_cards, plan_fit
from opdisc.privacy import Prepared, WeakPromise

FILE = Path(__file__).resolve().parents[2] / "stored" / "frozen_plans.json"
COMMAND = "PYTHONPATH=tests python -m helpers.opdisc.frozen_plans"
DIGITS = 10
"""Of a float; what two processors round differently is far behind them."""
SOME = 60
"""Rows of a table of plain numbers."""

_PLANNED = {"PrivateScorecardClassifier": plan_fit, "PrivateMulticlassClassifier": plan_cards}
_OF_THE_FIT = {"mechanism", "oracle"}
"""Settings that no plan asks for."""


@dataclass(frozen=True, kw_only=True)
class Frozen:
    """A public configuration.

    Parameters
    ----------
    schema : Schema, str or None
        Or the name of a shipped one. None: a table of plain numbers, for which nothing is planned.
    rows : int
        Of the table.
    estimator : str
        Whose receipt it is.
    others : bool
        Whether the plan asks the mechanisms that are not chosen too.
    settings : mapping
        Of the estimator, and of the plan.
    """

    schema: Schema | str | None = None
    rows: int = SOME
    estimator: str = "PrivateScorecardClassifier"
    others: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)

    def plan(self) -> list[dict[str, Any]]:
        """Return the plan; empty where a mechanism is named, or nothing can be planned."""
        ask = _PLANNED.get(self.estimator)
        if ask is None or self.schema is None or _OF_THE_FIT & set(self.settings):
            return []
        facts = {"epsilon": 1.0, "n_rows": self.rows, **self.settings}
        if ask is plan_fit:
            facts["compare_others"] = self.others
        return [msgspec.to_builtins(one, enc_hook=str) for one in ask(self.schema, **facts)]

    def prepared(self) -> Prepared[Any]:
        """Return the one charge of a fit, which is tried and not run."""
        model = getattr(opdisc, self.estimator)(**self.settings)
        if self.schema is None:
            return model._prepare(*_numbers(self.estimator))
        return _prepared_declared(model, parse_schema(self.schema), self.rows)

    def receipt(self) -> dict[str, Any]:
        """Return what a fit records before it draws, without the versions of packages."""
        fields = self.prepared().receipt.to_dict()
        left_out = {"versions"}
        if fields["mechanism"] == "exponential":
            left_out.add("oracle")  # It also names the sampler of grids that are not listed.
        return {name: value for name, value in fields.items() if name not in left_out}

    def lines(self) -> dict[str, Any]:
        """Return everything that is frozen: the choice, each line of the plan, each field."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakPromise)
            plan, receipt = self.plan(), self.receipt()
        chosen = {"mechanism": receipt["mechanism"], "choice": receipt.get("choice", "")}
        planned = {f"plan {number}": line for number, line in enumerate(plan, 1)}
        return {**chosen, **planned, **{f"receipt {k}": v for k, v in receipt.items()}}


def _prepared_declared(model: Any, schema: Schema, rows: int) -> Prepared[Any]:
    """Prepare a fit to a table of empty cells, which every schema takes; labels in turn."""
    labels = [str(label) for label in schema.labels]
    cells = "," * len(schema.columns) + "\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        with path.open("w", encoding="utf-8") as file:
            file.write(",".join([schema.target.column, *schema.columns]) + "\n")
            file.writelines(labels[row % len(labels)] + cells for row in range(rows))
        model.set_params(schema=schema)
        if hasattr(model, "fit_counts") and not schema.is_multiclass:
            return model._prepare_counts(model._checked(count_rows(path, schema)))
        table = read_table(path)
        return model._prepare(table[list(schema.columns)], table[schema.target.column])


def _numbers(estimator: str) -> tuple[np.ndarray, np.ndarray]:
    X = np.arange(3 * SOME).reshape(SOME, 3) / (3 * SOME)
    return X, X[:, 0] if estimator.endswith("Regressor") else np.arange(SOME) % 2


def declared(binary: int = 3, *, cuts: Any = (20, 40), **other: Any) -> Schema:
    """Return a schema of some binary columns and a number."""
    return parse_schema(
        {
            "name": "declared",
            "target": {"column": "ill", "positive": "yes", "negative": "no"},
            "feature": [
                *({"column": f"x{k}", "binary": True} for k in range(binary)),
                {"column": "age", "thresholds": cuts},
            ],
            **other,
        }
    )


def several(classes: int, binary: int = 4) -> Schema:
    """Return a schema of several classes."""
    return declared(binary, target={"column": "ill", "classes": list("abcdef"[:classes])})


_DRAWN = {"quantiles": 4, "range": [0, 60]}
_HIDDEN = {"relation": "add_or_remove_one"}
_COSTS = {"error_costs": {"false_negative": 5, "false_positive": 1}}
_CLASSES = "PrivateMulticlassClassifier"


def _card(schema: Schema | str, rows: int, /, *, others: bool = False, **settings: Any) -> Frozen:
    return Frozen(schema=schema, rows=rows, others=others, settings=settings)


def _by(
    estimator: str, schema: Schema | str | None = None, rows: int = SOME, /, **settings: Any
) -> Frozen:
    return Frozen(schema=schema, rows=rows, estimator=estimator, settings=settings)


CONFIGURATIONS: dict[str, Frozen] = {
    # Cards that are listed or searched through.
    "listed, tiny epsilon": _card("adult-small", 15_682, epsilon=0.003),
    "listed, small epsilon": _card("adult-small", 15_682, epsilon=0.1),
    "listed, all mechanisms": _card(declared(), 5_000, others=True, epsilon=0.25),
    "listed, large epsilon": _card("adult-small", 15_682, epsilon=10.0),
    "listed, epsilon that promises nothing": _card(declared(), 240, epsilon=100.0, weight_bound=1),
    "listed, add or remove one": _card("adult-small", 15_682, epsilon=0.5, **_HIDDEN),
    "listed, add or remove one, rows guessed": _card(
        "adult-small", 15_682, epsilon=0.5, public_row_guess=15_000, **_HIDDEN
    ),
    "listed, delta that is not needed": _card("adult-n19", 15_682, epsilon=0.5, delta=1e-6),
    "listed, delta too large": _card(declared(), 240, epsilon=1.0, delta=0.5),
    "listed, costs of errors": _card("adult-small", 15_682, epsilon=1.0, **_COSTS),
    "listed, sparse measure": _card("adult-small", 15_682, epsilon=0.25, base_measure="sparse"),
    "listed, measure by levels": _card(
        "adult-small", 15_682, epsilon=0.25, base_measure="levels", mechanism="exponential"
    ),
    "a statement or more": _card("mammo", 961, epsilon=1.0),
    "searched, given points": _card("breast-cancer", 286, epsilon=1.0, weight_bound=3),
    "few rows": _card(declared(), 20, epsilon=0.05),
    # Cards that are counted: few points other than 0.
    "few points other than 0": _card("adult_binary", 15_682, epsilon=0.5, max_nonzero=3),
    "norm budget": _card("adult-small", 15_682, epsilon=0.5, weight_bound=2, norm_budget=6),
    "few points other than 0, by levels": _card(
        "german",
        1000,
        epsilon=1.0,
        max_nonzero=3,
        weight_bound=1,
        base_measure="levels",
        mechanism="exponential",
    ),
    # Cards of few points (staged), stumps, and logistic cards where rows are many.
    "staged, tiny epsilon": _card("adult-wide", 10_000, epsilon=0.003),
    "staged, small epsilon": _card("adult-wide", 10_000, epsilon=0.25),
    "staged, large epsilon": _card("adult_binary", 15_682, epsilon=8.0),
    "staged, many rows": _card("german", 100_000, epsilon=1.0),
    "staged, little patience": _card("german", 100_000, epsilon=1.0, patience=1.0),
    "staged, add or remove one": _card("adult-wide", 10_000, epsilon=1.0, **_HIDDEN),
    "staged, add or remove one, rows guessed": _card(
        "adult-wide", 10_000, epsilon=1.0, public_row_guess=10_000, **_HIDDEN
    ),
    "staged, costs of errors": _card("german", 1000, epsilon=1.0, **_COSTS),
    # Several parts of one release.
    "risks": _card("adult-small", 15_682, epsilon=0.5, risk_budget=0.2),
    "risks of a staged card, add or remove one": _card(
        "adult-wide", 10_000, epsilon=1.0, risk_budget=0.3, **_HIDDEN
    ),
    "private thresholds": _card(declared(cuts=_DRAWN), 5_000, epsilon=1.0),
    "private thresholds and risks": _card(
        declared(cuts=_DRAWN), 5_000, epsilon=1.0, risk_budget=0.3, threshold_budget=0.2, **_HIDDEN
    ),
    "several rows for each unit": _card(
        declared(rows_per_unit=3, unit="patient"), 2_000, epsilon=1.0
    ),
    # Several classes.
    "three classes": _by(_CLASSES, several(3), 900, epsilon=1.0),
    "four classes, one versus rest": _by(
        _CLASSES, several(4), 900, epsilon=2.0, strategy="one_versus_rest"
    ),
    "four classes with risks, add or remove one": _by(
        _CLASSES, several(4), 900, epsilon=2.0, risk_budget=0.3, public_row_guess=900, **_HIDDEN
    ),
    "three classes, many columns": _by(_CLASSES, several(3, 25), 3_000, epsilon=2.0),
    # Mechanisms and estimators by name.
    "an oracle is named": _card("german", 1000, epsilon=1.0, oracle="highs"),
    "block noise": _card(
        declared(6), 1000, epsilon=1.0, weight_bound=1, mechanism="block_one_hot", **_HIDDEN
    ),
    "one-hot noise, delta": _card(declared(), 961, epsilon=1.0, delta=1e-5, mechanism="one_hot"),
    "opdisc": _by("OPDiscClassifier", "adult-small", 15_682, epsilon=1.0),
    "opdisc, gaussian, costs of errors": _by(
        "OPDiscClassifier", declared(), 683, epsilon=0.5, delta=1e-6, noise="gaussian", **_COSTS
    ),
    "opdisc as published": _by(
        "OPDiscClassifier", declared(), 961, epsilon=1.0, delta=1e-6, noise="gaussian-published-7"
    ),
    "rspm": _by("RSPMClassifier", declared(5), 961, epsilon=1.0, **_HIDDEN),
    "rspm, gaussian, rows": _by(
        "RSPMClassifier", declared(), 683, epsilon=1.0, delta=1e-6, noise="gaussian", route="rows"
    ),
    "permute-and-flip with risks": _by(
        "PermuteAndFlipClassifier", declared(5), 500, epsilon=1.0, risk_budget=0.25
    ),
    "robust vote": _by("RobustVoteClassifier", declared(), 600, epsilon=1.0),
    "opsamp": _by("OPSampClassifier", feature_range=(0, 1), epsilon=1.0),
    "opsamp, regression, add or remove one": _by(
        "OPSampRegressor",
        feature_range=(0, 1),
        target_range=(-1, 1),
        epsilon=2.0,
        public_row_guess=60,
        **_HIDDEN,
    ),
    "logistic regression": _by("PrivateLogisticRegression", data_norm=2.0, epsilon=1.0),
    "logistic regression, schema, delta": _by(
        "PrivateLogisticRegression", "mammo", 961, epsilon=0.5, delta=1e-6
    ),
    "support vectors, add or remove one": _by(
        "PrivateLinearSVC", data_norm=2.0, epsilon=1.0, delta=1e-6, public_row_guess=60, **_HIDDEN
    ),
    "simplex regression": _by("PrivateSimplexRegressor", value_bound=2.0, epsilon=1.0, delta=1e-6),
}


def frozen_text(name: str) -> str:
    """Return one configuration as it stands in the file: a line for each field."""
    lines = (
        f"  {json.dumps(key)}: {json.dumps(_rounded(value), sort_keys=True, allow_nan=False)}"
        for key, value in CONFIGURATIONS[name].lines().items()
    )
    return f" {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n }"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if abs(value) < float("inf") else str(value)
    if isinstance(value, Mapping):
        return {str(name): _rounded(part) for name, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, list | tuple) else value


def document() -> str:
    """Return the whole file."""
    return "{\n" + ",\n".join(map(frozen_text, CONFIGURATIONS)) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(document(), encoding="utf-8")
