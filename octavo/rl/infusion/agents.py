"""Learners of a fixed policy on a table: Watkins' Q(λ), and a counted model that is solved.

Simulation, not a medical device.

Reference: Moore et al. (2014), "Reinforcement learning for closed-loop propofol anesthesia: a study
in human volunteers", JMLR 15:655-696, sections 3.2.2 to 3.2.5.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.mcmc.compiled_draws import draw_state
from octavo.rl.infusion.bins import FuzzyBins
from octavo.rl.infusion.environment import PropofolEnv
from octavo.rl.infusion.numbers_in import whole
from octavo.rl.infusion.percepts import cell_of
from octavo.rl.infusion.value_tables import choose, forget, learn, sweep_values, train_block

__all__ = ["CountedModelPolicy", "WatkinsQLambda"]

FIRST_STATES = 64  # rows of a table whose number of states is not known; it doubles


def _is_env(env: Any) -> bool:
    """Return whether something is an environment; a class is a function that makes one."""
    if isinstance(env, type):
        return False
    return callable(getattr(env, "reset", None)) and callable(getattr(env, "step", None))


def _number_of(env: Any, space: str, name: str) -> int | None:
    n = getattr(getattr(env, space, None), "n", None)
    n = getattr(env, name, None) if n is None else n
    return int(n) if isinstance(n, Integral) and int(n) > 0 else None


class _Source:
    """Environments for episodes: one that is reset, or what a factory makes."""

    def __init__(self, env: Any) -> None:
        self.one: Any = env if _is_env(env) else None
        self.factory: Any = None if _is_env(env) else env
        if self.one is None and not callable(env):
            raise ValueError(
                f"An environment must have reset and step, or be a function that makes one; got "
                f"{type(env).__name__}."
            )
        self.first = self.one if self.one is not None else self._made()
        self.n_actions = _number_of(self.first, "action_space", "n_actions")
        if self.n_actions is None:
            raise ValueError(
                f"Finite actions are needed; {type(self.first).__name__} has neither "
                f"action_space.n nor n_actions."
            )

    def _made(self) -> Any:
        assert self.factory is not None
        env = self.factory()
        if not _is_env(env):
            raise ValueError(
                f"The factory must make an environment with reset and step; it made "
                f"{type(env).__name__}."
            )
        return env

    def next(self) -> Any:
        return self.one if self.one is not None else self._made()


def _settings(env: Any) -> tuple:
    return (env.noise, env.share, env.lag, env.horizon, repr(env.pd), env.variability is None)


def _is_compiled(source: _Source, encoder: Any) -> bool:
    """Return whether the whole loop can run compiled."""
    env = source.first
    return (
        type(env) is PropofolEnv
        and env.variability is None
        and type(encoder) is FuzzyBins
        and len(encoder.widths) == 2
    )


class _Table:
    """The arrays that learning changes."""

    def __init__(self, n_states: int, n_actions: int, grows: bool) -> None:
        self.grows, self.seen = grows, 0 if grows else n_states
        self.Q = np.zeros((n_states, n_actions))
        self.visits = np.zeros((n_states, n_actions), dtype=np.int64)
        self.traces = np.zeros((n_states, n_actions))
        self.active = np.zeros(n_states * n_actions + 1, dtype=np.int64)

    def hold(self, s: int) -> int:
        """Make room for a state and return it."""
        if s >= len(self.Q):
            if not self.grows:
                raise ValueError(f"State {s} is not among the {len(self.Q)} states of the table.")
            if s >= 10**7:
                raise ValueError(f"State {s} is too large a number for a table; number from 0.")
            more = ((0, max(s + 1, 2 * len(self.Q)) - len(self.Q)), (0, 0))
            self.Q, self.visits = np.pad(self.Q, more), np.pad(self.visits, more)
            self.traces = np.pad(self.traces, more)
            self.active = np.concatenate([self.active, np.zeros(more[0][1] * self.Q.shape[1], int)])
        self.seen = max(self.seen, s + 1) if self.grows else self.seen
        return s


def _as_state(observation: Any) -> int:
    value = np.asarray(observation)
    if value.size != 1 or value.dtype.kind not in "iu" or value.item() < 0:
        raise ValueError(
            f"Without an encoder, observations must be whole numbers of at least 0; got "
            f"{observation!r}. Give encoder=FuzzyBins() or TabularEncoder()."
        )
    return int(value.item())


def nearest_policy(policy: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return a policy with the action of the nearest visited cell where it is −1.

    Of equally near cells the one with the lowest action counts.
    """
    known = np.flatnonzero(policy >= 0)
    out = policy.copy()
    for s in np.flatnonzero(policy < 0):
        gap = ((places[known] - places[s]) ** 2).sum(axis=1)
        out[s] = policy[known[gap == gap.min()]].min()
    return out


class _TablePolicy(CallbackSupportMixin, SoundEstimator):
    """What both learners share: the table, its policy and its predictions."""

    def _prepare(self, env: Any, n_episodes: Any) -> tuple[_Source, Any, _Table, int]:
        whole("n_episodes", n_episodes)
        source, encoder = _Source(env), self.encoder
        self.rates_ = getattr(source.first, "rates", None)
        if encoder is None and isinstance(source.first, PropofolEnv):
            encoder = FuzzyBins()
        if encoder is not None:
            if not callable(getattr(encoder, "encode", None)):
                raise ValueError(
                    f"Parameter `encoder` must have encode and n_states, as FuzzyBins; got "
                    f"{encoder!r}."
                )
            ready = hasattr(encoder, "low_") or not hasattr(encoder, "low")
            self.encoder_ = encoder if ready else clone(encoder).fit(self._first_rows(source))
            n_states: int | None = self.encoder_.n_states
        else:
            self.encoder_ = None
            n_states = _number_of(source.first, "observation_space", "n_states")
        table = _Table(n_states or FIRST_STATES, source.n_actions or 1, n_states is None)
        return source, self.encoder_, table, int(n_episodes)

    @staticmethod
    def _first_rows(source: _Source) -> np.ndarray:
        low, high = (getattr(source.first, name, None) for name in ("low", "high"))
        if low is None or high is None:
            raise ValueError("Fit the encoder first, so that it knows the range of observations.")
        return np.array([low, high], dtype=float)

    def _code(self, observation: Any, table: _Table) -> int:
        if self.encoder_ is None:
            return table.hold(_as_state(observation))
        row = np.asarray(observation, dtype=float).reshape(1, -1)
        if type(self.encoder_) is FuzzyBins and row.shape[1] == len(self.encoder_.widths) == 2:
            if not np.isfinite(row).all():
                raise ValueError(f"Observations must be finite; got {row[0]}.")
            wide, narrow = self.encoder_.widths
            return int(
                cell_of(row[0, 0], row[0, 1], float(wide), float(narrow), int(self.encoder_.n_bins))
            )
        return table.hold(int(self.encoder_.encode(row)[0]))

    def _store(self, table: _Table, Q: np.ndarray) -> None:
        n = table.seen
        self.n_visits_ = table.visits[:n]
        self.q_table_ = np.where(self.n_visits_ > 0, Q[:n], np.nan)
        policy = greedy_table(Q[:n], self.n_visits_)
        places = getattr(self.encoder_, "places", None)
        if places is not None and (policy >= 0).any():
            policy = nearest_policy(policy, places())
        self.policy_table_ = policy

    def predict(self, features):
        """Return the greedy actions.

        Parameters
        ----------
        features : array-like of shape (n,) or (n, n_features)
            States without an encoder, else observations such as rows (error, change). A cell that
            was never visited takes the action of the nearest cell that was.

        Returns
        -------
        ndarray of int of shape (n,)
            Actions.
        """
        check_is_fitted(self, "policy_table_")
        if self.encoder_ is None:
            try:
                states = np.asarray(features)
            except ValueError:
                states = np.empty(0, dtype=object)
            if states.dtype.kind not in "iu" or states.ndim > 1:
                raise ValueError(f"States must be whole numbers; got {features!r:.60}.")
            states = np.atleast_1d(states)
        else:
            states = self.encoder_.encode(features)
        outside = (states < 0) | (states >= len(self.policy_table_))
        actions = self.policy_table_[np.where(outside, 0, states)]
        if outside.any() or (actions < 0).any():
            at = states[outside | (actions < 0)][0]
            raise ValueError(
                f"State {at} was never visited and has no action; train longer, or give an encoder "
                f"that knows which cells are near."
            )
        return actions


def greedy_table(Q: np.ndarray, visits: np.ndarray) -> np.ndarray:
    """Return the best visited action of each state, the first of equals; −1 where none was."""
    masked = np.where(visits > 0, Q, -np.inf)
    return np.where((visits > 0).any(axis=1), masked.argmax(axis=1), -1)


class WatkinsQLambda(_TablePolicy):
    """Watkins' Q(λ) on a table, with a step size that halves when the policy stands still.

    Simulation, not a medical device.

    Parameters
    ----------
    alpha : float, default=0.2
        First step size.
    gamma : float, default=0.69
        Discount factor.
    lam : float, default=0.8
        Decay of traces, the paper's λ; 0 is one-step Q-learning.
    epsilon : float, default=0.01
        Probability of a random action while learning.
    trace : {"accumulating", "replacing"}, default="accumulating"
        What a visit does to a trace: add 1, or set it to 1.
    encoder : FuzzyBins, TabularEncoder or object, default=None
        With ``encode(X)`` and ``n_states``. None for observations that are whole numbers; for a
        `PropofolEnv`, None is ``FuzzyBins()``.
    alpha_min : float, default=1e-5
        Learning ends when the step size has come to this.
    ssd_tol : float or "auto", default="auto"
        The step size halves when the sum of squared differences of two successive greedy policies,
        as indices, over visited states, is below it. The paper prints no threshold; "auto" is 10
        with an encoder and 0 without one: policies of few states differ by less from the start,
        and the step size would be gone before a reward was met.
    random_state : int, RandomState instance or None, default=None
        Seeds actions, starts and noise.
    block_size : int or None, default=None
        Episodes between two looks at the policy; None for a hundredth of the episodes, at most
        1,000.
    patience : int or None, default=10
        The step size also halves after so many blocks without a new smallest difference; None for
        the paper's rule alone.

    Attributes
    ----------
    q_table_ : ndarray of shape (n_states, n_actions)
        Values; NaN where an action was never taken.
    policy_table_ : ndarray of int of shape (n_states,)
        Greedy actions; for a cell that was never visited, that of the nearest one, or -1 where
        there is no encoder that knows distances.
    n_visits_ : ndarray of int of shape (n_states, n_actions)
        How often each action was taken.
    alphas_ : ndarray of shape (n_blocks,)
        Step size of each block.
    differences_ : ndarray of shape (n_blocks,)
        Difference of the policies before and after it.
    n_steps_ : int
        Steps taken.
    encoder_ : object
        The encoder that was used, or None.
    rates_ : ndarray of shape (n_actions,)
        The environment's rates in mg/min, by action; None where it has none.

    See Also
    --------
    CountedModelPolicy : Counts transitions and solves the model.
    PropofolEnv : Its loop is compiled.
    run_trial : How good the policy is.

    Notes
    -----
    Values begin at 0, which looks better than anything where rewards are negative: every action is
    tried, and none that was not tried is ever in the policy. Any environment with gymnasium's
    interface and finite actions will do, in a Python loop; for `PropofolEnv` without variability
    the loop is compiled. Not for states with many variables: take `QLearningCMAC`.

    References
    ----------
    .. [1] Moore et al. (2014). Reinforcement learning for closed-loop propofol anesthesia: a study
       in human volunteers. JMLR 15:655-696.
    .. [2] Watkins (1989). Learning from delayed rewards. Thesis, Cambridge.

    Examples
    --------
    >>> from octavo.rl import PropofolEnv, WatkinsQLambda
    >>> agent = WatkinsQLambda(random_state=0).fit(PropofolEnv(exploring=True), 1000)
    >>> print(agent.n_steps_, agent.q_table_.shape, agent.predict([[-15.0, 0.0]]).shape)
    1000000 (361, 15) (1,)
    """

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, 1, closed="right")],
        "gamma": [Interval(Real, 0, 1, closed="both")],
        "lam": [Interval(Real, 0, 1, closed="both")],
        "epsilon": [Interval(Real, 0, 1, closed="both")],
        "trace": [StrOptions({"accumulating", "replacing"})],
        "encoder": "no_validation",
        "alpha_min": [Interval(Real, 0, None, closed="left")],
        "ssd_tol": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "random_state": ["random_state"],
        "block_size": [Interval(Integral, 1, None, closed="left"), None],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        alpha=0.2,
        gamma=0.69,
        lam=0.8,
        epsilon=0.01,
        trace="accumulating",
        encoder=None,
        alpha_min=1e-5,
        ssd_tol="auto",
        random_state=None,
        *,
        block_size=None,
        patience=10,
    ):
        self.alpha = alpha
        self.gamma = gamma
        self.lam = lam
        self.epsilon = epsilon
        self.trace = trace
        self.encoder = encoder
        self.alpha_min = alpha_min
        self.ssd_tol = ssd_tol
        self.random_state = random_state
        self.block_size = block_size
        self.patience = patience

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, env, n_episodes=1000):
        """Learn in an environment.

        Parameters
        ----------
        env : object or callable
            An environment with gymnasium's ``reset`` and ``step``, or a function that makes one
            for each episode.
        n_episodes : int, default=1000
            Most episodes.

        Returns
        -------
        self : object
            Fitted policy.
        """
        source, encoder, table, n_episodes = self._prepare(env, n_episodes)
        rng = check_random_state(self.random_state)
        draws = draw_state(np.random.default_rng(rng.randint(2**31 - 1)))
        run = self._compiled_block if _is_compiled(source, encoder) else self._python_block
        block = self.block_size or min(1000, max(1, n_episodes // 100))
        alpha, done, self.n_steps_ = float(self.alpha), 0, 0
        alphas, differences, waited, least = [], [], 0, np.inf
        tol = (0.0 if encoder is None else 10.0) if self.ssd_tol == "auto" else self.ssd_tol
        before = greedy_table(table.Q[: table.seen], table.visits[: table.seen])
        with FitProgress(self, -(-n_episodes // block), step_name="block") as progress:
            while done < n_episodes and alpha > self.alpha_min:
                n = min(block, n_episodes - done)
                self.n_steps_ += run(source, table, n, alpha, rng, draws)
                done += n
                after = greedy_table(table.Q[: table.seen], table.visits[: table.seen])
                gap = policy_difference(before, after)
                alphas.append(alpha)
                differences.append(gap)
                waited, least, before = (
                    (0, gap, after) if gap < least else (waited + 1, least, after)
                )
                if gap < tol or (self.patience is not None and waited >= self.patience):
                    alpha, waited, least = alpha / 2, 0, np.inf
                if progress.step():
                    break
        self.alphas_, self.differences_ = np.array(alphas), np.array(differences)
        self._store(table, table.Q)
        return self

    def _compiled_block(self, source, table, n, alpha, rng, draws):
        return compiled_block(
            source, self.encoder_, table, n, rng, draws, alpha, self.gamma, self.lam, self.epsilon,
            self.trace == "replacing",
        )  # fmt: skip

    def _python_block(self, source, table, n, alpha, rng, draws):
        """Run episodes of any environment; return the number of steps."""
        steps, decay, replacing = 0, float(self.gamma * self.lam), self.trace == "replacing"
        for _ in range(n):
            env, ended, done, alive = source.next(), False, False, 0
            s = self._code(env.reset(seed=int(rng.randint(2**31 - 1)))[0], table)
            a = choose(table.Q, s, float(self.epsilon), draws)
            while not done:
                seen, reward, ended, truncated, _ = env.step(int(a))
                if not np.isfinite(reward):
                    raise ValueError(f"Rewards must be finite; the environment gave {reward!r}.")
                s2 = self._code(seen, table)
                a2 = choose(table.Q, s2, float(self.epsilon), draws)
                table.visits[s, a] += 1
                alive = learn(
                    table.Q, table.traces, table.active, alive, s, a, float(reward), s2, a2,
                    bool(ended), alpha, float(self.gamma), decay, replacing,
                )  # fmt: skip
                s, a, done = s2, a2, bool(ended or truncated)
                steps += 1
            forget(table.traces, table.active, alive)
        return steps


def policy_difference(before: np.ndarray, after: np.ndarray) -> float:
    """Return the sum of squared differences of two policies over states visited in either."""
    old = np.full(len(after), -1)
    old[: len(before)] = before
    # SSD of Section 3.2.5, over visited states
    return float(((after - old)[after >= 0] ** 2).sum())


def compiled_block(
    source, encoder, table, n, rng, draws, alpha, gamma, lam, epsilon, replacing, counted=None
):
    """Run episodes of simulated patients compiled; return the number of steps."""
    env = source.first
    if source.one is not None:
        steps, starts, targets, _ = env.starts(n, rng)
    else:
        made = [source.next() for _ in range(n)]
        if any(_settings(each) != _settings(env) for each in made):
            raise ValueError(
                "Environments of one factory must agree in noise, filter, lag, horizon and curve."
            )
        parts = [each.starts(1, rng) for each in made]
        steps, starts, targets = (np.concatenate([p[k] for p in parts]) for k in range(3))
    counts, costs = counted or (np.zeros((0, 0, 0), dtype=np.int64), np.zeros((0, 0)))
    curve, points = env.pd.curve()
    scalars = (
        float(alpha), float(gamma), float(lam), float(epsilon), float(env.noise), float(env.share),
        float(encoder.widths[0]), float(encoder.widths[1]),
    )  # fmt: skip
    train_block(
        table.Q, table.visits, table.traces, table.active, counts, costs, steps, starts, targets,
        env.rates, curve, points, scalars, int(encoder.n_bins), env.lag, env.horizon, replacing,
        draws,
    )  # fmt: skip
    return n * env.horizon


class CountedModelPolicy(_TablePolicy):
    """Count what follows what, and solve the counted model by value iteration.

    Simulation, not a medical device. A check of `WatkinsQLambda`, not the paper's method.

    Parameters
    ----------
    gamma : float, default=0.69
        Discount factor.
    epsilon : float, default=0.3
        Probability of a random action while counting; the first round is all random.
    n_rounds : int, default=5
        Rounds: after each, the model is solved and its policy acts in the next.
    encoder : FuzzyBins, TabularEncoder or object, default=None
        As for `WatkinsQLambda`.
    tol : float, default=1e-9
        Value iteration ends when no value changes by more.
    max_iter : int, default=10000
        Most sweeps of it.
    random_state : int, RandomState instance or None, default=None
        Seeds actions, starts and noise.

    Attributes
    ----------
    q_table_ : ndarray of shape (n_states, n_actions)
        Values of the counted model; NaN where an action was never taken.
    policy_table_ : ndarray of int of shape (n_states,)
        Greedy actions, as in `WatkinsQLambda`.
    n_visits_ : ndarray of int of shape (n_states, n_actions)
        How often each action was taken.
    n_steps_ : int
        Steps taken.
    encoder_ : object
        The encoder that was used, or None.
    rates_ : ndarray of shape (n_actions,)
        The environment's rates in mg/min, by action; None where it has none.

    See Also
    --------
    WatkinsQLambda : Learns without a model.

    Notes
    -----
    Cells are not Markov states: what follows a cell depends on how it was reached, so the counted
    model is that of the behaviour. Memory is n_states² n_actions numbers.

    References
    ----------
    .. [1] Moore et al. (2014). Reinforcement learning for closed-loop propofol anesthesia: a study
       in human volunteers. JMLR 15:655-696, section 3.1.1.

    Examples
    --------
    >>> from octavo.rl import CountedModelPolicy, PropofolEnv
    >>> agent = CountedModelPolicy(random_state=0).fit(PropofolEnv(exploring=True), 1000)
    >>> print(agent.n_steps_, agent.q_table_.shape)
    1000000 (361, 15)
    """

    _parameter_constraints = {
        "gamma": [Interval(Real, 0, 1, closed="left")],
        "epsilon": [Interval(Real, 0, 1, closed="both")],
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "encoder": "no_validation",
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        gamma=0.69,
        *,
        epsilon=0.3,
        n_rounds=5,
        encoder=None,
        tol=1e-9,
        max_iter=10_000,
        random_state=None,
    ):
        self.gamma = gamma
        self.epsilon = epsilon
        self.n_rounds = n_rounds
        self.encoder = encoder
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, env, n_episodes=1000):
        """Count in an environment, and solve.

        Parameters
        ----------
        env : object or callable
            An environment with gymnasium's ``reset`` and ``step``, or a function that makes one
            for each episode.
        n_episodes : int, default=1000
            Episodes, shared by the rounds.

        Returns
        -------
        self : object
            Fitted policy.
        """
        source, encoder, table, n_episodes = self._prepare(env, n_episodes)
        if table.grows:
            raise ValueError(
                "A counted model needs the number of states: give the environment n_states, or an "
                "encoder."
            )
        rng = check_random_state(self.random_state)
        draws = draw_state(np.random.default_rng(rng.randint(2**31 - 1)))
        shape = (*table.Q.shape, len(table.Q))
        counted = np.zeros(shape, dtype=np.int64), np.zeros(table.Q.shape)
        rounds = np.array_split(np.arange(n_episodes), min(self.n_rounds, n_episodes))
        self.n_steps_ = 0
        with FitProgress(self, len(rounds), step_name="round") as progress:
            for k, part in enumerate(rounds):
                epsilon = 1.0 if k == 0 else float(self.epsilon)
                self.n_steps_ += self._count(source, table, len(part), rng, draws, epsilon, counted)
                table.Q = self._solve(counted, table.visits)
                if progress.step():
                    break
        self._store(table, table.Q)
        return self

    def _count(self, source, table, n, rng, draws, epsilon, counted):
        if _is_compiled(source, self.encoder_):
            return compiled_block(
                source, self.encoder_, table, n, rng, draws, 0.0, 0.0, 0.0, epsilon, False, counted
            )
        steps = 0
        for _ in range(n):
            env, done = source.next(), False
            s = self._code(env.reset(seed=int(rng.randint(2**31 - 1)))[0], table)
            while not done:
                a = choose(table.Q, s, epsilon, draws)
                seen, reward, ended, truncated, _ = env.step(int(a))
                s2 = self._code(seen, table)
                table.visits[s, a] += 1
                counted[1][s, a] += float(reward)
                if not ended:
                    counted[0][s, a, s2] += 1
                s, done, steps = s2, bool(ended or truncated), steps + 1
        return steps

    def _solve(self, counted, visits):
        """Return Q of the counted model; a row that ended sums to less than one."""
        n_states, n_actions = visits.shape
        rows = csr_array(counted[0].reshape(n_states * n_actions, n_states))
        total = np.maximum(visits, 1)
        share = rows.data / np.repeat(total.ravel(), np.diff(rows.indptr))
        return sweep_values(
            rows.indptr.astype(np.int64), rows.indices.astype(np.int64), share,
            counted[1] / total, visits > 0, float(self.gamma), float(self.tol), int(self.max_iter),
        )[0]  # fmt: skip
