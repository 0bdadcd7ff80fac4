"""The criterion C_k: distances to the nearest alike histograms less those to the nearest others.

Reference: Cuturi and Avis (2014), Section 3.3, Eqs. (6) and (7), and Algorithm 1.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.doubles import real_array
from octavo.engine.transport.network_simplex import is_semimetric
from octavo.metric.ground.histograms import as_ground_metric, as_histograms
from octavo.metric.ground.transports import ExactTransports, Transports

__all__ = ["ground_metric_criterion"]

REFRESH = 10  # evaluations between looks at all pairs, where candidates are kept


class Comparisons(NamedTuple):
    """Pairs i < j that count, with their weights ω; positions of alike and of unlike ones."""

    pairs: Indices
    omega: Floats
    alike: Indices
    unlike: Indices


def compare_labels(codes: Indices, k: int) -> Comparisons:
    """Return all pairs, with ω = 1/(nk) within a class and -1/(nk) across (Section 6.2.2)."""
    n = len(codes)
    pairs = np.column_stack(np.triu_indices(n, 1))
    same = codes[pairs[:, 0]] == codes[pairs[:, 1]]
    omega = np.where(same, 1.0, -1.0) / (n * k)
    return Comparisons(pairs, omega, np.flatnonzero(same), np.flatnonzero(~same))


def compare_weights(omega: Any, n: int) -> Comparisons:
    """Return the pairs with a weight of a symmetric matrix; zero is no comparison."""
    W = real_array(omega, "omega")
    if W.shape != (n, n):
        raise ValueError(f"omega must have shape ({n}, {n}), a row a histogram; got {W.shape}.")
    if float(np.abs(W - W.T).max(initial=0.0)) > 1e-8 * float(np.abs(W).max(initial=0.0)):
        raise ValueError("omega must be symmetric; it is not.")
    pairs = np.column_stack(np.triu_indices(n, 1))
    weights = W[pairs[:, 0], pairs[:, 1]]
    pairs, weights = pairs[weights != 0.0], weights[weights != 0.0]
    alike, unlike = np.flatnonzero(weights > 0.0), np.flatnonzero(weights < 0.0)
    if not alike.size or not unlike.size:
        raise ValueError(
            f"omega must have positive and negative entries; it has {alike.size} and {unlike.size} "
            "pairs of them."
        )
    return Comparisons(pairs, weights, alike, unlike)


def count_neighbors(values: Floats, pairs: Indices, k: int, ties: Floats) -> Indices:
    """Return how often each pair joins a histogram to one of its k nearest: 0, 1 or 2 times.

    A histogram with fewer than k partners has all of them. Equal values are ordered by `ties`.
    """
    n_pairs = len(pairs)
    # values that are equal but for rounding are: which comes first must not hang on the last bit
    top = float(np.abs(values).max(initial=0.0)) or 1.0
    anchors, both = pairs.T.ravel(), np.tile(np.round(values / top, 12), 2)
    order = np.lexsort((ties, both, anchors))
    sorted_anchors = anchors[order]
    starts = np.searchsorted(sorted_anchors, sorted_anchors)
    # N_ik± of Section 3.3, both ways round
    chosen = order[np.arange(2 * n_pairs) - starts < k] % max(n_pairs, 1)
    return np.bincount(chosen, minlength=n_pairs)  # twice where each is near the other


class Side:
    """One of the sums S_k^+ and S_k^-: its value and a supergradient at a metric (Algorithm 1).

    With `candidates`, only that many nearest partners of each histogram are computed; all of them
    every `REFRESH` evaluations.
    """

    def __init__(
        self,
        transports: Transports,
        rows: Indices,
        omega: Floats,
        k: int,
        ties: Floats,
        candidates: int | None = None,
    ) -> None:
        self.transports, self.rows, self.omega, self.k = transports, rows, omega[rows], k
        self.pairs = transports.pairs[rows]
        both = np.concatenate([rows, rows + len(transports.pairs)])
        self.ties = ties[both]
        self.candidates, self.kept, self.age = candidates, np.arange(len(rows)), 0

    def evaluate(self, M: Floats, *, everything: bool = False) -> tuple[float, Floats]:
        """Return Σ ω G over nearest neighbours, and its symmetric supergradient, diagonal zero."""
        all_of_them = everything or self.candidates is None or self.age % REFRESH == 0
        kept = np.arange(len(self.rows)) if all_of_them else self.kept
        self.age += 1
        values = self.transports.solve(M, self.rows[kept])  # z* of Algorithm 1
        ties = self.ties.reshape(2, -1)[:, kept].ravel()
        counts = count_neighbors(values, self.pairs[kept], self.k, ties)
        if self.candidates is not None and all_of_them:
            near = count_neighbors(values, self.pairs, max(self.candidates, self.k), ties)
            self.kept = np.flatnonzero(near)
        chosen = np.flatnonzero(counts)
        # ω once for each of the two that count the pair
        weights = counts[chosen] * self.omega[kept[chosen]]
        G = self.transports.plans(self.rows[kept[chosen]], weights)  # G of Algorithm 1
        G = 0.5 * (G + G.T)
        np.fill_diagonal(G, 0.0)
        return float(weights @ values[chosen]), G  # z of Algorithm 1, and γ as a symmetric matrix


@checked
def ground_metric_criterion(M, R, y, k=3):
    """Return C_k(M), Eq. (7), and a symmetric subgradient.

    Parameters
    ----------
    M : array-like of shape (d, d)
        Ground metric, or any symmetric cost with a zero diagonal and no negative entry.
    R : {array-like, sparse matrix} of shape (n, d)
        Histograms, one a row.
    y : array-like of shape (n,)
        Classes; pairs weigh 1/(nk) within one and -1/(nk) across.
    k : int, default=3
        Neighbours of each kind.

    Returns
    -------
    value : float
        C_k(M); the lower, the closer classes lie together. Values of two `k` do not compare.
    subgradient : ndarray of shape (d, d)
        g with ⟨g, M⟩ = C_k(M): the sum of the gradients of both parts of C_k where they are unique.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.metric import ground_metric_criterion
    >>> R = np.array([[0.9, 0.1, 0.0], [0.6, 0.4, 0.0], [0.0, 0.4, 0.6], [0.0, 0.1, 0.9]])
    >>> M = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    >>> value, g = ground_metric_criterion(M, R, [0, 0, 1, 1], k=1)
    >>> round(value, 6), round(float((g * M).sum()), 6)
    (-1.05, -1.05)
    """
    R = as_histograms(R, "R")
    M = as_ground_metric(M, R.shape[1])
    if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
        raise ValueError(f"k must be an int of at least 1; got {k!r}.")
    y = np.asarray(y)
    if y.shape != (len(R),):
        raise ValueError(f"y must have a label for each of the {len(R)} histograms; got {y.shape}.")
    _, codes = encode_classes(y)
    told = compare_labels(codes, int(k))
    layer = ExactTransports(R, R, told.pairs, shared=is_semimetric(M))
    ties = np.arange(2.0 * len(told.pairs))
    sides = [Side(layer, rows, told.omega, int(k), ties) for rows in (told.alike, told.unlike)]
    (up, g_up), (down, g_down) = (side.evaluate(M) for side in sides)
    return up + down, g_up + g_down  # Eq. (7)
