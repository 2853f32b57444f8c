"""Numba's compiler behind a typed decorator."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event

from oracles.arithmetic import compile_watch
from oracles.arithmetic.machine_code import KeptCode

_KERNEL = re.compile(r"^@compiled", re.MULTILINE)

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+([^\n(]*|\([^)]*\))|import[ \t]+([^\n]+))",
    re.MULTILINE,
)

_MARK = "kernels.sha256"

_Function = TypeVar("_Function", bound=Callable[..., object])


class _Compilations(event.Listener):
    """Passes on when numba compiles, which it does only for what is not kept on disk."""

    def on_start(self, event: Any) -> None:
        """Tell that compiling begins."""
        compile_watch.begin()

    def on_end(self, event: Any) -> None:
        """Tell that compiling has ended."""
        compile_watch.end()


event.register("numba:compile", _Compilations())  # type: ignore[no-untyped-call]


def compiled(function: _Function) -> _Function:
    """Compile a function that only compiled functions call.

    Integer overflow wraps and indices are not checked: callers bound both. It allocates nothing,
    so numba need not count references.
    """
    # Without wrappers for Python callers it compiles in a fraction of the time.
    options: dict[str, Any] = {
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "error_model": "numpy",
        "_nrt": False,
    }
    return cast(_Function, numba.njit(**options)(function))


def compiled_apart(function: _Function) -> _Function:
    """Compile a function that only compiled functions call, and keep the machine code on disk.

    Another process can compile it for this one.
    """
    options: dict[str, Any] = {
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "error_model": "numpy",
        "_nrt": False,
    }
    return cast(_Function, _kept(function, options))


def compiled_entry(function: _Function) -> _Function:
    """Compile a function that Python calls, and keep the machine code on disk.

    Other threads of Python run beside it, here and in ``compiled_in_place``.
    """
    options: dict[str, Any] = {
        "no_cfunc_wrapper": True,
        "error_model": "numpy",
        "nogil": True,
    }
    return cast(_Function, _kept(function, options))


def compiled_in_place(function: _Function) -> _Function:
    """Compile a function that Python calls and that allocates nothing; keep it on disk."""
    options: dict[str, Any] = {
        "no_cfunc_wrapper": True,
        "error_model": "numpy",
        "nogil": True,
        "_nrt": False,
    }
    return cast(_Function, _kept(function, options))


def _kept(function: Any, options: dict[str, Any]) -> Any:
    """Return the compiled function, after what is on disk of older sources was removed."""
    dispatcher: Any = numba.njit(**options)(function)
    # Numba finds no folder in a read-only installation without a home directory: code is then
    # compiled in each process, and kept nowhere.
    with suppress(RuntimeError, OSError):
        kept = KeptCode(function, source_digest(_package_root()))
        drop_stale_code(Path(kept.cache_path))
        dispatcher._cache = kept
    return dispatcher


def code_on_disk(function: Any) -> bool | None:
    """Return whether machine code of a function is on disk, or None if it is kept nowhere."""
    folder = function.stats.cache_path
    if folder is None:
        return None
    return any(Path(folder).glob(f"*.{function.py_func.__name__}-*.nbc"))


@functools.cache
def drop_stale_code(folder: Path) -> None:
    """Remove machine code of other versions of the sources.

    Machine code contains every function that it calls, wherever it is defined, but numba compares
    the file of the outermost one only.

    Parameters
    ----------
    folder : Path
        Where numba keeps the machine code of this package.
    """
    mark, digest = folder / _MARK, source_digest(_package_root())
    with suppress(OSError):
        if mark.exists() and mark.read_bytes() == digest.encode():
            return
        for pattern in ("*.nbi", "*.nbc"):
            for path in folder.glob(pattern):
                path.unlink(missing_ok=True)
        mark.write_text(digest)


def _package_root() -> Path:
    """Return the folder of the outermost package that this module belongs to."""
    folder = Path(__file__).resolve().parent
    while (folder.parent / "__init__.py").exists():
        folder = folder.parent
    return folder


@functools.cache
def source_digest(root: Path) -> str:
    """Return a digest of the modules that define compiled functions, and of all they import.

    It finds them by their imports, so that it does not depend on which folder a module lies in.

    Parameters
    ----------
    root : Path
        The folder of the outermost package.
    """
    texts = {_module_name(root, path): path.read_text() for path in root.rglob("*.py")}
    packages = {_module_name(root, path) for path in root.rglob("__init__.py")}
    # A package may hand on names that its stub lists.
    for path in root.rglob("__init__.pyi"):
        texts[_module_name(root, path)] += path.read_text()
    wanted = [name for name, text in texts.items() if _KERNEL.search(text)]
    seen: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in seen:
            seen.add(name)
            package = name if name in packages else name.rpartition(".")[0]
            wanted += [found for found in _imports(texts[name], package) if found in texts]
    text = "".join(f"{name}\n{texts[name]}" for name in sorted(seen))
    return hashlib.sha256(text.encode()).hexdigest()


def _module_name(root: Path, path: Path) -> str:
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(text: str, package: str) -> list[str]:
    """Return every dotted name that a module's text may import, modules or not."""
    found: list[str] = []
    for module, names, plain in _IMPORT.findall(text):
        if plain:
            found += [part.split()[0] for part in plain.split(",")]
            continue
        dots = len(module) - len(module.lstrip("."))
        if dots:
            parents = package.split(".")
            module = ".".join(filter(None, [*parents[: len(parents) - dots + 1], module[dots:]]))
        found += [module, *(f"{module}.{name}" for name in re.findall(r"\w+", names))]
    return found


@compiled
def copy_into(target: Any, source: Any) -> None:
    """Copy a one-dimensional array of the same length and dtype.

    Compiled code assigns no array to a slice: numba would compile numpy's messages as well.
    """
    for i in range(len(target)):
        target[i] = source[i]
