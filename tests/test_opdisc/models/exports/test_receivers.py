"""The receivers' code on the page "Put a card to work" runs on what the page's commands write."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.opdisc.command_lines import told

ROOT = Path(__file__).resolve().parents[4]
PAGE = ROOT / "docs" / "how-to" / "put-a-card-to-work.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall("^```python not-run\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
OPTIONAL = {"pypmml", "jpmml_evaluator", "onnxruntime"}


def receivers():
    for block in BLOCKS:
        modules = re.findall(r"^(?:import|from) (\w+)", block, re.MULTILINE)
        needed = [name for name in modules if name in OPTIONAL]
        marks = [pytest.mark.extras(*needed)] if needed else []
        name = (needed or [name for name in modules if name in ("sqlite3", "cancer")])[0]
        yield pytest.param(block, id=name, marks=marks)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the card's file and its forms, as the page's commands make them."""
    made, back = tmp_path_factory.mktemp("page"), os.getcwd()
    os.chdir(made)
    try:
        first = re.search("^```bash\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)[1]
        for line in first.splitlines():
            status, _, errors = told(*line.split()[1:])
            assert status == 0, (line, errors)
    finally:
        os.chdir(back)
    return made


@pytest.mark.slow
@pytest.mark.extras("onnx", "openpyxl")
@pytest.mark.parametrize("block", list(receivers()))
def test_the_receivers_code_gives_the_answers_of_predict(block, folder):
    (folder / "receiver.py").write_text(block, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "receiver.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_each_form_of_the_command_is_on_the_page():
    from opdisc.cli.show import _FORMS

    for form in set(_FORMS) - {"markdown", "png"}:
        assert f"--{form} cancer" in TEXT and f"`--{form}`" in TEXT, form
    assert len(BLOCKS) >= 5
