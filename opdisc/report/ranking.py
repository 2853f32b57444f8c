"""The best private method at each epsilon, and whether its lead can be told from chance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from opdisc.report.cells import Evaluation, ResultCell, majority_metric, optimum_metric
from opdisc.report.intervals import LEVEL, Interval, mean_interval

_FEWEST_REPEATS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """The leader's accuracy minus another method's, over the same repeats; shares of rows.

    Parameters
    ----------
    other : ResultCell
        The method that is behind.
    difference : Interval
        At 95%, over random splits and noise on this table.
    strict : Interval
        At a level that allows for all comparisons of the report.
    cautious : Interval
        At 95%, for other tables of this kind: corrected for overlapping splits.
    below_majority : bool
        Whether the leader is no more accurate than the majority class: leads then count nothing.
    """

    other: ResultCell
    difference: Interval
    strict: Interval
    cautious: Interval
    below_majority: bool = False

    @property
    def clear(self) -> bool:
        """Whether it is above 0 with allowance for all comparisons of the report."""
        return not self.below_majority and self.strict.known and self.strict.low > 0

    @property
    def clear_elsewhere(self) -> bool:
        """Whether it is clear, and above 0 with the correction for overlapping splits."""
        return self.clear and self.cautious.low > 0

    @property
    def likely(self) -> bool:
        """Whether it is above 0 at 95%, taken by itself."""
        return self.difference.known and self.difference.low > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The private methods at one epsilon.

    Parameters
    ----------
    epsilon : float
        The privacy loss.
    leader : ResultCell
        Highest mean accuracy over the common repeats.
    accuracy : Interval
        Its accuracy there, a share of rows.
    leads : tuple of Lead
        Over every other candidate, the closest mean first.
    loss : Interval
        Accuracy of the non-private optimum minus the leader's, a share of rows; n = 0 if not
        known.
    gain : Interval
        The leader's accuracy minus that of the majority class, a share of rows, at 95%; n = 0 if
        not known.
    majority : float
        Mean accuracy of the majority class over the same repeats; NaN if not known.
    repeats : int
        Common repeats.
    left_out : tuple of (ResultCell, str)
        Private methods that were not ranked, and why.
    """

    epsilon: float
    leader: ResultCell
    accuracy: Interval
    leads: tuple[Lead, ...]
    loss: Interval
    gain: Interval
    majority: float
    repeats: int
    left_out: tuple[tuple[ResultCell, str], ...]

    @property
    def tied(self) -> tuple[Lead, ...]:
        """Candidates that the leader cannot be told from."""
        return tuple(lead for lead in self.leads if not lead.clear)

    @property
    def rival(self) -> Lead | None:
        """The best candidate of another family."""
        family = self.leader.series.family
        return next((lead for lead in self.leads if lead.other.series.family != family), None)

    @property
    def holding(self) -> ResultCell | None:
        """The best candidate whose guarantee HOLDS; None if there is none."""
        cells = (self.leader, *(lead.other for lead in self.leads))
        return next((cell for cell in cells if cell.guarantee == "HOLDS"), None)


def rank(evaluation: Evaluation, cells: tuple[ResultCell, ...]) -> tuple[Ranking, ...]:
    """Rank the private methods at each epsilon.

    Parameters
    ----------
    evaluation : Evaluation
        The view that ranks.
    cells : tuple of ResultCell
        Its methods.

    Returns
    -------
    tuple of Ranking
        One for each epsilon at which a method can be ranked.

    Notes
    -----
    Candidates are private, tuned without a look at the private rows (or privately), have a
    guarantee that is not VOID, and no failed run at this epsilon; all are compared over the
    repeats that each of them has. The leader's difference to each other of the m candidates has a
    paired t interval. A lead is clear if the interval of level 1 - 0.05 / (E m (m - 1) / 2) is
    above 0, E being the number of epsilons; never if the leader is no more accurate than the
    majority class. By the union bound, the intervals of that level of all
    pairs at all epsilons cover together with probability at least 0.95, and so do those of
    whichever methods lead, as far as t intervals are accurate.
    """
    epsilons = [e for e in evaluation.epsilons if any(_candidates(evaluation, cells, e)[0])]
    ranked = (_rank_at(evaluation, cells, e, len(epsilons)) for e in epsilons)
    return tuple(ranking for ranking in ranked if ranking is not None)


def _candidates(
    evaluation: Evaluation, cells: tuple[ResultCell, ...], epsilon: float
) -> tuple[list[ResultCell], list[tuple[ResultCell, str]]]:
    kept, left = [], []
    for cell in cells:
        if cell.epsilon != epsilon or not cell.series.private:
            continue
        reason = _exclusion(cell, evaluation.metric)
        if reason:
            left.append((cell, reason))
        else:
            kept.append(cell)
    return kept, left


def _exclusion(cell: ResultCell, metric: str) -> str:
    failures = cell.failed + cell.limited
    if cell.series.tuning == "non-private":
        return "tuned on the private rows"
    if failures:
        return f"{failures} of {cell.ok + failures} runs failed or hit the time limit"
    if cell.guarantee not in ("HOLDS", "CONDITIONAL"):
        return f"guarantee {cell.guarantee}"
    if metric not in cell.metrics:
        return "no accuracy recorded"
    return ""


def _rank_at(
    evaluation: Evaluation, cells: tuple[ResultCell, ...], epsilon: float, n_epsilons: int
) -> Ranking | None:
    candidates, left_out = _candidates(evaluation, cells, epsilon)
    table = _accuracies(evaluation, candidates, epsilon)
    while len(table.columns) > 1 and len(table.dropna()) < _FEWEST_REPEATS:
        shortest = int(str(table.notna().sum().idxmin()))
        table = table.drop(columns=shortest)
        cell = next(c for c in candidates if c.series.index == shortest)
        left_out.append((cell, "too few repeats so far"))
    candidates = [cell for cell in candidates if cell.series.index in table.columns]
    common = table.dropna()
    if not len(common):
        return None
    means = common.mean()
    order = sorted(candidates, key=lambda cell: -means[cell.series.index])
    leader, others = order[0], order[1:]
    own = common[leader.series.index]
    pairs = max(1, len(candidates) * len(others) // 2)
    level = 1 - (1 - LEVEL) / (n_epsilons * pairs)
    majority = majority_metric(evaluation).reindex(common.index).dropna()
    gain = mean_interval((own - majority).dropna().to_numpy())
    leads = tuple(
        _lead(
            cell,
            own - common[cell.series.index],
            level,
            evaluation.overlap,
            below_majority=gain.n > 0 and gain.mean <= 0,
        )
        for cell in others
    )
    loss = (optimum_metric(evaluation) - own).dropna()
    return Ranking(
        epsilon=epsilon,
        leader=leader,
        accuracy=mean_interval(own.to_numpy()),
        leads=leads,
        loss=mean_interval(loss.to_numpy()),
        gain=gain,
        majority=float(majority.mean()) if len(majority) else math.nan,
        repeats=len(common),
        left_out=tuple(left_out),
    )


def _lead(
    cell: ResultCell,
    differences: pd.Series,
    level: float,
    overlap: float,
    *,
    below_majority: bool,
) -> Lead:
    values = differences.to_numpy()
    return Lead(
        other=cell,
        difference=mean_interval(values),
        strict=mean_interval(values, level=level),
        cautious=mean_interval(values, overlap=overlap),
        below_majority=below_majority,
    )


def _accuracies(
    evaluation: Evaluation, candidates: list[ResultCell], epsilon: float
) -> pd.DataFrame:
    """Return accuracies by repeat (rows) and series (columns), NaN where there is none yet."""
    runs = evaluation.runs
    chosen = runs[(runs["epsilon"] == epsilon) & (runs["status"] == "ok")]
    wide = chosen.pivot_table(index="repeat", columns="series", values=evaluation.metric)
    return wide.reindex(columns=[cell.series.index for cell in candidates])
