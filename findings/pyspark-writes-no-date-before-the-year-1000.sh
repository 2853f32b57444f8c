#!/usr/bin/env bash
# PySpark 4.3.0 cannot compare a column with a date before the year 1000 where the C library is that of Linux: lit(date)
# spells it with strftime("%Y-%m-%d"), which pads no year there, and Java takes "999-12-31" for no date. The error has no
# text. The same day in a frame, or spelled in SQL, is read and compared; so are datetimes of that year.
# Expected was a literal, as of every date that Python and Spark have both (Spark begins with the year 1). Met here: whether
# a day lies within those that Python has is asked of every column of dates, and begins with the first of January of year 1.
# What opdisc does: it refuses columns of dates in frames of PySpark by their type.
set -euo pipefail
command -v java > /dev/null || { echo "needs Java"; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pyspark==4.3.0 2> /dev/null
cd "$folder"
"$folder/venv/bin/python" - 2> "$folder/log" <<'PYTHON'
import datetime
import platform

import pyspark
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession
from pyspark.sql import functions as of

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
print(f"pyspark {pyspark.__version__}, {platform.libc_ver()[0]} {platform.libc_ver()[1]}")
days = [datetime.date(999, 12, 31), datetime.date(1000, 1, 1), datetime.date(2026, 11, 29)]
frame = spark.createDataFrame([(day,) for day in days], "day date")
print("held:", [row.day.isoformat() for row in frame.collect()])
print("by SQL:", frame.where("day = DATE '0999-12-31'").count(), "row is the last day of 999; expected 1")
found = []
for day in days:
    try:
        found.append(frame.where(of.col("day") == of.lit(day)).count())
    except IllegalArgumentException as error:
        found.append(f"{type(error).__name__}, text {str(error)!r}")
    print(f"== lit({day.isoformat()}):", found[-1], "expected 1")
assert frame.where("day = DATE '0999-12-31'").count() == 1
assert found[1:] == [1, 1] and str(found[0]).startswith("IllegalArgumentException"), "pyspark has changed"
PYTHON
