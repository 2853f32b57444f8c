"""What the calibration of OPSamp takes and what it decides: public inputs only."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from opdisc.errors import CalibrationError
from opdisc.mechanisms.base import NoiseSpec
from opdisc.opsamp_calibration import TiltLaw
from opdisc.opsamp_spaces import SearchSpace
from opdisc.privacy import NeighboringRelation, PrivacyParams


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledPublic:
    """Everything the noise of OPSamp may depend on besides the mechanism itself.

    Parameters
    ----------
    params : PrivacyParams
        The target; delta must be positive.
    relation : NeighboringRelation
        Which tables are neighbours.
    planned_rows : int
        Number of rows the noise is tuned for: the public number of rows under replace-one, a
        public guess otherwise. It affects accuracy only.
    n_rows : int or None
        Number of rows where it is public.
    rows_per_unit : int
        Public maximum of rows that one privacy unit contributes.
    privacy_unit : str
        What one neighbour changes, in words.
    schema_digest : str
        Identifies the public schema, if there is one.
    assumptions : tuple of str
        What the caller takes to be public; each becomes a condition.
    """

    params: PrivacyParams
    relation: NeighboringRelation
    planned_rows: int
    n_rows: int | None = None
    rows_per_unit: int = 1
    privacy_unit: str = "one row"
    schema_digest: str = ""
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a public n under a relation that hides it, and impossible counts."""
        for name in ("planned_rows", "rows_per_unit"):
            if getattr(self, name) < 1:
                raise CalibrationError(f"{name} must be >= 1, got {getattr(self, name)}.")
        if self.n_rows is not None and self.relation is not NeighboringRelation.REPLACE_ONE:
            raise CalibrationError("the number of rows is public under replace_one only.")

    @property
    def sensitivity(self) -> int:
        """Row losses in which neighbours can differ."""
        return self.relation.loss_sensitivity * self.rows_per_unit


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledSpec(NoiseSpec):
    """What the calibration of OPSamp decided.

    Parameters
    ----------
    space : SearchSpace
        Where the minimisers live.
    draws : int
        m, number of tilted minimisers that are averaged.
    tilts : str
        Their law, "exponential" or "uniform"; the scale is ``scales[0]``.
    tilt_step : float
        Lattice spacing of the tilts, objective units per parameter unit.
    stability : float
        S in parameter units: bound on the mean l1 distance between neighbours' minimisers.
    l1_sensitivity : float
        What the release noise covers, in parameter units, before rounding.
    release_decay : Fraction
        Decay of the release noise, nats per lattice step.
    expected_error : float
        Bound on the mean excess loss for a convex loss and ``planned_rows`` rows, rows.
    """

    space: SearchSpace
    draws: int
    tilts: TiltLaw
    tilt_step: float
    stability: float
    l1_sensitivity: float
    release_decay: Fraction
    expected_error: float

    @property
    def tilt_decay(self) -> Fraction:
        """Decay of exponential tilts per lattice step."""
        return Fraction(self.tilt_step) / Fraction(self.scales[0])
