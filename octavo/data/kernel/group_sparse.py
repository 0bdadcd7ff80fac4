"""Regression with groups of coefficients of which most are zero.

The generator of the Monte Carlo studies of Aravkin, Burke, Chiuso and Pillonetto (2014), "Convex vs
Non-Convex Estimators for Regression and Sparse Estimation", JMLR 15, Section 4.2.
"""

from __future__ import annotations

from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, Options, validate_params

__all__ = ["GroupSparse", "make_group_sparse"]

_LARGEST = 100.0  # of the half-widths of the coefficients
_SIGNAL_TO_NOISE = 25.0  # variance of the noiseless output over that of the noise
_STEP = 0.2  # of the random walk along the columns


class GroupSparse(NamedTuple):
    """Regressors X with targets y, the true theta, the groups of columns, the noise's sigma2."""

    X: np.ndarray
    y: np.ndarray
    theta: np.ndarray
    groups: np.ndarray
    sigma2: float


@checked
@validate_params(
    {
        "exp": [Options(Integral, {1, 2})],
        "n": [Interval(Integral, 2, None, closed="left")],
        "p": [Interval(Integral, 1, None, closed="left")],
        "k": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_group_sparse(exp=1, n=100, p=10, k=4, *, random_state=None):
    """Draw a regression problem in which at least half of the groups have no effect.

    Of the p groups one is active, half of them (rounded down) are zero, and a fair coin decides
    for each of the others; which is which is random. Coefficients of an active group are uniform
    on [-a, a] with a uniform on [0, 100]. The noise has a 25th of the variance of Xθ.

    Parameters
    ----------
    exp : {1, 2}, default=1
        Experiment: 1 has independent standard normal regressors; in 2 each column is the one
        before it plus normal steps of deviation 0.2, so that neighbours are nearly the same.
    n : int, default=100
        Rows.
    p : int, default=10
        Groups.
    k : int, default=4
        Columns of a group.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    GroupSparse
        ``X`` of shape (n, p k), ``y`` of shape (n,), ``theta`` of shape (p k,), ``groups`` with
        the group of each column, and ``sigma2``, the variance of the noise.

    References
    ----------
    .. [1] Aravkin, Burke, Chiuso and Pillonetto (2014). Convex vs Non-Convex Estimators for
       Regression and Sparse Estimation. JMLR 15, Section 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.data import make_group_sparse
    >>> X, y, theta, groups, sigma2 = make_group_sparse(random_state=0)
    >>> X.shape, np.unique(groups[theta != 0]).tolist()
    ((100, 40), [1, 3, 6])
    """
    rng = check_random_state(random_state)
    m = p * k
    X = rng.standard_normal((n, m))
    if exp == 2:
        X[:, 1:] *= _STEP
        X = np.cumsum(X, axis=1)
    active = np.zeros(p, dtype=bool)
    order = rng.permutation(p)
    active[order[0]] = True
    others = order[1 : p - p // 2]
    active[others] = rng.uniform(size=len(others)) < 0.5
    widths = np.where(active, rng.uniform(0.0, _LARGEST, size=p), 0.0)
    groups = np.repeat(np.arange(p), k)
    theta = widths[groups] * rng.uniform(-1.0, 1.0, size=m)
    clean = X @ theta
    sigma2 = float(clean.var() / _SIGNAL_TO_NOISE)
    y = clean + np.sqrt(sigma2) * rng.standard_normal(n)
    return GroupSparse(X, y, theta, groups, sigma2)
