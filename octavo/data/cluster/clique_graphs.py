"""Graphs of cliques on which the resolution of quality functions shows.

The ring is that of Fortunato and Barthélemy (2007); cliques beside a random graph are the model of
Lancichinetti and Fortunato (2011), both as van Laarhoven and Marchiori (2014, Section 6.2) use
them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["make_cliques_and_random", "make_ring_of_cliques"]

_MOST_LINKS = 50_000_000


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name} must be a whole number; got {value!r}.")
    if value < least:
        raise ValueError(f"{name} must be at least {least}; got {value}.")
    return int(value)


def _symmetric(u: Any, v: Any, n: int) -> sp.csr_array:
    ones = np.ones(2 * len(u))
    return sp.csr_array((ones, (np.concatenate([u, v]), np.concatenate([v, u]))), shape=(n, n))


@checked
def make_ring_of_cliques(n_cliques: int, size: int) -> sp.csr_array:
    """Return a ring of cliques, each linked to the next by a single link.

    Parameters
    ----------
    n_cliques : int
        Number of cliques, at least 2 (of two, one link joins them).
    size : int
        Nodes of each, at least 2. Node i is in clique ``i // size``.

    Returns
    -------
    graph : scipy.sparse.csr_array of shape (n_cliques * size, n_cliques * size)
        Symmetric, links of weight 1, no loops.

    Examples
    --------
    >>> from octavo.cluster import make_ring_of_cliques
    >>> ring = make_ring_of_cliques(4, 5)
    >>> ring.shape, int(ring.sum()) // 2
    ((20, 20), 44)
    """
    n_cliques, size = _whole("n_cliques", n_cliques, 2), _whole("size", size, 2)
    if n_cliques * size * size > _MOST_LINKS:
        raise ValueError(f"A ring of {n_cliques} cliques of {size} has too many links.")
    i, j = np.triu_indices(size, 1)
    first = np.arange(n_cliques) * size
    u, v = (first[:, None] + i).ravel(), (first[:, None] + j).ravel()
    ends, starts = first + size - 1, np.roll(first, -1)
    if n_cliques == 2:
        ends, starts = ends[:1], starts[:1]
    n = n_cliques * size
    return _symmetric(np.concatenate([u, ends]), np.concatenate([v, starts]), n)


@checked
def make_cliques_and_random(
    size: int, n_random: int, *, mean_degree: float = 20.0, random_state: Any = None
) -> sp.csr_array:
    """Return two linked cliques beside a random graph, in which modularity cannot please both.

    The cliques should be kept apart and the random part should not be cut. One link joins the
    cliques, and one joins each of them to the random part.

    Parameters
    ----------
    size : int
        Nodes of each clique, at least 2: the first ``2 * size`` nodes.
    n_random : int
        Nodes of the random part, at least 2; they come last.
    mean_degree : float, default=20.0
        Mean number of links of a node there, above 0 and at most ``n_random - 1``.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    graph : scipy.sparse.csr_array of shape (2 * size + n_random, 2 * size + n_random)
        Symmetric, links of weight 1, no loops.

    Examples
    --------
    >>> from octavo.cluster import make_cliques_and_random
    >>> make_cliques_and_random(10, 200, random_state=0).shape
    (220, 220)
    """
    size, n_random = _whole("size", size, 2), _whole("n_random", n_random, 2)
    if not 0 < mean_degree <= n_random - 1:
        raise ValueError(
            f"mean_degree must be above 0 and at most n_random - 1 = {n_random - 1}; "
            f"got {mean_degree!r}."
        )
    if size * size + n_random * mean_degree > _MOST_LINKS:
        raise ValueError("The graph would have too many links.")
    rng = check_random_state(random_state)
    i, j = np.triu_indices(size, 1)
    n_pairs = n_random * (n_random - 1) // 2
    wanted = min(n_pairs, max(1, rng.binomial(n_pairs, mean_degree / (n_random - 1))))
    chosen = np.unique(rng.randint(n_pairs, size=wanted, dtype=np.int64))
    while len(chosen) < wanted:
        more = rng.randint(n_pairs, size=wanted - len(chosen), dtype=np.int64)
        chosen = np.unique(np.concatenate([chosen, more]))
    # The place of a pair p < q in the list (0,1), (0,2), (1,2), (0,3), ... is q (q - 1) / 2 + p.
    q = np.floor((1.0 + np.sqrt(1.0 + 8.0 * chosen)) / 2.0).astype(np.int64)
    q -= q * (q - 1) // 2 > chosen
    p = chosen - q * (q - 1) // 2
    base = 2 * size
    u = np.concatenate([i, i + size, p + base, [size - 1, 0, size]])
    v = np.concatenate([j, j + size, q + base, [2 * size - 1, base, base + 1]])
    return _symmetric(u, v, base + n_random)
