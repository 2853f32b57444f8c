"""Cells of every type on which engines differ, and what the reader of rows says of each."""

import datetime
import decimal
import random
from dataclasses import replace

from opdisc.data.counting.texts import ChunkEncoder
from opdisc.data.packing import unpack_rows
from opdisc.data.reading import frame_reader
from opdisc.errors import TableError

REFUSED = "refused"

FEATURES = {
    "numbers": {"column": "x", "thresholds": [-0.35, 0, 1, 7, 38.3], "missing": ["-9", "NA"]},
    "huge": {"column": "x", "thresholds": [-(2.0**63), 2.0**53 + 4, 2.0**63, 1e300]},
    "codes": {
        "column": "x",
        "categories": [
            *("7", "0", "1", "-9", "38.3", "16777217", "c", "a b", "C\u00f3rdoba", "inf"),
            *("2024-01-02", "2024-01-02 10:30:00", "2024-01-02 10:30:05.25", "x.y*[z]^"),
        ],
        "missing": ["?", "8", "n a"],
    },
    "else": {"column": "x", "categories": ["c", {"name": "none", "values": ["7"]}],
             "missing": "none"},
    "texts": {"column": "x", "text": True, "categories": ["5", "05", "5.0", "True", "c"]},
    "binary": {"column": "x", "binary": True, "missing": ["9"]},
    "sides": {"column": "x", "binary": {"one": ["Yes", "c"], "zero": ["No", ""]}},
}  # fmt: skip

TARGETS = {
    "two": {"column": "y", "positive": "yes", "negative": "no"},
    "other": {"column": "y", "positive": "yes", "negative": "*"},
    "numbers": {"column": "y", "positive": 1, "negative": 0},
}

TEXTS = (
    "", " ", "7", "7.0", "+7", "07", "7.", ".7e1", "7e0", " 7", "7 ", "\t7", "7\n", "7\r\n",
    "7\u00a0", "7\u2003", "7\u001f", "\ufeff7", "7\u200b", "-0", "-0.0", "0.0", "+0", "-7",
    "-0.35", "38.3", "38.30", "38.300000000000004", "38.29999999999999999999999999", "NA", "na",
    "?", "8", "8.0", "n a", "n  a", "N/A", "nan", "NaN", "inf", "-inf", "Infinity", "1e400",
    "1e-400", "null", "1_000", "0x10", "7d", "7f", "\uff17", "7x", "7-", "7 7", "true", "True",
    "TRUE", "tRUE", "t", "yes", "Yes", "YES", "no", "No", "1", "1.0", "01", "9", "9.0", "-9",
    "c", "C", " c", "c ", "cc", "a b", "a  b", "a\u00a0b", "a\nb", "A b", "Co\u0301rdoba",
    "C\u00f3rdoba", "Cordoba", "x.y*[z]^", "x_y*[z]^", "05", "5", "5.0", "5.", "2024-01-02",
    "2024-01-02 00:00", "2024-01-02T00:00:00", "2024-01-02 10:30", "2024-01-02T10:30:00.000",
    "2024-01-02 10:30:05.250", "2024-01-03", "5.397605346934028e-79", "-5.397605346934028e-79",
    "9007199254740995", "9007199254740996", "9223372036854775808", "1" * 41, "0." + "3" * 50,
    "\0", "c\0", "'", "\"", "\\", "%", "_", "-", ".", "--", "\\n", "<na>", "#N/A", "16777216",
    "16777217", "-7.5", "1e5", "100000",
)  # fmt: skip

_PARTS = (
    *"0123456789+-.eE_xXdf ", "\t", "\n", "\u00a0", "\u2003", "\u0085", "\ufeff", "7", "7", "9",
    "38.3", "00", "true", "True", "FALSE", "c", "C", "yes", "no", "NA", "?", "\u0301", "o", "nan",
    "inf", "2024-01-02", "T", "10:30", ":05.25", "\uff17", "e5", "1e", "\\", "[z]", "*",
)  # fmt: skip


def made_up_texts(number, seed=0):
    """Return texts of a few parts of hostile ones."""
    choose = random.Random(seed)
    return ["".join(choose.choices(_PARTS, k=choose.randrange(1, 5))) for _ in range(number)]


def cells(number=0):
    """Return columns of Arrow by the name of their type, each with hostile cells and a null."""
    import numpy as np
    import pyarrow as pa

    whole = [0, 1, -1, 7, 8, 9, -9, 38, 39, 127, -128]
    far = [2**53 + step for step in range(-3, 8)] + [2**63 - 1, 2**63 - 513, -(2**63), 16777217]
    real = [0.0, -0.0, 7.0, 38.3, 38.30000000000001, 38.29999999999999, -0.35, -9.0, 8.0, 1.0, 0.5,
            float("nan"), float("inf"), float("-inf"), 2.0**53 + 4, 1e300, 2.0**-260, -(2.0**-260),
            2.0**63, 5e-324, 9.0, 16777216.0, 5.0]  # fmt: skip
    choose = random.Random(number)
    real += [choose.choice((38.3, 7, -0.35)) * (1 + choose.randrange(-9, 9) * 2.0**-24)
             for _ in range(number // 10)]  # fmt: skip
    days = [datetime.date(2024, 1, 2), datetime.date(2024, 1, 3), datetime.date.min,
            datetime.date.max, datetime.date(1969, 12, 31)]  # fmt: skip
    moments = [
        datetime.datetime(2024, 1, 2, *time) for time in ((), (10, 30), (10, 30, 5, 250000))
    ]
    moments += [datetime.datetime(2024, 1, 2, 10, 30, 5, 251000), datetime.datetime(1960, 5, 5, 1)]
    signed = {
        f"int{bits}": [w for w in whole if -(2 ** (bits - 1)) <= w < 2 ** (bits - 1)]
        for bits in (8, 16, 32, 64)
    }
    unsigned = {f"uint{bits}": [w for w in whole if w >= 0] for bits in (8, 16, 32, 64)}
    signed["int64"] += far
    unsigned["uint64"] += [*far[:12], 2**64 - 1, 2**63, 2**63 - 512]
    small = [decimal.Decimal(text) for text in ("0", "-0.35", "7", "38.30", "38.29", "-9", "8")]
    narrow = [None, *(np.float32(value) for value in real if abs(value) < 1e38 or value != value)]
    texts = [None, *TEXTS, *made_up_texts(number)]
    return {
        **{
            kind: pa.array([None, *numbers], getattr(pa, kind)())
            for kind, numbers in (signed | unsigned).items()
        },
        "float64": pa.array([None, *real], pa.float64()),
        "float32": pa.array([*narrow, np.float32("inf")], pa.float32()),
        "bool": pa.array([True, False, None]),
        "decimal5": pa.array([None, *small], pa.decimal128(5, 2)),
        "decimal15": pa.array([None, *small, decimal.Decimal("999999999.123456")],
                              pa.decimal128(15, 6)),
        "date": pa.array([None, *days], pa.date32()),
        "ms": pa.array([None, *moments], pa.timestamp("ms")),
        "us": pa.array([None, *moments, moments[0] + datetime.timedelta(microseconds=1)],
                       pa.timestamp("us")),
        "text": pa.array(texts, pa.string()),
        "blank": pa.array([None, ""], pa.string()),
    }  # fmt: skip


def reader_says(schema, table):
    """Return, for each row of a table of Arrow, its statements and its label, or REFUSED."""
    encoder = ChunkEncoder(schema)
    reader = frame_reader(table)
    at = [reader.header.index(name) for name in encoder.columns]
    return [said for chunk in reader.chunks(at) for said in _chunk_says(encoder, schema, chunk)]


def _chunk_says(encoder, schema, chunk):
    try:
        words, labels = encoder.packed(chunk)
    except TableError:
        half = chunk.n_rows // 2
        if not half:
            return [REFUSED]
        parts = [
            replace(chunk, n_rows=len(range(chunk.n_rows)[part]),
                    cells=tuple(column[part] for column in chunk.cells))
            for part in (slice(half), slice(half, None))
        ]  # fmt: skip
        return [said for part in parts for said in _chunk_says(encoder, schema, part)]
    rows = unpack_rows(words, 1 + schema.n_columns).tolist()
    return [(*row[1:], label) for row, label in zip(rows, labels.tolist(), strict=True)]
