"""Ask PyPI for known vulnerabilities of what is installed, and say how much of it was asked.

    python benchmarks/dependency_audit.py

pip-audit ends with "No known vulnerabilities found" also where it asked nobody: a mirror that
knows no advisories answers 404, which counts as skipped, and a dry run asks nothing. Here the
packages are counted: found by pip, answered for, and not answered for. Exit status 1 if a package
that was answered for has a known vulnerability; 3 if none was answered for, which is no finding.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

SECONDS = 180.0

NOT_ASKED = 3


def report(seconds: float = SECONDS) -> dict[str, Any] | None:
    """Return pip-audit's own report of this environment, or None if it gave none in time."""
    command = [sys.executable, "-m", "pip_audit", "--local", "--format", "json"]
    command += ["--progress-spinner", "off", "--timeout", "5"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        found = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return None
    return found if isinstance(found, dict) else None


def verdict(found: dict[str, Any] | None) -> tuple[int, str]:
    """Return the exit status and what may be said."""
    packages = [] if found is None else found.get("dependencies", [])
    answered = [package for package in packages if "vulns" in package]
    if not answered:
        return NOT_ASKED, (
            f"dependencies NOT CHECKED: the advisory service answered for none of "
            f"{len(packages) or 'the'} packages."
        )
    lines = [
        f"{package['name']} {package['version']}: {', '.join(v['id'] for v in package['vulns'])}"
        for package in answered
        if package["vulns"]
    ]
    skipped = sorted(package["name"] for package in packages if "vulns" not in package)
    asked = f"{len(answered)} of {len(packages)} packages were answered for"
    if skipped:
        asked += f" (not: {', '.join(skipped)})"
    said = f"{len(lines)} with known vulnerabilities" if lines else "no known vulnerability"
    return int(bool(lines)), "\n".join([*lines, f"{asked}, {said}."])


def main() -> int:
    """Ask, print, and return the exit status."""
    status, said = verdict(report())
    print(said)
    return status


if __name__ == "__main__":
    raise SystemExit(main())
