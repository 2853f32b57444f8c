"""Which yes/no questions tell several classes apart, and the share of the budget of each.

A row without one of a question's classes does not enter its card, so it costs that row nothing.
What a row costs is the sum over the questions that name its class (docs/theory.md, multiclass).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from opdisc.arguments import check_choice
from opdisc.privacy import MOST_ROWS_GUESSED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from oracles.arithmetic import IntArray

TREE, ONE_VERSUS_REST = "tree", "one_versus_rest"

STRATEGIES = (TREE, ONE_VERSUS_REST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Two groups of classes that one card tells apart.

    Parameters
    ----------
    no, yes : tuple of int
        Positions of the classes; a total of 1 or more says "yes".
    share : Fraction
        Its part of the budget of a row.
    """

    no: tuple[int, ...]
    yes: tuple[int, ...]
    share: Fraction

    def typical_rows(self, rows: int | None, n_classes: int) -> int | None:
        """Return how many of a public number of rows enter the card, were all classes alike.

        It is a guess: how many rows have one of the question's classes is not public, also where
        the number of all rows is. None where that is not known either.
        """
        if rows is None:
            return None
        return max(1, min(rows, MOST_ROWS_GUESSED) * len(self.no + self.yes) // n_classes)

    def signs(self, positions: IntArray) -> NDArray[np.int8]:
        """Return +1 for rows of a "yes" class, -1 for "no", 0 for others and missing labels."""
        found = np.isin(positions, self.yes).astype(np.int8)
        found[np.isin(positions, self.no)] = -1
        return found


def ask(strategy: str, n_classes: int) -> tuple[Question, ...]:
    """Return the questions of a strategy, in the order of their cards.

    Parameters
    ----------
    strategy : {"tree", "one_versus_rest"}
        "tree" halves the classes in their order, and the halves again: K - 1 cards, of which
        the deepest class meets about log2 K. "one_versus_rest" asks for each class by itself, and
        every row is in every card.
    n_classes : int
        At least 2.

    Notes
    -----
    **Guarantee.** Public. For every class the shares of the questions that name it add up to at
    most 1.
    """
    check_choice("strategy", strategy, STRATEGIES)
    if strategy == TREE:
        return _tree(tuple(range(n_classes)), Fraction(1))
    everyone = range(n_classes)
    return tuple(
        Question(no=tuple(j for j in everyone if j != k), yes=(k,), share=Fraction(1, n_classes))
        for k in everyone
    )


def _tree(classes: tuple[int, ...], left: Fraction) -> tuple[Question, ...]:
    """Return the questions that tell some classes apart, for what is left of the budget."""
    if len(classes) < 2:
        return ()
    height = (len(classes) - 1).bit_length()
    middle = len(classes) // 2
    share = left / height
    no, yes = classes[:middle], classes[middle:]
    question = Question(no=no, yes=yes, share=share)
    return (question, *_tree(no, left - share), *_tree(yes, left - share))


def card_that_tells(questions: Sequence[Question], classes: tuple[int, ...]) -> int | None:
    """Return the position of the question that tells some classes of a tree apart.

    None if no question does, as of a single class.
    """
    asked = (k for k, question in enumerate(questions) if question.no + question.yes == classes)
    return next(asked, None)


def way_to(questions: Sequence[Question], position: int) -> tuple[tuple[int, bool], ...]:
    """Return the answers that lead to a class of a tree: positions of questions, yes or no."""
    return tuple(
        (k, position in question.yes)
        for k, question in enumerate(questions)
        if position in question.no + question.yes
    )


def preferences(strategy: str, questions: tuple[Question, ...], totals: IntArray) -> IntArray:
    """Return how much each row's totals speak for each class; the largest one is predicted.

    Parameters
    ----------
    strategy : str
        As in :func:`ask`.
    questions : tuple of Question
        In the order of their cards.
    totals : ndarray of shape (n, n_questions), int64
        Total of each card.

    Returns
    -------
    ndarray of shape (n, n_classes), int64
        Of a tree the least margin on the way to the class, above 0 for one class alone. Otherwise
        its total, times the number of classes, less its position: so of equal totals the class
        that was declared first wins.
    """
    n_classes = 1 + max(k for question in questions for k in (*question.no, *question.yes))
    if strategy == ONE_VERSUS_REST:
        return totals * n_classes - np.arange(n_classes)
    found = np.full((len(totals), n_classes), np.iinfo(np.int64).max)
    for column, question in enumerate(questions):
        for classes, margin in (
            (question.yes, totals[:, column]),
            (question.no, 1 - totals[:, column]),
        ):
            for k in classes:
                found[:, k] = np.minimum(found[:, k], margin)
    return found
