"""Faults of processes and files: kills, contended charges, damaged machine code."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from opdisc.errors import LedgerError
from opdisc.privacy import GridReceipt, Ledger

EPSILON = 2.0**-10
"""Of one charge: its multiples are exact in binary and in decimal."""

_KILLS_PER_LEDGER = 25

_CONTENDERS = 4


def charge() -> GridReceipt:
    """Return a receipt to be recorded."""
    return GridReceipt(
        mechanism="m",
        theorem="t",
        calibration="proven",
        epsilon=EPSILON,
        delta=0.0,
        delta_numerical=0.0,
        relation="replace_one",
        privacy_unit="one row",
        sensitivity=2,
        allowance=0.0,
        noise_law="law",
        noise_scales=(1.0,),
        spacing=2.0**-10,
        schema_digest="0" * 64,
        n_rows=10,
        weights=((-1, 0, 1),),
        norm_budget=None,
        oracle="enumeration",
        versions={"opdisc": "0"},
        guarantee="HOLDS",
        conditions=(),
        choice="",
    )


def _forked(work: Callable[[int], None]) -> tuple[int, int]:
    """Run work in a child that writes to a pipe; return its process id and the pipe's end."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reader)
            work(writer)
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    return child, reader


def _read_all(descriptor: int) -> bytes:
    received = b""
    while part := os.read(descriptor, 1 << 16):
        received += part
    os.close(descriptor)
    return received


def kills(count: int, chance: random.Random) -> list[str]:
    """Kill a process that charges a ledger, and compare what it was told with what is there.

    Returns
    -------
    list of str
        Losses: charges acknowledged and not recorded, more than one recorded without word of it,
        or a ledger that refuses the next charge.
    """
    losses: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        recorded = 0
        for number in range(count):
            path = Path(folder) / f"ledger-{number // _KILLS_PER_LEDGER}"
            if number % _KILLS_PER_LEDGER == 0:
                Ledger.create(path)
                recorded = 0

            def work(writer: int, path: Path = path) -> None:
                ledger = Ledger(path)
                while True:
                    ledger.spend(charge())
                    os.write(writer, b".")

            child, reader = _forked(work)
            time.sleep(chance.uniform(0.0, 0.04))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            told = len(_read_all(reader))
            try:
                after = len(Ledger(path).spendings())
            except LedgerError as error:
                losses.append(f"kill {number}: {error}")
                path.unlink()
                Ledger.create(path)
                recorded = 0
                continue
            if not told <= after - recorded <= told + 1:
                losses.append(f"kill {number}: {told} told, {after - recorded} recorded")
            recorded = after
    return losses


def contended_charges(count: int) -> list[str]:
    """Let four processes charge one ledger whose cap admits ``count`` charges, and no more.

    Returns
    -------
    list of str
        Losses: a total other than the cap, or a charge told and not recorded.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger"
        Ledger.create(path, epsilon_limit=count * EPSILON)

        def work(writer: int) -> None:
            ledger, receipt = Ledger(path), charge()
            while True:
                try:
                    ledger.spend(receipt)
                except LedgerError as error:
                    os.write(writer, b"r" if "caps epsilon" in str(error) else b"e")
                    return
                os.write(writer, b".")

        children = [_forked(work) for _ in range(_CONTENDERS)]
        words = b"".join(_read_all(reader) for _, reader in children)
        for child, _ in children:
            os.waitpid(child, 0)
        spent = Ledger(path).total()[0]
        recorded = len(Ledger(path).spendings())
    losses = []
    if words.count(b".") != recorded or recorded != count or spent != count * EPSILON:
        losses.append(f"{words.count(b'.')} told, {recorded} recorded, cap {count}, total {spent}")
    if words.count(b"r") != _CONTENDERS:
        losses.append("a process stopped for another reason than the cap")
    return losses


_FIT = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from opdisc.mechanisms import BlockOneHotMechanism, run_mechanism
from opdisc.privacy import GridPublic, Ledger, NeighboringRelation, PrivacyParams, SystemEntropy
from oracles.problem import WeightGrid, ZeroOneProblem
grid = WeightGrid.box(6, 1)
problem = ZeroOneProblem(points=np.eye(6, dtype=int), positives=[3] * 6, negatives=[2] * 6,
                         grid=grid)
public = GridPublic(params=PrivacyParams(epsilon=1.0, delta=0.0),
                    relation=NeighboringRelation.REPLACE_ONE, grid=grid)
release = run_mechanism(BlockOneHotMechanism(blocks=tuple((j,) for j in range(6))), problem,
                        public, entropy=SystemEntropy(), oracle="branch-and-bound",
                        ledger=Ledger(sys.argv[1]))
print("released", release.hypothesis)
"""


# Without digests and without a rehearsal, as if the library trusted what it finds on disk.
_UNDEFENDED = """
import pickle
from pathlib import Path
from numba.core.caching import FunctionCache
from oracles.arithmetic import machine_code
from opdisc.mechanisms import run
machine_code.CheckedFiles._checked = lambda self, name: pickle.loads(
    Path(self._data_path(name)).read_bytes()[machine_code._DIGEST_SIZE:])
machine_code.KeptCode.load_overload = FunctionCache.load_overload
run.rehearse_oracle = lambda *arguments: None
"""


def _damages(chance: random.Random) -> dict[str, Callable[[Path], None]]:
    """Return what may happen to the machine code in a folder."""

    def every(pattern: str, change: Callable[[Path], None]) -> Callable[[Path], None]:
        def damage(folder: Path) -> None:
            for path in folder.rglob(pattern):
                change(path)

        return damage

    def half(path: Path) -> None:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return {
        "empty machine code": every("*.nbc", lambda path: path.write_bytes(b"")),
        "half the machine code": every("*.nbc", half),
        "random machine code": every("*.nbc", lambda p: p.write_bytes(chance.randbytes(999))),
        "half an index": every("*.nbi", half),
        "an empty index": every("*.nbi", lambda path: path.write_bytes(b"")),
    }


def cache_corruptions(count: int, chance: random.Random, limit: float = 600.0) -> list[str]:
    """Damage the compiled search in each of five ways, fit, and see what the ledger says.

    Two controls: the damage must be where the fit looks, so that it mends a file; and a fit that
    trusts what is on disk must be counted as a loss.

    Returns
    -------
    list of str
        Losses: budget recorded and nothing released, a run longer than ``limit`` seconds, or a
        control that failed.
    """
    losses = []
    with tempfile.TemporaryDirectory() as name:
        folder, sound = Path(name), Path(name) / "sound"

        def fit(cache: Path, ledger: Path, before: str = "") -> str:
            Ledger.create(ledger)
            environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
            environment["PYTHONPATH"] = os.pathsep.join(sys.path)
            command = [sys.executable, "-c", before + _FIT, str(ledger)]
            try:
                done = subprocess.run(
                    command, env=environment, capture_output=True, text=True, timeout=limit
                )
            except subprocess.TimeoutExpired:
                return "too long"
            return done.stdout + done.stderr[-500:]

        first = fit(sound, folder / "ledger")
        if not first.startswith("released"):
            return [f"the sound machine code did not run: {first}"]
        for number, (kind, damage) in enumerate(list(_damages(chance).items())[:count]):
            cache, ledger = folder / f"cache-{number}", folder / f"ledger-{number}"
            shutil.copytree(sound, cache)
            damage(cache)
            damaged = {path: path.read_bytes() for path in cache.rglob("*.nb?")}
            lost = _lost(fit(cache, ledger), ledger)
            if lost is not None:
                losses.append(f"{kind}: {lost}")
            elif not any(path.read_bytes() != found for path, found in damaged.items()):
                losses.append(f"{kind}: the fit did not meet the damage")
        cache, ledger = folder / "control", folder / "ledger-control"
        shutil.copytree(sound, cache)
        _damages(chance)["half the machine code"](cache)
        if _lost(fit(cache, ledger, _UNDEFENDED), ledger) is None:
            losses.append("control: a fit that trusts damaged code was not counted as a loss")
    return losses


def _lost(said: str, ledger: Path) -> str | None:
    """Return what was lost in a fit that said this, or None: released, or refused for nothing."""
    charged = len(Ledger(ledger).spendings())
    released = said.startswith("released") and charged == 1
    if released or ("Error" in said and charged == 0):
        return None
    last = said.strip().splitlines()[-1:] or [""]
    return f"{charged} charged, {last[0][:160]}"


warnings.filterwarnings("ignore", message="ledger .* did not exist")
