"""Learners that try to make one part's ballot depend on another part's rows, or to get out."""

import builtins
import ctypes
import gc
import os
import signal
import subprocess
import sys
import time

import numpy as np

SEEN: list[int] = []


def digest(points):
    """A number that changes with any cell."""
    return int((points * np.arange(1, points.size + 1).reshape(points.shape)).sum())


def vote(number, grid):
    """The hypothesis of that number, modulo the size of the grid."""
    indices = np.unravel_index(number % grid.n_assignments, grid.shape)
    return [allowed[int(i)] for allowed, i in zip(grid.values, indices, strict=True)]


def leak(part, grid):
    """Votes the rows themselves: as revealing as a ballot can be."""
    return vote(digest(part[0]), grid)


def remember(part, grid):
    """Votes what it saw so far, in a global."""
    SEEN.append(digest(part[0]))
    return vote(sum(SEEN), grid)


class Stateful:
    """Votes what it saw so far, in a class attribute (copies share it) and in itself."""

    shared = [0]

    def __init__(self):
        self.own = 0

    def __call__(self, part, grid):
        self.own += digest(part[0])
        Stateful.shared[0] += self.own
        return vote(Stateful.shared[0], grid)


def hide_in_builtins(part, grid):
    """Keeps its memory where no copy of the learner reaches."""
    builtins._hidden = getattr(builtins, "_hidden", 0) + digest(part[0])
    os.environ["HIDDEN"] = str(int(os.environ.get("HIDDEN", "0")) + builtins._hidden)
    return vote(int(os.environ["HIDDEN"]), grid)


def search_memory(part, grid):
    """Looks for arrays that it was not given."""
    found = 0
    for thing in gc.get_objects():
        for array in thing if isinstance(thing, tuple) else (thing,):
            if isinstance(array, np.ndarray) and array.ndim == 2 and len(array) > len(part[0]):
                if array.shape[1] == part[0].shape[1] and array.dtype.kind == "i":
                    found += digest(array)
    return vote(found, grid)


def climb_the_stack(part, grid):
    """Reads the callers' variables."""
    frame, found = sys._getframe(), 0
    while frame is not None:
        for value in list(frame.f_locals.values()):
            for array in value if isinstance(value, tuple) else (value,):
                if isinstance(array, np.ndarray) and array.ndim == 2:
                    found += digest(array)
        frame = frame.f_back
    return vote(found, grid)


def shout(part, grid):
    """Prints the rows everywhere and raises them."""
    print(part[0])
    print(part[0], file=sys.stderr)
    os.write(2, str(part[0]).encode())
    raise ValueError(part[0].tolist())


def leave(part, grid):
    sys.exit(str(part[0]))


def vanish(part, grid):
    os._exit(digest(part[0]) % 256)


def interrupt(part, grid):
    raise KeyboardInterrupt


def crash(part, grid):
    ctypes.string_at(0)


def recurse(part, grid):
    return recurse(part, grid)


def kill_the_server(part, grid):
    os.kill(os.getppid(), signal.SIGKILL)
    return leak(part, grid)


def stop_the_server(part, grid):
    os.kill(os.getppid(), signal.SIGSTOP)
    return leak(part, grid)


def write_everywhere(part, grid):
    """Writes the rows to every open descriptor, its own answer's included."""
    for descriptor in range(64):
        try:
            os.write(descriptor, b"\xff" * (digest(part[0]) % 7))
        except OSError:
            continue
    return vote(0, grid)


def close_everything(part, grid):
    os.closerange(0, 64)
    return vote(0, grid)


def leave_somebody_behind(part, grid):
    """Starts a process that goes on writing to whatever it inherited, once this one is over."""
    number = digest(part[0]) % 250
    # Not before: its part's own answer would depend on which of the two writes first.
    code = (
        "import os, time\n"
        f"while os.getppid() == {os.getpid()}: time.sleep(0.001)\n"
        "for _ in range(40):\n"
        "    for d in range(64):\n"
        f"        try: os.write(d, bytes([{number}]))\n"
        "        except OSError: pass\n"
        "    time.sleep(0.05)\n"
    )
    subprocess.Popen([sys.executable, "-c", code], close_fds=False)
    return vote(number, grid)


def sleep_forever(part, grid):
    time.sleep(3600)


def sleep_on_odd_rows(part, grid):
    if digest(part[0]) % 2:
        time.sleep(3600)
    return vote(0, grid)


class EvilArray:
    """Runs code when it is looked at."""

    def __array__(self, *arguments, **settings):
        raise RuntimeError("looked at")

    def __reduce__(self):
        return (os._exit, (3,))


def answer_objects(part, grid):
    return EvilArray()


def answer_outside(part, grid):
    return [[10**6 + digest(part[0])] * grid.n_features, [2**62] * grid.n_features]


def answer_words(part, grid):
    return "always say yes"


def answer_fractions(part, grid):
    return [0.5] * grid.n_features


def answer_wrong_shape(part, grid):
    return [[[1]]]


def answer_everything(part, grid):
    from oracles.problem.grid import grid_assignments

    return np.concatenate([grid_assignments(grid.values)] * 50)


MARK = 7
"""A cell that the attackers below look for."""


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(number) for number in file.read().split()]


class KillsLaterServers:
    """Leaves a process in a session of its own, which kills the servers of all later parts.

    Parameters
    ----------
    folder : Path
        The process leaves a file "begun", and ends when there is a file "stop", after two minutes
        at most.
    """

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, part, grid):
        server = os.getppid()
        with open(f"/proc/{server}/stat") as file:
            owner = int(file.read().rpartition(")")[2].split()[1])
        if MARK in part[0]:
            self.leave_behind(owner, server)
        # Later parts need a new server, which the process left behind will find.
        os.kill(server, signal.SIGKILL)
        return vote(1, grid)

    def leave_behind(self, owner, server):
        """Return when the process is looking for servers."""
        begun, says_so = os.pipe()
        if os.fork() == 0:
            try:
                os.setsid()
                self.kill(owner, server, says_so)
            finally:
                os._exit(0)
        os.close(says_so)
        os.read(begun, 1)
        os.close(begun)

    def kill(self, owner, server, says_so):
        (self.folder / "begun").write_text(str(os.getpid()))
        os.write(says_so, b"!")
        until = time.monotonic() + 120
        while time.monotonic() < until and not (self.folder / "stop").exists():
            for pid in children_of(owner):
                try:
                    with open(f"/proc/{pid}/cmdline") as file:
                        if pid == server or "robust_vote.isolation" not in file.read():
                            continue
                    os.kill(pid, signal.SIGSTOP)  # now it starts no child, and has what it has
                    for child in children_of(pid):
                        os.kill(child, signal.SIGKILL)
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    continue
            time.sleep(0.002)


class LeavesAFile:
    """Writes what it saw where later parts read it."""

    def __init__(self, path):
        self.path = path

    def __call__(self, part, grid):
        if MARK in part[0]:
            with open(self.path, "w") as file:
                file.write("seen")
        return vote(int(os.path.exists(self.path)), grid)


class Unpicklable:
    def __init__(self):
        self.lock = __import__("threading").Lock()

    def __call__(self, part, grid):
        return vote(0, grid)


def refuse_to_load():
    raise RuntimeError("not here")


class LoadsNowhere:
    def __reduce__(self):
        return (refuse_to_load, ())

    def __call__(self, part, grid):
        return vote(0, grid)


FAST = (leak, remember, shout, kill_the_server)
SLOW = (
    Stateful(),
    hide_in_builtins,
    search_memory,
    climb_the_stack,
    leave,
    vanish,
    interrupt,
    crash,
    recurse,
    write_everywhere,
    close_everything,
    leave_somebody_behind,
    answer_objects,
    answer_outside,
    answer_words,
    answer_fractions,
    answer_wrong_shape,
    answer_everything,
)


def answer_everything_once(part, grid):
    from oracles.problem.grid import grid_assignments

    return grid_assignments(grid.values)


class MissingSolver:
    """An oracle whose library cannot be loaded."""

    name = "missing"
    integer_arithmetic = True
    requirement = "takes everything"

    def supports(self, problem):
        return True

    def solve(self, problem, options):
        raise OSError("libsolver.so is missing")
