"""The versions that took part in a comparison."""

from __future__ import annotations

import platform
from functools import cache
from importlib import metadata

_PACKAGES = ("opdisc", "numpy", "scipy", "pandas", "scikit-learn", "numba", "highspy")


@cache
def package_versions() -> dict[str, str]:
    """Return the versions that took part in a run."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
