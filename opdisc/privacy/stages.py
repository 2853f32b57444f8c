"""The parts of a release that was paid for at once, as its receipt lists them."""

from __future__ import annotations

from fractions import Fraction

from opdisc.privacy.records import Amount, Record


class Stage(Record, frozen=True, kw_only=True):
    """One part of a release and what it cost.

    Parameters
    ----------
    name : str
        What was released.
    epsilon : str
        Its exact cost, a fraction such as "1/10".
    guarantee : str
        The statement that makes it private.
    law : str
        What was drawn, in words.
    scales : tuple of float
        Scale parameters of the law.
    schema_digest : str
        SHA-256 of the public schema that it started from; empty where the receipt says it.

    Raises
    ------
    ValueError
        If the cost is not a fraction above 0.
    """

    name: str
    epsilon: str
    guarantee: str
    law: str
    scales: tuple[Amount, ...]
    schema_digest: str

    def __post_init__(self) -> None:
        """Refuse a cost that is none."""
        if self.cost <= 0:
            raise ValueError("a stage must cost more than nothing.")

    @property
    def cost(self) -> Fraction:
        """The exact cost."""
        return Fraction(self.epsilon)

    def line(self) -> tuple[str, str]:
        """Return (name, text) as printed."""
        scales = ", ".join(f"{scale:.6g}" for scale in dict.fromkeys(self.scales))
        text = f"epsilon {float(self.cost):.12g}: {self.law}{f' {scales}' if scales else ''}"
        if self.schema_digest:
            text += f"; {self.guarantee}; declared schema sha256 {self.schema_digest[:16]}"
        return f"  for {self.name}", text
