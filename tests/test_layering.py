"""One arrow between the packages, no solver at import, no privacy words below the boundary."""

import ast
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import opdisc
import oracles

SOLVERS = ("pulp", "highspy", "ortools", "pyscipopt", "gurobipy", "cvxpy")
SOURCES = sorted(Path(oracles.__file__).parent.glob("**/*.py"))
PRIVACY_WORDS = re.compile(
    r"epsilon|privacy|differential|\bnoise|\bnoisy|\bdp\b|sensitivity|calibrat|"
    r"\bprivate (?:data|tables?|rows?|optim|learn)",
    re.IGNORECASE,
)


def loaded(package, suspects):
    """Return which of the modules are loaded by importing the package in a fresh interpreter."""
    code = (
        f"import sys, {package}; "
        f"print(*sorted(set({suspects!r}) & {{m.split('.')[0] for m in sys.modules}}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.split()


def test_importing_oracles_loads_no_opdisc_and_no_solver():
    assert loaded("oracles", ("opdisc", "numba", *SOLVERS)) == []


def test_importing_opdisc_loads_no_solver():
    assert loaded("opdisc", SOLVERS) == []


def test_a_command_starts_without_what_takes_longest_to_load():
    assert loaded("opdisc.cli.app", ("scipy", "sklearn", "matplotlib", "numba", *SOLVERS)) == []


def test_the_detector_can_fire():
    assert loaded("highspy, opdisc", ("opdisc", *SOLVERS)) == ["highspy", "opdisc"]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_oracles_never_mention_opdisc_and_speak_of_optimisation_only(source):
    text = source.read_text()
    # The group of entry points bears the name of what is installed, not of the package.
    named = text.replace('ENTRY_POINTS = "opdisc.oracles"', "")
    assert not re.search(r"\bopdisc\b", named, re.IGNORECASE)
    assert not {match.group(0) for match in PRIVACY_WORDS.finditer(text)}


def test_the_words_would_be_found():
    text = "Differential privacy needs epsilon."
    assert len(PRIVACY_WORDS.findall(text)) == 3


def test_the_stub_is_where_the_public_names_come_from():
    assert {"__version__", *dir(opdisc)} == set(opdisc.__all__)
    named = {"PrivateScorecardClassifier", "save_model", "load_model", "Schema", "__version__"}
    assert named <= set(opdisc.__all__)
    for name in opdisc.__all__:
        assert getattr(opdisc, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        opdisc.nothing  # noqa: B018


# --- one place spends ----------------------------------------------------------------------------

SPENDER = "privacy/prepared.py"
RELEASING = ("calibration", "convex", "estimators", "mechanisms", "models", "privacy")
BEFORE_A_CHARGE = {
    "mechanisms/rehearsal.py",  # public rows
    "mechanisms/robust_vote/isolation.py",  # another process, whose ballots are counted
}


def spends(tree):
    """Return the lines that call a method ``spend``."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "spend"
    ]


def silences(tree):
    """Return the lines that drop every error: suppressed, or handled and not raised again."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            found += [node.lineno for kind in node.args if ast.unparse(kind) in EVERY]
        if isinstance(node, ast.ExceptHandler):
            kinds = "BaseException" if node.type is None else ast.unparse(node.type)
            raised = any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
            if kinds in EVERY and not raised:
                found.append(node.lineno)
    return found


EVERY = ("Exception", "BaseException")


def found_in(rooms, look):
    """Return how often each module of some rooms of opdisc has what is looked for."""
    root = Path(opdisc.__file__).parent
    paths = [path for room in rooms for path in sorted((root / room).rglob("*.py"))]
    counts = {
        path.relative_to(root).as_posix(): len(look(ast.parse(path.read_text(encoding="utf-8"))))
        for path in paths
    }
    return {name: count for name, count in counts.items() if count}


def test_one_place_spends():
    assert found_in((".",), spends) == {SPENDER: 1}


def test_one_place_silences_what_follows_a_charge():
    silent = found_in(RELEASING, silences)
    # The listener is one of the two, the draw the other. A vote's learner casts an empty ballot.
    expected = {SPENDER: 2, "mechanisms/robust_vote/run.py": 1}
    assert {name: n for name, n in silent.items() if name not in BEFORE_A_CHARGE} == expected


def test_a_second_place_would_be_found():
    second = """
        ledger.spend(receipt)
        with suppress(Exception):
            draw()
        with contextlib.suppress(OSError, Exception):
            draw()
        try:
            draw()
        except Exception:
            found = None
        try:
            draw()
        except:
            pass
        try:
            draw()
        except OSError:
            pass
        except Exception:
            raise Other
    """
    tree = ast.parse(textwrap.dedent(second))
    assert len(spends(tree)) == 1 and len(silences(tree)) == 4
