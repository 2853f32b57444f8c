"""Figures as files, and as SVG that sits in a page and follows its colours."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from html import escape

import matplotlib
from matplotlib.figure import Figure

from opdisc.report.figures.axes import GRID, INK, MUTED, PAPER

_PIXELS_PER_INCH = 160

_ROLES = {INK: "ink", MUTED: "muted", GRID: "grid", PAPER: "paper"}

_SERIES_ID = re.compile(r'id="series-(\d+)-(line|sd|ci|label)[^"]*"')


def image_bytes(figure: Figure, kind: str) -> bytes:
    """Return a figure as a file on white paper, without a date in it.

    Parameters
    ----------
    figure : Figure
        As drawn.
    kind : str
        "png" or "svg".
    """
    figure.patch.set_alpha(1)
    figure.patch.set_facecolor("white")
    try:
        return _saved(figure, kind)
    finally:
        figure.patch.set_alpha(0)


def inline_svg(figure: Figure, *, name: str, title: str, description: str) -> str:
    """Return a figure as markup for a page.

    Colours become the page's variables, the font is the page's, ids do not collide with those of
    other figures, and the parts of a series carry ``data-series``.

    Parameters
    ----------
    figure : Figure
        As drawn.
    name : str
        Unique in the page: letters, digits, hyphens.
    title, description : str
        For readers who do not see the figure; escaped here.
    """
    text = _saved(figure, "svg").decode("utf-8")
    body = text[text.index("<svg") :]
    body = re.sub(r"<(metadata|style)\b.*?</\1>", "", body, flags=re.DOTALL)
    body = re.sub(r"\s*\n\s*", " ", body)
    body = _SERIES_ID.sub(r'class="series \2" data-series="\1"', body)
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", body)
    body = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', body)
    body = re.sub(r"#[0-9a-f]{6}\b(?=[;\"])", _variable, body)
    body = re.sub(r"font-family: [^;\"]*", "font-family: inherit", body)
    body = re.sub(r"font: ([0-9.]+px)[^;\"]*", r"font-size: \1; font-family: inherit", body)
    tag, rest = body[: body.index(">") + 1], body[body.index(">") + 1 :]
    box = re.search(r'viewBox="([^"]+)"', tag)
    assert box is not None
    return (
        f'<svg viewBox="{box[1]}" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
        f'aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(description)}</desc>{rest.rstrip()}'
    )


def color_variable(color: str) -> str:
    """Return the name of the page's variable for a colour of the light rendering."""
    return f"--{_ROLES[color]}" if color in _ROLES else f"--c-{color[1:]}"


def color_rules(pairs: Iterable[tuple[str, str]]) -> str:
    """Return declarations of the variables of (light colour, shown colour) pairs."""
    return " ".join(f"{color_variable(light)}: {shown};" for light, shown in sorted(set(pairs)))


def _variable(match: re.Match[str]) -> str:
    return f"var({color_variable(match[0])}, {match[0]})"


def _saved(figure: Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    metadata: dict[str, str | None] = {"Date": None} if kind == "svg" else {}
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "opdisc"}):
        figure.savefig(buffer, format=kind, dpi=_PIXELS_PER_INCH, metadata=metadata)
    return buffer.getvalue()
