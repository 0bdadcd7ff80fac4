"""Weights of label pairs that mixtures of spanning trees can have, and steps among them.

A mixture of trees gives pair e the weight lambda_e = sum of lambda_T over the trees that have e.
The best weights for given functions of the pairs minimise sum c_e / lambda_e over all mixtures,
and the minimiser shares out lambda in proportion to sqrt(c_e) as evenly as trees allow: it is the
load that greedy packing of spanning trees converges to.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices

WORK = 2_000_000  # steps that a packing may take: with few labels its loads are known better
PRIOR = 0.1  # trees that the weights before it count for, as a share of those packed


@njit(cache=True, nogil=True)
def heaviest_tree(weights, parent, order):
    """Write the maximum spanning tree of a dense symmetric matrix, hung from vertex 0 (Prim)."""
    n = weights.shape[0]
    inside = np.zeros(n, dtype=np.bool_)
    best = np.full(n, -np.inf)
    parent[0], order[0] = -1, 0
    inside[0] = True
    for v in range(1, n):
        best[v], parent[v] = weights[0, v], 0
    for position in range(1, n):
        u = -1
        for v in range(n):
            if not inside[v] and (u < 0 or best[v] > best[u]):
                u = v
        inside[u] = True
        order[position] = u
        for v in range(n):
            if not inside[v] and weights[u, v] > best[v]:
                best[v], parent[v] = weights[u, v], u


@njit(cache=True, nogil=True)
def _pack(shares, prior, n_trees, loads):
    """Add spanning trees one by one, each lightest in load over share."""
    n = shares.shape[0]
    parent, order = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    relative = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            loads[i, j] *= prior
            # lightest in load is heaviest in minus load
            relative[i, j] = -loads[i, j] / shares[i, j]
    for _ in range(n_trees):
        heaviest_tree(relative, parent, order)
        for v in range(1, n):
            u = parent[v]
            loads[u, v] += 1.0
            loads[v, u] = loads[u, v]
            relative[u, v] = -loads[u, v] / shares[u, v]
            relative[v, u] = relative[u, v]
    for i in range(n):
        for j in range(n):
            loads[i, j] /= prior + n_trees


def packed_loads(weights: Floats, shares: Floats, n_trees: int, prior: float) -> Floats:
    """Return weights of pairs near given shares that some mixture of spanning trees has.

    Parameters
    ----------
    weights : ndarray of shape (n, n)
        Symmetric; of a mixture, where the packing starts.
    shares : ndarray of shape (n, n)
        Symmetric, positive.
    n_trees : int
        Trees in the packing.
    prior : float
        How many trees the given weights count for.

    Returns
    -------
    ndarray of shape (n, n)
        Those of a mixture.
    """
    loads = weights.copy()
    _pack(shares, float(prior), n_trees, loads)
    return loads


def closed_step(
    weights: Floats, norms: Floats, first: Indices, second: Indices, n: int, power: float = 0.5
) -> Floats:
    """Return weights of pairs in proportion to weights x norms^power, as far as trees allow.

    Parameters
    ----------
    weights : ndarray of shape (n_pairs,)
        Positive; of a mixture of trees.
    norms : ndarray of shape (n_pairs,)
        gamma_e, the squared norm of each pair's function at weight one.
    first, second : ndarray of shape (n_pairs,)
        The pairs.
    n : int
        Labels.
    power : float, default=0.5
        One half minimises the bound sum_e weights_e^2 norms_e / new_e; more is a longer step.

    Returns
    -------
    ndarray of shape (n_pairs,)
        New weights, of a mixture of trees.
    """
    top = float(norms.max())
    if not top > 0.0:
        return weights
    shares, table = np.ones((n, n)), np.zeros((n, n))
    # λ_e γ_e^power: the closed form for power ½, before trees restrict it
    share = np.maximum(weights * np.maximum(norms / top, 0.0) ** power, 1e-12)
    shares[first, second] = shares[second, first] = share
    table[first, second] = table[second, first] = weights
    n_trees = min(max(WORK // n**2, 500), 20_000)
    return packed_loads(table, shares, n_trees, PRIOR * n_trees)[first, second]


def _warmup() -> None:
    packed_loads(np.ones((3, 3)), np.ones((3, 3)), 2, 1.0)
