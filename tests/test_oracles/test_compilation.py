"""Machine code on disk: kept while the sources stay the same, dropped when any of them changes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import oracles
from oracles import compilation
from oracles.compilation import drop_stale_code, source_digest

SOURCES = Path(oracles.__file__).parent


@pytest.fixture
def sources(tmp_path):
    folder = tmp_path / "oracles"
    folder.mkdir()
    for path in SOURCES.glob("*.py"):
        (folder / path.name).write_text(path.read_text())
    return folder


@pytest.mark.parametrize(
    "name", ["search_kernels", "bound_kernels", "search_layout", "problem", "block_kernels"]
)
def test_the_digest_sees_every_module_that_machine_code_may_come_from(sources, name):
    before = source_digest(sources)
    source_digest.cache_clear()
    (sources / f"{name}.py").write_text((sources / f"{name}.py").read_text() + "\nEXTRA = 1\n")
    assert source_digest(sources) != before
    source_digest.cache_clear()


def test_the_digest_ignores_what_compiles_nothing(sources):
    before = source_digest(sources)
    source_digest.cache_clear()
    (sources / "registry.py").write_text("")
    assert source_digest(sources) == before
    source_digest.cache_clear()


def test_code_of_other_sources_is_removed_and_that_of_these_kept(tmp_path, monkeypatch):
    code = [tmp_path / "bound_kernels.share-1.py311.nbi", tmp_path / "x.share-1.py311.1.nbc"]
    other = tmp_path / "bound_kernels.cpython-311.pyc"
    for path in (*code, other):
        path.write_text("old")
    drop_stale_code.__wrapped__(tmp_path)
    assert other.exists() and not any(path.exists() for path in code)
    code[0].write_text("new")
    drop_stale_code.__wrapped__(tmp_path)
    assert code[0].exists()
    monkeypatch.setattr(compilation, "source_digest", lambda folder: "another")
    drop_stale_code.__wrapped__(tmp_path)
    assert not code[0].exists()


@pytest.mark.slow
@pytest.mark.parametrize("helper", [True, False])
def test_a_first_solve_compiles_says_so_and_leaves_no_process(tmp_path, helper):
    script = (
        "import os, numpy as np\n"
        + ("" if helper else "os.cpu_count = lambda: 1\n")
        + "from oracles import WeightGrid, ZeroOneProblem, solve\n"
        "problem = ZeroOneProblem(points=np.array([[1, 0], [1, 1]]), positives=np.array([0, 3]),\n"
        "    negatives=np.array([2, 1]), grid=WeightGrid.box(2, 1))\n"
        "print(solve(problem, 'branch-and-bound').certificate.primal_bound)\n"
        "try:\n    os.wait()\nexcept ChildProcessError:\n    print('no child')\n"
    )
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": str(SOURCES.parent),
    }
    runs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        )
        for _ in range(2)
    ]
    assert [run.stdout.split("\n") for run in runs] == [["1", "no child", ""]] * 2
    assert "compiling the search, once per machine" in runs[0].stderr
    assert len(list(tmp_path.rglob("*.bound_node-*.nbc"))) == 1
