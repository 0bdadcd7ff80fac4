"""Clusters of nodes that cannot all depend on each other, and the bound they give.

In every set of nodes one must have no parent inside the set. A set costs what it scores below
its node's best; where the free sets leave nodes stuck, the cheapest way out raises the cost of all
networks. Repeating this is an ascent on the dual of the linear relaxation, without a solver.

Reference: F. Trösser, S. de Givry and G. Katsirelos (2021), "Improved acyclicity reasoning for
Bayesian network structure learning with constraint programming", IJCAI.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.discrete.bitsets import masks_of

__all__: list[str] = []

LARGEST_ASCENT = 63  # nodes that fit into one word


@njit(cache=True, nogil=True)
def _stuck_nodes(ptr, masks, costs, inside):
    """Return the nodes of a set that free sets (cost zero) cannot place before each other."""
    n = ptr.size - 1
    moved = True
    while moved and inside != 0:
        moved = False
        for node in range(n):
            if inside >> np.uint64(node) & np.uint64(1):
                for row in range(ptr[node], ptr[node + 1]):
                    if costs[row] <= 1e-9 and masks[row, 0] & inside == 0:
                        inside &= ~(np.uint64(1) << np.uint64(node))
                        moved = True
                        break
    return inside


@njit(cache=True, nogil=True)
def raise_costs(ptr, masks, costs, limit, clusters, raised):
    """Fill clusters and what each adds to the cost of all networks; return (count, total).

    Costs are reduced in place; the ascent ends above the limit, when no node is stuck, or when
    the arrays are full.
    """
    n = ptr.size - 1
    everything = (np.uint64(1) << np.uint64(n)) - np.uint64(1)
    found, total = 0, 0.0
    while found < raised.size and total <= limit:
        stuck = _stuck_nodes(ptr, masks, costs, everything)
        if stuck == 0:
            break
        for node in range(n):  # a minimal cluster
            bit = np.uint64(1) << np.uint64(node)
            if stuck & bit:
                smaller = _stuck_nodes(ptr, masks, costs, stuck & ~bit)
                if smaller != 0:
                    stuck = smaller
        least = np.inf
        for node in range(n):
            if stuck >> np.uint64(node) & np.uint64(1):
                for row in range(ptr[node], ptr[node + 1]):
                    if masks[row, 0] & stuck == 0 and costs[row] < least:
                        least = costs[row]
        if least == np.inf:
            return found, np.inf
        for node in range(n):
            if stuck >> np.uint64(node) & np.uint64(1):
                for row in range(ptr[node], ptr[node + 1]):
                    # the sets that would free the cluster become cheaper by what all must pay
                    if masks[row, 0] & stuck == 0:
                        costs[row] -= least
        clusters[found], raised[found] = stuck, least
        found += 1
        total += least
    return found, total


def _warmup() -> None:
    """Compile the kernels."""
    ptr, masks = np.array([0, 2, 4]), masks_of([(1,), (), (0,), ()], 2)
    costs = np.array([0.0, 1.0, 0.0, 1.0])
    raise_costs(ptr, masks, costs, np.inf, np.zeros(4, np.uint64), np.zeros(4))
    _stuck_nodes(ptr, masks, costs, np.uint64(3))
