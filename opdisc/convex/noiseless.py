"""What a mechanism of noisy minimisers gives at an infinite epsilon: the minimiser itself."""

from __future__ import annotations

from opdisc.convex.minimisation import minimum
from opdisc.convex.noise_plan import ConvexRelease, NoisePlan, prepare
from opdisc.convex.public import ConvexPublic, check_ridge
from opdisc.convex.rows import Rows
from opdisc.privacy import CalibrationStatus, EntropySource, Prepared
from oracles.arithmetic import FloatArray


def noiseless_plan(mechanism: str, *settings: tuple[str, float]) -> NoisePlan:
    """Return a plan without noise; the receipt is VOID because epsilon is infinite."""
    return NoisePlan(
        mechanism=mechanism,
        theorem="none (docs/convex.md, no-privacy)",
        status=CalibrationStatus.PROVEN,
        law="none",
        scales=(0.0,),
        settings=settings,
    )


def noiseless_minimum(
    mechanism: str,
    rows: Rows,
    public: ConvexPublic,
    *,
    ridge: float | None,
    entropy: EntropySource,
) -> Prepared[ConvexRelease]:
    """Prepare to minimise the sum of losses plus ``(ridge/2)|theta|^2`` over the domain, or R^p.

    Parameters
    ----------
    mechanism : str
        Name on the receipt.
    rows, public, entropy
        As in every mechanism; the loss must be convex and smooth.
    ridge : float or None
        In the sum scale; None is 0.

    Notes
    -----
    **Guarantee.** None; see docs/convex.md, entry "no-privacy".
    """
    public.require_convex(mechanism)
    public.require_smooth(mechanism)
    weight = 0.0 if ridge is None else check_ridge(ridge)

    def compute() -> FloatArray:
        return minimum(rows, public.loss, public.domain, ridge=weight)

    plan = noiseless_plan(mechanism, ("ridge", weight))
    return prepare(plan, rows, public, compute, entropy=entropy)
