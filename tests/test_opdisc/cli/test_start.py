"""Doors to the command line: ``python -m opdisc``, and completion in a shell."""

import os
import shutil
import subprocess
import sys

import pytest

from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line


def test_the_package_runs_as_a_module():
    run = subprocess.run(
        [sys.executable, "-m", "opdisc", "--version"], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0 and run.stdout.startswith("opdisc, version ")


def test_a_command_starts_without_what_takes_longer_to_load_than_all_else():
    code = (
        "import sys; from opdisc.cli.app import cli; "
        "print(*({'sklearn', 'scipy.stats', 'matplotlib'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (run.returncode, run.stdout) == (0, "\n"), run.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_printed(shell, capsys):
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("needs bash")
    assert run_command_line(cli, ["--show-completion", shell]) == 0
    out, err = capsys.readouterr()
    assert f"{shell}_complete" in out and "opdisc" in out and err == ""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_and_options(tmp_path):
    command = tmp_path / "opdisc"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m opdisc "$@"\n')
    command.chmod(0o755)
    script = """
        eval "$(opdisc --show-completion bash)"
        complete -p opdisc > /dev/null || exit 3
        COMP_WORDS=(opdisc pl); COMP_CWORD=1; _opdisc_completion opdisc; echo "${COMPREPLY[@]}"
        COMPREPLY=(); COMP_WORDS=(opdisc fit --eps); COMP_CWORD=2; _opdisc_completion opdisc
        echo "${COMPREPLY[@]}"
    """
    environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    run = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=120, env=environment
    )
    assert (run.returncode, run.stdout.split()) == (0, ["plan", "--epsilon"]), run.stderr
