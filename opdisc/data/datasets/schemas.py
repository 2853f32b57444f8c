"""The schemas that come with the package, by name."""

from __future__ import annotations

import os
from contextlib import suppress
from os import PathLike
from pathlib import Path

from opdisc.data.schema import Schema, did_you_mean
from opdisc.errors import SchemaError, quoted

_PACKAGE = Path(__file__).resolve().parents[2]


def shipped_schemas() -> tuple[str, ...]:
    """Names of the shipped schemas, sorted."""
    return tuple(
        sorted({path.stem for directory in _schema_dirs() for path in directory.glob("*.toml")})
    )


def schema_path(name: str) -> Path:
    """Find a shipped schema by name; "-" and "_" are the same.

    Raises
    ------
    SchemaError
        If no shipped schema has that name; the message lists those that are.
    """
    for directory in _schema_dirs():
        for spelling in (name, name.replace("-", "_"), name.replace("_", "-")):
            path = directory / f"{spelling}.toml"
            with suppress(OSError, ValueError):  # a name that no file can have
                if path.parent == directory and path.is_file():
                    return path
    shipped = shipped_schemas()
    raise SchemaError(
        f"a schema must be a TOML file or a shipped one ({', '.join(shipped)}), but "
        f"{quoted(name)} is neither{did_you_mean(name, shipped)}"
    )


def load_schema(name_or_path: str | PathLike[str]) -> Schema:
    """Load a schema file, or a shipped schema by name.

    Parameters
    ----------
    name_or_path : str or path
        A path (it ends in ".toml" or has a directory) or the name of a shipped schema.

    Raises
    ------
    SchemaError
        If there is no such schema, or it is malformed.
    """
    path = Path(name_or_path)
    if path.suffix == ".toml" or os.path.dirname(name_or_path):
        return Schema.from_toml(path)
    return Schema.from_toml(schema_path(str(name_or_path)))


def _schema_dirs() -> tuple[Path, ...]:
    # An installed wheel holds them in the package; a checkout has data next to the package.
    checkout = _PACKAGE.parent
    local = (checkout / "data",) if (checkout / "pyproject.toml").is_file() else ()
    return tuple(d for d in (_PACKAGE / "data" / "datasets" / "shipped", *local) if d.is_dir())
