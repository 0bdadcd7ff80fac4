"""Clusters of any shape in a background of noise."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, validate_params

__all__ = ["make_noisy_moons"]

LOW, HIGH = (-1.5, -1.0), (2.5, 1.5)  # the box of the background


@checked
@validate_params(
    {
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "n_noise": [Interval(Integral, 0, None, closed="left")],
        "noise": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_noisy_moons(n_samples=1500, n_noise=500, noise=0.05, random_state=None):
    """Draw two interleaving half circles, blurred, and uniform noise around them.

    Parameters
    ----------
    n_samples : int, default=1500
        Points of both moons together.
    n_noise : int, default=500
        Points of the background, uniform in the box from (-1.5, -1) to (2.5, 1.5).
    noise : float, default=0.05
        Standard deviation of the blur.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples + n_noise, 2)
        Points, in random order.
    y : ndarray of int of shape (n_samples + n_noise,)
        0 and 1 for the moons, -1 for the background.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.data import make_noisy_moons
    >>> X, y = make_noisy_moons(100, 20, random_state=0)
    >>> print(np.bincount(y + 1))
    [20 50 50]
    """
    rng = check_random_state(random_state)
    y = np.arange(n_samples) % 2
    angle = rng.uniform(0.0, np.pi, size=n_samples)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    moons = np.where(y[:, None] == 0, upper, [1.0, 0.5] - upper)
    moons = moons + noise * rng.normal(size=moons.shape)
    X = np.vstack([moons, rng.uniform(LOW, HIGH, size=(n_noise, 2))])
    labels = np.concatenate([y, np.full(n_noise, -1)])
    order = rng.permutation(len(X))
    return X[order], labels[order]
