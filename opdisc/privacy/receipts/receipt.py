"""The privacy statement of a release: what every mechanism promises, and how it is read."""

from __future__ import annotations

import functools
import math
import platform
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol

import msgspec

from opdisc.errors import escaped
from opdisc.privacy.guarantee import (
    CalibrationStatus,
    Guarantee,
    delta_conditions,
    judge,
    numerical_delta,
    numerical_reasons,
)
from opdisc.privacy.params import NeighboringRelation, PrivacyParams, stated_rows, unit_in_words
from opdisc.privacy.records import Amount, Count, Record

if TYPE_CHECKING:
    from opdisc.privacy.entropy import EntropySource
    from opdisc.privacy.public import PublicInputs

_DIGEST = re.compile(r"([0-9a-f]{64})?")

UnitRows = Annotated[int, msgspec.Meta(ge=1)]
"""Most rows of one privacy unit."""

Lines = list[tuple[str, str]]
"""(name, text) pairs, as printed."""


class PrivacyReceipt(Record, frozen=True, kw_only=True):
    """The privacy statement of one release, a function of public inputs only.

    Each kind of release adds its own section: fields, and the lines that print them.

    Parameters
    ----------
    mechanism, theorem : str
        What ran, and the statement that makes it private.
    calibration : str
        ``proven``, ``published`` or ``refuted``.
    epsilon, delta : float
        The promise.
    delta_numerical : float
        What finite-precision sampling adds to ``delta``.
    relation, privacy_unit : str
        Which tables are neighbours, and what one neighbour changes.
    noise_law : str
        The law, in words.
    noise_scales : tuple of float
        Its scale parameters, in units of the section (an inverse temperature per row for a Gibbs
        law).
    schema_digest : str
        SHA-256 of the public schema; empty without one.
    n_rows : int or None
        The number of rows, if public.
    versions : mapping of str to str
        Packages that took part, and their versions.
    guarantee : str
        ``HOLDS``, ``CONDITIONAL`` or ``VOID``.
    conditions : tuple of str
        What a CONDITIONAL guarantee rests on, or why it is VOID.
    rows_per_unit : int or None
        Public maximum of rows that one privacy unit contributes; the promise is for no more. None
        on receipts of versions that did not state it.

    Raises
    ------
    ValueError
        If a word is unknown, the promise is impossible or another field contradicts it.
    """

    mechanism: str
    theorem: str
    calibration: str
    epsilon: float
    delta: float
    delta_numerical: Amount
    relation: str
    privacy_unit: str
    noise_law: str
    noise_scales: tuple[Amount, ...]
    schema_digest: str
    n_rows: Count | None
    versions: Mapping[str, str]
    guarantee: str
    conditions: tuple[str, ...]
    rows_per_unit: UnitRows | None = None

    numerical_covers: ClassVar[str] = "numerical"
    """What ``delta_numerical`` is for, as printed."""

    def __post_init__(self) -> None:
        """Refuse unknown words and impossible promises."""
        CalibrationStatus(self.calibration)
        NeighboringRelation(self.relation)
        promised = Guarantee(self.guarantee)
        unlimited = "epsilon" in self.may_be_infinite and math.isinf(self.epsilon)
        if not (unlimited and promised is Guarantee.VOID):
            PrivacyParams(epsilon=self.epsilon, delta=self.delta)
        if (promised is Guarantee.HOLDS) == bool(self.conditions):
            raise ValueError("a guarantee must state conditions or reasons unless it HOLDS.")
        proven = CalibrationStatus(self.calibration) is CalibrationStatus.PROVEN
        if not proven and promised is not Guarantee.VOID:
            raise ValueError("a calibration that is not proven must leave the guarantee VOID.")
        replaces = NeighboringRelation(self.relation) is NeighboringRelation.REPLACE_ONE
        if self.n_rows is not None and not replaces:
            raise ValueError("the number of rows must be public under replace_one only.")
        if not _DIGEST.fullmatch(self.schema_digest):
            raise ValueError("a schema's digest must be a SHA-256 in hexadecimal digits.")

    @property
    def protected_unit(self) -> str:
        """Who is protected, in words: the privacy unit and its most rows."""
        return unit_in_words(self.privacy_unit, stated_rows(self))

    def section(self) -> Lines:
        """Return the lines of the kind of release."""
        return self.terms()

    def terms(self) -> Lines:
        """Return those lines of the kind of release that the short receipt has too."""
        return []

    def split(self) -> Lines:
        """Return how epsilon is divided among parts of the release, if it is."""
        return []

    def delta_text(self) -> str:
        """Return delta and what is added to it for numbers that a machine cut short."""
        return f"{self.delta:g} (+ {self.delta_numerical:.1e} {self.numerical_covers})"

    def lines(self) -> Lines:
        """Return (name, text) pairs, the promise first."""
        relation = self.relation.replace("_", "-")
        public = f"{self.n_rows:,} (public under {relation})" if self.n_rows is not None else ""
        return [
            ("guarantee", self.guarantee),
            *(("  condition", condition) for condition in self.conditions),
            ("epsilon", f"{self.epsilon:g}"),
            *self.split(),
            ("delta", self.delta_text()),
            ("neighbours", f"{relation}, privacy unit: {self.protected_unit}"),
            ("mechanism", self.mechanism),
            ("theorem", f"{self.theorem} [{self.calibration}]"),
            ("noise", f"{self.noise_law}; scale {_distinct(self.noise_scales)}"),
            *self.section(),
            ("rows", public or "not public"),
            ("schema", f"sha256 {self.schema_digest[:16]}" if self.schema_digest else "none"),
            ("versions", ", ".join(f"{name} {number}" for name, number in self.versions.items())),
            ("not covered", "running time; anything published besides this model"),
        ]

    def brief_lines(self) -> Lines:
        """Return (name, text) pairs of what a reader wants first; every condition is among them.

        The machine-readable receipt and :meth:`lines` have the rest.
        """
        rows = "not public" if self.n_rows is None else f"{self.n_rows:,}"
        brief = self._why_chosen()
        return [
            ("guarantee", self.guarantee),
            *(("  condition", condition) for condition in self.conditions),
            ("epsilon", f"{self.epsilon:g}"),
            *([("delta", f"{self.delta:g}")] if self.delta else []),
            *self.split(),
            ("protects", f"{self.protected_unit} ({self.relation.replace('_', '-')})"),
            ("rows", rows),
            ("method", self.mechanism),
            *self.terms(),
            *([("chosen because", brief)] if brief else []),
        ]

    def _why_chosen(self) -> str:
        """Return why the mechanism was chosen, in plain words; empty where nobody chose."""
        return ""

    def brief(self) -> str:
        """Return the receipt in a few lines."""
        return _printed(self.brief_lines())

    def __str__(self) -> str:
        """Return the receipt as lines that a reviewer can check one by one."""
        return _printed(self.lines())


BRIEF = 90
"""Characters up to which a reason without a detail is short enough for the short receipt."""


def _printed(lines: Lines) -> str:
    return "\n".join(f"{name + ':':<20}{escaped(text)}" for name, text in lines)


class CertifiedReceipt(PrivacyReceipt, frozen=True, kw_only=True):
    """A receipt whose release rests on certified minimisers, or on an exact draw.

    Parameters
    ----------
    sensitivity : int
        Pairwise sensitivity of the loss, rows.
    allowance : float
        Certified gap that the calibration pays for, objective units (rows for 0/1 loss).
    spacing : float
        Lattice spacing of what is drawn or released; 0 if the law needs no lattice.
    oracle : str
        Which search answered, or the hand-over policy.
    """

    sensitivity: Count
    allowance: Amount
    spacing: Amount
    oracle: str


def power_of_two(spacing: float) -> str:
    """Return a lattice spacing as a power of two, in words."""
    return f"2^{math.log2(spacing):g}" if spacing > 0 else "0"


def _distinct(scales: tuple[float, ...]) -> str:
    """Return each scale once, in the order in which the law in words names them."""
    return ", ".join(f"{scale:.6g}" for scale in dict.fromkeys(scales))


class Calibration(Protocol):
    """What a receipt says of the noise, whichever mechanism calibrated it."""

    @property
    def theorem(self) -> str:
        """Statement that makes the release private."""

    @property
    def status(self) -> CalibrationStatus:
        """How well it is established."""

    @property
    def law(self) -> str:
        """The noise law, in words."""

    @property
    def scales(self) -> tuple[float, ...]:
        """Its scale parameters."""

    @property
    def total_variation(self) -> float:
        """Total variation between the exact law and what is drawn."""


def common_fields(
    mechanism: str,
    noise: Calibration,
    public: PublicInputs,
    entropy: EntropySource,
    *,
    conditions: Sequence[str] = (),
    void: Sequence[str] = (),
    packages: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the fields that every receipt has, of a release that has not happened yet.

    Parameters
    ----------
    mechanism : str
        Its name.
    noise : Calibration
        What will be drawn.
    public : PublicInputs
        The promise and the table's public facts; its assumptions become conditions, and so does a
        delta that is not far below 1 / rows, by itself or with those in the ledger.
    entropy, conditions, void
        As in :func:`~opdisc.privacy.guarantee.judge`.
    packages : mapping of str to str, or None
        Versions of what takes part besides Python and this package.
    """
    numerical = numerical_delta(noise.total_variation, public.params.epsilon)
    whole = public.params.delta + numerical
    # What adds no delta to speak of leaves the sum as it was.
    earlier = public.earlier_delta if public.params.delta > 0 else 0.0
    large = delta_conditions(whole, public.n_rows, public.public_row_guess, earlier=earlier)
    rests_on = (*large, *public.assumptions, *conditions)
    void = (*void, *numerical_reasons(public.params.delta, numerical))
    guarantee, reasons = judge(noise.status, entropy, rests_on, void=void)
    return {
        "mechanism": mechanism,
        "theorem": noise.theorem,
        "calibration": noise.status.value,
        "epsilon": public.params.epsilon,
        "delta": public.params.delta,
        "delta_numerical": numerical,
        "relation": public.relation.value,
        "privacy_unit": public.privacy_unit,
        "rows_per_unit": int(public.rows_per_unit),
        "noise_law": noise.law,
        "noise_scales": noise.scales,
        "schema_digest": public.schema_digest,
        "n_rows": public.n_rows,
        "versions": software_versions(packages or {}),
        "guarantee": guarantee.value,
        "conditions": reasons,
    }


def software_versions(packages: Mapping[str, str]) -> dict[str, str]:
    """Return versions by name, those of Python and this package included."""
    own = {"opdisc": _own_version(), "python": platform.python_version()}
    return dict(sorted({**own, **packages}.items()))


@functools.cache
def _own_version() -> str:
    """Return this package's version, looked up once: its file is parsed each time."""
    return version("opdisc")
