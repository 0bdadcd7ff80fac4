"""Walks between the nodes of a pair: their signs add up to a guess at the sign of its link.

Whether a link would leave fewer cycles unbalanced as friend or as foe is read off powers of the
matrix (Lemma 11): the score of a pair is Σ β^(t-1) (A^(t-1))_ij over lengths t of cycles. The
lemma counts walks that pass the link once, so that it is exact for t = 3 and 4 only; the score is
taken as the definition.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.network.signed.signs import undirected_signs

__all__ = ["signed_katz"]

ROWS = 512  # start nodes that walk together
DENSE_NODES = 3000
SWAP = np.array([[0.0, 1.0], [1.0, 0.0]])


def spectral_norm(matrix: sp.csr_array) -> float:
    """Return the largest absolute eigenvalue of a symmetric sparse matrix."""
    n = matrix.shape[0]
    if n <= 200:
        return float(np.abs(np.linalg.eigvalsh(matrix.toarray())).max())
    start = np.random.RandomState(0).standard_normal(n)
    try:
        return float(abs(eigsh(matrix, 1, which="LM", v0=start, return_eigenvectors=False)[0]))
    except ArpackNoConvergence:
        return float(abs(matrix).sum(axis=1).max())  # an upper bound


def check_beta(beta: float, norm: float) -> None:
    """Raise unless an endless sum of walks converges."""
    if not beta * norm < 1.0:
        raise ValueError(
            f"beta must be below 1/{norm:.6g}, one over the largest absolute eigenvalue of the "
            f"matrix, or the sum over walks diverges; got {beta:g}."
        )


@checked
def signed_katz(A: Any, beta: float) -> Floats:
    """Return the signed Katz measure of all pairs, ``(I - βA)⁻¹ - I - βA`` (Theorem 12).

    Parameters
    ----------
    A : graph
        A signed network.
    beta : float
        Discount of a step; below one over the largest absolute eigenvalue of A.

    Returns
    -------
    scores : ndarray of shape (n_nodes, n_nodes)
        Above zero where a positive link leaves more cycles balanced.

    Examples
    --------
    >>> from octavo.network import signed_katz
    >>> signed_katz([(0, 1, 1), (1, 2, -1)], 0.1).round(4)[0].tolist()
    [0.0102, 0.002, -0.0102]
    """
    matrix = undirected_signs(A)[0].matrix
    if not beta > 0.0:
        raise ValueError(f"beta must be positive; got {beta:g}.")
    check_beta(beta, spectral_norm(matrix))
    step = beta * matrix.toarray()
    eye = np.eye(matrix.shape[0])
    return np.linalg.inv(eye - step) - eye - step


def walk_scores(matrix: sp.csr_array, pairs: Indices, beta: float, order: float) -> Floats:
    """Return Σ_{t=3}^{order} β^(t-1) (B^(t-1))_ij, where B is the matrix without the pair's link.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        Symmetric, of 1 and -1.
    pairs : ndarray of shape (m, 2)
    beta : float
    order : int or inf

    Returns
    -------
    scores : ndarray of shape (m,)
    """
    if not len(pairs):
        return np.empty(0)
    if not np.isfinite(order):
        order = _terms(beta * spectral_norm(matrix))
    length = int(order) - 1
    nodes, places = np.unique(pairs, return_inverse=True)
    places = places.reshape(pairs.shape)
    diagonal = np.empty((length + 1, nodes.size))
    across = np.empty((length + 1, len(pairs)))
    by_start = np.argsort(places[:, 0], kind="stable")
    starts = places[by_start, 0]
    for first in range(0, nodes.size, ROWS):
        here = nodes[first : first + ROWS]
        asked = by_start[slice(*np.searchsorted(starts, [first, first + here.size]))]
        rows = np.zeros((here.size, matrix.shape[0]))
        rows[np.arange(here.size), here] = 1.0
        for k in range(length + 1):
            diagonal[k, first : first + here.size] = rows[np.arange(here.size), here]
            across[k, asked] = rows[places[asked, 0] - first, pairs[asked, 1]]
            if k < length:
                rows = beta * (matrix @ rows.T).T  # the matrix is its own transpose
    links = beta * np.asarray(matrix[pairs[:, 0], pairs[:, 1]]).ravel()
    blocks = np.empty((length + 1, len(pairs), 2, 2))
    blocks[:, :, 0, 0], blocks[:, :, 1, 1] = diagonal[:, places[:, 0]], diagonal[:, places[:, 1]]
    blocks[:, :, 0, 1] = blocks[:, :, 1, 0] = across
    return _without_link(blocks, links)[2:, :, 0, 1].sum(axis=0)  # Eq. (7) with β_t = β^(t−1)


def _terms(rate: float) -> int:
    """Return after how many steps a geometric sum has converged, and a cycle's length beside it."""
    if rate <= 0.0:
        return 3
    return 2 + max(int(np.ceil(np.log(1e-15) / np.log(rate))), 2)


def _without_link(blocks: Floats, links: Floats) -> Floats:
    """Return the 2x2 blocks of powers of B = A - a E from those of A, where E swaps i and j.

    A walk along A either never takes the link, or takes it first after s steps along B:
    A^k = B^k + a Σ_s B^s E A^(k-1-s).
    """
    known = np.flatnonzero(links)
    if not known.size:
        return blocks
    A, a = blocks[:, known], links[known, None, None]
    B = np.empty_like(A)
    turned = SWAP @ A
    for k in range(len(A)):
        B[k] = A[k]
        for s in range(k):
            B[k] -= a * (B[s] @ turned[k - 1 - s])
    blocks = blocks.copy()
    blocks[:, known] = B
    return blocks
