"""What ``opdisc predict`` does: a table of any size with its predictions, part by part."""

from __future__ import annotations

import shutil
import stat
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opdisc.cli.console import GroupedCommand, print_json, print_text
from opdisc.cli.fitting.reading import reading_options, taken_reading
from opdisc.data import (
    PRIVATE_MODE,
    TableFormat,
    TextTable,
    atomic_writer,
    check_names,
    check_output,
    csv_text,
    open_table,
    refuse_listed,
    require_rows,
)
from opdisc.errors import TableError
from opdisc.models import load_model

if TYPE_CHECKING:
    from opdisc.models import SavedLinearModel, SavedModel, SavedMulticlassModel

PREDICTION = "prediction"

_PRINTED = 2**20


def predict_file(
    model: SavedModel | SavedLinearModel | SavedMulticlassModel, path: Path, **reading: Any
) -> Iterator[tuple[str, list[Any]]]:
    """Yield lines of CSV text, the header first, and the predictions that they hold.

    Parameters
    ----------
    model : SavedModel, SavedLinearModel or SavedMulticlassModel
        Who predicts.
    path : Path
        A file that :func:`opdisc.read_table` reads.
    **reading
        As for :func:`opdisc.read_table`.

    Raises
    ------
    TableError
        If a part of the table cannot be read; the parts before it have been yielded.
    """
    declared = TableFormat(**reading)
    with _read_twice(path) as again:
        spelled = _spellings(model, again, declared)
        with open_table(again, declared) as table:
            names = table.header
            if PREDICTION in names:
                raise TableError(
                    f"the table must not have a column '{PREDICTION}' yet; rename it."
                )
            needed = model.used_columns
            required = [n for n in needed if model.schema is not None or n in names]
            check_names(names, required, table.remedy)
            yield csv_text([[*names, PREDICTION]]), []
            rows = 0
            listed: Mapping[int, Collection[object]] = {}
            for chunk in table.chunks(range(len(names))):
                cells = dict(zip(names, chunk.cells, strict=True))
                part = TextTable(
                    n_rows=chunk.n_rows,
                    cells={name: cells[name] for name in needed if name in cells},
                )
                predictions = model.written_predictions(part, spelled).tolist()
                lines = zip(*chunk.cells, map(str, predictions), strict=True)
                rows, listed = rows + chunk.n_rows, chunk.listed
                yield csv_text(lines), predictions
            require_rows(rows)
            if model.schema is not None:
                used = {names[at]: found for at, found in listed.items() if names[at] in needed}
                refuse_listed(used, model.schema)


@contextmanager
def predicted_lines(out: Path | None, as_json: bool) -> Iterator[Callable[[str], object]]:
    """Take lines, and write or print them at the end: all of them, or none if something fails."""
    if out is not None:
        with atomic_writer(out, mode=PRIVATE_MODE) as write:
            yield write
    elif as_json:
        yield len
    else:
        with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as held:
            yield held.write
            held.seek(0)
            while text := held.read(_PRINTED):
                print_text(text)


@contextmanager
def _read_twice(path: Path) -> Iterator[Path]:
    """Yield a file with the same bytes that can be read more than once: a pipe is copied."""
    try:
        is_pipe = stat.S_ISFIFO(path.stat().st_mode)
    except (OSError, ValueError):
        is_pipe = False  # whoever opens it says what is wrong
    if not is_pipe:
        yield path
        return
    # A file without a name is gone with this process, however that ends.
    with tempfile.TemporaryFile() as unnamed:
        held = Path(f"/proc/self/fd/{unnamed.fileno()}")
        with unnamed if held.exists() else tempfile.NamedTemporaryFile() as copy:
            with path.open("rb") as pipe:
                shutil.copyfileobj(pipe, copy)
            copy.flush()
            yield held if copy is unnamed else Path(copy.name)


def _spellings(
    model: SavedModel | SavedLinearModel | SavedMulticlassModel, path: Path, declared: TableFormat
) -> TextTable:
    """Return each text of the target column once, in order; no column where there is none."""
    target = None if model.schema is None else model.schema.target.column
    with open_table(path, declared) as table:
        if target not in table.header:
            return TextTable(n_rows=0, cells={})
        found: dict[str, None] = {}
        for chunk in table.chunks([table.header.index(target)]):
            found.update(dict.fromkeys(chunk.cells[0]))
    return TextTable(n_rows=len(found), cells={target: list(found)})


@click.command(
    cls=GroupedCommand,
    epilog="""\b
Examples
  opdisc predict card.json applicants.csv --out scored.csv
  opdisc predict card.json applicants.csv | head -3
""",
)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="CSV file to write; else printed.")
@reading_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def predict(model: Path, data: Path, out: Path | None, as_json: bool, **arguments: Any) -> None:
    """Predict every row of the table in the file DATA with the saved MODEL.

    Writes CSV: the input's columns and rows in their order, and a column 'prediction'. Labels are
    spelled as in your table, else as in the schema.
    """
    saved = load_model(model)
    if out is not None:
        check_output(out, inputs=[model, data])
    rows, predicted = 0, []
    with predicted_lines(out, as_json) as write:
        for lines, predictions in predict_file(saved, data, **taken_reading(arguments)):
            write(lines)
            rows += len(predictions)
            if as_json:
                predicted += predictions
    if as_json:
        written = {} if out is None else {"out": str(out)}
        print_json({"rows": rows, "predictions": predicted, **written})
    elif out is not None:
        print_text(f"{rows:,} rows with their predictions written to {out}\n")
