"""How many extra errors a mechanism may cost, before any budget is spent (docs/utility.md).

The excess loss of a release is bounded by a function of the noise alone, whose law does not
depend on the table. :func:`predict_error` reports an upper confidence limit of its quantile: the
calibrated noise knows it, by a closed form or by simulating that law.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from opdisc.arguments import check_within
from opdisc.errors import CalibrationError
from opdisc.mechanisms import Mechanism
from opdisc.noise import Simulation
from opdisc.planning.choice import build_mechanism, extra_loss
from opdisc.privacy import GridPublic, PrivacyParams
from oracles.problem import ColumnGroup, ErrorCosts

_USUAL = Simulation()


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPrediction:
    """A bound on the excess loss of a release, for every table.

    Parameters
    ----------
    mean : float
        Bound on the expected excess, rows (estimated from the simulation where there is one).
    quantile : float
        The excess stays at or below this with probability ``level``, rows.
    level : float
        Probability over the mechanism's noise.
    confidence : float
        Probability over the simulation that ``quantile`` is large enough; 1 for closed forms.
    rows : int or None
        Rows of the table, where their number is public.
    beside : str
        What the excess is counted from; empty: the best scorecard of the grid.
    over_constants : float or None
        With probability ``level`` the loss exceeds that of the better constant answer by this at
        most, rows; None where no such bound is known.
    error_costs : ErrorCosts
        What a mistake costs; where the two differ, the excess is in units of cost, not rows.
    """

    mean: float
    quantile: float
    level: float
    confidence: float
    rows: int | None
    beside: str = ""
    over_constants: float | None = None
    error_costs: ErrorCosts = ErrorCosts()

    def __str__(self) -> str:
        """Return the prediction as a sentence."""
        most = extra_loss(self.quantile, self.error_costs, self.rows)
        beside = self.beside and f" beside {self.beside}"
        return f"with probability {self.level:.0%} at most {most}{beside}"


def predict_error(
    mechanism: Mechanism,
    public: GridPublic,
    quantile: float = 0.95,
    *,
    confidence: float = _USUAL.confidence,
    simulations: int = _USUAL.draws,
    seed: int = _USUAL.seed,
) -> ErrorPrediction:
    """Return how many rows more than the best hypothesis a release may get wrong.

    Where the public error costs differ, what these rows cost.

    Parameters
    ----------
    mechanism : Mechanism
        What would run.
    public : GridPublic
        What it would be calibrated with; nothing is spent.
    quantile : float
        Level of the bound, in (0, 1).
    confidence : float
        Confidence of the simulated quantile, in (0, 1).
    simulations : int
        Simulated noise draws.
    seed : int
        Seed of the simulation, which involves no table.

    Returns
    -------
    ErrorPrediction
        Distribution-free: for every table.

    Raises
    ------
    CalibrationError
        If a level is impossible, there are too few simulations for it, or the mechanism has no
        such bound.

    Notes
    -----
    **Guarantee.** For every table, P[excess > ``result.quantile``] <= 1 - ``quantile``, where the
    simulated figure is large enough with probability ``confidence``. Laws are simulated in double
    precision on the same lattice. Never more than the number of rows, where that is public, times
    the larger error cost.

    Examples
    --------
    >>> from opdisc.privacy import NeighboringRelation
    >>> from oracles import WeightGrid
    >>> public = GridPublic(
    ...     params=PrivacyParams(epsilon=1.0, delta=0.0), grid=WeightGrid.box(8, 1),
    ...     relation=NeighboringRelation.REPLACE_ONE, n_rows=15_682)
    >>> print(predict_error(build_mechanism("exponential", public.grid)[0], public))
    with probability 95% at most 24 extra errors of 15,682
    """
    for name, value in (("quantile", quantile), ("confidence", confidence)):
        check_within(name, value, 0, 1)
    spec = mechanism.calibrate(public)
    simulation = Simulation(draws=simulations, confidence=confidence, seed=seed)
    found = spec.excess(public.grid, quantile, simulation)
    rows = public.n_rows
    most = math.inf if public.largest_loss is None else float(public.largest_loss)
    return ErrorPrediction(
        mean=min(found.mean, most),
        quantile=min(found.quantile, most),
        level=quantile,
        confidence=found.confidence,
        rows=rows,
        beside=spec.yardstick,
        over_constants=spec.excess_over_constants(quantile),
        error_costs=public.error_costs,
    )


def plan_errors(
    public: GridPublic,
    epsilons: Sequence[float],
    mechanisms: Sequence[str] = ("auto",),
    quantile: float = 0.95,
    structure: tuple[ColumnGroup, ...] = (),
) -> list[tuple[str, float, ErrorPrediction]]:
    """Return what each mechanism would cost at each epsilon, for ``opdisc plan``.

    Parameters
    ----------
    public : GridPublic
        Its epsilon is replaced.
    epsilons : sequence of float
        Budgets to consider.
    mechanisms : sequence of str
        Names of :data:`opdisc.planning.MECHANISMS`; those that cannot run on the grid are
        left out.
    quantile : float
        Level of the bounds.
    structure : tuple of ColumnGroup
        Facts about the columns, see :func:`opdisc.data.column_structure`.

    Returns
    -------
    list of (str, float, ErrorPrediction)
        One entry per mechanism that can run and epsilon.
    """
    found = []
    for name in mechanisms:
        for epsilon in epsilons:
            params = PrivacyParams(epsilon=epsilon, delta=public.params.delta)
            spent = replace(public, params=params)
            try:
                mechanism = build_mechanism(name, public.grid, public=spent, structure=structure)[
                    0
                ]
                prediction = predict_error(mechanism, spent, quantile)
            except CalibrationError:
                continue
            found.append((mechanism.name, epsilon, prediction))
    return found


def epsilon_for(
    mechanism: Mechanism, public: GridPublic, errors: float, quantile: float = 0.95
) -> float:
    """Return the smallest epsilon whose predicted quantile is at most a number of extra errors.

    Parameters
    ----------
    mechanism : Mechanism
        What would run.
    public : GridPublic
        Its epsilon is replaced.
    errors : float
        Extra errors one is ready to accept, rows (or what they cost), > 0.
    quantile : float
        Level of the bound.

    Returns
    -------
    float
        Between 1e-4 and 1e3, to three digits, rounded up.

    Raises
    ------
    CalibrationError
        If even epsilon = 1000 does not suffice.
    """

    def predicted(epsilon: float) -> float:
        params = PrivacyParams(epsilon=epsilon, delta=public.params.delta)
        try:
            hidden = replace(public, params=params, n_rows=None)
            return predict_error(mechanism, hidden, quantile).quantile
        except CalibrationError:
            return math.inf

    low, high = -4.0, 3.0
    if predicted(10**high) > errors:
        raise CalibrationError(
            f"no epsilon up to 1000 keeps this mechanism within {errors:g} extra errors; accept "
            "more of them or shrink the grid."
        )
    while high - low > 2e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if predicted(10**middle) <= errors else (middle, high)
    digits = 2 - math.floor(high)
    return float(math.ceil(10**high * 10**digits) / 10**digits)
