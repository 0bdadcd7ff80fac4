"""Two classes in few dimensions, as many rows as wanted: data that repeat themselves.

Stand-ins for the sensor data on which training sets are worth reducing: most rows lie where many
others lie, and the boundary between the classes is curved.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params

__all__ = ["RedundantClasses", "make_redundant_classes"]


class RedundantClasses(NamedTuple):
    """Rows `X` within about [0, 1] in each feature, and their classes `y`, 0 or 1."""

    X: np.ndarray
    y: np.ndarray


def _checkerboard(rng, n, cells=4):
    X = rng.uniform(size=(n, 2))
    return X, np.floor(cells * X).astype(int).sum(axis=1) % 2


def _rings(rng, n):
    y = rng.integers(0, 2, n)
    angle = rng.uniform(0, 2 * np.pi, n)
    radius = np.where(y == 0, 0.22, 0.42) + 0.035 * rng.normal(size=n)
    return 0.5 + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1), y


def _bursts(rng, n, rate=0.01):
    """Three smooth readings of a recorder; now and then an event lifts two of them."""
    y = (rng.uniform(size=n) < rate).astype(int)
    phase = np.cumsum(rng.normal(0, 0.05, n))
    calm = np.stack([0.35 + 0.15 * np.sin(phase), 0.35 + 0.15 * np.cos(phase)], axis=1)
    lift = y[:, None] * rng.uniform(0.0, 0.3, (n, 2))
    level = 0.3 + 0.1 * np.sin(phase / 3) + 0.1 * y
    X = np.column_stack([calm + lift, level])
    return X + 0.02 * rng.normal(size=X.shape), y


_KINDS = {"checkerboard": _checkerboard, "rings": _rings, "bursts": _bursts}


@checked
@validate_params(
    {
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "kind": [StrOptions(set(_KINDS))],
        "flip": [Interval(Real, 0, 0.5, closed="both")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_redundant_classes(n_samples=10_000, *, kind="checkerboard", flip=0.0, random_state=None):
    """Draw two classes in two or three dimensions.

    Parameters
    ----------
    n_samples : int, default=10_000
        Number of rows.
    kind : {"checkerboard", "rings", "bursts"}, default="checkerboard"
        A board of 4 x 4 fields; two noisy rings that touch; a walk through three readings with
        rare events (1 % of the rows), in order of time.
    flip : float, default=0.0
        Share of rows whose class is turned around.
    random_state : int, RandomState instance or None, default=None
        Source of the random numbers.

    Returns
    -------
    RedundantClasses
        ``X`` of shape (n_samples, 2), or 3 for "bursts", and ``y``.

    Examples
    --------
    >>> from octavo.data import make_redundant_classes
    >>> X, y = make_redundant_classes(1000, kind="bursts", random_state=0)
    >>> X.shape, int(y.sum())
    ((1000, 3), 11)
    """
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    X, y = _KINDS[kind](rng, n_samples)
    turned = rng.uniform(size=n_samples) < flip
    return RedundantClasses(X, np.where(turned, 1 - y, y))
