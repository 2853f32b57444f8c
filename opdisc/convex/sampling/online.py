"""Private follow-the-leader as a stream: one vector in, one vertex out, the charge before both."""

from __future__ import annotations

import json
import os
import secrets
import stat
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from opdisc.convex.noise_plan import NoisePlan, charge_of, versions
from opdisc.convex.public import ConvexPublic
from opdisc.convex.sampling.ftrl import FTRLNoise, Player, plan_ftrl
from opdisc.data import PRIVATE_MODE, FilePath, atomic_write_text, read_bounded
from opdisc.errors import CalibrationError, FileMistake, ModelFileError, rehearse
from opdisc.privacy import EntropySource, Ledger, SystemEntropy
from opdisc.privacy.receipts import ConvexReceipt

ENDING = ".private.json"
"""How the name of a saved state ends."""

ONE_RUN = (
    "a stream runs once: a copy of its saved state that is run too, on the same or other rows, "
    "is not paid for"
)

_FORMAT = "opdisc online state, version 1"

_WARNING = "PRIVATE: holds sums of private rows; keep it like the table, never publish it"

_MOST_BYTES = 1 << 26

_UNREADABLE = (KeyError, OverflowError, RecursionError, TypeError, ValueError)


class OnlineLearner:
    """Private follow-the-leader over the vertices of the simplex, round by round (J14 5.2).

    Parameters
    ----------
    public : ConvexPublic
        Public facts: the "score" loss, ``bounds.linf`` = R, replace-one with n = T rounds.
    noise : str
        "tree" (noisy sums by binary counting), "zcdp" or "published" (sampled vertices).
    entropy : EntropySource or None
        Random bits; None: the operating system's.
    ledger : Ledger or None
        Where the budget of all rounds is recorded, before the first.

    Attributes
    ----------
    receipt : ConvexReceipt
        The privacy statement of the whole stream.
    rounds_left : int
        Rounds that can still be played.

    Raises
    ------
    CalibrationError
        If no scale follows from the public facts; nothing is spent.

    Notes
    -----
    **Guarantee.** (epsilon, delta) for all actions together, one loss vector replaced; later
    vectors may depend on earlier actions. A condition: the saved state is not run twice.
    """

    def __init__(
        self,
        public: ConvexPublic,
        *,
        noise: FTRLNoise = "tree",
        entropy: EntropySource | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        source = SystemEntropy() if entropy is None else entropy
        plan = plan_ftrl(public, noise=noise, conditions=(ONE_RUN,))
        rehearse(plan.mechanism, lambda: _play_zeros(plan, public))
        self._set_up(plan, public, source, ledger)

    def _set_up(
        self,
        plan: NoisePlan,
        public: ConvexPublic,
        entropy: EntropySource,
        ledger: Ledger | None,
    ) -> None:
        self._plan, self._public, self._entropy = plan, public, entropy
        self._player = Player(plan, public.dimension)
        self._is_closed, self._process = False, os.getpid()
        charge = charge_of(plan, public, lambda: np.zeros(1), entropy=entropy, packages=versions())
        self.receipt: ConvexReceipt = charge.run(ledger).receipt

    @property
    def rounds_left(self) -> int:
        """Rounds that can still be played; 0 of a stream that was saved."""
        return 0 if self._is_closed else self._public.exact_rows - self._player.rounds

    def step(self, x: ArrayLike) -> int:
        """Play one round and return its vertex, drawn before ``x`` is looked at.

        Parameters
        ----------
        x : array-like of float, shape (p,)
            The round's loss vector, within the public bounds. Later rounds depend on it.

        Returns
        -------
        int
            Number of the vertex, from 0.

        Raises
        ------
        CalibrationError
            If the vector is not as the public facts say, or no round is left.
        """
        self._require_open()
        if self.rounds_left < 1:
            raise CalibrationError(
                f"a stream has as many rounds as were declared, and all {self._player.rounds} "
                "are played; start another, which has a charge of its own."
            )
        return self._player.step(self._checked(x), self._entropy)

    def _checked(self, x: ArrayLike) -> np.ndarray[Any, np.dtype[np.float64]]:
        try:
            vector = np.array(x, dtype=np.float64)
        except (OverflowError, TypeError, ValueError):
            vector = np.empty(0)
        if vector.shape != (self._public.dimension,) or not self._public.bounds.hold(
            vector[None, :]
        ):
            raise CalibrationError(
                f"a loss vector must have {self._public.dimension} finite numbers within the "
                "public bounds; clip it to them."
            )
        return vector

    def _require_open(self) -> None:
        if os.getpid() != self._process:
            raise CalibrationError(
                "a stream runs in the process that made it, since a fork of it would use its "
                "noise again; save it, and load it in the other process."
            )
        if self._is_closed:
            raise CalibrationError(
                "a stream that was saved goes on from its file only; use OnlineLearner.load."
            )

    def save(self, path: FilePath) -> None:
        """Write the state to a new file that its owner alone can read; this stream then ends.

        Parameters
        ----------
        path : path
            Its name ends in ``.private.json``: the file holds sums of private rows.

        Raises
        ------
        CalibrationError
            If the name ends otherwise, the stream was saved before, or the state is larger than
            ``load`` takes; the stream goes on.
        TableError
            If there is such a file, or the place is not writable.
        """
        self._require_open()
        if not str(os.fspath(path)).endswith(ENDING):
            raise CalibrationError(
                f"a saved state holds sums of private rows; let its name end in {ENDING}."
            )
        if os.path.lexists(path):
            raise FileMistake(f"a state goes to a new file, but {path} is there; name another")
        record = {
            "format": _FORMAT,
            "warning": _WARNING,
            "terms": _terms(self._plan, self._public, self._entropy),
            "state": self._player.state(),
        }
        text = json.dumps(record)
        if len(text) > _MOST_BYTES:
            raise CalibrationError(
                f"a saved state must have at most {_MOST_BYTES:,} bytes, but this one has more; "
                "play the stream to its end without saving."
            )
        self._is_closed = True
        try:
            atomic_write_text(path, text, mode=PRIVATE_MODE)
        except BaseException:
            self._is_closed = os.path.lexists(path)  # it may be there: then the file goes on
            raise

    @classmethod
    def load(
        cls,
        path: FilePath,
        public: ConvexPublic,
        *,
        noise: FTRLNoise = "tree",
        entropy: EntropySource | None = None,
    ) -> OnlineLearner:
        """Go on with a saved state; its file is removed, so that it goes on once.

        Parameters
        ----------
        path : path
            What :meth:`save` wrote.
        public, noise, entropy
            As the stream was made with; the source is of the same kind, with fresh bits.

        Returns
        -------
        OnlineLearner
            The stream, with the charge that was made: nothing is spent again.

        Raises
        ------
        CalibrationError
            If the public facts are others than those that were paid for; the file stays.
        ModelFileError
            If the file is no such state, or others can read it; it stays.
        TableError
            If there is no such file.
        """
        source = SystemEntropy() if entropy is None else entropy
        plan = plan_ftrl(public, noise=noise, conditions=(ONE_RUN,))
        taken = _take(path)
        try:
            record = _read(taken, path)
            if record["terms"] != _terms(plan, public, source):
                raise CalibrationError(
                    "a saved stream goes on with the public facts, noise and kind of random "
                    "bits that it was paid for with; give those."
                )
            stream = cls.__new__(cls)
            stream._set_up(plan, public, source, None)
            stream._player.restore(record["state"])
        except BaseException as error:
            os.rename(taken, path)
            if isinstance(error, _UNREADABLE) and not isinstance(
                error, (CalibrationError, ModelFileError)
            ):
                raise _not_a_state(path) from None
            raise
        os.unlink(taken)
        return stream

    def __reduce_ex__(self, _: object) -> NoReturn:
        """Refuse copies and pickles: the same noise would be run twice."""
        raise CalibrationError("a stream is not copied or pickled; use its save and load.")


def _play_zeros(plan: NoisePlan, public: ConvexPublic) -> None:
    player = Player(plan, public.dimension)
    for _ in range(min(3, public.exact_rows)):
        player.step(np.zeros(public.dimension), SystemEntropy())


def _terms(plan: NoisePlan, public: ConvexPublic, entropy: EntropySource) -> dict[str, Any]:
    """Return the public facts that a saved state is bound to."""
    return {
        "theorem": plan.theorem,
        "scales": [repr(scale) for scale in plan.scales],
        "settings": {name: repr(float(value)) for name, value in plan.settings},
        "epsilon": repr(float(public.params.epsilon)),
        "delta": repr(float(public.params.delta)),
        "dimension": int(public.dimension),
        "largest": [repr(float(public.bounds.l2)), repr(float(public.bounds.largest_coordinate))],
        "rows per unit": int(public.rows_per_unit),
        "unit": public.privacy_unit,
        "random bits": type(entropy).__name__,
    }


def _take(path: FilePath) -> Path:
    """Rename a state's file, which only one of two processes can do, and return its new name."""
    taken = Path(f"{os.fspath(path)}.{secrets.token_hex(8)}.taken")
    try:
        os.rename(path, taken)
    except OSError as error:
        raise FileMistake(
            f"a state is taken from a file that can be removed, but {path}: {error.strerror}"
        ) from None
    return taken


def _read(taken: Path, named: FilePath) -> dict[str, Any]:
    status = taken.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077:
        raise ModelFileError(
            f"a saved state must be a file that its owner alone can read, but {named} is not; "
            "set its mode to 600."
        )
    record = json.loads(read_bounded(taken, _MOST_BYTES))
    if not isinstance(record, dict) or record.get("format") != _FORMAT:
        raise _not_a_state(named)
    return record


def _not_a_state(named: FilePath) -> ModelFileError:
    return ModelFileError(
        f"a saved state must be what OnlineLearner.save wrote, but {named} is not; load another."
    )
