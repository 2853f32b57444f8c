"""Numbers about a lower bound: how exact its sums are, and what they cost."""

from __future__ import annotations

import numpy as np

from oracles.envelope import Envelope

SLACK = 1e-7
"""Least slack of a cell's log mass, nats."""


def rounding_slack(envelope: Envelope) -> float:
    """Return by how much a log sum is raised: far more than its rounding errors.

    Sums of ``N`` non-negative doubles are good to ``N * 2**-53``; shares are good to about
    ``1e-14`` each, which moves ``beta * m(w)`` by at most the second term.
    """
    entries = sum(block.n_entries for block in envelope.sums)
    rows = float(np.abs(envelope.counts).sum()) * len(envelope.sums)
    return SLACK + entries * 2.0**-50 + envelope.beta * rows * 1e-12


def step_work(envelope: Envelope) -> float:
    """Estimate a tightening step in the region summed over last, in nanoseconds.

    Only the order of things depends on it. Counts of operations, so that a seed repeats a run.
    """
    return sum(block.work for block in envelope.sums) + other_work(envelope)


def other_work(envelope: Envelope) -> float:
    """Estimate what a step takes besides the sums, in nanoseconds."""
    points, width = envelope.shape
    return 18.0 * points * width + 50_000.0


def visit_work(envelope: Envelope) -> float:
    """Estimate a visit to a cell in nanoseconds, after its sum."""
    return 0.4 * sum(block.work for block in envelope.sums) + 100_000.0


def draw_work(envelope: Envelope) -> float:
    """Estimate a draw in nanoseconds."""
    cliques = sum(len(block.plan.own) for block in envelope.sums)
    return 2.0 * envelope.n_points + 100.0 * cliques + 1000.0
