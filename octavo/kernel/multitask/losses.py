"""Losses of a task, in signed dual variables: the hinge, the ε-tube and the square.

Each maximises its share of the dual, L(β) − ½ β'Qβ around a point, and says how far a task is from
its optimum when its decision values are what they are.

Reference: T. Jebara (2011), "Multitask Sparsity via Maximum Entropy Discrimination", Journal of
Machine Learning Research 12, Sections 5.1 and 9, Appendix C.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from octavo.engine.duals.smo import best_offset, solve_box, solve_sum_constrained
from octavo.engine.duals.working_sets import box_gap
from octavo.engine.estimators.arrays import Floats

_STEPS_A_VARIABLE = 200  # exchanges after which a machine hands back what it has


class Standing(NamedTuple):
    """Where a task stands: its gradient, the offset that suits it best, and its duality gap."""

    gradient: Floats
    offset: float
    gap: float


class Loss(Protocol):
    """The dual side of a loss."""

    n: int

    def start(self) -> Floats:
        """Return the variables to start from."""

    def total(self, beta: Floats) -> Floats:
        """Return the coefficient of each row."""

    def value(self, beta: Floats) -> float:
        """Return L(β)."""

    def slope(self, beta: Floats, delta: Floats) -> tuple[float, float]:
        """Return the first and second derivative of L along a direction."""

    def stand(self, beta: Floats, f: Floats) -> Standing:
        """Return gradient, offset and gap where decision values without offset are f."""

    def ascend(self, Q: Any, beta: Floats, gradient: Floats, tol: float) -> Floats:
        """Return the maximiser of gradient'(β' − β) − ½ (β' − β)'Q(β' − β), to a gap of `tol`."""


class BoxLoss:
    """A loss whose dual is linear in a box: hinge, and the tube with two variables a row.

    Parameters
    ----------
    linear, lower, upper : ndarray of shape (n_samples,) or (2 * n_samples,)
        Linear term and bounds.
    n : int
        Rows.
    offset : bool
        Whether there is a free offset: Σβ = 0 then.
    """

    def __init__(self, linear: Floats, lower: Floats, upper: Floats, n: int, offset: bool) -> None:
        self.linear, self.lower, self.upper = linear, lower, upper
        self.n, self.offset = n, offset

    def start(self) -> Floats:
        """Return zeros."""
        return np.zeros_like(self.linear)

    def total(self, beta: Floats) -> Floats:
        """Return the sum of a row's variables."""
        return beta.reshape(-1, self.n).sum(axis=0)

    def fit_in(self, beta: Floats) -> Floats:
        """Return variables of an earlier problem, shrunk by one factor into these bounds."""
        width = np.where(beta > 0.0, self.upper, self.lower)
        ratio = np.divide(width, beta, out=np.full_like(beta, np.inf), where=beta != 0.0)
        factor = min(1.0, float(ratio.min())) if beta.size else 1.0
        return np.clip(factor * beta, self.lower, self.upper)

    def value(self, beta: Floats) -> float:
        """Return linear'β."""
        return float(self.linear @ beta)

    def slope(self, beta: Floats, delta: Floats) -> tuple[float, float]:
        """Return linear'δ and 0."""
        return float(self.linear @ delta), 0.0

    def stand(self, beta: Floats, f: Floats) -> Standing:
        """Return the gradient linear − f, and the gap at the best offset."""
        gradient = self.linear - np.tile(f, beta.size // self.n)
        if self.offset:
            offset, gap = best_offset(beta, gradient, self.lower, self.upper)
        else:
            offset, gap = 0.0, float(box_gap(beta, gradient, self.lower, self.upper))
        return Standing(gradient, offset, gap)

    def ascend(self, Q: Any, beta: Floats, gradient: Floats, tol: float) -> Floats:
        """Return the machine's solution, warm from β."""
        copies = beta.size // self.n
        step = np.tile(_product(Q, self.total(beta)), copies)
        problem = (gradient + step, self.lower, self.upper)
        most = max(20_000, _STEPS_A_VARIABLE * beta.size)
        options: dict[str, Any] = {"beta": beta, "gradient": gradient, "tol": tol}
        options |= {"stopping": "gap", "max_iter": most}
        if callable(Q):
            options["diagonal"] = Q.diagonal()
        if self.offset:
            return solve_sum_constrained(Q, *problem, **options).alpha
        if copies > 1:  # the box has one variable a row of its matrix
            Q = np.tile(Q, (copies, copies))
        return solve_box(Q, *problem, **options).alpha


class SquaredLoss:
    """C/2 Σ (y − f)²: L(β) = y'β − Σβ²/(2C).

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Targets.
    C : ndarray of shape (n_samples,)
        Weights of the rows' losses.
    offset : bool
        Whether there is a free offset: Σβ = 0 then.
    """

    def __init__(self, y: Floats, C: Floats, offset: bool) -> None:
        self.y, self.C, self.n, self.offset = y, C, y.size, offset

    def start(self) -> Floats:
        """Return zeros."""
        return np.zeros_like(self.y)

    def fit_in(self, beta: Floats) -> Floats:
        """Return the variables as they are: nothing bounds them."""
        return beta

    def total(self, beta: Floats) -> Floats:
        """Return the variables themselves."""
        return beta

    def value(self, beta: Floats) -> float:
        """Return y'β − Σβ²/(2C)."""
        return float(self.y @ beta - 0.5 * (beta * beta / self.C).sum())

    def slope(self, beta: Floats, delta: Floats) -> tuple[float, float]:
        """Return both derivatives."""
        second = -float((delta * delta / self.C).sum())
        return float((self.y - beta / self.C) @ delta), second

    def stand(self, beta: Floats, f: Floats) -> Standing:
        """Return the gradient, and the gap C/2 Σ (y − f − b − β/C)²."""
        gradient = self.y - f - beta / self.C
        # the square's own optimum, by its slope in b
        offset = float(self.C @ gradient / self.C.sum()) if self.offset else 0.0
        left = gradient - offset
        return Standing(gradient, offset, 0.5 * float(self.C @ (left * left)))

    def ascend(self, Q: Any, beta: Floats, gradient: Floats, tol: float) -> Floats:
        """Return the solution of the normal equations, with Σ of the step zero for an offset."""
        factor = cho_factor(Q + np.diag(1.0 / self.C), lower=True)  # (Q + 1/C) δ = gradient − b
        step = cho_solve(factor, gradient)
        if self.offset:
            ones = cho_solve(factor, np.ones_like(beta))
            step -= (step.sum() / ones.sum()) * ones
        return beta + step


def _product(Q: Any, total: Floats) -> Floats:
    if not callable(Q):
        return Q @ total
    return np.asarray(Q.Z @ (Q.Z.T @ total)).ravel() + Q.shift * total.sum()


def hinge_loss(y: Floats, C: Floats, margin: float, offset: bool) -> BoxLoss:
    """Return the dual of C Σ max(0, margin − y f) for labels of ±1 (Section 5.1)."""
    bound = y * C  # 0 ≤ λ ≤ C, for β = yλ
    return BoxLoss(margin * y, np.minimum(bound, 0.0), np.maximum(bound, 0.0), y.size, offset)


def tube_loss(y: Floats, C: Floats, epsilon: float, offset: bool) -> BoxLoss:
    """Return the dual of C Σ max(0, |y − f| − ε), with two variables a row (Section 9)."""
    zero = np.zeros_like(y)
    return BoxLoss(  # β = λ − λ', a box for each (Section 9)
        np.concatenate([y - epsilon, y + epsilon]),
        np.concatenate([zero, -C]),
        np.concatenate([C, zero]),
        y.size,
        offset,
    )
