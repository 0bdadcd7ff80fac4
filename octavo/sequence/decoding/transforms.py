"""Decoders that transform the forward and backward variables instead of minimising a risk.

The power transform runs from posterior decoding (μ = 1) to max-product (μ = ∞), and beyond
posterior decoding to geometric means (μ → 0); it is exact in logarithms for sequences of any
length. Brushe, Mahony and Moore's log-sum-exp hybrid is offered for comparison: as published it
underflows after a few dozen positions, and normalised it is another decoder.

Reference: J. Lember and A. A. Koloydenko (2014), "Bridging Viterbi and Posterior Decoding",
Journal of Machine Learning Research 15. Implemented: Section 6 (Eq. 49, 51-54) and Appendix D.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.chains.inference import Edges, log_partition
from octavo.engine.chains.kernels import edge_between, edge_degree
from octavo.engine.chains.sequences import locate
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.checked import checked
from octavo.sequence.hmm.scores import HMMScores, checked_hmm, require_possible

__all__ = ["TransformedVariables", "transformed_variables"]


class TransformedVariables(NamedTuple):
    """Forward and backward variables (T, K) of a transform, whose product a decoder maximises."""

    forward: Any
    backward: Any


@checked
def transformed_variables(
    log_start: ArrayLike,
    log_trans: Any,
    log_emission: Any,
    mu: float,
    *,
    transform: str = "power",
    lengths: ArrayLike | None = None,
) -> TransformedVariables:
    """Return the transformed forward and backward variables of every position and state.

    Parameters
    ----------
    log_start, log_trans, log_emission : array-like
        The model, as in `hmm_posteriors`.
    mu : float
        From 0 to infinity for "power", positive and finite for the others.
    transform : {"power", "brushe", "brushe-normalized"}, default="power"
        Eq. (52) and (53), (51), or (54).
    lengths : array-like of int, optional
        Lengths of stacked sequences.

    Returns
    -------
    variables : TransformedVariables
        Named tuple (forward, backward); logarithms for "power".

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.sequence import transformed_variables
    >>> start, trans = np.log([2 / 3, 1 / 3]), np.log([[0.95, 0.05], [0.1, 0.9]])
    >>> emission = np.log([[1 / 6, 0.1], [1 / 6, 0.5], [1 / 6, 0.5], [1 / 6, 0.1], [1 / 6, 0.1]])
    >>> transformed_variables(start, trans, emission, 7, transform="brushe").forward[1].round(6)
    array([0.010576, 0.009158])
    """
    scores = checked_hmm(log_start, log_trans, log_emission, lengths)
    found = variables_of(scores, mu, transform)
    return TransformedVariables(*(scores.unstack(part) for part in found))


def variables_of(scores: HMMScores, mu: float, transform: str) -> TransformedVariables:
    """Return the variables of checked scores, stacked."""
    if transform not in ("power", "brushe", "brushe-normalized"):
        raise ValueError(f"No transform is called {transform!r}.")
    power = transform == "power"
    if mu is None or not (mu >= 0 if power else 0 < mu < np.inf):
        wanted = "at least 0" if power else "positive and finite"
        raise ValueError(f"mu must be {wanted} for {transform!r}, got {mu}.")
    ptr = np.concatenate([[0], np.cumsum(scores.lengths)])
    forward, backward = np.empty(scores.emission.shape), np.empty(scores.emission.shape)
    trans: Any = scores.trans
    if isinstance(trans, Edges):
        trans = trans.indptr, trans.source, trans.score[None]
    else:
        trans = np.ascontiguousarray(trans.reshape(-1, *trans.shape[-2:]))
    if power:
        possible = np.empty(ptr.size - 1)
        _power(scores.start, trans, scores.emission, ptr, mu, forward, backward, possible)
        require_possible(scores, possible)
        return TransformedVariables(forward, backward)
    if isinstance(trans, tuple):
        raise ValueError(f"{transform!r} needs dense transitions.")
    normalise = transform == "brushe-normalized"
    model = np.exp(scores.start), np.exp(trans), np.exp(scores.emission)
    lost = _brushe(*model, ptr, float(mu), normalise, forward, backward)
    if lost >= 0:
        require_possible(
            scores, log_partition(scores.start, scores.trans, scores.emission, scores.lengths)
        )
        remedy = (
            "use 'power', which never does"
            if normalise
            else "use 'brushe-normalized' or 'power' for sequences this long"
        )
        raise ValueError(
            f"The variables of {transform!r} underflow at {locate(lost, scores.lengths)}; {remedy}."
        )
    return TransformedVariables(forward, backward)


@njit(cache=True)
def _power_mean(values, count, mu):
    """Return log [Σ exp(values)^μ]^{1/μ}, Eq. (45); its limits for μ = ∞, Eq. (47), and 0, (53).

    The first is the max, the second the mean over the support.
    """
    top, total, n = -np.inf, 0.0, 0
    for m in range(count):
        top = max(top, values[m])
    if top == -np.inf or mu == np.inf:
        return top
    for m in range(count):
        if values[m] > -np.inf:
            n += 1
            # Σ of logs, or of powers
            total += values[m] - top if mu == 0.0 else math.exp(mu * (values[m] - top))
    return top + (total / n if mu == 0.0 else math.log(total) / mu)


@njit(cache=True)
def _subtract_log_sum(rows, n):
    """Normalise row n, held in logarithms; return the log of what its entries added up to."""
    top, total = -np.inf, 0.0
    for j in range(rows.shape[1]):
        top = max(top, rows[n, j])
    if top == -np.inf:
        return top
    for j in range(rows.shape[1]):
        total += math.exp(rows[n, j] - top)
    top += math.log(total)
    for j in range(rows.shape[1]):
        rows[n, j] -= top
    return top


@njit(cache=True)
def _power_backward(trans, s, emission, n, mu, scale, values, fill, backward):
    """Fill the backward variables of row n from those of row n + 1: Eq. (52), last line."""
    K = backward.shape[1]
    fill[:] = 0
    for j in range(K):
        for m in range(edge_degree(trans, j)):
            i, score, _ = edge_between(trans, s, j, m)
            values[i, fill[i]] = score + emission[n + 1, j] + backward[n + 1, j]
            fill[i] += 1
    for i in range(K):
        backward[n, i] = _power_mean(values[i], fill[i], mu) - scale  # c_{t+1}(μ) of Eq. (52)


@njit(cache=True, nogil=True)
def _power(start, trans, emission, ptr, mu, forward, backward, possible):
    """Fill the logs of Eq. (52), or (53) for μ = 0; possible[q] = -inf where no path is."""
    N, K = emission.shape
    values, fill, scale = np.empty((K, K)), np.empty(K, np.int64), np.empty(N)
    for q in range(ptr.shape[0] - 1):
        possible[q] = 0.0
        for n in range(ptr[q], ptr[q + 1]):
            for i in range(K):
                if n == ptr[q]:
                    forward[n, i] = start[i] + emission[n, i]
                    continue
                degree = edge_degree(trans, i)
                for m in range(degree):
                    j, score, _ = edge_between(trans, _step(trans, n - q - 1), i, m)
                    values[i, m] = forward[n - 1, j] + score
                forward[n, i] = _power_mean(values[i], degree, mu) + emission[n, i]
            scale[n] = _subtract_log_sum(forward, n)  # c_t(μ), below Eq. (52)
            if scale[n] == -np.inf:
                possible[q] = -np.inf
                break
        if possible[q] == -np.inf:
            continue
        backward[ptr[q + 1] - 1] = 0.0  # β̃_T = 1
        for n in range(ptr[q + 1] - 2, ptr[q] - 1, -1):
            s = _step(trans, n - q)
            _power_backward(trans, s, emission, n, mu, scale[n + 1], values, fill, backward)


def _step(trans, step):
    """Return which matrix a step uses: 0 where they are all the same."""


@numba.extending.overload(_step)
def _step_either(trans, step):
    if isinstance(trans, numba.types.Array):
        return lambda trans, step: step if trans.shape[0] > 1 else 0
    return lambda trans, step: 0


@njit(cache=True)
def _log_mean_exp(z):
    """Return log of the mean of e^z, without losing the digits of small z."""
    top = z[0]
    for x in z:
        top = max(top, x)
    total = 0.0  # the largest outside, as nothing cancels
    if top > 1.0:
        for x in z:
            total += math.exp(x - top)
        return top + math.log(total / z.shape[0])
    for x in z:
        total += math.expm1(x)
    return math.log1p(total / z.shape[0])  # small z: log of the mean of 1 + expm1(z)


@njit(cache=True, nogil=True)
def _brushe(start, trans, density, ptr, mu, normalise, forward, backward):
    """Fill Eq. (51) or, normalised, (54); return the row where all underflow, or -1."""
    N, K = density.shape
    factor = (1.0 + (K - 1) * math.exp(-mu)) / mu  # Eq. (50)
    z, scale = np.empty(K), np.empty(N)
    for q in range(ptr.shape[0] - 1):
        for n in range(ptr[q], ptr[q + 1]):
            s = n - q - 1 if trans.shape[0] > 1 else 0
            for i in range(K):
                if n == ptr[q]:
                    forward[n, i] = start[i] * density[n, i]
                    continue
                for j in range(K):
                    z[j] = mu * forward[n - 1, j] * trans[s, j, i]
                forward[n, i] = _log_mean_exp(z) * density[n, i]  # Eq. (51), (54)
                if not normalise:
                    forward[n, i] *= factor
            scale[n] = 0.0
            for i in range(K):
                scale[n] += forward[n, i]
            if not scale[n] > 0.0:
                return n
            if normalise:
                for i in range(K):
                    forward[n, i] /= scale[n]
        backward[ptr[q + 1] - 1] = 1.0
        for n in range(ptr[q + 1] - 2, ptr[q] - 1, -1):
            s = n - q if trans.shape[0] > 1 else 0
            alive = False
            for i in range(K):
                for j in range(K):
                    z[j] = mu * trans[s, i, j] * density[n + 1, j] * backward[n + 1, j]
                backward[n, i] = _log_mean_exp(z)  # Eq. (51), (54), last lines
                backward[n, i] *= 1.0 / scale[n + 1] if normalise else factor
                alive = alive or backward[n, i] > 0.0
            if not alive:
                return n
    return -1


def _warmup() -> None:
    start, rows, ptr = np.zeros(2), np.zeros((2, 2)), np.array([0, 2])
    edges = np.array([0, 1, 2]), np.array([0, 1]), np.zeros((1, 2))
    for trans in (np.zeros((1, 2, 2)), edges):
        _power(start, trans, rows, ptr, 1.0, np.empty((2, 2)), np.empty((2, 2)), np.empty(1))
    ones = np.ones((1, 2, 2))
    _brushe(np.ones(2), ones, np.ones((2, 2)), ptr, 1.0, True, np.empty((2, 2)), np.empty((2, 2)))
