"""Variables in small connected groups: the synthetic data of the forest density paper.

Reference: Liu, Xu, Gu, Gupta, Lafferty and Wasserman (2011), "Forest density estimation",
JMLR 12:907-951, section 6.1.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params
from octavo.engine.graphs.spanning import random_tree

__all__ = ["SubgraphSample", "make_connected_subgraphs"]

DIAGONAL, WEAKEST, STRONGEST, MEAN = 62.0, -10.0, -30.0, 0.5


class SubgraphSample(NamedTuple):
    """A sample and the Gaussian behind it, before its margins were changed."""

    X: np.ndarray
    precision: np.ndarray
    covariance: np.ndarray
    adjacency: np.ndarray


def _subgraph(size, prob, random):
    """Draw the precision matrix of a connected group: a tree with some more edges."""
    while True:
        entries = random.uniform(STRONGEST, WEAKEST, size=(size, size))
        edges = np.zeros((size, size), dtype=bool)
        for i, j in random_tree(size, random):
            edges[i, j] = True
        edges |= np.triu(random.uniform(size=(size, size)) < prob, 1)
        upper = np.where(edges, entries, 0.0)
        precision = upper + upper.T + DIAGONAL * np.eye(size)
        if np.linalg.eigvalsh(precision)[0] > 0.01 * DIAGONAL:
            return precision


@checked
@validate_params(
    {
        "n_features": [Interval(Integral, 1, 5000, closed="both")],
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "margins": [StrOptions({"gaussian", "uniform"})],
        "max_size": [Interval(Integral, 1, 10, closed="both")],
        "prob": [Interval(Real, 0, 0.5, closed="both")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_connected_subgraphs(
    n_features=100, n_samples=800, margins="gaussian", *, max_size=8, prob=0.1, random_state=None
):
    """Draw variables that depend on each other in small connected groups, with cycles.

    Parameters
    ----------
    n_features : int, default=100
        Variables, up to 5,000.
    n_samples : int, default=800
        Rows.
    margins : {"gaussian", "uniform"}, default="gaussian"
        "uniform" sends each column through its empirical distribution function: the graph
        stays, the Gaussian is gone.
    max_size : int, default=8
        Most variables of a group, up to 10; sizes are drawn uniformly up to it.
    prob : float, default=0.1
        Probability, up to 0.5, of an edge beyond a group's random tree.
    random_state : int, RandomState instance or None, default=None
        Of the graph and of the rows.

    Returns
    -------
    SubgraphSample
        A named tuple of `X`; `precision` with 62 on its diagonal and entries between -30 and -10
        at edges, groups drawn again until it is positive definite; its inverse `covariance`; and
        the graph `adjacency`. `X` has means of 0.5 before its margins are changed.

    Examples
    --------
    >>> from octavo.data import make_connected_subgraphs
    >>> drawn = make_connected_subgraphs(20, 100, random_state=0)
    >>> drawn.X.shape, int(drawn.adjacency.sum()) // 2
    ((100, 20), 22)
    """
    random = check_random_state(random_state)
    precision = np.zeros((n_features, n_features))
    shuffled, at = random.permutation(n_features), 0
    while at < n_features:
        group = shuffled[at : at + random.randint(1, max_size + 1)]
        precision[np.ix_(group, group)] = _subgraph(len(group), prob, random)
        at += len(group)
    covariance = np.linalg.inv(precision)
    factor = np.linalg.cholesky(covariance)
    X = MEAN + random.standard_normal((n_samples, n_features)) @ factor.T
    if margins == "uniform":
        X = (X.argsort(axis=0).argsort(axis=0) + 1.0) / n_samples
    return SubgraphSample(
        X, precision, covariance, (precision != 0) & ~np.eye(n_features, dtype=bool)
    )
