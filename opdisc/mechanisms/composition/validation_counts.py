"""One table of counts, by total and label, with exact noise: all that a validation releases."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from opdisc.mechanisms import NoiseSpec
from opdisc.models.validation import ValidationReceipt
from opdisc.noise import check_noise_fits, geometric_total_variation, largest_geometric
from opdisc.privacy import CalibrationStatus, EntropySource, PublicInputs, common_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationSpec(NoiseSpec):
    """Calibrated noise of every count. A function of public inputs only.

    Parameters
    ----------
    rate : Fraction
        The noise k has probability proportional to ``exp(-rate |k|)``.
    sensitivity : int
        How far neighbouring tables are apart in the sum of all counts' differences, rows.
    cells : int
        How many counts.
    """

    rate: Fraction
    sensitivity: int
    cells: int


def noise_rate(public: PublicInputs) -> Fraction:
    """Return the decay of the noise on each count, per row."""
    return Fraction(public.params.epsilon) / public.changed_rows


def calibrate_validation(public: PublicInputs, n_groups: int) -> ValidationSpec:
    """Return the noise of the rows of each label in each group of totals.

    Parameters
    ----------
    public : PublicInputs
        The promise and the neighbours; delta is not used.
    n_groups : int
        Groups of totals, at least 1.

    Raises
    ------
    CalibrationError
        If epsilon is so small that the noise has no room.
    """
    rate, cells = noise_rate(public), 2 * n_groups
    most = float(cells * largest_geometric(rate))
    check_noise_fits(most)
    return ValidationSpec(
        law=f"discrete Laplace on each of {cells} counts",
        scales=(float(1 / rate),),
        theorem="counts of disjoint rows with Laplace noise (docs/theory.md, validation)",
        status=CalibrationStatus.PROVEN,
        allowance=0.0,
        total_variation=geometric_total_variation(rate, 2 * cells),
        spacing=1.0,
        most_steps=most,
        rate=rate,
        sensitivity=public.changed_rows,
        cells=cells,
    )


def validation_receipt(
    spec: ValidationSpec, public: PublicInputs, entropy: EntropySource, card: str
) -> ValidationReceipt:
    """Return the privacy statement of a validation that has not happened yet."""
    return ValidationReceipt(
        **common_fields("validation", spec, public, entropy),
        card=card,
        sensitivity=spec.sensitivity,
        counts=spec.cells,
    )
