"""Machine code kept on disk, each file with a digest: damaged code is never loaded.

Numba takes its files as they are. A file that lost a part makes it raise in the midst of a search,
and one that changed may run. Here every file begins with a digest of what follows, of its own name
and of the sources. Where that does not fit, or a file cannot be read or written, the function is
compiled again in this process.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

_DIGEST_SIZE = hashlib.sha256().digest_size


class CheckedFiles(IndexDataCacheFile):
    """Numba's index and data files of one function, behind digests.

    Parameters
    ----------
    files : IndexDataCacheFile
        Where numba would keep them.
    sources : str
        Digest of everything that the machine code may come from.
    """

    def __init__(self, files: IndexDataCacheFile, sources: str) -> None:
        vars(self).update(vars(files))
        self._bound_to = f"{self._version}\n{sources}\n{self._source_stamp!r}\n".encode()

    def save(self, key: Any, data: Any) -> None:
        """Keep a function's code; the key goes with it."""
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        """Return the code that was kept for the key, or None."""
        found = super().load(key)
        return found[1] if found is not None and found[0] == key else None

    def _load_index(self) -> dict[Any, str]:
        try:
            found: dict[Any, str] = self._checked(self._index_name)
        except OSError:
            return {}
        return found

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_name, overloads)

    def _load_data(self, name: str) -> Any:
        return self._checked(name)

    def _save_data(self, name: str, data: Any) -> None:
        self._write(name, data)

    def _digest(self, name: str, text: bytes) -> bytes:
        return hashlib.sha256(self._bound_to + name.encode() + b"\n" + text).digest()

    def _checked(self, name: str) -> Any:
        """Return what a file holds; OSError, which numba expects, if it is not as written."""
        whole = Path(self._data_path(name)).read_bytes()
        text = whole[_DIGEST_SIZE:]
        if whole[:_DIGEST_SIZE] != self._digest(name, text):
            raise OSError("a file of machine code must be as it was written.")
        return pickle.loads(text)  # nosec B301 # our own file, digest checked above

    def _write(self, name: str, content: Any) -> None:
        text = self._dump(content)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(self._digest(name, text) + text)


class KeptCode(FunctionCache):
    """The machine code of one function on disk; without it, the function is compiled again.

    Parameters
    ----------
    function : callable
        The function.
    sources : str
        Digest of everything that its machine code may come from.

    Raises
    ------
    RuntimeError
        If there is no folder to keep it in.
    """

    def __init__(self, function: Callable[..., object], sources: str) -> None:
        super().__init__(function)
        self._cache_file = CheckedFiles(self._cache_file, sources)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function, or None if it must be compiled."""
        # Whatever is wrong with what was kept, compiling answers it.
        with suppress(Exception):
            return super().load_overload(sig, target_context)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled function, if that can be done."""
        with suppress(OSError):
            super().save_overload(sig, data)
