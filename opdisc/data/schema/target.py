"""The declared target: a label column and its classes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from opdisc.data.cells import canonical_text, parse_number
from opdisc.data.schema.checks import as_tuple, check_keys, check_length, check_name
from opdisc.errors import SchemaError, is_plain, quoted

Label: TypeAlias = str | int | float | bool

MOST_CLASSES = 100
"""Most classes of a target."""

ANY_OTHER = "*"
"""Declared as the negative label: every value other than the positive label and missing ones."""

_INTEGER = re.compile("0|-?[1-9][0-9]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The label column and its two classes.

    Parameters
    ----------
    column : str
        Raw column.
    positive : str, int, float or bool
        Label of the positive class; cells compare by :func:`opdisc.data.canonical_text`.
    negative : str, int, float or bool
        Label of the negative class; ``"*"`` counts every other value as negative.

    Raises
    ------
    SchemaError
        If only one label is declared, or one breaks a rule.
    """

    column: str
    positive: Label
    negative: Label | None = None

    def __post_init__(self) -> None:
        """Validate."""
        check_name(self.column, "the target's column")
        object.__setattr__(self, "positive", _label(self.positive, "positive"))
        if canonical_text(self.positive) == ANY_OTHER:
            raise SchemaError(
                f"the positive label must be a value, but {quoted(ANY_OTHER)} stands for any "
                "other; declare the value that is positive"
            )
        if self.negative is None:
            raise SchemaError(
                "target must have both labels, but only positive is declared; add negative, the "
                f"other label, or negative = {quoted(ANY_OTHER)} to count any other value as "
                "negative"
            )
        object.__setattr__(self, "negative", _label(self.negative, "negative"))
        if canonical_text(self.negative) == canonical_text(self.positive):
            raise SchemaError(
                "positive and negative must be different labels, but both of target "
                f"{quoted(self.column)} are {quoted(self.positive)}"
            )

    @property
    def classes(self) -> tuple[Label, Label]:
        """(negative, positive) labels; ``"not <positive>"`` where any other is negative."""
        assert self.negative is not None
        negative = f"not {self.positive}" if self.takes_any_other else self.negative
        return negative, self.positive

    @property
    def takes_any_other(self) -> bool:
        """Whether every other value is negative."""
        return self.negative == ANY_OTHER


@dataclass(frozen=True, slots=True, kw_only=True)
class MulticlassTarget:
    """The label column and its classes, three or more.

    Parameters
    ----------
    column : str
        Raw column.
    labels : tuple of str, int, float or bool
        Labels of the classes, in an order that is public: cards are asked in it, and it decides
        ties. Cells compare by :func:`opdisc.data.canonical_text`.
    """

    column: str
    labels: tuple[Label, ...]

    def __post_init__(self) -> None:
        """Validate."""
        check_name(self.column, "the target's column")
        labels = tuple(_label(label, "class") for label in as_tuple(self.labels, "classes"))
        object.__setattr__(self, "labels", labels)
        if len({canonical_text(label) for label in labels}) < len(labels):
            raise SchemaError(
                f"classes must be different labels, but two of target {quoted(self.column)} are "
                "the same"
            )
        if not 3 <= len(labels) <= MOST_CLASSES:
            raise SchemaError(
                f"classes must be from 3 to {MOST_CLASSES} labels, got {len(labels)}; for two "
                "declare positive and negative"
            )


def make_target(column: str, labels: tuple[Label, ...]) -> Target | MulticlassTarget:
    """Return the target of two labels, (negative, positive), or of more in their order."""
    if len(labels) == 2:
        return two_labels(column, *labels)
    return MulticlassTarget(column=column, labels=labels)


def two_labels(column: str, negative: Label, positive: Label) -> Target:
    """Return the target of two labels that stand for themselves.

    Raises
    ------
    SchemaError
        If one is ``"*"``, or breaks a rule.
    """
    if ANY_OTHER in map(canonical_text, (negative, positive)):
        raise SchemaError(
            f"classes must be values, but {quoted(ANY_OTHER)} stands for any other; in a schema "
            f"declare positive and negative = {quoted(ANY_OTHER)}"
        )
    return Target(column=column, positive=positive, negative=negative)


def target_from_dict(raw: object) -> Target | MulticlassTarget:
    """Read the ``target`` table of a schema file.

    ``classes = [...]`` declares all labels in order; of two, the second is the positive one.

    Raises
    ------
    SchemaError
        For an unknown or missing key, or a label that breaks a rule.
    """
    if not isinstance(raw, Mapping):
        raise SchemaError(
            "target must be a table such as { column = ..., positive = ..., negative = ... }"
        )
    check_keys(raw, ("column", "positive", "negative", "classes"), "target")
    if "classes" in raw:
        if "positive" in raw or "negative" in raw:
            raise SchemaError("target must have classes, or positive and negative, but not both")
        if "column" not in raw:
            raise SchemaError("target must have column, but it is missing")
        labels: Any = as_tuple(raw["classes"], "classes")
        return make_target(raw["column"], labels)
    for key in ("column", "positive"):
        if key not in raw:
            raise SchemaError(f"target must have {key}, but it is missing")
    return Target(column=raw["column"], positive=raw["positive"], negative=raw.get("negative"))


def stored_target(raw: object) -> object:
    """Return the ``target`` table of a saved model as it is declared today.

    Files made before both labels had to be declared may have ``positive`` alone: there any other
    label was negative.
    """
    if isinstance(raw, Mapping) and "positive" in raw and "negative" not in raw:
        return {**raw, "negative": ANY_OTHER}
    return raw


def plain_label(label: Label) -> Label:
    """Return a label in the one form in which it is stored where nobody declared how to spell it.

    Labels that compare equal have one form: 1, 1.0, True, "1" and "true" are the integer 1, so
    that a schema and its digest do not show in which type a table held its labels.

    Parameters
    ----------
    label : str, int, float or bool
        Text or a finite number.

    Returns
    -------
    str, int or float
        A number where the label spells one that is kept exactly, otherwise its canonical text.
    """
    text = canonical_text(label)
    number = parse_number(text)
    if number is None:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    return number if canonical_text(number) == text else text


def _label(value: object, what: str) -> Label:
    item = value.item() if isinstance(value, np.generic) else value
    if isinstance(item, str) and item.strip():
        if not is_plain(item.strip()):
            raise SchemaError(f"the {what} label must be printable text, got {quoted(item)}")
        check_length(item, f"the {what} label")
        return item.strip()
    if isinstance(item, int) or (isinstance(item, float) and math.isfinite(item)):
        return item
    raise SchemaError(
        f"the {what} label must be non-empty text or a finite number, got {quoted(value)}"
    )
