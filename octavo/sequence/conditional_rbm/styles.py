"""Styles on the way from one to another, to be followed by a generator.

Reference: G. W. Taylor, G. E. Hinton and S. T. Roweis (2011), Section 4.6.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = ["blend_styles"]


@checked
def blend_styles(
    start: ArrayLike, stop: ArrayLike, n_steps: int = 200, *, before: int = 0, after: int = 0
) -> Floats:
    """Return styles that move from one to another in a straight line.

    Parameters
    ----------
    start, stop : array-like of shape (P,)
        Style numbers; a one-hot row for a label. A blend such as 0.8 and 0.2 is a style, too.
    n_steps : int, default=200
        Frames of the way, both ends included; the paper's transitions take 200.
    before, after : int, default=0
        Frames for which the first and the last style are held on top.

    Returns
    -------
    styles : ndarray of shape (before + n_steps + after, P)
        One row for each frame, for ``sample(..., y=styles)``.

    Examples
    --------
    >>> from octavo.sequence import blend_styles
    >>> blend_styles([1, 0], [0, 1], 3)
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """
    first, last = np.asarray(start, dtype=np.float64), np.asarray(stop, dtype=np.float64)
    if first.ndim != 1 or first.shape != last.shape or first.size == 0:
        raise ValueError(
            "start and stop must be two rows of style numbers of one length, got shapes "
            f"{first.shape} and {last.shape}."
        )
    if not (np.isfinite(first).all() and np.isfinite(last).all()):
        raise ValueError("start and stop must be finite numbers.")
    for name, value, least in (("n_steps", n_steps, 1), ("before", before, 0), ("after", after, 0)):
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")
    way = np.linspace(0.0, 1.0, n_steps)[:, None]
    share: Any = np.concatenate([np.zeros((before, 1)), way, np.ones((after, 1))])
    return (1.0 - share) * first + share * last
