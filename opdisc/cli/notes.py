"""What a fit's own limits may cost, said before the budget is spent."""

from __future__ import annotations

SURE_TO_END = frozenset({"auto", "enumeration", "branch-and-bound"})
"""Solvers that end with a proof on every table, if they are given no limit."""

_THEN = " then "


def limit_note(oracle: str, time_limit: float | None, max_rounds: int | None = None) -> str:
    """Return what is at stake with a limit, or with a solver that may take for ever; else "".

    Parameters
    ----------
    oracle : str
        Who minimises, as it was named.
    time_limit : float or None
        Seconds.
    max_rounds : int or None
        Cap on a long draw.
    """
    if max_rounds is not None:
        return _at_stake(f"the draw takes more than {max_rounds:,} rounds", "--max-rounds")
    if _THEN in oracle:
        return ""
    handover = f"--oracle '{oracle}{_THEN}branch-and-bound'"
    if time_limit is None:
        if oracle in SURE_TO_END:
            return ""
        return (
            f"note: '{oracle}' may take very long, and no limit is set; {handover} "
            "--time-limit 60 passes the problem on after a minute and always ends with a proof."
        )
    limit = f"within {time_limit:g} s"
    if oracle in SURE_TO_END:
        return _at_stake(f"the search or draw does not end {limit}", "--time-limit")
    return (
        f"note: if '{oracle}' has no proof {limit}, nothing is released and the budget stays "
        f"spent; {handover} would pass the problem on and release."
    )


def _at_stake(event: str, option: str) -> str:
    return (
        f"note: if {event}, nothing is released and the budget stays spent; without {option} it "
        "always ends."
    )
