"""Machines on a single kernel, as multiple kernel learning calls them: warm, and with their gap.

A machine maximises L(a) − ½ a'Ka over the dual variables a that its loss allows (Eq. 20), where
the decision function is Σ a_i k(x_i, ·) + b. Each returns its loss C Σ V(f(x_i), y_i) and L(a), so
that the loss plus any penalty and L(a) less the penalty's dual bound the optimum from both sides.

Reference: M. Kloft, U. Brefeld, S. Sonnenburg and A. Zien (2011), "lp-Norm Multiple Kernel
Learning", Journal of Machine Learning Research 12, Sections 2.3, 3.1, 3.3 and 3.4.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import expit, log_expit, xlog1py, xlogy

from octavo.engine.duals.smo import solve_sum_constrained
from octavo.engine.estimators.arrays import Floats

_NEWTON_STEPS = 100


class Solved(NamedTuple):
    """A machine's solution.

    ``a`` are the coefficients of the decision function and ``offset`` its b; ``loss`` is
    C Σ V, ``linear`` is L(a), ``variables`` are what to start from next time.
    """

    a: Floats
    offset: float
    loss: float
    linear: float
    variables: Floats


class Machine(Protocol):
    """A machine on one kernel."""

    def solve(self, K: Floats, start: Solved | None, tol: float) -> Solved:
        """Solve to a duality gap of `tol`, from an earlier solution where there is one."""


class BoxMachine:
    """A machine whose dual is a box with a fixed sum: hinge, ε-insensitive and one-class losses.

    Maximise linear'β − ½ β'Kβ with lower ≤ β ≤ upper and Σβ as at the start.

    Parameters
    ----------
    linear, lower, upper, start : ndarray of shape (copies * n_samples,)
        Linear term, bounds and a feasible point.
    n_samples : int
        Number of samples; two copies of them have opposite bounds in regression.
    """

    def __init__(
        self, linear: Floats, lower: Floats, upper: Floats, start: Floats, n_samples: int
    ) -> None:
        self.linear, self.lower, self.upper = linear, lower, upper
        self.start, self.n_samples = start, n_samples

    def loss(self, f: Floats, offset: float) -> float:
        """Return max L(β) − β'(f + offset) over the box, plus what the fixed sum gives the offset.

        For every f and offset this is the loss: C Σ V(f_i + offset, y_i).
        """
        slope = self.linear - np.tile(f, self.linear.size // f.size) - offset
        best = np.where(slope > 0.0, self.upper, self.lower)
        return float(best @ slope) + offset * float(self.start.sum())

    def wrap(self, beta: Floats, f: Floats, offset: float) -> Solved:
        """Return the solution that variables, decision values and offset make."""
        a = beta.reshape(-1, self.n_samples).sum(axis=0)
        return Solved(a, offset, self.loss(f, offset), float(self.linear @ beta), beta)

    def solve(self, K: Floats, start: Solved | None, tol: float) -> Solved:
        """Solve by sequential minimal optimisation."""
        result = solve_sum_constrained(
            K,
            self.linear,
            self.lower,
            self.upper,
            beta=self.start if start is None else start.variables,
            tol=tol,
            stopping="gap",
            max_iter=max(20_000, 200 * self.linear.size),
        )
        f = (self.linear - result.gradient)[: self.n_samples]
        return self.wrap(result.alpha, f, result.bias)


def hinge_machine(y: Floats, C: Floats) -> BoxMachine:
    """Return the support vector classifier for labels of ±1 and costs C_i (Eq. 15)."""
    bound = y * C
    zero = np.zeros_like(y)
    return BoxMachine(y, np.minimum(bound, 0.0), np.maximum(bound, 0.0), zero, y.size)


def tube_machine(y: Floats, C: Floats, epsilon: float) -> BoxMachine:
    """Return support vector regression with a tube of half-width ε: two variables a sample."""
    zero = np.zeros_like(y)
    return BoxMachine(
        np.concatenate([y - epsilon, y + epsilon]),
        np.concatenate([zero, -C]),
        np.concatenate([C, zero]),
        np.zeros(2 * y.size),
        y.size,
    )


def one_class_machine(n_samples: int, nu: float) -> BoxMachine:
    """Return the one-class machine: Σa = 1, 0 ≤ a ≤ 1/(νn); its offset is −ρ."""
    bound = 1.0 / (nu * n_samples)
    full = int(nu * n_samples)
    start = np.zeros(n_samples)
    start[:full] = bound
    if full < n_samples:
        start[full] = min(bound, max(0.0, 1.0 - full * bound))
    return BoxMachine(
        np.zeros(n_samples), np.zeros(n_samples), np.full(n_samples, bound), start, n_samples
    )


class SquaredMachine:
    """Kernel ridge regression with an offset: V = ½ (y − f)², L(a) = y'a − Σ a²/(2C) (Section 3.3).

    Parameters
    ----------
    y, C : ndarray of shape (n_samples,)
        Targets and costs.
    """

    def __init__(self, y: Floats, C: Floats) -> None:
        self.y, self.C = y, C

    def solve(self, K: Floats, start: Solved | None, tol: float) -> Solved:
        """Solve (K + 1/C) a + b = y with Σa = 0."""
        factor = cho_factor(K + np.diag(1.0 / self.C), lower=True)
        ones = cho_solve(factor, np.ones_like(self.y))
        fit = cho_solve(factor, self.y)
        offset = float(fit.sum() / ones.sum())
        a = fit - offset * ones
        return self.wrap(a, K @ a, offset)

    def wrap(self, a: Floats, f: Floats, offset: float) -> Solved:
        """Return the solution that coefficients, decision values and offset make."""
        loss = 0.5 * float(self.C @ (self.y - f - offset) ** 2)
        linear = float(self.y @ a - 0.5 * (a**2 / self.C).sum())
        return Solved(a, offset, loss, linear, a)


class LogisticMachine:
    """Kernel logistic regression, V = log(1 + exp(−y f)), by Newton's method on the primal.

    Its dual, from Eq. (10): L(a) = −Σ C_i [β log β + (1−β) log(1−β)], β = y a / C.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels, −1 or 1.
    C : ndarray of shape (n_samples,)
        Costs.
    """

    def __init__(self, y: Floats, C: Floats) -> None:
        self.y, self.C = y, C

    def _loss(self, f: Floats) -> float:
        return -float(self.C @ log_expit(self.y * f))

    def _newton(self, K: Floats, f: Floats) -> tuple[Floats, float]:
        """Return coefficients and offset of the quadratic model at decision values f."""
        miss = expit(-self.y * f)
        root = np.sqrt(np.maximum(self.C * miss * (1.0 - miss), 1e-300))
        lower = np.linalg.cholesky(np.eye(f.size) + root[:, None] * K * root[None, :])
        target = root * f + self.C * self.y * miss / root
        both = np.column_stack([target, root])
        inner = solve_triangular(lower, both, lower=True)
        outer = root[:, None] * solve_triangular(lower, inner, lower=True, trans="T")
        offset = float(outer[:, 0].sum() / outer[:, 1].sum())
        return outer[:, 0] - offset * outer[:, 1], offset

    def solve(self, K: Floats, start: Solved | None, tol: float) -> Solved:
        """Solve until the gap of this machine is below `tol`."""
        a, offset = np.zeros_like(self.y), 0.0
        if start is not None:
            a, offset = start.a, start.offset
        f = K @ a
        value = self._loss(f + offset) + 0.5 * float(a @ f)
        for _ in range(_NEWTON_STEPS):
            new_a, new_offset = self._newton(K, f + offset)
            new_f = K @ new_a
            step = 1.0
            while True:
                try_a, try_f = a + step * (new_a - a), f + step * (new_f - f)
                try_offset = offset + step * (new_offset - offset)
                trial = self._loss(try_f + try_offset) + 0.5 * float(try_a @ try_f)
                if trial <= value or step < 1e-6:
                    break
                step *= 0.5
            a, f, offset, value = try_a, try_f, try_offset, trial
            solved = self.wrap(a, f, offset)
            if solved.loss + float(a @ f) - solved.linear <= tol:
                break
        return solved

    def wrap(self, a: Floats, f: Floats, offset: float) -> Solved:
        """Return the solution that coefficients, decision values and offset make."""
        beta = self.y * a / self.C
        outside = float(np.maximum(np.maximum(-beta, beta - 1.0), 0.0).max())
        beta = np.clip(beta, 0.0, 1.0)
        entropy = -float(self.C @ (xlogy(beta, beta) + xlog1py(1.0 - beta, -beta)))
        # Newton's coefficients may leave the box on the way: no bound holds there.
        linear = entropy if outside < 1e-10 else -np.inf
        return Solved(a, offset, self._loss(f + offset), linear, a)
