"""Noisy tables of label by attribute: what naive Bayes asks of the rows.

Every row adds 1 to one cell of each table, so the tables share epsilon equally (docs/theory.md,
attribute-tables).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from opdisc.mechanisms.base import NoiseSpec
from opdisc.mechanisms.composition.risks import noisy_counts
from opdisc.noise import check_noise_fits, geometric_total_variation, largest_geometric
from opdisc.privacy import (
    CalibrationStatus,
    EntropySource,
    PrivacyReceipt,
    PublicInputs,
    common_fields,
)
from oracles.arithmetic import IntArray

Shapes = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesSpec(NoiseSpec):
    """Calibrated noise of every cell. A function of public inputs only.

    Parameters
    ----------
    rate : Fraction
        The noise k has probability proportional to ``exp(-rate |k|)``.
    shapes : tuple of (int, int)
        Labels and values of each table.
    """

    rate: Fraction
    shapes: Shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesRelease:
    """Tables of counts with noise, and their receipt.

    Parameters
    ----------
    tables : tuple of int64 arrays
        Cells may be below 0.
    receipt : PrivacyReceipt
        The privacy statement.
    """

    tables: tuple[IntArray, ...]
    receipt: PrivacyReceipt


def calibrate_tables(public: PublicInputs, shapes: Shapes) -> TablesSpec:
    """Return the noise of each cell where every row is counted once in each table.

    Parameters
    ----------
    public : PublicInputs
        The promise and the neighbours.
    shapes : tuple of (int, int)
        Labels and values of each table, at least one table.

    Raises
    ------
    CalibrationError
        If epsilon is so small that the noise has no room.
    """
    rate = Fraction(public.params.epsilon) / (public.changed_rows * len(shapes))
    cells = sum(labels * values for labels, values in shapes)
    most = float(cells * largest_geometric(rate))
    check_noise_fits(most)
    return TablesSpec(
        law=f"discrete Laplace on each of {cells} counts in {len(shapes)} tables, an equal share "
        "of epsilon each",
        scales=(float(1 / rate),),
        theorem="counts with Laplace noise and basic composition (docs/theory.md, "
        "attribute-tables)",
        status=CalibrationStatus.PROVEN,
        allowance=0.0,
        total_variation=geometric_total_variation(rate, 2 * cells),
        spacing=1.0,
        most_steps=most,
        rate=rate,
        shapes=shapes,
    )


def noisy_tables(
    tables: Sequence[IntArray], spec: TablesSpec, entropy: EntropySource
) -> tuple[IntArray, ...]:
    """Return every table with independent noise on each cell, the empty ones included."""
    assert tuple(table.shape for table in tables) == spec.shapes
    return tuple(noisy_counts(table, spec.rate, entropy) for table in tables)


def release_tables(
    name: str, tables: Sequence[IntArray], public: PublicInputs, entropy: EntropySource
) -> TablesRelease:
    """Release tables in each of which a row is counted at most once.

    Parameters
    ----------
    name : str
        Name on the receipt.
    tables : sequence of int64 arrays of shape (labels, values)
        Their shapes are public.
    public : PublicInputs
        The promise and the neighbours; delta is not used.
    entropy : EntropySource
        Random bits.

    Notes
    -----
    **Guarantee.** As stated on the receipt; docs/theory.md, entry "attribute-tables".
    """
    spec = calibrate_tables(public, tuple((table.shape[0], table.shape[1]) for table in tables))
    receipt = PrivacyReceipt(**common_fields(name, spec, public, entropy))
    return TablesRelease(tables=noisy_tables(tables, spec, entropy), receipt=receipt)
