"""Array types, and arrays that cannot be written to."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Objective = int | float


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a C-contiguous private copy that cannot be written to."""
    owned = np.array(array, order="C", copy=True)
    owned.setflags(write=False)
    return owned


FloatArray: TypeAlias = NDArray[np.float64]

IntArray: TypeAlias = NDArray[np.int64]

BoolArray: TypeAlias = NDArray[np.bool_]
