"""Write the measured tables of the documentation from their result files.

    python benchmarks/pages.py

A page holds a table between the lines ``<!-- results: peers/german -->`` and
``<!-- end of results -->``; the name is that of a file below ``benchmarks/results``.
"""

from __future__ import annotations

import re
from os.path import relpath
from pathlib import Path

from result_files import FOLDER, ROOT, load, markdown

DOCS = ROOT / "docs"
PLACE = re.compile(
    r"^<!-- results: (?P<name>[\w/.-]+) -->\n(?P<text>.*?)^<!-- end of results -->$",
    re.MULTILINE | re.DOTALL,
)


def places(text: str) -> list[str]:
    """Return the result files that a page names, in order."""
    return [place["name"] for place in PLACE.finditer(text)]


def written(page: Path, results: Path = FOLDER) -> str:
    """Return a page with each of its tables as its result file says."""

    def table(place: re.Match[str]) -> str:
        file = results / f"{place['name']}.toml"
        text = markdown(load(file), Path(relpath(file, page.parent)).as_posix())
        return f"<!-- results: {place['name']} -->\n\n{text}\n<!-- end of results -->"

    return PLACE.sub(table, page.read_text(encoding="utf-8"))


def main() -> None:
    """Write every page that has changed, and say which."""
    for page in sorted(DOCS.rglob("*.md")):
        if (text := written(page)) != page.read_text(encoding="utf-8"):
            page.write_text(text, encoding="utf-8")
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
