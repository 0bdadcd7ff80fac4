"""What policy evaluation minimises: exact errors of a linear value function, and their minima.

A linear value function V_θ = Φθ can be judged by its distance from the true value (MSE), from its
own Bellman backup (MSBE), from the projection of that backup (MSPBE), by the expected update of TD
(NEU) or by the expected squared temporal difference (MSTDE). All are quadratic in θ and known
exactly when the model is.

Reference: Dann, Neumann and Peters (2014), "Policy evaluation with temporal differences: a survey
and comparison", JMLR 15:809-883, section 2.1.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import NamedTuple

import numpy as np

from octavo.engine.estimators.checked import checked

__all__ = ["SquaredTD", "ValueObjectives", "value_objectives"]

OBJECTIVES = ("mse", "msbe", "mspbe", "mstde", "neu")


class SquaredTD(NamedTuple):
    """E[δ²] as a quadratic in θ: ``quadratic`` E[ΔΔᵀ], ``linear`` E[Δr], ``constant`` E[r²].

    Δ = φ − γφ' is the difference of features that a transition makes.
    """

    quadratic: np.ndarray
    linear: np.ndarray
    constant: float


def solve_or_least_squares(A, b, what):
    """Return the solution of Aθ = b, or its shortest least-squares solution with a warning."""
    rank = np.linalg.matrix_rank(A)
    if rank == len(A):
        return np.linalg.solve(A, b)
    warnings.warn(
        f"{what} is singular (rank {rank} of {len(A)}): the features are dependent or the "
        "problem has no unique fixed point; the shortest least-squares solution is returned.",
        UserWarning,
        stacklevel=3,
    )
    return np.linalg.lstsq(A, b, rcond=None)[0]


class ValueObjectives:
    """The objectives of policy evaluation at given states, as functions of θ.

    Parameters
    ----------
    features : array-like of shape (n_states, n_features)
        Features Φ of the states.
    bootstrap : array-like of shape (n_states, n_features)
        Discounted expected features of the successors: the backup of V_θ is
        ``rewards + bootstrap @ theta``.
    rewards : array-like of shape (n_states,)
        Expected rewards.
    weights : array-like of shape (n_states,)
        How much the states count: the distribution d of the data, or equal weights for a sample.
    value : array-like of shape (n_states,), default=None
        The true value, for `mse`.
    squared_td : SquaredTD, default=None
        E[δ²], for `mstde`.
    stretch : float, default=None
        Bound on ||(I − γP)⁻¹||_D, for `bellman_bound`.

    See Also
    --------
    value_objectives : Makes them for a finite MDP.

    Notes
    -----
    These need the model, or a large sample of states with expected successors. From transitions
    alone, MSBE cannot be estimated without bias; use an estimator such as `LSTD` there.

    References
    ----------
    .. [1] Dann, Neumann and Peters (2014). Policy evaluation with temporal differences: a survey
       and comparison. JMLR 15:809-883.

    Examples
    --------
    Two states of values 0 and 2, and one constant feature:

    >>> from octavo.rl import FiniteMDP, value_objectives
    >>> mdp = FiniteMDP([[0.5, 0.5], [0.5, 0.5]], [-0.8, 1.2], gamma=0.8, features=[[1.0], [1.0]])
    >>> exact = value_objectives(mdp)
    >>> round(exact.mspbe([1.0]), 12), round(exact.msbe([1.0]), 12), round(exact.mse([1.0]), 12)
    (0.0, 1.0, 1.0)
    """

    def __init__(
        self, features, bootstrap, rewards, weights, value=None, squared_td=None, stretch=None
    ):
        self.features = np.asarray(features, dtype=np.float64)
        self.bootstrap = np.asarray(bootstrap, dtype=np.float64)
        self.rewards = np.asarray(rewards, dtype=np.float64)
        self.weights = np.asarray(weights, dtype=np.float64)
        self.value = None if value is None else np.asarray(value, dtype=np.float64)
        self.squared_td = squared_td
        self.stretch = stretch
        n = len(self.features)
        if self.bootstrap.shape != self.features.shape:
            raise ValueError(
                f"bootstrap must have the shape of features, {self.features.shape}, got "
                f"{self.bootstrap.shape}."
            )
        for name in ("rewards", "weights", "value"):
            vector = getattr(self, name)
            if vector is not None and vector.shape != (n,):
                raise ValueError(f"{name} must have shape ({n},), got {vector.shape}.")
        if (self.weights < 0).any() or not self.weights.sum() > 0:
            raise ValueError("weights must be non-negative and not all zero.")
        weighted = self.features.T * self.weights
        self.gram = weighted @ self.features  # Φ'DΦ
        self.A = weighted @ (self.features - self.bootstrap)
        self.b = weighted @ self.rewards

    @cached_property
    def _gram_inverse(self):
        """(Φ'DΦ)⁺, kept because learning curves ask for the MSPBE again and again."""
        cut = len(self.gram) * np.finfo(float).eps
        return np.linalg.pinv(self.gram, rcond=cut, hermitian=True)

    def _norm(self, error):
        return float(self.weights @ error**2)

    def _theta(self, theta):
        theta = np.asarray(theta, dtype=np.float64)
        if theta.shape != (self.features.shape[1],):
            raise ValueError(
                f"theta must have one entry for each of {self.features.shape[1]} features, got "
                f"shape {theta.shape}."
            )
        return theta

    def _needed(self, name, objective):
        thing = getattr(self, name)
        if thing is None:
            raise ValueError(f"{objective} needs {name}, which these objectives do not have.")
        return thing

    def backup(self, theta):
        """Return TV_θ.

        Parameters
        ----------
        theta : array-like of shape (n_features,)
            Coefficients.

        Returns
        -------
        ndarray of shape (n_states,)
            The backed-up values.
        """
        return self.rewards + self.bootstrap @ self._theta(theta)

    def mse(self, theta):
        """Return ||V_θ − V||²_D.

        Parameters
        ----------
        theta : array-like of shape (n_features,)
            Coefficients.

        Returns
        -------
        float
            The mean squared error.
        """
        value = self._needed("value", "mse")
        return self._norm(self.features @ self._theta(theta) - value)  # Eq. (4)

    def msbe(self, theta):
        """Return ||V_θ − TV_θ||²_D, the mean squared Bellman error.

        Parameters
        ----------
        theta : array-like of shape (n_features,)
            Coefficients.

        Returns
        -------
        float
            The error.
        """
        return self._norm(self.features @ self._theta(theta) - self.backup(theta))  # Eq. (5)

    def mspbe(self, theta):
        """Return ||V_θ − ΠTV_θ||²_D, the mean squared projected Bellman error.

        Parameters
        ----------
        theta : array-like of shape (n_features,)
            Coefficients.

        Returns
        -------
        float
            The error.
        """
        residual = self.A @ self._theta(theta) - self.b  # Eq. (10)
        # in the norm of (Φ'DΦ)⁻¹, as in Eq. (10)
        return max(0.0, float(residual @ (self._gram_inverse @ residual)))

    def neu(self, theta):
        """Return ||E[δφ]||², the norm of the expected TD update.

        Parameters
        ----------
        theta : array-like of shape (n_features,)
            Coefficients.

        Returns
        -------
        float
            The squared norm.
        """
        return float(np.sum((self.A @ self._theta(theta) - self.b) ** 2))  # Eq. (12)

    def mstde(self, theta):
        """Return E[δ²], the mean squared temporal difference of single transitions.

        Parameters
        ----------
        theta : array-like of shape (n_features,)
            Coefficients.

        Returns
        -------
        float
            The error; never below `msbe`.
        """
        theta = self._theta(theta)
        M, m, c = self._needed("squared_td", "mstde")
        return max(0.0, float(theta @ M @ theta - 2 * m @ theta + c))  # Eq. (8)

    def ope(self, theta, omega):
        """Return ||V_θ − TV_ω||²_D, the operator error.

        Parameters
        ----------
        theta, omega : array-like of shape (n_features,)
            Coefficients of the value and of what is backed up.

        Returns
        -------
        float
            The error.
        """
        return self._norm(self.features @ self._theta(theta) - self.backup(omega))  # Eq. (13)

    def fpe(self, theta, omega):
        """Return ||V_θ − V_ω||²_D, the fixed-point error.

        Parameters
        ----------
        theta, omega : array-like of shape (n_features,)
            Coefficients.

        Returns
        -------
        float
            The error.
        """
        return self._norm(self.features @ (self._theta(theta) - self._theta(omega)))  # Eq. (14)

    def ope_minimiser(self, omega):
        """Return the θ whose V_θ is nearest to TV_ω: one step of projected value iteration.

        Parameters
        ----------
        omega : array-like of shape (n_features,)
            Coefficients of what is backed up.

        Returns
        -------
        ndarray of shape (n_features,)
            The minimiser.
        """
        right = (self.features.T * self.weights) @ self.backup(omega)
        return solve_or_least_squares(self.gram, right, "The Gram matrix of the features")

    def minimiser(self, objective="mspbe"):
        """Return the θ that minimises an objective.

        Parameters
        ----------
        objective : {"mse", "msbe", "mspbe", "mstde", "neu"}, default="mspbe"
            Which. "mspbe", "neu" and the nested pair OPE, FPE share their minimum, where both are
            zero.

        Returns
        -------
        ndarray of shape (n_features,)
            The minimiser.
        """
        if objective not in OBJECTIVES:
            raise ValueError(f"objective must be one of {OBJECTIVES}, got {objective!r}.")
        if objective in ("mspbe", "neu"):
            # Eq. (11): both are zero at A θ = b
            return solve_or_least_squares(self.A, self.b, "A = Φ'D(Φ − γPΦ)")
        if objective == "mstde":
            M, m, _ = self._needed("squared_td", "mstde")
            return solve_or_least_squares(M, m, "E[ΔΔ']")
        if objective == "mse":
            design, target = self.features, self._needed("value", "mse")
        else:
            # Eq. (5): regress R on Φ - γPΦ
            design, target = self.features - self.bootstrap, self.rewards
        root = np.sqrt(self.weights)
        return np.linalg.lstsq(root[:, None] * design, root * target, rcond=None)[0]

    def bellman_bound(self, theta):
        """Bound ||V_θ − V||_D by the Bellman error: √C / (1 − γ) times its norm.

        Parameters
        ----------
        theta : array-like of shape (n_features,)
            Coefficients.

        Returns
        -------
        float
            The bound on the root of `mse`.

        Notes
        -----
        Equation (15) of the survey prints the bound between squared norms, and the probability of
        the departure in the denominator of C. Neither holds in general. What does is this bound
        between norms, with C = max P_ij / d_j; where d is the stationary distribution of the
        policy itself, C = 1.
        """
        return self._needed("stretch", "bellman_bound") * np.sqrt(self.msbe(theta))


def stretch_of(P, d, gamma):
    """Return √C / (1 − γ), a bound on ||(I − γP)⁻¹||_D; infinite where there is none."""
    if gamma == 1:
        return np.inf
    if (d @ P <= d + 1e-12).all():  # no power of P adds weight to any state: on-policy
        return 1.0 / (1.0 - gamma)
    peak = P.max(axis=0)
    if (peak[d == 0] > 0).any():
        return np.inf
    C = np.max(np.divide(peak, d, out=np.zeros_like(d), where=d > 0))
    return np.sqrt(max(C, 1.0)) / (1.0 - gamma)


def _squared_td(mdp, policy, d, Phi):
    """Return E[δ²] under departures d and the target policy."""
    Phi = np.where(mdp.terminal[:, None], 0.0, Phi)
    joint = np.einsum("s,sa,ast->ast", d, policy, mdp.P)
    pairs = joint.sum(axis=0)
    gamma = mdp.gamma
    cross = Phi.T @ pairs @ Phi
    after = (Phi.T * pairs.sum(axis=0)) @ Phi
    before = (Phi.T * d) @ Phi
    quadratic = before - gamma * (cross + cross.T) + gamma**2 * after
    paid = (joint * mdp.R).sum(axis=0)
    linear = Phi.T @ (paid.sum(axis=1) - gamma * paid.sum(axis=0))
    return SquaredTD(quadratic, linear, float((joint * mdp.R**2).sum()))


@checked
def value_objectives(mdp, policy=None, behaviour=None, *, lam=0.0, features=None, weights=None):
    """Return the exact objectives of evaluating a policy of a finite MDP.

    Parameters
    ----------
    mdp : FiniteMDP
        The model.
    policy : array-like of shape (n_states, n_actions), default=None
        The target policy.
    behaviour : array-like of shape (n_states, n_actions), default=None
        The policy whose states count; None stands for the target policy.
    lam : float, default=0.0
        The Bellman operator is the average T_λ = (1 − λ) Σ λᵏT^{k+1}. `ValueObjectives.mstde` and
        the bound are for 0.
    features : array-like of shape (n_states, n_features), default=None
        Features; None stands for those of the MDP.
    weights : array-like of shape (n_states,), default=None
        How the states count; None stands for the distribution of the behaviour.

    Returns
    -------
    ValueObjectives
        The objectives.

    Examples
    --------
    >>> from octavo.rl import make_garnet, value_objectives
    >>> garnet = make_garnet(30, 2, 2, 8, random_state=0)
    >>> exact = value_objectives(garnet, garnet.random_policy(1))
    >>> theta = exact.minimiser("mspbe")
    >>> exact.mspbe(theta) < 1e-20 < exact.mse(theta)
    True
    """
    if not 0 <= lam <= 1:
        raise ValueError(f"lam must lie in [0, 1], got {lam!r}.")
    policy = mdp.check_policy(policy)
    Phi = mdp.features if features is None else mdp._as_features(features)
    if weights is None:
        d = mdp.state_distribution(policy if behaviour is None else behaviour)
    else:
        d = np.asarray(weights, dtype=np.float64)
    P, R = mdp.transition_matrix(policy), mdp.expected_rewards(policy)
    reach = np.eye(mdp.n_states) - lam * mdp.gamma * P
    bootstrap = (1 - lam) * mdp.gamma * np.linalg.solve(reach, P @ Phi)
    plain = lam == 0
    return ValueObjectives(
        Phi,
        bootstrap,
        np.linalg.solve(reach, R),
        d,
        mdp.value(policy),
        _squared_td(mdp, policy, d, Phi) if plain else None,
        stretch_of(P, d, mdp.gamma) if plain else None,
    )
