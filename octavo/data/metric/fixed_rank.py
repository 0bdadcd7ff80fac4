"""Targets of a low-rank matrix, and classes that differ in few of very many directions.

Reference: Meyer, Bonnabel and Sepulchre (2011), Section 10.1 and Eq. (28).
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, validate_params

__all__ = ["PlantedMetric", "make_fixed_rank_targets", "make_planted_metric"]


@checked
@validate_params(
    {
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "rank": [Interval(Integral, 1, None, closed="left")],
        "eigenvalues": ["array-like", None],
        "noise": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_fixed_rank_targets(
    n_samples=200, n_features=10, rank=5, *, eigenvalues=None, noise=0.1, random_state=None
):
    """Draw rows a and targets y = (aᵀWa)(1 + ν), Eq. (28).

    Parameters
    ----------
    n_samples : int, default=200
        Rows.
    n_features : int, default=10
        Columns.
    rank : int, default=5
        Rank of W = GGᵀ, G of standard normal entries.
    eigenvalues : array-like, default=None
        Those of W in random directions, in place of a random G; `rank` is then not used.
    noise : float, default=0.1
        Standard deviation of ν: the paper's variance 0.01.
    random_state : int, RandomState instance or None, default=None
        Draws all.

    Returns
    -------
    A : ndarray of shape (n_samples, n_features)
        Standard normal rows.
    y : ndarray of shape (n_samples,)
        Targets.
    W : ndarray of shape (n_features, n_features)
        The matrix behind them.

    Examples
    --------
    >>> from octavo.data import make_fixed_rank_targets
    >>> A, y, W = make_fixed_rank_targets(50, 4, 2, noise=0.0, random_state=0)
    >>> bool(abs(A[0] @ W @ A[0] - y[0]) < 1e-12)
    True
    """
    rng = check_random_state(random_state)
    if eigenvalues is None:
        if rank > n_features:
            raise ValueError(f"rank={rank} is larger than n_features={n_features}.")
        G = rng.standard_normal((n_features, rank))
    else:
        values = np.asarray(eigenvalues, dtype=np.float64)
        if values.ndim != 1 or not 0 < values.size <= n_features or not (values >= 0.0).all():
            raise ValueError(
                f"eigenvalues must be at most {n_features} numbers, none negative; "
                f"got {eigenvalues!r}."
            )
        turned = np.linalg.qr(rng.standard_normal((n_features, values.size)))[0]
        G = turned * np.sqrt(values)
    A = rng.standard_normal((n_samples, n_features))
    y = ((A @ G) ** 2).sum(axis=1) * (1.0 + noise * rng.standard_normal(n_samples))
    return A, y, G @ G.T


class PlantedMetric(NamedTuple):
    """Rows `X`, labels `y`, and an orthonormal `basis` of what classes differ in."""

    X: np.ndarray
    y: np.ndarray
    basis: np.ndarray


@checked
@validate_params(
    {
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "n_features": [Interval(Integral, 2, None, closed="left")],
        "n_informative": [Interval(Integral, 1, None, closed="left")],
        "n_classes": [Interval(Integral, 2, None, closed="left")],
        "n_noise": [Interval(Integral, 0, None, closed="left")],
        "noise": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_planted_metric(
    n_samples=1000,
    n_features=10_000,
    *,
    n_informative=10,
    n_classes=10,
    n_noise=20,
    noise=0.3,
    random_state=None,
):
    """Draw classes that differ in few directions, among others of larger variance.

    Within the informative directions class centres have standard deviation 3 and rows 1 around
    them; the noisy directions have standard deviations from 2 to 10, which is more than most of the
    informative ones, so that a PCA takes them first; all columns carry `noise` beside.

    Parameters
    ----------
    n_samples : int, default=1000
        Rows.
    n_features : int, default=10_000
        Columns.
    n_informative : int, default=10
        Directions in which classes differ.
    n_classes : int, default=10
        Classes, of about equal size.
    n_noise : int, default=20
        Directions that vary and say nothing.
    noise : float, default=0.3
        Standard deviation of every column's own noise.
    random_state : int, RandomState instance or None, default=None
        Draws all.

    Returns
    -------
    PlantedMetric
        X, y and the basis of the informative directions.

    Examples
    --------
    >>> from octavo.data import make_planted_metric
    >>> make_planted_metric(100, 500, random_state=0).basis.shape
    (500, 10)
    """
    if n_informative + n_noise > n_features:
        raise ValueError(
            f"n_informative + n_noise = {n_informative + n_noise} directions do not fit into "
            f"n_features={n_features}."
        )
    rng = check_random_state(random_state)
    frame = np.linalg.qr(rng.standard_normal((n_features, n_informative + n_noise)))[0]
    y = rng.permutation(np.arange(n_samples) % n_classes)
    centers = 3.0 * rng.standard_normal((n_classes, n_informative))
    inner = centers[y] + rng.standard_normal((n_samples, n_informative))
    outer = rng.standard_normal((n_samples, n_noise)) * np.geomspace(2.0, 10.0, n_noise)
    X = np.hstack([inner, outer]) @ frame.T
    X += noise * rng.standard_normal((n_samples, n_features))
    return PlantedMetric(X, y, frame[:, :n_informative])
