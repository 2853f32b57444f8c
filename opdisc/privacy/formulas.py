r"""The formulas of the documentation pages, as a terminal can show them.

The pages set mathematics in TeX between dollars. Here it becomes words and ASCII signs, which
every terminal has: ``$e^{-\varepsilon}$`` reads ``e^-eps``.
"""

from __future__ import annotations

import re

WORDS = {
    "Pr": "P",
    "varepsilon": "eps",
    "le": "<=",
    "ge": ">=",
    "ne": "!=",
    "to": "->",
    "sim": "~",
    "in": "in",
    "notin": "not in",
    "cdot": "*",
    "ast": "*",
    "ldots": "..",
    "mid": "|",
    "Vert": "||",
    "langle": "<",
    "rangle": ">",
    "lvert": "|",
    "rvert": "|",
    "lbrace": "\N{LEFT WHITE CURLY BRACKET}",  # a brace at last, when no argument is left
    "rbrace": "\N{RIGHT WHITE CURLY BRACKET}",
    "lfloor": "floor(",
    "rfloor": ")",
    "lceil": "ceil(",
    "rceil": ")",
    "left": "",
    "right": "",
    "bmod": "mod",
    "prod": "product",
    "int": "integral",
    "infty": "inf",
    "qquad": "   ",
    "nabla": "grad",
    "gets": "<-",
    "det": "det",
} | {
    name: name
    for name in (
        "alpha beta gamma delta Delta zeta eta theta kappa lambda Lambda mu nu pi rho sigma tau "
        "phi Phi chi psi sum min max sup arg exp ln log cos"
    ).split()
}
"""What stands for each command that has no argument in braces."""

_MATHS = re.compile(
    r"^```.*?^```[^\n]*$|`[^`]*`"  # code stays
    r"|^\$\$\n(?P<display>.*?)\n\$\$$|\$(?P<inline>[^$\n]+)\$",
    re.DOTALL | re.MULTILINE,
)
_ARGUMENT = re.compile(r"(?P<command>\\[A-Za-z]+|[\^_]|)\{(?P<body>[^{}]*)\}")
_OPENING = re.compile(r"\\(langle|lvert|lbrace|lfloor|lceil|left)(?![A-Za-z]) *")
_CLOSING = re.compile(r" *\\(rangle|rvert|rbrace|rfloor|rceil|right)(?![A-Za-z])")
_LAST = str.maketrans(WORDS["lbrace"] + WORDS["rbrace"], "{}")
_DOT = re.compile(r"(?<=[(<])\\cdot|\\cdot(?=[,)>])")  # the place of an argument
_COMMAND = re.compile(r"\\([A-Za-z]+)")


def readable(text: str) -> str:
    """Return a page's Markdown with its formulas in words and ASCII signs.

    Parameters
    ----------
    text : str
        Markdown with TeX between dollars; code in it stays as it is.

    Returns
    -------
    str
        Displays are indented by four spaces.
    """
    return _MATHS.sub(_replaced, text)


def _replaced(found: re.Match[str]) -> str:
    if found["inline"] is not None:
        return _formula(found["inline"])
    if found["display"] is not None:
        return "\n".join(f"    {_formula(line)}" for line in found["display"].splitlines())
    return found[0]


def _formula(tex: str) -> str:
    for bracket in (_OPENING, _CLOSING):
        tex = bracket.sub(lambda found: WORDS[found[1]], tex)
    before = ""
    while before != tex:  # from the innermost braces outwards
        before, tex = tex, _ARGUMENT.sub(_argument, tex)
    tex = _DOT.sub(".", tex)
    tex = _COMMAND.sub(lambda found: WORDS.get(found[1], found[0]), tex)
    return tex.translate(_LAST).replace("^*", "*")


def _argument(found: re.Match[str]) -> str:
    command, body = found["command"], found["body"]
    if command in ("^", "_"):
        plain = re.fullmatch(r"[+-]?(?:\\?[A-Za-z]+|[\d.]+)'?|,|\*", body)
        return command + (body if plain else f"({body})")
    match command:
        case r"\sqrt":
            return f"sqrt({body})"
        case r"\hat":
            return f"{body}_hat"
        case r"\tilde":
            return f"{body}~"
        case r"\tag":
            return f"        ({body})"
    return body
