"""Texts that others wrote: what a terminal shows and does not obey, and how a message quotes them.

Schemas, saved models and ledgers are files from anywhere. A line break in a name could forge a line
of a receipt, an escape sequence repaint the terminal, a bidi override swap two words.
"""

from __future__ import annotations

import math
import unicodedata

LONGEST_NAME = 500
"""Characters of a name or a label."""

_LONGEST_QUOTE = 120

_LONGEST_MESSAGE = 2_000


def is_plain(text: str) -> bool:
    """Return whether a text holds printable characters and spaces only, each shown as itself."""
    return text.isprintable() or all(map(_is_shown, text))


def escaped(text: str) -> str:
    r"""Return a text on one line, with ``\n``, ``\x1b`` or ``\u202e`` for what is not plain."""
    return text if is_plain(text) else "".join(map(_escaped_character, text))


def quoted(value: object) -> str:
    """Return a value as a message names it: escaped and short, whatever it is."""
    try:
        return shortened(repr(value))
    except (ValueError, RecursionError):  # a number of 5,000 digits, a list in a list in a list
        return f"a long {type(value).__name__}"


def shortened(text: str, longest: int = _LONGEST_QUOTE) -> str:
    """Return a text of at most so many characters, its middle left out."""
    if len(text) <= longest:
        return text
    end = longest // 3
    return f"{text[: longest - end - 3]}...{text[-end:]}"


def one_sentence(message: str) -> str:
    """Return a message on one line, escaped, no word of it and not all of it very long."""
    words = (shortened(word, 2 * _LONGEST_QUOTE) for word in message.split())
    folded = shortened(escaped(" ".join(words)), _LONGEST_MESSAGE)
    return folded if folded.endswith((".", "!", "?")) else folded + "."


def large_number(number: int) -> str:
    """Return a count to three digits; beyond a double's range to its power of ten."""
    if number < 10**300:
        return f"{number:.3g}"
    return f"1e+{math.floor(math.log10(number))}"


def _is_shown(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _escaped_character(character: str) -> str:
    if _is_shown(character):
        return character
    return character.encode("unicode_escape").decode("ascii")
