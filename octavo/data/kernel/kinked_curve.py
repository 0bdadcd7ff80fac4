"""Noisy samples of |x - 1/2| - 1/2, the function of the early stopping simulations.

The generator of Raskutti, Wainwright and Yu (2014), "Early Stopping and Non-parametric
Regression: An Optimal Data-dependent Stopping Rule", JMLR 15, Eq. (13).
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params

__all__ = ["KinkedCurve", "make_kinked_curve"]


class KinkedCurve(NamedTuple):
    """Places X of shape (n, 1), targets y, and f_star, the true values there."""

    X: np.ndarray
    y: np.ndarray
    f_star: np.ndarray


@checked
@validate_params(
    {
        "n": [Interval(Integral, 1, None, closed="left")],
        "sigma": [Interval(Real, 0, None, closed="left")],
        "design": [StrOptions({"fixed", "uniform"})],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_kinked_curve(n=100, sigma=1.0, design="fixed", random_state=None):
    """Draw noisy samples of f*(x) = |x - 1/2| - 1/2 on the unit interval.

    The function vanishes at zero and has norm one in the space of min(x, x').

    Parameters
    ----------
    n : int, default=100
        Samples.
    sigma : float, default=1.0
        Standard deviation of the Gaussian noise.
    design : {"fixed", "uniform"}, default="fixed"
        x_i = i/n for i = 1 to n, or uniform draws in increasing order.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    curve : KinkedCurve
        X, y and f_star.

    References
    ----------
    .. [1] G. Raskutti, M. J. Wainwright and B. Yu (2014). "Early Stopping and Non-parametric
       Regression: An Optimal Data-dependent Stopping Rule". JMLR 15.

    Examples
    --------
    >>> from octavo.data import make_kinked_curve
    >>> curve = make_kinked_curve(4, random_state=0)
    >>> curve.X[:, 0].tolist(), curve.f_star.tolist()
    ([0.25, 0.5, 0.75, 1.0], [-0.25, -0.5, -0.25, 0.0])
    """
    rng = check_random_state(random_state)
    x = np.arange(1, n + 1) / n if design == "fixed" else np.sort(rng.uniform(size=n))
    f_star = np.abs(x - 0.5) - 0.5
    with np.errstate(over="ignore"):
        y = f_star + sigma * rng.standard_normal(n)
    if not np.isfinite(y).all():
        raise ValueError(f"sigma={sigma:g} is too large: the samples are not finite.")
    return KinkedCurve(x[:, None], y, f_star)
