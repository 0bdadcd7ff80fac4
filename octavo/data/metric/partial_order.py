"""Views of digits with comparisons from a taxonomy, and answers as people give them.

Reference: B. McFee and G. Lanckriet (2011), "Learning Multi-modal Similarity", Section 5.1, whose
images of objects (ALOI) these stand in for.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, validate_params

__all__ = ["DigitViews", "flip_comparisons", "make_digit_views", "make_taxonomy_comparisons"]

DIGIT_GROUPS = ((0, 6, 8, 9), (1, 4, 7), (2, 3, 5))  # closed loops, strokes, open curves


class DigitViews(NamedTuple):
    """Gram matrices of the same digits, their names, the digits and the groups of their shapes."""

    kernels: list[np.ndarray]
    names: list[str]
    labels: np.ndarray
    groups: np.ndarray


def _rbf(X):
    """Return the Gaussian kernel with the mean squared distance as its width."""
    squared = np.maximum(
        (X**2).sum(axis=1)[:, None] + (X**2).sum(axis=1) - 2.0 * X @ X.T, 0.0
    ).mean()
    return rbf_kernel(X, gamma=1.0 / squared)


@checked
@validate_params(
    {
        "n_per_class": [Interval(Integral, 2, 170, closed="both")],
        "n_noise": [Interval(Integral, 0, 100, closed="both")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_digit_views(n_per_class=20, n_noise=5, *, random_state=None):
    """Return five views of scikit-learn's digits, and kernels of noise.

    The views are a linear kernel of the pixels and Gaussian kernels of row sums, column sums, means
    of 2 x 2 blocks and ten principal components. Noise kernels are linear kernels of random
    points on the unit sphere in three dimensions, as in the paper.

    Parameters
    ----------
    n_per_class : int, default=20
        Images of each digit.
    n_noise : int, default=5
        Kernels of noise.
    random_state : int, RandomState instance or None, default=None
        Draws images and noise.

    Returns
    -------
    DigitViews
        Kernels, names, labels and groups.

    Examples
    --------
    >>> from octavo.data import make_digit_views
    >>> views = make_digit_views(5, 2, random_state=0)
    >>> len(views.kernels), views.kernels[0].shape
    (7, (50, 50))
    """
    rng = check_random_state(random_state)
    images, labels = load_digits(return_X_y=True)
    chosen = np.concatenate(
        [rng.permutation(np.flatnonzero(labels == c))[:n_per_class] for c in range(10)]
    )
    X, y = images[chosen] / 16.0, labels[chosen]
    square = X.reshape(-1, 8, 8)
    blocks = square.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)
    parts = PCA(10, random_state=0).fit_transform(X)
    kernels = [X @ X.T, *map(_rbf, (square.sum(axis=2), square.sum(axis=1), blocks, parts))]
    names = ["pixels", "row sums", "column sums", "blocks", "components"]
    for place in range(n_noise):
        points = rng.standard_normal((len(y), 3))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        kernels.append(points @ points.T)
        names.append(f"noise {place + 1}")
    groups = np.empty(10, dtype=np.intp)
    for g, members in enumerate(DIGIT_GROUPS):
        groups[list(members)] = g
    return DigitViews(kernels, names, y, groups[y])


@checked
@validate_params(
    {
        "labels": ["array-like"],
        "groups": ["array-like"],
        "n_per_item": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_taxonomy_comparisons(labels, groups, n_per_item=10, *, random_state=None):
    """Draw comparisons that span subtrees of a taxonomy of two levels, consistent by construction.

    Half of an item's comparisons say that one of its class is more alike than another of its group,
    half that one of its group is more alike than one of another group.

    Parameters
    ----------
    labels : array-like of shape (n_items,)
        Class of each item.
    groups : array-like of shape (n_items,)
        Group of each item's class.
    n_per_item : int, default=10
        Comparisons with each item as the query, before repeated ones are dropped.
    random_state : int, RandomState instance or None, default=None
        Draws them.

    Returns
    -------
    comparisons : ndarray of shape (n_comparisons, 4)
        Rows (i, j, i, k), sorted.

    Examples
    --------
    >>> from octavo.data import make_taxonomy_comparisons
    >>> make_taxonomy_comparisons([0, 0, 1, 2], [0, 0, 0, 1], 2, random_state=0).shape[1]
    4
    """
    labels, groups = np.asarray(labels), np.asarray(groups)
    if labels.ndim != 1 or labels.shape != groups.shape:
        raise ValueError(
            "labels and groups must be vectors of the same length, got shapes "
            f"{labels.shape} and {groups.shape}."
        )
    rng = check_random_state(random_state)
    rows = []
    for i in range(len(labels)):
        others = np.arange(len(labels)) != i
        same = np.flatnonzero(others & (labels == labels[i]))
        near = np.flatnonzero((groups == groups[i]) & (labels != labels[i]))
        far = np.flatnonzero(groups != groups[i])
        for count, (close, distant) in zip(
            (n_per_item - n_per_item // 2, n_per_item // 2),
            ((same, near), (near, far)),
            strict=True,
        ):
            if close.size and distant.size and count:
                j, k = rng.choice(close, count), rng.choice(distant, count)
                rows.append(np.column_stack([np.full(count, i), j, np.full(count, i), k]))
    if not rows:
        raise ValueError("These labels and groups allow no comparison: all items are alike.")
    return np.unique(np.concatenate(rows), axis=0)


@checked
@validate_params(
    {
        "comparisons": ["array-like"],
        "flip": [Interval(Real, 0, 1, closed="both")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def flip_comparisons(comparisons, flip=0.2, *, random_state=None):
    """Turn some comparisons round, as people who are not sure do.

    Parameters
    ----------
    comparisons : array-like of shape (n_comparisons, 4)
        Rows (i, j, k, l).
    flip : float, default=0.2
        Probability of each to be turned round.
    random_state : int, RandomState instance or None, default=None
        Draws which.

    Returns
    -------
    comparisons : ndarray of shape (n_comparisons, 4)
        A copy, some rows as (k, l, i, j).

    Examples
    --------
    >>> from octavo.data import flip_comparisons
    >>> flip_comparisons([[0, 1, 2, 3]], 1.0).tolist()
    [[2, 3, 0, 1]]
    """
    rows = np.array(comparisons)
    if rows.ndim != 2 or rows.shape[1] != 4:
        raise ValueError(f"comparisons must have four columns, got shape {rows.shape}.")
    turned = check_random_state(random_state).random_sample(len(rows)) < flip
    rows[turned] = rows[turned][:, [2, 3, 0, 1]]
    return rows
