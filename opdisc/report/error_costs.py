"""What mistakes cost, where they do not all cost the same."""

from __future__ import annotations

from collections.abc import Sequence

from opdisc.report.analysis import Evaluation, ResultCell
from opdisc.report.formats import joined

_CONSTANT = "majority"


def cost_column(evaluation: Evaluation) -> str | None:
    """Return the column of the mean cost of a row, None where every mistake costs the same."""
    column = "test_cost" if evaluation.name == "held-out" else "train_cost"
    return column if evaluation.runs[column].notna().any() else None


def cost_sentences(evaluation: Evaluation, cells: Sequence[ResultCell]) -> tuple[str, ...]:
    """Return which private method costs least at each epsilon, and whether that beats a constant.

    Empty where every mistake costs the same.
    """
    column = cost_column(evaluation)
    if column is None:
        return ()
    known = [cell for cell in cells if column in cell.metrics]
    constant = [c.metrics[column].mean for c in known if c.series.method == _CONSTANT]
    sentences = []
    for epsilon in evaluation.epsilons:
        ranked = sorted(
            (cell for cell in known if cell.series.private and cell.epsilon == epsilon),
            key=lambda cell: cell.metrics[column].mean,
        )
        if not ranked:
            continue
        least = ranked[0].metrics[column].mean
        titles = [f"“{c.series.title}”" for c in ranked if c.metrics[column].mean == least]
        beside = ""
        if constant:
            beats = "less than" if least < constant[0] else "no less than"
            beside = f", {beats} the same answer for everyone ({constant[0]:.3f})"
        sentences.append(
            f"At ε = {epsilon:g} {joined(titles)} costs least on average, {least:.3f} a row"
            f"{beside}."
        )
    sentences.append(
        "What follows ranks by accuracy, for which every mistake counts the same. The column "
        "“cost” of all numbers has the cost of a row. Regret is in units of cost."
    )
    return tuple(sentences)
