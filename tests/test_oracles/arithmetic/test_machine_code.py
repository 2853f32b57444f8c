"""Machine code on disk that was damaged is compiled again; where none can be kept, it is not."""

import importlib.util
import itertools
import os
import shutil
import sys

import numba
import pytest
from numba.core.caching import CompileResultCacheImpl

from oracles.arithmetic.compilation import code_on_disk

SOURCE = """
from oracles.arithmetic import compiled_entry

@compiled_entry
def doubled(x):
    return 2 * x

@compiled_entry
def negated(x):
    return -x
"""

NUMBERS = itertools.count()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A folder for machine code of its own."""
    folder = tmp_path / "cache"
    folder.mkdir()
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Import the two kernels anew, as another process would."""
    path = tmp_path / "kernels.py"
    path.write_text(SOURCE)

    def fresh():
        name = f"kernels_{next(NUMBERS)}"
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return fresh


def used(load):
    """Call both kernels; return their answers and how many were loaded from disk."""
    module = load()
    answers = (module.doubled(21), module.negated(21))
    hits = [sum(f.stats.cache_hits.values()) for f in (module.doubled, module.negated)]
    return answers, hits


def files(cache, ending):
    found = sorted(cache.rglob(f"*.{ending}"))
    assert len(found) == 2  # of doubled and of negated
    return found


def truncated(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def zeroed(path):
    path.write_bytes(bytes(path.stat().st_size))


def random_bytes(path):
    path.write_bytes(os.urandom(path.stat().st_size))


def one_bit(path):
    whole = bytearray(path.read_bytes())
    whole[-len(whole) // 3] ^= 1
    path.write_bytes(bytes(whole))


def emptied(path):
    path.write_bytes(b"")


def unreadable(path):
    """Whoever runs the tests may read every file, so a folder in its place stands in for it."""
    path.chmod(0)
    if os.access(path, os.R_OK):
        path.unlink()
        path.mkdir()


def test_undamaged_code_is_loaded_and_not_compiled_again(cache, load):
    assert used(load) == ((42, -21), [0, 0])
    assert code_on_disk(load().doubled) is True
    assert used(load) == ((42, -21), [1, 1])


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [truncated, zeroed, random_bytes, one_bit, emptied, unreadable])
def test_damaged_code_is_compiled_again(cache, load, damage, ending):
    used(load)
    for path in files(cache, ending):
        damage(path)
    assert used(load) == ((42, -21), [0, 0])


@pytest.mark.parametrize("damage", [truncated, zeroed, random_bytes, one_bit, emptied])
def test_damaged_code_is_mended(cache, load, damage):
    used(load)
    for path in (*files(cache, "nbi"), *files(cache, "nbc")):
        damage(path)
    used(load)
    assert used(load) == ((42, -21), [1, 1])


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_code_of_another_function_is_not_taken_for_this_ones(cache, load, ending):
    used(load)
    one, other = files(cache, ending)
    kept = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(kept)
    assert used(load) == ((42, -21), [0, 0])


def test_code_of_another_signature_is_not_taken_for_this_ones(cache, load):
    load().doubled(21)
    load().doubled(0.5)
    one, other = files(cache, "nbc")
    shutil.copy(other, one)
    module = load()
    assert (module.doubled(21), module.doubled(0.5)) == (42, 1.0)


def test_an_unreadable_mark_is_no_error(cache, load):
    used(load)
    for mark in cache.rglob("kernels.sha256"):
        random_bytes(mark)
    assert used(load)[0] == (42, -21)


def test_without_a_folder_to_write_it_compiles_and_keeps_nothing(load, monkeypatch):
    # What a read-only installation without a home directory comes to.
    monkeypatch.setattr(CompileResultCacheImpl, "_locator_classes", [])
    module = load()
    assert (module.doubled(21), module.negated(21)) == (42, -21)
    assert code_on_disk(module.doubled) is None


def test_a_folder_that_cannot_be_written_any_more_is_no_error(cache, load, monkeypatch):
    module = load()

    def refused(self, name):
        raise PermissionError(name)

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._open_for_write", refused)
    assert (module.doubled(21), module.negated(21)) == (42, -21)
