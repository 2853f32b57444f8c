"""Where the ``opdisc`` command starts: an interruption ends it quietly, even while it imports."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, NoReturn

_INTERRUPTED = 130


def main() -> None:
    """Run the command line and exit.

    Importing takes up to a second, in which a KeyboardInterrupt would end in a traceback, or in a
    library's own words. Nothing has happened yet and nothing is open, so the process just ends.
    """
    guarded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if guarded:
        signal.signal(signal.SIGINT, _end)
    from opdisc.cli.app import load_command, main as run

    load_command(sys.argv[1:])

    try:
        if guarded:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        _end()
    finally:
        if guarded:
            signal.signal(signal.SIGINT, _end)


def _end(*_: Any) -> NoReturn:
    """End at once; whatever was to be written has been, or never will be."""
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
