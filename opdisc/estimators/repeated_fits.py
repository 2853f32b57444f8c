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

from opdisc.data import MulticlassTarget, Target, canonical_text
from opdisc.errors import TableError
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

_NUMBERING = ("sklearn.ensemble", "sklearn.multiclass")
"""Where it numbers the labels first."""

_MAY_NUMBER = "cross_val_predict"
"""Numbers them for scores, and not for predictions."""

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


def refuse_numbered_labels(
    labels: NDArray[Any], target: Target | MulticlassTarget, missing: tuple[str, ...] = ()
) -> None:
    """Refuse whole numbers that may stand for labels which a caller has numbered.

    Meta-estimators of scikit-learn number the labels 0, 1, ... in their order before they fit.
    The numbers do not say which labels these were, nor whether they were the declared ones. So
    they are taken only where the declared labels are these numbers.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        As they were handed to ``fit``.
    target : Target or MulticlassTarget
        The declared classes.
    missing : tuple of str
        Texts that count as missing.

    Raises
    ------
    TableError
        Names no label of a row.
    """
    if labels.dtype.kind not in "iu":
        return
    caller = _numbering_caller()
    declared = target.labels if isinstance(target, MulticlassTarget) else target.classes
    texts = set(map(canonical_text, declared))
    size = 2 if caller == "sklearn.multiclass" else len(declared)
    numbers = {str(number) for number in range(size)}
    if texts == numbers:
        return
    found = set(map(canonical_text, np.unique(labels).tolist())).difference(missing)
    any_other = not isinstance(target, MulticlassTarget) and target.takes_any_other
    are_declared = any_other or found <= texts
    if caller in _NUMBERING or (found <= numbers and (caller or not are_declared)):
        raise TableError(
            "y must hold the labels as they are declared, but it holds whole numbers as "
            "BaggingClassifier, VotingClassifier, StackingClassifier, OneVsRestClassifier and "
            "cross_val_predict number them, and these do not say what they stand for; declare "
            f"the labels {'0 and 1' if size == 2 else f'0 to {size - 1}'}, or correct y"
        )


def _numbering_caller() -> str:
    """Return what of scikit-learn has called this fit and numbers labels, "" if nothing has."""
    frame = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if ".".join(name.split(".")[:2]) in _NUMBERING:
            return ".".join(name.split(".")[:2])
        if name.startswith("sklearn.model_selection.") and (
            frame.f_code.co_name == "_fit_and_predict"
        ):
            return _MAY_NUMBER
        frame = frame.f_back  # type: ignore[assignment]
    return ""


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
