"""Linear value functions with error bars: Gaussian-process TD and Kalman TD.

The coefficients have a normal prior, the returns are normal around the values, and the rewards
are what is seen of both; the posterior is exact. Kalman TD lets the coefficients drift.

Reference: C. Dann, G. Neumann and J. Peters (2014), "Policy Evaluation with Temporal Differences:
A Survey and Comparison", Journal of Machine Learning Research 15: Section 2.2.3, Appendix B and
Algorithm 12. With the rows of ΔΦ defined there, the posterior mean of Equation (34) is
(ΔΦᵀΣ⁻¹ΔΦ + I)⁻¹ ΔΦᵀΣ⁻¹ r.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.streams.passes import JIT, locked
from octavo.rl.evaluators.base import POSITIVE, UNIT, PolicyEvaluator
from octavo.rl.evaluators.normal_equations import (
    add_outer,
    add_to_system,
    differences,
    dot_row,
    zeros,
)
from octavo.rl.processes.traces import TraceTerms, dense_rows, scan_traces, trace_terms
from octavo.rl.processes.transitions import Transitions

__all__ = ["GPTD", "KTD"]


@njit(**JIT)
def _noise_scan(continues, terminal, gamma, noise, last):
    """Return c_t and s_t of the Cholesky factor of the noise covariance σ²ΓΓᵀ.

    Γ is bidiagonal: row t is 1 at t and -γ at t + 1, without the latter where an episode ends.
    """
    c, s = np.empty(continues.size), np.empty(continues.size)
    for i in range(continues.size):
        c[i] = gamma * noise / last if continues[i] else 0.0
        # σ²(1 + γ²) on the diagonal of σ²ΓΓ', without γ² where an episode ends.
        s[i] = noise - gamma * noise * c[i]
        if not terminal[i]:
            s[i] += gamma * gamma * noise
        last = s[i]
    return c, s


@njit(**JIT)
def _gaussian_pass(D, r, continues, terminal, gamma, noise, drift, P, theta, p, scalars):
    """Run parametric GPTD (A12); ``drift`` is added to P before each transition (KTD).

    ``scalars`` holds s and d of the last transition.
    """
    n_features = theta.size
    PD = np.empty(n_features)
    for i in range(D.shape[0]):
        if drift.size > 0:
            for k in range(n_features):
                for j in range(n_features):
                    P[k, j] += drift[k, j]
        c = gamma * noise / scalars[0] if continues[i] else 0.0  # A12: γσ² / s
        for k in range(n_features):
            PD[k] = dot_row(P[k], D[i])
        old = dot_row(p, D[i])
        error = c * scalars[1] + r[i] - dot_row(D[i], theta)  # A12: d
        # A12: s, by PΔφ = p_new - c p
        s = noise - gamma * noise * c + 2.0 * c * old + dot_row(PD, D[i])
        if not terminal[i]:
            s += gamma * gamma * noise
        for j in range(n_features):
            p[j] = c * p[j] + PD[j]  # A12: p
            theta[j] += p[j] * error / s  # A12: θ + p d / s
        add_outer(P, -1.0 / s, p, p)  # A12: P - pp' / s
        scalars[0], scalars[1] = s, error


class GaussianEvaluator(PolicyEvaluator):
    """Base of the methods with a posterior."""

    _block = 1024
    noise: float
    prior_variance: float
    covariance_: NDArray[np.float64]

    def _check_batch(self, batch: Transitions) -> None:
        if not batch.on_policy:
            raise ValueError(
                f"{type(self).__name__} models the policy that acted and takes no importance "
                "ratios: every rho must be 1; use LSTD off-policy."
            )

    def _continues(self, block: Transitions) -> NDArray[np.bool_]:
        """Tell which transitions share the noise of the one before."""
        continues = ~block.start
        continues[0] &= self._carried > 0
        return continues

    def _terms(self, block: Transitions) -> TraceTerms:
        return trace_terms(block, self.gamma, self.lam, "standard", self._carried)

    def _recur(self, block: Transitions, drift: NDArray[np.float64]) -> None:
        _gaussian_pass(
            differences(block, self._terms(block)),
            block.r,
            self._continues(block),
            block.terminal,
            float(self.gamma),
            float(self.noise),
            drift,
            self.covariance_,
            self._theta,
            self._p,
            self._scalars,
        )

    def _begin_recursion(self, n_features: int) -> None:
        self.covariance_ = float(self.prior_variance) * np.eye(n_features)
        self._theta, self._p = np.zeros(n_features), np.zeros(n_features)
        self._scalars = np.array([1.0, 0.0])

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the posterior means of the values of states, and how uncertain they are.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_states, n_features)
            Features of the states.
        return_std : bool, default=False
            Return posterior standard deviations too.

        Returns
        -------
        values : ndarray of shape (n_states,)
            Posterior means.
        std : ndarray of shape (n_states,)
            Posterior standard deviations, with ``return_std=True``.
        """
        values = super().predict(X)
        if not return_std:
            return values
        check_is_fitted(self)
        if not hasattr(self, "covariance_"):
            raise ValueError("lam < 1 is a point estimate without a posterior: set lam=1.")
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        spread = X @ self.covariance_
        squares = X.multiply(spread).sum(axis=1) if sp.issparse(X) else (X * spread).sum(axis=1)
        return values, np.sqrt(np.maximum(np.asarray(squares).ravel(), 0.0))


class GPTD(GaussianEvaluator):
    """Gaussian-process TD with linear features: a posterior over value functions.

    The mean is a regularised regression of returns; the covariance tells how far to trust it.

    Parameters
    ----------
    lam : float, default=1.0
        1 is the Gaussian model. With less it is GPTD(λ): the mean of `LSTD` with a ridge of
        ``noise / prior_variance``, which has no posterior covariance.
    noise : float, default=1.0
        Variance of the return around the value of a state.
    prior_variance : float, default=1.0
        Variance of each coefficient before anything is seen.
    solver : {"batch", "recursive"}, default="batch"
        Sum the precision and invert it at the end, or update the covariance with every
        transition. The results agree; the first is faster.

    Attributes
    ----------
    coef_ : ndarray of shape (`n_features_in_`,)
        Posterior mean of the coefficients.
    covariance_ : ndarray of shape (`n_features_in_`, `n_features_in_`)
        Their posterior covariance, with ``lam=1``.
    trace_ess_ : float
        Effective sample size of the weights that traces give to the transitions.
    max_trace_factor_ : float
        γλ.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    KTD : For values that change over time.
    LSTD : Off-policy, and less variance with small `lam`.

    Notes
    -----
    Do not use it off-policy, nor where single returns are so noisy that bootstrapping pays. For
    independent returns, `sklearn.linear_model.BayesianRidge` estimates the variances too.

    References
    ----------
    .. [1] C. Dann, G. Neumann and J. Peters (2014). "Policy Evaluation with Temporal Differences:
       A Survey and Comparison". Journal of Machine Learning Research 15. Algorithm 12.

    Examples
    --------
    >>> from octavo.rl import GPTD
    >>> model = GPTD(gamma=0.5).fit([[1, 0], [0, 1]], [1.0, 0.0], [[0, 1], [1, 0]])
    >>> values, std = model.predict([[1, 0]], return_std=True)
    >>> values.round(3), std.round(3)
    (array([0.438]), array([0.771]))
    """

    _parameter_constraints: dict[str, Any] = {
        "gamma": [UNIT],
        "lam": [UNIT],
        "noise": [POSITIVE],
        "prior_variance": [POSITIVE],
        "solver": [StrOptions({"batch", "recursive"})],
    }

    def __init__(
        self,
        gamma: float = 0.95,
        lam: float = 1.0,
        *,
        noise: float = 1.0,
        prior_variance: float = 1.0,
        solver: str = "batch",
    ) -> None:
        self.gamma = gamma
        self.lam = lam
        self.noise = noise
        self.prior_variance = prior_variance
        self.solver = solver

    def _begin(self, n_features: int) -> None:
        self.__dict__.pop("covariance_", None)
        if self.lam < 1 and self.solver == "recursive":
            raise ValueError(
                f"solver='recursive' is the Gaussian model, lam=1, got lam={self.lam}; LSTD has a "
                "recursion for the rest."
            )
        self._A, self._b, self._z = zeros(n_features)
        self._begin_recursion(n_features)

    def _absorb(self, block: Transitions) -> bool:
        if self.solver == "recursive":
            self._recur(block, np.zeros((0, 0)))
        elif self.lam < 1:
            add_to_system(block, self._terms(block), self._z, self._A, self._b)
        else:
            self._add_precision(block)
        return True

    def _add_precision(self, block: Transitions) -> None:
        """Add ΔΦᵀΣ⁻¹ΔΦ and ΔΦᵀΣ⁻¹r, whitened by the bidiagonal factor of Σ."""
        D = differences(block, self._terms(block))
        rows = dense_rows(np.column_stack([D, block.r]))
        c, s = _noise_scan(
            self._continues(block), block.terminal, self.gamma, self.noise, self._scalars[0]
        )
        carried = np.append(self._z, self._scalars[1])
        white = np.empty(rows.shape)
        scan_traces(rows, c, carried, white)  # rows times the inverse of Γ's factor
        weighed = white[:, :-1].T / s
        self._A += weighed @ white[:, :-1]  # ΔΦ'Σ⁻¹ΔΦ of Eq. (34)
        self._b += weighed @ white[:, -1]
        self._z[:], self._scalars[:] = carried[:-1], (s[-1], carried[-1])

    def _finish(self) -> None:
        if self.solver == "recursive":
            self.coef_ = self._theta.copy()
            return
        ridge = np.eye(len(self._b)) / self.prior_variance
        if self.lam < 1:
            self.__dict__.pop("covariance_", None)
            # at λ < 1 the posterior mean is LSTD with a ridge
            self.coef_ = la.solve(self._A + self.noise * ridge, self._b)
            return
        factor = la.cho_factor(self._A + ridge)  # Eq. (34)
        self.coef_ = la.cho_solve(factor, self._b)
        self.covariance_ = la.cho_solve(factor, np.eye(len(self._b)))


class KTD(GaussianEvaluator):
    """Kalman TD with linear features: a posterior over a value function that drifts.

    Parameters
    ----------
    noise : float, default=1.0
        Variance of the return around the value of a state.
    prior_variance : float, default=1.0
        Variance of each coefficient before anything is seen.
    process_noise : float or array-like of shape (n_features, n_features), default=0.0
        Covariance of the step that the coefficients take before each transition; a number stands
        for that multiple of the identity. 0 makes it `GPTD`.

    Attributes
    ----------
    coef_ : ndarray of shape (`n_features_in_`,)
        Posterior mean of the current coefficients.
    covariance_ : ndarray of shape (`n_features_in_`, `n_features_in_`)
        Their posterior covariance.
    trace_ess_ : float
        Number of transitions seen: there are no traces.
    max_trace_factor_ : float
        Always 0.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    GPTD : The same for values that stay.

    Notes
    -----
    Do not use it off-policy, nor for a policy and an environment that do not change: `GPTD` is
    faster there.

    References
    ----------
    .. [1] C. Dann, G. Neumann and J. Peters (2014). "Policy Evaluation with Temporal Differences:
       A Survey and Comparison". Journal of Machine Learning Research 15. Section 2.2.3.

    Examples
    --------
    >>> from octavo.rl import KTD
    >>> model = KTD(gamma=0.5, process_noise=0.1)
    >>> model = model.fit([[1, 0], [0, 1]], [1.0, 0.0], [[0, 1], [1, 0]])
    >>> model.predict([[1, 0]]).round(3)
    array([0.443])
    """

    _parameter_constraints: dict[str, Any] = {
        "gamma": [UNIT],
        "noise": [POSITIVE],
        "prior_variance": [POSITIVE],
        "process_noise": [Interval(Real, 0, None, closed="left"), "array-like"],
    }

    def __init__(
        self,
        gamma: float = 0.95,
        *,
        noise: float = 1.0,
        prior_variance: float = 1.0,
        process_noise: float | ArrayLike = 0.0,
    ) -> None:
        self.gamma = gamma
        self.noise = noise
        self.prior_variance = prior_variance
        self.process_noise = process_noise

    def _begin(self, n_features: int) -> None:
        self._begin_recursion(n_features)
        step = np.asarray(self.process_noise, dtype=np.float64)
        if step.ndim == 0:
            step = step * np.eye(n_features)
        if step.shape != (n_features, n_features) or not np.allclose(step, step.T):
            raise ValueError(
                f"process_noise must be a number or a symmetric matrix of {n_features} rows, got "
                f"shape {step.shape}."
            )
        if np.linalg.eigvalsh(step).min() < -1e-10 * max(1.0, np.abs(step).max()):
            raise ValueError("process_noise must be positive semidefinite, it is a covariance.")
        self._drift = np.ascontiguousarray(step) if step.any() else np.zeros((0, 0))

    def _absorb(self, block: Transitions) -> bool:
        self._recur(block, self._drift)
        return True

    def _finish(self) -> None:
        self.coef_ = self._theta.copy()


def _warmup() -> None:
    no, one = np.zeros(1, dtype=bool), np.ones(1)
    _noise_scan(no, locked(no), 0.5, 1.0, 1.0)
    _gaussian_pass(
        np.ones((1, 1)),
        locked(one),
        no,
        locked(no),
        0.5,
        1.0,
        np.zeros((0, 0)),
        np.eye(1),
        np.zeros(1),
        np.zeros(1),
        np.ones(2),
    )
