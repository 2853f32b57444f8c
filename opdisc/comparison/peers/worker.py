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


class _Model:
    """A peer, fitted once, that scores rows in the form it was fitted on.

    The random numbers are the libraries' own secure ones: no seed is given.
    """

    def __init__(self, header: dict[str, Any]) -> None:
        epsilon, settings = float(header["epsilon"]), dict(header["settings"])
        if header["peer"] == "dp-ebm":
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
        match header["peer"]:
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
