"""What the rows of a pilot suggest for a schema: a pilot is a table of public rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opdisc.data.cells import canonical_text, marks_missing, parse_number, plain_number
from opdisc.data.schema.draft import is_usable
from opdisc.data.schema.features import features_from_dict
from opdisc.data.schema.round_cuts import round_cuts, round_range
from opdisc.data.schema.target import plain_label, target_from_dict
from opdisc.data.spelling import plain_text
from opdisc.errors import SchemaError

MOST_CATEGORIES = 12
"""Most categories of one column, and most labels."""

_LEAST_SEEN = 2
"""Rows in which a category is seen."""

_MOST_WORDS = 5
"""Texts that a column of numbers may hold besides numbers."""

_LEAST_NUMBERED = 10
"""Rows of a column that is called numbered through."""

_MANY = 0.9
"""Share of the cells that makes a column one of dates, or of names that occur once."""

_AMBIGUOUS = frozenset({"none", "nil", "-"})
"""They mark a missing value among numbers, and are answers elsewhere."""

_ANSWERS = (("1", "0"), ("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("2", "1"))
"""What says yes and what says no, in lower case."""

_DATE = re.compile(
    r"([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4})"
    r"([ T][0-9:.]+(Z|[+-][0-9:]+)?)?"
)

_ZEROS = re.compile("0[0-9]+")
"""Digits that are a code and no number."""

_CODE = re.compile(r"([789])\1+")
"""Digits that forms print for "refused" or "unknown"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDraft:
    """What is suggested for one column.

    Parameters
    ----------
    facts : mapping or None
        Keys of its feature besides the column; None to leave it out.
    note : str
        Why, in words.
    """

    facts: Mapping[str, Any] | None
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotDraft:
    """What is suggested for a schema, as :func:`opdisc.data.draft_schema` takes it.

    Parameters
    ----------
    target : mapping
        Keys of the target besides its column; empty where the labels are still to be said.
    features : mapping
        Facts of each column that the pilot has, None to leave it out.
    notes : mapping
        Why, of each column and of the label.
    missing : tuple of str
        Texts that count as missing in every column.
    """

    target: Mapping[str, Any]
    features: Mapping[str, Mapping[str, Any] | None]
    notes: Mapping[str, str]
    missing: tuple[str, ...]

    @property
    def n_left_out(self) -> int:
        """Number of columns that are left out."""
        return sum(facts is None for facts in self.features.values())


def pilot_draft(columns: Mapping[str, Sequence[str]], label: str | None = None) -> PilotDraft:
    """Return what public rows suggest for a schema.

    Parameters
    ----------
    columns : mapping
        The cells of each column, as text.
    label : str or None
        The column to predict.

    Returns
    -------
    PilotDraft
        Each of its declarations is one that a schema takes.
    """
    texts = {name: [plain_text(cell) for cell in cells] for name, cells in columns.items()}
    missing = sorted({t for own in texts.values() for t in own if t and _is_missing(t)})
    known = {name: _known(own) for name, own in texts.items()}
    target: Mapping[str, Any] = {}
    notes: dict[str, str] = {}
    if label is not None and label in known:
        target, notes[label] = _labels(label, known.pop(label))
    drafts = {name: _checked(name, draft_column(name, own)) for name, own in known.items()}
    return PilotDraft(
        target=target,
        features={name: draft.facts for name, draft in drafts.items()},
        notes=notes | {name: draft.note for name, draft in drafts.items()},
        missing=tuple(missing),
    )


def draft_column(name: str, cells: Sequence[str]) -> ColumnDraft:
    """Return what the cells of one column suggest; none of them is missing everywhere."""
    if len({canonical_text(cell) for cell in cells}) < 2:
        return ColumnDraft(facts=None, note="it shows fewer than two values")
    if re.split("[^a-z0-9]+", name.casefold())[-1] == "id":
        return ColumnDraft(facts=None, note="an identifier, by its name")
    if _share(cells, _DATE.fullmatch) >= _MANY:
        return ColumnDraft(facts=None, note="dates; an age or a year could be declared instead")
    return _binary(cells) or _numbers(cells) or _categories(cells)


def _is_missing(text: str) -> bool:
    marked = marks_missing(text) or text.casefold() == "unknown"
    return marked and text.casefold() not in _AMBIGUOUS


def _known(texts: Iterable[str]) -> list[str]:
    return [text for text in texts if text and not _is_missing(text)]


def _share(cells: Sequence[str], holds: Callable[[str], object]) -> float:
    return sum(bool(holds(cell)) for cell in cells) / len(cells)


def _checked(name: str, draft: ColumnDraft) -> ColumnDraft:
    """Leave out a column whose cells no schema can declare."""
    try:
        if draft.facts is not None:
            features_from_dict({"column": name, **draft.facts})
    except SchemaError:
        return ColumnDraft(facts=None, note="its cells cannot be declared as they are")
    return draft


def _binary(cells: Sequence[str]) -> ColumnDraft | None:
    spelled = {canonical_text(cell): canonical_text(cell).casefold() for cell in sorted(cells)}
    for yes, no in _ANSWERS:
        if set(spelled.values()) == {yes, no}:
            break
    else:
        return None
    if (yes, no) == ("1", "0"):
        return ColumnDraft(facts={"binary": True}, note="0 and 1; any other answer is refused")
    sides = {
        side: [text for text, folded in spelled.items() if folded == answer]
        for side, answer in (("one", yes), ("zero", no))
    }
    facts = {side: texts[0] if len(texts) == 1 else texts for side, texts in sides.items()}
    note = "two answers; any other is refused"
    if (yes, no) == ("2", "1"):
        note += ", and which one says yes is yours to check"
    return ColumnDraft(facts={"binary": facts}, note=note)


def _numbers(cells: Sequence[str]) -> ColumnDraft | None:
    words = sorted({canonical_text(cell) for cell in cells if parse_number(cell) is None})
    numbers = [number for cell in cells if (number := parse_number(cell)) is not None]
    if len(words) > _MOST_WORDS or 2 * len(numbers) < len(cells) or len(set(numbers)) < 2:
        return None
    if any(map(_ZEROS.fullmatch, cells)):
        return None
    if _is_numbered(numbers):
        return ColumnDraft(facts=None, note="an identifier")
    facts: dict[str, Any] = {"thresholds": [plain_number(cut) for cut in round_cuts(numbers)]}
    note = "thresholds near the quintiles, range at round ends"
    if (bounds := round_range(numbers)) is not None:
        facts["range"] = [plain_number(bound) for bound in bounds]
    if words:
        facts["missing"] = words
        note += "; its texts count as missing"
    if codes := _codes(numbers):
        shown = ", ".join(str(plain_number(code)) for code in codes)
        note += f"; codes? then declare missing = [{shown}], and mend both"
    return ColumnDraft(facts=facts, note=note)


def _codes(numbers: Sequence[float]) -> list[float]:
    """Return the ends that look like codes: repeated, and 99 or -9 beside smaller numbers."""
    seen = Counter(numbers)
    low = sorted(number for number in seen if number < 0)
    found = low if len(low) <= 2 else []
    high = max(seen)
    if high > 9 and _CODE.fullmatch(str(plain_number(high))):
        found = [*found, high]
    return [number for number in found if number.is_integer() and seen[number] >= _LEAST_SEEN]


def _is_numbered(numbers: Sequence[float]) -> bool:
    """Return whether rows are numbered through, or each has a long number of its own."""
    own = set(numbers)
    if len(numbers) < _LEAST_NUMBERED or len(own) < len(numbers):
        return False
    if not all(number.is_integer() for number in own):
        return False
    lengths = {len(str(int(abs(number)))) for number in own}
    return max(own) - min(own) == len(own) - 1 or (len(lengths) == 1 and min(lengths) >= 6)


def _categories(cells: Sequence[str]) -> ColumnDraft:
    spelling: dict[str, str] = {}
    for cell in cells:
        spelling.setdefault(canonical_text(cell), cell)
    seen = Counter(map(canonical_text, cells))
    often = [text for text, rows in seen.items() if rows >= _LEAST_SEEN]
    if not often or len(seen) > _MANY * len(cells):
        return ColumnDraft(facts=None, note="an identifier, or texts that hardly occur twice")
    often = [text for text in often if is_usable(spelling[text])]
    kept = sorted(often, key=lambda text: (-seen[text], text))[:MOST_CATEGORIES]
    if len(kept) == len(seen):
        note = "all its texts"
    elif len(kept) == len(often):
        note = f"the texts of {_LEAST_SEEN} rows or more; any other is none of these"
    else:
        note = f"the {MOST_CATEGORIES} most frequent texts; any other is none of these"
    return ColumnDraft(facts={"categories": [spelling[text] for text in kept]}, note=note)


def _labels(column: str, cells: Sequence[str]) -> tuple[dict[str, Any], str]:
    """Return the keys of the target besides its column, and why."""
    seen = Counter(map(canonical_text, cells))
    if len(seen) < 2:
        return {}, "it shows fewer than two labels, so they are left blank"
    if len(seen) > MOST_CATEGORIES:
        return {}, f"it shows more than {MOST_CATEGORIES} labels, so they are left blank"
    target, note = _two_labels(seen) if len(seen) == 2 else _classes(seen)
    try:
        target_from_dict({"column": column, **target})
    except SchemaError:
        return {}, "its labels cannot be declared as they are, so they are left blank"
    if any(label == "*" or not is_usable(str(label)) for label in map(plain_label, seen)):
        return {}, "its labels cannot be declared as they are, so they are left blank"
    return target, note


def _two_labels(seen: Mapping[str, int]) -> tuple[dict[str, Any], str]:
    for yes, no in _ANSWERS[:-1]:
        if {text.casefold() for text in seen} == {yes, no}:
            negative, positive = sorted(seen, key=lambda text: text.casefold() == yes)
            break
    else:
        negative, positive = sorted(seen, key=lambda text: (-seen[text], text))
    target = {"positive": plain_label(positive), "negative": plain_label(negative)}
    return target, "its two labels; which of them is positive is yours to check"


def _classes(seen: Iterable[str]) -> tuple[dict[str, Any], str]:
    labels = [plain_label(text) for text in sorted(seen)]
    if all(not isinstance(label, str) for label in labels):
        labels.sort(key=float)
    return {"classes": labels}, "its labels; their order is yours to check"
