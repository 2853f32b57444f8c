"""The text of a schema file, read within limits: a file from anywhere must end in a sentence."""

from __future__ import annotations

import re
import tomllib
from os import PathLike
from typing import Any

from opdisc.data.files import read_bounded
from opdisc.errors import SchemaError

_LARGEST_FILE = 2**20

_MOST_DOTS = 100

_PIECES = re.compile(r"[={,\n]")

_NEXT_PART = re.compile(r"\.[ \t]*[\w\"'-]")


def read_toml(path: str | PathLike[str]) -> dict[str, Any]:
    """Return what a TOML file says.

    Raises
    ------
    SchemaError
        If the file cannot be read, is larger than 1 MiB, nests its keys too deep, or is not TOML.
    """
    try:
        data = read_bounded(path, _LARGEST_FILE)
        if len(data) > _LARGEST_FILE:
            raise SchemaError(f"a schema file must be at most 1 MiB, but {path} is larger")
        text = data.decode("utf-8-sig")
        # The reader's time grows with the square of a key's parts: minutes for 64 KiB of "a.a.a".
        if any(len(_NEXT_PART.findall(piece)) > _MOST_DOTS for piece in _PIECES.split(text)):
            raise SchemaError(f"a schema file must have short keys, but {path} nests them deep")
        return tomllib.loads(text.replace("\r\n", "\n").replace("\r", "\n"))
    except SchemaError:
        raise
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SchemaError(f"a schema file must be readable, but {path} is not: {reason}") from None
    except RecursionError:
        raise SchemaError(f"a schema file must be flat, but {path} nests values") from None
    except ValueError as error:
        raise SchemaError(f"a schema file must be UTF-8 TOML, but {path}: {error}") from None
