"""Runs in the peers' own interpreter: fits one external classifier, then scores rows.

A script, not a part of the package: it imports numpy and the peer's library only. It speaks over
its standard streams in messages of one length (8 bytes) and one npz archive, whose entry "header"
is JSON. A message that names a peer is a fit, which replaces the model there was; every other one
is rows to score. It ends with its parent.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import struct
import sys
import threading
import time
import warnings
from importlib.metadata import version
from typing import IO, Any

import numpy as np

_LENGTH = struct.Struct("<Q")

_LARGEST = 1 << 34


def write_message(stream: IO[bytes], header: dict[str, Any], **arrays: Any) -> None:
    """Write one message: a JSON header and arrays without pickled objects.

    Parameters
    ----------
    stream : binary file
        Where to.
    header : dict
        JSON types.
    **arrays : ndarray
        Numbers or fixed-width text.
    """
    buffer = io.BytesIO()
    np.savez(buffer, header=np.array(json.dumps(header)), **arrays)
    data = buffer.getvalue()
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def read_message(stream: IO[bytes]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the header and arrays of the next message, or None where the stream ends."""
    prefix = _read_all(stream, _LENGTH.size)
    if prefix is None:
        return None
    (length,) = _LENGTH.unpack(prefix)
    data = _read_all(stream, length) if length <= _LARGEST else None
    if data is None:
        return None
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return json.loads(str(arrays.pop("header"))), arrays


def _read_all(stream: IO[bytes], size: int) -> bytes | None:
    parts = []
    while size > 0:
        part = stream.read(size)
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


class _Boosted:
    """S-BDT's trees, built from source; one feature for each 0/1 column."""

    packages = ("numpy", "scikit-learn")

    def __init__(self, header: dict[str, Any]) -> None:
        self.header = header

    def fit(self, X: Any, y: Any) -> None:
        """Learn with Newton steps; a Hessian of the logistic loss is at most a quarter."""
        settings, columns = self.header["settings"], X.shape[1]
        self.model = importlib.import_module("sbdt").S_BDT(
            nb_trees=settings["trees"],
            max_depth=settings["depth"],
            l2_threshold=settings["gradient_bound"],
            hess_l2_threshold=0.25,
            privacy_budget=self.header["epsilon"],
            newton_boosting=True,
            task="BinaryClassification",
            feature_val_border=(0.0, 1.0),
            cat_idx=[],
            num_idx=list(range(columns)),
            cat_values=[[]] * columns,
            scale_y=False,
            cyclical_feature_interactions=False,
            random_splits_from_candidates=False,
            **_ITS_DEFAULTS,
        )
        self.model.train(np.ascontiguousarray(X), y.astype(np.float64), "rows")

    def decision_function(self, X: Any) -> Any:
        """Return log-odds."""
        return self.model.predict(np.ascontiguousarray(X))


_ITS_DEFAULTS: dict[str, Any] = {
    "subsampling_ratio": 0.1,
    "learning_rate": 0.1,
    "balance_partition": True,
    "lambda_reg_mode": 1,
    "l2_lambda": 15.0,
    "reg_delta": 2.0,
    "min_samples_split": 0,
    "ignore_split_constraints": True,
    "max_features": 0,
    "max_feature_values": 0,
    "criterion": 0,
    "reuse_attr": True,
    "use_dp": True,
    "privacy_budget_init_score_ratio": 0.1,
    "privacy_budget_gain_ratio": 0.5,
    "leaf_denom_noise_weight": 0.2,
    "init_score_threshold": 1.0,
    "numeric_feature_weight": 1.0,
    "leaf_noise": 1,
    "use_privacy_filter": False,
    "approximate_privacy_filter": False,
    "pf_additional_nb_trees": 0,
    "pf_l2_threshold": 0.1,
    "pf_hess_l2_threshold": 1.0,
    "pf_subsampling_ratio_factor": 1.0,
    "additional_nb_trees": 0,
    "refine_splits_rounds": 0,
    "num_split_candidates": 32,
    "gradient_filtering": False,
    "leaf_clipping": False,
    "refine_splits": False,
    "refine_splits_subsample": 1.0,
    "cut_off_leaf_denom": True,
    "custom_noise_scale": -1.0,
    "verbosity": 4,
    "continuous_learning": False,
}
"""What S-BDT documents as defaults; its constructor has none."""


class _Synthetic:
    """Logistic regression on synthetic rows that AIM drew from noisy marginals."""

    packages = ("dpmm", "scikit-learn", "numpy")

    def __init__(self, header: dict[str, Any]) -> None:
        self.header = header

    def fit(self, X: Any, y: Any) -> None:
        """Learn marginals of levels and label, draw as many rows, and fit them."""
        pandas = importlib.import_module("pandas")
        pipelines = importlib.import_module("dpmm.pipelines")
        linear = importlib.import_module("sklearn.linear_model")
        coding = importlib.import_module("sklearn.preprocessing")
        levels = self.header["levels"]
        names = [f"column {k}" for k in range(X.shape[1])]
        table = pandas.DataFrame(X.astype(np.int64), columns=names).assign(label=y)
        settings = self.header["settings"]
        pipeline = pipelines.AIMPipeline(
            epsilon=self.header["epsilon"],
            delta=float(self.header["delta"]),
            max_model_size=settings["model_megabytes"],
            gen_kwargs={"n_iters": settings["inference_steps"]},
            proc_epsilon=None,
            disable_processing=True,
            n_jobs=1,
        )
        pipeline.fit(table, domain={**dict(zip(names, levels, strict=True)), "label": 2})
        drawn = pipeline.generate(n_records=len(table))
        categories = [list(range(count)) for count in levels]
        self.encoder = coding.OneHotEncoder(categories=categories, drop="first")
        rows = self.encoder.fit_transform(drawn[names].to_numpy(dtype=np.int64))
        labels = drawn["label"].to_numpy(dtype=np.int64)
        self.only = None if len(set(labels.tolist())) > 1 else 2.0 * labels[0] - 1
        if self.only is None:
            self.model = linear.LogisticRegression(max_iter=5000).fit(rows, labels)

    def decision_function(self, X: Any) -> Any:
        """Return log-odds; of one sign where every synthetic row has the same label."""
        if self.only is not None:
            return np.full(len(X), self.only)
        return self.model.decision_function(self.encoder.transform(X.astype(np.int64)))


class _Points:
    """FasterRisk's best scorecard: integer points, no privacy."""

    packages = ("fasterrisk", "numpy")

    def __init__(self, header: dict[str, Any]) -> None:
        self.settings = header["settings"]

    def fit(self, X: Any, y: Any) -> None:
        """Learn points with a bound on how many are not 0."""
        fasterrisk = importlib.import_module("fasterrisk.fasterrisk")
        largest = self.settings["largest_points"]
        search = fasterrisk.RiskScoreOptimizer(
            X=np.column_stack([np.ones(len(X)), X]),
            y=2.0 * y - 1,
            k=min(self.settings["nonzero"], X.shape[1]),
            lb=-largest,
            ub=largest,
        )
        search.optimize()
        multiplier, self.start, self.points = search.get_models(model_index=0)
        assert multiplier > 0

    def decision_function(self, X: Any) -> Any:
        """Return the total of the points."""
        return self.start + np.column_stack([np.ones(len(X)), X]) @ self.points


class _Model:
    """A peer, fitted once, that scores rows in the form it was fitted on.

    The random numbers are the libraries' own: no seed is given.
    """

    def __init__(self, header: dict[str, Any]) -> None:
        name = header["peer"].removesuffix("-half")
        own: dict[str, Any] = {
            "sbdt": _Boosted,
            "dpmm-aim-logistic": _Synthetic,
            "fasterrisk": _Points,
        }
        if name in own:
            self.model: Any = own[name](header)
            self.packages: tuple[str, ...] = self.model.packages
            return
        epsilon, settings = float(header["epsilon"]), dict(header["settings"])
        if name == "dp-ebm":
            privacy = importlib.import_module("interpret.privacy")
            self.packages = ("interpret-core", "scikit-learn", "numpy")
            self.model = privacy.DPExplainableBoostingClassifier(
                epsilon=epsilon,
                delta=float(header["delta"]),
                feature_types=header["feature_types"],
                random_state=None,
                n_jobs=1,
                **settings,
            )
            return
        models = importlib.import_module("diffprivlib.models")
        self.packages = ("diffprivlib", "scikit-learn", "numpy")
        match name:
            case "diffprivlib-logistic":
                self.model = models.LogisticRegression(epsilon=epsilon, **settings)
            case "diffprivlib-naive-bayes":
                self.model = models.GaussianNB(epsilon=epsilon, bounds=(0.0, 1.0), **settings)
            case "diffprivlib-forest":
                self.model = models.RandomForestClassifier(
                    epsilon=epsilon, bounds=(0.0, 1.0), classes=[0, 1], **settings
                )
            case other:
                raise ValueError(f"no peer is called {other}")

    def fit(self, X: Any, y: Any) -> float:
        """Fit on rows and labels 0 or 1, and return the seconds it took."""
        started = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.model.fit(X, y)
        seconds = time.perf_counter() - started
        # A leak warning would mean that a bound was taken from the rows: refuse the result.
        leaks = [w for w in caught if "privacy" in f"{w.category.__name__} {w.message}".lower()]
        if leaks:
            raise RuntimeError(f"the library warned of a privacy leak: {leaks[0].message}")
        return seconds

    def scores(self, X: Any) -> Any:
        """Return scores above 0 where class 1 is predicted, shape (n,)."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if hasattr(self.model, "decision_function"):
                found = np.asarray(self.model.decision_function(X), dtype=np.float64)
            else:
                log = np.log(np.maximum(self.model.predict_proba(X), 1e-300))
                found = log[:, 1] - log[:, 0]
        return np.ascontiguousarray(found.reshape(-1))

    def versions(self) -> dict[str, str]:
        """Return the versions of the packages that took part."""
        return {name: version(name) for name in self.packages}


def main() -> None:
    """Serve fits, each with any number of scorings, until the parent closes the stream."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not land among the replies
    parent = os.getppid()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    model: _Model | None = None
    while (message := read_message(sys.stdin.buffer)) is not None:
        header, arrays = message
        try:
            if model is None or "peer" in header:
                model = None
                model = _Model(header)
                seconds = model.fit(arrays["X"], arrays["y"])
                write_message(replies, {"seconds": seconds, "versions": model.versions()})
            else:
                write_message(replies, {}, scores=model.scores(arrays["X"]))
        except Exception as error:  # noqa: BLE001 - every failure is the caller's to report
            text = " ".join(str(error).split())[:300]
            write_message(replies, {"error": f"{type(error).__name__}: {text}"})


def _end_with(parent: int) -> None:
    """End this process once its parent has ended, even in the middle of a fit."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


if __name__ == "__main__":
    main()
