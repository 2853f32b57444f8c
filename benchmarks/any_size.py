r"""Processor time and memory of counting a Parquet file of any size.

    python benchmarks/any_size.py --rows 1000000 10000000 100000000 \
        --save benchmarks/results/files/any-size.toml && python benchmarks/pages.py

Writes a made-up table of six columns, with 38 statements about five, into a temporary directory or
``--folder``, row group by row group: 30,000 points, all of which occur. DuckDB counts each file in
a process of its own; what ``--against`` names counts it too, and must find the same points and
counts. 100 million rows take 1.5 GB of disk.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import engines
import numpy as np
from result_files import save

SCHEMA = """
name = "any-size"
target = { column = "default", positive = "yes", negative = "no" }
[[feature]]
column = "age"
thresholds = [10, 20, 30, 40, 50, 60, 70, 80, 90]
[[feature]]
column = "income"
thresholds = [10, 20, 30, 40, 50, 60, 70, 80, 90]
[[feature]]
column = "hours"
thresholds = [10, 20, 30, 40, 50, 60, 70, 80, 90]
[[feature]]
column = "job"
categories = ["clerk", "nurse", "driver", "teacher", "builder", "none"]
[[feature]]
column = "region"
categories = ["north", "south", "east", "west", "middle"]
"""
"""Ten ranges of three numbers, six jobs and five regions: 30,000 points."""

_TEXTS = {
    "job": ["clerk", "nurse", "driver", "teacher", "builder", "none"],
    "region": ["north", "south", "east", "west", "middle"],
    "default": ["yes", "no"],
}

_GROUP = 1_000_000


def write_table(path: Path, n_rows: int) -> None:
    """Write rows at random, the same each time; nothing about them is private."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    rng = np.random.default_rng(0)
    numbers = [
        pa.field("age", pa.int8()),
        pa.field("income", pa.float64()),
        pa.field("hours", pa.int32()),
    ]
    texts = [pa.field(name, pa.dictionary(pa.int8(), pa.string())) for name in _TEXTS]
    # Without the schema of Arrow the texts are texts to every reader.
    with ParquetWriter(path, pa.schema(numbers + texts), store_schema=False) as writer:
        for first in range(0, n_rows, _GROUP):
            n = min(_GROUP, n_rows - first)
            columns = [
                pa.array(rng.integers(0, 100, n, dtype=np.int8)),
                pa.array(rng.integers(0, 10_000, n) / 100),
                pa.array(rng.integers(0, 100, n, dtype=np.int32)),
                *(
                    pa.DictionaryArray.from_arrays(
                        rng.integers(0, len(values), n, dtype=np.int8), pa.array(values)
                    )
                    for values in _TEXTS.values()
                ),
            ]
            writer.write_table(pa.table(columns, schema=writer.schema), row_group_size=n)


def counted(way: str, path: Path, schema: Path) -> tuple[float, int, int, str]:
    """Return processor seconds, peak MiB, points and a digest of points and counts."""
    command = [sys.executable, engines.__file__, "--way", way, str(path), str(schema)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, peak, points, digest = done.stdout.strip().split(" | ")
    return float(seconds), int(peak), int(points), digest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--against", choices=list(engines.LOADED), help="count by this way too")
    parser.add_argument("--folder", type=Path, help="where the files go")
    parser.add_argument("--save", type=Path, help="result file to write")
    arguments = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        path, schema = Path(folder, "table.parquet"), Path(folder, "schema.toml")
        schema.write_text(SCHEMA)
        for n_rows in arguments.rows:
            engines.apart(write_table, path, n_rows)
            seconds, peak, points, digest = counted("DuckDB", path, schema)
            size = path.stat().st_size / 1e6
            lines.append(
                [
                    f"{n_rows:,}",
                    f"{size:,.0f}",
                    f"{seconds:.1f}",
                    f"{seconds / n_rows * 1e6:.2f}",
                    f"{peak:,}",
                    f"{points:,}",
                ]
            )
            print(f"| {' | '.join(lines[-1])} |", flush=True)
            if arguments.against and counted(arguments.against, path, schema)[2:] != (
                points,
                digest,
            ):
                raise SystemExit("the ways count differently")
    columns = ["rows", "file, MB", "processor seconds", "per million rows", "peak MiB", "points"]
    save(arguments.save, columns, lines, align="rrrrrr")


if __name__ == "__main__":
    main()
