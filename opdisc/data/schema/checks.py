"""Checks of declared (public) values, each refusing with one sentence."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from opdisc.data.cells import canonical_text, format_number, parse_number
from opdisc.errors import LONGEST_NAME, SchemaError, quoted

Kind: TypeAlias = Literal["thresholds", "categories", "binary"]
"""How the encoded columns of one feature are related."""

Sign: TypeAlias = Literal["positive", "negative"]
"""Which points the statements of a feature may have, besides 0."""

BLANK = "<fill in>"
"""Stands where a value is still to be written."""

_MOST_BLANKS = 5
"""Blanks that a refusal names."""

_LONGEST_GUESSED = 100
"""Characters of a name that is compared with others: the time grows with their product."""


def close_name(name: object, known: Iterable[str]) -> str | None:
    """Return the known name that a mistyped one is most like, None if it is like none."""
    if not isinstance(name, str) or len(name) > _LONGEST_GUESSED:
        return None
    folded = {one.casefold(): one for one in known if len(one) <= _LONGEST_GUESSED}
    found = difflib.get_close_matches(name.casefold(), folded, n=1)
    return folded[found[0]] if found else None


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return " (did you mean 'age'?)" to follow a mistyped name, or nothing."""
    guess = close_name(name, known)
    return "" if guess is None else f" (did you mean {quoted(guess)}?)"


def check_keys(
    raw: Mapping[Any, Any], allowed: Sequence[str] | frozenset[str], where: str
) -> None:
    """Refuse keys that a schema does not know."""
    for key in raw:
        if key not in allowed:
            known = ", ".join(sorted(allowed))
            raise SchemaError(
                f"{where} has the unknown key {quoted(key)}{did_you_mean(key, allowed)}; the "
                f"known keys are {known}"
            )


def check_name(value: object, what: str) -> None:
    """Require printable, non-blank text without white space at its ends."""
    if (
        not isinstance(value, str)
        or not value.isprintable()
        or value != value.strip()
        or not value
    ):
        raise SchemaError(f"{what} must be non-empty printable text, got {quoted(value)}")
    check_length(value, what)


def check_length(text: str, what: str) -> None:
    """Refuse a text that would fill a page wherever it is shown."""
    if len(text) > LONGEST_NAME:
        raise SchemaError(
            f"{what} must have at most {LONGEST_NAME} characters, got {quoted(text)}; shorten it"
        )


def as_tuple(value: object, what: str) -> tuple[object, ...]:
    """Require a list or tuple."""
    if not isinstance(value, list | tuple):
        raise SchemaError(f"{what} must be a list, got {quoted(value)}")
    return tuple(value)


def finite_number(value: object, what: str) -> float:
    """Require a finite number that is not a boolean."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            number = float(value)
            if math.isfinite(number):
                return number
    except OverflowError:
        pass
    raise SchemaError(f"{what} must be finite numbers, got {quoted(value)}")


def checked_names(names: object, size: int, column: str) -> tuple[str, ...]:
    """Require no display name, or one per encoded column."""
    checked = as_tuple(names, f"names of {quoted(column)}")
    for name in checked:
        check_name(name, f"each display name of {quoted(column)}")
    if checked and len(checked) != size:
        raise SchemaError(
            f"feature {quoted(column)} must have one display name per encoded column ({size}), "
            f"got {len(checked)}"
        )
    return tuple(str(name) for name in checked)


def refuse_repeats(items: Iterable[str], what: str) -> None:
    """Require distinct items."""
    seen: set[str] = set()
    for item in items:
        if item in seen:
            raise SchemaError(f"{what} must be distinct, but {quoted(item)} occurs twice")
        seen.add(item)


def missing_texts(codes: object, column: str) -> tuple[str, ...]:
    """Require codes of a missing value: texts or numbers, each once; return their texts."""
    texts = []
    for code in as_tuple(codes, f"missing of {quoted(column)}"):
        is_number = isinstance(code, int | float) and not isinstance(code, bool)
        text = canonical_text(code) if isinstance(code, str) or is_number else ""
        if not text or text in ("nan", "inf", "-inf"):
            raise SchemaError(
                f"missing of {quoted(column)} must be a list of codes, each text or a number, "
                f"got {quoted(code)}"
            )
        check_length(text, f"a missing code of {quoted(column)}")
        texts.append(text)
    return tuple(dict.fromkeys(texts))


def refuse_coded_numbers(numbers: Iterable[float], codes: Iterable[str], column: str) -> None:
    """Refuse a threshold that is a code: a reader of the card would count its rows."""
    coded = {parse_number(code) for code in codes}
    for number in numbers:
        if number in coded:
            raise SchemaError(
                f"a number of {quoted(column)} cannot be a code too, but "
                f"{format_number(number)} is a threshold and a code; move the threshold, or leave "
                "the code out"
            )


def check_sign(sign: object, column: str) -> None:
    """Refuse a sign that is none."""
    if sign not in (None, "positive", "negative"):
        raise SchemaError(
            f"sign of {quoted(column)} must be 'positive' or 'negative', got {quoted(sign)}"
        )


def stated(**values: object) -> dict[str, object]:
    """Return the keys that say something, so that digests of older schemas stay the same."""
    return {key: value for key, value in values.items() if value not in (None, [])}


def refuse_blanks(raw: Mapping[str, Any]) -> None:
    """Refuse a draft that was not filled in, naming the first few blanks.

    Raises
    ------
    SchemaError
        If a value of the target or of a feature is still :data:`BLANK`.
    """
    blanks = []
    target = raw.get("target")
    if isinstance(target, Mapping):
        words = {
            "column": "the column to predict",
            "positive": "its positive label",
            "negative": "its negative label",
        }
        blanks += [words.get(key, str(key)) for key, value in target.items() if value == BLANK]
    features = raw.get("feature")
    for feature in features if isinstance(features, list | tuple) else ():
        if isinstance(feature, Mapping) and BLANK in list(feature.values()):
            blanks.append(f"column {quoted(feature.get('column'))}")
    if not blanks:
        return
    more = f" and {len(blanks) - _MOST_BLANKS} more" if len(blanks) > _MOST_BLANKS else ""
    raise SchemaError(
        f"a schema must be filled in, but {', '.join(blanks[:_MOST_BLANKS])}{more} still "
        f"{'has' if len(blanks) == 1 else 'have'} the blank {BLANK!r}; write what you know "
        "without the rows, and delete the blocks of columns that are not to be used"
    )
