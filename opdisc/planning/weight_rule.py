"""How large the points may get: ``weight_bound="auto"``, decided from public facts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from opdisc.errors import CalibrationError
from opdisc.mechanisms import (
    ExponentialMechanism,
    Mechanism,
    NeededBound,
    ScorecardMechanism,
    is_listed,
)
from opdisc.planning.choice import BeyondReach
from opdisc.planning.request import CardRequest
from opdisc.planning.utility import predict_error
from opdisc.planning.work import ends_soon, predict_draw
from opdisc.privacy import GridPublic, PrivacyParams, PublicInputs, Reason
from opdisc.tuned import AFFORDABLE_GROWTH, FIT_SECONDS, LARGEST_AUTOMATIC_BOUND, LARGEST_SHIFT
from oracles.errors import UnsupportedProblem
from oracles.problem import WeightGrid
from oracles.sampling import is_sparse


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledFit:
    """What will run, decided from public facts.

    Parameters
    ----------
    bound : int
        Points are in ``-bound .. bound``.
    public : GridPublic
        With the grid that belongs to the bound.
    mechanism : ScorecardMechanism
        What draws or perturbs.
    reason : Reason
        Why, for what was chosen automatically; empty if nothing was.
    """

    bound: int
    public: GridPublic
    mechanism: ScorecardMechanism
    reason: Reason

    def explained(self, why: Reason) -> SettledFit:
        """Return the same with one more reason."""
        return replace(self, reason=self.reason.and_also(why))

    def without_spare_delta(self) -> SettledFit:
        """Return the same with delta 0 where the mechanism is pure, saying so."""
        params = self.public.params
        if params.delta == 0 or self.mechanism.uses_delta:
            return self
        pure = replace(self.public, params=PrivacyParams(epsilon=params.epsilon, delta=0.0))
        return replace(self, public=pure).explained(
            Reason(
                "this method needs no delta and spends none",
                f"delta {params.delta:g} is not used and not spent, for this mechanism is pure",
            )
        )


def settle_fit(request: CardRequest, public: PublicInputs) -> SettledFit:
    """Return what to run with a given bound, or with the largest bound that costs little.

    Parameters
    ----------
    request : CardRequest
        What is asked of the card.
    public : PublicInputs
        Public facts, with the card's share of epsilon.

    Notes
    -----
    **Guarantee.** A function of public facts. **Rule.** The largest of ``-1..1`` to ``-5..5``
    whose predicted mean error exceeds that of ``-1..1`` by at most ``AFFORDABLE_GROWTH`` of the
    rows (docs/utility.md gives the measurements behind it). A public guess takes the place of a
    number of rows that is not public. Without either, or where an oracle has to search,
    ``-1..1``; larger ones only where all combinations are listed, or few enough for
    permute-and-flip by A* sampling. There the start reaches one further up than down, so that the
    card that gives every row the other answer is in the grid too: a score of s is one of 1 - s.
    """
    if request.around is not None:
        return _settled(request, public, LARGEST_SHIFT)
    least = _within_reach(request, public, 1 if request.bound is None else request.bound)
    if request.bound is not None:
        return least
    rows = least.public.typical_loss
    if not rows:
        return _with_opposites(least, request).explained(
            Reason(
                "points -1 to 1: larger ones need a public number of rows to be judged by",
                "weights -1..1, because larger ones need a public number of rows to be judged by, "
                "or a public guess of it",
            )
        )
    needed = least.mechanism.needed_bound(least.public)
    if needed is not None:
        return _as_needed(least, needed, request, public)
    chosen, grown = least, 0.0
    too_much: dict[int, str] = {}
    base = mean_error(least.mechanism, least.public)
    for candidate in range(2, LARGEST_AUTOMATIC_BOUND + 1):
        try:
            larger = _settled(request, public, candidate)
            growth = mean_error(larger.mechanism, larger.public) - base
        except (CalibrationError, UnsupportedProblem):
            too_much[candidate] = "time"
            continue
        too_much[candidate] = "accuracy" if growth > AFFORDABLE_GROWTH * rows else "time"
        if growth <= AFFORDABLE_GROWTH * rows and _is_surely_short(larger):
            chosen, grown = larger, growth
    largest = LARGEST_AUTOMATIC_BOUND
    brief = f"points -{chosen.bound} to {chosen.bound}"
    if chosen.bound < largest:
        brief += f": larger points would cost too much {too_much[chosen.bound + 1]}"
    return _with_opposites(chosen, request).explained(
        Reason(
            brief,
            f"weights -{chosen.bound}..{chosen.bound}, the largest up to -{largest}..{largest} "
            f"that raise the predicted mean error over -1..1 by at most {AFFORDABLE_GROWTH:.0%} "
            f"of the rows{_which_rows(chosen.public)} (by {float(grown / rows):.1%})",
        )
    )


def _which_rows(public: GridPublic) -> str:
    """Return which rows a share is of, where they are guessed or cost differently."""
    guessed = "" if public.n_rows is not None else f", guessed to be {public.typical_rows:,},"
    return guessed + ("" if public.error_costs.are_equal else " at their typical cost")


def _as_needed(
    least: SettledFit, needed: NeededBound, request: CardRequest, public: PublicInputs
) -> SettledFit:
    """Return a draw with the bound that it has use for; asked again where there is room for it."""
    found = least
    if needed.bound != found.bound:
        found = _settled(request, public, needed.bound)
        needed = found.mechanism.needed_bound(found.public) or needed
    if needed.bound != found.bound:
        found = _settled(request, public, needed.bound)
    bound, why = needed.bound, needed.why
    return found.explained(
        Reason(
            f"points -{bound} to {bound}: {why}",
            f"weights -{bound}..{bound}, {needed.detail or why}",
        )
    )


def _with_opposites(settled: SettledFit, request: CardRequest) -> SettledFit:
    """Return the same with one more start, where cards are listed or searched through."""
    grid = settled.public.grid
    starts = grid.values[0]
    if not _is_surely_short(settled) or grid.norm_budget is not None or starts[-1] != -starts[0]:
        return settled
    even = replace(grid, values=((*starts, starts[-1] + 1), *grid.values[1:]))
    try:
        wider = _built(request, replace(settled.public, grid=even), settled.bound)
    except (CalibrationError, UnsupportedProblem):
        return settled
    if wider.mechanism.name != settled.mechanism.name or not _is_surely_short(wider):
        return settled
    return wider.explained(
        Reason(
            detail=f"a start of {even.values[0][0]}..{even.values[0][-1]}, so that it makes no "
            "difference which answer is called positive",
        )
    )


def _is_surely_short(settled: SettledFit) -> bool:
    """Return whether the time hardly depends on the rows: nobody asked for larger points."""
    mechanism, public = settled.mechanism, settled.public
    return mechanism.needed_bound(public) is None and (
        is_listed(public.grid) or predict_draw(mechanism, public) is not None
    )


def is_short(settled: SettledFit) -> bool:
    """Return False where A* sampling may take very long."""
    mechanism, public = settled.mechanism, settled.public
    return (
        predict_draw(mechanism, public) is not None or mechanism.needed_bound(public) is not None
    )


def mean_error(mechanism: Mechanism, public: GridPublic) -> float:
    """Return the predicted bound on the mean excess loss, rows, not capped by their number."""
    found = mechanism.calibrate(public).expected_excess(public.grid)
    if found is not None:
        return found
    # With the number of rows the prediction would be capped, and growth would vanish.
    return predict_error(mechanism, replace(public, n_rows=None)).mean


def _settled(request: CardRequest, public: PublicInputs, bound: int) -> SettledFit:
    return _built(request, request.on_grid(public, bound), bound)


def _built(request: CardRequest, public: GridPublic, bound: int) -> SettledFit:
    mechanism, reason = request.build(public)
    return SettledFit(bound=bound, public=public, mechanism=mechanism, reason=reason)


def _within_reach(request: CardRequest, public: PublicInputs, bound: int) -> SettledFit:
    """Settle on a bound; where nothing ends soon, on the sparse scorecards that can be listed."""
    facts = request.on_grid(public, bound)
    try:
        return _built(request, facts, bound)
    except BeyondReach:
        sparse = _sparsest(facts)
        if sparse is None:
            raise
    found = _built(request, replace(facts, grid=sparse), bound)
    what = "weights other than 0" if bound == 1 else "as the squared norm of the weights"
    return found.explained(
        Reason(
            "few points other than 0: all cards would be too many",
            f"at most {sparse.norm_budget} {what}, because no accurate mechanism is expected to "
            "end soon on all combinations",
        )
    )


def _sparsest(public: GridPublic) -> WeightGrid | None:
    """Return the grid of the most nonzero weights that are listed in time; None below two.

    In time means within 60 s as predicted; two weights other than 0 take as long as they take.
    """
    found, grid = None, public.grid
    if grid.is_box:
        for budget in range(2, grid.n_features):
            smaller = WeightGrid(values=grid.values, norm_budget=budget)
            if not is_sparse(smaller):
                break
            work = predict_draw(ExponentialMechanism(), replace(public, grid=smaller))
            if found is not None and not ends_soon(work, FIT_SECONDS):
                break
            found = smaller
    return found
