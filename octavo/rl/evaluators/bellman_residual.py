"""Linear value functions that minimise the Bellman residual: BRM(λ) and the residual gradient.

With one sample of the next state they minimise the mean squared temporal difference, which is
biased in stochastic problems but of low variance; with two independent samples, the mean squared
Bellman error; with traces, an objective between these and the error of complete returns.

References: C. Dann, G. Neumann and J. Peters (2014), "Policy Evaluation with Temporal Differences:
A Survey and Comparison", Journal of Machine Learning Research 15: Algorithms 10, 11 and 13.
M. Geist and B. Scherrer (2014), "Off-policy Learning With Eligibility Traces: A Survey", same
volume: Algorithms 4 and 8 (with y updated before it is used).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.sklearn_door import StrOptions
from octavo.engine.streams.passes import JIT, as_rows
from octavo.rl.evaluators import gradient_passes as passes
from octavo.rl.evaluators.base import POSITIVE, UNIT
from octavo.rl.evaluators.gradient_evaluator import GradientEvaluator
from octavo.rl.evaluators.least_squares_td import LeastSquaresEvaluator
from octavo.rl.evaluators.normal_equations import (
    add_outer,
    differences,
    dot_row,
    inverse_system,
    right_and_left,
    solve_system,
    two_right,
    zeros,
)
from octavo.rl.evaluators.step_sizes import SCHEDULES
from octavo.rl.processes.traces import TraceTerms, dense_rows, scan_traces, trace_terms
from octavo.rl.processes.transitions import Transitions

__all__ = ["BRM", "ResidualGradient"]

_SINGULAR = 1e-9
_NOT_WITH_TRACES = (
    "off_policy='transition' weighs squared temporal differences and has no form with traces: set "
    "off_policy='standard' or lam=0"
)


@njit(**JIT)
def _brm_scalars(target, decay, carry):
    """Return y_i = 1 + e_i² y_{i-1} and z̃_i = e_i z̃_{i-1} + y_i ρ_i r_i; ``carry`` holds both."""
    y, ahead = np.empty(target.size), np.empty(target.size)
    for i in range(target.size):
        # y of this transition, before it is used: A11 lists it afterwards, one behind
        carry[0] = 1.0 + decay[i] * decay[i] * carry[0]
        carry[1] = decay[i] * carry[1] + carry[0] * target[i]  # z̃_i of Algorithm 4
        y[i], ahead[i] = carry[0], carry[1]
    return y, ahead


@njit(**JIT)
def _brm_pass(D, target, decay, first, C, theta, trace, carry):
    """Run recursive BRM(λ) (Algorithm 4, A11) from row ``first``; return where it had to stop."""
    p = theta.size
    a, v, Ca, Cv = np.empty(p), np.empty(p), np.empty(p), np.empty(p)
    for i in range(first, D.shape[0]):
        e = decay[i]
        y = 1.0 + e * e * carry[0]
        root = math.sqrt(y)
        f = e / root
        for j in range(p):
            v[j] = f * trace[j]
            a[j] = root * D[i, j] + v[j]  # U = [a, v], V = [a, -v]'
        two_right(C, a, v, Ca, Cv)
        # S = I₂ + V C U with U = [a, v], V = [a, -v]ᵀ and C symmetric
        s11, s12, s22 = 1.0 + dot_row(a, Ca), dot_row(a, Cv), 1.0 - dot_row(v, Cv)
        determinant = s11 * s22 + s12 * s12
        if not determinant > _SINGULAR * (abs(s11 * s22) + s12 * s12):
            return i
        w1 = root * target[i] + f * carry[1] - dot_row(a, theta)  # W - Vθ, its first row
        w2 = -f * carry[1] + dot_row(v, theta)  # and its second
        # (I + VCU)⁻¹ (W - Vθ)
        g1, g2 = (s22 * w1 - s12 * w2) / determinant, (s12 * w1 + s11 * w2) / determinant
        for j in range(p):
            theta[j] += g1 * Ca[j] + g2 * Cv[j]  # θ + B(W - Vθ), B = CU(I + VCU)⁻¹
        for k in range(p):
            left = -(s22 * Ca[k] + s12 * Cv[k]) / determinant
            right = -(s12 * Ca[k] - s11 * Cv[k]) / determinant
            for j in range(p):
                C[k, j] += left * Ca[j] + right * Cv[j]  # C - BVC
        for j in range(p):
            trace[j] = e * trace[j] + y * D[i, j]  # D_i of Algorithm 4, x of A11
        carry[0] = y
        carry[1] = e * carry[1] + y * target[i]
    return D.shape[0]


@njit(**JIT)
def _double_sample_pass(D1, D2, weight, first, M):
    """Keep M = (I/eps + Σ ρ'ρ'' Δφ'Δφ''ᵀ)⁻¹ up to date (A10); return where it had to stop."""
    p = M.shape[0]
    right, left = np.empty(p), np.empty(p)
    for i in range(first, D1.shape[0]):
        if weight[i] == 0.0:
            continue
        right_and_left(M, D1[i], D2[i], right, left)
        q = weight[i] * dot_row(left, D1[i])  # Sherman-Morrison; M is not symmetric here
        if not abs(1.0 + q) > _SINGULAR * (1.0 + abs(q)):
            return i
        add_outer(M, -weight[i] / (1.0 + q), right, left)
    return D1.shape[0]


class BRM(LeastSquaresEvaluator):
    """BRM(λ): the linear value function of least squared Bellman residual.

    Parameters
    ----------
    lam : float, default=0.0
        Decay of the eligibility traces, in [0, 1].
    eps : float or None, default=1e3
        Inverse strength of the ridge. None for none, with ``solver="batch"`` only.
    off_policy : {"transition", "standard"}, default="transition"
        Whether importance ratios weigh the squared temporal difference, for ``lam=0``, or multiply
        reward and next value, as BRM(λ) was published.
    double_sample : bool, default=False
        Use a second, independent draw of every next state, which makes the objective the mean
        squared Bellman error. Needs ``X_next2`` and ``r2``, and ``lam=0``.
    solver : {"batch", "recursive"}, default="batch"
        Sum the system and solve it at the end, or keep its inverse up to date.

    Attributes
    ----------
    A_ : ndarray of shape (`n_features_in_`, `n_features_in_`)
        Matrix of the normal equations, without the ridge.
    b_ : ndarray of shape (`n_features_in_`,)
        Their right-hand side.
    M_ : ndarray of shape (`n_features_in_`, `n_features_in_`)
        Inverse of A + I/eps, with ``solver="recursive"``.
    n_restarts_ : int
        How often the recursion met a singular system and was restarted from A, with
        ``solver="recursive"``.
    trace_ : ndarray of shape (`n_features_in_`,)
        The trace of differences after the last transition.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    LSTD : Usually less biased.

    Notes
    -----
    Do not use it in stochastic problems with a single sample and small `lam`: it prefers smooth
    value functions to true ones. Double samples remove that bias at the price of variance.

    References
    ----------
    .. [1] C. Dann, G. Neumann and J. Peters (2014). "Policy Evaluation with Temporal Differences:
       A Survey and Comparison". Journal of Machine Learning Research 15. Algorithms 10 and 11.
    .. [2] M. Geist and B. Scherrer (2014). "Off-policy Learning With Eligibility Traces: A
       Survey". Journal of Machine Learning Research 15. Algorithm 4.

    Examples
    --------
    >>> from octavo.rl import BRM
    >>> model = BRM(gamma=0.5, eps=None).fit([[1, 0], [0, 1]], [1.0, 0.0], [[0, 1], [1, 0]])
    >>> model.predict([[1, 0], [0, 1]]).round(3)
    array([1.333, 0.667])
    """

    _parameter_constraints: dict[str, Any] = {
        **LeastSquaresEvaluator._parameter_constraints,
        "eps": [POSITIVE, None],
        "double_sample": ["boolean"],
        "solver": [StrOptions({"batch", "recursive"})],
    }

    def __init__(
        self,
        gamma: float = 0.95,
        lam: float = 0.0,
        *,
        eps: float | None = 1e3,
        off_policy: str = "transition",
        double_sample: bool = False,
        solver: str = "batch",
    ) -> None:
        self.gamma = gamma
        self.lam = lam
        self.eps = eps
        self.off_policy = off_policy
        self.double_sample = double_sample
        self.solver = solver

    @property
    def _needs_second_draw(self) -> bool:  # type: ignore[override]
        return self.double_sample

    def _check_batch(self, batch: Transitions) -> None:
        check_residual_options(self, batch)

    def _begin(self, n_features: int) -> None:
        self.A_, self.b_, self._z = zeros(n_features)
        self._carry = np.zeros(2)
        if self.solver == "recursive":
            if self.eps is None:
                raise ValueError("solver='recursive' starts from eps times the identity, got None.")
            self._M = float(self.eps) * np.eye(n_features)
            self._theta = np.zeros(n_features)
            self.n_restarts_ = 0

    def _absorb(self, block: Transitions) -> bool:
        if self.double_sample:
            self._absorb_double(block)
            return True
        terms = residual_terms(block, self.gamma, self.lam, self.off_policy, self._carried)
        D = differences(block, terms)
        if self.solver == "batch":
            self._sum(D, terms.target, terms.decay)
            return True
        done, n = 0, len(block)
        trace, carry = self._z.copy(), self._carry.copy()
        while done < n:
            stop = _brm_pass(D, terms.target, terms.decay, done, self._M, self._theta, trace, carry)
            after = n if stop == n else min(n, stop + 1 + self.n_features_in_)
            self._sum(D[done:after], terms.target[done:after], terms.decay[done:after])
            if stop < n:
                self._restart()
                trace, carry = self._z.copy(), self._carry.copy()
            done = after
        # C starts as a multiple of I and is changed by symmetric terms alone.
        self._M = (self._M + self._M.T) / 2  # rounding would otherwise grow in its skew part
        return True

    def _sum(
        self, D: NDArray[np.float64], target: NDArray[np.float64], decay: NDArray[np.float64]
    ) -> None:
        """Add A += Δφ Dᵀ + D Δφᵀ - y Δφ Δφᵀ and b += Δφ z̃ + D ρr - y Δφ ρr (Appendix A)."""
        y, ahead = _brm_scalars(target, decay, self._carry)
        weighed = y[:, None] * D
        trace = np.empty(D.shape)
        scan_traces(dense_rows(weighed), decay, self._z, trace)
        cross = D.T @ (trace - 0.5 * weighed)
        self.A_ += cross + cross.T
        self.b_ += D.T @ (ahead - y * target) + trace.T @ target

    def _absorb_double(self, block: Transitions) -> None:
        ones, gammas = np.ones(len(block)), np.full(len(block), float(self.gamma))
        terms = TraceTerms(block.r, ones, gammas, np.zeros(len(block)))
        D1 = differences(block, terms)
        D2 = dense_rows(block.X) - self.gamma * dense_rows(block.X_next2)
        weight = block.rho * block.rho2
        done, n = 0, len(block)
        while done < n:
            stop = n
            if self.solver == "recursive":
                stop = _double_sample_pass(D1, D2, weight, done, self._M)
            after = n if stop == n else min(n, stop + 1 + self.n_features_in_)
            rows = slice(done, after)
            # A10 as a sum: Σ ρ'ρ'' Δφ'Δφ''ᵀ
            self.A_ += D1[rows].T @ (weight[rows, None] * D2[rows])
            # A10: b, half with each draw
            self.b_ += 0.5 * D2[rows].T @ (weight[rows] * block.r[rows])
            self.b_ += 0.5 * D1[rows].T @ (weight[rows] * block.r2[rows])
            if stop < n:
                self._restart()
            done = after
        self._z[:] = D1[-1]

    def _restart(self) -> None:
        self._M = inverse_system(self.A_, float(self.eps or 1.0))
        self._theta = self._M @ self.b_
        self.n_restarts_ += 1

    def _finish(self) -> None:
        self.trace_ = self._z.copy()
        self._warn_if_light(float(np.abs(self.A_).max()))
        if self.solver == "batch":
            self._warn_if_few()
            self.coef_ = solve_system(self.A_, self.b_, self.eps, "BRM")
        else:
            self.M_ = self._M
            self.coef_ = self._M @ self.b_ if self.double_sample else self._theta.copy()


class ResidualGradient(GradientEvaluator):
    """Gradient descent of the squared Bellman residual; with traces, gBRM(λ).

    Parameters
    ----------
    lam : float, default=0.0
        Decay of the eligibility traces, in [0, 1]; with ``lam=1`` it is `TD`.
    learning_rate : float, default=0.01
        Step size.
    schedule : {"constant", "power", "harmonic"}, default="constant"
        How step sizes fall; see `TD`.
    learning_rate_decay : float, default=1000.0
        When a harmonic schedule has halved.
    power : float, default=1.0
        Exponent of t in the schedules.
    n_epochs : int, default=1
        Passes over the data in `fit`.
    off_policy : {"transition", "standard"}, default="transition"
        Whether importance ratios weigh the squared temporal difference, for ``lam=0``, or multiply
        reward and next value, as gBRM(λ) was published.
    double_sample : bool, default=False
        Use a second, independent draw of every next state for the gradient. Needs ``X_next2`` and
        ``r2``, and ``lam=0``.

    Attributes
    ----------
    trace_ : ndarray of shape (`n_features_in_`,)
        The trace after the last transition, with ``lam > 0``.
    learning_rate_ : float
        The step size given.
    diverged_ : bool
        Whether the recursion was stopped because the coefficients grew without bound.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    BRM : The same objective without a step size.
    TDC : A gradient method for a better objective.

    Notes
    -----
    Do not use it in stochastic problems without double samples: what it minimises is not what one
    wants. It converges more slowly than `TD`.

    References
    ----------
    .. [1] C. Dann, G. Neumann and J. Peters (2014). "Policy Evaluation with Temporal Differences:
       A Survey and Comparison". Journal of Machine Learning Research 15. Algorithm 13.
    .. [2] M. Geist and B. Scherrer (2014). "Off-policy Learning With Eligibility Traces: A
       Survey". Journal of Machine Learning Research 15. Algorithm 8.

    Examples
    --------
    >>> from octavo.rl import ResidualGradient
    >>> X, X_next = [[1, 0], [0, 1]] * 500, [[0, 1], [1, 0]] * 500
    >>> model = ResidualGradient(gamma=0.5, learning_rate=0.1).fit(X, [1.0, 0.0] * 500, X_next)
    >>> model.predict([[1, 0], [0, 1]]).round(3)
    array([1.333, 0.667])
    """

    _parameter_constraints: dict[str, Any] = {
        **GradientEvaluator._parameter_constraints,
        "lam": [UNIT],
        "schedule": [StrOptions(set(SCHEDULES) - {"adaptive"})],
        "double_sample": ["boolean"],
    }

    def __init__(
        self,
        gamma: float = 0.95,
        lam: float = 0.0,
        *,
        learning_rate: float = 0.01,
        schedule: str = "constant",
        learning_rate_decay: float = 1000.0,
        power: float = 1.0,
        clip_norm: float | None = None,
        n_epochs: int = 1,
        average: bool = False,
        theta0: ArrayLike | None = None,
        off_policy: str = "transition",
        double_sample: bool = False,
    ) -> None:
        self.gamma = gamma
        self.lam = lam
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.learning_rate_decay = learning_rate_decay
        self.power = power
        self.clip_norm = clip_norm
        self.n_epochs = n_epochs
        self.average = average
        self.theta0 = theta0
        self.off_policy = off_policy
        self.double_sample = double_sample

    @property
    def _needs_second_draw(self) -> bool:  # type: ignore[override]
        return self.double_sample

    def _check_batch(self, batch: Transitions) -> None:
        check_residual_options(self, batch)

    def _pass(self, block: Transitions, alphas: NDArray[np.float64]) -> int:
        rows, ahead, radius = as_rows(block.X), as_rows(block.X_next), self._radius()
        if self.double_sample or (self.lam == 0 and self.off_policy == "transition"):
            second = as_rows(block.X_next2) if self.double_sample else ahead
            weight = block.rho * block.rho2 if self.double_sample else np.array(block.rho)
            return passes._residual_pass(
                rows, ahead, second, block.r, weight, float(self.gamma), alphas, radius, self._state
            )
        terms = trace_terms(block, self.gamma, self.lam, "standard", self._carried)
        return passes._residual_trace_pass(
            rows, ahead, tuple(terms), float(self.lam), alphas, radius, self._state
        )


def residual_terms(
    block: Transitions, gamma: float, lam: float, off_policy: str, carried: float
) -> TraceTerms:
    """Return terms whose squared temporal differences are weighed as asked.

    Without traces, transition weighting minimises Σ ρ δ²: the roots of the ratios multiply both
    sides of the regression.
    """
    if off_policy == "standard" or lam > 0:
        return trace_terms(block, gamma, lam, "standard", carried)
    # √ρ on both parts of the temporal difference weighs its square by ρ.
    root = np.sqrt(block.rho)
    return TraceTerms(root * block.r, root, gamma * root, np.zeros(len(block)))


def check_residual_options(model: Any, batch: Transitions) -> None:
    """Refuse combinations that no algorithm defines."""
    if model.lam > 0 and model.double_sample:
        raise ValueError(f"double_sample=True has no form with traces: set lam=0, got {model.lam}.")
    if model.lam > 0 and model.off_policy == "transition" and not batch.on_policy:
        raise ValueError(_NOT_WITH_TRACES)


def _warmup() -> None:
    D, one, square = np.ones((1, 1)), np.ones(1), np.eye(1)
    _brm_scalars(one, one, np.zeros(2))
    _brm_pass(D, one, one, 0, square, np.zeros(1), np.zeros(1), np.zeros(2))
    _double_sample_pass(D, D, one, 0, np.eye(1))
