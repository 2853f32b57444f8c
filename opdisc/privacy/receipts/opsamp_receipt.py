"""The receipt of OPSamp: real parameters instead of a grid of weights."""

from __future__ import annotations

from opdisc.privacy import Amount, CertifiedReceipt, Count, Lines, StatedCosts, power_of_two


class OPSampReceipt(CertifiedReceipt, frozen=True, kw_only=True, omit_defaults=True):
    """A receipt of OPSamp.

    Parameters
    ----------
    loss, domain : str
        What was minimised and where, in words.
    draws : int
        Number of minimisers averaged.
    stability : float
        Bound on the mean l1 distance between neighbours' minimisers, parameter units.
    error_costs : StatedCosts or None
        What a mistake costs; None, and left out where it is written, if both cost the same. The
        loss is then in units of cost, and so are sensitivity and allowance.
    """

    loss: str
    domain: str
    draws: Count
    stability: Amount
    error_costs: StatedCosts | None = None

    @property
    def largest_cost(self) -> int:
        """By how much one changed row moves the sensitivity."""
        return 1 if self.error_costs is None else self.error_costs.costs.largest

    def terms(self) -> Lines:
        """Return what mistakes cost, where that differs."""
        return [] if self.error_costs is None else [self.error_costs.line()]

    def section(self) -> Lines:
        """Return loss, minimisers, stability, lattice and oracle."""
        step = power_of_two(self.spacing)
        return [
            *self.terms(),
            ("loss", f"{self.loss}, on {self.domain}"),
            ("minimisers", f"{self.draws:,}, certified gap allowed: {self.allowance:g}"),
            ("stability", f"{self.stability:.6g} in l1"),
            ("lattice", f"released coordinates are multiples of {step}"),
            ("oracle", self.oracle),
        ]
