"""Draw observations and hidden states from a hidden Markov model of any form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from octavo.engine.chains.sequences import check_lengths
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.checked import checked
from octavo.sequence.hmm.emissions import cumulative
from octavo.sequence.hmm.params import as_hmm, draw_observations
from octavo.sequence.hmm.scores import checked_start, checked_trans, log_of_probabilities

__all__ = ["simulate_hmm"]


@njit(cache=True)
def _walk(start, trans, ptr, uniforms, states):
    """Fill states with a walk of each sequence; start and trans hold cumulative probabilities."""
    K = start.shape[0]
    for q in range(ptr.shape[0] - 1):
        for n in range(ptr[q], ptr[q + 1]):
            s = n - q - 1 if trans.shape[0] > 1 else 0
            j = 0
            if n == ptr[q]:
                # inverse of the cumulative probabilities
                while j < K - 1 and uniforms[n] >= start[j]:
                    j += 1
            else:
                while j < K - 1 and uniforms[n] >= trans[s, states[n - 1], j]:
                    j += 1
            states[n] = j


def generator(rng: Any) -> Any:
    """Return a source of randomness: a generator as it is, else one seeded with rng."""
    return rng if hasattr(rng, "uniform") else np.random.default_rng(rng)


@checked
def simulate_hmm(
    model: Any, lengths: int | ArrayLike, rng: Any = None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Draw sequences of observations and hidden states from a model.

    Parameters
    ----------
    model : HMMParams, or another form that `as_hmm` takes
        Such as a fitted hmmlearn model, a CountHMM, a mixture of HMMs, or a tuple (startprob,
        transmat, emission). Transitions may be (S, n_states, n_states), one matrix for every step
        of the stacked sequences.
    lengths : int or array-like of int
        Lengths of the sequences.
    rng : None, int, numpy Generator or RandomState
        Source of randomness.

    Returns
    -------
    X : ndarray of shape (sum(lengths),) or (sum(lengths), n_features)
        The observations, stacked.
    states : ndarray of shape (sum(lengths),)
        The hidden states.

    Examples
    --------
    >>> from octavo.sequence import simulate_hmm
    >>> coin = ([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.1, 0.9]])
    >>> X, states = simulate_hmm(coin, [4, 3], rng=0)
    >>> X
    array([1, 1, 1, 1, 0, 1, 0])
    >>> states
    array([1, 1, 0, 0, 1, 1, 1])
    """
    hmm, source = as_hmm(model), generator(rng)
    counts = np.atleast_1d(np.asarray(lengths))
    counts = check_lengths(counts, int(counts.sum()), name="lengths")
    K = hmm.n_states
    log_start = checked_start(log_of_probabilities(hmm.startprob, "startprob"), K)
    matrix = hmm.transmat.toarray() if sparse.issparse(hmm.transmat) else hmm.transmat
    log_trans = checked_trans(log_of_probabilities(matrix, "transmat"), K, counts)
    ptr = np.concatenate([[0], np.cumsum(counts)])
    states = np.empty(ptr[-1], dtype=np.int64)
    steps = cumulative(np.asarray(log_trans)).reshape(-1, K, K)
    _walk(cumulative(log_start), steps, ptr, source.uniform(size=ptr[-1]), states)
    return draw_observations(hmm, states, source), states


def _warmup() -> None:
    _walk(np.ones(1), np.ones((1, 1, 1)), np.array([0, 2]), np.zeros(2), np.empty(2, np.int64))
