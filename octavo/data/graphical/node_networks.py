"""Gaussian samples of several networks that differ by perturbed nodes and share hubs.

The simulations of Mohan, London, Fazel, Witten and Lee (2014), "Node-based learning of multiple
Gaussian graphical models", JMLR 15:445-488, section 6.1.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params

__all__ = ["NodePerturbedNetworks", "make_node_perturbed_networks"]


class NodePerturbedNetworks(NamedTuple):
    """Samples of several networks with their labels, and the models that they are drawn from."""

    X: np.ndarray
    groups: np.ndarray
    precisions: np.ndarray
    covariances: np.ndarray
    perturbed_nodes: np.ndarray
    cohub_nodes: np.ndarray


def _effects(size, low, high, rng):
    """Draw from the uniform distribution on [-high, -low] and [low, high]."""
    return rng.uniform(low, high, size) * rng.choice([-1.0, 1.0], size)


def _attach(n_features, n_links, rng):
    """Grow a graph: each node joins `n_links` earlier ones, chosen by their degree."""
    adjacency = np.zeros((n_features, n_features), dtype=bool)
    ends = list(range(min(n_links, n_features)))
    for node in range(n_links, n_features):
        chosen: set[int] = set()
        while len(chosen) < n_links:
            chosen.add(ends[rng.randint(len(ends))])
        for other in chosen:
            adjacency[other, node] = True
            ends += [other, node]
    return adjacency


def _redraw(A, node, row):
    A[node, :] = A[:, node] = row
    A[node, node] = 0.0


@checked
@validate_params(
    {
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "n_samples": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "kind": [StrOptions({"erdos-renyi", "scale-free", "community"})],
        "random_state": ["random_state"],
        "n_networks": [Interval(Integral, 1, None, closed="left")],
        "n_perturbed": [Interval(Integral, 0, None, closed="left")],
        "n_cohubs": [Interval(Integral, 0, None, closed="left")],
        "density": [Interval(Real, 0, 1, closed="both")],
        "n_links": [Interval(Integral, 1, None, closed="left")],
        "effect": [tuple],
    },
    prefer_skip_nested_validation=True,
)
def make_node_perturbed_networks(
    n_features=100,
    n_samples=50,
    kind="erdos-renyi",
    random_state=None,
    *,
    n_networks=2,
    n_perturbed=2,
    n_cohubs=2,
    density=0.02,
    n_links=2,
    effect=(0.3, 0.6),
):
    """Draw samples of networks that differ by a few nodes and share a few hubs.

    Parameters
    ----------
    n_features : int, default=100
        Number of variables, the nodes.
    n_samples : int or array-like of shape (n_networks,), default=50
        Number of rows of each network.
    kind : {"erdos-renyi", "scale-free", "community"}, default="erdos-renyi"
        The network that all start from. "erdos-renyi": each pair is joined with probability
        `density`. "scale-free": grown by preferential attachment. "community": as the first, but
        the first two fifths of the nodes have no edge to the last two fifths.
    random_state : int, RandomState instance or None, default=None
        Of the networks and of the samples.
    n_networks : int, default=2
        Number of networks.
    n_perturbed : int, default=2
        Nodes that are joined anew, to all others, in one network chosen at random.
    n_cohubs : int, default=2
        Other nodes that are joined to all others, alike in all networks.
    density : float, default=0.02
        Probability of an edge.
    n_links : int, default=2
        Edges that each new node of a "scale-free" network brings.
    effect : tuple of two floats, default=(0.3, 0.6)
        Range of the magnitude of an edge in the precision matrix; signs are at random.

    Returns
    -------
    NodePerturbedNetworks
        A named tuple of `X`, the rows of all networks; `groups`, the network of each row;
        `precisions` and `covariances` of shape (n_networks, n_features, n_features); and the
        sorted `perturbed_nodes` and `cohub_nodes`.

    References
    ----------
    .. [1] Mohan, London, Fazel, Witten and Lee (2014). Node-based learning of multiple Gaussian
       graphical models. JMLR 15:445-488, section 6.1.

    Examples
    --------
    >>> from octavo.data import make_node_perturbed_networks
    >>> networks = make_node_perturbed_networks(30, 40, random_state=0)
    >>> networks.X.shape, networks.perturbed_nodes.tolist(), networks.cohub_nodes.tolist()
    ((80, 30), [1, 12], [18, 19])
    """
    rng = check_random_state(random_state)
    sizes = np.broadcast_to(np.asarray(n_samples, dtype=int), (n_networks,))
    if n_perturbed + n_cohubs > n_features:
        raise ValueError(
            f"n_perturbed={n_perturbed} and n_cohubs={n_cohubs} must not exceed "
            f"n_features={n_features} together."
        )
    low, high = effect
    if kind == "scale-free":
        upper = _attach(n_features, n_links, rng)
    else:
        upper = np.triu(rng.uniform(size=(n_features, n_features)) < density, 1)
    base = np.where(upper, _effects(upper.shape, low, high, rng), 0.0)  # Step 1
    A = np.repeat((base + base.T)[None], n_networks, axis=0)
    chosen = rng.permutation(n_features)[: n_perturbed + n_cohubs]
    perturbed, cohubs = chosen[:n_perturbed], chosen[n_perturbed:]
    for node in perturbed:  # Step 2
        _redraw(A[rng.randint(n_networks)], node, _effects(n_features, low, high, rng))
    for node in cohubs:  # Step 3: the same row in all networks
        row = _effects(n_features, low, high, rng)
        for network in A:
            _redraw(network, node, row)
    if kind == "community":
        first, last = np.arange(2 * n_features // 5), np.arange(3 * n_features // 5, n_features)
        A[:, first[:, None], last] = A[:, last[:, None], first] = 0.0
    lowest = np.linalg.eigvalsh(A)[:, 0].min()  # Step 4
    precisions = A + (0.1 + abs(lowest)) * np.eye(n_features)
    covariances = np.linalg.inv(precisions)
    covariances = (covariances + covariances.swapaxes(1, 2)) / 2
    rows = [  # Step 5
        rng.standard_normal((size, n_features)) @ np.linalg.cholesky(covariance).T
        for size, covariance in zip(sizes, covariances)
    ]
    return NodePerturbedNetworks(
        np.vstack(rows),
        np.repeat(np.arange(n_networks), sizes),
        precisions,
        covariances,
        np.sort(perturbed),
        np.sort(cohubs),
    )
