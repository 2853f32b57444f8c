"""What stands behind the numbers: scorecards, receipts, promises, failures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pandas as pd

from opdisc.models import Scorecard
from opdisc.privacy import stated_rows, unit_in_words
from opdisc.report.formats import UNKNOWN, epsilons_text, flattened
from opdisc.report.results import Results
from opdisc.report.series import Series, relation_text

_PROMISE_FIRST = (
    "guarantee", "conditions", "epsilon", "delta", "delta_numerical", "relation", "privacy_unit",
    "rows_per_unit", "mechanism", "theorem", "calibration",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CardTable:
    """Scorecards of one method, a column for each epsilon.

    Parameters
    ----------
    series : Series
        The method.
    heads : tuple of str
        Column heads.
    lines : tuple of (str, tuple of str)
        Statement, and its points in each column.
    rule : str
        How a total is read; empty if there are only texts.
    texts : tuple of (str, str)
        Head and text of scorecards that an older version wrote as text only.
    """

    series: Series
    heads: tuple[str, ...]
    lines: tuple[tuple[str, tuple[str, ...]], ...]
    rule: str
    texts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptText:
    """One receipt, and how many runs had it.

    Parameters
    ----------
    heading : str
        Method, epsilon and guarantee.
    digest : str
        The receipt's digest; empty if the results have none.
    runs : int
        How many runs had it.
    fields : tuple of (str, str)
        Names and values as text, what is promised first.
    """

    heading: str
    digest: str
    runs: int
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What a method promises, where it is the same.

    Parameters
    ----------
    series : Series
        The method.
    epsilons : str
        The epsilons that it is for, as text.
    guarantee : str
        HOLDS, CONDITIONAL, VOID or unstated.
    kind : str
        Pure, or approximate with its delta.
    unit : str
        Who is protected, in words.
    relation : str
        Which tables are neighbours, in words.
    label : str
        How well the statement is established: proven, published or refuted.
    theorem : str
        The statement that it rests on.
    chosen : str
        Mechanism that was chosen automatically; empty for others.
    conditions : tuple of str
        What the guarantee rests on.
    """

    series: Series
    epsilons: str
    guarantee: str
    kind: str
    unit: str
    relation: str
    label: str
    theorem: str
    chosen: str
    conditions: tuple[str, ...]


def card_tables(runs: pd.DataFrame, series: tuple[Series, ...]) -> tuple[int, list[CardTable]]:
    """Return the repeat that is shown, and its scorecards by method.

    The repeat is the first one, whatever its results: none is picked for its looks.
    """
    cards = runs[(runs["status"] == "ok") & runs["scorecard"].notna()]
    if not len(cards):
        return 0, []
    repeat = int(cards["repeat"].min())
    first = cards[cards["repeat"] == repeat]
    tables = [_card_table(one, first[first["series"] == one.index]) for one in series]
    return repeat, [table for table in tables if table is not None]


def _card_table(series: Series, runs: pd.DataFrame) -> CardTable | None:
    if not len(runs):
        return None
    shown = runs.sort_values("epsilon").drop_duplicates("epsilon")
    heads = [UNKNOWN if math.isnan(e) else f"ε = {e:g}" for e in shown["epsilon"]]
    heads = ["points"] if heads == [UNKNOWN] else heads
    cards = [_card(record) for record in shown["scorecard_data"]]
    known = [card for card in cards if card is not None]
    if len(known) < len(cards):
        texts = tuple(zip(heads, shown["scorecard"], strict=True))
        return CardTable(series=series, heads=(), lines=(), rule="", texts=texts)
    points = [dict(card.used()) for card in known]
    names = list(dict.fromkeys(name for card in points for name in card))
    return CardTable(
        series=series,
        heads=tuple(heads),
        lines=tuple((n, tuple(_signed(card.get(n, 0)) for card in points)) for n in names),
        rule=f"Predict {known[0].target}. {known[0].rule()}",
        texts=(),
    )


def _card(record: object) -> Scorecard | None:
    """Return the scorecard of a run; None where an older version wrote its text only."""
    if not isinstance(record, Mapping):
        return None
    try:
        return Scorecard.from_dict(record)
    except ValueError:
        return None


def _signed(points: int) -> str:
    return f"{points:+d}".replace("-", "−") if points else "0"


def receipts(runs: pd.DataFrame, series: tuple[Series, ...]) -> list[ReceiptText]:
    """Return every different receipt, by method and epsilon."""
    found = []
    held = runs[runs["receipt"].map(lambda value: isinstance(value, Mapping))]
    keys = held["receipt_digest"].fillna(held["run_id"])
    for one in series:
        mine = held[held["series"] == one.index].sort_values("epsilon", kind="stable")
        for digest, group in mine.groupby(keys.loc[mine.index], sort=False):
            first = group.iloc[0]
            found.append(
                ReceiptText(
                    heading=f"{one.title}, ε = {first['epsilon']:g}: {first['guarantee']}",
                    digest=str(first["receipt_digest"] or ""),
                    runs=len(group),
                    fields=tuple(_receipt_fields(first["receipt"])),
                )
            )
            del digest
    return found


def _receipt_fields(receipt: Mapping[str, Any]) -> list[tuple[str, str]]:
    first = [name for name in _PROMISE_FIRST if name in receipt]
    rest = [name for name in receipt if name not in _PROMISE_FIRST]
    pairs = []
    for name in (*first, *rest):
        value = receipt[name]
        if name == "conditions" and isinstance(value, list):
            pairs += [("condition", str(text)) for text in value]
        elif name == "privacy_unit":
            pairs.append((name, _unit_text(receipt)))
        elif name == "weights" and isinstance(value, list):
            pairs.append((name, _weights_text(value)))
        else:
            pairs += flattened(value, name)
    return pairs


def _unit_text(receipt: Mapping[str, Any]) -> str:
    """Return who is protected, in words; empty without a receipt.

    Older versions' receipts may not state the rows of a unit; then their sensitivity tells.
    """
    costs = receipt.get("error_costs")
    largest = max(costs.values(), default=1) if isinstance(costs, Mapping) else 1
    if receipt.get("mechanism") == "robust_vote":  # ballots are counted
        largest = 1
    try:
        rows = stated_rows(SimpleNamespace(**{**receipt, "largest_cost": largest}))
    except (ArithmeticError, AttributeError, TypeError, ValueError):  # results are anybody's file
        rows = None
    return unit_in_words(str(receipt.get("privacy_unit") or ""), rows)


def _weights_text(weights: list[Any]) -> str:
    distinct = list(dict.fromkeys(str(allowed) for allowed in weights))
    return f"{len(weights)} weights in {', '.join(distinct)}"


def promises(runs: pd.DataFrame, series: tuple[Series, ...]) -> list[Promise]:
    """Return what each private method promises, one entry where several epsilons agree."""
    done = runs[(runs["status"] == "ok") & runs["private"]]
    found: list[Promise] = []
    for one in series:
        groups: dict[Promise, set[float]] = {}
        for _, run in done[done["series"] == one.index].iterrows():
            groups.setdefault(_promise(one, run), set()).add(float(run["epsilon"]))
        found += [
            replace(same, epsilons=_range_text(epsilons, len(groups)))
            for same, epsilons in groups.items()
        ]
    return found


def _range_text(epsilons: set[float], n_groups: int) -> str:
    return "all ε" if n_groups == 1 else epsilons_text(sorted(epsilons))


def _promise(series: Series, run: pd.Series) -> Promise:
    receipt = run["receipt"] if isinstance(run["receipt"], Mapping) else {}
    chosen = receipt.get("mechanism", "") if series.method.partition("@")[0] == "auto" else ""
    return Promise(
        series=series,
        epsilons="",
        guarantee=run["guarantee"] or "unstated",
        kind=f"(ε, δ = {run['delta']:.2g})" if run["delta"] > 0 else "pure ε",
        unit=_unit_text(receipt) or run["unit"] or UNKNOWN,
        relation=relation_text(run["relation"]),
        label=run["label"] or UNKNOWN,
        theorem=run["theorem"] or UNKNOWN,
        chosen=str(chosen),
        conditions=tuple(str(text) for text in run["conditions"] or ()),
    )


def spent(results: Results) -> tuple[int, float]:
    """Return how many private fits there were, failures included, and the sum of their epsilon."""
    fits = results.runs[results.runs["private"] & results.runs["epsilon"].notna()]
    return len(fits), float(fits["epsilon"].sum())
