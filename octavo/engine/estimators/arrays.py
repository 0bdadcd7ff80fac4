"""The arrays that signatures speak of: one set of names for the whole of octavo."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Indices = NDArray[np.intp]  # what numpy's searches and sorts return
Complexes = NDArray[np.complex128]
Numbers = NDArray[Any]  # where the type of the entries is left to what comes in
