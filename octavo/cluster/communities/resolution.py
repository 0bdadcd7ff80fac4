"""At what scale a quality function merges and splits: two cliques, and parameters for a scale.

T. van Laarhoven and E. Marchiori (2014). Axioms for Graph Clustering Quality Functions.
Section 6.2, Figures 1 and 2.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from octavo.cluster.communities.qualities import read_graph, terms_of
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked

__all__ = ["ResolutionMap", "ScaleAdvice", "advise_scale", "resolution_map", "two_clique_outcome"]


class ResolutionMap(NamedTuple):
    """Which clustering of two cliques is best, by weight within and between.

    ``outcome[j, i]`` is 1 (one cluster), 2 (a cluster a clique) or 3 (cliques are split) for
    ``w[i]`` and ``b[j]``; ``quality`` is the quality function.
    """

    w: Floats
    b: Floats
    outcome: Ints
    quality: Any


class ScaleAdvice(NamedTuple):
    """Parameters of adaptive scale modularity: the scale ``M`` and ``gamma``."""

    M: float
    gamma: float


def _needs_term(quality: Any) -> None:
    if not hasattr(quality, "cluster_term") or isinstance(quality, type):
        raise ValueError(
            "quality must be a quality function such as AdaptiveScaleModularity(); "
            f"got {quality!r}."
        )


@checked
def two_clique_outcome(
    w: ArrayLike, b: ArrayLike, quality: Any, *, size: ArrayLike | None = None
) -> Any:
    """Return which clustering of two linked cliques is best: one cluster, two, or more.

    Each clique has weight w within (links twice, loops once) and weight b to the other, so that its
    volume is w + b. Split in halves, a clique keeps w / 4 in each half.

    Parameters
    ----------
    w, b : array-like
        Weight within each clique and between them, at least 0.
    quality : quality function
        Such as ``AdaptiveScaleModularity()``.
    size : array-like, default=None
        Nodes of a clique, for qualities that count them; √w by default, a clique of unit weights
        with loops.

    Returns
    -------
    outcome : int or ndarray of int
        1: one cluster; 2: a cluster for each clique; 3: the cliques are split. The smaller number
        where two are equally good.

    Examples
    --------
    >>> from octavo.cluster import AdaptiveScaleModularity, two_clique_outcome
    >>> quality = AdaptiveScaleModularity(M=0.0, gamma=2.0)
    >>> [two_clique_outcome(w, 10.0, quality) for w in (20.0, 40.0)]
    [1, 2]
    """
    _needs_term(quality)
    w, b = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (w, b)))
    if not all(np.isfinite(x).all() and (x >= 0).all() for x in (w, b)):
        raise ValueError("w and b must be finite and at least 0.")
    n = np.sqrt(w) if size is None else np.broadcast_to(np.asarray(size, dtype=np.float64), w.shape)
    v, total = w + b, 2.0 * (w + b)
    # Figure 1: (1) one cluster, (2) the cliques, (3) their halves.
    term = terms_of(quality, total)
    one, two = term(total, total, 2.0 * n), 2.0 * term(w, v, n)
    # each clique halved: a quarter of w stays within each half
    four = 4.0 * term(w / 4.0, v / 2.0, n / 2.0)
    scores = np.stack([one, two, four])
    if not np.isfinite(scores).all():
        raise ValueError("The quality of two cliques is not finite here: w, b or M are too large.")
    best = scores.max(axis=0)
    near = scores >= best - 1e-12 * np.abs(scores).max(axis=0)
    outcome = np.argmax(near, axis=0) + 1
    return int(outcome) if outcome.ndim == 0 else outcome


@checked
def resolution_map(quality: Any, w: ArrayLike, b: ArrayLike) -> ResolutionMap:
    """Return the outcome of two cliques over a grid of weights within and between (Figure 2).

    Parameters
    ----------
    quality : quality function
        Such as ``AdaptiveScaleModularity(M=100.0)``.
    w, b : array-like of shape (n_w,), (n_b,)
        The grid: weights within each clique and between the two.

    Returns
    -------
    map : ResolutionMap
        Grid, outcomes and the quality; `octavo.plot.plot_resolution_map` draws it.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.cluster import AdaptiveScaleModularity, resolution_map
    >>> found = resolution_map(AdaptiveScaleModularity(), np.arange(10, 50, 10.0), [5.0, 10.0])
    >>> found.outcome.tolist()
    [[1, 2, 2, 2], [1, 1, 1, 2]]
    """
    w, b = (np.asarray(x, dtype=np.float64) for x in (w, b))
    if w.ndim != 1 or b.ndim != 1 or not w.size or not b.size:
        raise ValueError(f"w and b must be lists of weights; got shapes {w.shape} and {b.shape}.")
    across, up = np.meshgrid(w, b)
    return ResolutionMap(w, b, two_clique_outcome(across, up, quality), quality)


def _needed_share(r: float, gamma: float) -> float:
    """Return the share within at which two clusters of volume r M just stand apart.

    From 2 q(f v, v) = q(2 v, 2 v); it falls from 1 for small clusters to (1 + 1/γ) / 2.
    """
    one, two = 1.0 + gamma * r, 1.0 + 2.0 * gamma * r
    return one * (1.0 / two - 2.0 * r / two**2 + r / one**2)  # f at which 2q(f v, v) = q(2v, 2v)


@checked
def advise_scale(graph: Any, min_size: float, within: float = 0.75) -> ScaleAdvice:
    """Return M and gamma of adaptive scale modularity for clusters of a wanted size and strength.

    Of two linked clusters, each stands alone when enough of its weight is within. For large
    clusters that share is `within`, which is γ = 1 / (2 within - 1). For small ones it is larger;
    M is chosen so that a cluster of `min_size` nodes with the graph's mean degree needs half way
    from there to one.

    Parameters
    ----------
    graph : networkx graph, igraph.Graph, square matrix, list of links or pandas.DataFrame
        Undirected, with weights of at least 0; its mean degree sets the units.
    min_size : float
        Nodes of the smallest clusters that should stand alone, at least 1.
    within : float, default=0.75
        The share of its weight that a large cluster must have within: between 0.5 and 1. Above 0.75
        gamma is below 2, and the quality no longer monotonic.

    Returns
    -------
    advice : ScaleAdvice
        ``M`` and ``gamma``, in this order.

    Examples
    --------
    >>> from octavo.cluster import advise_scale, make_ring_of_cliques
    >>> M, gamma = advise_scale(make_ring_of_cliques(30, 5), min_size=5)
    >>> print(round(M, 1), gamma)
    389.7 2.0
    """
    links = read_graph(graph)
    if not (np.isfinite(min_size) and min_size >= 1):
        raise ValueError(f"min_size must be a number of nodes, at least 1; got {min_size!r}.")
    if not 0.5 < within < 1:
        raise ValueError(f"within must lie between 0.5 and 1; got {within!r}.")
    total = float(links.matrix.sum())
    if total == 0:
        raise ValueError("The graph has no links, so that nothing sets the scale of M.")
    gamma = 1.0 / (2.0 * within - 1.0)
    if gamma < 2:
        warnings.warn(
            f"within={within:g} needs gamma={gamma:.3g}, below 2: more weight within a cluster "
            "can then lower the quality. Take within <= 0.75 for a monotonic one.",
            UserWarning,
            stacklevel=3,
        )
    wanted = 0.5 * (1.0 + within)
    high = 1.0
    while _needed_share(high, gamma) > wanted:
        high *= 2.0
    r = brentq(lambda x: _needed_share(x, gamma) - wanted, 0.0, high, xtol=1e-14)
    volume = float(min_size) * total / links.matrix.shape[0]
    if not np.isfinite(volume / r):
        raise ValueError("M would be too large for a number: take a smaller min_size.")
    return ScaleAdvice(volume / r, gamma)
