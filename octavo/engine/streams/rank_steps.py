"""Learning to rank by steps on sparse differences: passive-aggressive, slack-scaled, perceptron.

A ranking example says that one thing should cost less than another: w·d > 0 for the difference d
of their features (worse less better), by a margin that grows with the gap between their losses.
`learn_ranks` goes over rows of a CSR matrix; compiled learners that make their differences on the
fly call `ranked_step` themselves. Weights are averaged lazily: a step costs the nonzeros of d.

Reference
---------
K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer. Online passive-aggressive
algorithms. Journal of Machine Learning Research 7, 2006: PA, Eq. (51) for the margin √Δ.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats

RULES = {"pa": 0, "pa-slack": 1, "perceptron": 2}
_JIT: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_JIT)
def violation(advantage, gap, rule):
    """Return by how much w·d misses its margin: √Δ, 1 or 0 (positive: a ranking error)."""
    if rule == 0:
        return math.sqrt(gap) - advantage
    if rule == 1:
        return 1.0 - advantage
    # A tie is an error: it is given the smallest violation there is.
    return -advantage if advantage < 0.0 else (1e-300 if advantage == 0.0 else -advantage)


@njit(**_JIT)
def ranked_step(weights, drift, clock, indices, values, n, scratch, gap, rule, most):
    """Step along one difference if its margin is missed; return the step's length (0: none).

    The first ``n`` of ``indices`` and ``values`` are the difference; an index may occur again,
    and ``values`` is overwritten. ``scratch`` is zero, as long as ``weights``, and left zero.
    A passive-aggressive step is at most ``most`` long (PA-I). ``weights - drift / clock`` is the
    mean of the weights after ``clock`` examples.
    """
    for k in range(n):
        scratch[indices[k]] += values[k]
    advantage, norm = 0.0, 0.0
    for k in range(n):
        value = scratch[indices[k]]  # a repeated index is met once
        scratch[indices[k]] = 0.0
        values[k] = value
        norm += value * value
        advantage += weights[indices[k]] * value
    missed = violation(advantage, gap, rule)
    if missed <= 0.0 or norm <= 0.0:
        return 0.0
    step = 1.0
    if rule == 0:
        step = min(most, missed / norm)
    elif rule == 1:
        step = min(most * gap, missed / norm)  # errors weigh their gaps
    for k in range(n):
        weights[indices[k]] += step * values[k]
        # The step is missing from the first `clock` iterates
        drift[indices[k]] += clock * step * values[k]
    return step


@njit(**_JIT)
def rank_pass(indptr, indices, values, gaps, order, weights, drift, clock, scratch, rule, most):
    """Go once over difference rows in the given order; return clock and number of steps."""
    longest = 0
    for i in range(gaps.size):
        longest = max(longest, indptr[i + 1] - indptr[i])
    row, buffer = np.empty(longest, np.int64), np.empty(longest)
    steps = 0
    for i in order:
        n = indptr[i + 1] - indptr[i]
        for k in range(n):
            row[k] = indices[indptr[i] + k]
            buffer[k] = values[indptr[i] + k]
        steps += (
            ranked_step(weights, drift, clock, row, buffer, n, scratch, gaps[i], rule, most) > 0.0
        )
        clock += 1.0
    return clock, steps


def learn_ranks(
    differences: Any,
    gaps: ArrayLike,
    *,
    n_epochs: int = 50,
    rule: str = "pa",
    aggressiveness: float = math.inf,
    average: bool = True,
    random_state: Any = None,
) -> Floats:
    """Return weights that give every difference row a positive product, if any do.

    Parameters
    ----------
    differences : array-like or sparse matrix of shape (n_examples, n_features)
        Features of the worse thing less those of the better one.
    gaps : array-like of shape (n_examples,)
        Loss of the worse thing less that of the better one; rows whose gap is not positive, and
        rows of zeros, say nothing and are left out.
    n_epochs : int, default=50
        Passes over the rows, each in a new random order.
    rule : {"pa", "pa-slack", "perceptron"}, default="pa"
        Margin √gap; margin 1 with steps of at most ``aggressiveness`` times the gap; no margin.
    aggressiveness : float, default=inf
        Longest step of the passive-aggressive rules: small values forgive noisy examples.
    average : bool, default=True
        Whether to return the mean of the weights instead of the last ones.
    random_state : int, RandomState instance or None, default=None
        Order of the rows.

    Returns
    -------
    weights : ndarray of shape (n_features,)
        Larger products mean worse.

    Examples
    --------
    >>> from octavo.engine.streams.rank_steps import learn_ranks
    >>> learn_ranks([[3.0, 4.0]], [4.0], average=False).tolist()
    [0.24, 0.32]
    """
    from sklearn.utils import check_random_state

    rows = sp.csr_array(differences, dtype=np.float64)
    rows.sum_duplicates()
    gap = np.asarray(gaps, dtype=np.float64)
    if gap.shape != (rows.shape[0],) or not np.isfinite(gap).all():
        raise ValueError(f"gaps must be {rows.shape[0]} finite numbers, one per row.")
    if rule not in RULES:
        raise ValueError(f"rule must be one of {sorted(RULES)}, got {rule!r}.")
    useful = np.flatnonzero(gap > 0)
    rng = check_random_state(random_state)
    weights, drift, scratch = (np.zeros(rows.shape[1]) for _ in range(3))
    clock = 1.0
    for _ in range(n_epochs):
        clock, steps = rank_pass(
            rows.indptr.astype(np.int64),
            rows.indices.astype(np.int64),
            rows.data,
            gap,
            rng.permutation(useful),
            weights,
            drift,
            clock,
            scratch,
            RULES[rule],
            float(aggressiveness),
        )
        if steps == 0:
            break
    return weights - drift / clock if average else weights


def _warmup() -> None:
    learn_ranks(sp.csr_array(np.array([[1.0, -1.0]])), [1.0], n_epochs=1, random_state=0)
