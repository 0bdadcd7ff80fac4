"""Histograms over groups of bins that mean the same: what a ground metric can find.

In place of the image and text sets of Cuturi and Avis (2014), Section 6, which are not distributed.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, validate_params

__all__ = ["GroupedHistograms", "make_grouped_histograms"]


class GroupedHistograms(NamedTuple):
    """Histograms `X`, classes `y`, and the group of each bin."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray


@checked
@validate_params(
    {
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "n_groups": [Interval(Integral, 2, None, closed="left")],
        "group_size": [Interval(Integral, 1, None, closed="left")],
        "n_classes": [Interval(Integral, 2, None, closed="left")],
        "concentration": [Interval(Real, 0, None, closed="neither")],
        "contrast": [Interval(Real, 0, None, closed="left")],
        "spread": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_grouped_histograms(
    n_samples=60,
    *,
    n_groups=6,
    group_size=3,
    n_classes=2,
    concentration=3.0,
    contrast=1.5,
    spread=0.2,
    random_state=None,
):
    """Draw histograms whose classes differ in groups of bins, not in bins.

    Shares of groups come from a Dirichlet distribution with `concentration` · (1 + `contrast` in
    the groups of the class); the mass of a group falls on few of its bins, from a Dirichlet
    distribution with parameter `spread`. Distances that compare bin by bin see mostly which of
    several bins of the same meaning was hit.

    Parameters
    ----------
    n_samples : int, default=60
        Histograms, of about equally large classes.
    n_groups : int, default=6
        Groups; each class has its share of them.
    group_size : int, default=3
        Bins of a group.
    n_classes : int, default=2
        Classes, at most one a group.
    concentration : float, default=3.0
        The larger, the more alike are histograms of a class in their groups.
    contrast : float, default=1.5
        How much classes differ.
    spread : float, default=0.2
        The smaller, the fewer bins of a group are hit.
    random_state : int, RandomState instance or None, default=None
        Draws all.

    Returns
    -------
    GroupedHistograms
        X of shape (n_samples, n_groups * group_size), y, and groups.

    Examples
    --------
    >>> from octavo.data import make_grouped_histograms
    >>> X, y, groups = make_grouped_histograms(10, random_state=0)
    >>> X.shape, groups[:4].tolist()
    ((10, 18), [0, 0, 0, 1])
    """
    if n_classes > n_groups:
        raise ValueError(f"n_classes={n_classes} need at least as many groups, not {n_groups}.")
    rng = check_random_state(random_state)
    y = rng.permutation(np.arange(n_samples) % n_classes)
    owner = np.empty(n_groups, dtype=np.int64)
    for label, mine in enumerate(np.array_split(np.arange(n_groups), n_classes)):
        owner[mine] = label
    X = np.empty((n_samples, n_groups, group_size))
    for t in range(n_samples):
        shares = rng.dirichlet(concentration * (1.0 + contrast * (owner == y[t])))
        for g in range(n_groups):
            X[t, g] = shares[g] * rng.dirichlet(np.full(group_size, spread))
    X = X.reshape(n_samples, -1)
    X /= X.sum(axis=1, keepdims=True)
    return GroupedHistograms(X, y, np.repeat(np.arange(n_groups), group_size))
