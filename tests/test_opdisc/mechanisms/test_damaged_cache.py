"""A damaged cache of machine code neither costs a budget nor keeps a fit from being released."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import opdisc

pytestmark = pytest.mark.slow

SCRIPT = """
import sys
from opdisc.mechanisms import ExponentialMechanism, run_mechanism
from opdisc.privacy import (
    GridPublic, Ledger, NeighboringRelation, PrivacyParams, SystemEntropy
)
from oracles import WeightGrid, ZeroOneProblem

grid = WeightGrid.box(40, 1, norm_budget=2)
points = [[1] * 2 + [0] * 38, [1] + [0] * 39]
problem = ZeroOneProblem(points=points, positives=[50, 0], negatives=[0, 50], grid=grid)
public = GridPublic(
    params=PrivacyParams(epsilon=1.0, delta=0.0),
    relation=NeighboringRelation.REPLACE_ONE, grid=grid, n_rows=100,
)
ledger = Ledger(sys.argv[1])
release = run_mechanism(
    ExponentialMechanism(), problem, public, entropy=SystemEntropy(), ledger=ledger
)
print("released", len(ledger.spendings()))
"""


def run(cache, ledger):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, str(ledger)],
        env={
            **os.environ,
            "NUMBA_CACHE_DIR": str(cache),
            "PYTHONPATH": str(Path(opdisc.__file__).parents[1]),
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("machine") / "code"
    done = run(folder, folder.parent / "ledger")
    assert done.stdout.split() == ["released", "1"], done.stderr
    return folder


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def zero(path):
    path.write_bytes(bytes(path.stat().st_size))


def randomise(path):
    path.write_bytes(os.urandom(path.stat().st_size))


def forbid(path):
    path.chmod(0)
    if os.access(path, os.R_OK):  # whoever runs this may read every file
        path.unlink()
        path.mkdir()


def swap(paths):
    """Let every file hold what the next one of its kind held, or another folder's index."""
    for ending in (".nbi", ".nbc"):
        kind = [path for path in paths if path.suffix == ending]
        texts = [path.read_bytes() for path in kind]
        for path, text in zip(kind, texts[1:] + texts[:1], strict=True):
            path.write_bytes(text)


@pytest.mark.long
@pytest.mark.parametrize("damage", ["truncate", "zero", "randomise", "swap", "forbid"])
def test_a_damaged_cache_costs_nothing(damage, cache, tmp_path):
    copy = tmp_path / "code"
    shutil.copytree(cache, copy)
    paths = sorted(path for path in copy.rglob("*.nb?"))
    assert paths
    if damage == "swap":
        swap(paths)
        # One kernel has but one index: it gets that of a file of code.
        if len(paths) == 2:
            paths[0].write_bytes(paths[1].read_bytes())
    else:
        for path in paths:
            globals()[damage](path)
    done = run(copy, tmp_path / "ledger")
    assert done.stdout.split() == ["released", "1"], done.stderr
