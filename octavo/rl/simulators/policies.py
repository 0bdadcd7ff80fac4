"""Stochastic policies with a vector of parameters.

A policy has ``n_params``, ``act(theta, state, rng)``, ``log_prob(theta, states, actions)``, for
finite actions ``log_probs(theta, states)``, and three things that a user's own policy may lack:
``step_divergence`` (the divergence of two policies in each state, exactly), ``score`` (the
gradient of ``log_prob``), and ``noise`` with ``choose``, which act for many policies at once.

Reference: Wilson, Fern and Tadepalli (2014), JMLR 15:253-282, section 5.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

__all__ = ["GaussianLinearPolicy", "MultiControllerPolicy", "SoftmaxLinearPolicy"]

Features = Callable[[np.ndarray], np.ndarray]


def is_real(value: Any) -> bool:
    """Whether a value is a real number."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _count(name: str, value: Any) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}.")
    return int(value)


class LinearPolicy:
    """What linear policies share: features of states, and parameters as a matrix."""

    def __init__(self, n_features: int, n_actions: int, features: Features | None = None) -> None:
        self.n_features, self.n_actions = (
            _count("n_features", n_features),
            _count("n_actions", n_actions),
        )
        if features is not None and not callable(features):
            raise ValueError(f"features must be a function of states or None; got {features!r}.")
        self.features = features
        self.n_params = self.n_features * self.n_actions

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), self.n_features, self.n_actions))

    def describe(self, states: Any) -> np.ndarray:
        """Return the features of states, one row each."""
        states = np.asarray(states, dtype=float)
        states = states[:, None] if states.ndim == 1 else states
        made = states if self.features is None else np.asarray(self.features(states), dtype=float)
        if made.ndim != 2 or made.shape[1] != self.n_features or len(made) != len(states):
            raise ValueError(
                f"States must have {self.n_features} features; got an array of shape {made.shape}."
            )
        return made

    def weights(self, theta: Any) -> np.ndarray:
        """Return parameters as a matrix of features by actions."""
        theta = np.asarray(theta, dtype=float)
        if theta.shape != (self.n_params,):
            raise ValueError(
                f"theta must hold {self.n_params} parameters; got shape {theta.shape}."
            )
        return theta.reshape(self.n_features, self.n_actions)

    def _scores(self, thetas: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Return feature sums of rows that each have parameters of their own."""
        made = self.describe(states)
        W = np.asarray(thetas, dtype=float).reshape(len(made), self.n_features, self.n_actions)
        return np.einsum("nf,nfa->na", made, W)


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Return logarithms of probabilities from logits, row by row."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


class SoftmaxLinearPolicy(LinearPolicy):
    """Finite actions with probabilities in proportion to exp(θ_a · f(s)).

    Parameters
    ----------
    n_features : int
        Number of features of a state.
    n_actions : int
        Number of actions; they are numbered from 0.
    features : callable, default=None
        Function from states (n, n_variables) to features (n, n_features); None stands for the
        states themselves.

    Attributes
    ----------
    n_params : int
        n_features x n_actions: logits are ``features(states) @ theta.reshape(n_features,
        n_actions)``.

    See Also
    --------
    MultiControllerPolicy : Several actions at once.

    Notes
    -----
    Not for actions on a continuum: use `GaussianLinearPolicy`.

    References
    ----------
    .. [1] Wilson, Fern and Tadepalli (2014). Using trajectory data to improve Bayesian
       optimization for reinforcement learning. JMLR 15:253-282, section 5.1.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.rl import SoftmaxLinearPolicy
    >>> policy = SoftmaxLinearPolicy(1, 2)
    >>> np.exp(policy.log_probs([0.0, np.log(3)], [[1.0]])).round(2).tolist()
    [[0.25, 0.75]]
    """

    def __repr__(self) -> str:
        return f"SoftmaxLinearPolicy(n_features={self.n_features}, n_actions={self.n_actions})"

    def log_probs(self, theta: Any, states: Any) -> np.ndarray:
        """Return ln π(a|s) of every action, one row a state."""
        return log_softmax(self.describe(states) @ self.weights(theta))

    def log_prob(self, theta: Any, states: Any, actions: Any) -> np.ndarray:
        """Return ln π(a|s) of the actions that were taken."""
        table = self.log_probs(theta, states)
        return table[np.arange(len(table)), self.as_actions(actions)]

    def as_actions(self, actions: Any) -> np.ndarray:
        """Return actions as checked whole numbers."""
        given = np.ravel(actions)
        if given.dtype.kind == "f" and not (given % 1 == 0).all():
            raise ValueError(f"Actions must be whole numbers; got {given[given % 1 != 0][0]:g}.")
        whole = given.astype(np.int64)
        if whole.size and (whole.min() < 0 or whole.max() >= self.n_actions):
            raise ValueError(
                f"Actions must lie in 0..{self.n_actions - 1}; got {whole.min()} to {whole.max()}."
            )
        return whole

    def act(self, theta: Any, state: Any, rng: Any) -> int:
        """Draw an action in one state."""
        state = np.atleast_2d(np.asarray(state, dtype=float))
        return int(self.choose(np.atleast_2d(theta), state, np.array([rng.random()]))[0])

    def noise(self, rng: Any, shape: tuple[int, ...]) -> np.ndarray:
        """Draw what `choose` turns into actions: uniform numbers."""
        return rng.random(shape)

    def choose(self, thetas: np.ndarray, states: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return actions of many rows, each with parameters, a state and noise of its own."""
        logits = self._scores(thetas, states)
        cumulative = np.cumsum(np.exp(logits - logits.max(axis=1, keepdims=True)), axis=1)
        below = cumulative < (noise * cumulative[:, -1])[:, None]
        return np.minimum(below.sum(axis=1), self.n_actions - 1)

    def step_divergence(self, theta: Any, other: Any, states: Any) -> np.ndarray:
        """Return KL(π_θ(·|s) ‖ π_other(·|s)) of each state."""
        mine, theirs = self.log_probs(theta, states), self.log_probs(other, states)
        return np.einsum("na,na->n", np.exp(mine), mine - theirs)  # Σ π (log π - log π')

    def score(self, theta: Any, state: Any, action: Any) -> np.ndarray:
        """Return the gradient of ln π(a|s) in the parameters."""
        made = self.describe(np.atleast_2d(np.asarray(state, dtype=float)))[0]
        push = -np.exp(log_softmax(made @ self.weights(theta)))
        push[int(action)] += 1.0
        return np.outer(made, push).ravel()


class GaussianLinearPolicy(LinearPolicy):
    """Actions θ · f(s) plus normal noise.

    Parameters
    ----------
    n_features : int
        Number of features of a state.
    n_actions : int
        Number of components of an action.
    features : callable, default=None
        Function from states (n, n_variables) to features (n, n_features); None stands for the
        states themselves.
    scale : float, default=1.0
        Standard deviation of the noise, the paper's ε; 0 for a deterministic policy, which the
        behaviour kernel cannot compare.

    Attributes
    ----------
    n_params : int
        n_features x n_actions: means are ``features(states) @ theta.reshape(n_features,
        n_actions)``.

    See Also
    --------
    SoftmaxLinearPolicy : Finite actions.

    Notes
    -----
    The mean is linear: curvature has to come from the features.

    References
    ----------
    .. [1] Wilson, Fern and Tadepalli (2014). Using trajectory data to improve Bayesian
       optimization for reinforcement learning. JMLR 15:253-282, section 5.1.

    Examples
    --------
    >>> from octavo.rl import GaussianLinearPolicy
    >>> policy = GaussianLinearPolicy(1, 1, scale=0.5)
    >>> policy.log_prob([2.0], [[1.0]], [[2.0]]).round(4).tolist()
    [-0.2258]
    """

    def __init__(
        self,
        n_features: int,
        n_actions: int,
        features: Features | None = None,
        scale: Any = 1.0,
    ) -> None:
        super().__init__(n_features, n_actions, features)
        if not is_real(scale) or not 0 <= scale < np.inf:
            raise ValueError(f"scale must be a number of at least 0; got {scale!r}.")
        self.scale = float(scale)

    def __repr__(self) -> str:
        return (
            f"GaussianLinearPolicy(n_features={self.n_features}, n_actions={self.n_actions}, "
            f"scale={self.scale:g})"
        )

    def _positive_scale(self) -> float:
        if self.scale == 0:
            raise ValueError(
                "A deterministic policy has no density: give scale > 0, or use kernel='se'."
            )
        return self.scale

    def mean(self, theta: Any, states: Any) -> np.ndarray:
        """Return the mean actions, one row a state."""
        return self.describe(states) @ self.weights(theta)

    def log_prob(self, theta: Any, states: Any, actions: Any) -> np.ndarray:
        """Return ln π(a|s) of the actions that were taken."""
        scale, mean = self._positive_scale(), self.mean(theta, states)
        off = (np.asarray(actions, dtype=float).reshape(mean.shape) - mean) / scale
        constant = self.n_actions * (np.log(scale) + 0.5 * np.log(2 * np.pi))
        return -0.5 * (off**2).sum(axis=1) - constant

    def act(self, theta: Any, state: Any, rng: Any) -> np.ndarray:
        """Draw an action in one state."""
        mean = self.mean(theta, np.atleast_2d(np.asarray(state, dtype=float)))[0]
        return mean + self.scale * rng.standard_normal(self.n_actions)

    def noise(self, rng: Any, shape: tuple[int, ...]) -> np.ndarray:
        """Draw what `choose` turns into actions: standard normal vectors."""
        return rng.standard_normal((*shape, self.n_actions))

    def choose(self, thetas: np.ndarray, states: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return actions of many rows, each with parameters, a state and noise of its own."""
        return self._scores(thetas, states) + self.scale * noise

    def step_divergence(self, theta: Any, other: Any, states: Any) -> np.ndarray:
        """Return KL(π_θ(·|s) ‖ π_other(·|s)) of each state."""
        scale = self._positive_scale()
        apart = self.describe(states) @ (self.weights(theta) - self.weights(other))
        return 0.5 * (apart**2).sum(axis=1) / scale**2  # of two normals with one variance

    def score(self, theta: Any, state: Any, action: Any) -> np.ndarray:
        """Return the gradient of ln π(a|s) in the parameters."""
        scale = self._positive_scale()
        made = self.describe(np.atleast_2d(np.asarray(state, dtype=float)))[0]
        off = np.ravel(action) - made @ self.weights(theta)
        return np.outer(made, off / scale**2).ravel()


class MultiControllerPolicy:
    """Several policies that act at once, each on its own component of the action.

    Parameters
    ----------
    policies : sequence of SoftmaxLinearPolicy
        The controllers, all of the same state. Their parameters follow each other in theta, and
        an action is a vector with one number for each.

    Attributes
    ----------
    n_params : int
        Parameters of all controllers.
    n_actions : int
        Number of joint actions; the last controller's varies fastest.

    See Also
    --------
    SoftmaxLinearPolicy : One controller.

    Notes
    -----
    Controllers draw independently of each other. Where actions must be coordinated at random, use
    one `SoftmaxLinearPolicy` over joint actions.

    References
    ----------
    .. [1] Wilson, Fern and Tadepalli (2014). Using trajectory data to improve Bayesian
       optimization for reinforcement learning. JMLR 15:253-282, section 5.5.

    Examples
    --------
    >>> from octavo.rl import MultiControllerPolicy, SoftmaxLinearPolicy
    >>> arm = MultiControllerPolicy([SoftmaxLinearPolicy(2, 2) for _ in range(3)])
    >>> arm.n_params, arm.n_actions
    (12, 8)
    """

    def __init__(self, policies: Sequence[SoftmaxLinearPolicy]) -> None:
        try:
            policies = list(policies)
        except TypeError:
            policies = []
        if not policies or not all(hasattr(p, "log_probs") for p in policies):
            raise ValueError("policies must be a sequence of policies with finite actions.")
        self.policies = policies
        sizes = [p.n_params for p in policies]
        self._ends = np.cumsum(sizes)
        self.n_params = int(self._ends[-1])
        self.n_actions = int(np.prod([p.n_actions for p in policies]))

    def __repr__(self) -> str:
        return f"MultiControllerPolicy({self.policies!r})"

    def _parts(self, theta: Any) -> list[np.ndarray]:
        theta = np.asarray(theta, dtype=float)
        if theta.shape[-1:] != (self.n_params,):
            raise ValueError(
                f"theta must hold {self.n_params} parameters; got shape {theta.shape}."
            )
        return np.split(theta, self._ends[:-1], axis=-1)

    def _columns(self, actions: Any) -> np.ndarray:
        columns = np.asarray(actions)
        if columns.ndim != 2 or columns.shape[1] != len(self.policies):
            raise ValueError(
                f"Actions must have a column for each of {len(self.policies)} controllers; got "
                f"shape {columns.shape}."
            )
        return columns

    def log_prob(self, theta: Any, states: Any, actions: Any) -> np.ndarray:
        """Return ln π(a|s) of the actions that were taken."""
        columns = self._columns(actions)
        each = zip(self.policies, self._parts(theta), columns.T)
        return np.sum([p.log_prob(part, states, column) for p, part, column in each], axis=0)

    def log_probs(self, theta: Any, states: Any) -> np.ndarray:
        """Return ln π(a|s) of every joint action, one row a state."""
        total = np.zeros((len(np.asarray(states)), 1))
        for policy, part in zip(self.policies, self._parts(theta)):
            table = policy.log_probs(part, states)
            total = (total[:, :, None] + table[:, None, :]).reshape(len(table), -1)
        return total

    def act(self, theta: Any, state: Any, rng: Any) -> np.ndarray:
        """Draw an action of each controller in one state."""
        each = zip(self.policies, self._parts(theta))
        return np.array([policy.act(part, state, rng) for policy, part in each])

    def noise(self, rng: Any, shape: tuple[int, ...]) -> np.ndarray:
        """Draw what `choose` turns into actions: uniform numbers."""
        return rng.random((*shape, len(self.policies)))

    def choose(self, thetas: np.ndarray, states: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return actions of many rows, each with parameters, a state and noise of its own."""
        each = zip(self.policies, self._parts(thetas), noise.T)
        return np.column_stack([p.choose(part, states, draw) for p, part, draw in each])

    def step_divergence(self, theta: Any, other: Any, states: Any) -> np.ndarray:
        """Return KL(π_θ(·|s) ‖ π_other(·|s)) of each state: the sum over controllers."""
        each = zip(self.policies, self._parts(theta), self._parts(other))
        return np.sum([p.step_divergence(a, b, states) for p, a, b in each], axis=0)

    def score(self, theta: Any, state: Any, action: Any) -> np.ndarray:
        """Return the gradient of ln π(a|s) in the parameters."""
        each = zip(self.policies, self._parts(theta), np.ravel(action))
        return np.concatenate([p.score(part, state, a) for p, part, a in each])
