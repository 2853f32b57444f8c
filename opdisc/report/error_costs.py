"""What mistakes cost, where they do not all cost the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opdisc.report.cells import Evaluation, ResultCell
from opdisc.report.formats import UNKNOWN, joined

_CONSTANT = "majority"


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """What costs least at one epsilon, as text.

    Parameters
    ----------
    epsilon : str
        The privacy loss.
    titles : str
        The private method whose mistakes cost least on average, or several.
    cost : str
        What they cost a row.
    constant : str
        What the same answer for everyone costs a row; a dash where it was not run.
    beats : bool
        Whether the cost is below that.
    """

    epsilon: str
    titles: str
    cost: str
    constant: str
    beats: bool


def cost_column(evaluation: Evaluation) -> str | None:
    """Return the column of the mean cost of a row, None where every mistake costs the same."""
    column = "test_cost" if evaluation.name == "held-out" else "train_cost"
    return column if evaluation.runs[column].notna().any() else None


def cost_lines(evaluation: Evaluation, cells: Sequence[ResultCell]) -> list[CostLine]:
    """Return which private method costs least at each epsilon; none where mistakes cost alike."""
    column = cost_column(evaluation)
    if column is None:
        return []
    known = [cell for cell in cells if column in cell.metrics]
    constant = next((c.metrics[column].mean for c in known if c.series.method == _CONSTANT), None)
    lines = []
    for epsilon in evaluation.epsilons:
        private = [cell for cell in known if cell.series.private and cell.epsilon == epsilon]
        if not private:
            continue
        least = min(cell.metrics[column].mean for cell in private)
        titles = [c.series.title for c in private if c.metrics[column].mean == least]
        lines.append(
            CostLine(
                epsilon=f"{epsilon:g}",
                titles=joined(titles),
                cost=f"{least:.3f}",
                constant=UNKNOWN if constant is None else f"{constant:.3f}",
                beats=constant is not None and least < constant,
            )
        )
    return lines
