"""Draw the pictures of the documentation: accuracy curves, a card and its receipt.

    python benchmarks/pictures.py

The curves come from the result files of docs/peers.md, the card and the receipt from a released
model of a public table. Each picture holds a digest of what it was drawn from; a test compares.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import textwrap
from collections.abc import Iterable
from html import escape
from pathlib import Path

from result_files import FOLDER, ROOT, ResultFile, load

from opdisc.models import SavedModel, load_model
from opdisc.models.card.content import card_content
from opdisc.models.card.source import signed

STATIC = ROOT / "docs" / "_static"
MODEL = FOLDER / "tutorial" / "card.json"
TABLES = {
    "adult-small": "adult-small: 15,682 rows, 7 columns",
    "adult-wide": "adult-wide: 15,682 rows, 37 columns",
    "adult_binary": "adult_binary: 32,561 rows, 36 columns",
    "german": "german: 1,000 rows, 27 columns",
    "mammo": "mammo: 961 rows, 15 columns",
    "breastcancer": "breastcancer: 683 rows, 18 columns",
}
_COLORS = ("#111111", "#0072b2", "#b8860b", "#009e73", "#c1449a", "#d55e00", "#6a51a3")
"""Of which no two look alike to the colour-blind, all dark enough on white."""
_MARKERS = "os^vDPX"
_INK, _FOR, _AGAINST = "#1b1b1b", "#0b5cad", "#a3341f"
_WIDTH, _LINE = 640, 26


def peers() -> dict[str, ResultFile]:
    """Return the result files of the six tables."""
    return {name: load(FOLDER / "peers" / f"{name}.toml") for name in TABLES}


def digest(results: Iterable[ResultFile]) -> str:
    """Return the digest of what tables show, captions left out."""
    shown = [[result.columns, *result.rows] for result in results]
    return f"sha256:{hashlib.sha256(json.dumps(shown).encode()).hexdigest()}"


def model_digest() -> str:
    """Return the digest of the released model's file."""
    return f"sha256:{hashlib.sha256(MODEL.read_bytes()).hexdigest()}"


def curves(results: dict[str, ResultFile]) -> str:
    """Return accuracy over epsilon, a panel for each table and a line for each method."""
    import matplotlib

    matplotlib.use("Agg")
    fonts = {"font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 9}
    matplotlib.rcParams.update({**fonts, "svg.fonttype": "none", "svg.hashsalt": "curves"})
    from matplotlib import pyplot, ticker

    figure, axes = pyplot.subplots(3, 2, figsize=(8.4, 9.6), sharex=True)
    for axis, (name, result) in zip(axes.flat, results.items(), strict=True):
        epsilons = [float(column) for column in result.columns[1:]]
        for k, (method, *_) in enumerate(result.rows):
            axis.plot(
                epsilons,
                result.figures(method),
                label=method.replace("`", ""),
                color=_COLORS[k],
                marker=_MARKERS[k],
                linewidth=2.6 if k == 0 else 1.1,
                markersize=6 if k == 0 else 4.5,
                zorder=3 if k == 0 else 2,
            )
        axis.set(xscale="log", title=TABLES[name])
        axis.set_xticks(epsilons, result.columns[1:])
        axis.xaxis.set_minor_locator(ticker.NullLocator())
        axis.yaxis.set_major_formatter(ticker.FormatStrFormatter("%.2f"))
        axis.grid(color="#dddddd", linewidth=0.6)
    for axis in axes[-1]:
        axis.set_xlabel("epsilon")
    for axis in axes[:, 0]:
        axis.set_ylabel("held-out accuracy")
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="lower center", ncols=3)
    figure.tight_layout(rect=(0, 0.075, 1, 1))
    out = io.StringIO()
    metadata = {"Date": None, "Creator": None, "Identifier": digest(results.values())}
    metadata["Title"] = "Held-out accuracy over epsilon on six tables"
    figure.savefig(out, format="svg", metadata=metadata)
    pyplot.close(figure)
    # Hundredths of a point are more than a screen shows.
    text = re.sub(r"(?<=\d\.\d\d)\d+", "", out.getvalue())
    return "\n".join(line.strip() for line in text.splitlines()) + "\n"


def card(model: SavedModel) -> str:
    """Return a card: each statement that has points, and what the total means."""
    content = card_content(model)
    (part,) = content.parts
    lines = [(content.title, "", _INK), ("Start with", signed(part.start), _INK)]
    for group in part.groups:
        for word, points in group.lines:
            text = group.column if group.is_yes_or_no else f"{group.column} {word}"
            lines.append((text, signed(points), _FOR if points > 0 else _AGAINST))
    lines += [(f"{total}: {answer}", "", _INK) for total, answer in part.outcomes]
    return _sheet("A card", lines, f'x="{_WIDTH - 28}" text-anchor="end"', "#eaf6ea", "#2f7d3b")


def receipt(model: SavedModel) -> str:
    """Return the receipt as ``opdisc show`` prints it first."""
    lines = [("Receipt", "", _INK)]
    for line in model.receipt.brief().splitlines():
        name, _, text = line.partition(":")
        first, *others = textwrap.wrap(text.strip(), 58)
        lines += [(name, first, _INK), *(("", other, _INK) for other in others)]
    return _sheet("A receipt", lines, 'x="170"', "#f4f1e8", "#7a6a3a")


def _sheet(title: str, lines: list[tuple[str, str, str]], right: str, fill: str, edge: str) -> str:
    height = _LINE * len(lines) + 36
    texts = []
    for k, (name, value, color) in enumerate(lines):
        look = 'font-size="15"' if k else 'font-size="19" font-weight="bold"'
        style = f'y="{34 + _LINE * k}" fill="{color}" {look}'
        texts += [f'<text x="28" {style}>{escape(name)}</text>'] if name else []
        texts += [f"<text {right} {style}>{escape(value)}</text>"] if value else []
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
            'role="img" aria-labelledby="t" font-family="system-ui, sans-serif">',
            f'<title id="t">{title}</title>',
            f"<metadata>{model_digest()}</metadata>",
            f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
            f'<rect x="8" y="8" width="{_WIDTH - 16}" height="{height - 16}" rx="8" '
            f'fill="{fill}" stroke="{edge}"/>',
            *texts,
            "</svg>\n",
        ]
    )


def main() -> None:
    """Write every picture."""
    model = load_model(MODEL)
    assert isinstance(model, SavedModel)
    drawn = {"accuracy": curves(peers()), "card": card(model), "receipt": receipt(model)}
    for name, text in drawn.items():
        Path(STATIC, f"{name}.svg").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
