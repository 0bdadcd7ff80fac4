"""Minimise the joint objective of the coming graph and the autoregression of its features.

``L(A, W) = (1/T)‖X_T − X_{T−1}W‖² + κ‖W‖₁ + (1/d)‖ω(A) − Wᵀω(A_T)‖² + τ‖A‖_* + γ‖A‖₁``, Eq. (3).
W is minimised over exactly wherever A moves ("fista", "admm"), which leaves a smooth convex
function of A whose slope is ``(2/d) ω*(ω(A) − Wᵀω(A_T))``; Algorithm 1 moves both by a step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.proximal.matrices import soft_threshold
from octavo.engine.proximal.nuclear_l1 import SingularShrinker, cut_entries, shrink_both
from octavo.network.autoregressive.features import FeatureMap
from octavo.network.autoregressive.regression import FeatureRegression, Regression

CERTIFIED_SIDE = 1000  # above, the nuclear norm of the sparse face is not computed
LAST_STEPS = 50  # of the last map there, each a decomposition of a large matrix


class Penalties(NamedTuple):
    """τ of the nuclear norm, γ of absolute values, and whether no entry may be negative."""

    tau: float
    gamma: float
    nonneg: bool


class Solution(NamedTuple):
    """A of low rank, the same exactly sparse, W, and the objective after each iteration."""

    low_rank: Floats
    sparse: Floats
    regression: Regression
    objectives: list[float]
    residual: float
    converged: bool


class JointProblem:
    """The objective, its slope and its step.

    Parameters
    ----------
    omega : FeatureMap
    regression : FeatureRegression
    penalties : Penalties
    shape : tuple of int
        Of A.
    shrink : SingularShrinker
    """

    def __init__(
        self,
        omega: FeatureMap,
        regression: FeatureRegression,
        penalties: Penalties,
        shape: tuple[int, int],
        shrink: SingularShrinker,
    ):
        self.omega, self.regression, self.penalties = omega, regression, penalties
        self.shape, self.shrink = shape, shrink
        norm = omega.squared_norm()
        self.step = regression.d / (2.0 * norm) if norm > 0.0 else 1.0

    def at(self, A: Floats) -> tuple[Regression, Floats]:
        """Return the best regression at A, and the slope of the smooth part there."""
        coming = self.omega(A)
        found = self.regression.fit(coming)
        # ∇_A of Eq. (3)
        return found, (2.0 / self.regression.d) * self.omega.adjoint(coming - found.predicted)

    def penalty(self, A: Floats, values: Floats) -> float:
        """Return τ‖A‖_* + γ‖A‖₁, from the singular values of A."""
        tau, gamma, _ = self.penalties
        return tau * float(values.sum()) + gamma * float(np.abs(A).sum())

    def start(self) -> Floats:
        """Return the graph from which iterations begin: none."""
        return np.zeros(self.shape)

    def finish(
        self,
        low_rank: Floats,
        sparse: Floats,
        objectives: list[float],
        converged: bool,
        tol: float,
        dual: Floats | None = None,
    ) -> Solution:
        """Return the solution with how far a step of the exact map would still move it."""
        theta, (tau, gamma, nonneg) = self.step, self.penalties
        found, slope = self.at(sparse)
        large = min(self.shape) > CERTIFIED_SIDE
        exact = shrink_both(
            sparse - theta * slope,
            theta * tau,
            theta * gamma,
            nonneg,
            dual=dual,
            tol=max(1e-10, 0.1 * tol),
            max_iter=LAST_STEPS if large else 500,
            shrink=self.shrink,
        )
        # what the map itself lacks counts as residual too
        residual = (float(np.linalg.norm(exact.sparse - sparse)) + exact.residual) / theta
        residual = max(residual, self.regression.violation(found.W, self.omega(sparse)))
        if not large:
            values: Any = np.linalg.svd(sparse, compute_uv=False)
            objectives = [*objectives[:-1], found.value + self.penalty(sparse, values)]
        return Solution(low_rank, sparse, found, objectives, residual, converged)


def solve_fista(
    problem: JointProblem, max_iter: int, tol: float, report: Callable[[], bool]
) -> Solution:
    """Accelerated proximal gradient with restarts and the exact map of both penalties."""
    theta, (tau, gamma, nonneg) = problem.step, problem.penalties
    A, point = problem.start(), problem.start()
    dual, t, objectives, converged, accuracy = None, 1.0, [], False, 1e-2
    faces = None
    for _ in range(max_iter):
        _, target = problem.at(point)
        target *= -theta
        target += point
        faces = shrink_both(
            target,
            theta * tau,
            theta * gamma,
            nonneg,
            dual=dual,
            tol=accuracy,
            shrink=problem.shrink,
        )
        dual, ahead = faces.dual, faces.sparse
        found = problem.regression.fit(problem.omega(ahead))
        objectives.append(found.value + problem.penalty(ahead, faces.values))  # Eq. (3)
        # large matrices are written over: new ones cost more than the sums
        back, step = np.subtract(point, ahead, out=point), np.subtract(ahead, A, out=A)
        moved = float(np.linalg.norm(back))
        size = max(float(np.linalg.norm(ahead)), 1e-300)
        if moved <= tol * size and accuracy <= max(tol, 1e-12):
            A, converged = ahead, True
            break
        # the map is as exact as the step is small
        accuracy = min(accuracy, max(1e-12, 0.1 * moved / size))
        if np.vdot(back, step) > 0.0:  # the momentum points uphill: start it again
            t, momentum = 1.0, 0.0
        else:
            further = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
            momentum, t = (t - 1.0) / further, further
        step *= momentum
        A, point = ahead, np.add(step, ahead, out=step)
        if report():
            break
    assert faces is not None
    return problem.finish(faces.low_rank, A, objectives, converged, tol, dual)


def solve_admm(
    problem: JointProblem, max_iter: int, tol: float, report: Callable[[], bool]
) -> Solution:
    """Split both penalties and take the smooth part by its slope: one decomposition a step.

    Davis and Yin (2017), "A three-operator splitting scheme and its optimization applications".
    """
    theta, (tau, gamma, nonneg) = problem.step, problem.penalties
    Y = problem.start()
    objectives, converged = [], False
    for _ in range(max_iter):
        Z = cut_entries(Y, theta * gamma, nonneg)
        found, slope = problem.at(Z)
        X, values = problem.shrink(2.0 * Z - Y - theta * slope, theta * tau)
        objectives.append(found.value + problem.penalty(Z, values))
        apart = float(np.linalg.norm(X - Z))
        Y = Y + X - Z
        if apart <= tol * max(float(np.linalg.norm(Z)), 1e-300):
            converged = True
            break
        if report():
            break
    return problem.finish(X, Z, objectives, converged, tol)


def solve_incremental(
    problem: JointProblem, max_iter: int, tol: float, report: Callable[[], bool]
) -> Solution:
    """Algorithm 1, with steps that shrink: with a constant step it circles around the optimum.

    A and W have steps of their own, half of the inverse curvature of each, and both shrink
    like 1/k from the fiftieth iteration on.
    """
    tau, gamma, nonneg = problem.penalties
    regression, d = problem.regression, problem.regression.d
    curve = 2.0 * max(float(np.linalg.norm(G, 2)) for G in regression.gram)
    A, W = problem.start(), np.zeros_like(regression.cross)
    objectives, converged = [], False
    for k in range(max_iter):
        shrinking = 0.5 * min(1.0, 50.0 / (k + 1.0))
        theta, theta_W = shrinking * problem.step, shrinking / max(curve, 1e-300)
        coming = problem.omega(A)
        residual = coming - regression.predict(W)  # r = ω(A) − Wᵀω(A_T)
        slope, slope_W = (2.0 / d) * problem.omega.adjoint(residual), regression.slope(W, coming)
        Z = cut_entries(A - theta * slope, theta * gamma, nonneg)  # Algorithm 1: entries by θγ
        ahead, values = problem.shrink(Z, theta * tau)  # then singular values by θτ
        W = soft_threshold(W - theta_W * slope_W, theta_W * regression.weight)  # and W by θκ
        smooth = regression.loss(W) + float(  # Eq. (3)
            ((problem.omega(ahead) - regression.predict(W)) ** 2).sum() / d
        )
        objectives.append(smooth + problem.penalty(ahead, values))
        moved = float(np.linalg.norm(ahead - A)) / shrinking
        A = ahead
        if moved <= tol * max(float(np.linalg.norm(A)), 1e-300) and k > 0:
            converged = True
            break
        if report():
            break
    # without a last threshold, the graph itself is the sparse face
    sparse = Z if Z.any() else cut_entries(A, 0.0, nonneg)
    return problem.finish(A, sparse, objectives, converged, tol)


SOLVERS = {"fista": solve_fista, "admm": solve_admm, "incremental": solve_incremental}
