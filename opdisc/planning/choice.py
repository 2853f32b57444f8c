"""Mechanisms by name, and the automatic choice, from public facts only."""

from __future__ import annotations

import math

from opdisc.arguments import check_choice
from opdisc.errors import CalibrationError, large_number
from opdisc.mechanisms import (
    AStarPermuteAndFlipMechanism,
    BaseMeasure,
    ExponentialMechanism,
    PermuteAndFlipMechanism,
    PlannedMechanism,
    ScorecardMechanism as ScorecardMechanism,
    can_flip_by_a_star,
    is_searched,
)
from opdisc.planning.named import (
    NAMED,
    MechanismSettings,
    check_alternatives,
    check_uniform,
    staged_mechanism,
)
from opdisc.planning.work import ends_soon, predict_draw
from opdisc.privacy import GridPublic, Reason, count_in_words
from opdisc.tuned import BLOCK_ASSIGNMENTS, FIT_SECONDS, STUMP_WEIGHT
from oracles.problem import ENUMERATION_LIMIT, ColumnGroup, ErrorCosts, WeightGrid
from oracles.sampling import MOST_LEVELS, is_sparse

MECHANISMS = ("auto", *NAMED)

LOGISTIC = "logistic"
"""The mechanism of a card that rounds the weights of hull noise, in no grid's terms."""


def check_option(option: str, mechanism: str) -> None:
    """Refuse an option that the mechanism of a name does not take; "auto" may choose for it.

    Raises
    ------
    CalibrationError
        With the names of the mechanisms that take it.
    """
    takers = [name for name, named in NAMED.items() if named.takes(option)]
    # Noise is the sphere's own: nothing that "auto" chooses has a choice of noise.
    allowed = takers if option == "noise" else ["auto", *takers]
    if mechanism not in allowed:
        listed = ", ".join(f"'{name}'" for name in takers)
        raise CalibrationError(
            f"{option} applies to mechanism={listed} only, got '{mechanism}'; drop it or name one "
            "that takes it."
        )


class BeyondReach(CalibrationError):
    """No mechanism is expected to end soon on a grid; a smaller grid may do."""


def build_mechanism(
    name: str,
    grid: WeightGrid,
    *,
    public: GridPublic | None = None,
    settings: MechanismSettings | None = None,
    structure: tuple[ColumnGroup, ...] = (),
) -> tuple[ScorecardMechanism, Reason]:
    """Return a mechanism and, if it was chosen automatically, the reason.

    Parameters
    ----------
    name : str
        One of :data:`MECHANISMS`.
    grid : WeightGrid
        The hypotheses.
    public : GridPublic or None
        The budget and the number of rows, where ``"auto"`` and the blocks of ``"block_one_hot"``
        shall heed them; its grid must be ``grid``.
    settings : MechanismSettings or None
        What else the mechanism needs.
    structure : tuple of ColumnGroup
        Short for settings that hold nothing else.

    Raises
    ------
    CalibrationError
        If the name is unknown, or the mechanism cannot run on the grid.
    """
    settings = settings or MechanismSettings(structure=structure)
    if grid.alternatives and (name == "auto" or name in NAMED):
        check_alternatives(name, settings)
    if name == "auto":
        chosen, reason = choose_mechanism(
            grid,
            settings.structure,
            public,
            minimise=settings.minimise,
            base_measure=settings.base_measure,
            patience=settings.patience,
        )
        return build_mechanism(chosen, grid, public=public, settings=settings)[0], reason
    check_choice("mechanism", name, ("auto", *NAMED))
    if not NAMED[name].takes("base_measure"):
        check_uniform(settings.base_measure or BaseMeasure(), f"mechanism='{name}'")
    return NAMED[name].build(grid, settings, public), Reason()


def choose_mechanism(
    grid: WeightGrid,
    structure: tuple[ColumnGroup, ...] = (),
    public: GridPublic | None = None,
    *,
    minimise: bool = False,
    base_measure: BaseMeasure | None = None,
    patience: float = FIT_SECONDS,
) -> tuple[str, Reason]:
    """Return the name of the most accurate mechanism that ends soon on a grid, and why.

    Parameters
    ----------
    grid : WeightGrid
        The hypotheses.
    structure : tuple of ColumnGroup
        Facts about the columns.
    public : GridPublic or None
        Budget and number of rows; without them only sizes are compared.
    minimise : bool
        Whether an oracle was named, which leaves the exponential mechanism out.
    base_measure : BaseMeasure or None
        A product that is not uniform leaves the exponential mechanism only.
    patience : float
        Seconds. With public inputs, draws that :func:`~opdisc.planning.predict_work` expects to
        take longer, or more than 2 GB, are passed over; few points always remain.

    Raises
    ------
    BeyondReach
        If the budget is given and no mechanism is expected to end soon and to leave the table
        any say; the message names the frontier.

    Notes
    -----
    **Guarantee.** A function of public facts. **Rule** (docs/utility.md). A stump where rows times
    epsilon are few; all cards where they can be tried (one block, or the exponential mechanism on
    lists); few points where they cannot. Stump and few points are both named ``"staged"``. The
    logistic card comes before (:func:`~opdisc.planning.prefers_logistic`). Blocks remain where
    the budget is not known.
    """
    size, cards = large_number(grid.n_hypotheses), count_in_words(grid.n_hypotheses)
    measure = base_measure or BaseMeasure()
    exponential = ExponentialMechanism(base_measure=measure)
    if minimise:
        check_uniform(measure, "a named oracle")
    staged = public is not None and not minimise and _takes_few_points(public, measure)

    def ends(mechanism: PlannedMechanism) -> bool:
        if public is None or not staged:
            return True  # nothing else would end sooner
        return ends_soon(predict_draw(mechanism, public, structure), patience)

    def because(brief: str, detail: str, mechanism: ScorecardMechanism) -> Reason:
        planned = "" if patience == FIT_SECONDS else f", planned for at most {patience:g} s"
        return Reason(brief, detail + planned + _predicted(mechanism, public))

    if staged:
        assert public is not None
        stages = staged_mechanism(
            MechanismSettings(structure=structure, base_measure=base_measure, patience=patience)
        )
        if base_measure is None and stages.calibrate(public).is_stump:
            return "staged", because(
                "rows and budget are so few that they only decide the answers to one statement, "
                "which coins choose",
                f"rows times epsilon are less than {STUMP_WEIGHT:g}, where a draw from many cards "
                "hardly heeds the rows, and a decision stump does",
                stages,
            )
    beyond = grid.n_assignments > ENUMERATION_LIMIT
    if not beyond and not measure.is_uniform:
        return (
            "exponential",
            Reason(
                detail="only the exponential mechanism has a base measure"
                + _predicted(exponential, public)
            ),
        )
    searched = not minimise and is_searched(grid, public)
    if not (beyond or searched) and ends(listed := PermuteAndFlipMechanism()):
        return "permute_and_flip", because(
            f"{cards} cards are few enough to try all",
            f"the grid's {size} weight combinations can all be listed, and one block errs least",
            listed,
        )
    if minimise:
        return (
            "block_one_hot",
            Reason(
                "you named a solver, so a method that uses one was chosen",
                f"the grid's {size} weight combinations are too many to list, and the exponential "
                "mechanism asks no oracle",
            ),
        )
    if (
        (searched or (beyond and can_flip_by_a_star(grid)))
        and measure.is_uniform
        and ends(search := AStarPermuteAndFlipMechanism())
    ):
        return "permute_and_flip", because(
            f"{cards} cards are few enough to search through",
            f"the grid's {size} weight combinations are few enough for a search that draws the "
            "noise where it goes, and one block errs least",
            search,
        )
    if is_sparse(grid) and ends(exponential):
        return "exponential", because(
            f"the limit on points leaves {cards} cards, few enough to try all",
            f"the budget leaves {size} weight combinations, which can all be looked at",
            exponential,
        )
    if staged:
        return "staged", because(
            f"{cards} cards are too many to try all, so those of few points are tried",
            f"the grid's {size} weight combinations are too many to list, and an exact draw of "
            "few points always ends",
            stages,
        )
    if public is None and measure.is_uniform and not grid.alternatives:
        return (
            "block_one_hot",
            Reason(
                f"{cards} cards are too many to try all",
                f"the grid's {size} weight combinations are too many to list; blocks of at most "
                f"{BLOCK_ASSIGNMENTS} come closest to one block",
            ),
        )
    spent = "" if public is None else f" at epsilon {public.params.epsilon:g}"
    raise BeyondReach(
        f"no accurate mechanism is expected to end soon on {size} weight combinations{spent}, of "
        f"which up to {ENUMERATION_LIMIT:,} are listed; use fewer columns, smaller weights or a "
        "small max_nonzero, or name 'one_hot'."
    )


def _predicted(mechanism: ScorecardMechanism, public: GridPublic | None) -> str:
    """Return the predicted mean error in words, where the budget is known."""
    if public is None:
        return ""
    excess = mechanism.calibrate(public).expected_excess(public.grid)
    if excess is None:
        return ""
    most = extra_loss(excess, public.error_costs, public.n_rows)
    return f": on average at most {most} on any table"


def extra_loss(excess: float, costs: ErrorCosts, rows: int | None) -> str:
    """Return an excess of the loss in words: errors, or what they cost."""
    of = "" if rows is None else f" of {rows:,}"
    if costs.are_equal:
        return f"{math.ceil(excess):,} extra errors{of}"
    rows_text = "" if rows is None else f" on {rows:,} rows"
    return f"{math.ceil(excess):,} units of extra cost{rows_text} ({costs})"


def _takes_few_points(public: GridPublic, measure: BaseMeasure) -> bool:
    """Return whether few points know the base measure, every weight's values and the total."""
    intervals = all(
        0 in allowed and allowed[-1] - allowed[0] == len(allowed) - 1
        for allowed in public.grid.values
    )
    countable = public.largest_loss is None or public.largest_loss <= MOST_LEVELS
    return intervals and countable and (measure.is_uniform or measure.by_levels)
