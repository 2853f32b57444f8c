"""One arrow between the packages, no solver at import, no privacy words below the boundary."""

import re
import subprocess
import sys
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
