"""What the gradient methods share: step sizes, divergence, scales of features, blocks."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.streams.passes import as_rows
from octavo.rl.evaluators import gradient_passes as passes
from octavo.rl.evaluators.base import (
    POSITIVE,
    UNIT,
    WEIGHTING,
    PolicyEvaluator,
    starting_point,
)
from octavo.rl.evaluators.step_sizes import SCHEDULES, step_sizes
from octavo.rl.processes.traces import trace_terms
from octavo.rl.processes.transitions import Transitions

_SPREAD = 1e3  # ratio of feature scales from which on one step size cannot serve them all


class GradientEvaluator(PolicyEvaluator):
    """Base of the methods that move the coefficients by small steps.

    Parameters
    ----------
    average : bool, default=False
        Return the mean of the coefficients over all transitions.
    clip_norm : float or None, default=None
        Project the coefficients to a ball of this radius after each step.

    Attributes
    ----------
    learning_rate_ : float
        Smallest step size used by the adaptive schedule.
    """

    _parameter_constraints: dict[str, Any] = {
        "gamma": [UNIT],
        "learning_rate": [Interval(Real, 0, None, closed="left")],
        "schedule": [StrOptions(set(SCHEDULES))],
        "learning_rate_decay": [POSITIVE],
        "power": [POSITIVE],
        "clip_norm": [None, POSITIVE],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "average": ["boolean"],
        "theta0": [None, "array-like"],
        "off_policy": [WEIGHTING],
    }
    learning_rate: float
    schedule: str
    learning_rate_decay: float
    power: float
    clip_norm: float | None
    n_epochs: int
    average: bool
    theta0: ArrayLike | None
    off_policy: str

    @property
    def _sweeps(self) -> int:  # type: ignore[override]
        return self.n_epochs

    def _begin(self, n_features: int) -> None:
        theta = starting_point(self.theta0, n_features)
        self._state = passes.new_gradient_state(theta, self.average, float(self.learning_rate))
        self._checked_scales = False
        self.diverged_ = False

    def _absorb(self, block: Transitions) -> bool:
        if self.diverged_:
            return False
        if not self._checked_scales:
            _warn_of_scales(block.X, type(self).__name__)
            self._checked_scales = True
        used = self._pass(block, self._steps(len(block)))
        self.diverged_ = used < len(block)
        if self.diverged_:
            norm = float(np.linalg.norm(self._state.theta))
            warnings.warn(
                f"{type(self).__name__} diverged after {int(self._state.clock[passes.ROUND])} "
                f"transitions: the coefficients have norm {norm:.3g} and the recursion was "
                f"stopped; lower learning_rate={self.learning_rate:g}, bound them by clip_norm, "
                "or use TDC or LSTD.",
                ConvergenceWarning,
                stacklevel=6,
            )
        return not self.diverged_

    def _times(self, n: int) -> NDArray[np.float64]:
        return self._state.clock[passes.ROUND] + np.arange(1.0, n + 1.0)

    def _steps(self, n: int) -> NDArray[np.float64]:
        return step_sizes(
            self._times(n),
            self.learning_rate,
            self.schedule,
            decay=self.learning_rate_decay,
            power=self.power,
        )

    def _terms(self, block: Transitions) -> tuple[NDArray[np.float64], ...]:
        return tuple(trace_terms(block, self.gamma, self.lam, self.off_policy, self._carried))

    def _radius(self) -> float:
        return np.inf if self.clip_norm is None else float(self.clip_norm)

    def _pass(self, block: Transitions, alphas: NDArray[np.float64]) -> int:
        raise NotImplementedError

    def _finish(self) -> None:
        state = self._state
        self.coef_ = passes.mean_theta(state) if self.average else state.theta.copy()
        self.trace_ = state.z.copy()
        self.learning_rate_ = float(state.clock[passes.SMALLEST])


class CorrectedEvaluator(GradientEvaluator):
    """Base of the methods with a second vector and its step size β.

    Parameters
    ----------
    beta : float or None, default=None
        Step size of the second vector; ``mu * learning_rate`` when None.
    learning_rate : float, default=0.01
        Step size of the coefficients.
    learning_rate_decay, beta_decay : float, default=1000.0
        When harmonic schedules have halved.
    mu : float, default=1.0
        Ratio of the step sizes where ``beta`` is None.
    power : float, default=1.0
        Exponent of t in the schedules; 2/3 for a harmonic ``beta``.
    schedule : {"constant", "power", "harmonic", "adaptive"}, default="constant"
        How step sizes fall; see `TD`.
    """

    _parameter_constraints: dict[str, Any] = {
        **GradientEvaluator._parameter_constraints,
        "beta": [None, Interval(Real, 0, None, closed="left")],
        "mu": [Interval(Real, 0, None, closed="left")],
        "beta_decay": [POSITIVE],
    }
    _rule = passes.TDC
    beta: float | None
    mu: float
    beta_decay: float

    def _ratios(self, block: Transitions) -> NDArray[np.float64]:
        """Return the weights of φφᵀ in the step of w."""
        return np.ones(len(block))

    def _second_steps(self, alphas: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.schedule == "adaptive":  # the pass multiplies by the step it has found
            return np.full_like(alphas, float(self.mu))
        if self.beta is None:
            return self.mu * alphas  # β = μα
        # β_i = β_0 β_c / (β_c + i^(2/3))
        power = 2.0 / 3.0 if self.schedule == "harmonic" else self.power
        times = self._times(alphas.size)
        return step_sizes(times, self.beta, self.schedule, decay=self.beta_decay, power=power)

    def _pass(self, block: Transitions, alphas: NDArray[np.float64]) -> int:
        return passes._corrected_pass(
            self._rule,
            as_rows(block.X),
            as_rows(block.X_next),
            self._terms(block),
            self._ratios(block),
            alphas,
            self._second_steps(alphas),
            float(self.lam),
            self.schedule == "adaptive",
            self._radius(),
            self._state,
        )

    def _finish(self) -> None:
        super()._finish()
        self.correction_ = passes.second_vector(self._state).copy()


def _warn_of_scales(X: Any, name: str) -> None:
    """Warn when no one step size can suit all features (Message 4 of the survey)."""
    if sp.issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        spread = np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0))
    else:
        spread = X.std(axis=0)
    spread = spread[spread > 1e-12 * max(1.0, spread.max(initial=0.0))]
    if spread.size > 1 and spread.max() > _SPREAD * spread.min():
        warnings.warn(
            f"The standard deviations of the features differ by a factor of "
            f"{spread.max() / spread.min():.3g}; {name} takes one step size for all of them: scale "
            "the features first.",
            UserWarning,
            stacklevel=7,
        )
