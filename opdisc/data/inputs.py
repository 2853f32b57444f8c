"""Arguments of the estimators: checked here, so that every refusal is one sentence."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opdisc.data.cells import canonical_text
from opdisc.data.datasets import load_schema
from opdisc.data.rows import plain_numbers
from opdisc.data.schema import (
    Label,
    MulticlassTarget,
    Schema,
    Target,
    make_target,
    two_labels,
)
from opdisc.errors import LONGEST_NAME, SchemaError, TableError, is_plain, quoted

SchemaLike = Schema | Mapping[str, Any] | str | PathLike[str]

Classes: TypeAlias = tuple[Label, Label] | list[Label] | NDArray[Any]
"""(negative, positive) labels, as ``classes=`` declares them."""

_NO_LABELS = "y must hold labels of one type, text or finite numbers."


def parse_schema(schema: SchemaLike) -> Schema:
    """Return a schema from any accepted form."""
    if isinstance(schema, Schema):
        schema.refuse_values_as_missing()
        return schema
    if isinstance(schema, Mapping):
        return Schema.from_dict(schema)
    return load_schema(schema)


def as_numbers(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """Return an array of doubles; the refusal of anything else quotes no cell.

    Raises
    ------
    TableError
        If a value is no number.
    """
    with suppress(TypeError, ValueError, OverflowError):
        return np.asarray(plain_numbers(values), dtype=np.float64)
    # Raised outside the handler: what numpy says would quote the cell.
    raise TableError(f"{what} must be an array of real numbers; encode it first.")


def two_classes(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the two classes that some labels hold, sorted, shape (2,).

    Raises
    ------
    TableError
        If they hold one class only, or more than two, or are neither text nor numbers.
    """
    classes = several_classes(labels)
    if len(classes) > 2:
        from sklearn.utils.multiclass import type_of_target

        raise TableError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(labels)}."
        )
    return classes


def several_classes(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the classes that some labels hold, two or more, sorted.

    Raises
    ------
    TableError
        If they hold one class only, or are neither text nor numbers.
    """
    from sklearn.utils.multiclass import check_classification_targets

    kind = labels.dtype.kind
    if kind not in "biufUTO" or (kind == "f" and not np.isfinite(labels).all()):
        raise TableError(_NO_LABELS)
    try:
        check_classification_targets(labels)
        classes: NDArray[Any] = np.unique(labels)
    except ValueError as error:  # names the kind of labels, none of them
        raise TableError(str(error)) from None
    except TypeError:
        raise TableError(_NO_LABELS) from None
    if len(classes) < 2:
        raise TableError("y must hold rows of both classes, but it has one class.")
    return classes


def require_storable_labels(labels: Sequence[Label]) -> None:
    """Refuse labels of y that a saved model could not hold or tell apart; none is quoted.

    Raises
    ------
    TableError
        If two are the same text, or one breaks the rules for declared labels.
    """
    texts = {canonical_text(label) for label in labels}
    if len(texts) < len(labels) or not all(
        text and is_plain(text) and len(text) <= LONGEST_NAME
        for text in (*texts, *(str(label).strip() for label in labels))
    ):
        raise TableError(
            "the labels in y must be different texts, printable, not blank and of at most "
            f"{LONGEST_NAME} characters, but they are not; rename them."
        )


def parse_classes(classes: object, column: str = "y") -> Target:
    """Return two declared labels as the target that they are.

    Parameters
    ----------
    classes : (negative, positive)
        Two different labels.
    column : str
        What messages call the labels.

    Raises
    ------
    SchemaError
        If they are not two different labels.
    """
    labels = list(classes) if isinstance(classes, tuple | list | np.ndarray) else []
    if len(labels) != 2 or None in labels:
        raise SchemaError(
            f"classes must be two labels, (negative, positive), got {classes!r}; leave it out to "
            "take them from y, which is a condition on the receipt."
        )
    return two_labels(column, *labels)


def parse_labels(classes: object) -> tuple[Label, ...]:
    """Return two or more declared labels, checked.

    Raises
    ------
    SchemaError
        If they are not different labels.
    """
    labels = list(classes) if isinstance(classes, tuple | list | np.ndarray) else []
    if len(labels) < 2 or None in labels:
        raise SchemaError(
            f"classes must be two labels or more, got {quoted(classes)}; leave it out to take "
            "them from y, which is a condition on the receipt."
        )
    target = make_target("y", tuple(labels))
    return target.labels if isinstance(target, MulticlassTarget) else target.classes


def warn_of_cells_between_0_and_1(values: NDArray[np.float64]) -> None:
    """Warn if cells that one threshold in the middle of [0, 1] reads are other than 0 and 1."""
    if not np.isin(values, (0.0, 1.0)).all():
        warnings.warn(
            "without a schema every column is cut once, at 0.5 of the public range [0, 1], but X "
            "holds a cell other than 0 and 1, so most of what its column says is lost; declare "
            "thresholds with schema=opdisc.Schema.equal_width(...). This warning depends on the "
            "rows: do not publish it.",
            UserWarning,
            stacklevel=5,  # whoever called fit
        )
