"""`BesagSpatialModel`: disease maps by the Besag-York-Mollié model."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.bayes.latent_gaussian.densities import Marginal
from octavo.bayes.latent_gaussian.priors import icar
from octavo.bayes.latent_gaussian.ready import (
    COMMON_CONSTRAINTS,
    FixedPrior,
    LogGammaPrior,
    ReadyModel,
)
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context

__all__ = ["BesagSpatialModel"]


def besag_prior(
    theta: Floats, structure: sp.csr_array, unstructured: bool, n_coef: int, coef_precision: float
) -> sp.csr_array:
    """Return the precision of (s, v, β): theta holds log precisions of s, and of v if there."""
    tau = np.exp(np.minimum(theta, 50.0))
    blocks = [tau[0] * structure]
    if unstructured:
        blocks.append(tau[1] * sp.eye_array(structure.shape[0]))
    if n_coef:
        blocks.append(coef_precision * sp.eye_array(n_coef))
    return sp.csr_array(sp.block_diag(blocks))


class BesagSpatialModel(ReadyModel):
    """Smoothed rates of regions: neighbours share risk, covariates explain some of it.

    The log rate of a region is β0 + Zβ + s + v, where s is an intrinsic autoregression over
    neighbours (summing to zero on every connected part) and v is independent noise. Their two
    precisions are integrated out.

    Parameters
    ----------
    adjacency : array-like or sparse matrix of shape (n_regions, n_regions), default=None
        Symmetric; not zero for neighbours.
    likelihood : {"poisson", "binomial", "negative-binomial"}, default="poisson"
        Of the counts.
    unstructured : bool, default=True
        Whether there is independent noise beside the spatial field.
    coef_precision : float, default=1e-3
        Prior precision of the coefficients.
    precision_prior : tuple of two floats, default=(1.0, 5e-4)
        Shape and rate of the gamma laws of the precisions.
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
    mean_, var_ : ndarray of shape (n_regions,)
        Posterior of the log rate (log odds for "binomial").
    relative_risk_ : ndarray of shape (n_regions,)
        Posterior mean of exp of it.
    spatial_mean_ : ndarray of shape (n_regions,)
        Posterior mean of the spatial part s.
    coef_ : ndarray of shape (n_features,)
        Posterior means of the coefficients.
    coef_sd_ : ndarray of shape (n_features,)
        Their posterior standard deviations.
    intercept_ : float
        Posterior mean of β0.
    model_ : LatentGaussianModel
        Of the latents (s, v, β0, β); theta holds log precisions.
    log_evidence_ : float
        Log p(y).
    converged_ : bool
        Whether the approximation at the mode has converged.
    n_iter_ : int
        Its iterations.

    See Also
    --------
    octavo.bayes.LogGaussianCoxProcess : Cells of a grid.

    Notes
    -----
    Do not use it to find single regions that differ from their neighbours: it smooths them away.
    scikit-learn's `PoissonRegressor` is enough where neighbours have nothing in common.

    References
    ----------
    .. [1] J. Besag, J. York and A. Mollié (1991). "Bayesian image restoration, with two
       applications in spatial statistics". Annals of the Institute of Statistical Mathematics 43.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import BesagSpatialModel
    >>> ring = np.roll(np.eye(12), 1, axis=0) + np.roll(np.eye(12), -1, axis=0)
    >>> counts = [2, 1, 2, 3, 6, 9, 8, 9, 7, 4, 2, 1]
    >>> model = BesagSpatialModel(ring).fit(counts, exposure=np.full(12, 4.5))
    >>> bool(model.relative_risk_[6] > 1.3 > 0.8 > model.relative_risk_[0])
    True
    """

    _parameter_constraints: dict[str, Any] = {
        **COMMON_CONSTRAINTS,
        "adjacency": ["array-like", "sparse matrix", None],
        "likelihood": [StrOptions({"poisson", "binomial", "negative-binomial"})],
        "unstructured": ["boolean"],
        "coef_precision": [Interval(Real, 0, None, closed="neither")],
        "precision_prior": [tuple],
    }

    def __init__(
        self,
        adjacency: Any = None,
        likelihood: str = "poisson",
        unstructured: bool = True,
        coef_precision: float = 1e-3,
        precision_prior: tuple[float, float] = (1.0, 5e-4),
        method: str = "ep",
        tol: float = 1e-6,
        max_iter: int = 200,
        n_jobs: int | None = None,
    ) -> None:
        self.adjacency = adjacency
        self.likelihood = likelihood
        self.unstructured = unstructured
        self.coef_precision = coef_precision
        self.precision_prior = precision_prior
        self.method = method
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, y: Any, X: Any = None, *, exposure: Any = None, n_trials: Any = None) -> Self:
        """Fit counts of regions.

        Parameters
        ----------
        y : array-like of shape (n_regions,)
            Counts; NaN where one is missing.
        X : array-like of shape (n_regions, n_features), default=None
            Covariates.
        exposure : array-like of shape (n_regions,), default=None
            Expected counts or population.
        n_trials : array-like of shape (n_regions,), default=None
            Of a binomial likelihood.

        Returns
        -------
        self : BesagSpatialModel
            The fitted model.
        """
        if self.adjacency is None:
            raise ValueError("adjacency is needed: a matrix that says which regions touch.")
        structure = icar(self.adjacency)
        n = structure.shape[0]
        counts = np.asarray(y, dtype=np.float64)
        if counts.shape != (n,):
            raise ValueError(f"y should have one count per region ({n}), got {counts.shape}.")
        Z = np.empty((n, 0)) if X is None else np.asarray(X, dtype=np.float64)
        if Z.ndim != 2 or Z.shape[0] != n or not np.isfinite(Z).all():
            raise ValueError(f"X should be finite, of shape ({n}, k), got {np.shape(X)}.")
        parts, part = connected_components(structure, directed=False)
        fields = 2 if self.unstructured else 1
        design = np.column_stack([np.ones(n), Z])
        A = sp.csr_array(sp.hstack([sp.eye_array(n)] * fields + [sp.csr_array(design)]))
        # a sum of zero on every connected part, whose level the intercept has
        C = np.zeros((parts, A.shape[1]))
        C[part, np.arange(n)] = 1.0
        prior = FixedPrior(
            besag_prior, structure, self.unstructured, design.shape[1], self.coef_precision
        )
        hyperprior = LogGammaPrior(*self.precision_prior)
        constraints = (C, np.zeros(parts))
        model = self._inner(self.likelihood, prior, hyperprior, [2.0] * fields, constraints)
        with FitProgress(self, 1) as progress:
            self._keep(model.fit(counts, A, exposure=exposure, n_trials=n_trials))
            progress.step()
        self.mean_, self.var_ = model.combination_moments(A)
        self.relative_risk_ = np.exp(self.mean_ + 0.5 * self.var_)  # the mean of a log-normal
        self.spatial_mean_ = model.mean_[:n]
        first = fields * n
        self.intercept_ = float(model.mean_[first])
        self.coef_ = model.mean_[first + 1 :]
        self.coef_sd_ = np.sqrt(model.var_[first + 1 :])
        self._combinations = A
        return self

    def marginal(self, i: int, method: str | None = None) -> Marginal:
        """Return the posterior density of the log rate of one region.

        Parameters
        ----------
        i : int
            The region.
        method : str, default=None
            How it is corrected, see `LatentGaussianModel`.

        Returns
        -------
        marginal : Marginal
            The density.
        """
        check_is_fitted(self, "mean_")
        if not 0 <= i < self.mean_.size:
            raise ValueError(f"i should be below {self.mean_.size}, got {i}.")
        return self.model_.predict(self._combinations[[i]], method).marginals[0]
