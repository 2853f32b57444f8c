"""Exact draws of hypotheses with probability proportional to ``exp(-beta * L(w))``."""

from __future__ import annotations

from oracles.entropy import EntropySource, SeededEntropy
from oracles.loss_levels import sample_by_enumeration

__all__ = ["EntropySource", "SeededEntropy", "sample_by_enumeration"]
