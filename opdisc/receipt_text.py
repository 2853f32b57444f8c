"""The receipt of a release as lines that a reviewer can check one by one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opdisc.privacy import PrivacyReceipt


def receipt_lines(receipt: PrivacyReceipt) -> list[tuple[str, str]]:
    """Return (name, text) pairs, the promise first."""
    relation = receipt.relation.replace("_", "-")
    rows = (
        "not public" if receipt.n_rows is None else f"{receipt.n_rows:,} (public under {relation})"
    )
    lines = [
        ("guarantee", receipt.guarantee),
        *(("  condition", condition) for condition in receipt.conditions),
        ("epsilon", f"{receipt.epsilon:g}"),
        ("delta", f"{receipt.delta:g} (+ {receipt.delta_numerical:.1e} numerical)"),
        ("neighbours", f"{relation}, privacy unit: {receipt.privacy_unit}"),
        ("mechanism", receipt.mechanism),
        ("theorem", f"{receipt.theorem} [{receipt.calibration}]"),
        (
            "sensitivity",
            f"{receipt.sensitivity} rows, certified gap allowed: {receipt.allowance:g}",
        ),
        ("noise", f"{receipt.noise_law}; scale {_scales(receipt.noise_scales)}"),
        ("lattice", _lattice_text(receipt.spacing)),
        ("hypotheses", _grid_text(receipt)),
        ("rows", rows),
        ("schema", f"sha256 {receipt.schema_digest[:16]}"),
        ("oracle", f"{receipt.oracle} ({', '.join(f'{k} {v}' for k, v in receipt.versions)})"),
    ]
    if receipt.choice:
        lines.append(("chosen because", receipt.choice))
    lines.append(("not covered", "running time; anything published besides this model"))
    return lines


def _scales(scales: tuple[float, ...]) -> str:
    distinct = sorted(set(scales))
    return ", ".join(f"{scale:.6g}" for scale in distinct)


def _lattice_text(spacing: float) -> str:
    return f"multiples of 2^{math.log2(spacing):g} rows" if spacing > 0 else "none: exact draw"


def _grid_text(receipt: PrivacyReceipt) -> str:
    lows, highs = {v[0] for v in receipt.weights}, {v[-1] for v in receipt.weights}
    budget = "" if receipt.norm_budget is None else f", |w|^2 <= {receipt.norm_budget}"
    signs = (
        ("never negative", sum(v[0] >= 0 for v in receipt.weights)),
        ("never positive", sum(v[-1] <= 0 for v in receipt.weights)),
    )
    restricted = "".join(f", {count} of them {what}" for what, count in signs if count)
    return f"{len(receipt.weights)} weights in {min(lows)}..{max(highs)}{restricted}{budget}"
