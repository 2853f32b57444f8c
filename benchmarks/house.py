"""How the code hangs together: what a card reaches, who spends, which types are asked for.

python benchmarks/house.py
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("opdisc", "oracles")

READS_A_CARD = "opdisc.models.scorecard_file"
"""What only reads a card and adds up its points."""

PREDICTS = "opdisc.cli.fitting.predict"
"""The command ``predict``."""


@cache
def modules() -> dict[str, Path]:
    """Return every product file by the name of its module."""
    found = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def exported(package: str) -> dict[str, tuple[str, str]]:
    """Return what the stub of a package exports: the module and the name that it has there."""
    stub = modules()[package].with_suffix(".pyi")
    if not stub.exists():
        return {}
    return {
        name.asname or name.name: (f"{package}.{node.module}", name.name)
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }


def resolved(package: str, name: str) -> str | None:
    """Return the module that an imported name leads to; None if it is not of the product."""
    if f"{package}.{name}" in modules():
        return f"{package}.{name}"
    if package not in modules():
        return None
    if name in exported(package):
        return resolved(*exported(package)[name])
    return package


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module that run: none that is for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for other in node.orelse:
                yield from (other, *nodes(other))
            continue
        yield node
        yield from nodes(node)


@cache
def imported(module: str) -> frozenset[str]:
    """Return the product modules that a module imports, also within functions."""
    found: set[str | None] = set()
    for node in nodes(ast.parse(modules()[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {resolved(node.module, name.name) for name in node.names}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names if name.name in modules()}
    return frozenset(name for name in found if name is not None)


def reach(module: str) -> set[str]:
    """Return the product modules that a module's imports lead to, itself included."""
    seen: set[str] = set()
    left = [module]
    while left:
        if (name := left.pop()) not in seen:
            seen.add(name)
            left += imported(name)
    return seen


def calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield every call of a function or method of that name in ``opdisc``, with its module."""
    for module, path in modules().items():
        if module.split(".")[0] != "opdisc":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                function = node.func
                if name == getattr(function, "attr", getattr(function, "id", None)):
                    yield module, node


def spends() -> list[str]:
    """Return the modules that call ``.spend(``, one for each call."""
    return sorted(m for m, call in calls("spend") if isinstance(call.func, ast.Attribute))


def asked_types() -> list[str]:
    """Return where the type of a mechanism or noise spec is asked for outside their room."""
    found = []
    for module, call in calls("isinstance"):
        named = {getattr(n, "id", getattr(n, "attr", "")) for n in ast.walk(call.args[1])}
        if module.startswith("opdisc.mechanisms"):
            continue
        if any(name.endswith(("Mechanism", "Spec")) for name in named):
            found.append(module)
    return sorted(found)


def pretending_ledgers() -> list[str]:
    """Return the modules with a ledger of another kind, which records nothing: one for each."""
    found = []
    for module, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases = {getattr(base, "id", getattr(base, "attr", "")) for base in node.bases}
                found += [module] if "Ledger" in bases else []
    return sorted(found)


def folders() -> list[str]:
    """Return the packages."""
    return sorted(name for name, path in modules().items() if path.name == "__init__.py")


def main() -> None:
    """Print the counts."""
    for what, count in (
        (f"files that {READS_A_CARD} reaches", len(reach(READS_A_CARD))),
        (f"files that {PREDICTS} reaches", len(reach(PREDICTS))),
        ("places that call .spend(", len(spends())),
        ("places that record a charge", len([*calls("record_spending")])),
        ("ledgers that pretend", len(pretending_ledgers())),
        ("isinstance of a mechanism or noise spec outside opdisc/mechanisms", len(asked_types())),
        ("folders", len(folders())),
    ):
        print(f"{count:>4}  {what}")


if __name__ == "__main__":
    main()
