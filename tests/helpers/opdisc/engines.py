"""Tables of Arrow in databases behind Ibis."""

import itertools
import os
from functools import cache

import pytest

_NUMBERS = itertools.count()


def ibis_table(table, engine, temp=True):
    """Return a table of Arrow as one of Ibis, on DuckDB or on the server of OPDISC_POSTGRES.

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


def server_url():
    """Return the URL of the server of OPDISC_POSTGRES."""
    if "OPDISC_POSTGRES" not in os.environ:
        pytest.skip("needs a PostgreSQL server: its URL in OPDISC_POSTGRES")
    return os.environ["OPDISC_POSTGRES"]


@cache
def _server():
    import ibis

    return ibis.connect(server_url())


def _connection(engine):
    import ibis

    if engine != "postgres":
        return ibis.duckdb.connect()
    return _server()
