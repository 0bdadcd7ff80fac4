"""A Gaussian posterior for any model whose expected log density can be differentiated.

Reference: M. P. Wand (2014), "Fully Simplified Multivariate Normal Updates in Non-Conjugate
Variational Message Passing", Journal of Machine Learning Research 15, Section 4.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.variational.gaussian_step import natural_step

__all__ = ["GaussianVariational", "ncvmp_update"]

HALVINGS = 40
SLACK = 1e-12


def _check_moments(mu: Any, Sigma: Any, names: tuple[str, str]) -> tuple[Floats, Floats]:
    mu = check_array(mu, dtype=np.float64, ensure_2d=False, input_name=names[0])
    Sigma = check_array(Sigma, dtype=np.float64, input_name=names[1])
    if mu.ndim != 1 or Sigma.shape != (mu.size, mu.size):
        raise ValueError(
            f"{names[0]} and {names[1]} must have shapes (d,) and (d, d); they have {mu.shape} "
            f"and {Sigma.shape}."
        )
    return mu, Sigma


@checked
def ncvmp_update(
    grad_mu: Any, grad_Sigma: Any, mu: Any, Sigma: Any, damping: float = 1.0
) -> tuple[Floats, Floats]:
    """Return the next Gaussian of non-conjugate variational message passing (Eq. 7).

    ``Sigma <- (-2 dS/dSigma)^-1`` and ``mu <- mu + Sigma dS/dmu``, with both derivatives of the
    expected log joint density S at the old values. Its fixed points are the stationary points of
    the lower bound S + ln|Sigma| / 2.

    Parameters
    ----------
    grad_mu : array-like of shape (d,)
        Derivative of S by mu.
    grad_Sigma : array-like of shape (d, d)
        Derivative of S by Sigma, every entry counted for itself.
    mu : array-like of shape (d,)
        Old mean.
    Sigma : array-like of shape (d, d)
        Old covariance.
    damping : float, default=1
        Length of the step in natural parameters, in (0, 1]; 1 is Eq. (7). Where the new precision
        would not be positive definite, the step is halved until it is.

    Returns
    -------
    mu : ndarray of shape (d,)
        New mean.
    Sigma : ndarray of shape (d, d)
        New covariance.

    Examples
    --------
    A Gaussian model needs one step, from anywhere: here ln p = -2 (x - 3)^2 + constant.

    >>> from octavo.bayes import ncvmp_update
    >>> mu, Sigma = 0.5, 7.0
    >>> ncvmp_update([-4 * (mu - 3)], [[-2.0]], [mu], [[Sigma]])
    (array([3.]), array([[0.25]]))
    """
    if not isinstance(damping, Real) or isinstance(damping, bool) or not 0.0 < damping <= 1.0:
        raise ValueError(f"damping must be in (0, 1]; got {damping!r}.")
    mu, Sigma = _check_moments(mu, Sigma, ("mu", "Sigma"))
    grad_mu, grad_Sigma = _check_moments(grad_mu, grad_Sigma, ("grad_mu", "grad_Sigma"))
    if grad_mu.shape != mu.shape:
        raise ValueError(f"grad_mu must have the shape of mu, {mu.shape}; it has {grad_mu.shape}.")
    with np.errstate(over="ignore", invalid="ignore"):
        new_mu, new_Sigma, _ = natural_step(grad_mu, grad_Sigma, mu, Sigma, float(damping))
    return new_mu, new_Sigma


class GaussianVariational(CallbackSupportMixin, SoundEstimator):
    """Fit N(mu, Sigma) to a posterior, given the expected log joint density and its derivatives.

    Parameters
    ----------
    S_and_grads : callable
        Takes (mu, Sigma) and returns (S, dS/dmu, dS/dSigma), where S is the expectation of the log
        joint density under N(mu, Sigma).
    damping : "auto" or float in (0, 1], default="auto"
        Length of the first step that is tried in each iteration; "auto" is 1. It is halved while
        the bound falls.
    max_iter : int, default=500
        Largest number of iterations.
    tol : float, default=1e-10
        Stop when the bound rises by less than this, relative to its size.

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
        Mean of the posterior.
    cov_ : ndarray of shape (d, d)
        Its covariance.
    lower_bound_ : float
        S plus the entropy of the Gaussian: at most the log evidence.
    lower_bounds_ : ndarray
        Its value at the start and after each iteration; it never falls.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether ``tol`` was met.

    See Also
    --------
    VariationalMixedModel : The same for generalised linear mixed models, with sparse algebra.

    Notes
    -----
    Do not use it for a posterior with several modes or of many hundred dimensions: it keeps one
    dense Gaussian. scikit-learn has `sklearn.linear_model.BayesianRidge` for linear models.

    References
    ----------
    .. [1] M. P. Wand (2014). "Fully Simplified Multivariate Normal Updates in Non-Conjugate
       Variational Message Passing". Journal of Machine Learning Research 15.

    Examples
    --------
    A single count y = 3 with rate e^x and x ~ N(0, 1):

    >>> import numpy as np
    >>> from octavo.bayes import GaussianVariational
    >>> def S_and_grads(mu, Sigma):
    ...     w = np.exp(mu[0] + Sigma[0, 0] / 2)
    ...     S = 3 * mu[0] - w - np.log(6) - (mu[0] ** 2 + Sigma[0, 0] + np.log(2 * np.pi)) / 2
    ...     return S, np.array([3 - w - mu[0]]), np.array([[-(w + 1) / 2]])
    >>> model = GaussianVariational(S_and_grads).fit([0.0], [[1.0]])
    >>> model.mean_.round(3), model.cov_.round(3), round(model.lower_bound_, 3)
    (array([0.687]), array([[0.302]]), -2.528)
    """

    _parameter_constraints: dict[str, Any] = {
        "S_and_grads": [callable],
        "damping": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="right")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        S_and_grads: Callable[[Floats, Floats], tuple[float, Floats, Floats]],
        damping: str | float = "auto",
        max_iter: int = 500,
        tol: float = 1e-10,
    ) -> None:
        self.S_and_grads = S_and_grads
        self.damping = damping
        self.max_iter = max_iter
        self.tol = tol

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def _evaluate(self, mu: Floats, Sigma: Floats) -> tuple[float, Floats, Floats]:
        """Return the bound and the two derivatives; minus infinity where it is not a number."""
        with np.errstate(over="ignore", invalid="ignore"):
            S, grad_mu, grad_Sigma = self.S_and_grads(mu, Sigma)
        d = mu.size
        grad_mu, grad_Sigma = np.asarray(grad_mu, float), np.asarray(grad_Sigma, float)
        if grad_mu.shape != (d,) or grad_Sigma.shape != (d, d) or np.ndim(S) != 0:
            raise ValueError(
                f"S_and_grads must return a number and arrays of shapes ({d},) and ({d}, {d}); it "
                f"returned shapes {np.shape(S)}, {grad_mu.shape} and {grad_Sigma.shape}."
            )
        # ½ ln |2πe Σ|
        entropy = 0.5 * (np.linalg.slogdet(Sigma)[1] + d * (1.0 + np.log(2.0 * np.pi)))
        finite = np.isfinite(S) and np.isfinite(grad_mu).all() and np.isfinite(grad_Sigma).all()
        return (float(S) + float(entropy) if finite else -np.inf), grad_mu, grad_Sigma

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, mu0: Any, Sigma0: Any = None) -> Self:
        """Climb the bound.

        Parameters
        ----------
        mu0 : array-like of shape (d,)
            Where the mean starts.
        Sigma0 : array-like of shape (d, d), default=None
            Where the covariance starts; 0.01 times the identity by default.

        Returns
        -------
        self : GaussianVariational
            The fitted posterior.
        """
        mu0 = check_array(mu0, dtype=np.float64, ensure_2d=False, input_name="mu0")
        if Sigma0 is None:
            Sigma0 = 0.01 * np.eye(mu0.size)
        mu, Sigma = _check_moments(mu0, Sigma0, ("mu0", "Sigma0"))
        if not np.allclose(Sigma, Sigma.T) or np.linalg.eigvalsh(Sigma)[0] <= 0:
            raise ValueError("Sigma0 must be symmetric and positive definite; it is not.")
        bound, grad_mu, grad_Sigma = self._evaluate(mu, Sigma)
        if not np.isfinite(bound):
            raise ValueError("S_and_grads is not finite at the start; choose mu0 or Sigma0 nearer.")
        first = 1.0 if isinstance(self.damping, str) else float(self.damping)
        trace, converged = [bound], False
        with FitProgress(self, self.max_iter, mu0) as progress:
            while len(trace) <= self.max_iter and not converged:
                length, better = first, False
                for _ in range(HALVINGS):
                    # Eq. (7), damped in natural parameters
                    trial = natural_step(grad_mu, grad_Sigma, mu, Sigma, length)
                    value, *grads = self._evaluate(*trial[:2])
                    better = value >= bound - SLACK * max(1.0, abs(bound))
                    if better:
                        break
                    # of the length taken, cut already where Σ was not positive definite
                    length = 0.5 * trial[2]
                if not better:  # no step raises it: stationary up to rounding
                    converged = True
                    break
                converged = value - bound <= self.tol * abs(value) * length
                (mu, Sigma), bound, (grad_mu, grad_Sigma) = trial[:2], value, grads
                trace.append(max(bound, trace[-1]))
                if progress.step():
                    break
        self.mean_, self.cov_ = mu, Sigma
        self.lower_bound_, self.lower_bounds_ = trace[-1], np.array(trace)
        self.n_iter_, self.converged_ = len(trace) - 1, converged
        self._warn_unless_converged(trace)
        return self

    def _warn_unless_converged(self, trace: list[float]) -> None:
        converged = self.converged_
        if not converged and self.n_iter_ == self.max_iter:
            rise = trace[-1] - trace[-2]
            warnings.warn(
                f"GaussianVariational did not converge in {self.n_iter_} iterations: the bound "
                f"still rose by {rise:.3g} (tol={self.tol:g}). Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def sample_posterior(self, n_samples: int = 1000, random_state: Any = None) -> Floats:
        """Draw from the posterior.

        Parameters
        ----------
        n_samples : int, default=1000
            Number of draws.
        random_state : int, RandomState instance or None, default=None
            Source of randomness.

        Returns
        -------
        draws : ndarray of shape (n_samples, d)
            The draws.
        """
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(f"n_samples must be a whole number of at least 1; got {n_samples!r}.")
        noise = check_random_state(random_state).normal(size=(int(n_samples), len(self.mean_)))
        return self.mean_ + noise @ np.linalg.cholesky(self.cov_).T
