"""Policies compared by what they do: the behaviour-based kernel, and the bound behind it.

Reference: Wilson, Fern and Tadepalli (2014), "Using trajectory data to improve Bayesian
optimization for reinforcement learning", JMLR 15:253-282, sections 4.1 and 4.2.
"""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np

from octavo.engine.estimators.checked import checked
from octavo.engine.gaussian_process.posterior import clipped_kernel
from octavo.rl.policy_search.single_sums import single_sums
from octavo.rl.policy_search.step_sums import (
    BACKWARD,
    FORWARD,
    LOG_RATIO,
    Steps,
    finite_sums,
    other_sums,
    softmax_sums,
    stack_steps,
)
from octavo.rl.simulators.policies import SoftmaxLinearPolicy, is_real

__all__ = ["BehaviourKernel", "behaviour_kl", "policy_divergence_bound"]

_DIAGONAL = 1e-3  # a mean kernel value between policies below which they all count as unlike


class BehaviourKernel:
    """Similarity of policies by the actions they would take where they have been.

    k(θ, θ') = exp(−α D), D = √KL(P_θ ‖ P_θ') + √KL(P_θ' ‖ P_θ), where P_θ is the law of a whole
    trajectory. The dynamics cancel in the ratio of two such laws, so that recorded episodes and
    ln π(a|s) are all it takes.

    Parameters
    ----------
    alpha : float, default=1.0
        How fast similarity falls with the divergence.
    divergence : {"sqrt", "paper"}, default="sqrt"
        "sqrt" estimates D: means over episodes, clipped at 0, under roots. "paper" is the sum of
        log ratios that the paper prints, which is no estimate of D.
    estimator : {"per_decision", "is"}, default="per_decision"
        How the divergence of a policy without episodes is estimated from another's.
        "per_decision" weighs the exact divergence in each state by the ratio of the steps before;
        "is" weighs whole trajectories, self-normalised. Both have the same aim; the first has far
        less variance.
    w_max : float, default=10.0
        Largest weight; infinity for the unbiased estimate.
    normalize : {None, "per_step"}, default=None
        "per_step" divides divergences by the length of the episodes. Without it they grow with
        the length, until no two policies are alike.
    thin : int, default=1
        Keep every so many steps of an episode, and count each as often: for long trajectories.
        Weights are those of the kept steps alone.

    See Also
    --------
    TrajectoryBO : The optimiser that uses it.
    sklearn.gaussian_process.kernels.RBF : Similarity of the parameters instead.

    Notes
    -----
    Do not use it for deterministic policies, which share no support, nor where different sequences
    of actions lead to the same motion: a bicycle that is steered left, right, left is as good as
    one that is steered right, left, right, and the kernel calls them unlike.

    Matrices go into `sklearn.gaussian_process.GaussianProcessRegressor` through a kernel on row
    numbers, or into any model with precomputed kernels.

    References
    ----------
    .. [1] Wilson, Fern and Tadepalli (2014). Using trajectory data to improve Bayesian
       optimization for reinforcement learning. JMLR 15:253-282, sections 4.1 and 4.2.

    Examples
    --------
    >>> from octavo.rl import BehaviourKernel, Episode, SoftmaxLinearPolicy
    >>> policy = SoftmaxLinearPolicy(1, 2)
    >>> runs = [[Episode([[1.0]] * 4, [0, 1, 0, 0], [0.0] * 4)] for _ in range(3)]
    >>> thetas = [[0.0, 0.0], [1.0, 1.0], [0.5, 0.0]]  # the first two act alike
    >>> BehaviourKernel().matrix(policy, thetas, runs)[0].round(3).tolist()
    [1.0, 1.0, 0.497]
    """

    def __init__(
        self,
        alpha: Any = 1.0,
        divergence: str = "sqrt",
        estimator: str = "per_decision",
        w_max: Any = 10.0,
        normalize: str | None = None,
        *,
        thin: Any = 1,
    ) -> None:
        if not is_real(alpha) or not 0 < alpha < np.inf:
            raise ValueError(f"alpha must be a positive number; got {alpha!r}.")
        if not is_real(w_max) or not w_max >= 1:
            raise ValueError(f"w_max must be a number of at least 1; got {w_max!r}.")
        if not isinstance(thin, Integral) or thin < 1:
            raise ValueError(f"thin must be a whole number of at least 1; got {thin!r}.")
        allowed = {
            "divergence": ("sqrt", "paper"),
            "estimator": ("per_decision", "is"),
            "normalize": (None, "per_step"),
        }
        given = {"divergence": divergence, "estimator": estimator, "normalize": normalize}
        for name, value in given.items():
            if value not in allowed[name]:
                raise ValueError(f"{name} must be one of {allowed[name]}; got {value!r}.")
        self.alpha, self.w_max, self.thin = float(alpha), float(w_max), int(thin)
        self.divergence, self.estimator, self.normalize = divergence, estimator, normalize

    def __repr__(self) -> str:
        words = ("alpha", "divergence", "estimator", "w_max", "normalize", "thin")
        return f"BehaviourKernel({', '.join(f'{w}={getattr(self, w)!r}' for w in words)})"

    # -- divergences ---------------------------------------------------------------------------

    def steps(self, policy: Any, thetas: Any, episodes: Any) -> Steps:
        """Return the stacked steps of evaluated policies, which several calls can share."""
        return stack_steps(policy, thetas, episodes, self.thin)

    def sums(
        self, policy: Any, candidates: np.ndarray, steps: Steps, dtype: Any = np.float64
    ) -> np.ndarray:
        """Return the sums (n_candidates, n_episodes, 3) over steps; see `step_sums`."""
        cap = min(self.w_max, 1e300)
        if isinstance(policy, SoftmaxLinearPolicy) and dtype == np.float32:
            found = single_sums(policy.n_actions, candidates, steps, cap)
        elif isinstance(policy, SoftmaxLinearPolicy):
            found = softmax_sums(policy, candidates, steps, steps.double, cap)
        elif steps.own is not None and steps.actions.ndim == 1:
            found = finite_sums(policy, candidates, steps, steps.double, cap)
        else:
            found = other_sums(policy, candidates, steps, cap)
        if self.thin > 1:
            found *= self.thin
        return found

    def _per_step(self, steps: Steps) -> np.ndarray:
        """Return what divergences of each policy's episodes are divided by."""
        if self.normalize is None:
            return np.ones(len(steps.thetas))
        return steps.means(steps.lengths)

    def divergence_from_sums(self, sums: np.ndarray, steps: Steps) -> np.ndarray:
        """Return D between candidates and evaluated policies, from the latter's episodes."""
        ratio = sums[:, :, LOG_RATIO]
        if self.divergence == "paper":
            # Section 4.2's estimates, which sum over trajectories and take no roots
            weights = np.exp(np.minimum(ratio, 700.0))
            counts = np.bincount(steps.owner)
            total = steps.means((weights - 1.0) * ratio) * counts  # Σ wℓ − ℓ
            return np.maximum(total, 0.0) / self._per_step(steps)
        if self.estimator == "per_decision":
            ahead, behind = steps.means(sums[:, :, FORWARD]), steps.means(sums[:, :, BACKWARD])
        else:
            # KL(j, new) is the mean of log P_j - log P_new over episodes of j
            ahead, behind = self._weighted(ratio, steps), -steps.means(ratio)
        scale = self._per_step(steps)
        # D of Section 4.1: √KL + √KL
        return np.sqrt(np.maximum(ahead, 0) / scale) + np.sqrt(np.maximum(behind, 0) / scale)

    def _weighted(self, ratio: np.ndarray, steps: Steps) -> np.ndarray:
        """Return KL(new ‖ j) by weights of whole trajectories, self-normalised and clipped."""
        largest = np.full((len(ratio), len(steps.thetas)), -np.inf)
        for e, j in enumerate(steps.owner):
            largest[:, j] = np.maximum(largest[:, j], ratio[:, e])
        top = largest[:, steps.owner]
        weights = np.exp(ratio - top)
        weights = np.minimum(weights / steps.means(weights)[:, steps.owner], self.w_max)
        return steps.means(weights * ratio)

    def cross_divergence(self, policy: Any, candidates: Any, steps: Steps) -> np.ndarray:
        """Return D between candidates and evaluated policies."""
        return self.divergence_from_sums(self.sums(policy, candidates, steps), steps)

    def pair_divergence(self, policy: Any, steps: Steps) -> np.ndarray:
        """Return D between evaluated policies, each direction from the episodes of its first."""
        sums = self.sums(policy, steps.thetas, steps)
        if self.divergence == "paper":
            counts = np.bincount(steps.owner)
            # Σ log P_i - log P_j over the episodes of i
            one_way = -steps.means(sums[:, :, LOG_RATIO]) * counts / self._per_step(steps)
            total = np.maximum(one_way + one_way.T, 0.0)
        else:
            exact = self.estimator == "per_decision"
            one_way = steps.means(sums[:, :, BACKWARD] if exact else -sums[:, :, LOG_RATIO])
            root = np.sqrt(np.maximum(one_way / self._per_step(steps), 0.0))
            total = root + root.T
        np.fill_diagonal(total, 0.0)
        return total

    # -- kernel values -------------------------------------------------------------------------

    def from_divergence(self, D: np.ndarray) -> np.ndarray:
        """Return exp(−αD)."""
        return np.exp(-self.alpha * D)  # K of Section 4.1

    def matrix(self, policy: Any, thetas: Any, episodes: Any) -> np.ndarray:
        """Return kernel values between evaluated policies.

        Parameters
        ----------
        policy : object
            The policy whose parameters are compared.
        thetas : array-like of shape (n_evaluated, n_params)
            Parameters that were run.
        episodes : sequence of lists of Episode
            A list of episodes for each.

        Returns
        -------
        ndarray of shape (n_evaluated, n_evaluated)
            Symmetric, with ones on the diagonal; negative eigenvalues, which estimates can have,
            are clipped.
        """
        steps = self.steps(policy, thetas, episodes)
        return self.settled(self.from_divergence(self.pair_divergence(policy, steps)))

    def settled(self, K: np.ndarray) -> np.ndarray:
        """Clip the eigenvalues of an estimated matrix; warn where it is all but diagonal."""
        n = len(K)
        if n > 1 and (K.sum() - n) / (n * (n - 1)) < _DIAGONAL:
            warnings.warn(
                "The behaviour kernel calls all policies unlike (mean value below "
                f"{_DIAGONAL:g}): take normalize='per_step' or a smaller alpha.",
                UserWarning,
                stacklevel=3,
            )
        return clipped_kernel(K)

    def cross(self, policy: Any, candidates: Any, thetas: Any, episodes: Any) -> np.ndarray:
        """Return kernel values between candidates, which were never run, and evaluated policies.

        Parameters
        ----------
        policy : object
            The policy whose parameters are compared.
        candidates : array-like of shape (n_candidates, n_params)
            Parameters to compare.
        thetas : array-like of shape (n_evaluated, n_params)
            Parameters that were run.
        episodes : sequence of lists of Episode
            A list of episodes for each.

        Returns
        -------
        ndarray of shape (n_candidates, n_evaluated)
            Kernel values.
        """
        candidates = np.atleast_2d(np.asarray(candidates, dtype=float))
        if not np.isfinite(candidates).all():
            raise ValueError("Candidates must be finite; got NaN or infinity.")
        steps = self.steps(policy, thetas, episodes)
        return self.from_divergence(self.cross_divergence(policy, candidates, steps))


@checked
def behaviour_kl(mdp, policy, other, horizon):
    """Return KL(P_policy ‖ P_other) of trajectories of a finite MDP, exactly.

    By the chain rule it is Σ_t Σ_s d_t(s) KL(policy(·|s) ‖ other(·|s)), with d_t the law of the
    state at time t under the first policy.

    Parameters
    ----------
    mdp : FiniteMDP
        The model.
    policy, other : array-like of shape (n_states, n_actions)
        Tables of probabilities.
    horizon : int
        Number of steps.

    Returns
    -------
    float
        The divergence; infinite where the other never does what the first does.

    References
    ----------
    .. [1] Wilson, Fern and Tadepalli (2014). Using trajectory data to improve Bayesian
       optimization for reinforcement learning. JMLR 15:253-282, section 4.1.

    Examples
    --------
    >>> from octavo.rl import FiniteMDP, behaviour_kl
    >>> mdp = FiniteMDP([[[1.0]], [[1.0]]], [[0.0, 1.0]])
    >>> round(behaviour_kl(mdp, [[0.5, 0.5]], [[0.25, 0.75]], 3), 6)
    0.431523
    """
    if not isinstance(horizon, Integral) or isinstance(horizon, bool) or horizon < 0:
        raise ValueError(f"horizon must be a whole number of at least 0; got {horizon!r}.")
    if not hasattr(mdp, "check_policy"):
        raise ValueError(f"mdp must be a FiniteMDP; got {type(mdp).__name__}.")
    first, second = mdp.check_policy(policy, "policy"), mdp.check_policy(other, "other")
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(first > 0, first * (np.log(first) - np.log(second)), 0.0)
    each = np.where(mdp.terminal, 0.0, terms.sum(axis=1))
    P, law, total = mdp.surviving_matrix(first), mdp.start.copy(), 0.0
    for _ in range(horizon):
        seen = law > 0
        # chain rule: the divergence of each step, where it is taken
        total += float(law[seen] @ each[seen])
        law = law @ P
    return total


@checked
def policy_divergence_bound(kl_ij, kl_ji, r_max):
    """Return the bound of Theorem 1 on the difference of two policies' expected returns.

    Parameters
    ----------
    kl_ij, kl_ji : float or array-like
        Divergences between the laws of their trajectories, in both directions.
    r_max : float
        Largest absolute value of a trajectory's sum of rewards.

    Returns
    -------
    float or ndarray
        √2 r_max (√kl_ij + √kl_ji).

    References
    ----------
    .. [1] Wilson, Fern and Tadepalli (2014). Using trajectory data to improve Bayesian
       optimization for reinforcement learning. JMLR 15:253-282, Theorem 1.

    Examples
    --------
    >>> from octavo.rl import policy_divergence_bound
    >>> policy_divergence_bound(0.5, 0.5, 1.0)
    2.0
    """
    one, two, most = (np.asarray(v, dtype=float) for v in (kl_ij, kl_ji, r_max))
    for name, values in (("kl_ij", one), ("kl_ji", two), ("r_max", most)):
        if not (values >= 0).all():
            raise ValueError(f"{name} must not be negative or NaN; got {values.min()}.")
    bound = np.sqrt(2.0 * one) * most + np.sqrt(2.0 * two) * most  # Theorem 1
    return float(bound) if bound.ndim == 0 else bound
