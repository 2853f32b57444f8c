"""What ``opdisc predict`` does: a table of any size with its predictions, part by part."""

from __future__ import annotations

import shutil
import stat
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opdisc.cli.console import (
    STANDARD_OUTPUT,
    GroupedCommand,
    from_input,
    print_json,
    print_text,
    require_one_form,
)
from opdisc.cli.fitting.reading import (
    database_option,
    named_table_option,
    reading_options,
    stated_name,
    taken_reading,
)
from opdisc.cli.fitting.scored_parts import ScoredPart, written_parts
from opdisc.data import (
    FilePath,
    TableFormat,
    TableReader,
    TextTable,
    check_names,
    check_output,
    open_table,
    refuse_listed,
)
from opdisc.errors import TableError, quoted
from opdisc.models import MOST_REASONS, load_model

if TYPE_CHECKING:
    from opdisc.models import SavedLinearModel, SavedModel, SavedMulticlassModel


def predict_file(
    model: SavedModel | SavedLinearModel | SavedMulticlassModel,
    path: FilePath,
    *,
    reasons: int = 0,
    points: bool = False,
    **reading: Any,
) -> Iterator[ScoredPart]:
    """Yield the rows of a table with what a model says of them, a part without rows first.

    Parameters
    ----------
    model : SavedModel, SavedLinearModel or SavedMulticlassModel
        Who predicts.
    path : path or str
        What :func:`opdisc.read_table` reads, also a server; it may have no row.
    reasons, points
        As for ``model.scored``.
    **reading
        As for :func:`opdisc.read_table`.

    Raises
    ------
    TableError
        If a part of the table cannot be read; the parts before it have been yielded.
    """
    declared = TableFormat(**reading)
    asked: dict[str, Any] = {"reasons": reasons, "points": points}
    needed = model.used_columns
    nothing = model.scored(TextTable(n_rows=0, cells={n: [] for n in needed}), **asked)
    with _opened(model, path, declared) as (table, spelled):
        names = table.header
        _refuse_own_names(names, nothing)
        required = [n for n in needed if model.schema is not None or n in names]
        check_names(names, required, table.remedy)
        yield ScoredPart(names=names, cells=tuple([] for _ in names), own=nothing)
        listed: Mapping[int, Collection[object]] = {}
        for chunk in table.chunks(range(len(names))):
            cells = dict(zip(names, chunk.cells, strict=True))
            part = TextTable(
                n_rows=chunk.n_rows,
                cells={name: cells[name] for name in needed if name in cells},
            )
            own = model.scored(part, spelled, **asked)
            listed = chunk.listed
            yield ScoredPart(names=names, cells=chunk.cells, own=own)
        if model.schema is not None:
            used = {names[at]: found for at, found in listed.items() if names[at] in needed}
            refuse_listed(used, model.schema)


def _refuse_own_names(names: Collection[str], own: Collection[str]) -> None:
    """Refuse a table with a column that the model writes: two of one name would be mixed up."""
    for name in own:
        if name in names:
            raise TableError(
                f"the table must not have a column {quoted(name)}, which is written beside its "
                "own; rename it."
            )


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


@contextmanager
def _opened(
    model: SavedModel | SavedLinearModel | SavedMulticlassModel,
    path: FilePath,
    declared: TableFormat,
) -> Iterator[tuple[TableReader, TextTable]]:
    """Yield a table and the texts of its labels, both of the same rows."""
    if declared.table_name is not None:  # a database shows one state of it until it is closed
        with open_table(path, declared) as table:
            yield table, _spellings(model, table)
        return
    with _read_twice(Path(path)) as again:
        with open_table(again, declared) as table:
            spelled = _spellings(model, table)
        with open_table(again, declared) as table:
            yield table, spelled


def _spellings(
    model: SavedModel | SavedLinearModel | SavedMulticlassModel, table: TableReader
) -> TextTable:
    """Return each text of the target column once, in order; no column where there is none."""
    target = None if model.schema is None else model.schema.target.column
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
  opdisc predict card.json applicants.csv --reasons 3 --points --out scored.parquet
  opdisc predict card.json applicants.csv | head -3
  gunzip -c applicants.csv.gz | opdisc predict card.json - > scored.csv
  opdisc predict card.json --table applicants --database bank.duckdb --out scored.parquet
""",
)
@click.argument("model", type=click.Path(path_type=Path), callback=from_input)
@click.argument("data", type=click.Path(path_type=Path), required=False, callback=from_input)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="CSV file to write, Parquet if it ends in .parquet; else, or with -, printed.",
)
@click.option(
    "--reasons",
    type=click.IntRange(0, MOST_REASONS),
    default=0,
    metavar="N",
    help="Add columns with the N statements that cost a row most.",
)
@click.option("--points", is_flag=True, help="Add a column with the points of each statement.")
@named_table_option
@database_option
@reading_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def predict(
    model: Path,
    data: Path | None,
    table_name: str | None,
    database: str | None,
    out: Path | None,
    reasons: int,
    points: bool,
    as_json: bool,
    **arguments: Any,
) -> None:
    """Predict every row of the table in the file DATA, or in --database, with the saved MODEL.

    Writes the input's columns and rows in their order (a database's in the order in which it gives
    them), and columns of its own: prediction, total
    and, of a logistic card or one that bought rates, probability: that of the label from the
    threshold on. Labels are spelled as in your table, else as in the schema. Cards for several
    classes have a total_1, total_2 and so on. Linear models have a prediction only.
    """
    place, named_table = stated_name(data, database, table_name)
    saved = load_model(model)
    require_one_form(out, as_json)
    if out == STANDARD_OUTPUT:
        out = None
    if out is not None:
        check_output(out, inputs=[model, place])
    rows = 0
    found: dict[str, list[Any]] = {}
    asked: dict[str, Any] = {"reasons": reasons, "points": points}
    reading = taken_reading(arguments) | named_table
    with written_parts(out, as_json) as write:
        for part in predict_file(saved, place, **asked, **reading):
            write(part)
            rows += part.n_rows
            if as_json:
                for name, column in part.own.items():
                    found.setdefault(name, []).extend(column.tolist())
    if as_json:
        predictions, *_ = found.values()
        written = {} if out is None else {"out": str(out)}
        print_json({"rows": rows, "predictions": predictions, "columns": found, **written})
    elif out is not None:
        print_text(f"{rows:,} rows with their predictions written to {out}\n")
