"""How many clusters eigenvalues and eigenvectors speak of (Theorem 7 and Remark 9)."""

from __future__ import annotations

import numpy as np

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.spectral.embedding import unit_rows

ROTATIONS = 50  # steps of the alignment, which is done after a few
AS_GOOD = 1e-3  # concentration below the best that still counts as the best


def count_near_one(values: Floats, n_components: int, eig_tol: float) -> int:
    """Return the number of eigenvalues that are 1 up to `eig_tol`, apart from the next.

    The components have the eigenvalue 1 exactly. Beyond them j clusters need 1 - λ_j <= eig_tol and
    a gap: 1 - λ_{j+1} is at least (1 - λ_j)/√eig_tol. Without the second condition every long
    cluster would count as several: modes of one that is much longer than h have 1 - λ as near zero
    as one likes, in the ratios 1 : 4 : 9 of a string's.

    Parameters
    ----------
    values : ndarray of shape (m,)
        Leading eigenvalues, from 1 down.
    n_components : int
        Of the graph.
    eig_tol : float
        Between 0 and 1.

    Returns
    -------
    int
        The number with the widest such gap; `n_components` without one.
    """
    away = np.maximum(1.0 - values, 0.0)
    best, count = 1.0 / np.sqrt(eig_tol) if eig_tol > 0.0 else np.inf, n_components
    for j in range(n_components + 1, len(values)):
        # a gap in 1 − λ, as Theorem 7 has λ_1, …, λ_ℓ → 1 and the others bounded away
        if away[j - 1] <= eig_tol and away[j] >= best * away[j - 1]:
            best, count = away[j] / max(away[j - 1], np.finfo(float).tiny), j
    return count


def count_by_eigengap(values: Floats, n_components: int) -> int:
    """Return the number of eigenvalues before the largest difference, at least the components."""
    if len(values) <= n_components:
        return n_components
    drops = values[n_components - 1 : -1] - values[n_components:]
    return n_components + int(np.argmax(drops))


def concentration(vectors: Floats) -> float:
    """Return how near the rows of eigenvectors come to the axes of some rotated frame.

    The quality of Zelnik-Manor and Perona (2004): 1 - (J/n - 1)/k with J the sum of
    z_ij² / max_j z_ij² over the rows z of the best rotated frame; 1 where every row lies on an
    axis. The frame is found by alternating axes of rows and rotations (Yu and Shi 2003).

    Parameters
    ----------
    vectors : ndarray of shape (n, k)
        Eigenvectors as columns.

    Returns
    -------
    float
        At most 1.
    """
    rows = unit_rows(vectors)
    n, k = rows.shape
    if k == 1:
        return 1.0
    rotation = _first_frame(rows)
    axes = np.full(n, -1)
    for _ in range(ROTATIONS):
        aligned = rows @ rotation
        chosen = np.argmax(np.abs(aligned), axis=1)
        if np.array_equal(chosen, axes):
            break
        axes = chosen
        signs = np.sign(aligned[np.arange(n), axes])
        target = np.zeros((n, k))
        target[np.arange(n), axes] = signs
        left, _, right = np.linalg.svd(rows.T @ target)
        rotation = left @ right  # Procrustes: the rotation nearest to one axis a row
    squares = (rows @ rotation) ** 2
    largest = squares.max(axis=1)
    # Zelnik-Manor and Perona's J
    cost = (squares.sum(axis=1)[largest > 0] / largest[largest > 0]).sum()
    return float(1.0 - (cost / max(1, int((largest > 0).sum())) - 1.0) / k)


def _first_frame(rows: Floats) -> Floats:
    """Return rows that are as orthogonal to each other as greed finds, made a rotation."""
    k = rows.shape[1]
    chosen = [int(np.argmax(np.linalg.norm(rows, axis=1)))]
    overlap = np.zeros(len(rows))
    for _ in range(k - 1):
        overlap += np.abs(rows @ rows[chosen[-1]])
        chosen.append(int(np.argmin(overlap + 10.0 * np.isin(np.arange(len(rows)), chosen))))
    left, _, right = np.linalg.svd(rows[chosen].T)
    return left @ right


def count_by_concentration(vectors: Floats, n_components: int) -> int:
    """Return the largest number of clusters of the best concentration, at least the components."""
    counts = np.arange(max(n_components, 1), vectors.shape[1] + 1)
    scores = np.array([concentration(vectors[:, :k]) for k in counts])
    if len(counts) > 1 and counts[0] == 1:
        counts, scores = counts[1:], scores[1:]  # one vector says nothing of concentration
    return int(counts[scores >= scores.max() - AS_GOOD].max())


def sizeable(components: Ints, least: int) -> np.ndarray:
    """Return the components of at least so many points, by number."""
    return np.flatnonzero(np.bincount(components) >= least)
