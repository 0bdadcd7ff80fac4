"""Gaussian data whose precision matrix is sparse, with the graph behind it.

The graphs and the way they become a precision matrix are those of ``fastclime.generator``
(Pang, Liu and Vanderbei, 2014, JMLR 15:489-493) and of the R package huge before it.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params

__all__ = ["SparsePrecision", "make_sparse_precision"]


class SparsePrecision(NamedTuple):
    """A sample and the sparse Gaussian model that it is drawn from."""

    X: np.ndarray
    precision: np.ndarray
    covariance: np.ndarray
    adjacency: np.ndarray


def _pairs_within(n_features, groups, prob, rng):
    """Join each pair of one group with probability `prob`."""
    same = groups[:, None] == groups[None, :]
    return np.triu(same & (rng.uniform(size=(n_features, n_features)) < prob), 1)


def _hubs(groups):
    """Join the first member of each group to all others of it."""
    adjacency = np.zeros((len(groups), len(groups)), dtype=bool)
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        adjacency[members[0], members[1:]] = True
    return adjacency


def _preferential_attachment(n_features, rng):
    """Join each node to an earlier one, chosen with probability proportional to its degree."""
    adjacency = np.zeros((n_features, n_features), dtype=bool)
    ends = [0]  # every node stands here once for each of its edges
    for node in range(1, n_features):
        chosen = ends[rng.randint(len(ends))]
        adjacency[chosen, node] = True
        ends += [chosen, node] if node > 1 else [node]
    return adjacency


def _adjacency(n_features, graph, prob, n_groups, bandwidth, rng):
    if n_groups is None:
        n_groups = max(n_features // 20, 1) if n_features >= 40 else min(2, n_features)
    groups = np.arange(n_features) * n_groups // n_features
    if graph == "random":
        everyone = np.zeros(n_features, dtype=int)
        edge = min(1.0, 3.0 / n_features) if prob is None else prob
        upper = _pairs_within(n_features, everyone, edge, rng)
    elif graph == "cluster":
        size = n_features / n_groups
        edge = (0.3 if size > 30 else min(1.0, 6.0 / size)) if prob is None else prob
        upper = _pairs_within(n_features, groups, edge, rng)
    elif graph == "hub":
        upper = _hubs(groups)
    elif graph == "band":
        apart = np.arange(n_features)[None, :] - np.arange(n_features)[:, None]
        upper = (apart > 0) & (apart <= bandwidth)
    else:
        upper = _preferential_attachment(n_features, rng)
    return upper | upper.T


@checked
@validate_params(
    {
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "graph": [StrOptions({"random", "hub", "cluster", "band", "scale-free"})],
        "random_state": ["random_state"],
        "prob": [None, Interval(Real, 0, 1, closed="both")],
        "n_groups": [None, Interval(Integral, 1, None, closed="left")],
        "bandwidth": [Interval(Integral, 0, None, closed="left")],
        "strength": [Interval(Real, None, None, closed="neither")],
        "shift": [Interval(Real, 0, None, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def make_sparse_precision(
    n_features,
    n_samples,
    graph="random",
    random_state=None,
    *,
    prob=None,
    n_groups=None,
    bandwidth=1,
    strength=0.3,
    shift=0.1,
):
    """Draw a sample from a Gaussian whose precision matrix follows a sparse graph.

    Parameters
    ----------
    n_features : int
        Number of variables.
    n_samples : int
        Number of rows.
    graph : {"random", "hub", "cluster", "band", "scale-free"}, default="random"
        "random": each pair is joined with probability `prob`. "cluster": the same within
        disjoint groups. "hub": in disjoint groups, one member is joined to all others.
        "band": neighbours in the order of the variables. "scale-free": a tree grown by
        preferential attachment.
    random_state : int, RandomState instance or None, default=None
        Of the graph and of the sample.
    prob : float, default=None
        Probability of an edge. None stands for 3 / n_features in a "random" graph, for a mean
        degree near 3; in a "cluster" graph for 0.3 in groups above 30 members and for a mean
        degree near 6 in smaller ones.
    n_groups : int, default=None
        Number of groups of "hub" and "cluster" graphs. None stands for one per 20 variables,
        and 2 below 40 variables.
    bandwidth : int, default=1
        How far apart joined variables of a "band" graph may be.
    strength : float, default=0.3
        Entry of the precision matrix at an edge, before it is scaled.
    shift : float, default=0.1
        Added to the diagonal beyond what makes the matrix positive definite by 0.1: the
        larger, the weaker the partial correlations.

    Returns
    -------
    SparsePrecision
        A named tuple of `X` of shape (n_samples, n_features); `precision`, with exact zeros
        where the graph has no edge; `covariance`, its inverse, of unit diagonal; and
        `adjacency`, the graph as a boolean matrix.

    References
    ----------
    .. [1] Pang, Liu and Vanderbei (2014). The fastclime package for linear programming and
       large-scale precision matrix estimation in R. JMLR 15:489-493.

    Examples
    --------
    >>> from octavo.data import make_sparse_precision
    >>> sample = make_sparse_precision(6, 100, graph="band", random_state=0)
    >>> sample.X.shape, int(sample.adjacency.sum()) // 2
    ((100, 6), 5)
    """
    rng = check_random_state(random_state)
    if n_groups is not None and n_groups > n_features:
        raise ValueError(f"n_groups={n_groups} must not exceed n_features={n_features}.")
    adjacency = _adjacency(n_features, graph, prob, n_groups, bandwidth, rng)
    precision = strength * adjacency
    lowest = np.linalg.eigvalsh(precision)[0]
    np.fill_diagonal(precision, abs(lowest) + 0.1 + shift)
    covariance = np.linalg.inv(precision)
    deviation = np.sqrt(np.diag(covariance))
    covariance = covariance / np.outer(deviation, deviation)
    covariance = (covariance + covariance.T) / 2
    np.fill_diagonal(covariance, 1.0)
    precision = precision * np.outer(deviation, deviation)
    X = rng.standard_normal((n_samples, n_features)) @ np.linalg.cholesky(covariance).T
    return SparsePrecision(X, precision, covariance, adjacency)
