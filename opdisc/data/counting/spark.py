"""Frames of Spark: the types whose cells it compares exactly, and its logs, which quote cells."""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

CLASSIC = "pyspark.sql.classic.dataframe"
"""The module of frames whose session runs beside this process, from PySpark 4 on."""

_COMPARED = re.compile(
    r"boolean|tinyint|smallint|int|bigint|float|double|decimal\([0-9]+,[0-9]+\)|string"
)
"""Types of Spark whose cells it compares as the reader of rows does.

A moment is compared in the time zone of a session. PySpark 4.3 writes no date before the year 1000
as a value, so days that Python has not cannot be told. A collation follows the word ``string``.
"""


def uncompared(frame: Any) -> Mapping[str, bool]:
    """Return, of each column of a frame of Spark, whether its type is none that is exact."""
    return {
        field.name: _COMPARED.fullmatch(field.dataType.simpleString()) is None
        for field in frame.schema
    }


@contextmanager
def silent(session: Any) -> Iterator[None]:
    """Let Spark write nothing to its logs: what it says of a fault holds the cell.

    After a fault its log stays off, since other tasks may fail later at other cells.
    """
    getter = importlib.import_module("pyspark.logger").PySparkLogger.getLogger
    loggers = [getter(f"{kind}QueryContextLogger") for kind in ("DataFrame", "SQL")]
    context = session.sparkContext
    root = context._jvm.org.apache.logging.log4j.LogManager.getRootLogger()
    level = root.getLevel().toString()
    for logger in loggers:
        logger.addFilter(_nothing)
    context.setLogLevel("OFF")
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(_nothing)
    context.setLogLevel(level)


def _nothing(_: logging.LogRecord) -> bool:
    return False
