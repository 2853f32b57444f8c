"""The receipt of OPSamp: real parameters instead of a grid of weights."""

from __future__ import annotations

from opdisc.privacy import Amount, CertifiedReceipt, Count, Lines, power_of_two


class OPSampReceipt(CertifiedReceipt, frozen=True, kw_only=True):
    """A receipt of OPSamp.

    Parameters
    ----------
    loss, domain : str
        What was minimised and where, in words.
    draws : int
        Number of minimisers averaged.
    stability : float
        Bound on the mean l1 distance between neighbours' minimisers, parameter units.
    """

    loss: str
    domain: str
    draws: Count
    stability: Amount

    def section(self) -> Lines:
        """Return loss, minimisers, stability, lattice and oracle."""
        step = power_of_two(self.spacing)
        return [
            ("loss", f"{self.loss}, on {self.domain}"),
            ("minimisers", f"{self.draws:,}, certified gap allowed: {self.allowance:g}"),
            ("stability", f"{self.stability:.6g} in l1"),
            ("lattice", f"released coordinates are multiples of {step}"),
            ("oracle", self.oracle),
        ]
