"""Tables of Arrow in databases behind Ibis."""

import importlib.util
import itertools
import os
import tempfile
from functools import cache

import pytest

_NUMBERS = itertools.count()


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
