"""Quadratic programs in a box whose variables have a fixed sum in each of several groups.

    minimise  ½ β'Kβ   subject to  lower ≤ β ≤ upper  and  Σ_{i in g} β_i as it starts, for each g

Two groups are the dual of the ν-SVM, the points of two reduced convex hulls that lie nearest
(Crisp and Burges 2000); one group is a one-class machine. Pairs of one group are exchanged, the
group with the largest violation first, the partner by second-order information (Fan, Chen and Lin
2005).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.duals.smo import best_offset, kernel_product
from octavo.engine.estimators.arrays import Floats

_CHUNK = 20_000  # exchanges between two looks at progress and a fresh gradient


class GroupSums(NamedTuple):
    """The solution, K times it, an offset for each group, and certificates.

    ``offsets`` make (Kβ)_i - offset of i's group ≥ 0 where β_i could only fall and ≤ 0 where it
    could only rise; ``duality_gap`` bounds the distance to the optimum, in units of ½ β'Kβ.
    """

    beta: Floats
    product: Floats
    offsets: Floats
    objective: float
    duality_gap: float
    violation: float
    n_iter: int
    converged: bool


@njit(cache=True, nogil=True)
def _exchange_in_groups(K, beta, product, lower, upper, group, n_groups, flat, tol, max_iter):
    """Exchange pairs until no group violates by more than `tol`; return how many, and the rest."""
    n = beta.size
    least, most = np.empty(n_groups), np.empty(n_groups)
    where = np.empty(n_groups, np.int64)
    done = 0
    while True:
        for g in range(n_groups):
            least[g], most[g], where[g] = np.inf, -np.inf, -1
        for t in range(n):
            g = group[t]
            if beta[t] < upper[t] and product[t] < least[g]:
                least[g], where[g] = product[t], t
            if beta[t] > lower[t] and product[t] > most[g]:
                most[g] = product[t]
        violation, chosen = -np.inf, 0
        for g in range(n_groups):
            if most[g] - least[g] > violation:
                violation, chosen = most[g] - least[g], g
        if violation <= tol or done >= max_iter:
            return done, violation
        i, j, best = where[chosen], -1, -1.0
        for t in range(n):
            if group[t] == chosen and beta[t] > lower[t] and product[t] > product[i]:
                difference = product[t] - product[i]
                curvature = max(K[i, i] + K[t, t] - 2.0 * K[i, t], flat)
                gain = difference * difference / curvature
                if gain > best:
                    best, j = gain, t
        curvature = max(K[i, i] + K[j, j] - 2.0 * K[i, j], flat)
        step = min((product[j] - product[i]) / curvature, upper[i] - beta[i], beta[j] - lower[j])
        # a variable that is stopped by its bound is put exactly there
        beta[i] = upper[i] if step == upper[i] - beta[i] else beta[i] + step
        beta[j] = lower[j] if step == beta[j] - lower[j] else beta[j] - step
        for t in range(n):
            product[t] += step * (K[i, t] - K[j, t])
        done += 1


def solve_group_sums(
    K: Floats,
    lower: Floats,
    upper: Floats,
    group: NDArray[np.int64],
    beta: Floats,
    *,
    tol: float = 1e-6,
    max_iter: int = 10_000_000,
    report: Callable[[], bool] | None = None,
) -> GroupSums:
    """Minimise ½ β'Kβ in a box with the sums of groups kept.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Gram matrix.
    lower, upper : ndarray of shape (n,)
        Bounds; infinite ones are allowed.
    group : ndarray of shape (n,)
        Number of each variable's group, from 0.
    beta : ndarray of shape (n,)
        Where to start: within the bounds; it decides the sums.
    tol : float, default=1e-6
        Largest violation of the optimality conditions by a pair, relative to the largest entry of
        the start's product K β.
    max_iter : int, default=10_000_000
        Most exchanges of a pair.
    report : callable, default=None
        Called now and then; the solver stops where it returns True.

    Returns
    -------
    GroupSums
        The solution and its certificates.
    """
    K = np.ascontiguousarray(K, dtype=np.float64)
    beta, n_groups = np.array(beta, dtype=np.float64), int(group.max()) + 1
    if np.any(beta < lower) or np.any(beta > upper):
        raise ValueError("The start must lie between the bounds.")
    product = kernel_product(K, beta, beta.size)
    flat = 1e-12 * max(float(np.abs(K.diagonal()).max()), np.finfo(float).tiny)
    accepted = max(tol, 1e-14) * max(float(np.abs(product).max()), np.finfo(float).tiny)
    done, violation = 0, np.inf
    while violation > accepted and done < max_iter:
        count, violation = _exchange_in_groups(
            K, beta, product, lower, upper, group, n_groups, flat, accepted,
            min(_CHUNK, max_iter - done),
        )  # fmt: skip
        done += count
        product = kernel_product(K, beta, beta.size)
        if report is not None and report():
            break
    offsets, gap = np.empty(n_groups), 0.0
    for g in range(n_groups):
        mine = group == g
        # a sum in reach bounds every variable, which unbounded boxes need for their gap
        total = float(np.abs(beta[mine]).sum())
        low, high = np.maximum(lower[mine], -total), np.minimum(upper[mine], total)
        offset, part = best_offset(beta[mine], -product[mine], low, high)
        offsets[g], gap = -offset, gap + part
    value = 0.5 * float(beta @ product)
    reached = violation <= accepted
    return GroupSums(beta, product, offsets, value, gap, float(violation), done, bool(reached))


def _warmup() -> None:
    solve_group_sums(
        np.eye(4) + 1.0,
        np.array([0.0, 0.0, -1.0, -1.0]),
        np.array([1.0, 1.0, 0.0, 0.0]),
        np.array([0, 0, 1, 1]),
        np.array([0.5, 0.0, -0.5, 0.0]),
    )
