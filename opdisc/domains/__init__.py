"""Closed convex parameter sets: projection, gauge and widths, all public."""

from opdisc.domains.balls import L1Ball, L2Ball
from opdisc.domains.domain import Domain
from opdisc.domains.polytopes import Box, Simplex

__all__ = ["Box", "Domain", "L1Ball", "L2Ball", "Simplex"]
