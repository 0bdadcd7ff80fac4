"""Linear systems with quadratic rewards: optimal control, exact values, logs to learn from.

    s' = Fs + Ga + z,   z ~ N(0, noise),   r = −s'Qs − a'Na,   a ~ N(Ks, Σ)

The value of a linear policy is a quadratic function of the state, known in closed form; so are
the distribution of the states and all moments that the objectives of policy evaluation need.

Reference: Dann, Neumann and Peters (2014), "Policy evaluation with temporal differences: a survey
and comparison", JMLR 15:809-883, sections 3.1.4 and 3.1.5 (benchmarks 5 to 8, 11 and 12).
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_discrete_are, solve_discrete_lyapunov
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.rl.features.transformers import SquaredFeatures
from octavo.rl.processes.objectives import SquaredTD, ValueObjectives
from octavo.rl.processes.transitions import Transitions

__all__ = ["LinearProblem", "LinearSystem", "QuadraticValue", "solve_lqr"]

_EXACT_UP_TO = 7  # variables of a quadrature with three nodes each


class QuadraticValue(NamedTuple):
    """V(s) = −s'Ms − c: ``matrix`` M and ``constant`` c."""

    matrix: np.ndarray
    constant: float

    def at(self, states):
        """Return the values of states, one a row."""
        states = np.atleast_2d(states)
        return -np.einsum("ni,ij,nj->n", states, self.matrix, states) - self.constant


def _riccati_start(F, G, Q, N, gamma):
    """Return the solution of the Riccati equation where scipy finds one, else Q."""
    if np.linalg.matrix_rank(N) < len(N):
        return Q.copy()
    try:
        return solve_discrete_are(np.sqrt(gamma) * F, np.sqrt(gamma) * G, Q, N)
    except np.linalg.LinAlgError:
        return Q.copy()


@checked
def solve_lqr(F, G, Q, N, gamma=1.0, *, tol=1e-12, max_iter=100_000):
    """Return the gains K of the optimal policy a = Ks of a linear system, by dynamic programming.

    Parameters
    ----------
    F : array-like of shape (n_variables, n_variables)
        Dynamics.
    G : array-like of shape (n_variables, n_actions)
        Effect of the actions.
    Q : array-like of shape (n_variables, n_variables)
        Cost s'Qs of a state.
    N : array-like of shape (n_actions, n_actions)
        Cost a'Na of an action; it may be zero.
    gamma : float, default=1.0
        Discount factor.
    tol : float, default=1e-12
        Relative change of the value below which the recursion ends.
    max_iter : int, default=100000
        Limit on the steps.

    Returns
    -------
    ndarray of shape (n_actions, n_variables)
        The gains.

    Raises
    ------
    ValueError
        If the value does not settle: the system cannot be controlled at a finite cost.

    Notes
    -----
    The recursion starts from the solution of `scipy.linalg.solve_discrete_are` where N is regular;
    it also takes N = 0.

    Examples
    --------
    >>> from octavo.rl import solve_lqr
    >>> solve_lqr([[1.0]], [[1.0]], [[1.0]], [[1.0]]).round(6)
    array([[-0.618034]])
    """
    F, G, Q, N = (np.asarray(x, dtype=np.float64) for x in (F, G, Q, N))
    M = _riccati_start(F, G, Q, N, gamma)
    for _ in range(max_iter):
        curvature, pull = N + gamma * G.T @ M @ G, gamma * G.T @ M @ F
        # the minimiser of a'(N + γG'MG)a + 2a'(γG'MF)s
        K = -np.linalg.lstsq(curvature, pull, rcond=None)[0]
        closed = F + G @ K
        with np.errstate(over="ignore", invalid="ignore"):
            new = Q + K.T @ N @ K + gamma * closed.T @ M @ closed
            change = np.abs(new - M).max()
        if not np.isfinite(change):
            break
        M = (new + new.T) / 2
        if change <= tol * max(1.0, np.abs(M).max()):
            return K
    raise ValueError(
        "The Riccati recursion does not settle: the system cannot be controlled at a finite cost."
    )


class LinearSystem:
    """A linear system with Gaussian noise and quadratic rewards.

    Parameters
    ----------
    F : array-like of shape (n_variables, n_variables)
        Dynamics.
    G : array-like of shape (n_variables, n_actions)
        Effect of the actions.
    Q : array-like of shape (n_variables, n_variables)
        Cost s'Qs of a state.
    N : array-like of shape (n_actions, n_actions)
        Cost a'Na of an action.
    noise : array-like of shape (n_variables, n_variables)
        Covariance of what disturbs a step.
    gamma : float, default=0.95
        Discount factor.

    Attributes
    ----------
    optimal_gain_ : ndarray of shape (n_actions, n_variables)
        Gains of the optimal policy.

    See Also
    --------
    LinearProblem : A policy to evaluate in such a system.

    Notes
    -----
    Values are those of the model, not of data.

    References
    ----------
    .. [1] Bertsekas and Tsitsiklis (1996). Neuro-dynamic programming. Athena Scientific.

    Examples
    --------
    >>> from octavo.rl import LinearSystem
    >>> system = LinearSystem([[0.9]], [[1.0]], [[1.0]], [[0.1]], [[0.01]], gamma=0.5)
    >>> round(float(system.value([[0.0]]).at([[1.0]])[0]), 4)  # without control
    -1.6975
    """

    def __init__(self, F, G, Q, N, noise, gamma=0.95):
        self.F, self.G, self.Q, self.N, self.noise = (
            np.asarray(x, dtype=np.float64) for x in (F, G, Q, N, noise)
        )
        self.gamma = gamma
        d, k = self.G.shape
        for name, shape in (("F", (d, d)), ("Q", (d, d)), ("noise", (d, d)), ("N", (k, k))):
            if getattr(self, name).shape != shape:
                raise ValueError(
                    f"{name} must have shape {shape}, got {getattr(self, name).shape}."
                )
        if not 0 <= gamma < 1:
            raise ValueError(f"gamma must lie in [0, 1), got {gamma!r}.")
        self.optimal_gain_ = solve_lqr(self.F, self.G, self.Q, self.N, gamma)

    def closed_loop(self, gain):
        """Return F + GK.

        Parameters
        ----------
        gain : array-like of shape (n_actions, n_variables)
            Gains K of the policy.

        Returns
        -------
        ndarray of shape (n_variables, n_variables)
            The dynamics under the policy.
        """
        return self.F + self.G @ np.asarray(gain, dtype=np.float64)

    def step_covariance(self, action_noise):
        """Return the covariance of the next state given this one.

        Parameters
        ----------
        action_noise : float
            Variance of the policy's noise on each action.

        Returns
        -------
        ndarray of shape (n_variables, n_variables)
            noise + Σ GG'.
        """
        return self.noise + action_noise * self.G @ self.G.T

    def value(self, gain, action_noise=0.0):
        """Return the value of a linear policy.

        Parameters
        ----------
        gain : array-like of shape (n_actions, n_variables)
            Gains K of the policy.
        action_noise : float, default=0.0
            Variance of its noise on each action.

        Returns
        -------
        QuadraticValue
            The value, exact.
        """
        gain, closed = np.asarray(gain, dtype=np.float64), self.closed_loop(gain)
        if self.gamma * np.abs(np.linalg.eigvals(closed)).max() ** 2 >= 1:
            raise ValueError("The policy lets costs grow faster than they are discounted.")
        cost = self.Q + gain.T @ self.N @ gain
        # the same equation with K fixed
        M = solve_discrete_lyapunov(np.sqrt(self.gamma) * closed.T, cost)
        spread = np.trace(M @ self.step_covariance(action_noise))
        # the constant: what noise costs, discounted
        steady = action_noise * np.trace(self.N) + self.gamma * spread
        return QuadraticValue(M, float(steady / (1.0 - self.gamma)))

    def state_covariance(self, gain, action_noise=0.0):
        """Return the covariance of the stationary states, whose mean is zero.

        Parameters
        ----------
        gain : array-like of shape (n_actions, n_variables)
            Gains K of the policy.
        action_noise : float, default=0.0
            Variance of its noise on each action.

        Returns
        -------
        ndarray of shape (n_variables, n_variables)
            The covariance.
        """
        closed = self.closed_loop(gain)
        if np.abs(np.linalg.eigvals(closed)).max() >= 1:
            raise ValueError("The policy does not hold the system: there is no stationary state.")
        return solve_discrete_lyapunov(closed, self.step_covariance(action_noise))


def _root(covariance):
    """Return L with LL' = covariance, its columns without those of zero variance."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-14 * max(values[-1], 1e-300)
    return vectors[:, kept] * np.sqrt(values[kept])


def _gaussian_nodes(n, n_random, rng):
    """Return standard normal points and weights that integrate polynomials of degree five.

    Three nodes a variable where those are few; otherwise an antithetic sample.
    """
    if n <= _EXACT_UP_TO:
        nodes = np.array(list(itertools.product([-np.sqrt(3.0), 0.0, np.sqrt(3.0)], repeat=n)))
        weights = np.prod(np.where(nodes == 0, 2.0 / 3.0, 1.0 / 6.0), axis=1)
        return nodes.reshape(len(weights), n), weights
    half = rng.normal(size=(n_random // 2, n))
    return np.vstack([half, -half]), np.full(2 * (n_random // 2), 1.0 / (2 * (n_random // 2)))


class LinearProblem:
    """A linear policy to evaluate, with squares of the state as features.

    Parameters
    ----------
    system : LinearSystem
        The model.
    action_noise : float, default=0.0
        Variance of the target policy's noise on each action.
    behaviour_noise : float, default=None
        Variance of the noise when other data are used; the gains are the same. None stands for
        data of the target policy.
    gain : array-like of shape (n_actions, n_variables), default=None
        Gains of both policies; None stands for the optimal ones.
    interactions : bool, default=True
        Whether features include products of variables, which makes them perfect.
    normalize : bool, default=True
        Whether features but the constant have mean zero and variance one in the data.
    name : str, default="linear problem"
        What to call it.
    n_states : int, default=4000
        States at which objectives are evaluated when there are too many variables for an exact
        rule.
    random_state : int, RandomState instance or None, default=0
        Seeds those states.

    Attributes
    ----------
    states_ : ndarray of shape (n_points, n_variables)
        The states at which objectives are evaluated.
    features_ : ndarray of shape (n_points, n_features)
        Their features.
    value_ : ndarray of shape (n_points,)
        Their true values.
    weights_ : ndarray of shape (n_points,)
        How they count. With up to seven variables the rule is exact for all objectives.

    See Also
    --------
    make_cart_pole : The benchmark with a pole on a cart.

    Notes
    -----
    The truth is known, so this is for judging methods.

    References
    ----------
    .. [1] Dann, Neumann and Peters (2014). Policy evaluation with temporal differences: a survey
       and comparison. JMLR 15:809-883, section 3.1.4.

    Examples
    --------
    >>> from octavo.rl import LinearProblem, LinearSystem
    >>> problem = LinearProblem(LinearSystem([[0.9]], [[1.0]], [[1.0]], [[0.1]], [[0.01]]))
    >>> exact = problem.objectives()
    >>> exact.mse(exact.minimiser("mspbe")) < 1e-12
    True
    """

    def __init__(
        self,
        system,
        action_noise=0.0,
        behaviour_noise=None,
        *,
        gain=None,
        interactions=True,
        normalize=True,
        name="linear problem",
        n_states=4000,
        random_state=0,
    ):
        self.system, self.name, self.gamma = system, name, system.gamma
        self.gain = system.optimal_gain_ if gain is None else np.asarray(gain, dtype=np.float64)
        self.action_noise, self.behaviour_noise = action_noise, behaviour_noise
        if behaviour_noise is not None and not (behaviour_noise > 0 and action_noise > 0):
            raise ValueError(
                "Importance ratios need noise in both policies, got action_noise="
                f"{action_noise!r} and behaviour_noise={behaviour_noise!r}."
            )
        acting = action_noise if behaviour_noise is None else behaviour_noise
        self._state_root = _root(system.state_covariance(self.gain, acting))
        self._map = SquaredFeatures(interactions=interactions).fit(np.zeros((1, len(system.F))))
        self.n_states, self.random_state = n_states, random_state
        rng = check_random_state(random_state)
        points, self.weights_ = _gaussian_nodes(self._state_root.shape[1], n_states, rng)
        self.states_ = points @ self._state_root.T
        raw = self._map.transform(self.states_)
        mean = self.weights_ @ raw
        spread = np.sqrt(self.weights_ @ (raw - mean) ** 2)
        plain = spread <= 1e-9 * np.abs(mean)  # the constant
        keep = plain | (not normalize)
        self._mean, self._scale = np.where(keep, 0.0, mean), np.where(keep, 1.0, spread)
        self.features_ = self.transform(self.states_)
        self.value_ = system.value(self.gain, action_noise).at(self.states_)
        self.theta0 = np.zeros(self.features_.shape[1])

    def __repr__(self):
        kind = "on-policy" if self.behaviour_noise is None else "off-policy"
        return f"LinearProblem({self.name}, {kind}, {self.features_.shape[1]} features)"

    def transform(self, states):
        """Return the features of states.

        Parameters
        ----------
        states : array-like of shape (n_states, n_variables)
            States.

        Returns
        -------
        ndarray of shape (n_states, n_features)
            Features.
        """
        return (self._map.transform(states) - self._mean) / self._scale

    def rewards(self, states, actions):
        """Return r = −s'Qs − a'Na.

        Parameters
        ----------
        states : array-like of shape (n_steps, n_variables)
            States.
        actions : array-like of shape (n_steps, n_actions)
            Actions.

        Returns
        -------
        ndarray of shape (n_steps,)
            Rewards.
        """
        state_cost = np.einsum("ni,ij,nj->n", states, self.system.Q, states)
        return -state_cost - np.einsum("ni,ij,nj->n", actions, self.system.N, actions)

    def _log_ratio(self, deviations):
        """Return log π(a|s) / π₀(a|s) of deviations from the mean action."""
        target, acting = self.action_noise, self.behaviour_noise
        shrink = -0.5 * (deviations**2).sum(axis=1) * (1.0 / target - 1.0 / acting)
        return shrink - 0.5 * deviations.shape[1] * np.log(target / acting)

    def sample(self, n_steps, *, double=False, random_state=None):
        """Draw one long trajectory that starts in a stationary state.

        Parameters
        ----------
        n_steps : int
            How many transitions.
        double : bool, default=False
            Whether to draw a second successor of each state.
        random_state : int, RandomState instance or None, default=None
            Seeds the draw.

        Returns
        -------
        Transitions
            The log, in features.
        """
        if n_steps < 1:
            raise ValueError(f"n_steps must be at least 1, got {n_steps!r}.")
        rng, system = check_random_state(random_state), self.system
        acting = self.action_noise if self.behaviour_noise is None else self.behaviour_noise
        noise_root, (d, k) = _root(system.noise), system.G.shape
        closed = system.closed_loop(self.gain)

        def disturbances():
            tried = np.sqrt(acting) * rng.normal(size=(n_steps, k))
            return tried, rng.normal(size=(n_steps, noise_root.shape[1])) @ noise_root.T

        tried, shoved = disturbances()
        pushes = tried @ system.G.T + shoved
        states = np.empty((n_steps + 1, d))
        states[0] = self._state_root @ rng.normal(size=self._state_root.shape[1])
        for i in range(n_steps):
            states[i + 1] = closed @ states[i] + pushes[i]
        here, meant = states[:-1], states[:-1] @ self.gain.T
        off = self.behaviour_noise is not None
        second = {}
        if double:
            tried2, shoved2 = disturbances()
            after = here @ closed.T + tried2 @ system.G.T + shoved2
            second = {
                "X_next2": self.transform(after),
                "r2": self.rewards(here, meant + tried2),
                "rho2": np.exp(self._log_ratio(tried2)) if off else None,
            }
        X = self.transform(states)
        rho = np.exp(self._log_ratio(tried)) if off else None
        r = self.rewards(here, meant + tried)
        return Transitions(X[:-1], r, X[1:], rho=rho, **second)

    def _squared_td(self):
        """Return E[δ²] under stationary states of the data and actions of the target."""
        system, rng = self.system, check_random_state(self.random_state)
        noise_root, k = _root(system.noise), system.G.shape[1] * (self.action_noise > 0)
        sizes = np.cumsum([self._state_root.shape[1], k])
        points, weights = _gaussian_nodes(sizes[1] + noise_root.shape[1], self.n_states, rng)
        place, tried, shoved = np.split(points, sizes, axis=1)
        states = place @ self._state_root.T
        actions = states @ self.gain.T
        if k:
            actions = actions + np.sqrt(self.action_noise) * tried
        after = states @ system.F.T + actions @ system.G.T + shoved @ noise_root.T
        change = self.transform(states) - self.gamma * self.transform(after)
        r = self.rewards(states, actions)
        weighted = change.T * weights
        return SquaredTD(weighted @ change, weighted @ r, float(weights @ r**2))

    def objectives(self, lam=0.0):
        """Return the objectives.

        Parameters
        ----------
        lam : float, default=0.0
            Trace parameter λ of the Bellman operator.

        Returns
        -------
        ValueObjectives
            Functions of the coefficients.
        """
        system, noise = self.system, self.action_noise
        closed, cost = system.closed_loop(self.gain), self.gain.T @ system.N @ self.gain
        step, paid = system.step_covariance(noise), noise * np.trace(system.N)
        bootstrap, rewards = np.zeros_like(self.features_), np.zeros(len(self.states_))
        power, spread = np.eye(len(closed)), np.zeros_like(step)
        weight = 1.0
        # T_λ V = Σ_k (λγ)ᵏ E[r_k + (1 − λ)γV(s_{k+1})], each term a quadratic in the state.
        while True:
            here = self.states_ @ power.T
            total = system.Q + cost
            expected = np.einsum("ni,ij,nj->n", here, total, here) + np.trace(total @ spread) + paid
            rewards -= weight * expected
            power, spread = closed @ power, closed @ spread @ closed.T + step
            after = self._map.expected(self.states_ @ power.T, spread)
            after = (after - self._mean) / self._scale
            bootstrap += weight * self.gamma * (1.0 - lam) * after
            weight *= lam * self.gamma
            if weight < 1e-16:
                break
        return ValueObjectives(
            self.features_,
            bootstrap,
            rewards,
            self.weights_,
            self.value_,
            self._squared_td() if lam == 0 else None,
        )
