"""The geometric median: the point whose distances to the rows have the smallest sum.

A centre that half of the rows cannot move far. References: Weiszfeld (1937), "Sur le point pour
lequel la somme des distances de n points donnés est minimum"; Vardi and Zhang (2000), "The
multivariate L1-median and associated data depth", PNAS 97:1423-1426, for medians that are rows.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, validate_params

__all__ = ["geometric_median"]


@checked
@validate_params(
    {
        "X": ["array-like"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def geometric_median(X, *, tol=1e-10, max_iter=2000):
    """Return the point of smallest summed distance to the rows, Eq. (1).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    tol : float, default=1e-10
        Stop when the sum of the unit vectors to the rows, whose norm is zero at a median that is
        no row, is at most this times the number of rows.
    max_iter : int, default=2000
        The largest number of steps.

    Returns
    -------
    ndarray of shape (n_features,)
        The median.

    References
    ----------
    .. [1] Vardi and Zhang (2000). The multivariate L1-median and associated data depth. PNAS
       97:1423-1426.

    Examples
    --------
    >>> from octavo.decomposition import geometric_median
    >>> geometric_median([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [50.0, 50.0]]).round(6)
    array([0.788675, 0.788675])
    """
    X = check_array(X, dtype=np.float64)
    median = np.median(X, axis=0)
    scale = np.abs(X - median).max()
    if scale == 0.0:
        return median
    imbalance = np.inf
    for _ in range(max_iter):
        away = X - median
        r = np.linalg.norm(away, axis=1)
        apart = r > 1e-14 * scale
        w = 1.0 / r[apart]
        pull = w @ away[apart]
        size, here = float(np.linalg.norm(pull)), len(X) - int(apart.sum())
        # A row is the median when the pull of the others does not exceed its own weight.
        imbalance = max(size - here, 0.0) / len(X)
        if imbalance <= tol or not w.size:
            return X[np.argmin(r)].copy() if here else median
        # Weiszfeld's step, shortened by the rows that lie at the point
        median = median + (1.0 - here / size) * pull / w.sum()
        if imbalance < 1e-4:
            median = _at_a_row(X, median, scale)
    warnings.warn(
        f"The geometric median is not reached after {max_iter} steps: the unit vectors to the "
        f"rows have a mean of norm {imbalance:.3g} instead of {tol:.3g}.",
        ConvergenceWarning,
        stacklevel=3,
    )
    return median


def _at_a_row(X, median, scale):
    """Return the nearest row where that is the median: plain steps reach it only in the limit."""
    r = np.linalg.norm(X - median, axis=1)
    nearest = int(np.argmin(r))
    if r[nearest] > 1e-3 * scale:
        return median
    away = X - X[nearest]
    r = np.linalg.norm(away, axis=1)
    apart = r > 1e-14 * scale
    pull = np.linalg.norm((1.0 / r[apart]) @ away[apart])
    return X[nearest].copy() if pull <= len(X) - apart.sum() else median
