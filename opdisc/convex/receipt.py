"""The privacy statement of a real-valued release."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from opdisc.convex.facts import NoPrivacy
from opdisc.errors import CalibrationError
from opdisc.privacy import CalibrationStatus, Guarantee, NeighboringRelation, PrivacyParams


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvexReceipt:
    """The privacy statement of one real-valued release, a function of public inputs only.

    Parameters
    ----------
    mechanism, theorem, calibration : str
        What ran, the statement that makes it private, and how well that is established.
    epsilon, delta, delta_numerical : float
        The promise, and what truncated sampling adds to delta.
    relation, privacy_unit : str
        Which tables are neighbours, and what one neighbour changes.
    rows_per_unit : int
        Public maximum of rows that one privacy unit contributes.
    loss : str
        Loss of one row.
    row_norm, row_maximum, label_bound : float
        Public bounds on a row, the constant column included, and on a label.
    lipschitz, smoothness : float
        Constants of one row's loss that follow from them (Euclidean norm).
    domain : str
        The parameter set in words.
    noise_law : str
        The law in words.
    noise_scales : tuple of float
        Its scale parameters: noise in the units of what it is added to (sums of gradients,
        minimisers, tilts), rates per unit of loss. The law says which.
    settings : tuple of (str, float)
        Public settings of the mechanism.
    schema_digest : str
        SHA-256 of the public schema, empty without one.
    n_rows : int or None
        The number of rows, if public.
    release_grid : float
        Released coordinates are multiples of this.
    versions : tuple of (str, str)
        Packages and versions that took part.
    guarantee : str
        ``HOLDS``, ``CONDITIONAL`` or ``VOID``.
    conditions : tuple of str
        What it rests on, or why it is VOID.
    """

    mechanism: str
    theorem: str
    calibration: str
    epsilon: float
    delta: float
    delta_numerical: float
    relation: str
    privacy_unit: str
    rows_per_unit: int
    loss: str
    row_norm: float
    row_maximum: float
    label_bound: float
    lipschitz: float
    smoothness: float
    domain: str
    noise_law: str
    noise_scales: tuple[float, ...]
    settings: tuple[tuple[str, float], ...]
    schema_digest: str
    n_rows: int | None
    release_grid: float
    versions: tuple[tuple[str, str], ...]
    guarantee: str
    conditions: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types; an infinite constant or epsilon becomes None."""
        record = {field.name: getattr(self, field.name) for field in fields(self)}
        record["noise_scales"] = list(self.noise_scales)
        record["conditions"] = list(self.conditions)
        record["settings"], record["versions"] = dict(self.settings), dict(self.versions)
        record["epsilon"] = self.epsilon if np.isfinite(self.epsilon) else None
        record["smoothness"] = self.smoothness if np.isfinite(self.smoothness) else None
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> ConvexReceipt:
        """Return the receipt that :meth:`to_dict` wrote.

        Raises
        ------
        ValueError
            If a field is missing, unknown, or of the wrong type.
        """
        if not isinstance(record, Mapping) or set(record) != {f.name for f in fields(cls)}:
            raise ValueError("a receipt must have exactly the fields of this version.")
        values = dict(record)
        try:
            values["smoothness"] = (
                math.inf if record["smoothness"] is None else values["smoothness"]
            )
            values["noise_scales"] = tuple(_amount(scale) for scale in record["noise_scales"])
            values["settings"] = tuple((str(k), _amount(v)) for k, v in record["settings"].items())
            values["versions"] = tuple((str(k), str(v)) for k, v in record["versions"].items())
            values["conditions"] = tuple(str(text) for text in record["conditions"])
            _promise(values)
            Guarantee(record["guarantee"])
            CalibrationStatus(record["calibration"])
            NeighboringRelation(record["relation"])
            for name in _AMOUNTS:
                _amount(record[name])
            for name in ("rows_per_unit", "n_rows"):
                _count(record[name], optional=name == "n_rows")
        except (TypeError, AttributeError, CalibrationError) as error:
            raise ValueError("a receipt field has the wrong type or range.") from error
        if not all(isinstance(record[name], str) for name in _TEXTS):
            raise ValueError("a receipt's words must be text.")
        return cls(**values)

    def __str__(self) -> str:
        """Return the receipt as lines that a reviewer can check one by one."""
        relation = self.relation.replace("_", "-")
        rows = "not public" if self.n_rows is None else f"{self.n_rows:,} (public)"
        several = "" if self.rows_per_unit == 1 else f", at most {self.rows_per_unit} rows"
        scales = ", ".join(f"{scale:.6g}" for scale in sorted(set(self.noise_scales)))
        lines = [
            ("guarantee", self.guarantee),
            *(("  condition", condition) for condition in self.conditions),
            ("epsilon", f"{self.epsilon:g}"),
            ("delta", f"{self.delta:g} (+ {self.delta_numerical:.1e} numerical)"),
            ("neighbours", f"{relation}, privacy unit: {self.privacy_unit}{several}"),
            ("mechanism", self.mechanism),
            ("theorem", f"{self.theorem} [{self.calibration}]"),
            ("loss", f"{self.loss}, Lipschitz {self.lipschitz:.6g}"),
            ("row bounds", f"|x|_2 <= {self.row_norm:.6g}, |x|_inf <= {self.row_maximum:.6g}"),
            ("domain", self.domain),
            ("noise", f"{self.noise_law}; scale {scales}"),
            ("settings", ", ".join(f"{name} {value:.6g}" for name, value in self.settings)),
            ("rows", rows),
            ("schema", f"sha256 {self.schema_digest[:16]}" if self.schema_digest else "none"),
            ("versions", ", ".join(f"{name} {number}" for name, number in self.versions)),
            ("not covered", "running time; anything published besides this model"),
        ]
        return "\n".join(f"{name + ':':<20}{text}" for name, text in lines)


_AMOUNTS = (
    *("delta_numerical", "row_norm", "row_maximum", "label_bound", "lipschitz", "release_grid"),
)
_TEXTS = (
    *("mechanism", "theorem", "privacy_unit", "loss", "domain", "noise_law", "schema_digest"),
)


def _promise(values: dict[str, Any]) -> None:
    """Check epsilon and delta; without an epsilon nothing is promised."""
    if values["epsilon"] is None and values["guarantee"] == Guarantee.VOID.value:
        values["epsilon"] = NoPrivacy(delta=values["delta"]).epsilon
    else:
        PrivacyParams(epsilon=values["epsilon"], delta=values["delta"])


def _amount(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError("a receipt's amounts must be finite and not negative.")
    return float(value)


def _count(value: Any, *, optional: bool) -> None:
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("a receipt's counts must be whole numbers.")
