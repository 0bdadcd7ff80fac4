"""An averaged perceptron of several labels, over the nonzeros of rows.

A row for which another label scores as much as its own moves the weights of its own label towards
it and those of the other away from it. The answer is the mean of the weights over all visits: on
46,000 letters, whose labels no weights keep apart, the last weights get ten points fewer right.

Reference: M. Collins (2002), "Discriminative training methods for hidden Markov models", EMNLP:
Section 2.3 for the mean.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import Perceptron
from sklearn.utils import check_random_state

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Ints

WORTH_IT = 200_000  # entries times labels in all passes below which nothing is compiled


@njit(cache=True, nogil=True, error_model="numpy")
def perceptron_pass(order, indptr, indices, data, codes, w, drift, clock, scores):
    """Go once over rows; return how many were wrong.

    ``w`` has a row for each feature and one for the offset, a column for each label; ``w - drift /
    clock`` is its mean, where ``clock`` counts visits from 1. ``scores`` is room for the labels.
    """
    offset, n_labels, wrong = w.shape[0] - 1, w.shape[1], 0
    for row in order:
        first, stop, own = indptr[row], indptr[row + 1], codes[row]
        for a in range(n_labels):
            scores[a] = w[offset, a]
        for k in range(first, stop):
            for a in range(n_labels):
                scores[a] += data[k] * w[indices[k], a]
        best = 1 if own == 0 else 0
        for a in range(best + 1, n_labels):
            if a != own and scores[a] > scores[best]:
                best = a
        if scores[best] >= scores[own]:  # a tie is an error: it would fall either way in the mean
            wrong += 1
            for k in range(first, stop):
                w[indices[k], own] += data[k]
                w[indices[k], best] -= data[k]
                drift[indices[k], own] += clock * data[k]
                drift[indices[k], best] -= clock * data[k]
            w[offset, own] += 1.0
            w[offset, best] -= 1.0
            drift[offset, own] += clock
            drift[offset, best] -= clock
        clock += 1.0
    return wrong


def fit_perceptron(X: Floats, codes: Ints, *, n_passes: int, seed: int) -> Perceptron:
    """Return an averaged perceptron after so many passes.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Observations.
    codes : ndarray of shape (n_rows,)
        Labels, at least two of them.
    n_passes : int
        Passes over all rows; none is made after one without an error, which ends all change.
    seed : int
        Orders of the rows.

    Returns
    -------
    model : sklearn.linear_model.Perceptron
        Whose weights are these; scikit-learn's own learn one label against the others and are
        not averaged.
    """
    model = Perceptron(max_iter=n_passes, tol=None, random_state=seed)
    model.classes_, own = np.unique(codes, return_inverse=True)
    model.n_features_in_ = X.shape[1]
    rows, rng = sp.csr_array(X), check_random_state(seed)
    w, drift = np.zeros((2, X.shape[1] + 1, model.classes_.size))
    compiled = X.size * len(w.T) * n_passes >= WORTH_IT
    one_pass = perceptron_pass if compiled else perceptron_pass.py_func
    arrays = (rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data)
    clock, room = 1.0, np.empty(model.classes_.size)
    for model.n_iter_ in range(1, n_passes + 1):
        order = rng.permutation(len(X))
        wrong = one_pass(order, *arrays, own.astype(np.int64), w, drift, clock, room)
        clock += len(X)
        if not wrong:  # the passes that are left would change nothing but the count of visits
            clock = 1.0 + n_passes * len(X)
            break
    mean = (w - drift / clock).T  # Collins's average: each step counts from its visit to the last
    if len(mean) == 2:  # as scikit-learn has it: one row, positive for the second label
        mean = mean[1:] - mean[:1]
    model.coef_, model.intercept_ = np.ascontiguousarray(mean[:, :-1]), mean[:, -1].copy()
    return model


def _warmup() -> None:
    fit_perceptron(np.eye(1000), np.arange(1000) % 2, n_passes=1, seed=0)
