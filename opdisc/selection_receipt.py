"""The receipt of a private selection."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionReceipt:
    """The privacy statement of a private selection, a function of public inputs only.

    Parameters
    ----------
    mechanism, theorem, calibration : str
        What ran, the statement that makes it private, and how well that is established.
    epsilon, delta, delta_numerical : float
        The promise for everything: all trials, their scores and the choice.
    relation, privacy_unit, schema_digest : str
        As on other receipts.
    candidates : tuple of str
        Names of the settings, equally likely in each trial.
    shape, stop, expected_trials : float
        Law of the number of trials.
    trial_epsilon, trial_delta : float
        Guarantee of one trial.
    score_epsilon : float
        The part of it that the score's discrete Laplace noise costs.
    score_sensitivity : int
        Rows by which one privacy unit can change the number of right answers.
    versions : tuple of (str, str)
        Packages and versions that took part.
    guarantee : str
        ``HOLDS``, ``CONDITIONAL`` or ``VOID``.
    conditions : tuple of str
        What it rests on, or why it is VOID.
    """

    mechanism: str
    theorem: str
    calibration: str
    epsilon: float
    delta: float
    delta_numerical: float
    relation: str
    privacy_unit: str
    schema_digest: str
    candidates: tuple[str, ...]
    shape: float
    stop: float
    expected_trials: float
    trial_epsilon: float
    trial_delta: float
    score_epsilon: float
    score_sensitivity: int
    versions: tuple[tuple[str, str], ...]
    guarantee: str
    conditions: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return asdict(self) | {
            "candidates": list(self.candidates),
            "versions": dict(self.versions),
            "conditions": list(self.conditions),
        }
