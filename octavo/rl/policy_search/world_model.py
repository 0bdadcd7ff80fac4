"""A linear simulator that is learnt from episodes, and what it predicts of policies.

Reference: Wilson, Fern and Tadepalli (2014), "Using trajectory data to improve Bayesian
optimization for reinforcement learning", JMLR 15:253-282, sections 4.3 and 5.1.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.dynamic_programs.rollouts import roll_out
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.rl.simulators.episodes import Episode
from octavo.rl.simulators.simulator import action_columns, quadratic_expansion

__all__ = ["LinearWorldModel"]

_ROOM = 0.5  # how far beyond the observed box states may go, as a share of its size on each side


def quadratic_features(states: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Return a constant, states, actions and all products of two of them."""
    return quadratic_expansion(action_columns(states, actions))


def quadratic_reward_features(
    states: np.ndarray, actions: np.ndarray, following: np.ndarray
) -> np.ndarray:
    """Return the same with next states."""
    return quadratic_expansion(np.hstack([action_columns(states, actions), following]))


class Log(NamedTuple):
    """Stacked transitions: states, actions, rewards, next states, and first states."""

    states: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    following: np.ndarray
    starts: np.ndarray


def stack_episodes(episodes: Any) -> Log:
    """Stack the transitions of episodes."""
    try:
        episodes = list(episodes)
    except TypeError:
        episodes = []
    if not episodes or not all(isinstance(e, Episode) for e in episodes):
        raise ValueError("A world model is fitted to a list of at least one Episode.")
    widths = {e.states.shape[1] for e in episodes}
    if len(widths) > 1:
        raise ValueError(f"Episodes must have the same variables; got {sorted(widths)} of them.")
    parts = [e.transitions() for e in episodes]
    if not sum(len(part[0]) for part in parts):
        raise ValueError("No episode shows where a step led: give states with the last one.")
    starts = np.array([e.states[0] for e in episodes])
    states, actions, rewards, following = (np.concatenate(column) for column in zip(*parts))
    return Log(states, actions, rewards, following, starts)


def ridge(X: np.ndarray, Y: np.ndarray, alpha: float) -> np.ndarray:
    """Return the coefficients of least squares with a penalty on columns of unit size.

    Without the scaling a penalty would mean nothing: a velocity of 0.07 squared and a constant
    stand side by side in X.
    """
    scale = np.sqrt((X**2).mean(axis=0))
    scale = np.where(scale > 0, scale, 1.0)  # one penalty for features of any unit
    Z = X / scale
    n, p = Z.shape
    if alpha == 0:
        return np.linalg.lstsq(Z, Y, rcond=None)[0] / scale[:, None]
    gram = Z.T @ Z
    gram[np.diag_indices(p)] += alpha * n
    return np.linalg.solve(gram, Z.T @ Y) / scale[:, None]


class LinearWorldModel(SoundEstimator):
    """Transitions and rewards that are linear in features, learnt from episodes.

    Parameters
    ----------
    features : callable, default=None
        Function of (states, actions), arrays of n rows, that returns features (n, p). None stands
        for a constant, all variables and all products of two.
    reward_features : callable, default=None
        The same of (states, actions, next states), for rewards.
    alpha : float, default=1e-6
        Penalty on coefficients of features of unit size, a transition; 0 for plain least squares.
    terminal : callable, default=None
        Function from states (n, n_variables) to which of them end an episode. It is not learnt;
        None stands for episodes that last as long as the horizon.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features, n_variables)
        Coefficients of the next state.
    reward_coef_ : ndarray of shape (n_reward_features,)
        Coefficients of the reward.
    starts_ : ndarray of shape (n_episodes, n_variables)
        First states: roll-outs start from one of them.
    low_, high_ : ndarray of shape (n_variables,)
        Box that roll-outs are kept in: that of the observed states, twice as wide.
    reward_range_ : tuple of float
        Smallest and largest reward seen, beyond which none is predicted.
    n_features_in_ : int
        Number of variables of a state.

    See Also
    --------
    TrajectoryBO : Uses its roll-outs as the prior mean of returns.

    Notes
    -----
    Not a model to plan with on its own where linear features are wrong: roll-outs compound errors,
    and no variance is kept. `TrajectoryBO` measures how much it deserves to be believed.

    References
    ----------
    .. [1] Wilson, Fern and Tadepalli (2014). Using trajectory data to improve Bayesian
       optimization for reinforcement learning. JMLR 15:253-282, section 5.1.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.rl import Episode, LinearWorldModel
    >>> s = 0.5 ** np.arange(6)
    >>> run = Episode(s, np.zeros(5), -s[1:])
    >>> model = LinearWorldModel(lambda s, a: s, lambda s, a, t: t).fit([run])
    >>> [part.round(3).tolist() for part in model.predict([[0.8]], [0])]
    [[[0.4]], [-0.4]]
    """

    _parameter_constraints = {
        "features": [callable, None],
        "reward_features": [callable, None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "terminal": [callable, None],
    }

    def __init__(self, features=None, reward_features=None, alpha=1e-6, *, terminal=None):
        self.features = features
        self.reward_features = reward_features
        self.alpha = alpha
        self.terminal = terminal

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, episodes, y=None):
        """Learn transitions, rewards and first states.

        Parameters
        ----------
        episodes : list of Episode
            Recorded runs of any policies.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted model.
        """
        log = stack_episodes(episodes)
        self.n_features_in_ = log.states.shape[1]
        self.coef_ = ridge(self._describe(log.states, log.actions), log.following, self.alpha)
        made = self._describe(log.states, log.actions, log.following)
        self.reward_coef_ = ridge(made, log.rewards[:, None], self.alpha)[:, 0]
        self.starts_ = log.starts
        seen = np.vstack([log.states, log.following])
        low, high = seen.min(axis=0), seen.max(axis=0)
        self.low_, self.high_ = low - _ROOM * (high - low), high + _ROOM * (high - low)
        self.reward_range_ = (float(log.rewards.min()), float(log.rewards.max()))
        return self

    def _describe(self, *columns: np.ndarray) -> np.ndarray:
        if len(columns) == 2:
            function: Callable[..., Any] = self.features or quadratic_features
        else:
            function = self.reward_features or quadratic_reward_features
        made = np.asarray(function(*columns), dtype=float)
        if made.ndim != 2 or len(made) != len(columns[0]):
            raise ValueError(
                f"Features of {len(columns[0])} rows must have as many rows; got {made.shape}."
            )
        if not np.isfinite(made).all():
            raise ValueError("Features of the world model must be finite; got NaN or infinity.")
        return made

    def predict(self, states, actions):
        """Return next states and rewards.

        Parameters
        ----------
        states : array-like of shape (n, n_variables)
            States.
        actions : array-like of shape (n,) or (n, n_components)
            Actions.

        Returns
        -------
        next_states : ndarray of shape (n, n_variables)
            Predicted states.
        rewards : ndarray of shape (n,)
            Predicted rewards.
        """
        check_is_fitted(self, "coef_")
        states = np.asarray(states, dtype=float)
        if states.ndim != 2 or states.shape[1] != self.n_features_in_:
            raise ValueError(
                f"States must have {self.n_features_in_} columns; got shape {states.shape}."
            )
        actions = np.asarray(actions)
        if len(actions) != len(states):
            raise ValueError(f"{len(states)} states need as many actions; got {len(actions)}.")
        following = self._describe(states, actions) @ self.coef_
        return following, self._describe(states, actions, following) @ self.reward_coef_

    def step(self, states, actions):
        """Take one step that cannot explode: states stay in the box, rewards in their range.

        Parameters
        ----------
        states : array-like of shape (n, n_variables)
            States.
        actions : array-like of shape (n,) or (n, n_components)
            Actions.

        Returns
        -------
        next_states : ndarray of shape (n, n_variables)
            Predicted states.
        rewards : ndarray of shape (n,)
            Predicted rewards.
        ended : ndarray of shape (n,)
            Which steps end an episode.
        """
        following, _ = self.predict(states, actions)
        # a linear model is a guess outside of what was seen
        following = np.clip(following, self.low_, self.high_)
        rewards = self._describe(states, actions, following) @ self.reward_coef_
        ended = np.zeros(len(states), dtype=bool)
        if self.terminal is not None:
            ended = np.asarray(self.terminal(following), dtype=bool)
        return following, np.clip(rewards, *self.reward_range_), ended

    def rollout(self, policy, n, horizon, rng=None, *, thetas=None):
        """Return the simulated returns of policies, with the same chance for each.

        Parameters
        ----------
        policy : object
            The policy, with ``noise`` and ``choose``.
        n : int
            Roll-outs of each.
        horizon : int
            Most steps.
        rng : int, RandomState instance or None, default=None
            Seeds first states and actions; all policies share both, so that returns differ only
            by what policies do.
        thetas : array-like of shape (n_policies, n_params), default=None
            Parameters, one policy a row; None for zeros.

        Returns
        -------
        ndarray of shape (n_policies, n)
            Sums of rewards.
        """
        check_is_fitted(self, "coef_")
        if n < 1 or horizon < 1:
            raise ValueError(f"n and horizon must be at least 1; got {n} and {horizon}.")
        rng = check_random_state(rng)
        thetas = np.zeros((1, policy.n_params)) if thetas is None else thetas
        thetas = np.atleast_2d(np.asarray(thetas, dtype=float))
        first = self.starts_[rng.randint(len(self.starts_), size=n)]
        noise = policy.noise(rng, (horizon, n))
        wide = np.repeat(thetas, n, axis=0)
        found = roll_out(
            self.step,
            lambda rows, states, t: policy.choose(wide[rows], states, noise[t][rows % n]),
            np.tile(first, (len(thetas), 1)),
            horizon,
        )
        return found.totals.reshape(len(thetas), n)
