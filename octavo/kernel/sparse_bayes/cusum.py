"""Has a chain come to rest? The hairiness of the path of its cumulative sums.

Reference: S. P. Brooks (1998), "Quantitative convergence assessment for Markov chain Monte Carlo
via cusums", Statistics and Computing 8; used in Table 12 of Z. Zhang, G. Dai and M. I. Jordan
(2011), "Bayesian Generalized Kernel Mixed Models", Journal of Machine Learning Research 12.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtri

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = ["cusum_hairiness"]


@checked
def cusum_hairiness(x: Any, level: float = 0.9) -> tuple[Floats, Floats]:
    """Return how often the cumulative sums of a chain turn, and how often chance would have it.

    The sums S_t = Σ_{i≤t} (x_i - mean) of independent draws turn at every other step: each turn is
    a fair coin. A chain that moves slowly has long smooth runs and turns too seldom, one that
    swings from side to side too often.

    Parameters
    ----------
    x : array-like of shape (n_draws,)
        One number per draw, such as the number of active vectors.
    level : float, default=0.9
        Probability of the bounds at each t, for independent draws of a symmetric law.

    Returns
    -------
    hairiness : ndarray of shape (n_draws - 1,)
        D_t: the share of turns among the first t steps.
    bounds : ndarray of shape (n_draws - 1, 2)
        1/2 ∓ z √(1/(4t)). The chain may be used from where D_t stays inside.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import cusum_hairiness
    >>> rng = np.random.default_rng(0)
    >>> path, bounds = cusum_hairiness(rng.normal(size=2000))
    >>> bool(bounds[-1, 0] < path[-1] < bounds[-1, 1])
    True
    >>> slow, bounds = cusum_hairiness(np.cumsum(rng.normal(size=2000)))
    >>> bool(slow[-1] < bounds[-1, 0])
    True
    """
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 1 or x.size < 3:
        raise ValueError(f"x must have one axis and at least three draws; got shape {x.shape}.")
    if not np.all(np.isfinite(x)):
        row = int(np.flatnonzero(~np.isfinite(x))[0])
        raise ValueError(f"x must be finite; draw {row} is {x[row]}.")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1; got {level}.")
    step = np.sign(x - x.mean())  # S_t - S_{t-1}: the sums turn where two steps differ in sign
    turns = np.where(step[1:] * step[:-1] == 0.0, 0.5, (step[1:] != step[:-1]).astype(np.float64))
    t = np.arange(1, x.size)
    half = ndtri(0.5 + 0.5 * level) * 0.5 / np.sqrt(t)
    return np.cumsum(turns) / t, np.column_stack([0.5 - half, 0.5 + half])


def settled_at(x: Any, level: float = 0.9) -> float:
    """Return the first draw from which on D_t stays inside its bounds; NaN where it never does."""
    path, bounds = cusum_hairiness(x, level)
    outside = np.flatnonzero((path < bounds[:, 0]) | (path > bounds[:, 1]))
    if not outside.size:
        return 1.0
    return math.nan if outside[-1] == path.size - 1 else float(outside[-1] + 2)
