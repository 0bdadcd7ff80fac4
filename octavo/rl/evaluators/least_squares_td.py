"""Linear value functions by least squares: LSTD(λ), LSPE(λ) and FPKF(λ), on- and off-policy.

The survey's recommendation for up to some thousands of features: no step size to tune, and the
most accurate values for a given number of transitions. Off-policy data should be weighed by the
transition (``off_policy="transition"``), which is the survey's own contribution.

References: C. Dann, G. Neumann and J. Peters (2014), "Policy Evaluation with Temporal Differences:
A Survey and Comparison", Journal of Machine Learning Research 15: Sections 2.2.2 and 2.4.2,
Algorithms 5-9. M. Geist and B. Scherrer (2014), "Off-policy Learning With Eligibility Traces: A
Survey", same volume: Algorithms 1-3.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.rl.evaluators.base import (
    POSITIVE,
    UNIT,
    WEIGHTING,
    PolicyEvaluator,
    starting_point,
)
from octavo.rl.evaluators.least_squares_passes import DIVERGED, fpkf_pass, lspe_pass, lstd_pass
from octavo.rl.evaluators.normal_equations import (
    add_to_gram,
    add_to_system,
    differences,
    inverse_system,
    solve_system,
    zeros,
)
from octavo.rl.evaluators.penalties import (
    NESTED,
    PENALTIES,
    check_penalty,
    penalised_solution,
    projected,
    random_components,
)
from octavo.rl.evaluators.step_sizes import step_sizes
from octavo.rl.processes.traces import TraceTerms, dense_rows, trace_terms
from octavo.rl.processes.transitions import Transitions

__all__ = ["FPKF", "LSPE", "LSTD"]


class LeastSquaresEvaluator(PolicyEvaluator):
    """Base of the methods that solve a linear system."""

    _parameter_constraints: dict[str, Any] = {
        "gamma": [UNIT],
        "lam": [UNIT],
        "eps": [POSITIVE],
        "off_policy": [WEIGHTING],
    }
    _block = 1024  # keeps the rows of a block in the cache
    eps: float | None
    off_policy: str

    def _terms(self, block: Transitions) -> TraceTerms:
        return trace_terms(block, self.gamma, self.lam, self.off_policy, self._carried)

    def _warn_if_few(self) -> None:
        """Say so when the ridge, not the data, decides in some directions."""
        if self._whole and self.eps is not None and self.n_transitions_ < self.n_features_in_:
            warnings.warn(
                f"{type(self).__name__} has {self.n_transitions_} transitions for "
                f"{self.n_features_in_} features: the ridge of eps={self.eps:g} decides the rest.",
                UserWarning,
                stacklevel=7,
            )

    def _warn_if_light(self, mass: float) -> None:
        """Say so when the ridge outweighs the data in all directions, as with tiny features."""
        if self._whole and self.eps is not None and 0.0 < mass < 1.0 / self.eps:
            warnings.warn(
                f"The ridge of eps={self.eps:g} outweighs all {self.n_transitions_} transitions, "
                f"whose sums reach {mass:.3g} beside its {1.0 / self.eps:.3g}: values are held "
                "near zero. Scale the features, or raise eps.",
                UserWarning,
                stacklevel=7,
            )

    def _warn_if_diverging(self, used: int, n: int) -> bool:
        """Say so when a recursion was stopped; return whether to go on."""
        norm = float(np.linalg.norm(self._theta))
        self.diverged_ = used < n
        if self.diverged_:
            warnings.warn(
                f"{type(self).__name__} diverged: the coefficients have norm {norm:.3g}; the "
                "projected operator does not contract for this pair of policies: use LSTD, a "
                "larger lam, or a smaller alpha.",
                ConvergenceWarning,
                stacklevel=7,
            )
        return not self.diverged_


class LSTD(LeastSquaresEvaluator):
    """LSTD(λ): the linear value function at which the projected temporal differences vanish.

    Parameters
    ----------
    lam : float, default=0.0
        Decay of the eligibility traces, in [0, 1]: 0 bootstraps from the next state, 1 regresses
        complete returns.
    eps : float or None, default=1e3
        Inverse strength of the ridge: the system is A + I/eps, as in the recursion that starts
        from eps I. None for no ridge, with ``solver="batch"`` only.
    off_policy : {"transition", "standard"}, default="transition"
        Whether importance ratios multiply the whole temporal difference (LSTD-TO), or reward and
        next value only. They have one limit; the first has far less variance.
    solver : {"batch", "recursive"}, default="batch"
        Sum the system and solve it at the end, or keep its inverse up to date with every
        transition. The results agree; the first is faster.
    penalty : {"l2", "l1", "lasso-td", "dantzig", "laplacian", "l2l2", "l2l1", "l1-pbr", "rp"} or \
            None, default=None
        Which regularised LSTD to solve instead of the ridge of ``eps``: a ridge (`ridge_td`), a
        lasso on the equations (`l1_td`), Lasso-TD (`lasso_td`), a Dantzig selector (`dantzig_td`),
        smoothness on a graph (`laplacian_td`), penalties on projection and fixed point
        (`nested_td`; the last with 0 for the first), or a random subspace (`random_projection_td`).
    alpha : float, default=0.01
        Strength of the penalty, on the scale of the means A/n and b/n; for the nested penalties,
        in the projection.
    alpha_nested : float, default=0.01
        Strength of the nested penalties on the fixed point.
    lasso_solver : {"lars", "lcp"}, default="lars"
        How Lasso-TD is solved.
    laplacian : array-like or sparse matrix of shape (n_nodes, n_nodes), default=None
        Laplacian of the graph, for ``penalty="laplacian"``.
    nodes : array-like of shape (n_nodes, n_features), default=None
        Features of its nodes; as many as the laplacian has rows.
    n_components : int, default=50
        Dimension of the random subspace.
    random_state : int, RandomState instance or None, default=None
        Seeds the random subspace.

    Attributes
    ----------
    A_ : ndarray of shape (`n_features_in_`, `n_features_in_`)
        Sum of z Δφᵀ, without the ridge; in the subspace with ``penalty="rp"``.
    b_ : ndarray of shape (`n_features_in_`,)
        Sum of z ρ r.
    components_ : ndarray of shape (`n_features_in_`, n_components)
        The random subspace, with ``penalty="rp"``.
    M_ : ndarray of shape (`n_features_in_`, `n_features_in_`)
        Inverse of A + I/eps, with ``solver="recursive"``.
    n_restarts_ : int
        How often the recursion met a singular system and was restarted from A, with
        ``solver="recursive"``.
    trace_ : ndarray of shape (`n_features_in_`,)
        The trace after the last transition.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    TDC : For very many features.
    BRM : Minimises the Bellman residual instead.
    GPTD : With error bars.

    Notes
    -----
    Do not use it with more than about 20,000 features, whose system fills the memory: `TDC` is
    linear in them. For returns of complete, independent episodes with ``lam=1`` it is ridge
    regression, `sklearn.linear_model.Ridge`, on those returns.

    References
    ----------
    .. [1] C. Dann, G. Neumann and J. Peters (2014). "Policy Evaluation with Temporal Differences:
       A Survey and Comparison". Journal of Machine Learning Research 15. Algorithms 5 and 6.
    .. [2] M. Geist and B. Scherrer (2014). "Off-policy Learning With Eligibility Traces: A
       Survey". Journal of Machine Learning Research 15. Algorithm 1.

    Examples
    --------
    >>> from octavo.rl import LSTD
    >>> model = LSTD(gamma=0.5, eps=None).fit([[1, 0], [0, 1]], [1.0, 0.0], [[0, 1], [1, 0]])
    >>> model.predict([[1, 0], [0, 1]]).round(3)
    array([1.333, 0.667])
    """

    _parameter_constraints: dict[str, Any] = {
        **LeastSquaresEvaluator._parameter_constraints,
        "eps": [POSITIVE, None],
        "solver": [StrOptions({"batch", "recursive"})],
        "penalty": [None, StrOptions(set(PENALTIES))],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "alpha_nested": [Interval(Real, 0, None, closed="left")],
        "lasso_solver": [StrOptions({"lars", "lcp"})],
        "laplacian": [None, "array-like", "sparse matrix"],
        "nodes": [None, "array-like"],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        gamma: float = 0.95,
        lam: float = 0.0,
        *,
        eps: float | None = 1e3,
        off_policy: str = "transition",
        solver: str = "batch",
        penalty: str | None = None,
        alpha: float = 0.01,
        alpha_nested: float = 0.01,
        lasso_solver: str = "lars",
        laplacian: Any = None,
        nodes: Any = None,
        n_components: int = 50,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.lam = lam
        self.eps = eps
        self.off_policy = off_policy
        self.solver = solver
        self.penalty = penalty
        self.alpha = alpha
        self.alpha_nested = alpha_nested
        self.lasso_solver = lasso_solver
        self.laplacian = laplacian
        self.nodes = nodes
        self.n_components = n_components
        self.random_state = random_state

    def _begin(self, n_features: int) -> None:
        check_penalty(self)
        if self.penalty == "rp":
            self.components_ = random_components(self, n_features)
            n_features = self.n_components
        self.A_, self.b_, self._z = zeros(n_features)
        self._gram = np.zeros((n_features,) * 2) if self.penalty in NESTED else None
        if self.solver == "recursive":
            if self.eps is None:
                raise ValueError("solver='recursive' starts from eps times the identity, got None.")
            self._M = float(self.eps) * np.eye(n_features)
            self._theta = np.zeros(n_features)
            self.n_restarts_ = 0

    def _absorb(self, block: Transitions) -> bool:
        terms = self._terms(block)
        if self.solver == "recursive":
            self._recur(block, terms)
        elif self.penalty == "rp":
            add_to_system(projected(block, self.components_), terms, self._z, self.A_, self.b_)
        else:
            # The gram matrix stands in the nested penalties only.
            if self._gram is not None:
                add_to_gram(block, np.array(block.rho), self._gram)
            add_to_system(block, terms, self._z, self.A_, self.b_)
        return True

    def _recur(self, block: Transitions, terms: TraceTerms) -> None:
        """Run the recursion, and the sums beside it, from which a singular inverse is rebuilt."""
        X, delta, n = dense_rows(block.X), differences(block, terms), len(block)
        z, done = self._z.copy(), 0
        while done < n:
            stop = lstd_pass(X, delta, terms.target, terms.decay, done, self._M, self._theta, z)
            if stop < n:  # take some rows without inverting, then begin anew
                after = min(n, stop + 1 + self.n_features_in_)
                self._sum_rows(block, terms, done, after)
                self._M = inverse_system(self.A_, float(self.eps or 1.0))
                self._theta = self._M @ self.b_
                z, done = self._z.copy(), after
                self.n_restarts_ += 1
            else:
                self._sum_rows(block, terms, done, n)
                done = n

    def _sum_rows(self, block: Transitions, terms: TraceTerms, first: int, last: int) -> None:
        rows = slice(first, last)
        part = TraceTerms(*(term[rows] for term in terms))
        add_to_system(block._cut(rows), part, self._z, self.A_, self.b_)

    def _finish(self) -> None:
        self.trace_ = self._z.copy()
        if self.penalty is None:
            self._warn_if_light(float(np.abs(self.A_).max()))
        if self.solver == "recursive":
            self.M_, self.coef_ = self._M, self._theta.copy()
        elif self.penalty is not None:
            self.coef_ = penalised_solution(self, self._gram)  # Section 2.3.2
        else:
            self._warn_if_few()
            # Eq. (24) from sums as in Eqs. (25) and (26)
            self.coef_ = solve_system(self.A_, self.b_, self.eps, "LSTD")


class LSPE(LeastSquaresEvaluator):
    """LSPE(λ): repeated regression of λ-returns on the features.

    It moves by steps towards the solution of `LSTD`, from where it stands, so that a start of
    one's own and the step size act as a regulariser.

    Parameters
    ----------
    lam : float, default=0.0
        Decay of the eligibility traces, in [0, 1].
    learning_rate : float, default=1.0
        How far to move towards each regression.
    eps : float, default=1e3
        Inverse strength of the ridge on the sum of φφᵀ.
    off_policy : {"transition", "standard"}, default="transition"
        Whether importance ratios multiply the whole temporal difference (LSPE-TO), or reward and
        next value only.
    weight_gram : bool, default=False
        Weigh φφᵀ by the importance ratios too.
    solver : {"recursive", "batch"}, default="recursive"
        One step a transition, as published; or sum first and then iterate the regression on all
        of the data.
    max_iter : int, default=1000
        Most iterations of ``solver="batch"``.
    tol : float, default=1e-8
        The batch iteration ends when no coefficient moves by more than this, relatively.

    Attributes
    ----------
    A_ : ndarray of shape (`n_features_in_`, `n_features_in_`)
        Sum of z Δφᵀ.
    b_ : ndarray of shape (`n_features_in_`,)
        Sum of z ρ r.
    N_ : ndarray of shape (`n_features_in_`, `n_features_in_`)
        Inverse of the sum of φφᵀ with its ridge.
    trace_ : ndarray of shape (`n_features_in_`,)
        The trace after the last transition.
    diverged_ : bool
        Whether the iteration was stopped because the coefficients grew without bound.
    n_iter_ : int
        Iterations of ``solver="batch"``.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    LSTD : The same limit, reached at once and without a step size.

    Notes
    -----
    Do not use it far off-policy with a small `lam`: it converges only where the projected operator
    contracts. `LSTD` needs no such condition.

    References
    ----------
    .. [1] C. Dann, G. Neumann and J. Peters (2014). "Policy Evaluation with Temporal Differences:
       A Survey and Comparison". Journal of Machine Learning Research 15. Algorithms 7 and 8.
    .. [2] M. Geist and B. Scherrer (2014). "Off-policy Learning With Eligibility Traces: A
       Survey". Journal of Machine Learning Research 15. Algorithm 2.

    Examples
    --------
    >>> from octavo.rl import LSPE
    >>> X, X_next = [[1, 0], [0, 1]] * 200, [[0, 1], [1, 0]] * 200
    >>> model = LSPE(gamma=0.5).fit(X, [1.0, 0.0] * 200, X_next)
    >>> model.predict([[1, 0], [0, 1]]).round(3)
    array([1.333, 0.667])
    """

    _parameter_constraints: dict[str, Any] = {
        **LeastSquaresEvaluator._parameter_constraints,
        "learning_rate": [POSITIVE],
        "weight_gram": ["boolean"],
        "solver": [StrOptions({"batch", "recursive"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "theta0": [None, "array-like"],
    }

    def __init__(
        self,
        gamma: float = 0.95,
        lam: float = 0.0,
        *,
        learning_rate: float = 1.0,
        eps: float = 1e3,
        off_policy: str = "transition",
        weight_gram: bool = False,
        solver: str = "recursive",
        max_iter: int = 1000,
        tol: float = 1e-8,
        theta0: Any = None,
    ) -> None:
        self.gamma = gamma
        self.lam = lam
        self.learning_rate = learning_rate
        self.eps = eps
        self.off_policy = off_policy
        self.weight_gram = weight_gram
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.theta0 = theta0

    def _begin(self, n_features: int) -> None:
        self._theta = starting_point(self.theta0, n_features)
        self.A_, self.b_, self._z = zeros(n_features)
        recursive = self.solver == "recursive"
        # the inverse of the regularised sum of φφᵀ, or that sum
        eps = float(self.eps or 1.0)
        self._N = np.eye(n_features) * (eps if recursive else 1.0 / eps)
        self.diverged_ = False

    def _absorb(self, block: Transitions) -> bool:
        terms = self._terms(block)
        weights = np.array(block.rho) if self.weight_gram else np.ones(len(block))
        if self.solver == "batch":
            add_to_system(block, terms, self._z, self.A_, self.b_)
            add_to_gram(block, weights, self._N)
            return True
        X, delta = dense_rows(block.X), differences(block, terms)
        alphas = np.full(len(block), float(self.learning_rate))
        system = (self._N, self.A_, self.b_, self._theta, self._z)
        used = lspe_pass(X, delta, terms.target, terms.decay, weights, alphas, *system)
        return self._warn_if_diverging(used, len(block))

    def _iterate(self) -> NDArray[np.float64]:
        """Return the fixed point of θ ← θ + α N (b - A θ)."""
        theta, change = self._theta, np.inf
        for iteration in range(1, self.max_iter + 1):
            self.n_iter_ = iteration
            # A7's last line, until it no longer moves
            step = self.learning_rate * (self.N_ @ (self.b_ - self.A_ @ theta))
            theta = theta + step
            change = np.abs(step).max() / max(1.0, np.abs(theta).max())
            if change <= self.tol or not np.all(np.abs(theta) < DIVERGED):
                break
        self.diverged_ = not np.all(np.abs(theta) < DIVERGED)
        if self.diverged_ or change > self.tol:
            warnings.warn(
                f"LSPE did not converge in {self.n_iter_} iterations: the last step was "
                f"{change:.3g}, relatively, above tol={self.tol:g}.",
                ConvergenceWarning,
                stacklevel=7,
            )
        return theta

    def _finish(self) -> None:
        self.trace_ = self._z.copy()
        self._warn_if_light(float(np.abs(self.A_).max()))
        if self.solver == "batch":
            self.N_ = np.linalg.pinv(
                self._N, rcond=len(self._N) * np.finfo(float).eps, hermitian=True
            )
            self.coef_ = self._iterate()
        else:
            self.N_, self.coef_ = self._N, self._theta.copy()
            if not (self.diverged_ or np.all(np.abs(self.coef_) < DIVERGED)):
                self._warn_if_diverging(0, 1)  # large on the way may come back, at the end not


class FPKF(LeastSquaresEvaluator):
    """FPKF(λ): a Kalman filter for the fixed point, each return looked up at its own time.

    Parameters
    ----------
    lam : float, default=0.0
        Decay of the eligibility traces, in [0, 1].
    learning_rate : float, default=1.0
        Step size.
    learning_rate_decay : float or None, default=None
        The step at time t is ``learning_rate * learning_rate_decay / (learning_rate_decay + t)``;
        constant when None.
    min_samples : int, default=0
        Gather this many transitions before the first step.
    eps : float, default=1e3
        Inverse strength of the ridge on the sum of φφᵀ.
    off_policy : {"transition", "standard"}, default="transition"
        Whether importance ratios multiply the whole temporal difference, or reward and next value
        only.

    Attributes
    ----------
    N_ : ndarray of shape (`n_features_in_`, `n_features_in_`)
        Inverse of the sum of φφᵀ with its ridge.
    trace_ : ndarray of shape (`n_features_in_`,)
        The trace after the last transition.
    diverged_ : bool
        Whether the recursion was stopped because the coefficients grew without bound.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    LSTD : Uses the data better.

    Notes
    -----
    Do not use it where `LSTD` can be used: it costs as much and learns more slowly, because each
    return keeps the value function of its own time.

    References
    ----------
    .. [1] C. Dann, G. Neumann and J. Peters (2014). "Policy Evaluation with Temporal Differences:
       A Survey and Comparison". Journal of Machine Learning Research 15. Algorithm 9.
    .. [2] M. Geist and B. Scherrer (2014). "Off-policy Learning With Eligibility Traces: A
       Survey". Journal of Machine Learning Research 15. Algorithm 3.

    Examples
    --------
    >>> from octavo.rl import FPKF
    >>> X, X_next = [[1, 0], [0, 1]] * 2000, [[0, 1], [1, 0]] * 2000
    >>> model = FPKF(gamma=0.5).fit(X, [1.0, 0.0] * 2000, X_next)
    >>> model.predict([[1, 0], [0, 1]]).round(1)
    array([1.3, 0.7])
    """

    _parameter_constraints: dict[str, Any] = {
        **LeastSquaresEvaluator._parameter_constraints,
        "learning_rate": [POSITIVE],
        "learning_rate_decay": [None, POSITIVE],
        "min_samples": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        gamma: float = 0.95,
        lam: float = 0.0,
        *,
        learning_rate: float = 1.0,
        learning_rate_decay: float | None = None,
        min_samples: int = 0,
        eps: float = 1e3,
        off_policy: str = "transition",
    ) -> None:
        self.gamma = gamma
        self.lam = lam
        self.learning_rate = learning_rate
        self.learning_rate_decay = learning_rate_decay
        self.min_samples = min_samples
        self.eps = eps
        self.off_policy = off_policy

    def _begin(self, n_features: int) -> None:
        self._Z, self._theta, self._z = zeros(n_features)
        # A9 prints N_0 = 0, from which nothing grows
        self._N = float(self.eps or 1.0) * np.eye(n_features)
        self._time = 0
        self.diverged_ = False

    def _absorb(self, block: Transitions) -> bool:
        terms = self._terms(block)
        times = self._time + np.arange(1.0, len(block) + 1.0)
        schedule = "constant" if self.learning_rate_decay is None else "harmonic"
        alphas = step_sizes(
            times, self.learning_rate, schedule, decay=self.learning_rate_decay or 1.0
        )
        alphas[times <= self.min_samples] = 0.0  # A9's steps begin after a few transitions
        self._time += len(block)
        X, delta = dense_rows(block.X), differences(block, terms)
        state = (self._N, self._Z, self._theta, self._z)
        used = fpkf_pass(X, delta, terms.target, terms.decay, alphas, *state)
        return self._warn_if_diverging(used, len(block))

    def _finish(self) -> None:
        self.N_, self.coef_, self.trace_ = self._N, self._theta.copy(), self._z.copy()
        # N is the inverse of I/eps + Σ φφᵀ
        self._warn_if_light(float(1.0 / np.diag(self.N_).min() - 1.0 / (self.eps or 1.0)))
