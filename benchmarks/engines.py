r"""Processor time and memory of counting one Parquet file: row by row, and by engines.

    python benchmarks/engines.py --rows 1000000 3000000 \
        --save benchmarks/results/files/engines.toml && python benchmarks/pages.py

Writes a made-up table of ten columns, with 24 statements about eight, into a temporary directory.
Each way of counting runs in a process of its own, one after the other; what they count is compared
point by point. Seconds are of the processor, all threads together, imports left out.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import resource
import subprocess
import sys
import tempfile
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


def source_of(way: str, path: Path) -> object:
    if way == "polars, lazy":
        import polars

        return polars.scan_parquet(path)
    if way == "rows":
        from opdisc.data.counting import sources

        sources._add_in_place = lambda *_: False  # type: ignore[assignment]
    return path


LOADED = {
    "rows": ["pyarrow.parquet"],
    "DuckDB": ["pyarrow.parquet", "narwhals", "duckdb"],
    "polars, lazy": ["narwhals", "polars"],
}
"""Ways of counting, and what each needs."""


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
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
        schema.write_text(SCHEMA)
        for n_rows in arguments.rows:
            write_table(path, n_rows)
            first, digests = 0.0, set()
            for way in LOADED:
                command = [sys.executable, __file__, "--way", way, str(path), str(schema)]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                seconds, peak, points, digest = done.stdout.strip().split(" | ")
                first = first or float(seconds)
                digests.add(digest)
                ratio = f"{float(seconds) / first:.2f}"
                row = [f"{n_rows:,}", way, f"{float(seconds):.1f}", ratio, f"{int(peak):,}"]
                print(f"| {' | '.join(row)} | {int(points):,} points", flush=True)
                saved.append(row)
            if len(digests) != 1:
                raise SystemExit("the ways count differently")
    columns = ["rows", "counted by", "processor seconds", "of that by rows", "peak MiB"]
    save(arguments.save, columns, saved, align="rlrrr")


if __name__ == "__main__":
    main()
