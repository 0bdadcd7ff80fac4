"""`StochasticVolatility`: the changing variance of returns, as in Section 6.1."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.bayes.latent_gaussian.densities import Marginal
from octavo.bayes.latent_gaussian.ready import COMMON_CONSTRAINTS, FixedPrior, ReadyModel
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import fit_context

__all__ = ["StochasticVolatility"]


def volatility_prior(theta: Floats, n: int) -> sp.csr_array:
    """Return the precision of (f_1, ..., f_n, μ).

    f_1 ~ N(0, 1), f_t ~ N(φ f_{t-1}, 1/τ), μ ~ N(0, 1);
    theta is (log τ, log((1 + φ)/(1 - φ))).
    """
    tau, phi = np.exp(theta[0]), np.tanh(0.5 * theta[1])
    # Section 6.1: f_t | f_{t-1} ~ N(φ f_{t-1}, 1/τ)
    diagonal = np.full(n + 1, tau * (1.0 + phi * phi))
    diagonal[0] = 1.0 + tau * phi * phi  # f_1 ~ N(0, 1), whatever τ and φ are
    diagonal[n - 1] = tau if n > 1 else 1.0
    diagonal[n] = 1.0  # μ ~ N(0, 1)
    side = np.full(n, -tau * phi)
    side[n - 1] = 0.0
    return sp.csr_array(sp.diags_array([side, diagonal, side], offsets=[-1, 0, 1]))


def volatility_hyperprior(theta: Floats) -> float:
    """Return log Γ(τ; 1, 10) with the Jacobian of log τ, plus log N(0, 3) of the transformed φ."""
    log_tau, phi = float(theta[0]), float(theta[1])
    # the paper's Γ(1, 10) has scale 10: its mean is the product
    return -np.log(10.0) - np.exp(min(log_tau, 700.0)) / 10.0 + log_tau - phi * phi / 6.0


class StochasticVolatility(ReadyModel):
    """Posterior of the log variance of each return: y_t ~ N(0, exp(f_t + μ)).

    f is an autoregression of order one; its coefficient and the precision of its innovations are
    integrated out under the priors of Section 6.1.

    Parameters
    ----------
    method : {"ep", "laplace"}, default="ep"
        The global approximation.
    tol : float, default=1e-6
        As in `LatentGaussianModel`.
    max_iter : int, default=200
        Most iterations of the global approximation.
    n_jobs : int, default=None
        Processes over nodes of the hyper-grid.

    Attributes
    ----------
    mean_, var_ : ndarray of shape (n_returns,)
        Posterior of the log variance f_t + μ; missing returns included.
    volatility_ : ndarray of shape (n_returns,)
        Posterior mean of exp((f_t + μ) / 2), the standard deviation of a return.
    model_ : LatentGaussianModel
        Of (f_1, ..., f_n, μ); theta is (log τ, log((1 + φ)/(1 - φ))).
    log_evidence_ : float
        Log p(y).
    converged_ : bool
        Whether the approximation at the mode has converged.
    n_iter_ : int
        Its iterations.

    See Also
    --------
    octavo.bayes.LatentGaussianModel : Other priors and likelihoods.

    Notes
    -----
    Do not use it for returns with a mean or with jumps. scikit-learn has nothing for volatility.

    References
    ----------
    .. [1] B. Cseke and T. Heskes (2011). "Approximate Marginals in Latent Gaussian Models". Journal
       of Machine Learning Research 12, Section 6.1.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import StochasticVolatility
    >>> rng = np.random.default_rng(0)
    >>> returns = rng.standard_normal(60) * np.repeat([0.5, 2.0], 30)
    >>> model = StochasticVolatility(method="laplace").fit(returns)
    >>> bool(model.volatility_[45] > 2 * model.volatility_[15])
    True
    """

    _parameter_constraints = COMMON_CONSTRAINTS

    def __init__(
        self,
        method: str = "ep",
        tol: float = 1e-6,
        max_iter: int = 200,
        n_jobs: int | None = None,
    ) -> None:
        self.method = method
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, returns: Any, y: Any = None) -> Self:
        """Fit returns.

        Parameters
        ----------
        returns : array-like of shape (n_returns,)
            In order of time, with mean about zero; NaN where one is missing.
        y : None
            Ignored.

        Returns
        -------
        self : StochasticVolatility
            The fitted model.
        """
        values = np.asarray(returns, dtype=np.float64)
        if values.ndim != 1 or values.size < 2:
            raise ValueError(f"returns should be a vector of two or more, got {values.shape}.")
        if np.isnan(values).all():
            raise ValueError("returns should not all be missing, got NaN everywhere.")
        if np.isinf(values).any():
            raise ValueError("returns should be finite, or NaN where one is missing, got inf.")
        largest = float(np.nanmax(np.abs(values)))
        if largest > 0 and not 1e-100 < largest < 1e100:
            raise ValueError(
                f"The squares of returns would leave the range of doubles: their largest size is "
                f"{largest:g}. Choose another unit, such as per cent."
            )
        n = values.size
        A = sp.csr_array(sp.hstack([sp.eye_array(n), np.ones((n, 1))]))
        prior = FixedPrior(volatility_prior, n)
        model = self._inner("stochastic-volatility", prior, volatility_hyperprior, [1.0, 2.0])
        with FitProgress(self, 1) as progress:
            self._keep(model.fit(values, A))
            progress.step()
        self.mean_, self.var_ = model.combination_moments(A)
        # E exp(½ (f_t + μ)) of a normal law
        self.volatility_ = np.exp(0.5 * self.mean_ + 0.125 * self.var_)
        return self

    def marginal(self, t: int, method: str | None = None) -> Marginal:
        """Return the posterior density of the log variance f_t + μ at one time.

        Parameters
        ----------
        t : int
            The time.
        method : str, default=None
            How it is corrected, see `LatentGaussianModel`.

        Returns
        -------
        marginal : Marginal
            The density.
        """
        check_is_fitted(self, "mean_")
        if not 0 <= t < self.mean_.size:
            raise ValueError(f"t should be below {self.mean_.size}, got {t}.")
        row = np.zeros((1, self.mean_.size + 1))
        row[0, [t, -1]] = 1.0
        return self.model_.predict(row, method).marginals[0]
