"""Which points the statements of a feature may have: public limits, of which a sign is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from opdisc.data.schema.checks import check_keys
from opdisc.errors import SchemaError, quoted

if TYPE_CHECKING:
    from opdisc.data.schema.checks import Sign

_KEYS = ("at_least", "at_most")

_FURTHEST = 1_000
"""Points of a limit at most, in size: no card has as many."""

_EXAMPLE = "points = { at_least = 0, at_most = 3 }"


@dataclass(frozen=True, slots=True, kw_only=True)
class PointLimits:
    """Least and largest points that a statement may have.

    Parameters
    ----------
    at_least : int or None
        From -1,000 to 0; None for no limit.
    at_most : int or None
        From 0 to 1,000; None for no limit.

    Raises
    ------
    SchemaError
        If a limit is no such number, or only 0 points are left.

    Notes
    -----
    **Guarantee.** Public facts. 0 points are always allowed: a card may leave a statement out.

    Examples
    --------
    >>> limits = PointLimits(at_least=0, at_most=3)
    >>> limits.within(2), limits.within(5)
    ((0, 1, 2), (0, 1, 2, 3))
    >>> limits.nearest(4.5), str(limits)
    (3.0, '0 to 3')
    """

    at_least: int | None = None
    at_most: int | None = None

    def __post_init__(self) -> None:
        """Validate."""
        for name, least, most in (("at_least", -_FURTHEST, 0), ("at_most", 0, _FURTHEST)):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or not least <= value <= most):
                raise SchemaError(
                    f"{name} of points must be an integer from {least:,} to {most:,}, because a "
                    f"card may leave a statement out, got {quoted(value)}"
                )
        if (self.at_least, self.at_most) == (0, 0):
            raise SchemaError(
                "points must not be limited to 0 alone, but at_least and at_most are 0; leave the "
                "feature out"
            )

    @property
    def is_free(self) -> bool:
        """Whether nothing is limited."""
        return self.at_least is None and self.at_most is None

    @property
    def has_sizes(self) -> bool:
        """Whether they say more than a sign does."""
        return bool(self.at_least) or bool(self.at_most)

    def allows(self, points: int) -> bool:
        """Return whether a statement may have so many points."""
        return self.nearest(points) == points

    def within(self, bound: int) -> tuple[int, ...]:
        """Return the allowed points in ``-bound .. bound``, increasing."""
        return tuple(points for points in range(-bound, bound + 1) if self.allows(points))

    def nearest(self, points: float) -> float:
        """Return the allowed number of points that is nearest."""
        if self.at_least is not None:
            points = max(points, float(self.at_least))
        return points if self.at_most is None else min(points, float(self.at_most))

    def to_dict(self) -> dict[str, int]:
        """Return the JSON-able form that a schema file has."""
        both = {"at_least": self.at_least, "at_most": self.at_most}
        return {name: value for name, value in both.items() if value is not None}

    def __str__(self) -> str:
        """Return the limits in words."""
        if self.at_most is None:
            return f"at least {self.at_least}"
        if self.at_least is None:
            return f"at most {self.at_most}"
        return f"{self.at_least} to {self.at_most}"


LimitsLike: TypeAlias = PointLimits | Mapping[str, int] | None


def parse_limits(raw: object, sign: Sign | None, column: str) -> PointLimits | None:
    """Return the limits that a feature declares beside its sign; None for none.

    Raises
    ------
    SchemaError
        If they are no limits, or leave 0 points alone beside the sign.
    """
    if raw is None:
        return None
    if not isinstance(raw, PointLimits):
        raw = _read(raw, column)
    if raw.is_free:
        raise SchemaError(f"points of {quoted(column)} must have a limit, as in {_EXAMPLE}")
    try:
        both_limits(raw, sign)
    except SchemaError:
        raise SchemaError(
            f"points of {quoted(column)} must leave more than 0 beside its sign, but they do not; "
            "drop one of the two"
        ) from None
    return raw


def _read(raw: object, column: str) -> PointLimits:
    if not isinstance(raw, Mapping):
        raise SchemaError(
            f"points of {quoted(column)} must be limits, such as {_EXAMPLE}, got {quoted(raw)}; "
            "points to start from stand in a file of their own, which a fit takes as its prior"
        )
    check_keys(raw, _KEYS, f"points of {quoted(column)}")
    try:
        return PointLimits(**raw)
    except SchemaError as error:
        raise SchemaError(f"feature {quoted(column)}: {error}") from None


def stored_limits(points: PointLimits | None) -> dict[str, int] | None:
    """Return limits as a schema file has them; None for none."""
    return None if points is None else points.to_dict()


def both_limits(points: PointLimits | None, sign: Sign | None) -> PointLimits:
    """Return what limits and a sign allow together."""
    own = PointLimits() if points is None else points
    if sign is None:
        return own
    if sign == "positive":
        return PointLimits(at_least=0, at_most=own.at_most)
    return PointLimits(at_least=own.at_least, at_most=0)
