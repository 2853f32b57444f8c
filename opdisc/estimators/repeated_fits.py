"""Fits that scikit-learn repeats: a search or a cross-validation is seen, and said so.

Every fit spends its epsilon, and its receipt speaks of one fit alone. Inside a search the fits are
compared with each other, so that the receipt of the best one promises less than it seems to.
"""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import LabelEncoder

from opdisc.data import Label, canonical_text
from opdisc.privacy import Ledger

_REPEATING = (
    "sklearn.model_selection",
    "sklearn.calibration",
    "sklearn.ensemble",
    "sklearn.feature_selection",
    "sklearn.multiclass",
    "sklearn.multioutput",
    "sklearn.semi_supervised",
)
"""Where scikit-learn fits clones of one estimator to the same rows, or to many of them."""

_paid_together: ContextVar[bool] = ContextVar("_paid_together", default=False)
_warned: weakref.WeakSet[Any] = weakref.WeakSet()
_warned_here: set[str] = set()


class RepeatedFits(UserWarning):
    """A private estimator is fitted several times to the same rows."""


def repetition_conditions(ledger: Ledger | None) -> tuple[str, ...]:
    """Return what a receipt rests on if scikit-learn is repeating this fit; warn once for each.

    Parameters
    ----------
    ledger : Ledger or None
        Where the fit will be recorded, and the others were.

    Notes
    -----
    Seen by the call stack, in workers too. A loop of the user's own is not seen: the ledger adds
    it up.
    """
    found = None if _paid_together.get() else _repetition()
    if found is None:
        return ()
    module, repeated = found
    if not _was_warned(repeated):
        warnings.warn(
            f"{module} fits a private estimator several times, and every fit spends its epsilon; "
            "to choose settings use PrivateSearchCV, which pays for all fits and the choice at "
            "once.",
            RepeatedFits,
            stacklevel=2,
        )
    if ledger is None:
        return (f"published alone among all fits by {module}, and not chosen by their scores",)
    number = ledger.ends()[1].charges + 1
    return (
        f"published alone among {number} fits recorded in ledger {ledger.path.name}, and not "
        "chosen by their scores",
    )


@contextmanager
def paid_together() -> Iterator[None]:
    """Fit repeatedly under one receipt, which the caller writes."""
    token = _paid_together.set(True)
    try:
        yield
    finally:
        _paid_together.reset(token)


def numbered_labels() -> NDArray[Any] | None:
    """Return the labels that a meta-estimator of scikit-learn has replaced by their positions.

    ``VotingClassifier``, ``StackingClassifier`` and ``cross_val_predict`` number the labels before
    they fit. A schema declares the labels themselves, so they are read off the caller's encoder.
    None where nobody numbered them, inside a private search, and in worker processes, where the
    caller cannot be seen.
    """
    labels: NDArray[Any] | None = None
    frame = None if _paid_together.get() else sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith("sklearn."):
            owner = frame.f_locals.get("self")
            coders = (
                getattr(owner, "le_", None),
                getattr(owner, "_label_encoder", None),
                frame.f_locals.get("le"),
            )
            for coder in coders:
                if isinstance(coder, LabelEncoder) and hasattr(coder, "classes_"):
                    labels = in_place_of(np.asarray(coder.classes_), labels)
        frame = frame.f_back
    return labels


def in_place_of(labels: NDArray[Any], numbers: NDArray[Any] | None) -> NDArray[Any]:
    """Return the labels that numbers stand for; what cannot be their numbers is left as it is."""
    if numbers is None:
        return labels
    are_numbers = numbers.dtype.kind in "iu" and len(numbers) > 0
    if not are_numbers or numbers.min() < 0 or numbers.max() >= len(labels):
        return numbers
    return np.asarray(labels[numbers])


def as_declared(
    labels: NDArray[Any], declared: tuple[Label, ...]
) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
    """Return labels as the caller of scikit-learn spelled them, and the declared ones' numbers.

    The numbers are those of the caller's encoder, whichever of them these rows hold.
    """
    spelled = numbered_labels()
    if spelled is None or len(spelled) != len(declared):
        return labels, None
    found = in_place_of(spelled, labels)
    if found is labels:
        return labels, None
    texts = [canonical_text(label) for label in spelled.tolist()]
    known = [texts.index(t) if t in texts else -1 for t in map(canonical_text, declared)]
    if known.count(-1) > 1:
        return found, None
    # A label that is only declared as "any other" has the number that is left.
    left = sum(range(len(texts))) - sum(number for number in known if number >= 0)
    return found, np.array([left if number < 0 else number for number in known])


def _repetition() -> tuple[str, Any] | None:
    """Return scikit-learn's module that repeats this fit, and the object that it was called on."""
    found = None
    frame = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        package = ".".join(name.split(".")[:2])
        if package in _REPEATING:  # the outermost is what the user called
            # Workers begin with a helper and a copy: there, the package itself is remembered.
            is_helper = frame.f_code.co_name.startswith("_")
            called_on = frame.f_locals.get("self", frame.f_locals.get("estimator"))
            found = package, package if is_helper else called_on
        frame = frame.f_back  # type: ignore[assignment]
    return found


def _was_warned(repeated: Any) -> bool:
    if isinstance(repeated, str):
        known = repeated in _warned_here
        _warned_here.add(repeated)
        return known
    try:
        known = repeated in _warned
        _warned.add(repeated)
    except TypeError:  # cannot be remembered
        return False
    return known
