"""The commands of the documentation run, page by page, each page in a folder of its own."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.opdisc.command_lines import told

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])
FENCE = re.compile(
    r"^```(?P<language>\w+)(?P<mark>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
SAVED_AS = re.compile(r"[Ss]ave (?:this|it) as `([\w.-]+)`")
NOT_RUN = {
    "assurance.md": "mutation testing takes hours",
    "compare.md": "15 repeats of every method take minutes; how-to/compare.md runs a short one",
    "paper.md": "2,640 fits",
    "thresholds.md": "its draft has blanks; tests/test_opdisc/cli/ fills them and runs it",
    "peers.md": "needs an environment with other libraries",
    "plain-tables.md": "45 instances of a minute for every solver",
}
"""Pages whose commands need hours or other programs, and why; not-run marks single blocks."""
SET_UP = "python3 -m venv"
"""How the README's two commands begin: continuous tests run these as they stand there."""
SHELL = set("|&;<>()$`\\*?[]#~{}!\n")
"""Characters that only a shell understands."""


def steps(page):
    """Return (language, text) of what a reader runs: commands, and Python that comes before one.

    Python after the last command, and examples with prompts, are tested with their page alone.
    """
    blocks = [
        (block["language"], block["text"])
        for block in FENCE.finditer(page.read_text(encoding="utf-8"))
        if block["language"] in {"bash", "python"} and not block["mark"].strip()
    ]
    while blocks and blocks[-1][0] == "python":
        blocks.pop()
    return [
        (language, step)
        for language, text in blocks
        if ">>>" not in text
        for step in (text.splitlines() if language == "bash" else [text])
        if step.strip() and (language == "python" or not step.startswith(("#", SET_UP)))
    ]


def commands(page):
    return [text for language, text in steps(page) if language == "bash"]


WITH_COMMANDS = [page for page in PAGES if page.name not in NOT_RUN and commands(page)]


def files_of(page):
    """Yield (name, text) of each TOML file that a page asks the reader to save."""
    text = page.read_text(encoding="utf-8")
    for block in FENCE.finditer(text):
        if block["language"] == "toml":
            around = text[max(0, block.start() - 400) : block.end() + 200]
            if name := SAVED_AS.search(around):
                yield name[1], block["text"]


def loans(folder):
    """Write the table and schema that the examples about loans use."""
    rows = [(age, job, "yes" if age > 40 else "no") for age in range(20, 70) for job in ("a", "b")]
    text = "\n".join(",".join(map(str, row)) for row in [("age", "job", "repaid"), *rows])
    (folder / "loans.csv").write_text(text + "\n", encoding="utf-8")
    (folder / "loans.toml").write_text(
        'name = "loans"\ntarget = { column = "repaid", positive = "yes", negative = "no" }\n'
        '[[feature]]\ncolumn = "age"\nthresholds = [30, 40, 50]\n'
        '[[feature]]\ncolumn = "job"\ncategories = ["a"]\n',
        encoding="utf-8",
    )


def stays(folder):
    """Write the tables that the README's example is about."""
    wards = ("surgery", "cardiology", "other")
    rows = [(age, wards[age % 3], "yes" if age > 70 else "no") for age in range(20, 95)]
    for name in ("table.csv", "new.csv"):
        text = "\n".join(",".join(map(str, row)) for row in [("age", "ward", "readmitted"), *rows])
        (folder / name).write_text(text + "\n", encoding="utf-8")


@pytest.fixture
def reader(tmp_path):
    """Return a function that runs one line as a reader of the page would."""
    tools = tmp_path / "tools"
    tools.mkdir()
    command = tools / "opdisc"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m opdisc.cli.start "$@"\n')
    command.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)}

    def run(line):
        return subprocess.run(
            ["bash", "-ec", line],
            cwd=home,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    run.home = home
    return run


@pytest.mark.slow
@pytest.mark.pages
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.stem)
def test_the_commands_of_a_page_run_in_order(page, reader, monkeypatch):
    loans(reader.home)
    stays(reader.home)
    for name, text in files_of(page):
        (reader.home / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(reader.home)
    for language, text in steps(page):
        if language == "python":
            exec(compile(text, page.name, "exec"), {})
        else:
            status, errors = result_of(text, reader, as_processes=page.name == "README.md")
            assert status == 0, f"{page.name}: {text}\n{errors}"


def result_of(line, reader, as_processes=False):
    """Return exit status and errors of a line; a plain command needs no process of its own."""
    program, *arguments = shlex.split(line)
    if as_processes or program != "opdisc" or set(line) & SHELL:
        done = reader(line)
        return done.returncode, done.stderr
    status, _, errors = told(*arguments)
    return status, errors


def test_python_before_a_command_is_a_step(tmp_path):
    page = tmp_path / "page.md"
    blocks = [
        ("python", "# a comment first\nx = 1"),
        ("bash", "one\n# not run\ntwo"),
        ("python", ">>> 1\n1"),
        ("bash not-run", "three"),
        ("python", "y = 1"),
        ("bash", "four"),
        ("python", "z = 1"),
    ]
    page.write_text("\n".join(f"```{kind}\n{text}\n```\n" for kind, text in blocks))
    assert steps(page) == [
        ("python", "# a comment first\nx = 1\n"),
        ("bash", "one"),
        ("bash", "two"),
        ("python", "y = 1\n"),
        ("bash", "four"),
    ]


def test_the_page_about_a_raw_file_takes_ten_commands():
    page = ROOT / "docs" / "how-to" / "german-credit.md"
    assert len(commands(page)) == 10


def test_pages_that_are_not_run_are_still_there():
    assert set(NOT_RUN) <= {page.name for page in PAGES}
    assert len(WITH_COMMANDS) >= 7


@pytest.mark.parametrize("as_processes", [True, False])
def test_a_failing_command_would_be_seen(reader, as_processes):
    line = "opdisc plan nowhere.csv --schema nowhere.toml --epsilon 1"
    assert result_of(line, reader, as_processes)[0] == 2


def test_what_only_a_shell_understands_is_left_to_it(reader):
    assert result_of("opdisc oracles > told; test -s told", reader) == (0, "")
    assert (reader.home / "told").exists()
