"""The plan of a comparison: which runs there are, decided before the first one."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from opdisc.arguments import check_finite, check_integer, check_within
from opdisc.comparison.methods import ComparisonMistake, Method, find_method, registry
from opdisc.privacy import PrivacyParams

DEFAULT_METHODS = (
    "auto",
    "auto@2",
    "exponential",
    "opdisc",
    "rspm",
    "logistic-hull",
    "logistic-objective",
    "logistic-gradient-descent",
    "logistic-noisy-sgd",
    "logistic",
    "optimum",
    "optimum@2",
    "majority",
    "private-majority",
)

SEVERAL_CLASSES_METHODS = (
    "auto",
    "one-versus-rest",
    "logistic-hull",
    "logistic-objective",
    "logistic-gradient-descent",
    "logistic",
    "majority",
)
"""The default ones where there are more than two classes."""

LISTING_METHODS = ("exponential",)
"""What leaves the default ones where the scorecards are too many to list."""

YARDSTICKS = ("majority", "private-majority")
"""What every comparison of methods runs: the least that a private method must beat."""

DEFAULT_EPSILONS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)

DEFAULT_REPEATS = 15

DEFAULT_TIME_LIMIT = 120.0

SWEPT_METHODS = ("one-hot", "optimum")
"""What a sweep of oracles runs where no method is named: a mechanism that minimises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that decides the rows of a comparison, the table aside.

    Parameters
    ----------
    methods : tuple of str
        Names of methods; "name@B" asks for points in ``-B .. B``.
    epsilons : tuple of float
        Privacy losses of the private methods.
    repeats : int
        Splits, and fits per method and epsilon.
    test_fraction : float
        Share of the rows held out, in [0, 1); 0 evaluates on the training rows only.
    delta : float or None
        For methods that need one; None takes ``1 / n_train^2``.
    relation : str
        "replace_one" or "add_or_remove_one".
    weight_bound : int
        Largest points of methods without "@B".
    oracles : tuple of str
        Who minimises. Two or more get the same noise, and their receipts are VOID.
    time_limit : float or None
        Seconds per run.
    patience : float or None
        Seconds that a fit by "auto" may be expected to take, as in
        :class:`opdisc.PrivateScorecardClassifier`; None: its default.
    seed : int
        From which splits and references are seeded. Private mechanisms use no seed.
    peers : str or None
        Python interpreter for external peers.
    prior, pilot : str or None
        Files that ``auto``, the logistic scorecard, hull noise and ``public-start`` start from;
        at most one.

    Raises
    ------
    ComparisonError, CalibrationError, OracleError
        If any of it is not acceptable.
    """

    methods: tuple[str, ...] = DEFAULT_METHODS
    epsilons: tuple[float, ...] = DEFAULT_EPSILONS
    repeats: int = DEFAULT_REPEATS
    test_fraction: float = 0.3
    delta: float | None = None
    relation: str = "replace_one"
    weight_bound: int = 1
    oracles: tuple[str, ...] = ("auto",)
    time_limit: float | None = DEFAULT_TIME_LIMIT
    patience: float | None = None
    seed: int = 0
    peers: str | None = None
    prior: str | None = None
    pilot: str | None = None

    def __post_init__(self) -> None:
        """Refuse what no run could use."""
        from opdisc.planning import parse_weight_bound
        from opdisc.privacy import parse_relation

        for what in ("methods", "epsilons", "oracles"):
            _check_list(what, getattr(self, what))
        for epsilon in self.epsilons:
            PrivacyParams(epsilon=epsilon, delta=0.0 if self.delta is None else self.delta)
        check_integer("repeats", self.repeats, error=ComparisonMistake)
        check_within("test-fraction", self.test_fraction, 0, 1, ends="[)", error=ComparisonMistake)
        for what, seconds in (("time-limit", self.time_limit), ("patience", self.patience)):
            if seconds is not None:
                check_finite(what, seconds, unit="seconds", error=ComparisonMistake)
        check_integer("seed", self.seed, least=0, error=ComparisonMistake)
        parse_relation(self.relation)
        parse_weight_bound(self.weight_bound)
        self._check_methods()
        self._check_oracles()

    def _check_methods(self) -> None:
        for name in self.methods:
            method, _ = parse_method(name)
            if method.requires == "peers":
                if self.peers is None:
                    raise ComparisonMistake(
                        f"method '{name}' runs in an environment of its own; name that "
                        "environment's Python interpreter with --peers."
                    )
            elif method.requires == "start":
                if self.prior is None and self.pilot is None:
                    raise ComparisonMistake(
                        f"method '{name}' is a public start alone; name one with --prior or "
                        "--pilot."
                    )
            elif method.requires and importlib.util.find_spec(method.requires) is None:
                raise ComparisonMistake(
                    f"method '{name}' needs the package {method.requires}; install it or leave "
                    "the method out."
                )
        if self.peers is not None and not Path(self.peers).is_file():
            raise ComparisonMistake(
                f"peers must name a Python interpreter, but {self.peers} is no file."
            )

    def _check_oracles(self) -> None:
        from oracles.interface import get_oracle

        for name in self.oracles:
            if name != "auto":
                get_oracle(name)
        if len(self.oracles) > 1 and not any(parse_method(n)[0].uses_oracle for n in self.methods):
            raise ComparisonMistake(
                "a sweep of oracles needs a method in which an oracle minimises, such as one-hot; "
                "add one to --methods."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        record = asdict(self)
        for name in ("methods", "epsilons", "oracles"):
            record[name] = list(record[name])
        for name in ("patience", "prior", "pilot"):
            if record[name] is None:  # plans of versions before have none, and can be continued
                del record[name]
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Plan:
        """Return the plan that :meth:`to_dict` wrote."""
        values = dict(record)
        for name in ("methods", "epsilons", "oracles"):
            values[name] = tuple(values[name])
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One fit and its evaluation.

    Parameters
    ----------
    run_id : str
        Unique in its plan, and the same whenever the plan is the same.
    method : str
        Name as in the plan, "@B" included.
    epsilon : float or None
        None for a method that is not private.
    repeat, split_seed, seed : int
        Which split it is, the split's seed, and a seed for what is not private in the run.
    weight_bound : int, "auto" or None
        None for methods that learn no points.
    oracle : str or None
        None for methods in which no oracle minimises.
    noise_seed : int or None
        Set where several oracles get the same noise.
    """

    run_id: str
    method: str
    epsilon: float | None
    repeat: int
    split_seed: int
    seed: int
    weight_bound: int | Literal["auto"] | None
    oracle: str | None
    noise_seed: int | None


def parse_method(name: str) -> tuple[Method, int | Literal["auto"] | None]:
    """Return the method of a name, and its bound on the points where the name ends in "@B".

    "@auto" leaves the bound to methods that decide it themselves.

    Raises
    ------
    ComparisonError
        If the method is unknown, learns no points, or the bound is neither a positive integer nor
        an "auto" that the method knows.
    """
    base, at, bound = name.partition("@")
    method = find_method(base)
    if not at:
        return method, None
    if not method.has_grid:
        raise ComparisonMistake(f"method '{base}' learns no points; leave out '@{bound}'.")
    if bound == "auto" and method.automatic_bound:
        return method, "auto"
    if bound == "auto":
        raise ComparisonMistake(f"'{base}' does not choose its points; write '{base}@2', say.")
    if not (bound.isascii() and bound.isdigit() and 1 <= int(bound) <= 1000):
        raise ComparisonMistake(
            f"'@' must be followed by an integer from 1 to 1,000, got '{name}'."
        )
    return method, int(bound)


def method_names(
    asked: tuple[str, ...], *, swept: bool, peers: bool, n_classes: int = 2, listed: bool = True
) -> tuple[str, ...]:
    """Return the methods of a plan: those asked for, or the default ones.

    "all" stands for every method that could run here, "default" for the default ones. The majority
    class, private and not, is always among them, unless it is oracles that are compared.

    Parameters
    ----------
    asked : tuple of str
        Names, perhaps none.
    swept : bool
        Whether several oracles are compared.
    peers : bool
        Whether there is an interpreter for external peers.
    n_classes : int
        How many classes the table has: only methods that take so many stand for "all".
    listed : bool
        Whether all its scorecards can be listed: else "default" is without those that list them.
    """
    defaults: tuple[str, ...] = DEFAULT_METHODS if n_classes == 2 else SEVERAL_CLASSES_METHODS
    if not listed:
        defaults = tuple(name for name in defaults if name not in LISTING_METHODS)
    if not asked:
        asked = SWEPT_METHODS if swept else ("default",)
    names: list[str] = []
    for name in asked:
        if name == "default":
            names += defaults
        elif name == "all":
            known = registry().values()
            names += [m.name for m in known if _can_run(m, peers) and m.takes(n_classes)]
        else:
            names.append(name)
    always = () if swept else tuple(m for m in YARDSTICKS if find_method(m).takes(n_classes))
    return tuple(dict.fromkeys([*names, *always]))


def check_classes(plan: Plan, n_classes: int) -> None:
    """Refuse methods that do not tell so many classes apart.

    Raises
    ------
    ComparisonError
        If the plan has one.
    """
    for name in plan.methods:
        method, _ = parse_method(name)
        if not method.takes(n_classes):
            number = "two classes" if method.classes == "two" else "more than two classes"
            raise ComparisonMistake(
                f"method '{name}' needs a target of {number}, the schema declares {n_classes}; "
                "leave it out."
            )


def runs_of(plan: Plan) -> Iterator[Run]:
    """Yield every run, the first split's first, so that what is done early is balanced."""
    for repeat in range(plan.repeats):
        split_seed = _seed(plan.seed, "split", repeat)
        for name in plan.methods:
            method, bound = parse_method(name)
            for epsilon in plan.epsilons if method.private else (None,):
                for oracle in plan.oracles if method.uses_oracle else (None,):
                    yield _run(plan, method, name, bound, epsilon, repeat, split_seed, oracle)


def _run(
    plan: Plan,
    method: Method,
    name: str,
    bound: int | Literal["auto"] | None,
    epsilon: float | None,
    repeat: int,
    split_seed: int,
    oracle: str | None,
) -> Run:
    parts = [name]
    if epsilon is not None:
        parts.append(f"epsilon={epsilon!r}")
    if oracle is not None:
        parts.append(f"oracle={oracle}")
    parts.append(f"repeat={repeat}")
    swept = len(plan.oracles) > 1 and method.private and method.uses_oracle
    return Run(
        run_id="/".join(parts),
        method=name,
        epsilon=epsilon,
        repeat=repeat,
        split_seed=split_seed,
        seed=_seed(plan.seed, "run", repeat),
        weight_bound=(bound or plan.weight_bound) if method.has_grid else None,
        oracle=oracle,
        noise_seed=_seed(plan.seed, name, epsilon, repeat) if swept else None,
    )


def _seed(*parts: object) -> int:
    """Return 31 bits that depend on nothing but the parts."""
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return int(np.frombuffer(digest[:4], dtype="<u4")[0] >> 1)


def _can_run(method: Method, peers: bool) -> bool:
    if method.requires in ("peers", "start"):  # a start is compared where its method is named
        return peers and method.requires == "peers"
    return not method.requires or importlib.util.find_spec(method.requires) is not None


def _check_list(what: str, values: tuple[Any, ...]) -> None:
    if not values:
        raise ComparisonMistake(f"{what} must name at least one, got none.")
    if len(set(values)) < len(values):
        raise ComparisonMistake(f"{what} must be distinct, but one is given twice.")
