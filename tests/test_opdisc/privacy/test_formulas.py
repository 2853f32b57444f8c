"""Formulas in a terminal: words and ASCII signs instead of TeX."""

import re

import pytest

from opdisc.privacy import all_statements
from opdisc.privacy.formulas import readable

CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


def test_no_command_and_no_dollar_is_left_in_any_statement():
    statements = all_statements()
    texts = {one.citation: CODE.sub("", one.text) for one in statements}
    assert "e^-eps" in texts["docs/theory.md, Theorem A"]
    left = {
        (where, found)
        for where, text in texts.items()
        for found in re.findall(r"\\[A-Za-z]+|\$|[^\x00-\x7f±·]", text)
    }
    assert left == set()


@pytest.mark.parametrize(
    ("tex", "words"),
    [
        (r"$e^{-\varepsilon} p(\eta + s_w)$", "e^-eps p(eta + s_w)"),
        (r"$\langle s_w, \psi(w) \rangle \ge \mu$", "<s_w, psi(w)> >= mu"),
        (r"$\sqrt{R^2 - \lvert w \rvert^2} / R$", "sqrt(R^2 - |w|^2) / R"),
        (r"$w \in \lbrace 0, 1 \rbrace^d$", "w in {0, 1}^d"),
        (r"$\sum_{k \in K} \lambda_k \le 10{,}000$", "sum_(k in K) lambda_k <= 10,000"),
        (r"$\lfloor \lambda E / g \rfloor$", "floor(lambda E / g)"),
        (r"$f(\hat{w}) \le f(w^\ast)$", "f(w_hat) <= f(w*)"),
        (r"$L(D', \cdot)$, $2 \cdot 3$", "L(D', .), 2 * 3"),
        (r"$\Pr'[\text{best} = y]$", "P'[best = y]"),
        ("so\n\n$$\na < b. \\tag{1}\n$$\n\nand", "so\n\n    a < b.         (1)\n\nand"),
        ("`a $x_1$ b` and\n```\n$y$\n```", "`a $x_1$ b` and\n```\n$y$\n```"),
    ],
)
def test_a_formula_reads_as_it_would_be_typed(tex, words):
    assert readable(tex) == words
