"""Options that some ways to a card do not take."""

from __future__ import annotations

from collections.abc import Mapping

from opdisc.errors import CalibrationError
from opdisc.planning import LOGISTIC


def refuse_other_options(
    given: Mapping[str, bool],
    what: str = f"mechanism='{LOGISTIC}'",
    kept: tuple[str, ...] = (),
) -> None:
    """Refuse what other mechanisms take.

    Parameters
    ----------
    given : mapping of str to bool
        Names of options, and whether they were given.
    what : str
        What does not take them.
    kept : tuple of str
        Those that it takes after all.

    Raises
    ------
    CalibrationError
        With the name of the first that was.
    """
    for name, is_given in given.items():
        if is_given and name not in kept:
            raise CalibrationError(
                f"{name} does not apply to {what}; leave it out or name another mechanism."
            )
