"""Logged transitions of a Markov chain with features, the input of every policy evaluator.

A transition is (features of the state, reward, features of the next state), with an importance
ratio where the data come from another policy than the one to evaluate. `Transitions` holds a
batch of them, checked once, and is never changed afterwards; it is made from arrays, from whole
trajectories, from logged actions with the probabilities of two policies, or by running a
gymnasium environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sparse_rows import canonical_csr

__all__ = ["Transitions", "importance_ratios"]

Policy = ArrayLike | Callable[[Any, Any], float]


@dataclass(frozen=True, eq=False)
class Transitions:
    """A batch of transitions in the order in which they happened.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_transitions, n_features)
        Features of the states.
    r : array-like of shape (n_transitions,)
        Rewards received on leaving those states.
    X_next : array-like or CSR matrix of shape (n_transitions, n_features)
        Features of the states that followed.
    rho : array-like of shape (n_transitions,), default=None
        Importance ratios π(a|s) / π₀(a|s) of the actions taken; 1 when None.
    start : array-like of bool of shape (n_transitions,), default=None
        Where an episode begins: traces are reset there. The first transition and those after a
        terminal one always begin an episode.
    terminal : array-like of bool of shape (n_transitions,), default=None
        Where an episode ends for good: the value of the next state is 0, so its features are
        taken to be 0. An episode that was merely cut off is not terminal.
    X_next2 : array-like or CSR matrix of shape (n_transitions, n_features), default=None
        A second, independent draw of the next state's features, for the methods that need one.
    r2, rho2 : array-like of shape (n_transitions,), default=None
        Reward and importance ratio of the second draw.
    terminal2 : array-like of bool of shape (n_transitions,), default=None
        Where the second draw ended in a terminal state; as ``terminal`` when None.

    Attributes
    ----------
    on_policy : bool
        Whether every importance ratio is 1.
    n_features : int
        Number of features.

    See Also
    --------
    importance_ratios : Ratios from the probabilities of two policies.

    Examples
    --------
    >>> from octavo.rl import Transitions
    >>> walk = Transitions.from_trajectories([[[1, 0], [0, 1], [1, 1]]], [[0.5, 2.0]])
    >>> len(walk), walk.start, walk.terminal
    (2, array([ True, False]), array([False,  True]))
    """

    X: Any
    r: Any
    X_next: Any
    rho: Any = None
    start: Any = None
    terminal: Any = None
    X_next2: Any = None
    r2: Any = None
    rho2: Any = None
    terminal2: Any = None

    def __post_init__(self) -> None:
        X, X_next = _checked_features(self.X, "X"), _checked_features(self.X_next, "X_next")
        _require_shape(X_next, X.shape, "X_next")
        if sp.issparse(X) != sp.issparse(X_next):
            X, X_next = sp.csr_matrix(X), sp.csr_matrix(X_next)
        n = X.shape[0]
        terminal = _checked_flags(self.terminal, n, "terminal")
        start = _checked_flags(self.start, n, "start")
        start[0] = True
        start[1:] |= terminal[:-1]
        checked = {
            "X": X,
            "r": _checked_numbers(self.r, n, "r"),
            "X_next": _without_terminal(X_next, terminal),
            "rho": _checked_ratios(self.rho, n, "rho"),
            "start": start,
            "terminal": terminal,
            **self._checked_second_draw(X, terminal),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, _locked(value))

    def _checked_second_draw(self, X: Any, terminal: NDArray[np.bool_]) -> dict[str, Any]:
        if self.X_next2 is None:
            if any(part is not None for part in (self.r2, self.rho2, self.terminal2)):
                raise ValueError(
                    "r2, rho2 and terminal2 belong to a second draw: give X_next2 with them."
                )
            return {}
        if self.r2 is None:
            raise ValueError("X_next2 was given without r2, the rewards of the second draw.")
        if self.rho is not None and self.rho2 is None:
            raise ValueError("rho was given without rho2, the ratios of the second draw.")
        X_next2 = _checked_features(self.X_next2, "X_next2")
        _require_shape(X_next2, X.shape, "X_next2")
        if sp.issparse(X) != sp.issparse(X_next2):
            X_next2 = sp.csr_matrix(X_next2) if sp.issparse(X) else X_next2.toarray()
        if self.terminal2 is not None:  # the draws are independent, and so are their ends
            terminal = _checked_flags(self.terminal2, X.shape[0], "terminal2")
        return {
            "X_next2": _without_terminal(X_next2, terminal),
            "terminal2": terminal,
            "r2": _checked_numbers(self.r2, X.shape[0], "r2"),
            "rho2": _checked_ratios(self.rho2, X.shape[0], "rho2"),
        }

    def __len__(self) -> int:
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.X.shape[1]

    @property
    def on_policy(self) -> bool:
        """Whether every importance ratio is 1."""
        return bool(np.all(self.rho == 1.0))

    @property
    def previous_rho(self) -> NDArray[np.float64]:
        """The ratio of the step before, 0 where an episode begins: what a trace decays by."""
        previous = np.empty_like(self.rho)
        previous[0] = 0.0
        previous[1:] = self.rho[:-1]
        previous[self.start] = 0.0
        return previous

    def __getitem__(self, rows: slice) -> Self:
        """Return consecutive transitions; the first of them begins an episode."""
        if not isinstance(rows, slice) or rows.step not in (None, 1):
            raise TypeError(f"transitions are taken by consecutive slices, got {rows!r}.")
        return self._cut(rows)._beginning(True)

    def _cut(self, rows: slice) -> Self:
        """Return consecutive transitions without checking them or touching ``start``."""
        part = object.__new__(type(self))
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            object.__setattr__(part, name, None if value is None else _locked(value[rows]))
        return part

    def _beginning(self, begins: bool) -> Self:
        """Return the batch with or without the beginning of an episode at its first transition."""
        part = self._cut(slice(None))
        start = part.start.copy()
        start[:1] = begins
        object.__setattr__(part, "start", _locked(start))
        return part

    def chunks(self, size: int) -> Iterator[Self]:
        """Cut the batch into consecutive parts whose traces continue into the next.

        Parameters
        ----------
        size : int
            The most transitions in a part.

        Yields
        ------
        part : Transitions
            Views of the data; ``start`` is as in the whole batch.
        """
        for first in range(0, len(self), max(1, int(size))):
            yield self._cut(slice(first, first + max(1, int(size))))

    @classmethod
    def concatenate(cls, batches: Sequence[Transitions]) -> Self:
        """Join batches; each begins an episode.

        Parameters
        ----------
        batches : sequence of Transitions
            At least one, all with the same number of features.

        Returns
        -------
        transitions : Transitions
            All of them, in order.
        """
        if not batches:
            raise ValueError("concatenate needs at least one batch, got none.")
        joined: dict[str, Any] = {}
        for name in cls.__dataclass_fields__:
            parts = [getattr(batch, name) for batch in batches]
            if any(part is None for part in parts):
                joined[name] = None
            elif any(sp.issparse(part) for part in parts):
                joined[name] = sp.vstack([sp.csr_matrix(part) for part in parts], format="csr")
            else:
                joined[name] = np.concatenate(parts)
        return cls(**joined)

    @classmethod
    def from_trajectories(
        cls,
        features: Sequence[Any],
        rewards: Sequence[ArrayLike],
        *,
        rho: Sequence[ArrayLike] | None = None,
        ends: bool | Sequence[bool] = True,
    ) -> Self:
        """Cut whole trajectories into transitions.

        Parameters
        ----------
        features : sequence of array-like or CSR matrix of shape (length + 1, n_features)
            One table a trajectory: a row for every state it visits, the last included.
        rewards : sequence of array-like of shape (length,)
            One vector a trajectory; entry t was received on leaving state t.
        rho : sequence of array-like of shape (length,), default=None
            Importance ratios of the actions taken.
        ends : bool or sequence of bool, default=True
            Whether the trajectories end in a terminal state, whose value is 0. False for
            trajectories that were cut off.

        Returns
        -------
        transitions : Transitions
            Each trajectory begins an episode.
        """
        count = len(features)
        if count == 0:
            raise ValueError("from_trajectories needs at least one trajectory, got none.")
        if len(rewards) != count or (rho is not None and len(rho) != count):
            raise ValueError(f"features has {count} trajectories, rewards has {len(rewards)}.")
        ended = np.broadcast_to(np.asarray(ends, dtype=bool), (count,))
        batches = []
        for k in range(count):
            table = _checked_features(features[k], f"features of trajectory {k}")
            r = _checked_numbers(rewards[k], table.shape[0] - 1, f"rewards of trajectory {k}")
            terminal = np.zeros(r.size, dtype=bool)
            terminal[-1:] = ended[k]
            ratios = None if rho is None else rho[k]
            batches.append(cls(table[:-1], r, table[1:], ratios, terminal=terminal))
        return cls.concatenate(batches)

    @classmethod
    def from_policies(
        cls,
        X: Any,
        actions: ArrayLike,
        r: ArrayLike,
        X_next: Any,
        target_prob: Policy,
        behaviour_prob: Policy,
        *,
        states: Sequence[Any] | None = None,
        start: ArrayLike | None = None,
        terminal: ArrayLike | None = None,
    ) -> Self:
        """Weigh logged actions by the probabilities of two policies.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_transitions, n_features)
            Features of the states.
        actions : array-like of shape (n_transitions,)
            Actions taken.
        r : array-like of shape (n_transitions,)
            Rewards.
        X_next : array-like or CSR matrix of shape (n_transitions, n_features)
            Features of the states that followed.
        target_prob, behaviour_prob : array-like or callable
            The policy to evaluate and the policy that acted; see `importance_ratios`.
        states : sequence of length n_transitions, default=None
            The states themselves where the policies need them; rows of ``X`` when None.
        start, terminal : array-like of bool of shape (n_transitions,), default=None
            Where episodes begin and end.

        Returns
        -------
        transitions : Transitions
            With the importance ratios of the actions.
        """
        where = X if states is None else states
        rho = importance_ratios(where, actions, target_prob, behaviour_prob)
        return cls(X, r, X_next, rho, start, terminal)

    @classmethod
    def from_env(
        cls,
        env: Any,
        policy: Callable[[Any, np.random.RandomState], Any],
        features: Callable[[Any], ArrayLike],
        n_steps: int,
        *,
        target_prob: Callable[[Any, Any], float] | None = None,
        behaviour_prob: Callable[[Any, Any], float] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> Self:
        """Run a gymnasium environment and keep its transitions.

        Parameters
        ----------
        env : gymnasium.Env or str
            The environment, or the id of one to make (needs the extra ``[rl]``).
        policy : callable
            ``policy(observation, rng)`` returns the action to take.
        features : callable
            ``features(observation)`` returns a vector.
        n_steps : int
            Number of transitions, over as many episodes as they take.
        target_prob, behaviour_prob : callable, default=None
            ``prob(observation, action)`` of the policy to evaluate and of ``policy``, where they
            differ.
        random_state : int, RandomState instance or None, default=None
            Seeds the environment and the policy.

        Returns
        -------
        transitions : Transitions
            A truncated episode ends without being terminal.
        """
        if n_steps < 1:
            raise ValueError(f"n_steps must be at least 1, got {n_steps}.")
        if (target_prob is None) != (behaviour_prob is None):
            raise ValueError("Give both target_prob and behaviour_prob, or neither.")
        env = _made(env) if isinstance(env, str) else env
        log = _run(env, policy, n_steps, check_random_state(random_state))
        X, X_next = (
            np.array([np.asarray(features(seen), dtype=float).ravel() for seen in log[column]])
            for column in (0, 3)
        )
        rho = None
        if target_prob is not None and behaviour_prob is not None:
            rho = importance_ratios(log[0], log[1], target_prob, behaviour_prob)
        return cls(X, log[2], X_next, rho, log[4], log[5])


@checked
def importance_ratios(
    states: Any, actions: ArrayLike, target_prob: Policy, behaviour_prob: Policy
) -> NDArray[np.float64]:
    """Return π(a|s) / π₀(a|s) of logged actions, refusing a behaviour without support.

    Parameters
    ----------
    states : sequence of length n_transitions
        The states; integers where a policy is a table.
    actions : array-like of shape (n_transitions,)
        The actions taken; integers where a policy is a table.
    target_prob, behaviour_prob : array-like or callable
        The policy to evaluate and the policy that acted: a table of shape (n_states, n_actions),
        a function ``prob(state, action)``, or the probabilities of the logged actions themselves,
        of shape (n_transitions,).

    Returns
    -------
    rho : ndarray of shape (n_transitions,)
        The ratios.

    Examples
    --------
    >>> from octavo.rl import importance_ratios
    >>> importance_ratios([0, 1], [1, 0], [[0.5, 0.5], [0, 1]], [[0.75, 0.25], [0.5, 0.5]])
    array([2., 0.])
    """
    n = np.asarray(actions).shape[0] if np.ndim(actions) else 0
    n_states = states.shape[0] if hasattr(states, "shape") else len(states)
    if n_states != n:
        raise ValueError(f"states and actions must have one length, got {n_states} and {n}.")
    target = _probabilities(target_prob, states, actions, n, "target_prob")
    behaviour = _probabilities(behaviour_prob, states, actions, n, "behaviour_prob")
    _refuse_missing_support(target_prob, behaviour_prob, states)
    if np.any(behaviour == 0.0):
        k = int(np.argmax(behaviour == 0.0))
        raise ValueError(
            f"Behaviour policy has no support: it gives probability 0 to the action of "
            f"transition {k}, which it took."
        )
    return target / behaviour


def _is_table(policy: Any) -> bool:
    return not callable(policy) and np.ndim(policy) == 2


def _refuse_missing_support(target: Any, behaviour: Any, states: Any) -> None:
    """Refuse actions that the target takes and the behaviour never would, in visited states."""
    if not (_is_table(target) and _is_table(behaviour)):
        return
    seen = np.unique(np.asarray(states, dtype=np.int64))
    missing = (np.asarray(target)[seen] > 0) & (np.asarray(behaviour)[seen] == 0)
    if missing.any():
        row, action = np.argwhere(missing)[0]
        raise ValueError(
            f"behaviour policy has no support: in state {seen[row]} it never takes action "
            f"{action}, which the target policy takes."
        )


def _probabilities(
    policy: Any, states: Any, actions: Any, n: int, name: str
) -> NDArray[np.float64]:
    if callable(policy):
        values = np.array([float(policy(s, a)) for s, a in zip(states, actions)])
    elif _is_table(policy):
        table = np.asarray(policy, dtype=np.float64)
        s, a = np.asarray(states), np.asarray(actions)
        if s.dtype.kind not in "iu" or a.dtype.kind not in "iu" or s.ndim != 1 or a.ndim != 1:
            raise ValueError(f"{name} is a table: states and actions must be integers.")
        if n and (min(s.min(), a.min()) < 0 or np.any([s.max(), a.max()] >= np.array(table.shape))):
            raise ValueError(
                f"{name} has shape {table.shape}; states reach {s.max()}, actions {a.max()}."
            )
        if np.any(np.abs(table.sum(axis=1) - 1.0) > 1e-8):
            raise ValueError(f"The rows of {name} must sum to 1, got {table.sum(axis=1)}.")
        values = table[s, a]
    else:
        values = _checked_numbers(policy, n, name)
    if not np.all(np.isfinite(values) & (values >= 0)):
        raise ValueError(f"{name} must be finite and not negative, got {np.min(values)}.")
    return values


def _made(name: str) -> Any:
    try:
        import gymnasium
    except ImportError:
        raise ImportError("Environments need gymnasium: pip install 'octavo[rl]'.") from None
    return gymnasium.make(name)


def _run(env: Any, policy: Any, n_steps: int, rng: np.random.RandomState) -> tuple[list[Any], ...]:
    """Return observations, actions, rewards, next observations, starts and terminals."""
    log: tuple[list[Any], ...] = ([], [], [], [], [], [])
    observation, _ = env.reset(seed=int(rng.randint(2**31 - 1)))
    fresh = True
    for _ in range(n_steps):
        action = policy(observation, rng)
        following, reward, terminated, truncated, _ = env.step(action)
        row = (observation, action, float(reward), following, fresh, bool(terminated))
        for column, value in zip(log, row):
            column.append(value)
        fresh = bool(terminated or truncated)
        observation = env.reset()[0] if fresh else following
    return log


def _checked_features(X: Any, name: str) -> Any:
    return canonical_csr(
        check_array(X, accept_sparse="csr", dtype=np.float64, order="C", input_name=name)
    )


def _require_shape(table: Any, shape: tuple[int, ...], name: str) -> None:
    if table.shape != shape:
        raise ValueError(f"{name} must have the shape of X, {shape}, got {table.shape}.")


def _checked_numbers(values: Any, n: int, name: str) -> NDArray[np.float64]:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a vector of numbers, got {values!r:.60}.") from None
    if array.shape == (n, 1):
        array = array[:, 0]
    if array.shape != (n,):
        raise ValueError(f"{name} must have one entry a transition, {n}, got shape {array.shape}.")
    if not np.all(np.isfinite(array)):
        k = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"{name} must be finite, got {array[k]} (NaN or infinity) at {k}.")
    return array


def _checked_ratios(values: Any, n: int, name: str) -> NDArray[np.float64]:
    if values is None:
        return np.ones(n)
    array = _checked_numbers(values, n, name)
    if np.any(array < 0):
        k = int(np.argmax(array < 0))
        raise ValueError(f"{name} are importance ratios and cannot be negative, got {array[k]}.")
    return array


def _checked_flags(values: Any, n: int, name: str) -> NDArray[np.bool_]:
    if values is None:
        return np.zeros(n, dtype=bool)
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.shape != (n,) or not np.all(array == (array != 0)):
        raise ValueError(
            f"{name} must hold {n} booleans, one a transition, got {array.dtype} of shape "
            f"{array.shape}."
        )
    return array != 0


def _without_terminal(X: Any, terminal: NDArray[np.bool_]) -> Any:
    """Return the next features with zeros after the end of an episode."""
    if not terminal.any():
        return X
    if sp.issparse(X):
        kept = sp.diags_array((~terminal).astype(np.float64)) @ X
        kept = sp.csr_matrix(kept)
        kept.eliminate_zeros()
        return kept
    if X[terminal].any():
        X = X.copy()
        X[terminal] = 0.0
    return X


def _locked(value: Any) -> Any:
    """Return a view that cannot be written, so that a batch stays what was checked."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value
