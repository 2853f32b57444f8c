"""Frames of PySpark: the same counts, types that are refused, and no cell in any log."""

import re
import sys
import traceback

import pytest
from helpers.opdisc.engines import SPARK_MARKS, spark_session, spark_table

from opdisc.data.counting import count_rows
from opdisc.data.schema import Schema
from opdisc.errors import TableError

pytestmark = list(SPARK_MARKS)
CANARY = "xq7canary"
SCHEMA = Schema.from_dict(
    {
        "name": "s",
        "target": {"column": "ill", "positive": "yes", "negative": "no"},
        "feature": [
            {"column": "age", "thresholds": [30, 40, 50, 60, 70]},
            {"column": "dose", "thresholds": [0.1, 0.2, 0.4, 0.7]},
            {"column": "ward", "categories": ["a", "b", "c", "7"], "missing": "a"},
            {"column": "smoker", "binary": True},
            {"column": "stay", "thresholds": [1, 2.5, 10]},
        ],
    }
)


def table(n_rows=20_000):
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(0)
    wards = np.array(["a", "b", "c", "7", "7.0", " b", "", "d"])
    stays = np.array(["1", "2.5", "1e1", "12", "", "+3"])
    dose = np.where(rng.random(n_rows) < 0.1, np.nan, rng.random(n_rows))
    return pa.table(
        {
            "age": pa.array(rng.integers(0, 100, n_rows), mask=rng.random(n_rows) < 0.1),
            "dose": dose,
            "ward": rng.choice(wards, n_rows),
            "smoker": rng.random(n_rows) < 0.5,
            "stay": rng.choice(stays, n_rows),
            "ill": rng.choice(["yes", "no", ""], n_rows),
        }
    )


def test_it_counts_what_the_reader_counts():
    held = table()
    expected, counts = count_rows(held, SCHEMA), count_rows(spark_table(held), SCHEMA)
    assert len(expected.points) > 1_000
    assert counts.points.tolist() == expected.points.tolist()
    assert counts.positives.tolist() == expected.positives.tolist()
    assert counts.negatives.tolist() == expected.negatives.tolist()
    assert counts.n_rows == expected.n_rows == 20_000


def test_what_spark_says_of_a_cell_is_told_to_nobody(capfd):
    from pyspark.logger import PySparkLogger

    frame = spark_table(table(50)).selectExpr(
        "age", "dose", "ward", "smoker", "stay", f"CAST(concat(ill, '{CANARY}') AS INT) AS ill"
    )
    frame = frame.selectExpr("age", "dose", "ward", "smoker", "stay", "CAST(ill AS STRING) ill")
    for kind in ("DataFrame", "SQL"):  # they write to where the first test that met them did
        for handler in PySparkLogger.getLogger(f"{kind}QueryContextLogger").handlers:
            handler.setStream(sys.stderr)
    capfd.readouterr()
    with pytest.raises(TableError) as caught:
        count_rows(frame, SCHEMA)
    told = capfd.readouterr()
    assert "run to its end on Spark" in str(caught.value)
    assert "setLogLevel puts it on" in str(caught.value)
    shown = "".join(traceback.format_exception(caught.value))
    assert CANARY not in shown + told.out + told.err
    # Asked by its owner, the same frame does say it, also where the error is caught.
    with pytest.raises(Exception, match=CANARY):
        frame.collect()
    assert CANARY in capfd.readouterr().err


@pytest.mark.parametrize(
    "changed",
    [
        "CAST('2026-01-02' AS DATE)",
        "CAST('2026-01-02' AS TIMESTAMP)",
        "CAST('2026-01-02' AS TIMESTAMP_NTZ)",
        "'a' COLLATE UTF8_LCASE",
        "CAST('a' AS BINARY)",
        "array('a')",
    ],
)
def test_a_type_that_it_compares_in_another_way_is_refused(changed):
    frame = spark_table(table(5)).selectExpr(
        "age", "dose", f"{changed} AS ward", "smoker", "stay", "ill"
    )
    with pytest.raises(TableError, match=re.escape("but 'ward' is of another type")):
        count_rows(frame, SCHEMA)


def test_two_names_that_differ_in_capital_letters_are_refused():
    spark = spark_session()
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        frame = spark_table(table(5)).selectExpr("*", "1 AS AGE")
        with pytest.raises(TableError, match="capital letters"):
            count_rows(frame, SCHEMA)
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
