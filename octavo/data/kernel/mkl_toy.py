"""Two Gaussian classes that differ in some of their features, one kernel to be made of each.

The generator of the controlled experiment of Kloft, Brefeld, Sonnenburg and Zien (2011),
"lp-Norm Multiple Kernel Learning", Journal of Machine Learning Research 12, Section 6.1.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, validate_params

__all__ = ["MKLToy", "make_mkl_toy"]


class MKLToy(NamedTuple):
    """A sample X with labels y of -1 and 1, and theta: 1 for each feature that is informative."""

    X: np.ndarray
    y: np.ndarray
    theta: np.ndarray


@checked
@validate_params(
    {
        "n": [Interval(Integral, 2, None, closed="left")],
        "nu": [Interval(Real, 0, 1, closed="both")],
        "d": [Interval(Integral, 1, None, closed="left")],
        "rho": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_mkl_toy(n, nu, d=50, rho=1.75, random_state=None):
    """Draw two balanced Gaussian classes whose means differ in a fraction of the features.

    x ~ N(y ρ θ / ||θ||, I) with y = ±1 and θ binary: however many features are informative, the
    classes are equally far apart, and the best error is Φ(-ρ), 4.0 % for ρ = 1.75.

    Parameters
    ----------
    n : int
        Number of samples; the first half (rounded up) is of class 1 before they are shuffled.
    nu : float
        Fraction of features without information, from 0 (all are informative) to 1. One feature
        stays informative always: the paper's ν = 1 stands for one of fifty, 0.98.
    d : int, default=50
        Number of features.
    rho : float, default=1.75
        Distance of each mean from the origin.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    MKLToy
        ``X`` of shape (n, d), ``y`` of shape (n,), ``theta`` of shape (d,); the informative
        features are the first ones.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg and Zien (2011). lp-Norm Multiple Kernel Learning. JMLR 12,
       Section 6.1.

    Examples
    --------
    >>> from octavo.data import make_mkl_toy
    >>> toy = make_mkl_toy(1000, nu=0.92, random_state=0)
    >>> int(toy.theta.sum()), round(float(toy.X[toy.y == 1, 0].mean()), 1)
    (4, 0.9)
    """
    rng = check_random_state(random_state)
    n_informative = max(1, round((1.0 - nu) * d))
    theta = np.zeros(d)
    theta[:n_informative] = 1.0
    y = np.where(np.arange(n) < (n + 1) // 2, 1, -1)
    y = y[rng.permutation(n)]
    mean = rho * theta / np.sqrt(n_informative)
    return MKLToy(rng.standard_normal((n, d)) + y[:, None] * mean, y, theta)
