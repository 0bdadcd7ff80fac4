"""Linear value functions by stochastic gradients: TD(λ), GTD, GTD2(λ) and TDC(λ).

Each transition moves the coefficients once, at a cost proportional to its features, so that these
methods go where least squares cannot: very many features, sparse rows, endless streams. They need
a step size and features of comparable scale.

References: C. Dann, G. Neumann and J. Peters (2014), "Policy Evaluation with Temporal Differences:
A Survey and Comparison", Journal of Machine Learning Research 15: Section 2.2.1, Algorithms 1-4
(A4 with the updated trace and one importance ratio). M. Geist and B. Scherrer (2014), "Off-policy
Learning With Eligibility Traces: A Survey", same volume: Algorithms 5-7.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from octavo.engine.streams.passes import as_rows
from octavo.rl.evaluators import gradient_passes as passes
from octavo.rl.evaluators.base import UNIT
from octavo.rl.evaluators.gradient_evaluator import CorrectedEvaluator, GradientEvaluator
from octavo.rl.processes.transitions import Transitions

__all__ = ["GTD", "GTD2", "TD", "TDC"]


class TD(GradientEvaluator):
    """TD(λ): a linear value function, moved along each temporal difference.

    The classic method, O(n_features) a transition. On-policy it finds the same value function as
    `LSTD`, given enough data and a step size that suits. Off-policy it may diverge.

    Parameters
    ----------
    lam : float, default=0.0
        Decay of the eligibility traces, in [0, 1]: 0 bootstraps from the next state, 1 uses
        complete returns.
    learning_rate : float, default=0.01
        Step size; its largest value for ``schedule="adaptive"``.
    schedule : {"constant", "power", "harmonic", "adaptive"}, default="constant"
        ``learning_rate``; ``learning_rate * t**-power``; ``learning_rate * learning_rate_decay /
        (learning_rate_decay + t**power)``; or the bound of Dabney and Barto, which needs no
        tuning: ``learning_rate=1`` starts it.
    learning_rate_decay : float, default=1000.0
        When a harmonic schedule has halved.
    power : float, default=1.0
        Exponent of t in the schedules.
    clip_norm : float or None, default=None
        Project the coefficients to a ball of this radius after each step: the one form of
        off-policy TD(λ) whose convergence is proven.
    n_epochs : int, default=1
        Passes over the data in `fit`.
    off_policy : {"transition", "standard"}, default="transition"
        Whether importance ratios multiply the whole temporal difference, or reward and next value
        only.

    Attributes
    ----------
    trace_ : ndarray of shape (`n_features_in_`,)
        The trace after the last transition.
    diverged_ : bool
        Whether the recursion was stopped because the coefficients grew without bound.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    TDC : Converges off-policy too.
    LSTD : The same solution without a step size, at O(n_features²) a transition.

    Notes
    -----
    Do not use it with up to some thousands of features: `LSTD` gets more out of the same data in
    less time. Do not use it on features of very different scales, nor, without `clip_norm`, far
    off-policy.

    References
    ----------
    .. [1] C. Dann, G. Neumann and J. Peters (2014). "Policy Evaluation with Temporal Differences:
       A Survey and Comparison". Journal of Machine Learning Research 15. Algorithm 1.
    .. [2] M. Geist and B. Scherrer (2014). "Off-policy Learning With Eligibility Traces: A
       Survey". Journal of Machine Learning Research 15. Algorithm 5.

    Examples
    --------
    >>> from octavo.rl import TD
    >>> X, X_next = [[1, 0], [0, 1]] * 500, [[0, 1], [1, 0]] * 500
    >>> model = TD(gamma=0.5, learning_rate=0.1).fit(X, [1.0, 0.0] * 500, X_next)
    >>> model.predict([[1, 0], [0, 1]]).round(3)
    array([1.333, 0.667])
    """

    _parameter_constraints: dict[str, Any] = {
        **GradientEvaluator._parameter_constraints,
        "lam": [UNIT],
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

    def _pass(self, block: Transitions, alphas: NDArray[np.float64]) -> int:
        return passes._td_pass(
            as_rows(block.X),
            as_rows(block.X_next),
            self._terms(block),
            alphas,
            self.schedule == "adaptive",
            self._radius(),
            self._state,
        )


class GTD(CorrectedEvaluator):
    """GTD: the first gradient method that converges off-policy, kept for comparison.

    It descends ‖E[δφ]‖² (NEU) with a second vector that estimates E[δφ].

    Parameters
    ----------
    n_epochs : int, default=1
        Passes over the data in `fit`.
    off_policy : {"transition", "standard"}, default="transition"
        Whether importance ratios multiply the whole temporal difference, or reward and next value
        only.

    Attributes
    ----------
    correction_ : ndarray of shape (`n_features_in_`,)
        The second vector.
    trace_ : ndarray of shape (`n_features_in_`,)
        Features of the last transition.
    diverged_ : bool
        Whether the recursion was stopped because the coefficients grew without bound.
    trace_ess_ : float
        Effective sample size of the importance ratios.
    max_trace_factor_ : float
        Always 0: there are no traces.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    TDC : Better on every problem of the survey.

    Notes
    -----
    Do not use it but to compare: `TDC` and `GTD2` minimise a better objective, faster.

    References
    ----------
    .. [1] C. Dann, G. Neumann and J. Peters (2014). "Policy Evaluation with Temporal Differences:
       A Survey and Comparison". Journal of Machine Learning Research 15. Algorithm 2.

    Examples
    --------
    >>> from octavo.rl import GTD
    >>> X, X_next = [[1, 0], [0, 1]] * 500, [[0, 1], [1, 0]] * 500
    >>> model = GTD(gamma=0.5, learning_rate=0.2).fit(X, [1.0, 0.0] * 500, X_next)
    >>> model.predict([[1, 0], [0, 1]]).round(3)
    array([1.333, 0.667])
    """

    _rule = passes.GTD

    def __init__(
        self,
        gamma: float = 0.95,
        *,
        learning_rate: float = 0.01,
        beta: float | None = None,
        mu: float = 1.0,
        schedule: str = "constant",
        learning_rate_decay: float = 1000.0,
        beta_decay: float = 1000.0,
        power: float = 1.0,
        clip_norm: float | None = None,
        n_epochs: int = 1,
        average: bool = False,
        theta0: ArrayLike | None = None,
        off_policy: str = "transition",
    ) -> None:
        self.gamma = gamma
        self.learning_rate = learning_rate
        self.beta = beta
        self.mu = mu
        self.schedule = schedule
        self.learning_rate_decay = learning_rate_decay
        self.beta_decay = beta_decay
        self.power = power
        self.clip_norm = clip_norm
        self.n_epochs = n_epochs
        self.average = average
        self.theta0 = theta0
        self.off_policy = off_policy

    def _ratios(self, block: Transitions) -> NDArray[np.float64]:
        return np.array(block.rho) if self.off_policy == "transition" else np.ones(len(block))


class GTD2(CorrectedEvaluator):
    """GTD2(λ): gradient descent of the projected Bellman error, convergent off-policy.

    Parameters
    ----------
    lam : float, default=0.0
        Decay of the eligibility traces, in [0, 1].
    n_epochs : int, default=1
        Passes over the data in `fit`.
    off_policy : {"transition", "standard"}, default="transition"
        Whether importance ratios multiply the whole temporal difference, or reward and next value
        only.

    Attributes
    ----------
    correction_ : ndarray of shape (`n_features_in_`,)
        The second vector, a regression of temporal differences on features.
    trace_ : ndarray of shape (`n_features_in_`,)
        The trace after the last transition.
    diverged_ : bool
        Whether the recursion was stopped because the coefficients grew without bound.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    TDC : Usually faster.
    LSTD : The same solution without step sizes.

    Notes
    -----
    Do not use it where `LSTD` can be afforded, nor where two step sizes cannot be tuned.

    References
    ----------
    .. [1] C. Dann, G. Neumann and J. Peters (2014). "Policy Evaluation with Temporal Differences:
       A Survey and Comparison". Journal of Machine Learning Research 15. Algorithm 3.
    .. [2] M. Geist and B. Scherrer (2014). "Off-policy Learning With Eligibility Traces: A
       Survey". Journal of Machine Learning Research 15. Algorithm 7.

    Examples
    --------
    >>> from octavo.rl import GTD2
    >>> X, X_next = [[1, 0], [0, 1]] * 500, [[0, 1], [1, 0]] * 500
    >>> model = GTD2(gamma=0.5, learning_rate=0.2).fit(X, [1.0, 0.0] * 500, X_next)
    >>> model.predict([[1, 0], [0, 1]]).round(3)
    array([1.333, 0.667])
    """

    _rule = passes.GTD2
    _parameter_constraints: dict[str, Any] = {
        **CorrectedEvaluator._parameter_constraints,
        "lam": [UNIT],
    }

    def __init__(
        self,
        gamma: float = 0.95,
        lam: float = 0.0,
        *,
        learning_rate: float = 0.01,
        beta: float | None = None,
        mu: float = 1.0,
        schedule: str = "constant",
        learning_rate_decay: float = 1000.0,
        beta_decay: float = 1000.0,
        power: float = 1.0,
        clip_norm: float | None = None,
        n_epochs: int = 1,
        average: bool = False,
        theta0: ArrayLike | None = None,
        off_policy: str = "transition",
    ) -> None:
        self.gamma = gamma
        self.lam = lam
        self.learning_rate = learning_rate
        self.beta = beta
        self.mu = mu
        self.schedule = schedule
        self.learning_rate_decay = learning_rate_decay
        self.beta_decay = beta_decay
        self.power = power
        self.clip_norm = clip_norm
        self.n_epochs = n_epochs
        self.average = average
        self.theta0 = theta0
        self.off_policy = off_policy


class TDC(CorrectedEvaluator):
    """TDC(λ), also known as GQ(λ): TD with a gradient correction that keeps it convergent.

    The best gradient method of the survey. With ``mu=0`` it is `TD`; with ``lam=1`` as well.

    Parameters
    ----------
    lam : float, default=0.0
        Decay of the eligibility traces, in [0, 1].
    n_epochs : int, default=1
        Passes over the data in `fit`.
    off_policy : {"transition", "standard"}, default="transition"
        Whether importance ratios multiply the whole temporal difference, or reward and next value
        only.
    weight_gram : bool, default=False
        Weigh φφᵀ in the second vector by the importance ratios as well (TDC-TO).

    Attributes
    ----------
    correction_ : ndarray of shape (`n_features_in_`,)
        The second vector, a regression of temporal differences on features.
    trace_ : ndarray of shape (`n_features_in_`,)
        The trace after the last transition.
    diverged_ : bool
        Whether the recursion was stopped because the coefficients grew without bound.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    LSTD : The same solution without step sizes.

    Notes
    -----
    Do not use it where `LSTD` can be afforded, nor where two step sizes cannot be tuned.

    References
    ----------
    .. [1] C. Dann, G. Neumann and J. Peters (2014). "Policy Evaluation with Temporal Differences:
       A Survey and Comparison". Journal of Machine Learning Research 15. Algorithm 4.
    .. [2] M. Geist and B. Scherrer (2014). "Off-policy Learning With Eligibility Traces: A
       Survey". Journal of Machine Learning Research 15. Algorithm 6.

    Examples
    --------
    >>> from octavo.rl import TDC
    >>> X, X_next = [[1, 0], [0, 1]] * 500, [[0, 1], [1, 0]] * 500
    >>> model = TDC(gamma=0.5, learning_rate=0.1).fit(X, [1.0, 0.0] * 500, X_next)
    >>> model.predict([[1, 0], [0, 1]]).round(3)
    array([1.333, 0.667])
    """

    _rule = passes.TDC
    _parameter_constraints: dict[str, Any] = {
        **CorrectedEvaluator._parameter_constraints,
        "lam": [UNIT],
        "weight_gram": ["boolean"],
    }

    def __init__(
        self,
        gamma: float = 0.95,
        lam: float = 0.0,
        *,
        learning_rate: float = 0.01,
        beta: float | None = None,
        mu: float = 1.0,
        schedule: str = "constant",
        learning_rate_decay: float = 1000.0,
        beta_decay: float = 1000.0,
        power: float = 1.0,
        clip_norm: float | None = None,
        n_epochs: int = 1,
        average: bool = False,
        theta0: ArrayLike | None = None,
        off_policy: str = "transition",
        weight_gram: bool = False,
    ) -> None:
        self.gamma = gamma
        self.lam = lam
        self.learning_rate = learning_rate
        self.beta = beta
        self.mu = mu
        self.schedule = schedule
        self.learning_rate_decay = learning_rate_decay
        self.beta_decay = beta_decay
        self.power = power
        self.clip_norm = clip_norm
        self.n_epochs = n_epochs
        self.average = average
        self.theta0 = theta0
        self.off_policy = off_policy
        self.weight_gram = weight_gram

    def _ratios(self, block: Transitions) -> NDArray[np.float64]:
        return np.array(block.rho) if self.weight_gram else np.ones(len(block))
