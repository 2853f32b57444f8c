"""A drawing as SVG: in a page, where it follows the page's colours, or as a file of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape

INK, MUTED, GRID, PAPER = "#1a1d22", "#5b6470", "#dfe3e8", "#fefefe"

REFERENCE_DASH = "6 3"

Point = tuple[float, float]

_ROLES = {INK: "ink", MUTED: "muted", GRID: "grid", PAPER: "paper"}

_DASHES = {"solid": "", "dashed": "5 3", "dotted": "1.5 2.5"}

_FONT = "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', Arial, sans-serif"


class Drawing:
    """Lines, shapes and words on a sheet; x to the right, y down, in pixels.

    Parameters
    ----------
    width, height : float
        Of the sheet.
    in_page : bool
        Whether colours are the page's variables. A file has those of the light rendering.
    """

    def __init__(self, width: float, height: float, *, in_page: bool) -> None:
        self.width, self.height = width, height
        self._in_page = in_page
        self._parts: list[str] = []

    @contextmanager
    def series(self, index: int, kind: str) -> Iterator[None]:
        """Mark what is drawn inside as a part of a series: "line", "sd", "ci" or "label"."""
        self._parts.append(f'<g class="series {kind}" data-series="{index}">')
        yield
        self._parts.append("</g>")

    def line(
        self, points: Sequence[Point], color: str, *, width: float = 1.0, dash: str = ""
    ) -> None:
        """Draw a line through points; ``dash`` is a word or lengths of strokes and gaps."""
        self.strokes([points], color, width=width, dash=dash)

    def strokes(
        self,
        lines: Iterable[Sequence[Point]],
        color: str,
        *,
        width: float = 1.0,
        dash: str = "",
    ) -> None:
        """Draw several lines alike."""
        lengths = _DASHES.get(dash, dash)
        style = f"fill:none;stroke:{self._paint(color)};stroke-width:{width:g}"
        self._path(lines, style + (f";stroke-dasharray:{lengths}" if lengths else ""))

    def area(self, outline: Sequence[Point], color: str) -> None:
        """Fill what lies within an outline."""
        self._path([[*outline, outline[0]]], f"fill:{self._paint(color)};stroke:none")

    def outline(self, outline: Sequence[Point], color: str, *, filled: bool) -> None:
        """Draw a closed shape, filled with its colour or with paper."""
        inside = self._paint(color if filled else PAPER)
        style = f"fill:{inside};stroke:{self._paint(color)};stroke-width:1.5"
        self._path([[*outline, outline[0]]], style)

    def text(
        self,
        place: Point,
        words: str,
        *,
        size: float,
        color: str = INK,
        anchor: str = "start",
        upright: bool = False,
    ) -> None:
        """Write words, their middle at the height of the place; ``upright`` turns them."""
        x, y = (_number(value) for value in place)
        down = _number(place[1] + 0.35 * size)
        turned = f' transform="rotate(-90 {x} {y})"' if upright else ""
        self._parts.append(
            f'<text x="{x}" y="{down}" text-anchor="{anchor}"{turned} '
            f'style="font-size:{size:g}px;fill:{self._paint(color)}">{escape(words)}</text>'
        )

    def markup(self, *, name: str, title: str, description: str) -> str:
        """Return markup for a page, with words for who does not see it.

        Parameters
        ----------
        name : str
            Unique in the page: letters, digits, hyphens.
        title, description : str
            Escaped here.
        """
        return (
            f'<svg viewBox="{self._box()}" role="img" '
            f'aria-labelledby="{name}-title {name}-desc">'
            f'<title id="{name}-title">{escape(title)}</title>'
            f'<desc id="{name}-desc">{escape(description)}</desc>{"".join(self._parts)}</svg>'
        )

    def file(self) -> str:
        """Return a file on white paper."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{self._box()}" '
            f'width="{_number(self.width)}" height="{_number(self.height)}" '
            f'font-family="{_FONT}"><rect width="100%" height="100%" fill="#ffffff"/>'
            f"{''.join(self._parts)}</svg>\n"
        )

    def swatch(self) -> str:
        """Return markup for a small sample beside a name, which says all that there is to say."""
        return (
            f'<svg class="swatch" viewBox="{self._box()}" aria-hidden="true">'
            f"{''.join(self._parts)}</svg>"
        )

    def _box(self) -> str:
        return f"0 0 {_number(self.width)} {_number(self.height)}"

    def _path(self, lines: Iterable[Sequence[Point]], style: str) -> None:
        steps = "".join(
            "M" + "L".join(f"{_number(x)},{_number(y)}" for x, y in points) for points in lines
        )
        if steps:
            self._parts.append(f'<path d="{steps}" style="{style}"/>')

    def _paint(self, color: str) -> str:
        return f"var({color_variable(color)})" if self._in_page else color


def color_variable(color: str) -> str:
    """Return the name of the page's variable for a colour of the light rendering."""
    return f"--{_ROLES[color]}" if color in _ROLES else f"--c-{color[1:]}"


def color_rules(pairs: Iterable[tuple[str, str]]) -> str:
    """Return declarations of the variables of (light colour, shown colour) pairs."""
    return " ".join(f"{color_variable(light)}: {shown};" for light, shown in sorted(set(pairs)))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
