"""What is promised: parameters, neighbouring relations, public inputs and the receipt."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from opdisc.errors import CalibrationError
from opdisc.receipt_text import receipt_lines
from oracles import WeightGrid

DEFAULT_SPACING = 2.0**-10
_FINEST_SPACING_BITS = 28


class NeighboringRelation(enum.Enum):
    """Which pairs of tables a guarantee compares."""

    REPLACE_ONE = "replace_one"
    """One privacy unit's rows change; the number of rows is public."""
    ADD_OR_REMOVE_ONE = "add_or_remove_one"
    """One privacy unit's rows appear or disappear; the number of rows is private."""

    @property
    def loss_sensitivity(self) -> int:
        """Pairwise sensitivity of a sum of per-row losses in [0, 1] (mechanisms, section 2)."""
        match self:
            case NeighboringRelation.REPLACE_ONE:
                return 2
            case NeighboringRelation.ADD_OR_REMOVE_ONE:
                return 1


class CalibrationStatus(enum.Enum):
    """How well a noise calibration is established."""

    PROVEN = "proven"
    """A proof is given in docs/theory.md, or is standard."""
    PUBLISHED = "published"
    """As printed in a paper; not re-proven here."""
    REFUTED = "refuted"
    """Published, and a counterexample to the general statement is known."""


class Guarantee(enum.Enum):
    """What the receipt promises."""

    HOLDS = "HOLDS"
    """Unconditionally, running time aside."""
    CONDITIONAL = "CONDITIONAL"
    """If the listed conditions are true."""
    VOID = "VOID"
    """Nothing is promised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyParams:
    """The target of a calibration.

    Parameters
    ----------
    epsilon : float
        Positive and finite.
    delta : float
        In [0, 1); 0 asks for pure differential privacy.

    Raises
    ------
    CalibrationError
        If a value is out of range.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        """Refuse impossible targets."""
        for name in ("epsilon", "delta"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise CalibrationError(f"{name} must be a number, got {value!r}.")
        if not (self.epsilon > 0 and math.isfinite(self.epsilon)):
            raise CalibrationError(f"epsilon must be finite and > 0, got epsilon={self.epsilon}.")
        if not 0 <= self.delta < 1:
            raise CalibrationError(f"delta must be in [0, 1), got delta={self.delta}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicInputs:
    """Everything a noise scale may depend on. No table ever reaches a calibration.

    Parameters
    ----------
    params : PrivacyParams
        The target.
    relation : NeighboringRelation
        Which tables are neighbours.
    grid : WeightGrid
        The hypotheses.
    spacing : float
        Lattice spacing of the noise, rows; a power of two.
    rows_per_unit : int
        Public maximum of rows that one privacy unit contributes.
    privacy_unit : str
        What one neighbour changes, in words.
    schema_digest : str
        Identifies the public schema.
    n_rows : int or None
        Number of rows where it is public, else None.
    assumptions : tuple of str
        What the caller takes to be public without having said so; each becomes a condition.
    """

    params: PrivacyParams
    relation: NeighboringRelation
    grid: WeightGrid
    spacing: float = DEFAULT_SPACING
    rows_per_unit: int = 1
    privacy_unit: str = "one row"
    schema_digest: str = ""
    n_rows: int | None = None
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse bad lattices and multiplicities, and a public n where it is hidden."""
        bits = -math.log2(self.spacing) if self.spacing > 0 else -1.0
        if bits != int(bits) or not 0 <= bits <= _FINEST_SPACING_BITS:
            raise CalibrationError(
                f"spacing must be 2**-r with r in 0..{_FINEST_SPACING_BITS}, got {self.spacing}."
            )
        if self.rows_per_unit < 1:
            raise CalibrationError(
                f"rows_per_unit must be an integer >= 1, got {self.rows_per_unit}."
            )
        if self.n_rows is not None and self.relation is not NeighboringRelation.REPLACE_ONE:
            raise CalibrationError("the number of rows is public under replace_one only.")

    @property
    def sensitivity(self) -> int:
        """Pairwise sensitivity of the loss, rows."""
        return self.relation.loss_sensitivity * self.rows_per_unit


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyReceipt:
    """The privacy statement of one release, a function of public inputs only.

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
    sensitivity : int
        Pairwise sensitivity of the loss, rows.
    allowance : float
        Certified gap that the calibration pays for, rows.
    noise_law : str
        The law, in words.
    noise_scales : tuple of float
        Its scale parameters, rows (an inverse temperature per row for a Gibbs law).
    spacing : float
        Lattice spacing, rows; 0 if the law needs no lattice.
    schema_digest : str
        SHA-256 of the public schema.
    n_rows : int or None
        The number of rows, if public.
    weights : tuple of tuple of int
        Allowed weights of each coordinate, the intercept first.
    norm_budget : int or None
        Largest allowed squared norm.
    oracle : str
        Which search answered, or the hand-over policy.
    versions : tuple of (str, str)
        Packages and versions that took part.
    guarantee : str
        ``HOLDS``, ``CONDITIONAL`` or ``VOID``.
    conditions : tuple of str
        What a CONDITIONAL guarantee rests on, or why it is VOID.
    choice : str
        Why this mechanism, when it was chosen automatically.
    """

    mechanism: str
    theorem: str
    calibration: str
    epsilon: float
    delta: float
    delta_numerical: float
    relation: str
    privacy_unit: str
    sensitivity: int
    allowance: float
    noise_law: str
    noise_scales: tuple[float, ...]
    spacing: float
    schema_digest: str
    n_rows: int | None
    weights: tuple[tuple[int, ...], ...]
    norm_budget: int | None
    oracle: str
    versions: tuple[tuple[str, str], ...]
    guarantee: str
    conditions: tuple[str, ...]
    choice: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        record = asdict(self)
        for name in ("noise_scales", "conditions"):
            record[name] = list(record[name])
        record["weights"] = [list(allowed) for allowed in self.weights]
        record["versions"] = dict(self.versions)
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> PrivacyReceipt:
        """Return the receipt that :meth:`to_dict` wrote.

        Raises
        ------
        ValueError
            If a field is missing, unknown, or of the wrong type.
        """
        names = {field.name for field in fields(cls)}
        if not isinstance(record, Mapping) or set(record) != names:
            raise ValueError("a receipt must have exactly the fields of this version.")
        values = dict(record)
        try:
            values["noise_scales"] = tuple(float(scale) for scale in record["noise_scales"])
            values["conditions"] = tuple(str(text) for text in record["conditions"])
            values["weights"] = tuple(
                tuple(int(a) for a in allowed) for allowed in record["weights"]
            )
            values["versions"] = tuple((str(k), str(v)) for k, v in record["versions"].items())
            values["epsilon"], values["delta"] = float(record["epsilon"]), float(record["delta"])
            PrivacyParams(epsilon=values["epsilon"], delta=values["delta"])
            Guarantee(record["guarantee"])
            CalibrationStatus(record["calibration"])
            NeighboringRelation(record["relation"])
        except (TypeError, AttributeError, CalibrationError) as error:
            raise ValueError("a receipt field has the wrong type or range.") from error
        return cls(**values)

    def __str__(self) -> str:
        """Return the receipt as lines that a reviewer can check one by one."""
        return "\n".join(f"{name + ':':<20}{text}" for name, text in receipt_lines(self))
