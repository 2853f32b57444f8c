"""Do the quick tests notice a wrong line? Mutants of the modules that promises rest on.

    python benchmarks/mutation.py --group levels               every mutant of one group
    python benchmarks/mutation.py --sample 60 --seed 1         at most 60 of every module
    python benchmarks/mutation.py --group running --list       what would be tried, nothing is run

A mutant is the module with one operator, number, comparison, condition, loop, handler or decorator
changed by Cosmic Ray (``pip install cosmic-ray``), which makes the mutants; this script decides
which ones are worth a run, copies the tree, and runs the neighbourhood's default tests on every
mutant in a forked process that has the libraries loaded already. Comparisons are moved by one
boundary or reversed, arithmetic is replaced by its nearest kin. Annotations, ``TYPE_CHECKING``
blocks, protocols, the arguments of decorators and ``strict=`` are left alone: they decide nothing
when a right program runs.

A mutant is killed if a test fails, or if the run takes ten seconds and three times as long as the
tests alone. Survivors that are equivalent are listed in ``benchmarks/mutation_equivalent.txt``,
each with its reason; exit status 1 if any other mutant survives. A few hours for everything.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENT = Path(__file__).with_name("mutation_equivalent.txt")
TREE = ("oracles", "opdisc", "tests", "benchmarks", "data", "docs", "README.md", "pyproject.toml")
LIBRARIES = (
    *("numpy", "scipy.stats", "scipy.special", "scipy.optimize", "pandas", "numba", "mpmath"),
    *("sklearn.base", "sklearn.utils", "hypothesis", "msgspec", "lazy_loader", "filelock"),
    *("pytest", "joblib", "rich", "click", "highspy", "dp_accounting.pld"),
)


@dataclass(frozen=True, slots=True)
class Group:
    """Modules and the quick tests of their neighbourhood.

    Parameters
    ----------
    modules : tuple of str
        Paths from the root.
    tests : tuple of str
        Arguments of pytest, the quickest first.
    """

    modules: tuple[str, ...]
    tests: tuple[str, ...]


_SAMPLING = "tests/test_oracles/sampling/"
_CALIBRATION = "tests/test_opdisc/calibration/"
_PLANNING = "tests/test_opdisc/planning/"
_MECHANISMS, _PRIVACY = "tests/test_opdisc/mechanisms/", "tests/test_opdisc/privacy/"
GROUPS = {
    "levels": Group(
        ("oracles/sampling/listed.py",),
        (f"{_SAMPLING}test_loss_levels.py", f"{_SAMPLING}test_listed.py"),
    ),
    "running": Group(
        ("opdisc/privacy/prepared.py", "opdisc/mechanisms/run.py"),
        (
            f"{_PRIVACY}test_prepared.py",
            *(f"{_MECHANISMS}test_{name}.py" for name in ("run", "limits")),
            *(f"{_MECHANISMS}test_{name}.py" for name in ("error_costs", "assumptions")),
        ),
    ),
    "planning": Group(
        tuple(f"opdisc/planning/{name}.py" for name in ("choice", "decision", "plan")),
        (
            *(f"{_PLANNING}test_{name}.py" for name in ("decision", "plan", "request")),
            *(f"{_PLANNING}test_{name}.py" for name in ("utility", "weight_rule", "frozen")),
            *(f"{_PLANNING}test_{name}.py" for name in ("logistic", "classes", "any_table")),
        ),
    ),
    "encoding": Group(
        tuple(
            f"opdisc/data/{name}.py" for name in ("encoding", "label_encoding", "encoded_table")
        ),
        (
            "tests/test_opdisc/data/test_encoding_cases.py",
            "tests/test_opdisc/data/test_encoding.py",
        ),
    ),
    "margins": Group(
        ("opdisc/calibration/margins.py",),
        (f"{_CALIBRATION}test_margin_figures.py", f"{_CALIBRATION}test_margins.py"),
    ),
    "separators": Group(
        ("opdisc/calibration/separators.py",), (f"{_CALIBRATION}test_separators.py",)
    ),
    "gaussian": Group(
        ("opdisc/calibration/gaussian.py",),
        (f"{_CALIBRATION}test_margin_figures.py", f"{_CALIBRATION}test_gaussian.py"),
    ),
    "noise": Group(
        tuple(f"opdisc/noise/{name}.py" for name in ("lattice", "search", "real")),
        (
            *(f"tests/test_opdisc/noise/test_{name}.py" for name in ("transforms", "search")),
            "tests/test_opdisc/noise",
        ),
    ),
    "receipts": Group(
        tuple(f"opdisc/privacy/{name}.py" for name in ("guarantee", "params", "public"))
        + ("opdisc/privacy/receipts/receipt.py", "opdisc/mechanisms/receipts.py"),
        (f"{_PRIVACY}test_promises.py", f"{_MECHANISMS}test_run.py", f"{_PRIVACY}test_receipt.py"),
    ),
    "accounting": Group(
        tuple(
            f"opdisc/privacy/{name}.py"
            for name in ("ledger", "ledger_lines", "spending", "ledger_file")
        ),
        tuple(
            f"{_PRIVACY}test_{name}.py"
            for name in ("ledger_lines", "sums", "ledger_file", "ledger", "hostile")
        ),
    ),
}

_STAR = re.compile(r"(?:^ +|\(|, )\*,")

# What each operator is replaced by, of all that Cosmic Ray offers.
_COMPARISONS = {
    ("Lt", "LtE"), ("Lt", "GtE"), ("LtE", "Lt"), ("LtE", "Gt"), ("Gt", "GtE"), ("Gt", "LtE"),
    ("GtE", "Gt"), ("GtE", "Lt"), ("Eq", "NotEq"), ("NotEq", "Eq"), ("Is", "IsNot"),
    ("IsNot", "Is"), ("In", "NotIn"), ("NotIn", "In"),
}  # fmt: skip
_ARITHMETIC = {
    ("Add", "Sub"), ("Sub", "Add"), ("Mul", "Div"), ("Div", "Mul"), ("FloorDiv", "Mul"),
    ("Mod", "FloorDiv"), ("Pow", "Mul"), ("LShift", "RShift"), ("RShift", "LShift"),
    ("BitOr", "BitAnd"), ("BitAnd", "BitOr"), ("BitXor", "BitOr"),
}  # fmt: skip
_ALWAYS = {
    "AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr",
    "ReplaceOrWithAnd", "ReplaceBreakWithContinue", "ReplaceContinueWithBreak",
    "ExceptionReplacer", "NumberReplacer", "RemoveDecorator", "ZeroIterationForLoop",
    "ReplaceUnaryOperator_USub_UAdd", "ReplaceUnaryOperator_Delete_USub",
    "ReplaceUnaryOperator_Delete_Not",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed module.

    Parameters
    ----------
    module, operator : str
        Path from the root; what was done.
    line : int
        Of the module.
    before, after : str
        The changed lines, without indentation; what equivalent mutants are listed by.
    source : str
        The whole module, changed.
    """

    module: str
    operator: str
    line: int
    before: str
    after: str
    source: str

    @property
    def key(self) -> str:
        """What identifies it wherever its line moves."""
        return f"{self.module} | {self.before} -> {self.after}".rstrip()


def chosen_operators() -> list[str]:
    """Return the names of the operators that are worth a run."""
    from cosmic_ray.plugins import operator_names

    names = []
    for name in operator_names():
        short = name.removeprefix("core/")
        pair = tuple(short.split("_")[1:])
        if (
            short in _ALWAYS
            or (short.startswith("ReplaceComparison") and pair in _COMPARISONS)
            or (short.startswith("ReplaceBinary") and pair in _ARITHMETIC)
        ):
            names.append(name)
    return sorted(names)


def mutants(module: str) -> Iterator[Mutant]:
    """Yield every mutant of a module that differs from it where something is decided."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    source = (ROOT / module).read_text(encoding="utf-8")
    spared = _spared(source)
    plain = ast.dump(ast.parse(source))
    tree = get_ast(source)
    seen = set()
    for name in chosen_operators():
        operator = get_operator(name)()
        places = [
            start for node in ast_nodes(tree) for start, _ in operator.mutation_positions(node)
        ]
        for occurrence, (line, column) in enumerate(places):
            if any(first <= (line, column) < last for first, last in spared):
                continue
            if _STAR.search(source.splitlines()[line - 1]):  # of a signature, and no product
                continue
            changed = mutate_code(source, operator, occurrence)
            if changed is None or changed in seen:
                continue
            seen.add(changed)
            try:
                if ast.dump(ast.parse(changed)) == plain:
                    continue
            except SyntaxError:
                continue
            before, after = _changed_lines(source, changed)
            yield Mutant(module, name.removeprefix("core/"), line, before, after, changed)


def _spared(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return where nothing is decided at run time: from (line, column) to (line, column)."""
    spared: list[ast.AST] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            spared.append(node.annotation)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if isinstance(node, ast.FunctionDef) and node.returns is not None:
                spared.append(node.returns)
            spared += [d for d in node.decorator_list if isinstance(d, ast.Call)]
        if isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases):
            spared.append(node)  # only a type checker reads it
        if isinstance(node, ast.keyword) and node.arg == "strict":
            spared.append(node)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            spared.append(node)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "Mechanism":
            spared.append(node)
    return [((n.lineno, n.col_offset), (n.end_lineno, n.end_col_offset)) for n in spared]  # type: ignore[attr-defined]


def _changed_lines(source: str, changed: str) -> tuple[str, str]:
    removed, added = [], []
    for text in difflib.ndiff(source.splitlines(), changed.splitlines()):
        if text.startswith("- "):
            removed.append(text[2:])
        elif text.startswith("+ "):
            added.append(text[2:])
    return " ".join(" ".join(removed).split()), " ".join(" ".join(added).split())


def copied_tree() -> Path:
    """Return a copy of the tree in which modules may be replaced."""
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    for name in TREE:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy2(ROOT / name, folder / name)
    return folder


def run_tests(folder: Path, tests: list[str], options: list[str], limit: float) -> str:
    """Return "passed", "failed" or "too long" of the tests in a forked process."""
    child = os.fork()
    if child == 0:
        os.setsid()
        log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os._exit(_test_in_child(folder, tests, options))
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "passed" if os.waitstatus_to_exitcode(status) == 0 else "failed"
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "too long"


def _test_in_child(folder: Path, tests: list[str], options: list[str]) -> int:
    import hypothesis
    import pytest

    os.chdir(folder)
    sys.path.insert(0, str(folder))
    # A mutant of the same length in the same second would pass for the module itself.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.environ["PYTHONPATH"] = str(folder)
    hypothesis.settings.register_profile("few", deadline=None, max_examples=20)
    quiet = ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore", "--no-header"]
    try:
        for test in tests:  # one file after the other: most mutants need only the first
            code = int(pytest.main([*quiet, "--hypothesis-seed=0", *options, test]))
            if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                return code
        return 0
    except BaseException as error:  # noqa: B902  (a mutant may raise anything, SystemExit too)
        print(repr(error))
        return 3


def known_equivalent() -> dict[str, str]:
    """Return the reasons of equivalent mutants by key."""
    reasons: dict[str, str] = {}
    reason = ""
    if EQUIVALENT.exists():
        for text in EQUIVALENT.read_text(encoding="utf-8").splitlines():
            if text.startswith("# "):
                reason = text[2:]
            elif text.strip():
                reasons[text.rstrip()] = reason
    return reasons


def try_group(name: str, group: Group, arguments: argparse.Namespace) -> list[tuple[str, ...]]:
    """Run a group's mutants; return rows of the table, and print every survivor."""
    equivalent, rows = known_equivalent(), []
    folder = copied_tree()
    tests = [test for test in group.tests if (ROOT / test).exists()]
    tests = tests[: arguments.first]
    options = ["-k", arguments.keyword] if arguments.keyword else []
    if arguments.few:
        options += ["--hypothesis-profile=few"]
    try:
        began = time.monotonic()
        if run_tests(folder, tests, options, 1800) != "passed":
            print((folder / "log").read_text()[-3000:])
            raise SystemExit(f"the tests of {name} must pass before anything is changed.")
        usual = time.monotonic() - began
        for module in group.modules:
            if arguments.module and arguments.module not in module:
                continue
            every = list(mutants(module))
            tried = every
            if arguments.sample and len(every) > arguments.sample:
                tried = random.Random(f"{arguments.seed} {module}").sample(every, arguments.sample)
            killed = known = 0
            for mutant in tried:
                if mutant.key in equivalent:
                    known += 1
                    continue
                (folder / module).write_text(mutant.source, encoding="utf-8")
                if run_tests(folder, tests, options, 10 + 3 * usual) == "passed":
                    print(
                        f"SURVIVED line {mutant.line} {mutant.operator}\n{mutant.key}", flush=True
                    )
                else:
                    killed += 1
            shutil.copy2(ROOT / module, folder / module)
            left = len(tried) - killed - known
            score = killed / max(1, len(tried) - known)
            rows.append((module, len(every), len(tried), killed, known, left, f"{score:.1%}"))
            print(f"{module}: {killed} of {len(tried)} killed, {known} equivalent", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return [tuple(map(str, row)) for row in rows]


def main() -> int:
    """Try the mutants and print one row per module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--group", action="append", choices=tuple(GROUPS), help="all if left out")
    parser.add_argument("--module", help="only modules whose path contains this")
    parser.add_argument("--sample", type=int, help="at most so many mutants of a module")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--first", type=int, help="run only so many of a group's test files")
    parser.add_argument("--keyword", help="run only tests that pytest's -k selects by this")
    parser.add_argument("--few", action="store_true", help="20 examples of a property")
    parser.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    arguments = parser.parse_args()
    chosen = {name: GROUPS[name] for name in arguments.group or GROUPS}
    if arguments.list:
        for group in chosen.values():
            for mutant in (mutant for module in group.modules for mutant in mutants(module)):
                print(f"{mutant.line:>4} {mutant.operator:<36} {mutant.before} -> {mutant.after}")
        return 0
    for library in LIBRARIES:
        try:
            importlib.import_module(library)
        except ImportError:
            print(f"{library} is not installed; runs without it", file=sys.stderr)
    rows = [row for name, group in chosen.items() for row in try_group(name, group, arguments)]
    heads = ("module", "mutants", "tried", "killed", "equivalent", "survived", "score")
    print(f"\n{heads[0]:<44}" + "".join(f"{head:>12}" for head in heads[1:]))
    for row in rows:
        print(f"{row[0]:<44}" + "".join(f"{cell:>12}" for cell in row[1:]))
    return int(any(row[5] != "0" for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
