"""The many minimisations of OPSamp, spread over workers by joblib.

Each depends on the table and its own tilt (and on earlier tilts of its chunk through warm starts),
never on another worker, so every backend computes the same kind of answer.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np

from oracles.arithmetic import FloatArray
from oracles.convex import RealOptions, RealOracle, TiltedProblem, minimise_tilts

DrawProgress = Callable[[int, int], None]
"""``progress(done, total)``: minimisations finished so far."""

_CHUNK = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawOptions:
    """How the minimisations are run; nothing here changes what is released.

    Parameters
    ----------
    n_jobs : int
        Parallel workers, as joblib counts them.
    backend : str
        ``"sequential"``, ``"loky"``, ``"threading"``, ``"dask"`` (with a client in this process)
        or ``"ray"``.
    time_limit : float or None
        Seconds for one minimisation. If it hits, nothing is released.
    progress : callable or None
        Called as ``progress(done, total)``.
    """

    n_jobs: int = 1
    backend: str = "sequential"
    time_limit: float | None = None
    progress: DrawProgress | None = None


def tilted_minimisers(
    problem: TiltedProblem,
    tilts: FloatArray,
    oracle: str | RealOracle,
    allowance: float,
    options: DrawOptions,
) -> FloatArray | None:
    """Minimise under every tilt, in parallel.

    Parameters
    ----------
    problem : TiltedProblem
        The private loss.
    tilts : float array, shape (m, k)
        One row for each minimisation.
    oracle : str or RealOracle
        Who minimises.
    allowance : float
        Certified gap that each must reach, objective units.
    options : DrawOptions
        Workers and progress.

    Returns
    -------
    float array of shape (m, k) or None
        None if one minimisation was not certified within the allowance.
    """
    chunks = [tilts[i : i + _CHUNK] for i in range(0, len(tilts), _CHUNK)]
    limits = RealOptions(absolute_gap=allowance, time_limit=options.time_limit)
    jobs = (joblib.delayed(solve_chunk)(problem, chunk, oracle, limits) for chunk in chunks)
    found: list[FloatArray | None] = []
    done = 0
    for points, chunk in zip(_run(jobs, options), chunks, strict=True):
        found.append(points)
        done += len(chunk)
        if options.progress is not None:
            options.progress(done, len(tilts))
    solved = [points for points in found if points is not None]
    return np.concatenate(solved) if len(solved) == len(chunks) else None


def _run(jobs: Iterable[Any], options: DrawOptions) -> Iterable[Any]:
    if options.backend == "sequential" or options.n_jobs == 1 and options.backend == "loky":
        return (function(*args, **kwargs) for function, args, kwargs in jobs)
    if options.backend == "ray":
        importlib.import_module("ray.util.joblib").register_ray()
    streaming = options.backend in ("loky", "threading")
    with joblib.parallel_config(backend=options.backend, n_jobs=options.n_jobs):
        parallel = joblib.Parallel(return_as="generator" if streaming else "list")
        results: Iterable[Any] = parallel(jobs)
    return results


def solve_chunk(
    problem: TiltedProblem, tilts: FloatArray, oracle: str | RealOracle, options: RealOptions
) -> FloatArray | None:
    """Minimise under several tilts; None if one was not certified within the allowance.

    Every tilt of the chunk is tried all the same, so that a failure stops nothing early.
    """
    points = []
    for solution in minimise_tilts(problem, tilts, oracle, options):
        if solution.certificate.gap <= options.absolute_gap:
            points.append(solution.point)
    return np.array(points) if len(points) == len(tilts) else None
