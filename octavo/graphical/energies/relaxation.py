"""The linear relaxation of an energy over the local polytope, by HiGHS, for small graphs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.graphical.energies.problem import PairwiseMRF

LARGEST_PROGRAM = 400_000  # pair variables that HiGHS solves in seconds, not hours


class RelaxedMRF(NamedTuple):
    """The optimum of the relaxation, its node marginals, and labels rounded from them."""

    value: float
    marginals: Floats
    labels: Indices


def solve_relaxation(mrf: PairwiseMRF) -> RelaxedMRF:
    """Return the optimum of the relaxation; its value is a lower bound of all energies.

    Parameters
    ----------
    mrf : PairwiseMRF
        At most 400,000 pairs of labels over all edges.

    Returns
    -------
    relaxed : RelaxedMRF
        Labels are given one after another, the most certain variable first, each the best for
        those that have one already and for the marginals of the others.
    """
    (n, h), m = mrf.costs.shape, len(mrf.edges)
    if m * h * h > LARGEST_PROGRAM:
        raise ValueError(
            f"method='lp' has {m * h * h} pairs of labels here, more than {LARGEST_PROGRAM}; take "
            "method='trws' for a bound."
        )
    scale = max(float(np.abs(mrf.costs).max()), float(mrf.weights.max(initial=0.0)), 1e-300)
    a, b = mrf.edges.T
    e, k = np.arange(m)[:, None, None], np.arange(h)
    pair = n * h + e * h * h + k[:, None] * h + k  # variable of (edge, label of a, label of b)
    first = (e * h + k[:, None]) + np.zeros_like(pair)  # row: Σ over labels of b
    second = m * h + (e * h + k) + np.zeros_like(pair)
    rows = [np.repeat(np.arange(n), h), first.ravel() + n, second.ravel() + n]
    columns = [np.arange(n * h), pair.ravel(), pair.ravel()]
    values = [np.ones(n * h), np.ones(m * h * h), np.ones(m * h * h)]
    for ends, shift in ((a, 0), (b, m * h)):
        rows.append(n + shift + np.arange(m * h))
        columns.append((ends[:, None] * h + k).ravel())
        values.append(-np.ones(m * h))
    matrix = sp.coo_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
        shape=(n + 2 * m * h, n * h + m * h * h),
    ).tocsr()
    # Σ_k x_a(k) = 1, and Σ_l x_ab(k, l) = x_a(k)
    target = np.concatenate([np.ones(n), np.zeros(2 * m * h)])
    cost = np.concatenate(
        [mrf.costs.ravel(), np.multiply.outer(mrf.weights, mrf.pair_costs).ravel()]
    )
    found = linprog(cost / scale, A_eq=matrix, b_eq=target, bounds=(0, None), method="highs")
    if found.x is None:
        raise ValueError(f"HiGHS found no optimum of the relaxation: {found.message}")
    marginals = found.x[: n * h].reshape(n, h)
    return RelaxedMRF(float(found.fun) * scale, marginals, _rounded(mrf, marginals))


def _rounded(mrf: PairwiseMRF, marginals: Floats) -> Indices:
    """Return labels, the surest variable first."""
    n = mrf.n_variables
    by: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    for (a, b), w in zip(mrf.edges.tolist(), mrf.weights.tolist()):
        by[a].append((b, w))
        by[b].append((a, w))
    share = marginals.copy()
    labels = np.zeros(n, dtype=np.intp)
    for a in np.argsort(-marginals.max(axis=1), kind="stable"):
        cost = mrf.unary[a].copy()
        for b, w in by[a]:
            cost += w * (mrf.pair_costs @ share[b])
        # expected cost of a label under its neighbours' shares; labels without a share are left out
        labels[a] = np.argmin(np.where(marginals[a] > 1e-6, cost, np.inf))
        share[a] = 0.0
        share[a, labels[a]] = 1.0
    return labels
