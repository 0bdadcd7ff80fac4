"""Gaussian networks in which some edges are weak and the others strong.

The simulations of Vats and Nowak (2014), "A junction tree framework for undirected graphical model
selection", JMLR 15:147-191, section 8.1.
"""

from __future__ import annotations

from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params

__all__ = ["WeakEdgeNetwork", "make_weak_edge_network"]

STRONG = 0.245
WEAK = {"1": 0.15, "2": 0.075}
STAR = {"1": 8, "2": 12}  # nodes of a weak star
MODELS = ("CH1", "CH2", "CY1", "CY2", "HB1", "HB2", "NB1", "NB2")


class WeakEdgeNetwork(NamedTuple):
    """A sample, its precision matrix, the graph, and which of its edges are weak."""

    X: np.ndarray
    precision: np.ndarray
    adjacency: np.ndarray
    weak: np.ndarray


def _ring(p, p1, weak, chords):
    """Return links (i, i + 1), and (i, i + 3) from every third i or from all."""
    links = [(i, i + 1) for i in range(p - 1)]
    if chords is not None:
        links += [(i, i + 3) for i in range(0, p - 3, 3 if chords == "squares" else 1)]
    # A link is weak if it begins before the last of the weak nodes.
    return [(i, j, weak if i < p1 - 1 else STRONG) for i, j in links]


def _stars(p, p1, size):
    """Return stars of `size` nodes on the first p1 nodes and of five on the others."""
    links = []
    for begin, end, nodes in ((0, p1, size), (p1, p, 5)):
        for hub in range(begin, end, nodes):
            links += [(hub, j, 1.0 / nodes) for j in range(hub + 1, min(hub + nodes, end))]
    return links


def _trimmed(adjacency, most, rng):
    """Keep links in random order as long as both ends have fewer than `most`."""
    links = rng.permutation(np.argwhere(np.triu(adjacency, 1)))
    kept, degree = np.zeros_like(adjacency), np.zeros(len(adjacency), dtype=int)
    for i, j in links:
        if degree[i] < most and degree[j] < most:
            kept[i, j] = kept[j, i] = True
            degree[[i, j]] += 1
    return kept


def _near(p, p1, weak, rng):
    """Return links of near points of the unit square within both parts, and four across."""
    at = rng.uniform(size=(p, 2))
    square = ((at[:, None] - at[None]) ** 2).sum(axis=2)
    drawn = np.triu(rng.uniform(size=(p, p)) < np.exp(-4.0 * square) / np.sqrt(2 * np.pi), 1)
    drawn |= drawn.T
    links = []
    for begin, end, most, value in ((0, p1, 6, weak), (p1, p, 4, STRONG)):
        part = _trimmed(drawn[begin:end, begin:end].copy(), most, rng)
        links += [(begin + i, begin + j, value) for i, j in np.argwhere(np.triu(part, 1))]
    across: set[tuple[int, int]] = set()
    while len(across) < min(4, p1 * (p - p1)):
        across.add((int(rng.randint(p1)), int(rng.randint(p1, p))))
    return links + [(i, j, weak) for i, j in sorted(across)]


@checked
@validate_params(
    {
        "model": [StrOptions(set(MODELS))],
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_features": [None, Interval(Integral, 2, None, closed="left")],
        "n_weak": [None, Interval(Integral, 1, None, closed="left")],
        "chords": [StrOptions({"squares", "all"})],
    },
    prefer_skip_nested_validation=True,
)
def make_weak_edge_network(
    model="CH1", n_samples=500, random_state=None, *, n_features=None, n_weak=None, chords="squares"
):
    """Draw a Gaussian sample of a network with weak and strong edges.

    Parameters
    ----------
    model : {"CH1", "CH2", "CY1", "CY2", "HB1", "HB2", "NB1", "NB2"}, default="CH1"
        Chain; chain with chords that close cycles of four; hubs; neighbours on the unit square.
        The weak edges of the second of each kind are the weaker.
    n_samples : int, default=500
        Rows.
    random_state : int, RandomState instance or None, default=None
        Of the sample, and of the network where it is random.
    n_features : int, default=None
        Columns; None is 100, and 300 for the last kind, as in the paper.
    n_weak : int, default=None
        Columns at the beginning whose edges are weak; None is 20, and 30 for the last kind.
    chords : {"squares", "all"}, default="squares"
        Whether every third node of "CY1" and "CY2" begins a chord, which gives the number of
        edges of the paper's table, or every one, as its text says.

    Returns
    -------
    WeakEdgeNetwork
        A named tuple of `X`, `precision`, `adjacency` and `weak`, the last two boolean matrices.

    References
    ----------
    .. [1] Vats and Nowak (2014). A junction tree framework for undirected graphical model
       selection. JMLR 15:147-191, section 8.1.

    Examples
    --------
    >>> from octavo.data import make_weak_edge_network
    >>> sample = make_weak_edge_network("CY1", 300, random_state=0)
    >>> sample.X.shape, int(sample.adjacency.sum()) // 2, int(sample.weak.sum()) // 2
    ((300, 100), 132, 26)
    """
    rng = check_random_state(random_state)
    kind, number = model[:2], model[2]
    p = n_features if n_features is not None else (300 if kind == "NB" else 100)
    p1 = n_weak if n_weak is not None else min(30 if kind == "NB" else 20, p - 1)
    if not p1 < p:
        raise ValueError(f"n_weak={p1} must be below n_features={p}.")
    for _ in range(100):
        if kind == "NB":
            links = _near(p, p1, WEAK[number], rng)
        elif kind == "HB":
            links = _stars(p, p1, STAR[number])
        else:
            links = _ring(p, p1, WEAK[number], chords if kind == "CY" else None)
        precision, weak = np.eye(p), np.zeros((p, p), dtype=bool)
        for i, j, value in links:
            precision[i, j] = precision[j, i] = value
            begins = i < p1 if kind != "CH" and kind != "CY" else i < p1 - 1
            weak[i, j] = weak[j, i] = begins
        values = np.linalg.eigvalsh(precision)
        if values[0] > 1e-3:  # links across can make it indefinite: draw anew
            break
    else:
        raise ValueError(f"No positive definite {model} with n_weak={p1} of {p} was drawn.")
    factor = np.linalg.cholesky(precision)
    X = np.linalg.solve(factor.T, rng.standard_normal((p, n_samples))).T
    adjacency = (precision != 0) & ~np.eye(p, dtype=bool)
    return WeakEdgeNetwork(np.ascontiguousarray(X), precision, adjacency, weak)
