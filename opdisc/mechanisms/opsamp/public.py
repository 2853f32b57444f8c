"""What the calibration of OPSamp decides, from public inputs only."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from opdisc.mechanisms.base import NoiseSpec
from opdisc.mechanisms.opsamp.calibration import TiltLaw
from opdisc.mechanisms.opsamp.parameter_space import SearchSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class OPSampSpec(NoiseSpec):
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
        Bound on the mean excess loss for a convex loss and the planned number of rows, rows.
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
