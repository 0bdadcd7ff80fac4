"""Scikit-learn's perceptron, pass by pass over the nonzeros of dense rows.

`fit_perceptron` visits rows in the order of `sklearn.linear_model.Perceptron` and makes its steps,
so that the weights are the same; where most entries are zero, as pixels and one-hot labels are,
it takes a fraction of the time. Where most are not, scikit-learn's own loop is the faster one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import Perceptron
from sklearn.utils import check_random_state

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Ints

LARGEST = np.iinfo(np.int32).max  # of scikit-learn's seeds
WORTH_IT = 1_000_000  # entries read in all passes below which nothing is compiled


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _sum_at(w, indices, first, stop):
    """Return the sum of some weights, which are whole numbers: no order of adding differs."""
    total = 0.0
    for k in range(first, stop):
        total += w[indices[k]]
    return total


# fmt: off
@njit(cache=True, nogil=True, error_model="numpy")
def perceptron_passes(indptr, indices, data, codes, own, seed, n_passes, swap, order, following, w):
    """Go over all rows and correct the weights of one label against the others; return the offset.

    The same swaps shuffle the rows before every pass. ``swap``, ``order`` and ``following`` are
    room for as many numbers as there are rows; without ``data`` every entry is one.
    """
    n, mask, offset = codes.size, 0xFFFFFFFF, 0.0
    for i in range(n):
        swap[i] = order[i] = i
    state = seed if seed != 0 else 1
    for i in range(n - 1):
        state = (state ^ (state << 13)) & mask  # Marsaglia's xorshift of 32 bits
        state = state ^ (state >> 17)
        state = (state ^ (state << 5)) & mask
        j = i + (state & 0x7FFFFFFF) % (n - i)
        swap[i], swap[j] = swap[j], swap[i]
    for _ in range(n_passes):
        for i in range(n):
            following[i] = order[swap[i]]
        for i in range(n):
            row = order[i] = following[i]
            first, stop, score = indptr[row], indptr[row + 1], 0.0
            if data.size == 0:
                score = _sum_at(w, indices, first, stop)
            else:
                for k in range(first, stop):
                    score += w[indices[k]] * data[k]
            side = 1.0 if codes[row] == own else -1.0
            if side * (score + offset) <= 0.0:
                for k in range(first, stop):
                    w[indices[k]] += side * (data[k] if data.size else 1.0)
                offset += side
    return offset
# fmt: on


def fit_perceptron(X: Floats, codes: Ints, *, n_passes: int, seed: int) -> Perceptron:
    """Return a perceptron after so many passes, one label against the others.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Observations.
    codes : ndarray of shape (n_rows,)
        Labels, at least two of them.
    n_passes : int
        Passes over all rows.
    seed : int
        Orders of the rows.

    Returns
    -------
    model : sklearn.linear_model.Perceptron
        Fitted.
    """
    model = Perceptron(max_iter=n_passes, tol=None, random_state=seed)
    if X.size * n_passes < WORTH_IT or 2 * np.count_nonzero(X) > X.size:
        return model.fit(X, codes)
    rows, classes = _plain(sp.csr_array(X)), np.unique(codes)
    model.classes_, model.n_features_in_, model.n_iter_ = classes, X.shape[1], n_passes
    room = [np.empty(codes.size, np.int64) for _ in range(3)]
    told: list[tuple[Any, Any]] = [(classes[-1], seed)]
    if classes.size > 2:
        drawn = check_random_state(seed).randint(LARGEST, size=classes.size)
        told = list(zip(classes, drawn))
    model.coef_, model.intercept_ = np.zeros((len(told), X.shape[1])), np.zeros(len(told))
    for k, (own, drawn) in enumerate(told):
        rng = check_random_state(int(drawn))
        rng.randint(1, LARGEST)  # scikit-learn draws one for sampling, which it does not use
        order = int(rng.randint(LARGEST))
        model.intercept_[k] = perceptron_passes(
            *rows, codes, own, order, n_passes, *room, model.coef_[k]
        )
    return model


def _plain(rows: Any) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    data = rows.data[:0] if np.all(rows.data == 1.0) else rows.data
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int32), data


def _warmup() -> None:
    fit_perceptron(np.eye(1000), np.arange(1000) % 2, n_passes=1, seed=0)
