r"""Processor time and memory of reading a CSV file: as a stream of chunks, and as a whole table.

    python benchmarks/streaming.py --rows 1000000 5000000 20000000 \
        --save benchmarks/results/files/reading.toml && python benchmarks/pages.py

Writes a made-up table of ten columns, of which the schema reads nine, into a temporary directory;
each way of reading runs in a process of its own. "whole" is the reader before streaming came: all
rows as lists, then a DataFrame of text, then the encoding. It is run up to 5 million rows.
"""

from __future__ import annotations

import argparse
import csv
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from result_files import save

SCHEMA = """
name = "streaming"
missing_values = ["NA"]
target = { column = "default", positive = "yes", negative = "no" }
feature = [
    { column = "age", thresholds = [25, 35, 45, 55, 65], range = [0, 120] },
    { column = "income", thresholds = [20000, 40000, 80000], range = [0, 200000] },
    { column = "hours", thresholds = [20, 40], range = [0, 100] },
    { column = "sex", categories = ["m", "f"] },
    { column = "job", categories = ["clerk", "nurse", "driver", "teacher", "builder"] },
    { column = "region", categories = ["north", "south", "east"] },
    { column = "debt", thresholds = [1000.5, 5000, 20000], range = [0, 100000] },
    { column = "smoker", binary = true },
]
"""
_LARGEST_WHOLE = 5_000_000
_BLOCK = 100_000


def write_table(path: Path, n_rows: int) -> None:
    """Write rows at random; nothing about them is private."""
    rng = np.random.default_rng(0)
    line = "%d,%d,%d,%d,%s,%s,%s,%.2f,%s,%s"
    with path.open("w") as file:
        file.write("id,age,income,hours,sex,job,region,debt,smoker,default\n")
        for first in range(0, n_rows, _BLOCK):
            n = min(_BLOCK, n_rows - first)
            columns = [
                np.arange(first, first + n),
                rng.integers(18, 95, n),
                rng.integers(5_000, 150_000, n),
                rng.integers(0, 80, n),
                rng.choice(["m", "f"], n),
                rng.choice(["clerk", "nurse", "driver", "teacher", "builder", "none"], n),
                rng.choice(["north", "south", "east", "west"], n),
                rng.exponential(5_000, n),
                rng.choice(["0", "1", "", "NA"], n),
                rng.choice(["yes", "no"], n),
            ]
            rows = zip(*(column.tolist() for column in columns), strict=True)
            file.write("\n".join(map(line.__mod__, rows)) + "\n")


def read_as_stream(path: Path, schema: Path) -> int:
    import opdisc

    return len(opdisc.count_rows(path, schema).points)


def read_whole(path: Path, schema: Path) -> int:
    import pandas as pd

    from opdisc.data import load_schema
    from opdisc.data.encoded_table import encode

    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, strict=True)
        header, rows = next(reader), []
        for row in reader:
            if len(row) != len(header):
                raise SystemExit("a line has another number of cells")
            rows.append(row)
    return len(encode(pd.DataFrame(rows, columns=header, dtype="str"), load_schema(schema)).points)


def count_lines(path: Path, schema: Path) -> int:
    from opdisc.data import count_lines

    return count_lines(path)


WAYS = {"stream": read_as_stream, "whole": read_whole, "lines": count_lines}
TITLES = {"lines": "number of rows only (`plan`)"}


def measure(way: str, path: Path, schema: Path) -> list[str]:
    """Return processor seconds, memory and what was found, measured in a new process."""
    command = [sys.executable, __file__, "--way", way, str(path), str(schema)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip().split(" | ")


def run_way(way: str, path: Path, schema: Path) -> None:
    import opdisc

    assert opdisc.PrivateScorecardClassifier  # loads what every command loads: not part of reading

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime

    before = used()
    found = WAYS[way](path, schema)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{used() - before:.1f} | {peak:,.0f} | {found:,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--way", nargs=3, metavar=("WAY", "PATH", "SCHEMA"), help="internal")
    parser.add_argument("--save", type=Path, help="result file to write")
    arguments = parser.parse_args()
    if arguments.way:
        way, path, schema = arguments.way
        run_way(way, Path(path), Path(schema))
        return
    print("| rows | way | processor seconds | peak MiB | found |")
    print("|---:|---|---:|---:|---:|")
    saved = []
    with tempfile.TemporaryDirectory() as folder:
        path, schema = Path(folder, "table.csv"), Path(folder, "schema.toml")
        schema.write_text(SCHEMA)
        for n_rows in arguments.rows:
            write_table(path, n_rows)
            for way in WAYS:
                if way != "whole" or n_rows <= _LARGEST_WHOLE:
                    row = [f"{n_rows:,}", TITLES.get(way, way), *measure(way, path, schema)]
                    print(f"| {' | '.join(row)} |", flush=True)
                    saved.append(row[:4])
    columns = ["rows", "way", "processor seconds", "peak MiB"]
    save(arguments.save, columns, saved, align="rlrr")


if __name__ == "__main__":
    main()
