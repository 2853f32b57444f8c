"""The commands of docs/how-to/rare-outcomes.md run as written, on the table that they name."""

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from helpers.opdisc.command_lines import told

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "rare-outcomes.md"
COMMANDS = re.findall(r"^opdisc (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
TABLE = Path(os.environ.get("OPDISC_DATA", "")) / "german.csv"


@pytest.mark.slow
@pytest.mark.skipif(not TABLE.is_file(), reason="needs german.csv in the folder OPDISC_DATA")
def test_the_commands_run_and_print_what_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(TABLE, "german.csv")
    shown = ""
    assert len(COMMANDS) == 5
    for command in COMMANDS:
        arguments = shlex.split(command)
        if arguments[0] == "compare":
            arguments += ["--repeats", "2", "--jobs", "1"]  # the page's 15 take minutes
        status, out, err = told(*arguments)
        assert status == 0, err
        shown += out
    blocks = re.findall(r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for block in blocks[2:]:  # the first is another table's, the second the commands
        assert block in shown
    assert "Least cost at each ε" in Path("costs/report.html").read_text()
