"""Machine code on disk: kept while the sources stay the same, dropped when any of them changes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import oracles
from oracles.arithmetic import compilation
from oracles.arithmetic.compilation import drop_stale_code, source_digest

SOURCES = Path(oracles.__file__).parent


@pytest.fixture
def sources(tmp_path):
    folder = tmp_path / "oracles"
    folder.mkdir()
    for path in SOURCES.rglob("*.py*"):
        if path.suffix in (".py", ".pyi"):
            copy = folder / path.relative_to(SOURCES)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(path.read_text())
    return folder


def digest(folder):
    source_digest.cache_clear()
    found = source_digest(folder)
    source_digest.cache_clear()
    return found


def edit(path):
    path.write_text(path.read_text() + "\nEXTRA = 1\n")


@pytest.mark.parametrize(
    "name",
    [
        "branch_and_bound/kernels/search",
        "branch_and_bound/kernels/bounds",
        "branch_and_bound/arrays",
        "arithmetic/compilation",
        "sampling/sparse_kernels",
    ],
)
def test_the_digest_sees_every_module_that_machine_code_may_come_from(sources, name):
    before = digest(sources)
    edit(sources / f"{name}.py")
    assert digest(sources) != before


def test_the_digest_ignores_what_compiles_nothing(sources):
    before = digest(sources)
    (sources / "interface" / "registry.py").write_text("")
    assert digest(sources) == before


@pytest.fixture
def nested(tmp_path):
    """A package whose kernels lie in sub-packages and import each other in four ways."""
    texts = {
        "__init__.py": "",
        "compilation.py": "def compiled(function): return function\n",
        "search/__init__.py": "",
        "search/kernels/__init__.py": "",
        "search/kernels/outer.py": (
            "from house.compilation import compiled\n"
            "from house.search import sizes\n"
            "from ..kernels.inner import step\n"
            "from house.tables import ROWS\n"
            "import house.lazy.late\n\n@compiled\ndef run(): return step()\n"
        ),
        "search/kernels/inner.py": "def step(): return 1\n",
        "search/sizes.py": "LARGEST = 3\n",
        "tables/__init__.py": "import lazy_loader\n",
        "tables/__init__.pyi": "from .rows import ROWS as ROWS\n",
        "tables/rows.py": "ROWS = 2\n",
        "lazy/__init__.py": "",
        "lazy/late.py": "LATE = 1\n",
        "report/__init__.py": "",
        "report/page.py": "from house.search.kernels.outer import run\n",
    }
    root = tmp_path / "house"
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    "name",
    ["search/kernels/outer", "search/kernels/inner", "search/sizes", "tables/rows", "lazy/late"],
)
def test_an_edited_kernel_in_a_sub_package_makes_its_machine_code_stale(nested, name):
    before = digest(nested)
    edit(nested / f"{name}.py")
    assert digest(nested) != before


def test_a_module_that_only_calls_kernels_leaves_machine_code_fresh(nested):
    before = digest(nested)
    edit(nested / "report/page.py")
    assert digest(nested) == before


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
@pytest.mark.long
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
