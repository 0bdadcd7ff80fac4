"""Low-rank models of the signs, W Hᵀ, by alternating least squares, L-BFGS or single links.

The objective is Σ loss(A_ij, (W Hᵀ)_ij) + α (|W|² + |H|²) over the known links, Eqs. (13), (14).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numba
import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.engine.spectral.low_rank_sparse import entries_of_product

LOSSES = ("squared", "sigmoid", "squared_hinge")
Report = Callable[[], bool]
_BLOCK = 4096  # rows that a thread solves at a time


STEEPER = 8.0  # the squared loss at a score of zero, 2, against the sigmoid's 1/4


class Factors(NamedTuple):
    """W (n, rank), H (n, rank), the objective after each sweep, and whether it settled."""

    W: Floats
    H: Floats
    losses: list[float]
    converged: bool


def loss_values(loss: str, signs: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """Return the losses of scores, Eqs. (13) and (15), and their derivatives.

    Parameters
    ----------
    loss : {"squared", "sigmoid", "squared_hinge"}
    signs, scores : ndarray

    Returns
    -------
    values, slopes : ndarray
    """
    if loss == "squared":
        off = scores - signs
        return off**2, 2.0 * off  # Eq. (13)
    margins = signs * scores
    if loss == "sigmoid":
        value = 1.0 / (1.0 + np.exp(np.clip(margins, -700.0, 700.0)))  # Eq. (15)
        return value, -signs * value * (1.0 - value)
    short = np.maximum(1.0 - margins, 0.0)
    return short**2, -2.0 * signs * short  # Eq. (15)


def objective(matrix: sp.csr_array, W: Floats, H: Floats, alpha: float, loss: str) -> float:
    """Return Σ loss + α (|W|² + |H|²)."""
    scores = entries_of_product(W, H, matrix).data
    values = loss_values(loss, matrix.data, scores)[0]
    return float(values.sum() + alpha * ((W**2).sum() + (H**2).sum()))  # Eq. (14)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _ridge_rows(indptr, indices, data, H, alpha, begin, end, G, b, W):
    """Solve min Σ (a_j - w·h_j)² + α |w|² for rows begin to end; return Σ (a_j - w·h_j)².

    The smaller of two systems is solved.
    """
    rank = H.shape[1]
    loss = 0.0
    for i in range(begin, end):
        first, last = indptr[i], indptr[i + 1]
        count = last - first
        few = count < rank
        size = count if few else rank
        for p in range(size):
            b[p] = 0.0
            for q in range(p + 1):
                G[p, q] = 0.0
            G[p, p] = alpha
        if few:  # (H Hᵀ + α I) c = a, w = Hᵀ c
            for p in range(count):
                b[p] = data[first + p]
                for q in range(p + 1):
                    for r in range(rank):
                        G[p, q] += H[indices[first + p], r] * H[indices[first + q], r]
        else:  # (Hᵀ H + α I) w = Hᵀ a, four links a pass: G is read and written once for all four
            fours = first + 4 * (count // 4)
            for entry in range(first, fours, 4):
                h0, h1 = H[indices[entry]], H[indices[entry + 1]]
                h2, h3 = H[indices[entry + 2]], H[indices[entry + 3]]
                a0, a1, a2, a3 = data[entry], data[entry + 1], data[entry + 2], data[entry + 3]
                for p in range(rank):
                    x0, x1, x2, x3 = h0[p], h1[p], h2[p], h3[p]
                    b[p] += a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
                    row = G[p]
                    for q in range(p + 1):
                        row[q] += x0 * h0[q] + x1 * h1[q] + x2 * h2[q] + x3 * h3[q]
            for entry in range(fours, last):
                h0, a0 = H[indices[entry]], data[entry]
                for p in range(rank):
                    x0 = h0[p]
                    b[p] += a0 * x0
                    row = G[p]
                    for q in range(p + 1):
                        row[q] += x0 * h0[q]
        for p in range(size):  # Cholesky, then both triangles
            for q in range(p + 1):
                total = G[p, q]
                for r in range(q):
                    total -= G[p, r] * G[q, r]
                G[p, q] = np.sqrt(total) if p == q else total / G[q, q]
            total = b[p]
            for r in range(p):
                total -= G[p, r] * b[r]
            b[p] = total / G[p, p]
        for p in range(size - 1, -1, -1):
            total = b[p]
            for r in range(p + 1, size):
                total -= G[r, p] * b[r]
            b[p] = total / G[p, p]
        for r in range(rank):
            if few:
                total = 0.0
                for p in range(count):
                    total += H[indices[first + p], r] * b[p]
                W[i, r] = total
            else:
                W[i, r] = b[r]
        for entry in range(first, last):
            j = indices[entry]
            off = data[entry]
            for r in range(rank):
                off -= W[i, r] * H[j, r]
            loss += off * off
    return loss


def ridge_rows(matrix: sp.csr_array, H: Floats, alpha: float) -> tuple[Floats, float]:
    """Return the W that is best for H, a ridge regression a row, and its Σ (A - W Hᵀ)².

    Rows are solved in blocks, by as many threads as numba may use; blocks do not depend on these.

    Parameters
    ----------
    matrix : csr_array of shape (n, m)
    H : ndarray of shape (m, rank)
    alpha : float

    Returns
    -------
    W : ndarray of shape (n, rank)
    loss : float
    """
    n, rank = matrix.shape[0], H.shape[1]
    W = np.empty((n, rank))
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    H = np.ascontiguousarray(H)

    def solve(begin: int) -> float:
        G, b = np.empty((rank, rank)), np.empty(rank)
        end = min(begin + _BLOCK, n)
        return _ridge_rows(indptr, indices, matrix.data, H, alpha, begin, end, G, b, W)

    starts = range(0, n, _BLOCK)
    threads = min(numba.get_num_threads(), len(starts))
    if threads < 2:
        return W, sum(map(solve, starts))
    with ThreadPoolExecutor(threads) as pool:
        return W, sum(pool.map(solve, starts))


def alternate(
    matrix: sp.csr_array, H: Floats, alpha: float, max_iter: int, tol: float, report: Report
) -> Factors:
    """Minimise Eq. (13) over W and H in turn; no sweep raises the objective.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
    H : ndarray of shape (n, rank)
        The start.
    alpha : float
    max_iter : int
        Sweeps.
    tol : float
        Relative fall of the objective below which to end.
    report : callable
        Is called after every sweep; whether to stop.

    Returns
    -------
    Factors
    """
    turned = sp.csr_array(matrix.T)
    losses: list[float] = []
    for _ in range(max_iter):
        W = ridge_rows(matrix, H, alpha)[0]
        H, loss = ridge_rows(turned, W, alpha)
        losses.append(loss + alpha * float((W**2).sum() + (H**2).sum()))
        if report() or (len(losses) > 1 and losses[-2] - losses[-1] <= tol * losses[-1]):
            return Factors(W, H, losses, True)
    return Factors(W, H, losses, False)


def quasi_newton(
    matrix: sp.csr_array,
    start: tuple[Floats, Floats],
    alpha: float,
    loss: str,
    max_iter: int,
    tol: float,
    report: Report,
) -> Factors:
    """Minimise Eq. (14) over W and H together by L-BFGS.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
    start : (W, H)
    alpha, loss, max_iter, tol, report
        As for `alternate`.

    Returns
    -------
    Factors
    """
    n, rank = start[0].shape
    losses: list[float] = []

    def value_and_slope(x: Floats) -> tuple[float, Floats]:
        W, H = x.reshape(2, n, rank)
        scores = entries_of_product(W, H, matrix)
        values, slopes = loss_values(loss, matrix.data, scores.data)
        G = sp.csr_array((slopes, matrix.indices, matrix.indptr), shape=matrix.shape)
        # its slopes in W and H
        down = np.stack([G @ H + 2.0 * alpha * W, G.T @ W + 2.0 * alpha * H])
        return float(values.sum() + alpha * (x**2).sum()), down.ravel()

    def seen(intermediate_result: Any) -> None:
        losses.append(float(intermediate_result.fun))
        if report():
            raise StopIteration

    x = np.concatenate([start[0].ravel(), start[1].ravel()])
    options = {"maxiter": max_iter, "ftol": tol * 1e-2, "gtol": 0.0, "maxfun": 20 * max_iter}
    found = minimize(
        value_and_slope, x, jac=True, method="L-BFGS-B", callback=seen, options=options
    )
    W, H = found.x.reshape(2, n, rank)
    return Factors(W, H, losses or [float(found.fun)], found.nit < max_iter)


@njit(cache=True, nogil=True)
def _one_pass(order, rows, columns, signs, shares, loss, alpha, step, W, H):
    rank = W.shape[1]
    for place in range(order.shape[0]):
        entry = order[place]
        i, j, a = rows[entry], columns[entry], signs[entry]
        score = 0.0
        for r in range(rank):
            score += W[i, r] * H[j, r]
        if loss == 0:
            slope = 2.0 * (score - a)
        elif loss == 1:
            value = 1.0 / (1.0 + np.exp(min(max(a * score, -700.0), 700.0)))
            slope = -a * value * (1.0 - value)
        else:
            slope = -2.0 * a * max(1.0 - a * score, 0.0)
        # the penalty of a row is shared by its links, so that a pass sees Eq. (14) once
        pull_w, pull_h = 2.0 * alpha * shares[0, i], 2.0 * alpha * shares[1, j]
        for r in range(rank):
            w, h = W[i, r], H[j, r]
            # with the 2 of the penalty's slope, which Section 4.4's step drops
            W[i, r] = w - step * (slope * h + pull_w * w)
            H[j, r] = h - step * (slope * w + pull_h * h)


def stochastic(
    matrix: sp.csr_array,
    start: tuple[Floats, Floats],
    alpha: float,
    loss: str,
    max_iter: int,
    tol: float,
    report: Report,
    rng: np.random.RandomState,
    step: float,
) -> Factors:
    """Minimise Eq. (14) link by link in random order, with steps that fall like 1/pass.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
    start : (W, H)
    alpha, loss, max_iter, tol, report
        As for `alternate`.
    rng : RandomState
        Order of the links.
    step : float
        The first step, of a slope as steep as the squared loss's; halved whenever a pass ends far
        above its start.

    Returns
    -------
    Factors
        The best pass.
    """
    W, H = start[0].copy(), start[1].copy()
    if loss == "sigmoid":
        step *= STEEPER
    links = matrix.tocoo()
    rows, columns = links.row.astype(np.int64), links.col.astype(np.int64)
    shares = np.stack(
        [1.0 / np.maximum(np.bincount(e, minlength=len(W)), 1) for e in (rows, columns)]
    )
    losses: list[float] = []
    best = (np.inf, *start)
    for sweep in range(max_iter):
        order = rng.permutation(rows.size)
        size = step / (1.0 + 0.1 * sweep)
        _one_pass(order, rows, columns, matrix.data, shares, LOSSES.index(loss), alpha, size, W, H)
        with np.errstate(over="ignore", invalid="ignore"):
            value = objective(matrix, W, H, alpha, loss)
        if not value <= 10.0 * (losses[0] if losses else np.inf):  # the steps were too long
            W, H, step = best[1].copy(), best[2].copy(), step / 2.0
            continue
        losses.append(value)
        if value < best[0]:
            best = (value, W.copy(), H.copy())
        if report() or (len(losses) > 5 and abs(losses[-6] - losses[-1]) <= tol * losses[-1]):
            return Factors(best[1], best[2], losses, True)
    return Factors(best[1], best[2], losses or [np.inf], False)


def _warmup() -> None:
    matrix = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    start = np.ones((2, 1))
    ridge_rows(matrix, start, 1.0)
    stochastic(
        matrix, (start, start), 1.0, LOSSES[0], 1, 0.0, lambda: False, np.random.RandomState(0), 0.1
    )
