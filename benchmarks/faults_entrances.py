"""Each kind of cell through each entrance: what is made of it, and where two entrances differ.

A cell is declared as a category, and "gone" as the one that a missing cell counts as. So every
entrance says one of four things: the cell is the declared value, another value, missing; or it is
refused. docs/cells.md is the table of what they say.
"""

from __future__ import annotations

import csv
import datetime
import sqlite3
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from opdisc import PrivateScorecardClassifier, Schema, count_rows, read_table
from opdisc.data import as_table, encode_features
from opdisc.errors import TableError
from opdisc.models import SavedModel, card_python, card_sql_text

DECLARED, OTHER, MISSING, REFUSED = "declared", "other", "missing", "refused"

SAS_ZERO = 2.0**-260


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One kind of cell.

    Parameters
    ----------
    name : str
        What the page calls it.
    value : object
        The cell as Python holds it.
    declared : str, int or float
        What the schema declares.
    verdict : str
        What every entrance makes of it.
    """

    name: str
    value: Any
    declared: str | int | float
    verdict: str = DECLARED


CELLS = (
    Cell(name="text", value="now", declared="now"),
    Cell(name="another text", value="Now", declared="now", verdict=OTHER),
    Cell(name="white space around", value=" \tnow ", declared="now"),
    Cell(name="no-break space around", value="\u00a0now\u202f", declared="now"),
    Cell(name="no-break space within", value="New\u00a0York", declared="New York"),
    Cell(name="two spaces within", value="New  York", declared="New York"),
    Cell(name="no-break space declared", value="New York", declared="New\u00a0York"),
    Cell(name="accent apart", value="Co\u0301rdoba", declared="C\u00f3rdoba"),
    Cell(name="accent declared apart", value="C\u00f3rdoba", declared="Co\u0301rdoba"),
    Cell(name="quotation mark within", value='a "b" c', declared='a "b" c'),
    Cell(name="comma within", value="a, b", declared="a, b"),
    Cell(name="line break within", value="a\nb", declared="a b"),
    Cell(name="empty text", value="", declared="now", verdict=MISSING),
    Cell(name="blank text", value=" \u00a0", declared="now", verdict=MISSING),
    Cell(name="None", value=None, declared="now", verdict=MISSING),
    Cell(name="NaN", value=float("nan"), declared="now", verdict=MISSING),
    Cell(name="NaT", value=pd.NaT, declared="now", verdict=MISSING),
    Cell(name="NA", value=pd.NA, declared="now", verdict=MISSING),
    Cell(name="integer", value=7, declared=7),
    Cell(name="whole double", value=7.0, declared=7),
    Cell(name="text of a whole double", value="7.0", declared=7),
    Cell(name="integer declared as text", value=7, declared="7.0"),
    Cell(name="code with zeros", value="007", declared="007"),
    Cell(name="another code", value="007", declared=7, verdict=OTHER),
    Cell(name="double", value=38.3, declared=38.3),
    Cell(name="number of 4 bytes", value=np.float32(38.3), declared=38.3),
    Cell(name="decimal", value=Decimal("38.30"), declared=38.3),
    Cell(name="negative number", value=-7, declared=-7),
    Cell(name="zero", value=0, declared=0),
    Cell(name="zero of read_sas", value=SAS_ZERO, declared=0),
    Cell(name="true", value=True, declared=1),
    Cell(name="false", value=False, declared=0),
    Cell(name="date", value=datetime.date(2024, 1, 2), declared="2024-01-02"),
    Cell(name="midnight", value=datetime.datetime(2024, 1, 2), declared="2024-01-02"),
    Cell(name="midnight as text", value="2024-01-02T00:00:00", declared="2024-01-02"),
    Cell(name="date, midnight declared", value="2024-01-02", declared="2024-01-02 00:00"),
    Cell(
        name="moment",
        value=datetime.datetime(2024, 1, 2, 10, 30),
        declared="2024-01-02 10:30",
    ),
    Cell(
        name="moment with a T",
        value=datetime.datetime(2024, 1, 2, 10, 30, 5, 250_000),
        declared="2024-01-02T10:30:05.25",
    ),
    Cell(
        name="another date", value=datetime.date(2024, 1, 3), declared="2024-01-02", verdict=OTHER
    ),
    Cell(name="time of day", value=datetime.time(10, 30), declared="10:30:00"),
    Cell(
        name="unique identifier",
        value=uuid.UUID(int=7),
        declared="00000000-0000-0000-0000-000000000007",
    ),
    Cell(name="bytes", value=b"now", declared="now", verdict=REFUSED),
    Cell(name="list", value=["now"], declared="now", verdict=REFUSED),
    Cell(
        name="duration",
        value=datetime.timedelta(days=1),
        declared="1 day, 0:00:00",
        verdict=REFUSED,
    ),
)


class Unheld(Exception):
    """A container cannot hold a cell."""


def _schema(declared: str | int | float) -> Schema:
    feature = {
        "column": "x",
        "categories": [
            {"name": "declared", "values": [declared]},
            {"name": "gone", "values": ["gone"]},
        ],
        "missing": "gone",
    }
    return Schema.from_dict(
        {
            "name": "cells",
            "target": {"column": "ill", "positive": 1, "negative": 0},
            "feature": [feature],
        }
    )


def model_of(cell: Cell) -> SavedModel:
    """Return a card that gives 1 point to the declared value and 2 to a missing one."""
    schema = _schema(cell.declared)
    made = _fitted()
    receipt = msgspec.structs.replace(
        made.receipt, schema_digest=schema.digest(), weights=((0,), (1,), (2,))
    )
    card = msgspec.structs.replace(
        made.scorecard, columns=schema.column_names, points=(1, 2), start=0
    )
    return SavedModel(scorecard=card, schema=schema, receipt=receipt)


@cache
def _fitted() -> SavedModel:
    schema = _schema("now")
    rows = pd.DataFrame({"x": ["gone", "else"] * 5, "ill": ["1", "0"] * 5})
    fitted = PrivateScorecardClassifier(schema=schema, epsilon=1.0, random_state=0)
    return fitted.fit(rows, rows["ill"]).to_model()


_SAID = {0: OTHER, 1: DECLARED, 2: MISSING, None: REFUSED}


# --- containers ----------------------------------------------------------------------------------


def in_pandas(cell: Cell, folder: Path) -> Any:
    """Return a frame whose type pandas infers."""
    return pd.DataFrame({"x": pd.Series([cell.value]), "ill": [1]})


def in_objects(cell: Cell, folder: Path) -> Any:
    """Return a frame of objects."""
    return pd.DataFrame({"x": pd.Series([cell.value], dtype=object), "ill": [1]})


def in_categories(cell: Cell, folder: Path) -> Any:
    """Return a frame of categories; a type that lists other values only is refused by itself."""
    try:
        cells = pd.Series([cell.value]).astype("category")
        if cell.verdict == OTHER:
            cells = cells.cat.add_categories([cell.declared])
        return pd.DataFrame({"x": cells, "ill": [1]})
    except TypeError:
        raise Unheld from None


def in_polars(cell: Cell, folder: Path) -> Any:
    """Return a polars frame."""
    import polars

    value = None if cell.value is pd.NaT or cell.value is pd.NA else cell.value
    kind = polars.Float32 if isinstance(value, np.float32) else None
    if isinstance(value, uuid.UUID):
        raise Unheld
    try:
        return polars.DataFrame({"x": polars.Series([value], dtype=kind), "ill": [1]})
    except (TypeError, polars.exceptions.PolarsError):
        raise Unheld from None


def in_arrow(cell: Cell, folder: Path) -> Any:
    """Return a table of Arrow."""
    import pyarrow

    value = None if cell.value is pd.NaT or cell.value is pd.NA else cell.value
    if isinstance(value, uuid.UUID):
        raise Unheld
    kind = pyarrow.float32() if isinstance(value, np.float32) else None
    return pyarrow.table({"x": pyarrow.array([value], kind), "ill": [1]})


def in_pandas_arrow(cell: Cell, folder: Path) -> Any:
    """Return a pandas frame of Arrow's types."""
    return in_arrow(cell, folder).to_pandas(types_mapper=pd.ArrowDtype)


def in_array(cell: Cell, folder: Path) -> Any:
    """Return an array of objects, which goes by place."""
    array = np.empty((1, 1), dtype=object)
    array[0, 0] = cell.value
    return array


def _is_missing(cell: Cell) -> bool:
    return not isinstance(cell.value, list) and bool(pd.isna(cell.value))


def in_csv(cell: Cell, folder: Path) -> Any:
    """Return a text file, each cell as str() has it."""
    if cell.verdict == REFUSED:
        raise Unheld
    path = folder / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [["x", "ill"], ["" if _is_missing(cell) else str(cell.value), "1"]]
        )
    return path


def in_spaced_csv(cell: Cell, folder: Path) -> Any:
    """Return a text file with quotation marks around each cell and a space before them."""
    path = in_csv(cell, folder)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    quoted = [['"' + cell.replace('"', '""') + '"' for cell in row[::-1]] for row in rows]
    path.write_text("".join(", ".join(row) + "\n" for row in quoted), encoding="utf-8")
    return path


def in_parquet(cell: Cell, folder: Path) -> Any:
    """Return a Parquet file."""
    import pyarrow
    from pyarrow import parquet

    try:
        parquet.write_table(in_arrow(cell, folder), folder / "t.parquet")
    except pyarrow.ArrowException:
        raise Unheld from None
    return folder / "t.parquet"


def in_excel(cell: Cell, folder: Path) -> Any:
    """Return a workbook."""
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["x", "ill"])
    value = None if _is_missing(cell) else cell.value
    if isinstance(value, np.float32):
        value = float(str(value))  # a workbook holds doubles
    if isinstance(value, bytes | list | uuid.UUID):
        raise Unheld  # openpyxl decodes bytes by itself
    book.active.append([value, 1])
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


def in_stata(cell: Cell, folder: Path) -> Any:
    """Return what pandas reads from a Stata file."""
    value = cell.value
    if not isinstance(value, str | int | float | np.floating | datetime.datetime):
        raise Unheld
    if isinstance(value, bool):
        raise Unheld
    frame = pd.DataFrame({"x": pd.Series([value]), "ill": [1]})
    try:
        frame.to_stata(folder / "t.dta", write_index=False, version=118)
    except (ValueError, TypeError, NotImplementedError):
        raise Unheld from None
    return pd.read_stata(folder / "t.dta")


def in_sqlite(cell: Cell, folder: Path) -> Any:
    """Return a SQLite database."""
    value = _stored(cell)
    path = folder / "t.sqlite"
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE your_table (x, ill)")
        connection.execute("INSERT INTO your_table VALUES (?, 1)", [value])
    connection.close()
    return path


def in_duckdb(cell: Cell, folder: Path) -> Any:
    """Return a DuckDB database."""
    import duckdb

    path = folder / "t.duckdb"
    path.unlink(missing_ok=True)
    value = cell.value
    if value is pd.NaT or value is pd.NA:
        value = None
    is_narrow = isinstance(value, np.float32)
    with duckdb.connect(str(path)) as connection:
        made = "CAST(CAST(? AS TEXT) AS FLOAT)" if is_narrow else "?"
        connection.execute(
            f"CREATE TABLE your_table AS SELECT {made} AS x, 1 AS ill",
            [str(value) if is_narrow else value],
        )
    return path


def _stored(cell: Cell) -> Any:
    """Return a value as SQLite holds it."""
    value = cell.value
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, np.float32):
        return float(str(value))
    if isinstance(value, datetime.date):
        return str(value)  # as its old adapters of Python did, and pandas does
    if isinstance(value, datetime.time | uuid.UUID | Decimal):
        return str(value)
    if isinstance(value, list | datetime.timedelta):
        raise Unheld
    return value


# --- entrances -----------------------------------------------------------------------------------


def _encoded(table: Any, model: SavedModel) -> int:
    row = encode_features(as_table(table, model.schema), model.schema)[0]
    return int(row[1] + 2 * row[2])


def _explained(table: Any, model: SavedModel) -> int:
    return int(model.explain(table).total)


def _counted(source: Any, model: SavedModel, **reading: Any) -> int:
    point = count_rows(source, model.schema, **reading).points[0]
    return int(point[1] + 2 * point[2])


def _read(path: Path, model: SavedModel, **reading: Any) -> int:
    return _encoded(read_table(path, **reading), model)


def _python(value: Any, model: SavedModel) -> int:
    namespace: dict[str, Any] = {}
    exec(card_python(model), namespace)  # nosec B102 # our own text
    return int(namespace["score"]({"x": value}))


def _sqlite(path: Path, model: SavedModel) -> int | None:
    with sqlite3.connect(path) as connection:
        found = connection.execute(card_sql_text(model)).fetchone()[-2]
    connection.close()
    return None if found is None else int(found)


def _duckdb(path: Path, model: SavedModel) -> int | None:
    import duckdb

    with duckdb.connect(str(path)) as connection:
        found = connection.execute(card_sql_text(model)).fetchone()[-2]
    return None if found is None else int(found)


_QUERY = "SELECT * FROM your_table"

_FRAMES: dict[str, Callable[[Cell, Path], Any]] = {
    "pandas": in_pandas,
    "objects": in_objects,
    "categories": in_categories,
    "polars": in_polars,
    "arrow": in_arrow,
    "pandas of arrow": in_pandas_arrow,
    "stata": in_stata,
}
_FILES: dict[str, tuple[Callable[[Cell, Path], Any], dict[str, Any]]] = {
    "csv": (in_csv, {}),
    "csv with spaces": (in_spaced_csv, {}),
    "parquet": (in_parquet, {}),
    "excel": (in_excel, {}),
    "sqlite": (in_sqlite, {"query": _QUERY}),
    "duckdb": (in_duckdb, {"query": _QUERY}),
}

NEEDS = {
    "polars": ("polars", "narwhals"),
    "arrow": ("pyarrow",),
    "pandas of arrow": ("pyarrow",),
    "parquet": ("pyarrow",),
    "excel": ("openpyxl",),
    "duckdb": ("duckdb",),
    "card in duckdb": ("duckdb",),
}
"""Optional packages of an entrance, by the words before a colon."""


def entrances(
    cell: Cell, model: SavedModel, folder: Path
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield each entrance by its name."""
    for name, make in _FRAMES.items():
        yield f"{name}: fit", lambda make=make: _encoded(make(cell, folder), model)
        yield f"{name}: count_rows", lambda make=make: _counted(make(cell, folder), model)
        yield f"{name}: explain", lambda make=make: _explained(make(cell, folder), model)
    for name, (make, reading) in _FILES.items():
        yield (
            f"{name}: count_rows",
            lambda make=make, reading=reading: _counted(make(cell, folder), model, **reading),
        )
        yield (
            f"{name}: read_table",
            lambda make=make, reading=reading: _read(make(cell, folder), model, **reading),
        )
    yield "array: fit", lambda: _encoded(in_array(cell, folder), model)
    yield "list of rows: fit", lambda: _encoded([[cell.value]], model)
    yield "record: explain", lambda: _explained({"x": cell.value}, model)
    yield "record: card as Python", lambda: _python(cell.value, model)
    yield "card in sqlite: SQL", lambda: _sqlite(in_sqlite(cell, folder), model)
    yield "card in duckdb: SQL", lambda: _duckdb(in_duckdb(cell, folder), model)


EXCEPTIONS = {
    ("bytes", "card in sqlite: SQL"): DECLARED,
    ("bytes", "card in duckdb: SQL"): DECLARED,
    ("list", "card in duckdb: SQL"): OTHER,
    ("duration", "card in duckdb: SQL"): OTHER,
    ("NaN", "card in duckdb: SQL"): OTHER,
}
"""A database casts what it holds to text before a card sees it."""


NAMES = (*_FRAMES, *_FILES, "array", "list of rows", "record", "card in sqlite", "card in duckdb")
"""Where a cell may stand."""


def said_of(cell: Cell, model: SavedModel, folder: Path, among: str = "") -> dict[str, str]:
    """Return what each entrance makes of a cell, but those that cannot hold it."""
    found = {}
    for name, ask in entrances(cell, model, folder):
        if not name.startswith(among):
            continue
        try:
            found[name] = _SAID[ask()]
        except Unheld:
            continue
        except (TableError, ValueError):
            found[name] = REFUSED
        except ImportError:
            continue  # an optional package
        except Exception as error:
            found[name] = f"{type(error).__name__} escapes"
    return found


def disagreements(among: str = "") -> tuple[int, list[str]]:
    """Return how many were tried, and a sentence for each that differs from the table."""
    tried, lost = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for cell in CELLS:
            found = said_of(cell, model_of(cell), Path(folder), among)
            tried += len(found)
            for name, verdict in found.items():
                expected = EXCEPTIONS.get((cell.name, name), cell.verdict)
                if verdict != expected:
                    lost.append(f"{cell.name}, {name}: {verdict}, where the table has {expected}")
    return tried, lost
