"""Made-up results of a comparison, in the form that `opdisc compare` writes."""

import hashlib
import json

import numpy as np

from opdisc.models.scorecard import Scorecard

EPSILONS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
BEST = 0.79
CARD = {
    "target": "income-per-year",
    "classes": ["<=50K", ">50K"],
    "columns": [
        "marital-status = Married-civ-spouse", "education-num >= 13", "capital-gain > 0",
        "sex = Male", "age >= 37",
    ],
    "points": [2, 1, 1, 0, 0],
    "start": -1,
}  # fmt: skip

# name, title, family, private, tuning, guarantee, accuracy lost at epsilon 0.1, seconds
METHODS = (
    ("auto", "Automatic choice", "opdisc", True, "fixed", "HOLDS", 0.002, 0.2),
    ("permute-and-flip", "Permute-and-flip", "opdisc", True, "fixed", "HOLDS", 0.002, 0.2),
    ("block-one-hot", "Block noise", "opdisc", True, "fixed", "HOLDS", 0.02, 0.5),
    ("opdisc", "OPDisc (sphere)", "opdisc", True, "fixed", "CONDITIONAL", 0.05, 1.5),
    ("opdisc-published", "OPDisc as published", "opdisc", True, "fixed", "VOID", 0.004, 1.0),
    ("logistic-noisy-sgd", "Logistic, noisy SGD", "convex", True, "fixed", "CONDITIONAL", 0.07, 2),
    ("logistic-objective", "Logistic, objective perturbation", "convex", True, "fixed",
     "CONDITIONAL", 0.09, 0.05),
    ("logistic-noisy-sgd-tuned", "Logistic, noisy SGD, grid search", "convex", True,
     "non-private", "CONDITIONAL", 0.03, 20),
    ("diffprivlib-forest", "diffprivlib random forest", "peer", True, "fixed", "CONDITIONAL",
     0.12, 3),
    ("optimum", "Best scorecard, no privacy", "reference", False, "fixed", None, 0.0, 0.4),
    ("logistic", "Logistic regression, no privacy", "reference", False, "fixed", None, -0.004,
     0.1),
    ("majority", "Majority class", "reference", False, "fixed", None, 0.29, 0.001),
)  # fmt: skip
SETTINGS = {
    "format": 1,
    "arguments": {"jobs": 2, "backend": "loky"},
    "plan": {"epsilons": list(EPSILONS), "repeats": 15, "test_fraction": 0.3, "oracles": ["auto"]},
    "dataset": "adult-small",
    "schema": {"name": "adult-small", "unit": "one person"},
    "schema_digest": "5d9c",
    "n_rows": 15682,
    "n_train": 10977,
    "n_test": 4705,
    "delta": 8.3e-9,
    "n_runs": 15 * (9 * 6 + 3),
    "versions": {"opdisc": "0.1.0.dev0", "python": "3.11.7", "numpy": "2.4.6"},
    "machine": {"system": "Linux", "processor": "x86_64", "cores": 2, "python": "3.11.7"},
    "started": "2026-11-21T12:00:00+00:00",
}


def curve(area):
    """Return true positive rates at 101 false positive rates, of about the area given."""
    return [round(rate ** (1 / area - 1), 5) for rate in np.linspace(0, 1, 101).tolist()]


def row(method, epsilon, repeat, rng, **changes):
    """Return one run with every field of the contract."""
    name, title, family, private, tuning, guarantee, lost, seconds = method
    scale = 1 if epsilon is None else min(3.0, 0.1 / epsilon)
    n_train, n_test = 10977, 4705
    hard = 0.004 * np.sin(repeat)
    spread = 0.3 * abs(lost) * scale + 0.0005
    train = min(BEST - lost * scale + hard + spread * rng.normal(), BEST + 0.005)
    test = train - 0.002 + 0.003 * rng.normal()
    record = {
        "run_id": f"{name}/{epsilon}/{repeat}", "dataset": "adult-small", "schema": "adult-small",
        "schema_digest": "5d9c", "n_rows": 15682, "n_train": n_train, "n_test": n_test,
        "method": name, "title": title, "family": family, "private": private, "tuning": tuning,
        "parameters": {}, "epsilon": epsilon, "delta": 0.0 if family == "opdisc" else 4.1e-9,
        "relation": "replace_one", "weight_bound": 1, "oracle": "auto", "repeat": repeat,
        "split_seed": 1000 + repeat, "evaluation": "held-out", "status": "ok", "error": None,
        "train_accuracy": train, "test_accuracy": test, "train_balanced_accuracy": train - 0.001,
        "test_balanced_accuracy": test - 0.001, "train_auc": 0.85 - lost, "test_auc": 0.84 - lost,
        "roc": curve(0.84 - lost),
        "train_errors": round((1 - train) * n_train), "optimum_errors": None,
        "seconds": float(seconds * np.exp(0.3 * rng.normal())), "guarantee": guarantee,
        "conditions": [], "label": None, "theorem": None, "receipt_digest": None, "receipt": None,
        "scorecard": None, "scorecard_data": None, "versions": {"opdisc": "0.1.0.dev0"},
    }  # fmt: skip
    if guarantee == "CONDITIONAL":
        record["conditions"] = ["floating-point arithmetic is close enough to real arithmetic"]
    if guarantee == "VOID":
        record["conditions"] = ["the calibration as published is refuted"]
    if not private:
        record["delta"] = record["relation"] = None
    else:
        record["label"] = "refuted" if guarantee == "VOID" else "proven"
        record["theorem"] = "Theorem A with one block (docs/theory.md, selection)"
        record["receipt"] = {
            "mechanism": name, "theorem": record["theorem"], "epsilon": epsilon,
            "delta": record["delta"], "relation": "replace_one", "privacy_unit": "one person",
            "guarantee": guarantee, "conditions": record["conditions"], "noise_scales": [2.0],
        }  # fmt: skip
        record["receipt_digest"] = hashlib.sha256(
            json.dumps(record["receipt"]).encode()
        ).hexdigest()
    if family == "opdisc" or name == "optimum":
        first = 1 if epsilon and epsilon < 0.05 else 2
        card = Scorecard.from_dict(CARD | {"points": [first, *CARD["points"][1:]]})
        record |= {"scorecard": str(card), "scorecard_data": card.to_dict()}
    return {**record, **changes}


def failed(record, status="failed", error="the solver stopped"):
    """Return the same run without a classifier."""
    empty = [name for name in record if name.startswith(("train_", "test_"))]
    empty += ["roc", "guarantee", "receipt", "receipt_digest", "scorecard", "scorecard_data"]
    return {**record, **dict.fromkeys(empty), "status": status, "error": error}


def rows(methods=METHODS, epsilons=EPSILONS, repeats=15, seed=0):
    """Return the runs of a comparison, repeat by repeat."""
    rng = np.random.default_rng(seed)
    return [
        row(method, epsilon, repeat, rng)
        for repeat in range(repeats)
        for method in methods
        for epsilon in (epsilons if method[3] else (None,))
    ]


def write(directory, records, settings=SETTINGS):
    """Write what `opdisc compare` leaves in its directory."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    text = "".join(json.dumps(record) + "\n" for record in records)
    (directory / "runs.jsonl").write_text(text, encoding="utf-8")
    return directory
