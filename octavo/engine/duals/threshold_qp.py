"""Machines whose rows are compared with thresholds: an interior point that costs O(n d²) a step.

    min  ½‖w‖² + C Σ_t loss(e_t)
    s.t. u_t + e_t - v_low(t) ≥ lower_t,   v_high(t) + upper_t - u_t - e_t ≥ 0,   v_k ≤ v_{k+1}

with u_t = w·φ_row(t). Each term has a threshold below it, above it, or both; several terms may
speak of one row. Ranking, censored survival and ordinal machines are of this form: a chain of
pairs needs no more, because "i later than j" is "i above v above j". The loss is |e|, ½e², or
none (C infinite: e = 0).

Newton's equations are eliminated term by term first (a diagonal), then the thresholds (a band,
tridiagonal for chains), which leaves a system in w. Predictor and corrector share it
(S. Mehrotra 1992, "On the implementation of a primal-dual interior point method"; J. Gondzio
1996, "Multiple centrality corrections in a primal-dual method for linear programming").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve, cho_solve_banded, cholesky_banded
from scipy.sparse.linalg import splu

from octavo.engine.estimators.arrays import Floats, Indices

TO_BOUNDARY = 0.995  # share of the way to the boundary that a step may go
CORRECTORS = 3  # directions beyond Mehrotra's that share a factorisation
REFINEMENTS = 2
BAND = 16  # widest band of thresholds that is factorised as a band
DENSE = 1500  # thresholds up to which any other pattern is factorised as a dense matrix


class ThresholdProblem(NamedTuple):
    """Terms of a threshold machine; `low` and `high` are -1 where there is no threshold."""

    features: Floats  # of the rows, one feature map φ a row
    rows: Indices  # the row of each term
    low: Indices
    lower: Floats
    high: Indices
    upper: Floats
    n_thresholds: int
    chain: bool = False  # whether v is held non-decreasing


class ThresholdFit(NamedTuple):
    """The solution with its certificate; `q` is the multiplier of each term, w = Σ q_t φ."""

    w: Floats
    v: Floats
    q: Floats
    errors: Floats
    objective: float
    duality_gap: float
    infeasibility: float
    n_iter: int
    converged: bool
    reason: str


class _Band:
    """Solves with the symmetric positive matrix of the thresholds, whatever its pattern."""

    def __init__(self, problem: ThresholdProblem) -> None:
        self.K = problem.n_thresholds
        both = (problem.low >= 0) & (problem.high >= 0)
        apart = np.abs(problem.low[both] - problem.high[both])
        self.width = max(int(apart.max(initial=0)), int(problem.chain and self.K > 1))
        self.terms = np.flatnonzero(both)
        self.first = np.minimum(problem.low[both], problem.high[both])
        self.apart = apart

    def factorize(self, diagonal: Floats, off: Floats, links: Floats | None) -> None:
        """Take the diagonal, minus `off` between the two thresholds of a term, minus `links`."""
        K = self.K
        jitter = 1e-14 * float(diagonal.max(initial=1.0))
        if self.width <= BAND:
            bands = np.zeros((self.width + 1, K))
            bands[0] = diagonal + jitter
            cells = self.apart * K + self.first
            bands -= np.bincount(cells, off[self.terms], (self.width + 1) * K).reshape(bands.shape)
            if links is not None and K > 1:
                bands[1, :-1] -= links
            self._factor: Any = cholesky_banded(bands, lower=True, check_finite=False)
            self._solve: Callable[[Floats], Floats] = lambda b: cho_solve_banded(
                (self._factor, True), b, check_finite=False
            )
            return
        i, j, x = self.first, self.first + self.apart, -off[self.terms]
        if links is not None:
            k = np.arange(K - 1)
            i, j, x = np.r_[i, k], np.r_[j, k + 1], np.r_[x, -links]
        A = sp.csc_matrix((np.r_[x, x], (np.r_[i, j], np.r_[j, i])), (K, K))
        A = A + sp.diags(diagonal + jitter)
        if K <= DENSE:
            self._factor = cho_factor(A.toarray(), lower=True, check_finite=False)
            self._solve = lambda b: cho_solve(self._factor, b, check_finite=False)
        else:
            self._factor = splu(A.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0)
            self._solve = self._factor.solve

    def solve(self, b: Floats) -> Floats:
        return self._solve(b)


class _Point(NamedTuple):
    """Primal and dual variables of one iterate, or a direction in them."""

    w: Floats
    v: Floats
    a: Floats  # u + e
    plus: Floats  # e = plus - minus, for absolute errors
    minus: Floats
    alpha: Floats  # multipliers of the thresholds below, above, and of the chain
    beta: Floats
    nu: Floats
    s_low: Floats
    s_high: Floats
    s_chain: Floats
    free_plus: Floats  # C - q, C + q
    free_minus: Floats


def _moved(x: _Point, d: _Point, step: float) -> _Point:
    return _Point(*(a + step * b for a, b in zip(x, d)))


class _Machine:
    """Newton's equations of one problem."""

    def __init__(self, problem: ThresholdProblem, C: float, loss: str) -> None:
        self.p, self.C = problem, C
        self.kind = "none" if np.isinf(C) else loss
        self.has_low, self.has_high = problem.low >= 0, problem.high >= 0
        self.low, self.high = np.maximum(problem.low, 0), np.maximum(problem.high, 0)
        self.n_rows, self.d = problem.features.shape
        self.K, self.n = problem.n_thresholds, len(problem.rows)
        self.band = _Band(problem)
        self.links = self.K - 1 if problem.chain else 0
        self.pairs = [("alpha", "s_low"), ("beta", "s_high"), ("nu", "s_chain")]
        if self.kind == "l1":
            self.pairs += [("plus", "free_plus"), ("minus", "free_minus")]
        n_pairs = int(self.has_low.sum() + self.has_high.sum()) + self.links
        self.n_complementary = n_pairs + (2 * self.n if self.kind == "l1" else 0)

    def at_thresholds(self, below: Floats, above: Floats) -> Floats:
        total = np.bincount(self.low, below, self.K) + np.bincount(self.high, above, self.K)
        return total.astype(np.float64, copy=False)

    def by_rows(self, q: Floats) -> Floats:
        return self.p.features.T @ np.bincount(self.p.rows, q, self.n_rows)

    def utilities(self, w: Floats) -> Floats:
        return (self.p.features @ w)[self.p.rows]

    def start(self) -> _Point:
        """Return an interior point: w = 0, rising thresholds, terms in the middle between them."""
        p, n, both = self.p, self.n, self.kind == "l1"
        offsets = np.r_[p.lower[self.has_low], p.upper[self.has_high]]
        scale = max(float(np.ptp(offsets)), 1e-3 * float(np.abs(offsets).max()), 1e-12)
        size = self.C if np.isfinite(self.C) else 1.0
        size *= scale if self.kind == "l2" else 1.0
        v: Any = np.arange(self.K) * (scale / self.K)
        floor = np.where(self.has_low, v[self.low] + p.lower, -np.inf)
        ceiling = np.where(self.has_high, v[self.high] + p.upper, np.inf)
        near = 0.5 * scale / self.K
        a = np.where(self.has_low, floor + near, np.where(self.has_high, ceiling - near, 0.0))
        two = self.has_low & self.has_high
        a[two] = 0.5 * (floor + ceiling)[two]
        alpha: Any = 0.5 * size * self.has_low
        beta: Any = 0.5 * size * self.has_high
        w, e = np.zeros(self.d), a.copy()
        s_low = np.where(self.has_low, np.maximum(a - floor, near), 1.0)
        s_high = np.where(self.has_high, np.maximum(ceiling - a, near), 1.0)
        q, one = alpha - beta, np.full(n, scale) if both else np.zeros(n)
        return _Point(
            w, v, a, one + np.maximum(e, 0) * both, one + np.maximum(-e, 0) * both,
            alpha, beta, np.full(self.links, size),
            s_low, s_high, np.full(self.links, scale / self.K),
            self.C - q if both else np.ones(n), self.C + q if both else np.ones(n),
        )  # fmt: skip

    def residuals(self, x: _Point) -> tuple[Floats, ...]:
        p = self.p
        below = self.has_low * (x.a - x.v[self.low] - p.lower - x.s_low)
        above = self.has_high * (x.v[self.high] + p.upper - x.a - x.s_high)
        chain = np.diff(x.v) - x.s_chain if self.links else np.empty(0)
        balance = self.flow(x.alpha, x.beta, x.nu)
        q = x.alpha - x.beta
        slip = x.plus - x.minus if self.kind == "l1" else q / self.C  # what e should be
        slip = slip - (x.a - self.utilities(x.w))
        return below, above, chain, balance, self.by_rows(q) - x.w, slip

    def mu(self, x: _Point) -> float:
        """Return the mean product."""
        return sum(float(product.sum()) for product in self.products(x)) / self.n_complementary

    def prepare(self, x: _Point) -> None:
        """Eliminate the terms and the thresholds."""
        self.H1, self.H2 = x.alpha / x.s_low, x.beta / x.s_high
        self.H3 = x.nu / x.s_chain
        if self.kind == "l1":
            self.theta = x.plus / x.free_plus + x.minus / x.free_minus
        else:
            self.theta = np.full(self.n, 1.0 / self.C if self.kind == "l2" else 0.0)
        H, theta = self.H1 + self.H2, self.theta
        self.F = 1.0 / (1.0 + theta * H)
        diagonal = self.at_thresholds(
            self.H1 * self.F * (1.0 + theta * self.H2), self.H2 * self.F * (1.0 + theta * self.H1)
        )
        if self.links:
            diagonal[1:] += self.H3
            diagonal[:-1] += self.H3
        cross = theta * self.F * self.H1 * self.H2
        self.band.factorize(diagonal, cross, self.H3 if self.links else None)
        rows = np.r_[self.low, self.high]
        weights = np.r_[self.H1 * self.F, self.H2 * self.F]
        M = sp.csr_matrix((weights, (rows, np.r_[self.p.rows, self.p.rows])), (self.K, self.n_rows))
        self.G = M @ self.p.features
        self.TG = self.band.solve(self.G)
        bend = np.bincount(self.p.rows, H * self.F, self.n_rows)
        features = self.p.features
        A = features.T @ (bend[:, None] * features) - self.G.T @ self.TG
        A[np.diag_indices_from(A)] += 1.0
        self.A = cho_factor(0.5 * (A + A.T), check_finite=False)

    def products(self, x: _Point) -> list[Floats]:
        """Return what must vanish: multipliers times slacks, of every kind of constraint."""
        return [getattr(x, one) * getattr(x, other) for one, other in self.pairs]

    def direction(self, x: _Point, targets: list[Floats], res: Any) -> _Point:
        """Return Newton's direction that changes the products of pairs by the targets."""
        below, above, chain, balance, missing, slip = res
        h1 = self.has_low * (targets[0] / x.s_low - self.H1 * below)
        h2 = self.has_high * (targets[1] / x.s_high - self.H2 * above)
        h3 = targets[2] / x.s_chain - self.H3 * chain
        kappa = slip
        if self.kind == "l1":
            t_plus, t_minus = targets[3] / x.free_plus, targets[4] / x.free_minus
            kappa = slip + t_plus - t_minus
        solved = self.eliminated(h1, h2, h3, kappa, balance, missing)
        # The system in w cancels what active thresholds share; what it lost is solved for again.
        none = np.zeros(self.n)
        for _ in range(REFINEMENTS):
            dw, dv, _, _, dq, d_alpha, d_beta, d_nu = solved
            left = balance + self.flow(d_alpha, d_beta, d_nu)
            lost = missing + self.by_rows(dq) - dw
            more = self.eliminated(none, none, np.zeros(self.links), none, left, lost)
            solved = tuple(one + other for one, other in zip(solved, more))
        dw, dv, du, da, dq, d_alpha, d_beta, d_nu = solved
        zero = np.zeros(self.n)
        if self.kind == "l1":
            # The larger part follows from e = a - u; its own equation divides by a vanishing C - q.
            d_plus = t_plus + x.plus / x.free_plus * dq
            d_minus = t_minus - x.minus / x.free_minus * dq
            change = da - du - slip
            up = x.plus > x.minus
            d_plus, d_minus = (
                np.where(up, change + d_minus, d_plus),
                np.where(up, d_minus, d_plus - change),
            )
        return _Point(
            dw, dv, da,
            d_plus if self.kind == "l1" else zero, d_minus if self.kind == "l1" else zero,
            d_alpha, d_beta, d_nu,
            self.has_low * (da - dv[self.low] + below),
            self.has_high * (dv[self.high] - da + above),
            np.diff(dv) + chain if self.links else chain,
            -dq if self.kind == "l1" else zero, dq if self.kind == "l1" else zero,
        )  # fmt: skip

    def eliminated(
        self, h1: Floats, h2: Floats, h3: Floats, kappa: Floats, balance: Floats, missing: Floats
    ) -> tuple[Floats, ...]:
        """Return the changes of w, v, u, a, q and of the three multipliers."""
        H, F = self.H1 + self.H2, self.F
        y0 = F * (kappa + self.theta * (h1 - h2))
        c = self.at_thresholds(self.H1 * y0 - h1, self.H2 * y0 + h2) - balance
        if self.links:
            c[1:] += h3
            c[:-1] -= h3
        b = missing + self.by_rows(F * (h1 - h2 - H * kappa))
        dw = cho_solve(self.A, b + self.TG.T @ c, check_finite=False)
        dv = self.band.solve(c) + self.TG @ dw
        du = self.utilities(dw)
        both = self.H1 * dv[self.low] + self.H2 * dv[self.high]
        da = y0 + F * (du + self.theta * both)
        d_alpha = h1 - self.H1 * (da - dv[self.low])
        d_beta = h2 - self.H2 * (dv[self.high] - da)
        # q may be within rounding of C: its change is not taken from a difference of multipliers.
        dq = F * (h1 - h2 - H * (kappa + du) + both)
        first = self.H1 >= self.H2
        d_alpha, d_beta = (
            np.where(first, d_beta + dq, d_alpha),
            np.where(first, d_beta, d_alpha - dq),
        )
        d_nu = h3 - self.H3 * np.diff(dv) if self.links else h3
        return dw, dv, du, da, dq, d_alpha, d_beta, d_nu

    def longest(self, x: _Point, d: _Point) -> float:
        """Return the step, at most 1, that keeps all that must be positive away from zero."""
        step = 1.0 / TO_BOUNDARY
        for value, move in zip(x[3:], d[3:]):
            falling = move < 0
            if falling.any():
                step = min(step, float(np.min(-value[falling] / move[falling])))
        return TO_BOUNDARY * step

    def step(self, x: _Point, res: Any) -> _Point:
        """Return the next iterate: Mehrotra's predictor and corrector, then Gondzio's."""
        self.prepare(x)
        mu, now = self.mu(x), self.products(x)
        guess = self.direction(x, [-product for product in now], res)
        ahead = _moved(x, guess, self.longest(x, guess))
        aim = mu * min((self.mu(ahead) / mu) ** 3, 1.0)
        targets = [aim - product - change for product, change in zip(now, self.products(guess))]
        move = self.direction(x, targets, res)
        step = self.longest(x, move)
        for _ in range(CORRECTORS):
            if step > 0.95:
                break
            trial = self.products(_moved(x, move, min(1.0, 1.5 * step + 0.1)))
            pulled = [
                t + np.maximum(np.clip(product, 0.1 * aim, 10.0 * aim) - product, -10.0 * aim)
                for t, product in zip(targets, trial)
            ]
            other = self.direction(x, pulled, res)
            longer = self.longest(x, other)
            if longer < 1.05 * step:
                break
            move, step, targets = other, longer, pulled
        return _moved(x, move, step)

    def primal(self, x: _Point) -> tuple[float, Floats, float]:
        """Return the objective at (w, v) with the best errors, the errors, and what is violated."""
        p, u = self.p, self.utilities(x.w)
        floor = np.where(self.has_low, x.v[self.low] + p.lower, -np.inf)
        ceiling = np.where(self.has_high, x.v[self.high] + p.upper, np.inf)
        errors = np.maximum(floor - u, 0.0) - np.maximum(u - ceiling, 0.0)
        value = 0.5 * float(x.w @ x.w)
        broken = float(np.maximum(floor - ceiling, 0.0).max(initial=0.0))
        if self.links:
            broken = max(broken, float(np.maximum(-np.diff(x.v), 0.0).max(initial=0.0)))
        if self.kind == "none":
            return value, np.zeros(self.n), max(broken, float(np.abs(errors).max(initial=0.0)))
        if self.kind == "l1":
            return value + self.C * float(np.abs(errors).sum()), errors, broken
        return value + 0.5 * self.C * float(errors @ errors), errors, broken

    def dual(self, x: _Point) -> float:
        """Return the dual value of multipliers nearby that satisfy its equations exactly."""
        p = self.p
        alpha, beta = self.balanced(x)
        nu = x.nu
        if self.kind == "l1":  # a common factor keeps the balance and makes |q| at most C
            shrink = min(1.0, self.C / max(float(np.abs(alpha - beta).max(initial=0.0)), 1e-300))
            alpha, beta, nu = shrink * alpha, shrink * beta, shrink * nu
        q = alpha - beta
        value = float(alpha @ (self.has_low * p.lower) - beta @ (self.has_high * p.upper))
        weights = self.by_rows(q)
        with np.errstate(over="ignore"):  # multipliers grow for ever where nothing is feasible
            value -= 0.5 * float(weights @ weights)
        return value - (0.5 * float(q @ q) / self.C if self.kind == "l2" else 0.0)

    def flow(self, alpha: Floats, beta: Floats, nu: Floats) -> Floats:
        """Return what multipliers leave over at each threshold."""
        flow = self.at_thresholds(alpha, -beta)
        if self.links:
            flow[1:] -= nu
            flow[:-1] += nu
        return flow

    def balanced(self, x: _Point) -> tuple[Floats, Floats]:
        """Return multipliers scaled at each threshold so that nothing is left over there."""
        total = self.at_thresholds(x.alpha, x.beta)
        share = self.flow(x.alpha, x.beta, x.nu) / np.maximum(total, 1e-300)
        share = np.clip(share, -0.5, 0.5)
        return x.alpha * (1.0 - share[self.low]), x.beta * (1.0 + share[self.high])


def solve_thresholds(
    problem: ThresholdProblem,
    C: float,
    *,
    loss: str = "l1",
    tol: float = 1e-8,
    max_iter: int = 100,
    on_step: Callable[[], bool] | None = None,
) -> ThresholdFit:
    """Solve a threshold machine.

    Parameters
    ----------
    problem : ThresholdProblem
        The terms.
    C : float
        Weight of the errors; infinite for none.
    loss : {"l1", "l2"}, default="l1"
        Absolute errors, or half their squares.
    tol : float, default=1e-8
        The solver ends when the duality gap is below this part of the objective.
    max_iter : int, default=100
        Steps at most.
    on_step : callable, optional
        Called after each step; returns whether to stop.

    Returns
    -------
    ThresholdFit
        Weights, thresholds, multipliers, and the gap.
    """
    machine = _Machine(problem, C, loss)
    x = machine.start()
    size = float(
        np.abs(np.r_[problem.lower[machine.has_low], problem.upper[machine.has_high]]).max()
    )
    reason, n_iter, least, stuck = "max_iter", 0, np.inf, 0
    best: Any = None
    for n_iter in range(max_iter + 1):
        res = machine.residuals(x)
        value, errors, broken = machine.primal(x)
        gap = value - machine.dual(x)
        measure = abs(gap) / max(abs(value), 1e-300) + broken / max(size, 1e-300)
        stuck = stuck + 1 if not measure < 0.9 * least else 0
        if best is None or measure < least:
            least, best = measure, (x, errors, value, gap, broken)
        if abs(gap) <= tol * abs(value) and broken <= tol * size:
            reason = "gap"
            break
        # Beyond some accuracy steps only add rounding: the best iterate is kept.
        if not np.isfinite(measure) or stuck >= 30 or (least < 1e-5 and measure > 10 * least):
            reason = "rounding"
            break
        if n_iter == max_iter:
            break
        try:
            x = machine.step(x, res)
        except (np.linalg.LinAlgError, ValueError, RuntimeError):
            reason = "rounding"
            break
        if on_step is not None and on_step():
            reason = "callback"
            break
    x, errors, value, gap, broken = best
    alpha, beta = machine.balanced(x)
    return ThresholdFit(
        x.w, x.v, alpha - beta, errors, value, float(gap), broken, n_iter, reason == "gap", reason
    )
