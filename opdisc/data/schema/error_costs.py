"""Declared costs of mistakes: written down as numbers, or as the public share of a class."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from opdisc.arguments import check_integer
from opdisc.data.cells import canonical_text
from opdisc.data.schema.checks import check_keys
from opdisc.errors import SchemaError, quoted
from oracles.errors import InvalidProblem
from oracles.problem import ErrorCosts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opdisc.data.schema.target import Label

CostsLike: TypeAlias = ErrorCosts | Mapping[Any, Any] | Literal["balanced"]
"""Costs as ``error_costs=`` and schema files declare them."""

_NAMES = ("false_negative", "false_positive")

_STEPS = 1_000

_FORM = "such as { false_negative = 5, false_positive = 1 }"


def parse_error_costs(
    raw: object,
    positive_share: float | None = None,
    classes: tuple[Label, Label] | None = None,
) -> ErrorCosts:
    """Return declared costs.

    Parameters
    ----------
    raw : ErrorCosts, mapping, "balanced" or None
        ``{"false_negative": 5, "false_positive": 1}``, whole numbers from 1; the same by class,
        ``{"ill": 5, "well": 1}``: what it costs to get a row of that class wrong;
        ``{"positive_share": 0.3}``, a public share that balances the classes; "balanced", which
        takes the share from the schema. None: every mistake costs the same.
    positive_share : float or None
        The public share of positive rows, where a schema states one.
    classes : (negative, positive) or None
        The two labels, where they are known.

    Raises
    ------
    SchemaError
        If they are no such costs.
    """
    if raw is None:
        return ErrorCosts()
    if isinstance(raw, ErrorCosts):
        return raw
    if isinstance(raw, str) and raw == "balanced":
        if positive_share is None:
            raise SchemaError(
                "balanced error costs need a public share of positive rows, since one counted "
                "from the rows is private; state positive_share in the schema, or give "
                "error_costs = {'positive_share': 0.3}"
            )
        return _balanced(positive_share)
    if not isinstance(raw, Mapping):
        raise SchemaError(f"error_costs must be a table {_FORM}, or 'balanced', got {quoted(raw)}")
    if raw and not any(name in raw for name in (*_NAMES, "positive_share")):
        raw = _by_name(raw, classes)
    check_keys(raw, (*_NAMES, "positive_share"), "error_costs")
    if "positive_share" in raw:
        if len(raw) > 1:
            raise SchemaError("error_costs must name two costs or a positive_share; drop one")
        return _balanced(checked_share(raw["positive_share"]))
    for name in _NAMES:
        if name not in raw:
            raise SchemaError(f"error_costs must name both costs, but {name} is missing; add it")
    remedy = "only the ratio matters, so write 1.5 and 1 as 3 and 2"
    costs = {
        name: check_integer(f"{name} of error_costs", raw[name], remedy=remedy, error=SchemaError)
        for name in _NAMES
    }
    try:
        return ErrorCosts(**costs)
    except InvalidProblem as error:
        raise SchemaError(str(error)) from None


def expected_cost(signs: NDArray[Any], predicted: NDArray[np.bool_], costs: ErrorCosts) -> float:
    """Return what predictions cost a row on average.

    Parameters
    ----------
    signs : array of shape (n,)
        +1 positive, -1 negative, 0 for a row without a label, which is left out.
    predicted : bool array of shape (n,)
        Whether the positive class is predicted.
    costs : ErrorCosts
        What a mistake costs.

    Returns
    -------
    float
        NaN without a labelled row.
    """
    missed, alarms = (signs == 1) & ~predicted, (signs == -1) & predicted
    total = costs.total(int(np.count_nonzero(missed)), int(np.count_nonzero(alarms)))
    labelled = int(np.count_nonzero(signs))
    return total / labelled if labelled else math.nan


def checked_share(value: object) -> float:
    """Return a public share of positive rows, in thousandths.

    Raises
    ------
    SchemaError
        If it is not from 0.001 to 0.999 with at most three decimals.
    """
    item = value.item() if isinstance(value, np.generic) else value
    if isinstance(item, int | float) and not isinstance(item, bool) and 0 < item < 1:
        steps = round(item * _STEPS)
        if 0 < steps < _STEPS and abs(item - steps / _STEPS) < 1e-12:
            return steps / _STEPS
    raise SchemaError(
        "positive_share must be a public number from 0.001 to 0.999 with at most three decimals, "
        f"got {quoted(value)}; round it"
    )


def _balanced(share: float) -> ErrorCosts:
    return ErrorCosts.balanced(Fraction(round(share * _STEPS), _STEPS))


def _by_name(raw: Mapping[Any, Any], classes: tuple[Label, Label] | None) -> Mapping[str, Any]:
    """Return costs that name the two classes as costs of the two mistakes.

    Only the mapping is quoted in a refusal: labels that nobody declared are taken from the rows.
    """
    given = {_text(label): cost for label, cost in raw.items()}
    if classes is None or len(given) < len(raw) or set(given) != set(map(_text, classes)):
        raise SchemaError(
            f"error_costs must name both classes, or be a table {_FORM}, got {quoted(dict(raw))}; "
            "spell each class as the schema or classes= does"
        )
    negative, positive = (given[_text(label)] for label in classes)
    return {"false_negative": positive, "false_positive": negative}


def _text(label: object) -> str | None:
    item = label.item() if isinstance(label, np.generic) else label
    return canonical_text(item) if isinstance(item, str | int | float) else None
