"""Commands run in this process, and what may be said after a refusal."""

import contextlib
import io
import re
import unicodedata

from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line

REFUSAL = re.compile(r"error: [^\n]+[.!?]\n")

LONGEST_REFUSAL = 2_500


def told(*arguments):
    """Run a command; return its exit status and what it printed on either stream."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run_command_line(cli, [str(argument) for argument in arguments])
    return status, out.getvalue(), err.getvalue()


def is_shown_as_it_is(text):
    """Return whether a terminal shows every character of a text and obeys none but line ends."""
    return all(
        character == "\n" or character.isprintable() or unicodedata.category(character) == "Zs"
        for character in text
    )


def assert_one_plain_sentence(status, out, err, *, hidden=()):
    """Refused or failed, in one short sentence that expects itself and holds nothing private."""
    assert status in (1, 2), (status, err)
    assert out == ""
    assert REFUSAL.fullmatch(err), err
    assert len(err) < LONGEST_REFUSAL and is_shown_as_it_is(err), err
    assert "unexpected" not in err and "Traceback" not in err, err
    assert not any(cell in err for cell in hidden), err
