"""Tables of Arrow in databases behind Ibis, and in Spark."""

import importlib.util
import itertools
import os
import shutil
import tempfile
from functools import cache

import pytest

_NUMBERS = itertools.count()

ENGINES = [
    pytest.param("polars", marks=pytest.mark.extras("narwhals", "pyarrow", "polars")),
    pytest.param("duckdb", marks=pytest.mark.extras("narwhals", "pyarrow", "duckdb")),
    pytest.param(
        "ibis",
        marks=[pytest.mark.long, pytest.mark.extras("narwhals", "pyarrow", "duckdb", "ibis")],
    ),
    pytest.param(
        "postgres",
        marks=[pytest.mark.long, pytest.mark.extras("narwhals", "pyarrow", "ibis", "psycopg")],
    ),
]
"""What counts in every run, and databases behind Ibis in parts."""

SPARK_MARKS = (pytest.mark.extras("narwhals", "pyarrow", "pyspark"), pytest.mark.slow)
"""Marks of what needs a session of Spark, which takes ten seconds to start."""


def spark_table(table):
    """Return a table of Arrow as a frame of PySpark."""
    return spark_session().createDataFrame(table)


@cache
def spark_session():
    """Return the session of this process, or skip."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs Java: Spark runs on it")
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "Asia/Tokyo",
        "spark.sql.warehouse.dir": tempfile.mkdtemp(prefix="opdisc-spark-"),
    }
    builder = SparkSession.builder.master("local[2]").appName("opdisc")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def ibis_table(table, engine, temp=True):
    """Return a table of Arrow as one of Ibis, on DuckDB or on a PostgreSQL server.

    One that is not temporary stays on the server.
    """
    connection = _connection(engine)
    name = f"opdisc_{os.getpid()}_{next(_NUMBERS)}"
    if engine == "postgres":
        return connection.create_table(name, table, temp=temp)
    connection.con.register("given", table)
    connection.con.execute(f"CREATE TABLE {name} AS FROM given")
    connection.con.unregister("given")
    return connection.table(name)


@cache
def server_url():
    """Return the URL of the server of OPDISC_POSTGRES, or of one started here, or skip."""
    if "OPDISC_POSTGRES" in os.environ:
        return os.environ["OPDISC_POSTGRES"]
    if importlib.util.find_spec("pgserver") is None:
        pytest.skip("needs a PostgreSQL server: pgserver, or its URL in OPDISC_POSTGRES")
    import pgserver

    folder = tempfile.mkdtemp(prefix="opdisc-postgres-")
    return pgserver.get_server(folder, cleanup_mode="delete").get_uri()


@cache
def _server():
    import ibis

    return ibis.connect(server_url())


def _connection(engine):
    import ibis

    if engine != "postgres":
        return ibis.duckdb.connect()
    return _server()
