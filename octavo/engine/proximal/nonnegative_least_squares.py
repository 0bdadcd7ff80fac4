"""Many non-negative least-squares problems that share their columns, by block pivoting.

Row i of the answer minimises ||x_i - w H||² over w ≥ 0. Only H Hᵀ and X Hᵀ are needed, so that X
may be sparse and is never copied. Each row is solved by block principal pivoting (Kim and Park
2011): guess which weights are positive, solve, exchange all that have the wrong sign.

``nonnegative_quadratic`` is the same for one problem with many unknowns: the systems are LAPACK's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dposv
from scipy.optimize import lsq_linear, nnls

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats

_DEPENDENT = 1e-12  # a pivot below this share of its diagonal is a column that others span
_ROUNDING = 1e-10  # signs are judged relative to the size of the problem times this


class NonnegativeFit(NamedTuple):
    """Weights, and by how much the conditions of optimality are violated at most.

    The violation is that of the gradient, relative to the largest entry of X Hᵀ: the gradient
    must be zero where a weight is positive, and not negative where it is zero.
    """

    weights: Floats
    violation: float


@njit(cache=True)
def _solve_passive(gram, target, passive, factor, x):
    """Solve gram x = target on the passive set, zero elsewhere; columns that others span get 0."""
    r = gram.shape[0]
    for i in range(r):
        x[i] = 0.0
        if not passive[i]:
            continue
        s = gram[i, i]
        for j in range(i):
            if passive[j]:
                v = gram[i, j]
                for k in range(j):
                    if passive[k]:
                        v -= factor[i, k] * factor[j, k]
                v /= factor[j, j]
                factor[i, j] = v
                s -= v * v
        if s <= _DEPENDENT * gram[i, i]:
            passive[i] = False
        else:
            factor[i, i] = np.sqrt(s)
    for i in range(r):
        if passive[i]:
            v = target[i]
            for k in range(i):
                if passive[k]:
                    v -= factor[i, k] * x[k]
            x[i] = v / factor[i, i]
    for i in range(r - 1, -1, -1):
        if passive[i]:
            v = x[i]
            for k in range(i + 1, r):
                if passive[k]:
                    v -= factor[k, i] * x[k]
            x[i] = v / factor[i, i]


@njit(cache=True)
def _pivot_rows(gram, targets, weights, solved):
    """Solve row by row in place, from the positive entries of `weights`; mark rows that did."""
    n, r = targets.shape
    x, slope = np.empty(r), np.empty(r)
    factor, passive = np.empty((r, r)), np.empty(r, dtype=np.bool_)
    wrong = np.empty(r, dtype=np.bool_)
    for row in range(n):
        scale = 0.0
        for i in range(r):
            passive[i] = weights[row, i] > 0.0
            scale = max(scale, abs(targets[row, i]))
        fewest, chances = r + 1, 3
        for _ in range(10 * r + 20):
            _solve_passive(gram, targets[row], passive, factor, x)
            n_wrong, last = 0, -1
            for i in range(r):
                slope[i] = -targets[row, i]
                for k in range(r):
                    slope[i] += gram[i, k] * x[k]
                wrong[i] = x[i] < 0.0 if passive[i] else slope[i] < -_ROUNDING * scale
                if wrong[i]:
                    n_wrong, last = n_wrong + 1, i
            if n_wrong == 0:
                solved[row] = True
                break
            if n_wrong < fewest:
                fewest, chances = n_wrong, 3
            else:
                chances -= 1
            for i in range(r):
                # With its chances spent, exchange only the last: that cannot cycle.
                if wrong[i] and (chances >= 0 or i == last):
                    passive[i] = not passive[i]
        for i in range(r):
            weights[row, i] = max(x[i], 0.0)


def _active_set_rows(gram: Floats, targets: Floats) -> Floats:
    """Solve the rows that pivoting left, by bounded variables on a root of the Gram matrix."""
    values, vectors = np.linalg.eigh(gram)
    used = values > values.max(initial=0.0) * len(gram) * np.finfo(float).eps
    root = np.sqrt(values[used, None]) * vectors[:, used].T
    sides = targets @ vectors[:, used] / np.sqrt(values[used])
    return np.array([_bounded(root, side) for side in sides])


def _bounded(root: Floats, side: Floats) -> Floats:
    """Return the better of two solvers' answers: with ties among columns either may stop early."""
    answers = [lsq_linear(root, side, (0.0, np.inf), method="bvls").x, nnls(root, side)[0]]
    return min(answers, key=lambda w: float(np.linalg.norm(root @ w - side)))


def nonnegative_least_squares(
    gram: Floats, targets: Floats, start: Floats | None = None
) -> NonnegativeFit:
    """Minimise ||x_i - w H||² over w ≥ 0 for every row i.

    Parameters
    ----------
    gram : ndarray of shape (r, r)
        H Hᵀ; may be singular.
    targets : ndarray of shape (n, r)
        X Hᵀ.
    start : ndarray of shape (n, r), optional
        Weights near the answer; only their signs are used.

    Returns
    -------
    NonnegativeFit
        The weights (n, r) with the violation that certifies them.
    """
    gram = np.ascontiguousarray(gram, dtype=np.float64)
    targets = np.ascontiguousarray(targets, dtype=np.float64)
    weights = np.ones_like(targets) if start is None else np.array(start, dtype=np.float64)
    solved = np.zeros(len(targets), dtype=bool)
    _pivot_rows(gram, targets, weights, solved)
    if not solved.all():
        weights[~solved] = _active_set_rows(gram, targets[~solved])
    scale = np.abs(targets).max(initial=0.0)
    slope = weights @ gram - targets
    bad = np.where(weights > 0, np.abs(slope), np.maximum(-slope, 0.0)).max(initial=0.0)
    return NonnegativeFit(weights, float(bad / scale) if scale > 0 else 0.0)


def nonnegative_quadratic(gram: Floats, target: Floats, *, max_rounds: int = 100) -> Floats:
    """Minimise ½ xᵀ gram x − target·x over x ≥ 0 for a positive definite matrix.

    Parameters
    ----------
    gram : ndarray of shape (r, r)
        A positive definite matrix; `numpy.linalg.LinAlgError` tells of one that is not.
    target : ndarray of shape (r,)
        The linear term.
    max_rounds : int, default=100
        Most exchanges. Where they do not suffice, which takes a matrix at the edge of being
        singular, the last guess is returned, its negative entries set to zero.

    Returns
    -------
    ndarray of shape (r,)
        The minimiser; entries at the bound are exactly zero.
    """
    r = len(target)
    x, free = np.zeros(r), np.ones(r, dtype=bool)
    slack = _ROUNDING * float(np.abs(target).max(initial=0.0))
    fewest, chances = r + 1, 3
    for _ in range(max_rounds):
        passive = np.flatnonzero(free)
        x = np.zeros(r)
        if passive.size:
            _, x[passive], info = dposv(gram[np.ix_(passive, passive)].T, target[passive], lower=1)
            if info:
                raise LinAlgError(f"Pivot {info} of a matrix is not positive.")
        wrong = np.where(free, x < 0.0, gram @ x - target < -slack)
        n_wrong = int(wrong.sum())
        if n_wrong == 0:
            break
        chances = 3 if n_wrong < fewest else chances - 1
        fewest = min(fewest, n_wrong)
        if chances < 0:  # exchange only the last: that cannot cycle
            wrong[: np.flatnonzero(wrong)[-1]] = False
        free ^= wrong
    return np.maximum(x, 0.0)


def _warmup() -> None:
    weights, solved = np.ones((1, 1)), np.zeros(1, dtype=bool)
    _pivot_rows(np.ones((1, 1)), np.ones((1, 1)), weights, solved)
