"""Label sets as signs and products of signs, in which scores over label pairs are short sums.

With s = 2y - 1, the four indicators of a pair of labels are sums of 1, s_i, s_j and s_i s_j. The
dual variables of a margin machine with pair features k(x, x') 1[u = u'] (thesis, Section 4.4.3)
enter its scores only through their moments of these parities, of which there are l + l(l - 1)/2
instead of four for each pair, and labels' own moments are shared by all the pairs they are in: F =
sum over f of weight_f G_f(x) s_f(y), with G = K D for the moments D of
`octavo.engine.duals.block_frank_wolfe`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices

ENUMERATED = 14  # up to so many labels all labellings are compared where nothing else is asked for


class LabelPairs(NamedTuple):
    """The pairs of labels, in the order of `numpy.triu_indices`.

    Attributes
    ----------
    n_labels : int
        Labels.
    first, second : ndarray of shape (n_pairs,)
        Of each pair.
    """

    n_labels: int
    first: Indices
    second: Indices


def label_pairs(n_labels: int) -> LabelPairs:
    """Return all pairs of labels."""
    return LabelPairs(n_labels, *np.triu_indices(n_labels, 1))


def parities(Y: np.ndarray, pairs: LabelPairs) -> np.ndarray:
    """Return the signs of labels and the products of their pairs, one row per label set, int8."""
    signs = (2 * np.asarray(Y, dtype=np.int8) - 1).astype(np.int8)
    return np.hstack([signs, signs[:, pairs.first] * signs[:, pairs.second]])


def parity_weights(edge_weights: Floats, pairs: LabelPairs, node_potentials: bool) -> Floats:
    """Return the weight of each parity in the kernel that the pairs' weights make.

    A pair's kernel is (s_i s_i' + s_j s_j' + s_i s_j s_i' s_j') k / 4 but for a constant that
    cancels in every difference of labellings, a label's own kernel s_i s_i' k / 2; a tree's kernel
    is the mean of what it has.
    """
    n = pairs.n_labels
    # 1 / (l - 1) normalises a tree's kernel; with potentials there are 2l - 1 parts
    parts = 2 * n - 1 if node_potentials else n - 1
    # 1[u = u'] = ¼ (1 + s_i s_i') (1 + s_j s_j'): a quarter a parity, the constant cancels
    nodes = 0.25 * np.bincount(pairs.first, edge_weights, n)
    nodes += 0.25 * np.bincount(pairs.second, edge_weights, n)
    if node_potentials:
        nodes = nodes + 0.5  # 1[y = y'] = ½ (1 + s s')
    return np.concatenate([nodes, 0.25 * edge_weights]) / parts


def edge_norms(squares: Floats, pairs: LabelPairs) -> Floats:
    """Return gamma_e of each pair from the squared norms of the parities' functions."""
    n = pairs.n_labels
    # γ_e of Section 4.4.3, by its three parities
    return 0.25 * (squares[pairs.first] + squares[pairs.second] + squares[n:])


@njit(cache=True, nogil=True)
def _low_table(row, first, second, n, low, totals, fields):
    """Write scores of the first labels when all others are off, and what each other adds.

    ``fields[i, b]`` is the sum over the first labels j of J_ij s_j(b), for the others i.
    """
    for b in range(1 << low):
        totals[b] = 0.0  # all others off: what they add comes by fields
        for i in range(n - low):
            fields[i, b] = 0.0
        for i in range(low):
            totals[b] += row[i] if (b >> i) & 1 else -row[i]
        for e in range(first.shape[0]):
            i, j, c = first[e], second[e], row[n + e]
            if i < low:
                value = c if (b >> i) & 1 else -c
                if j < low:
                    totals[b] += value if (b >> j) & 1 else -value
                else:
                    fields[j - low, b] += value
                    totals[b] -= value


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _add_and_max(totals, change, field):
    """Add a multiple of a field to the totals; return their maximum."""
    top = -np.inf
    for b in range(totals.shape[0]):
        totals[b] += change * field[b]
        top = max(top, totals[b])
    return top


@njit(cache=True, nogil=True)
def _best_of_all(coefficients, first, second, n, bonus, truth, labels):
    """Write the best labelling of each row; every labelling but `truth` gets the bonus.

    The scores of all settings of half of the labels stand in a table, which follows the other
    half through a Gray code: one label changes at a time, and the table by one multiple of a row.
    """
    low = (n + 1) // 2
    high, size = n - low, 1 << low
    totals, fields = np.empty(size), np.empty((max(high, 1), size))
    J = np.zeros((n, n))
    for k in range(coefficients.shape[0]):
        row = coefficients[k]
        _low_table(row, first, second, n, low, totals, fields)
        base = 0.0  # of the other labels alone
        for e in range(first.shape[0]):
            J[first[e], second[e]] = row[n + e]
            J[second[e], first[e]] = row[n + e]
        for i in range(low, n):
            base -= row[i]
            for j in range(low, i):
                base += J[i, j]
        best, best_code, gray = -np.inf, 0, 0
        for step in range(1 << high):
            if step:
                bit = 0
                while not (step >> bit) & 1:
                    bit += 1
                i = low + bit
                now = -1.0 if (gray >> bit) & 1 else 1.0
                gray ^= 1 << bit
                inner = row[i]  # next of the Gray code: one sign changes at a time
                for j in range(low, n):
                    if j != i:
                        inner += J[i, j] if (gray >> (j - low)) & 1 else -J[i, j]
                base += 2.0 * now * inner  # a sign that turns moves its terms by twice their size
                top = _add_and_max(totals, 2.0 * now, fields[bit])
            else:
                top = _add_and_max(totals, 0.0, fields[0])
            if base + top <= best:
                continue
            own = truth[k] & (size - 1) if bonus > 0.0 and truth[k] >> low == gray else -1
            for b in range(size):
                value = base + totals[b] - (bonus if b == own else 0.0)
                if value > best:
                    best, best_code = value, b + (gray << low)
        for i in range(n):
            labels[k, i] = (best_code >> i) & 1


def best_of_all(
    coefficients: Floats, pairs: LabelPairs, bonus: float = 0.0, truth: np.ndarray | None = None
) -> tuple[np.ndarray, Floats]:
    """Return the labelling with the largest score in each row, of all 2 ** n_labels.

    Parameters
    ----------
    coefficients : ndarray of shape (n_rows, n_parities)
        Of the parities in the score.
    pairs : LabelPairs
        Which pair has which column.
    bonus : float, default=0.0
        What every labelling but the true one gets.
    truth : ndarray of shape (n_rows, n_labels), default=None
        True label sets, for a bonus.

    Returns
    -------
    labels : ndarray of shape (n_rows, n_labels), int8
        0 and 1.
    values : ndarray of shape (n_rows,)
        Their scores with the bonus.
    """
    n, m = pairs.n_labels, len(coefficients)
    labels, codes = np.zeros((m, n), dtype=np.int8), np.zeros(m, dtype=np.int64)
    coefficients = np.ascontiguousarray(coefficients)
    if truth is not None:
        codes = np.asarray(truth, dtype=np.int64) @ (1 << np.arange(n, dtype=np.int64))
    _best_of_all(coefficients, pairs.first, pairs.second, n, bonus, codes, labels)
    values = np.einsum("kf,kf->k", coefficients, parities(labels, pairs))
    if truth is not None:
        values += bonus * (labels != truth).any(axis=1)
    return labels, values


def _warmup() -> None:
    pairs = label_pairs(2)
    best_of_all(np.ones((1, 3)), pairs)
