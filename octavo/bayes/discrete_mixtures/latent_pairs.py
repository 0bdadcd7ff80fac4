"""EM for pairs (document, word) with a hidden topic, on the stored entries of a sparse table.

§3.5.2: q(z | d, w) ∝ λ_z v_dz u_zw; then λ, v and u are sums of n(d, w) q. The notes' update
multiplies by n once more, with which the likelihood may fall; it is left out.

With a_dz = λ_z v_dz one pass computes p(d, w) = Σ_z a_dz u_zw and adds n/p times u to a document's
row and times a to a word's: the sums of q are these, times a and u, and q itself is never stored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats

TINY = 1e-300


class Aspects(NamedTuple):
    """P(z) (n_components,), P(d | z) (documents, components) and P(w | z) (words, components)."""

    weights: Floats
    docs: Floats
    words: Floats


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _pair_sums(indptr, indices, counts, a, u, doc_sums, word_sums):
    """Add n/p · u to documents and n/p · a to words; return Σ n log p."""
    total = 0.0
    n_topics = a.shape[1]
    for d in range(indptr.shape[0] - 1):
        mine, sums = a[d], doc_sums[d]
        for e in range(indptr[d], indptr[d + 1]):
            w = indices[e]
            theirs = u[w]
            p = 0.0
            for z in range(n_topics):
                p += mine[z] * theirs[z]
            p = max(p, 1e-300)  # p(d, w) = Σ_z λ_z v_dz u_zw
            total += counts[e] * np.log(p)
            ratio = counts[e] / p
            into = word_sums[w]
            for z in range(n_topics):
                # q is a u / p: a document's and a word's own factor come after the pass
                sums[z] += ratio * theirs[z]
                into[z] += ratio * mine[z]
    return total


@njit(cache=True, nogil=True)
def _tempered_sums(indptr, indices, counts, a, u, doc_sums, word_sums, beta):
    """Do the same with q ∝ (a u)^beta; sums are whole, and Σ n log p is of the untempered p."""
    total = 0.0
    n_topics = a.shape[1]
    q = np.empty(n_topics)
    for d in range(indptr.shape[0] - 1):
        for e in range(indptr[d], indptr[d + 1]):
            w = indices[e]
            p, norm = 0.0, 0.0
            for z in range(n_topics):
                joint = a[d, z] * u[w, z]
                p += joint
                q[z] = joint**beta  # tempered: q ∝ (λ v u)^β
                norm += q[z]
            total += counts[e] * np.log(max(p, 1e-300))
            share = counts[e] / max(norm, 1e-300)
            for z in range(n_topics):
                doc_sums[d, z] += share * q[z]
                word_sums[w, z] += share * q[z]
    return total


def expected_counts(X: Any, at: Aspects, beta: float = 1.0) -> tuple[float, Any]:
    """Return Σ n log p(d, w) and the expected counts of topics by document and by word.

    Parameters
    ----------
    X : csr matrix of shape (documents, words)
        Counts, each stored once, none negative.
    at : Aspects
        Where the E-step is done.
    beta : float, default=1.0
        Exponent of tempered EM.
    """
    a = at.docs * at.weights
    doc_sums, word_sums = np.zeros_like(a), np.zeros_like(at.words)
    if beta == 1.0:
        total = _pair_sums(X.indptr, X.indices, X.data, a, at.words, doc_sums, word_sums)
        doc_sums *= a  # λ_z v_dz Σ_w n/p u_zw = Σ_w n q
        word_sums *= at.words
    else:
        total = _tempered_sums(
            X.indptr, X.indices, X.data, a, at.words, doc_sums, word_sums, float(beta)
        )
    return float(total), (doc_sums, word_sums)


def maximize_aspects(_: Any, sums: Any) -> Aspects:
    """Return the M-step: expected counts, divided by their sums."""
    by_doc, by_word = sums
    mass = by_word.sum(axis=0)  # λ_z ∝ Σ n q
    docs = by_doc / np.maximum(by_doc.sum(axis=0), TINY)  # v_dz ∝ Σ_w n q
    words = by_word / np.maximum(mass, TINY)  # u_zw ∝ Σ_d n q
    empty = mass <= 0.0  # a topic that nothing needs stays a distribution
    docs[:, empty], words[:, empty] = 1.0 / len(docs), 1.0 / len(words)
    return Aspects(mass / mass.sum(), docs, words)


def fold_in(X: Any, words: Floats, start: Floats, *, max_iter: int, tol: float) -> Floats:
    """Return P(z | d) of documents with the words of topics kept: EM on the shares alone.

    Parameters
    ----------
    X : csr matrix of shape (documents, words)
        Counts.
    words : ndarray of shape (words, components)
        P(w | z).
    start : ndarray of shape (components,)
        Shares to begin with; kept for a document without words.
    max_iter, tol : int, float
        Most iterations; the rise, relatively, at which to stop.
    """
    shares = np.tile(start, (X.shape[0], 1))
    lengths = np.asarray(X.sum(axis=1)).ravel()
    some = lengths > 0.0
    unused, last = np.zeros_like(words), -np.inf
    for _ in range(max_iter):
        sums = np.zeros_like(shares)
        total = _pair_sums(X.indptr, X.indices, X.data, shares, words, sums, unused)
        shares[some] = (sums * shares)[some] / lengths[some, None]  # P(z | d) = Σ_w n q / n_d
        if total - last <= tol * abs(total):
            break
        last = total
    shares[some] /= np.maximum(shares[some].sum(axis=1, keepdims=True), TINY)
    return shares


def _warmup() -> None:
    import scipy.sparse as sp

    X = sp.csr_matrix(np.array([[1.0, 0.0], [2.0, 3.0]]))
    at = Aspects(np.full(2, 0.5), np.full((2, 2), 0.5), np.array([[0.3, 0.6], [0.7, 0.4]]))
    expected_counts(X, at)
    expected_counts(X, at, 0.5)
