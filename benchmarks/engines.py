r"""Processor time and memory of counting one table: row by row, and by engines.

    python benchmarks/engines.py --rows 1000000 3000000 \
        --save benchmarks/results/files/engines.toml && python benchmarks/pages.py
    python benchmarks/engines.py --rows 1000000 --wide --old ANOTHER_CHECKOUT

Writes a made-up table of ten columns, with 24 statements about eight, into a temporary directory;
with ``--wide`` one of sixty columns with 300 statements. Each way of counting runs in a process of
its own, one after the other; what they count is compared point by point. Seconds are of the
processor, all threads together, imports left out. ``--old`` times another checkout too, on the
same Parquet file and on the same rows as CSV.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from result_files import save
from streaming import SCHEMA

_BLOCK = 500_000


def write_table(path: Path, n_rows: int) -> None:
    """Write rows at random, typed; nothing about them is private."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    rng = np.random.default_rng(0)
    writer = None
    for first in range(0, n_rows, _BLOCK):
        n = min(_BLOCK, n_rows - first)
        block = pa.table(
            {
                "id": np.arange(first, first + n),
                "age": rng.integers(18, 95, n),
                "income": rng.integers(5_000, 150_000, n),
                "hours": rng.integers(0, 80, n),
                "sex": rng.choice(["m", "f"], n),
                "job": rng.choice(["clerk", "nurse", "driver", "teacher", "builder", "none"], n),
                "region": rng.choice(["north", "south", "east", "west"], n),
                "debt": rng.exponential(5_000, n),
                "smoker": rng.choice(["0", "1", "", "NA"], n),
                "default": rng.choice(["yes", "no"], n),
            }
        )
        writer = writer or ParquetWriter(path, block.schema)
        writer.write_table(block, row_group_size=100_000)
    if writer is not None:
        writer.close()


WIDE = "\n".join(
    [
        'name = "wide"',
        'target = { column = "default", positive = "yes", negative = "no" }',
        *(f'[[feature]]\ncolumn = "n{at}"\nthresholds = [10, 30, 50, 70, 90]' for at in range(40)),
        *(
            f'[[feature]]\ncolumn = "t{at}"\ncategories = ["a", "b", "c", "d", "e"]'
            for at in range(20)
        ),
    ]
)
"""Forty columns of numbers and twenty of texts, five statements about each."""

_KINDS = 50_000
"""Different rows of the wide table."""


def write_wide(path: Path, n_rows: int) -> None:
    """Write rows at random of 60 columns, of so many kinds; nothing about them is private."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 100, (60, _KINDS))
    letters = np.array(list("abcdef"))
    writer = None
    for first in range(0, n_rows, _BLOCK):
        n = min(_BLOCK, n_rows - first)
        kind = rng.integers(0, _KINDS, n)
        numbers = {f"n{at}": kinds[at, kind] for at in range(40)}
        texts = {f"t{at}": letters[kinds[40 + at, kind] % 6] for at in range(20)}
        block = pa.table({**numbers, **texts, "default": rng.choice(["yes", "no"], n)})
        writer = writer or ParquetWriter(path, block.schema)
        writer.write_table(block, row_group_size=100_000)
    if writer is not None:
        writer.close()


def write_as_csv(path: Path) -> Path:
    """Write a Parquet file as CSV beside it."""
    from pyarrow import csv, parquet

    written = path.with_suffix(".csv")
    file = parquet.ParquetFile(path)
    with csv.CSVWriter(written, file.schema_arrow) as writer:
        for batch in file.iter_batches(100_000):
            writer.write_batch(batch)
    return written


def source_of(way: str, path: Path) -> object:
    if way == "polars, lazy":
        import polars

        return polars.scan_parquet(path)
    if way.startswith("CSV"):
        return path.with_suffix(".csv")
    if way == "rows":
        from opdisc.data.counting import sources

        sources._add_in_place = lambda *_: False  # type: ignore[assignment]
    return path


LOADED = {
    "rows": ["pyarrow.parquet"],
    "DuckDB": ["pyarrow.parquet", "narwhals", "duckdb"],
    "polars, lazy": ["narwhals", "polars"],
    "CSV": [],
    "rows, old": ["pyarrow.parquet"],
    "CSV, old": [],
}
"""Ways of counting, and what each needs; the last three only beside another checkout."""

_USUAL = ("rows", "DuckDB", "polars, lazy")


def run_way(way: str, path: Path, schema: Path) -> None:
    import opdisc

    assert opdisc.PrivateScorecardClassifier  # loads what every command loads
    for name in LOADED[way]:
        importlib.import_module(name)

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime

    before = used()
    counts = opdisc.count_rows(source_of(way, path), str(schema))
    seconds = used() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    arrays = (counts.points, counts.positives, counts.negatives)
    digest = hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()
    print(f"{seconds:.2f} | {peak:.0f} | {len(counts.points)} | {digest}")


def apart(write: Callable[..., object], *given: object) -> None:
    """Write a table in a process of its own: what it takes would count as every child's peak."""
    process = multiprocessing.get_context("spawn").Process(target=write, args=given)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit("the table could not be written")


def chosen_ways(arguments: argparse.Namespace) -> list[str]:
    """Return the ways that are timed, the one that the others are compared with first."""
    if arguments.ways:
        return list(arguments.ways)
    return list(_USUAL) if arguments.old is None else ["rows, old", *_USUAL, "CSV, old", "CSV"]


def measured(
    n_rows: int, ways: list[str], path: Path, schema: Path, old: Path | None
) -> list[list[str]]:
    """Return a line for each way of counting; stop if two ways count differently."""
    first, digests, lines = 0.0, set(), []
    for way in ways:
        command = [sys.executable, __file__, "--way", way, str(path), str(schema)]
        environment = dict(os.environ)
        if way.endswith("old") and old is not None:
            environment["PYTHONPATH"] = str(old.resolve())
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        seconds, peak, points, digest = done.stdout.strip().split(" | ")
        first = first or float(seconds)
        digests.add(digest)
        ratio = f"{float(seconds) / first:.2f}"
        line = [f"{n_rows:,}", way, f"{float(seconds):.1f}", ratio, f"{int(peak):,}"]
        print(f"| {' | '.join(line)} | {int(points):,} points", flush=True)
        lines.append(line)
    if len(digests) != 1:
        raise SystemExit("the ways count differently")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--wide", action="store_true", help="300 statements about 60 columns")
    parser.add_argument("--ways", nargs="+", choices=list(LOADED), help="only these")
    parser.add_argument("--old", type=Path, metavar="ROOT", help="another checkout to time too")
    parser.add_argument("--way", nargs=3, metavar=("WAY", "PATH", "SCHEMA"), help="internal")
    parser.add_argument("--save", type=Path, help="result file to write")
    arguments = parser.parse_args()
    if arguments.way:
        way, path, schema = arguments.way
        run_way(way, Path(path), Path(schema))
        return
    saved = []
    with tempfile.TemporaryDirectory() as folder:
        path, schema = Path(folder, "table.parquet"), Path(folder, "schema.toml")
        schema.write_text(WIDE if arguments.wide else SCHEMA)
        for n_rows in arguments.rows:
            apart(write_wide if arguments.wide else write_table, path, n_rows)
            if arguments.old is not None:
                apart(write_as_csv, path)
            saved += measured(n_rows, chosen_ways(arguments), path, schema, arguments.old)
    columns = ["rows", "counted by", "processor seconds", "of that by rows", "peak MiB"]
    save(arguments.save, columns, saved, align="rlrrr")


if __name__ == "__main__":
    main()
