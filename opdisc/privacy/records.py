"""Frozen records that are written as JSON and read back strictly."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

import msgspec
import numpy as np

from opdisc.errors import is_plain

_LONGEST_TEXT = 100_000

Amount = Annotated[float, msgspec.Meta(ge=0, le=sys.float_info.max)]
"""A finite number of at least 0."""

Count = Annotated[int, msgspec.Meta(ge=0)]
"""A whole number of at least 0."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Named fields with types that are checked when a record is read, none left out or added.

    A subclass says ``frozen=True, kw_only=True`` again. JSON has no infinity: it is written as
    null, and read back for the fields in ``may_be_infinite`` alone. Text that is read must be
    printable and on one line, but for the fields in ``any_text``.
    """

    may_be_infinite: ClassVar[tuple[str, ...]] = ()
    any_text: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        record: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self, enc_hook=_plain))
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the record that :meth:`to_dict` wrote.

        Raises
        ------
        ValueError
            If a field is missing, unknown, or of the wrong type or range, or a text could forge
            lines where it is printed.
        """
        if not isinstance(record, Mapping):
            raise ValueError("a record must be an object with named fields.")
        for name, value in record.items():
            if name not in cls.any_text:
                _check_text([name, value])
        unset = [name for name in cls.may_be_infinite if record.get(name, 0) is None]
        return msgspec.convert({**record, **dict.fromkeys(unset, math.inf)}, cls)


def _check_text(value: Any) -> None:
    """Refuse texts that do not show as themselves, anywhere in a value."""
    if isinstance(value, str):
        if not is_plain(value) or len(value) > _LONGEST_TEXT:
            raise ValueError("a record's texts must be printable and on one line.")
    elif isinstance(value, Mapping):
        _check_text([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple):
        for item in value:
            _check_text(item)


def _plain(value: Any) -> Any:
    """Return a NumPy number as Python's own."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a record holds plain values only, not {type(value).__name__}.")
