"""Finite Markov decision processes: exact values, state distributions and simulated logs.

`FiniteMDP` holds transition probabilities, rewards and a discount, and answers in closed form what
policy evaluation estimates from data: the value of a policy, the distribution of the states that a
behaviour policy visits, the importance ratios of one policy against another. It also draws the
data: trajectories of states, and batches of transitions in features for the estimators.

Reference: Geist and Scherrer (2014), "Off-policy learning with eligibility traces: a survey",
JMLR 15:289-333, section 2; Dann, Neumann and Peters (2014), "Policy evaluation with temporal
differences: a survey and comparison", JMLR 15:809-883, section 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_random_state

from octavo.engine.compilation.kernel_cache import njit

__all__ = ["FiniteMDP", "Trajectory"]

_SUM = 1e-8  # how far the sum of probabilities may be from one


class Trajectory(NamedTuple):
    """Steps through a finite MDP, in order: arrays of shape (n_steps,).

    `states`, `actions`, `rewards` and `next_states` are what was seen; `start` is True at the first
    step of an episode and `terminal` where the step ended in a terminal state. Second, independent
    draws from the same states, made on request, are `actions2`, `rewards2` and `next_states2`.
    """

    states: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    next_states: np.ndarray
    start: np.ndarray
    terminal: np.ndarray
    actions2: np.ndarray | None = None
    rewards2: np.ndarray | None = None
    next_states2: np.ndarray | None = None


@njit(cache=True)
def _locate(cumulative, row, u):
    """Return the first position of a row whose cumulative probability exceeds u."""
    low, high = 0, cumulative.shape[1] - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[row, middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True)
def _walk(P_sum, policy_sum, start_sum, terminal, restart, draws, state):
    """Walk a step for each row of `draws`: start, cut, action, successor, and again the last two.

    `state` is where to begin, or -1 to draw it.
    """
    n, n_states = draws.shape[0], terminal.shape[0]
    states = np.empty(n, dtype=np.int64)
    actions = np.empty((2, n), dtype=np.int64)
    successors = np.empty((2, n), dtype=np.int64)
    first = np.zeros(n, dtype=np.bool_)
    fresh = True
    for i in range(n):
        first[i] = fresh
        if state < 0:
            state = _locate(start_sum, 0, draws[i, 0])
        states[i] = state
        for k in range(draws.shape[1] // 2 - 1):
            a = _locate(policy_sum, state, draws[i, 2 * k + 2])
            actions[k, i] = a
            successors[k, i] = _locate(P_sum, a * n_states + state, draws[i, 2 * k + 3])
        cut = draws[i, 1] < restart[state]
        state = successors[0, i]
        fresh = cut or terminal[state]
        if fresh:
            state = -1
    return states, actions, successors, first


@njit(cache=True)
def _walk_states(chain, start_sum, draws, state):
    """Walk a chain, a state for each draw; `state` is where to begin, or -1 to draw it.

    Draws fall into as many shelves as there are states, and a search begins at the first state
    that its shelf can reach (Chen and Asau 1974): one or two looks, whatever the size.
    `chain` is turned into cumulative sums.
    """
    n_states = chain.shape[0]
    width = 1.0 / n_states
    shelves = np.empty((n_states, n_states), dtype=np.int32)
    for row in range(n_states):
        total = 0.0
        for place in range(n_states):
            total += chain[row, place]
            chain[row, place] = total
        place = n_states - 1
        while place >= 0 and chain[row, place] >= total:  # nothing that is impossible is drawn
            chain[row, place] = 2.0
            place -= 1
        place = 0
        for shelf in range(n_states):
            while chain[row, place] <= shelf * width:
                place += 1
            shelves[row, shelf] = place
    states = np.empty(draws.shape[0], dtype=np.int64)
    if state < 0:
        state = _locate(start_sum, 0, draws[0])
    states[0] = state
    for i in range(1, draws.shape[0]):
        u = draws[i]
        place = shelves[state, min(int(u * n_states), n_states - 1)]
        while place > 0 and chain[state, place - 1] > u:  # the edge of a shelf is rounded
            place -= 1
        while chain[state, place] <= u:
            place += 1
        states[i] = state = place
    return states


def as_probabilities(values, shape, name):
    """Check that rows of `values` are probabilities; return them with exact sums."""
    array = np.array(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite probabilities, got NaN or infinity.")
    if array.min() < 0:
        raise ValueError(f"{name} must hold probabilities, got {array.min():.6g} < 0.")
    totals = array.sum(axis=-1)
    worst = np.abs(totals - 1.0).max()
    if worst > _SUM:
        row = np.unravel_index(np.abs(totals - 1.0).argmax(), totals.shape)
        raise ValueError(
            f"Rows of {name} must sum to 1, but row {tuple(map(int, row))} sums to "
            f"{totals[row]:.10g}."
        )
    return array / totals[..., None]


def _as_mask(values, n_states):
    if values is None:
        return np.zeros(n_states, dtype=bool)
    mask = np.asarray(values)
    if mask.dtype != bool:
        index = np.asarray(values, dtype=np.int64).ravel()
        if index.size and (index.min() < 0 or index.max() >= n_states):
            raise ValueError(f"Terminal states must lie in 0..{n_states - 1}, got {index}.")
        mask = np.isin(np.arange(n_states), index)
    if mask.shape != (n_states,):
        raise ValueError(f"terminal must have shape ({n_states},), got {mask.shape}.")
    return mask


def as_rewards(R, n_actions, n_states):
    """Return rewards of shape (n_actions, n_states, n_states), as a view where they repeat."""
    R = np.asarray(R, dtype=np.float64)
    if not np.isfinite(R).all():
        raise ValueError("R must be finite, got NaN or infinity.")
    full = (n_actions, n_states, n_states)
    if R.shape == full:
        return R
    if R.shape == (n_states,):
        return np.broadcast_to(R[None, :, None], full)
    if n_actions == 1 and R.shape == (n_states, n_states):
        return R[None]
    if R.shape == (n_states, n_actions):
        return np.broadcast_to(R.T[:, :, None], full)
    raise ValueError(
        f"R must have shape ({n_states},), ({n_states}, {n_actions}) or {full}, got {R.shape}."
    )


class FiniteMDP:
    """A Markov decision process with finitely many states and actions.

    Parameters
    ----------
    P : array-like of shape (n_actions, n_states, n_states) or (n_states, n_states)
        ``P[a, s, t]`` is the probability of going from s to t by action a. A square matrix is a
        chain: one action.
    R : array-like of shape (n_states,), (n_states, n_actions) or (n_actions, n_states, n_states)
        Reward of leaving a state, of an action in it, or of a transition. For a chain,
        (n_states, n_states) is the reward of a transition.
    gamma : float, default=0.95
        Discount factor, from 0 to 1.
    start : array-like of shape (n_states,), default=None
        Where episodes start; None stands for the uniform distribution.
    terminal : array-like, default=None
        Terminal states: a mask or a list of states. A step into one ends the episode, and its value
        is zero.
    restart : float or array-like of shape (n_states,), default=0.0
        Probability that the log is cut after a step from a state, and a new episode begins. Unlike
        a terminal state this changes no value, only how often states are seen.
    features : array-like of shape (n_states, n_features), default=None
        Features of the states, used by `sample` and by the exact limits; None stands for the
        identity (tabular).

    Attributes
    ----------
    n_states, n_actions : int
        Size.

    Notes
    -----
    Everything is dense: a few thousand states are the practical limit. For larger or sparse
    problems, and for planning, use a package made for it.

    References
    ----------
    .. [1] Geist and Scherrer (2014). Off-policy learning with eligibility traces: a survey.
       JMLR 15:289-333.

    Examples
    --------
    Two states that are left at random; only the rewards differ.

    >>> from octavo.rl import FiniteMDP
    >>> mdp = FiniteMDP([[0.5, 0.5], [0.5, 0.5]], [-0.8, 1.2], gamma=0.8)
    >>> mdp.value().round(10).tolist()
    [0.0, 2.0]
    """

    def __init__(self, P, R, gamma=0.95, *, start=None, terminal=None, restart=0.0, features=None):
        P = np.asarray(P, dtype=np.float64)
        P = P[None] if P.ndim == 2 else P
        if P.ndim != 3 or P.shape[1] != P.shape[2] or 0 in P.shape:
            raise ValueError(
                "P must have shape (n_actions, n_states, n_states) or (n_states, n_states), got "
                f"{P.shape}."
            )
        if not 0 <= gamma <= 1:
            raise ValueError(f"gamma must lie in [0, 1], got {gamma!r}.")
        self.n_actions, self.n_states = P.shape[:2]
        self.P = as_probabilities(P, P.shape, "P")
        self.R = as_rewards(R, self.n_actions, self.n_states)
        self.gamma = float(gamma)
        self.terminal = _as_mask(terminal, self.n_states)
        if self.terminal.all():
            raise ValueError("All states are terminal; at least one must not be.")
        if start is None:
            start = ~self.terminal / (~self.terminal).sum()
        self.start = as_probabilities(start, (self.n_states,), "start")
        if (self.start * self.terminal).any():
            raise ValueError("start must give terminal states no probability.")
        self.restart = np.broadcast_to(np.asarray(restart, dtype=np.float64), (self.n_states,))
        if not ((self.restart >= 0) & (self.restart <= 1)).all():
            raise ValueError(f"restart must hold probabilities, got {restart!r}.")
        self.features = np.eye(self.n_states) if features is None else self._as_features(features)

    def __repr__(self):
        return (
            f"FiniteMDP(n_states={self.n_states}, n_actions={self.n_actions}, "
            f"n_features={self.features.shape[1]}, gamma={self.gamma:g})"
        )

    def _as_features(self, features):
        features = np.asarray(features, dtype=np.float64)
        if features.ndim != 2 or len(features) != self.n_states:
            raise ValueError(
                f"features must have one row for each of {self.n_states} states, got shape "
                f"{features.shape}."
            )
        if not np.isfinite(features).all():
            raise ValueError("features must be finite, got NaN or infinity.")
        return features

    # -- policies ------------------------------------------------------------------------------

    def check_policy(self, policy=None, name="policy"):
        """Return a policy as an array of shape (n_states, n_actions).

        Parameters
        ----------
        policy : array-like of shape (n_states, n_actions) or (n_states,), default=None
            Probabilities, or the action that each state takes for sure. None is the only policy of
            a chain; with several actions it stands for the uniform policy.
        name : str, default="policy"
            What to call it in messages.

        Returns
        -------
        ndarray of shape (n_states, n_actions)
            Probabilities of the actions.
        """
        if policy is None:
            return np.full((self.n_states, self.n_actions), 1.0 / self.n_actions)
        policy = np.asarray(policy)
        if policy.ndim == 1 and np.issubdtype(policy.dtype, np.integer):
            if policy.shape != (self.n_states,):
                raise ValueError(f"{name} must name {self.n_states} actions, got {policy.size}.")
            if policy.min() < 0 or policy.max() >= self.n_actions:
                raise ValueError(f"Actions of {name} must lie in 0..{self.n_actions - 1}.")
            return np.eye(self.n_actions)[policy]
        return as_probabilities(policy, (self.n_states, self.n_actions), name)

    def random_policy(self, random_state=None):
        """Draw a policy: in each state, the gaps that n_actions - 1 uniform cuts leave in [0, 1].

        Parameters
        ----------
        random_state : int, RandomState instance or None, default=None
            Seeds the draw.

        Returns
        -------
        ndarray of shape (n_states, n_actions)
            The policy.
        """
        rng = check_random_state(random_state)
        cuts = np.sort(rng.uniform(size=(self.n_states, self.n_actions - 1)), axis=1)
        return np.diff(cuts, axis=1, prepend=0.0, append=1.0)

    def importance_ratios(self, target, behaviour):
        """Return π(a|s) / π₀(a|s); zero where neither policy takes the action.

        Parameters
        ----------
        target, behaviour : array-like of shape (n_states, n_actions)
            The policy π that is evaluated and the policy π₀ that acts.

        Returns
        -------
        ndarray of shape (n_states, n_actions)
            The ratios.
        """
        target = self.check_policy(target, "target")
        behaviour = self.check_policy(behaviour, "behaviour")
        unsupported = (behaviour == 0) & (target > 0) & ~self.terminal[:, None]
        if unsupported.any():
            s, a = map(int, np.argwhere(unsupported)[0])
            raise ValueError(
                f"The behaviour policy has no support where the target acts: in state {s} the "
                f"target takes action {a} with probability {target[s, a]:.6g}, the behaviour never."
            )
        return np.divide(target, behaviour, out=np.zeros_like(target), where=behaviour > 0)

    # -- exact quantities ----------------------------------------------------------------------

    def transition_matrix(self, policy=None):
        """Return P^π without what terminal states would do: their rows and columns are zero.

        Parameters
        ----------
        policy : array-like of shape (n_states, n_actions), default=None
            The policy.

        Returns
        -------
        ndarray of shape (n_states, n_states)
            A stochastic matrix if there are no terminal states.
        """
        policy = self.check_policy(policy)
        if (policy.max(axis=1) == 1.0).all():  # nothing to average
            P = self.P[policy.argmax(axis=1), np.arange(self.n_states)]
        else:
            P = np.einsum("sa,ast->st", policy, self.P)
        P[self.terminal] = 0.0
        P[:, self.terminal] = 0.0
        return P

    def surviving_matrix(self, policy=None):
        """Return the probabilities of transitions after which the episode goes on.

        Parameters
        ----------
        policy : array-like of shape (n_states, n_actions), default=None
            The policy.

        Returns
        -------
        ndarray of shape (n_states, n_states)
            `transition_matrix`, less what `restart` cuts.
        """
        return (1.0 - self.restart)[:, None] * self.transition_matrix(policy)

    def expected_rewards(self, policy=None):
        """Return R^π, the mean reward of a step from each state.

        Parameters
        ----------
        policy : array-like of shape (n_states, n_actions), default=None
            The policy.

        Returns
        -------
        ndarray of shape (n_states,)
            Zero in terminal states.
        """
        R = np.einsum("sa,sa->s", self.check_policy(policy), self.action_rewards())
        return np.where(self.terminal, 0.0, R)

    def action_rewards(self):
        """Return r(s, a), the mean reward of an action.

        Returns
        -------
        ndarray of shape (n_states, n_actions)
            The rewards.
        """
        if self.R.strides[2] == 0:  # it does not depend on where the step leads
            return self.R[:, :, 0].T.copy()
        return np.einsum("ast,ast->sa", self.P, self.R)

    def value(self, policy=None):
        """Return V^π = (I − γP^π)⁻¹R^π.

        Parameters
        ----------
        policy : array-like of shape (n_states, n_actions), default=None
            The policy.

        Returns
        -------
        ndarray of shape (n_states,)
            The values.
        """
        P = self.transition_matrix(policy)
        if self.gamma == 1 and not _ends_surely(P, self.terminal):
            raise ValueError(
                "The value is not defined: gamma is 1 and some states never reach a terminal one."
            )
        return np.linalg.solve(
            np.eye(self.n_states) - self.gamma * P, self.expected_rewards(policy)
        )

    def action_value(self, policy=None):
        """Return Q^π(s, a), the value of an action followed by the policy.

        Parameters
        ----------
        policy : array-like of shape (n_states, n_actions), default=None
            The policy.

        Returns
        -------
        ndarray of shape (n_states, n_actions)
            The values.
        """
        Q = self.action_rewards() + self.gamma * (self.P @ self.value(policy)).T
        return np.where(self.terminal[:, None], 0.0, Q)

    def state_distribution(self, policy=None):
        """Return how often a long log of a policy departs from each state.

        It is the stationary distribution of the chain where nothing ends an episode, and the
        normalised number of visits of an episode where something does.

        Parameters
        ----------
        policy : array-like of shape (n_states, n_actions), default=None
            The policy that acts.

        Returns
        -------
        ndarray of shape (n_states,)
            Probabilities; zero in terminal states.
        """
        P = self.surviving_matrix(policy)
        if (self.restart > 0).any() or self.terminal.any():
            reachable = _reachable_from(P, self.start > 0)
            if not _ends_surely(P, self.terminal, reachable):
                raise ValueError(
                    "Some episodes of this policy never end: the states that it visits for ever "
                    "must reach a terminal state or one with restart > 0."
                )
            visits = np.zeros(self.n_states)
            inside = np.ix_(reachable, reachable)
            # Visits v = start + P'v, of episodes that end or are cut.
            system = np.eye(reachable.sum()) - P[inside].T
            visits[reachable] = np.linalg.solve(system, self.start[reachable])
            return visits / visits.sum()
        return _stationary(P)

    # -- data ----------------------------------------------------------------------------------

    def simulate(self, n_steps, policy=None, *, double=False, state=None, random_state=None):
        """Draw a trajectory of states, actions and rewards.

        Parameters
        ----------
        n_steps : int
            How many steps.
        policy : array-like of shape (n_states, n_actions), default=None
            The policy that acts.
        double : bool, default=False
            Whether to draw a second action and successor, independent of the first, at each step.
        state : int, default=None
            Where the first episode starts; None draws it from `start`.
        random_state : int, RandomState instance or None, default=None
            Seeds the simulation.

        Returns
        -------
        Trajectory
            The steps.
        """
        self._check_walk(n_steps, state)
        policy = self.check_policy(policy)
        draws = check_random_state(random_state).uniform(size=(n_steps, 6 if double else 4))
        states, actions, successors, first = _walk(
            self._cumulative(),
            _cumulated(policy),
            _cumulated(self.start)[None],
            self.terminal,
            self.restart,
            draws,
            -1 if state is None else state,
        )
        kept = slice(0, 2 if double else 1)  # the second row is only filled by a second draw
        actions, successors = actions[kept], successors[kept]
        rewards = self.R[actions, states[None], successors]
        seen = (states, actions[0], rewards[0], successors[0], first, self.terminal[successors[0]])
        second = (actions[1], rewards[1], successors[1]) if double else ()
        return Trajectory(*seen, *second)

    def simulate_states(self, n_steps, policy=None, *, state=None, random_state=None):
        """Draw the states of a trajectory alone: several times faster than `simulate`.

        Where something ends episodes, the first state of the next one follows the last of one.

        Parameters
        ----------
        n_steps : int
            How many steps.
        policy : array-like of shape (n_states, n_actions), default=None
            The policy that acts.
        state : int, default=None
            Where the first episode starts; None draws it from `start`.
        random_state : int, RandomState instance or None, default=None
            Seeds the simulation.

        Returns
        -------
        ndarray of shape (n_steps,)
            The states that steps depart from. They are distributed as those of `simulate`, which
            draws other numbers.
        """
        self._check_walk(n_steps, state)
        chain = self.transition_matrix(policy)
        if (self.restart > 0).any() or self.terminal.any():
            chain *= (1.0 - self.restart)[:, None]
            chain += (1.0 - chain.sum(axis=1))[:, None] * self.start
        draws = check_random_state(random_state).uniform(size=n_steps)
        begin = -1 if state is None else state
        return _walk_states(chain, _cumulated(self.start)[None], draws, begin)

    def _check_walk(self, n_steps, state):
        if n_steps < 1:
            raise ValueError(f"n_steps must be at least 1, got {n_steps!r}.")
        if state is not None and not (0 <= state < self.n_states and not self.terminal[state]):
            raise ValueError(f"state must be one of 0..{self.n_states - 1} and not terminal.")

    def _cumulative(self):
        if not hasattr(self, "_P_sum"):
            self._P_sum = _cumulated(self.P).reshape(-1, self.n_states)
        return self._P_sum

    def sample(
        self,
        n_steps,
        policy=None,
        behaviour=None,
        *,
        features=None,
        double=False,
        random_state=None,
    ):
        """Draw a log of transitions, in features, as the estimators take them.

        Parameters
        ----------
        n_steps : int
            How many transitions.
        policy : array-like of shape (n_states, n_actions), default=None
            The target policy.
        behaviour : array-like of shape (n_states, n_actions), default=None
            The policy that acts; None stands for the target policy, and no ratios.
        features : array-like of shape (n_states, n_features), default=None
            Features of the states; None stands for those of the MDP.
        double : bool, default=False
            Whether to draw a second successor of each state.
        random_state : int, RandomState instance or None, default=None
            Seeds the simulation.

        Returns
        -------
        Transitions
            Features, rewards, features of the successors, importance ratios, starts and ends.
        """
        from octavo.rl.processes.transitions import Transitions

        target = self.check_policy(policy, "policy")
        Phi = self.features if features is None else self._as_features(features)
        ratios = None if behaviour is None else self.importance_ratios(target, behaviour)
        acting = target if behaviour is None else self.check_policy(behaviour, "behaviour")
        walk = self.simulate(n_steps, acting, double=double, random_state=random_state)
        rho = None if ratios is None else ratios[walk.states, walk.actions]
        second = {}
        if double:
            second = {
                "X_next2": self._successor_features(Phi, walk.next_states2),
                "r2": walk.rewards2,
                "rho2": None if ratios is None else ratios[walk.states, walk.actions2],
                "terminal2": self.terminal[walk.next_states2],
            }
        return Transitions(
            Phi[walk.states],
            walk.rewards,
            self._successor_features(Phi, walk.next_states),
            rho=rho,
            start=walk.start,
            terminal=walk.terminal,
            **second,
        )

    def _successor_features(self, Phi, states):
        return np.where(self.terminal[states][:, None], 0.0, Phi[states])


def _cumulated(probabilities):
    """Return cumulative sums whose last entry cannot fall short of one."""
    total = np.cumsum(probabilities, axis=-1)
    # A draw above the last possible outcome's sum must not select an impossible one after it.
    return np.where(total >= total[..., -1:], 2.0, total)


def _reachable_from(P, seeds):
    reached, frontier = seeds.copy(), seeds
    while frontier.any():
        frontier = (P[frontier] > 0).any(axis=0) & ~reached
        reached |= frontier
    return reached


def _ends_surely(P, terminal, among=None):
    """Tell whether every (or every one of some) state reaches a terminal one with probability 1."""
    leaks = ~terminal & (P.sum(axis=1) < 1 - _SUM)
    can_end = _reachable_from(P.T, leaks)
    return bool((can_end | terminal if among is None else (can_end | terminal)[among]).all())


def _stationary(P):
    """Return the distribution μ = μP of a chain with one recurrent class."""
    labels = np.zeros(len(P), dtype=int)
    if not (P[:, 0] > 0).all():  # otherwise all states lead to the first one: one class
        _, labels = connected_components(P > 0, directed=True, connection="strong")
    names = np.unique(labels)
    recurrent = [k for k in names if not (P[np.ix_(labels == k, labels != k)] > 0).any()]
    if len(recurrent) > 1:
        raise ValueError(
            f"The chain has {len(recurrent)} recurrent classes, and so no unique stationary "
            "distribution; a behaviour policy must be able to return to every state it starts in."
        )
    inside = np.flatnonzero(labels == recurrent[0])
    system = np.eye(len(inside)) - P[np.ix_(inside, inside)].T
    system[-1] = 1.0  # the equations are one too many; the last gives way to the sum
    right = np.zeros(len(inside))
    right[-1] = 1.0
    mu = np.zeros(len(P))
    mu[inside] = np.linalg.solve(system, right)
    return np.maximum(mu, 0.0) / np.maximum(mu, 0.0).sum()


def _warmup() -> None:
    """Compile every kernel of this module."""
    mdp = FiniteMDP([[0.5, 0.5], [0.5, 0.5]], [0.0, 1.0])
    mdp.simulate(2, random_state=0)
    mdp.simulate_states(2, random_state=0)
