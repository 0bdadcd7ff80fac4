"""Unlabelled graphs, uniformly at random (Dixon and Wilf 1983; Section 5.5.3).

A pair of a permutation and a graph that it leaves alone, drawn uniformly, has every isomorphism
class with the same probability (Frobenius and Burnside). A type of cycles is drawn with weight
|class| 2^c, c the number of its orbits of edges; then a fair coin decides about each orbit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.search.de_novo.metropolis import check_count
from octavo.search.de_novo.proposals import IndependentProposal, check_generator

__all__ = ["UnlabeledGraphSampler", "count_unlabeled_graphs"]

MOST_VERTICES = 500
MOST_COUNTED = 40  # 37,338 types of cycles
NEGLIGIBLE = 70  # types that together weigh less than 2^-70 of all are left out


def partitions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Yield the ways to write `total` as a sum of 2, ..., `largest`, falling."""
    if total == 0:
        yield ()
    for part in range(min(total, largest), 1, -1):
        for rest in partitions(total - part, part):
            yield (part, *rest)


def class_size(moved: tuple[int, ...], n: int) -> int:
    """Return the number of permutations of n with these cycles, the rest fixed."""
    size = math.factorial(n)
    fixed = n - sum(moved)
    for length in set(moved):
        many = moved.count(length)
        size //= length**many * math.factorial(many)
    return size // math.factorial(fixed)


def n_orbits(moved: tuple[int, ...], n: int) -> int:
    """Return c = Σ ⌊l_i / 2⌋ + Σ_{i<j} gcd(l_i, l_j), the orbits of pairs of vertices."""
    fixed = n - sum(moved)
    among = sum(math.gcd(a, b) for i, a in enumerate(moved) for b in moved[:i])
    # fixed vertices are cycles of length one
    return sum(a // 2 for a in moved) + among + len(moved) * fixed + fixed * (fixed - 1) // 2


def most_moved(n: int) -> int:
    """Return a number of moved vertices beyond which all types together are negligible.

    A permutation that moves k of n vertices leaves at most C(n - k, 2) + k / 2 pairs alone, and has
    at most half as many orbits as there are other pairs.
    """
    edges = n * (n - 1) // 2
    tail = 0.0
    for k in range(n, 1, -1):
        still = math.comb(n - k, 2) + k / 2
        log_many = (math.lgamma(n + 1) - math.lgamma(n - k + 1)) / math.log(2.0)
        tail += 2.0 ** min(log_many + still + (edges - still) / 2 - edges, 1000.0)
        if tail > 2.0**-NEGLIGIBLE:
            return k
    return 0


class CycleTypes(NamedTuple):
    """Cycles of the moved vertices of each type, and the probabilities of the types, summed up."""

    moved: list[tuple[int, ...]]
    cumulative: Floats


@lru_cache(maxsize=32)
def cycle_types(n: int) -> CycleTypes:
    """Return the types that are drawn, by falling weight."""
    found = [moved for k in range(most_moved(n) + 1) for moved in partitions(k, k)]
    # |[π]| |Fix(π)| of Section 5.5.3
    weights = [class_size(moved, n) << n_orbits(moved, n) for moved in found]
    order = sorted(range(len(found)), key=lambda i: -weights[i])
    total, upto, sums = sum(weights), 0, []
    for i in order:
        upto += weights[i]
        sums.append(upto / total)  # whole numbers: exact but for one rounding
    return CycleTypes([found[i] for i in order], np.array(sums))


@lru_cache(maxsize=4096)
def edge_orbits(moved: tuple[int, ...], n: int) -> Ints:
    """Return the number of the orbit of each pair u < v, in the order of `numpy.triu_indices`."""
    image = np.arange(n)
    start = 0
    for length in moved:
        image[start : start + length] = start + (np.arange(length) + 1) % length
        start += length
    orbit = np.full((n, n), -1, dtype=np.int64)
    count = 0
    for u in range(n):
        for v in range(u + 1, n):
            a, b = u, v
            if orbit[a, b] < 0:
                while orbit[a, b] < 0:
                    orbit[a, b] = orbit[b, a] = count
                    a, b = image[a], image[b]
                count += 1
    return orbit[np.triu_indices(n, 1)]  # g in Fix(π) has all edges of an orbit or none


@lru_cache(maxsize=32)
def vertex_pairs(n: int) -> list[tuple[int, int]]:
    """Return all pairs u < v."""
    return [(u, v) for u in range(n) for v in range(u + 1, n)]


@checked
def count_unlabeled_graphs(n: int) -> int:
    """Return the number of graphs with n vertices that are not isomorphic.

    Parameters
    ----------
    n : int
        Number of vertices, at most 40.

    Returns
    -------
    count : int
        Exact.

    Examples
    --------
    >>> from octavo.search import count_unlabeled_graphs
    >>> [count_unlabeled_graphs(n) for n in (4, 7, 10)]
    [11, 1044, 12005168]
    """
    n = check_count(n, "n", 0)
    if n > MOST_COUNTED:
        raise ValueError(f"Graphs of at most {MOST_COUNTED} vertices are counted; got n={n}.")
    types = (moved for k in range(n + 1) for moved in partitions(k, k))
    # Burnside: the mean of |Fix(π)|
    return sum(class_size(moved, n) << n_orbits(moved, n) for moved in types) // math.factorial(n)


class UnlabeledGraphSampler(IndependentProposal):
    """Propose graphs of n vertices, every isomorphism class with the same probability.

    Random edges do not do that: a path is n! / 2 times as likely as a complete graph.

    Parameters
    ----------
    n : int
        Number of vertices, at most 500.

    Attributes
    ----------
    independent : bool
        True: a proposal does not depend on the state of a chain.

    Notes
    -----
    Exact to 2^-70. Vertices come in the order of the cycles of a permutation, which says nothing of
    the graph; shuffle them where names of vertices matter.

    References
    ----------
    J. D. Dixon and H. S. Wilf (1983). The random selection of unlabeled graphs. Journal of
    Algorithms 4. D. Oglic (2018). Constructive Approximation and Learning by Greedy Algorithms.
    PhD thesis, University of Bonn, Section 5.5.3.

    Examples
    --------
    >>> import networkx as nx
    >>> from octavo.search import UnlabeledGraphSampler
    >>> draws = UnlabeledGraphSampler(4).sample(1100, random_state=0)
    >>> print(sum(nx.is_isomorphic(g, nx.complete_graph(4)) for g in draws))
    98
    """

    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self, state: Any, rng: np.random.Generator) -> Any:
        """Return a graph, whatever the state.

        Parameters
        ----------
        state : object or None
            Not looked at.
        rng : Generator
            Source of the draw.

        Returns
        -------
        graph : networkx.Graph
            With vertices 0, ..., n - 1.
        """
        import networkx as nx

        n = self.n
        if type(n) is not int or n < 1:  # the look at abstract numbers is slow
            n = check_count(n, "n", 1)
        if n > MOST_VERTICES:
            raise ValueError(f"Graphs of at most {MOST_VERTICES} vertices are drawn; got n={n}.")
        check_generator(rng)
        types = cycle_types(n)
        # (i) of Section 5.5.3: a class of permutations.
        at = min(
            int(np.searchsorted(types.cumulative, rng.random(), side="right")),
            len(types.moved) - 1,
        )
        orbit = edge_orbits(types.moved[at], n)
        # (ii): g in Fix(π), uniformly
        coins = rng.integers(0, 2, size=int(orbit.max(initial=-1)) + 1, dtype=np.int8)
        pairs = vertex_pairs(n)
        graph = nx.Graph()
        graph.add_nodes_from(range(n))
        graph.add_edges_from([pairs[i] for i in np.flatnonzero(coins[orbit]).tolist()])
        return graph
