"""Data whose structure plain kernel PCA does not show, or shows only in part."""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params

__all__ = ["HiddenClusters", "TwoClasses", "make_g241", "make_hidden_clusters"]


class HiddenClusters(NamedTuple):
    """Rows `X` of shape (n_samples, 3) and the `cluster` of each, 0, 1 or 2."""

    X: np.ndarray
    cluster: np.ndarray


class TwoClasses(NamedTuple):
    """Rows `X` of shape (n_samples, n_features) and their classes `y`, +1 or -1."""

    X: np.ndarray
    y: np.ndarray


@checked
@validate_params(
    {
        "n_per_cluster": [Interval(Integral, 2, None, closed="left")],
        "spread": [Interval(Real, 0, None, closed="neither")],
        "thickness": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_hidden_clusters(n_per_cluster=100, *, spread=3.0, thickness=0.15, random_state=None):
    """Draw three flat clusters that lie one above the other, hidden by their own width.

    The clusters are wide in two directions and differ in the third alone, at heights 1, 0 and
    -1, where the variance is small: plain PCA shows the wide directions.

    Parameters
    ----------
    n_per_cluster : int, default=100
        Rows of each cluster.
    spread : float, default=3.0
        Standard deviation in the two wide directions.
    thickness : float, default=0.15
        Standard deviation of the height; at 0.15 the clusters barely touch.
    random_state : int, RandomState instance or None, default=None
        Of the rows.

    Returns
    -------
    HiddenClusters
        A named tuple of `X` of shape (3 * n_per_cluster, 3) and `cluster`.

    References
    ----------
    .. [1] Oglic (2018). Constructive approximation and learning by greedy algorithms, Section 2.9.
       Thesis, University of Bonn.

    Examples
    --------
    >>> from octavo.data import make_hidden_clusters
    >>> X, cluster = make_hidden_clusters(50, random_state=0)
    >>> X.shape, bool(X[:, 0].var() > X[:, 2].var())
    ((150, 3), True)
    """
    rng = check_random_state(random_state)
    cluster = np.repeat(np.arange(3), n_per_cluster)
    X = rng.standard_normal((len(cluster), 3)) * (spread, spread, thickness)
    X[:, 2] += 1.0 - cluster
    return HiddenClusters(X, cluster)


@checked
@validate_params(
    {
        "kind": [StrOptions({"c", "d"})],
        "n_samples": [Interval(Integral, 4, None, closed="left")],
        "n_features": [Interval(Integral, 3, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_g241(kind="c", *, n_samples=1500, n_features=241, random_state=None):
    """Draw the g241c or g241d problem of the semi-supervised learning benchmark.

    Parameters
    ----------
    kind : {"c", "d"}, default="c"
        "c": a Gaussian of unit variance for each class, their centres 2.5 apart. "d": two for
        each class; those of class +1 are 6 apart, and each of class -1 is 2.5 from one of
        them, so that the direction of most variance does not separate the classes.
    n_samples : int, default=1500
        Rows, spread evenly over the Gaussians.
    n_features : int, default=241
        Dimension.
    random_state : int, RandomState instance or None, default=None
        Of the directions and the rows.

    Returns
    -------
    TwoClasses
        A named tuple of `X`, with columns of zero mean and unit variance, and `y`.

    Notes
    -----
    The thesis does not print the recipe of "d", which is taken from the description in the book
    of the benchmark.

    References
    ----------
    .. [1] Chapelle, Schölkopf and Zien (2006). Semi-Supervised Learning. MIT Press, Chapter 21.

    Examples
    --------
    >>> from octavo.data import make_g241
    >>> X, y = make_g241("c", n_samples=100, random_state=0)
    >>> X.shape, int((y == 1).sum())
    ((100, 241), 50)
    """
    rng = check_random_state(random_state)
    directions = np.linalg.qr(rng.standard_normal((n_features, 3)))[0].T
    if kind == "c":
        centres, signs = np.stack([0.0 * directions[0], 2.5 * directions[0]]), [1, -1]
    else:
        far = 6.0 * directions[0]
        centres = np.stack([0.0 * far, far, 2.5 * directions[1], far + 2.5 * directions[2]])
        signs = [1, 1, -1, -1]
    which = np.sort(np.arange(n_samples) % len(signs))
    X = rng.standard_normal((n_samples, n_features)) + centres[which]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    order = rng.permutation(n_samples)
    return TwoClasses(X[order], np.asarray(signs)[which][order])
