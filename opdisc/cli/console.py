"""The terminal: progress that is silent when piped, and failures of one sentence."""

from __future__ import annotations

import errno
import io
import json
import os
import select
import shutil
import signal
import stat
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from opdisc.errors import FileMistake, OPDiscError, PublicMistake, TableError, one_sentence
from oracles.errors import InvalidOption, OracleError, OracleUnavailable, UnsupportedProblem

DEBUG_VARIABLE = "OPDISC_DEBUG"

INTERRUPTED = 130

_INTERRUPTION = "interrupted; whatever the ledger recorded stays spent."

_PATIENCE = 2.0

STANDARD_OUTPUT = Path("-")
"""What stands for it where a file is named."""

_STANDARD_INPUT = "/dev/stdin"

_WRONG_USAGE = (PublicMistake, InvalidOption, OracleUnavailable, UnsupportedProblem)
"""Errors about what was typed and about public files; all others are refusals and failures."""


def warn(note: str) -> None:
    """Print a line to standard error, whether or not anybody watches."""
    with suppress(OSError):
        click.echo(note, err=True)


def print_json(record: Any) -> None:
    """Print one JSON document."""
    print_text(json_text(record))


def json_text(record: Any) -> str:
    """Return one JSON document as it is printed."""
    return json.dumps(record, indent=2, allow_nan=False) + "\n"


def check_standard_output() -> None:
    """Raise OSError where printing is bound to fail, before anything is spent.

    Nothing is written, but for one empty line to a device that is no terminal: only a write tells
    a full one from others. What fails later is caught by :func:`print_bought`.
    """
    if sys.stdout is None or sys.stdout.closed:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    try:
        descriptor = sys.stdout.fileno()
    except io.UnsupportedOperation:
        return  # not a file: a notebook's or a test's
    os.write(descriptor, b"")  # a closed one, or one for reading, refuses even this
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode) and os.fstatvfs(descriptor).f_bavail == 0:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if stat.S_ISFIFO(mode):
        poll = select.poll()
        poll.register(descriptor, 0)
        if any(event & select.POLLERR for _, event in poll.poll(0)):
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
    if stat.S_ISCHR(mode) and not os.isatty(descriptor):
        os.write(descriptor, b"\n")


def print_bought(text: str, saved: object = None) -> None:
    """Print what budget was spent for, to standard error if standard output does not take it.

    Parameters
    ----------
    text : str
        What was bought.
    saved : path or None
        Where it is safe already.

    Raises
    ------
    TableError
        If standard output did not take it all.
    """
    try:
        print_text(text)
    except OSError as error:
        if saved is not None and (sys.stdout is None or isinstance(error, BrokenPipeError)):
            return  # nobody reads it, and nothing is lost
        _silence_output()
        click.echo(text, err=True, nl=False)
        where = "printed to standard error" + ("" if saved is None else f" and saved in {saved}")
        raise TableError(
            f"standard output must be writable, but it is not ({error.strerror}); the result is "
            f"{where}: keep that, a second fit would spend more."
        ) from None


def print_text(text: str) -> None:
    """Print UTF-8 text to the last byte, or raise OSError, whatever the terminal's encoding."""
    print_bytes(text.encode("utf-8"))


def print_bytes(data: bytes) -> None:
    """Print to the last byte, or raise OSError; to a stream of text, UTF-8 text."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    sys.stdout.flush()
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        sys.stdout.write(data.decode("utf-8"))
        return
    rest = memoryview(data)
    # Where PYTHONUNBUFFERED is set the stream is raw: it may write a part and say nothing.
    while rest:
        rest = rest[stream.write(rest) :]
    stream.flush()


def toned(sentence: str, *, is_good: bool) -> str:
    """Return a verdict's sentence as a terminal shows it: good news in another colour.

    Without a terminal, or with NO_COLOR, as it is.
    """
    if sys.stdout is None or not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return sentence
    return click.style(sentence, fg="green") if is_good else click.style(sentence, bold=True)


class WeightBound(click.ParamType):  # type: ignore[type-arg]
    """A whole number, or "auto"."""

    name = "integer or auto"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        """Return the number, or "auto"."""
        return "auto" if value == "auto" else int(click.INT.convert(value, param, ctx))


def require_one_form(out: Path | None, as_json: bool) -> None:
    """Refuse ``--out -`` beside ``--json``: two documents would be mixed up."""
    if out == STANDARD_OUTPUT and as_json:
        raise click.UsageError("standard output takes one form: drop --json, or --out -.")


def from_input(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Return the name of a file to read; "-" is standard input, and one file of a command."""
    if value is None or str(value) != str(STANDARD_OUTPUT):
        return value
    if ctx.meta.setdefault(f"{__name__}.input", param.name) != param.name:
        raise click.UsageError("standard input is one file: give the others a name.")
    if sys.stdin is None:  # its number may be that of a file opened since, such as a pipe of ours
        raise FileMistake("standard input must be open, but it is closed; name a file instead")
    with suppress(OSError):  # a test may have closed it
        if stat.S_ISSOCK(os.fstat(0).st_mode):
            _pipe_input()
    return type(value)(_STANDARD_INPUT)


def _pipe_input() -> None:
    """Put a pipe in place of a socket, which has no name that can be opened."""
    socket = os.dup(0)
    source, sink = os.pipe()
    os.dup2(source, 0)
    os.close(source)

    def relay() -> None:
        with suppress(OSError), open(socket, "rb") as taken, open(sink, "wb") as given:
            shutil.copyfileobj(taken, given)

    threading.Thread(target=relay, daemon=True).start()


def show_completion(ctx: click.Context, param: click.Parameter, shell: str | None) -> None:
    """Print the script by which a shell completes commands, options and paths, and stop."""
    from click.shell_completion import get_completion_class

    kind = None if shell is None else get_completion_class(shell)
    if kind is None or ctx.resilient_parsing:
        return
    print_text(kind(ctx.command, {}, "opdisc", "_OPDISC_COMPLETE").source() + "\n")
    ctx.exit()


class CommandGroup(click.Group):
    """A group whose interruptions and failed writes reach :func:`run_command_line` unchanged."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; click itself would add an empty line, or exit at once."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, OSError) as error:
            raise _Stopped(error) from error


class _Stopped(Exception):
    """Carries an interruption or a failed read or write past click."""

    def __init__(self, reason: KeyboardInterrupt | OSError) -> None:
        super().__init__()
        self.reason = reason


_EVERYONE, _FILE, _START, _COSTS, _ADVANCED = (
    "What everyone needs",
    "The file",
    "A public start",
    "Costs and risks",
    "Advanced",
)

_GROUPS = {
    _EVERYONE: {
        *("schema", "dataset", "epsilon", "epsilons", "methods", "repeats", "ledger", "out"),
        *("resume", "list_methods", "explain", "as_json", "since"),
    },
    _FILE: {"delimiter", "encoding", "query", "sheet", "names", "table_name", "database", "force"},
    _START: {"prior", "pilot"},
    _COSTS: {"false_negative_cost", "false_positive_cost", "risk_budget", "odds_scale"},
}
"""Options by what they are for; all others are advanced."""


class GroupedCommand(click.Command):
    """A command whose help lists its options in groups, what everyone needs first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups that have options, each with these in their order."""
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in (*_GROUPS, _ADVANCED)}
        for option in self.get_params(ctx):
            shown = option.get_help_record(ctx)
            if isinstance(option, click.Option) and shown is not None:
                groups[_group(ctx, option)].append(shown)
        for name, listed in groups.items():
            if listed:
                with formatter.section(name):
                    formatter.write_dl(listed)


def _group(ctx: click.Context, option: click.Option) -> str:
    if set(option.opts) & set(ctx.help_option_names):
        return _EVERYONE
    known = (name for name, members in _GROUPS.items() if option.name in members)
    return next(known, _ADVANCED)


def run_command_line(command: click.Command, arguments: list[str] | None = None) -> int:
    """Run a command and turn every outcome into an exit status.

    Returns
    -------
    int
        0 done; 1 refused or failed; 2 wrong usage, that is, something is wrong with what was typed
        or with a file that is public; 130 interrupted.
    """
    try:
        result = command.main(args=arguments, prog_name="opdisc", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.UsageError as error:
        return _refuse_usage(error)
    except _WRONG_USAGE as error:
        return _fail(str(error), 2)
    except (OPDiscError, OracleError) as error:
        return _fail(str(error), 1)
    except (click.Abort, KeyboardInterrupt):
        return _fail(_INTERRUPTION, INTERRUPTED)
    except _Stopped as stopped:
        if isinstance(stopped.reason, OSError):
            return _fail_to_transfer(stopped.reason)
        return _fail(_INTERRUPTION, INTERRUPTED)
    except OSError as error:
        return _fail_to_transfer(error)
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            traceback.print_exc()
        # A library's message may quote a cell of the table, so only its type is shown.
        return _fail(
            f"an unexpected {type(error).__name__} stopped the command; set {DEBUG_VARIABLE}=1 to "
            "see it, which may print private values.",
            1,
        )


@contextmanager
def prompt_interruption() -> Iterator[None]:
    """End the process two seconds after a Ctrl-C that the main thread does not serve.

    Python raises KeyboardInterrupt only once compiled code returns, and a solver may not return
    for hours. Files are safe: they are replaced whole or not at all.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    finished = threading.Event()

    def watch() -> None:
        while received := os.read(reader, 1):
            if received[0] == signal.SIGINT and not finished.wait(_PATIENCE):
                os.write(2, f"error: {_INTERRUPTION}\n".encode())
                os._exit(INTERRUPTED)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    previous = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield
    finally:
        finished.set()
        signal.set_wakeup_fd(previous)
        os.close(writer)
        watcher.join()
        os.close(reader)


def _refuse_usage(error: click.UsageError) -> int:
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):  # click >= 8.2
        error.show()
        return 2
    command = "opdisc" if error.ctx is None else error.ctx.command_path
    return _fail(f"{one_sentence(error.format_message())} Try '{command} --help'.", 2)


def _silence_output() -> None:
    """Drop what is buffered: it would fail once more when Python ends, with its own message."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail_to_transfer(error: OSError) -> int:
    _silence_output()
    if isinstance(error, BrokenPipeError):
        return 1  # the reader left: nothing more can be said to it
    reason = error.strerror or type(error).__name__
    return _fail(f"reading or writing failed ({reason}); check the place and run again.", 1)


def _fail(message: str, status: int) -> int:
    with suppress(OSError):  # standard error may be full too: the status still tells
        click.echo(f"error: {one_sentence(message)}", err=True)
    return status
