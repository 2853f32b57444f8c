"""The receipt of a private selection."""

from __future__ import annotations

from opdisc.privacy import Amount, Count, Lines, PrivacyReceipt, StatedCosts


class SelectionReceipt(PrivacyReceipt, frozen=True, kw_only=True, omit_defaults=True):
    """The receipt of a private selection; its promise covers all trials, scores and the choice.

    Parameters
    ----------
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
    error_costs : StatedCosts or None
        What a mistake costs, where they differ: a score is then the cost that right answers avoid.
    """

    candidates: tuple[str, ...]
    shape: float
    stop: float
    expected_trials: Amount
    trial_epsilon: Amount
    trial_delta: Amount
    score_epsilon: Amount
    score_sensitivity: Count
    error_costs: StatedCosts | None = None

    @property
    def largest_cost(self) -> int:
        """By how much one row moves a score at most."""
        return 1 if self.error_costs is None else self.error_costs.costs.largest

    def section(self) -> Lines:
        """Return candidates, trials and scores."""
        law = f"shape {self.shape:g}, stop {self.stop:.6g}"
        trial = f"epsilon {self.trial_epsilon:.6g}, delta {self.trial_delta:.6g}"
        unit = "rows" if self.error_costs is None else "units of cost"
        score = f"epsilon {self.score_epsilon:.6g}, sensitivity {self.score_sensitivity} {unit}"
        costs = [] if self.error_costs is None else [self.error_costs.line()]
        return [
            *costs,
            ("candidates", ", ".join(self.candidates)),
            ("trials", f"{self.expected_trials:.6g} expected; {law}"),
            ("one trial", trial),
            ("its score", score),
        ]
