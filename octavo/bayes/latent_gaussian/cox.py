"""`LogGaussianCoxProcess`: the intensity of a point pattern on a grid, as in Section 6.2."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.bayes.latent_gaussian.densities import Marginal
from octavo.bayes.latent_gaussian.priors import matern_grid, thin_plate_grid
from octavo.bayes.latent_gaussian.ready import (
    COMMON_CONSTRAINTS,
    FixedPrior,
    LogGammaPrior,
    ReadyModel,
)
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context

__all__ = ["LogGaussianCoxProcess"]


def cox_prior(
    theta: Floats,
    structure: sp.csr_array,
    design: sp.csr_array,
    known: tuple[float | None, float | None],
    coef_precision: float,
) -> sp.csr_array:
    """Return the precision of (η, f, β), or of (f, β) without noise.

    η ~ N(f + Zβ, 1/noise), f ~ field precision times structure, β ~ N(0, 1/coef_precision). theta
    holds the logarithms of what `known` has as None.
    """
    free = list(np.exp(np.minimum(theta, 50.0)))
    field, noise = (value if value is not None else free.pop(0) for value in known)
    p = design.shape[1] - structure.shape[0]
    base = sp.block_diag([field * structure, coef_precision * sp.eye_array(p)])
    if not np.isfinite(noise):
        return sp.csr_array(base)
    n = structure.shape[0]
    # η given (f, β) is N(design · (f, β), 1/noise): the square completed
    return sp.csr_array(
        sp.block_array(
            [
                [noise * sp.eye_array(n), -noise * design],
                [-noise * design.T, base + noise * (design.T @ design)],
            ]
        )
    )


class LogGaussianCoxProcess(ReadyModel):
    """Posterior of the log intensity of counts on a grid, with covariates.

    Counts are Poisson with mean exposure times exp(η), η = f + noise + β0 + Zβ, where f is a smooth
    field. Thousands of cells take seconds: everything is sparse.

    Parameters
    ----------
    field : {"thin-plate", "matern"}, default="thin-plate"
        The smooth field: second-order, improper (planes cost nothing); or stationary with
        `length_scale` and unit variance, over its precision.
    length_scale : float, default=10.0
        Of a "matern" field, in cells.
    field_precision : float or None, default=None
        Precision of the field; None integrates over it.
    noise_precision : float or None, default=numpy.inf
        Precision of independent noise in every cell; infinite for none, None integrates over it.
    coef_precision : float, default=1e-3
        Prior precision of the coefficients.
    fit_intercept : bool, default=True
        Whether there is a constant beside the covariates.
    precision_prior : tuple of two floats, default=(1.0, 5e-5)
        Shape and rate of the gamma law of unknown precisions.
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
    mean_, var_ : ndarray of shape (n_rows, n_columns)
        Posterior of the log intensity η.
    intensity_ : ndarray of shape (n_rows, n_columns)
        Posterior mean of exp(η).
    coef_ : ndarray of shape (n_covariates,)
        Posterior means of the coefficients.
    coef_sd_ : ndarray of shape (n_covariates,)
        Their posterior standard deviations.
    intercept_ : float
        Posterior mean of the constant; zero without one.
    model_ : LatentGaussianModel
        Of the latents (η, f, β0, β), or (f, β0, β) without noise.
    log_evidence_ : float
        Log p(y).
    converged_ : bool
        Whether the approximation at the mode has converged.
    n_iter_ : int
        Its iterations.

    See Also
    --------
    octavo.bayes.BesagSpatialModel : Regions with neighbours instead of a grid.

    Notes
    -----
    Do not use it for points without a grid, or for a pattern in which points repel each other.
    scikit-learn's `KernelDensity` gives an intensity without covariates or uncertainty.

    References
    ----------
    .. [1] B. Cseke and T. Heskes (2011). "Approximate Marginals in Latent Gaussian Models". Journal
       of Machine Learning Research 12, Section 6.2.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import LogGaussianCoxProcess
    >>> counts = np.zeros((6, 8))
    >>> counts[:, 4:] = 3
    >>> model = LogGaussianCoxProcess(field_precision=10.0).fit(counts)
    >>> bool(model.intensity_[2, 6] > 4 * model.intensity_[2, 1])
    True
    """

    _parameter_constraints: dict[str, Any] = {
        **COMMON_CONSTRAINTS,
        "field": [StrOptions({"thin-plate", "matern"})],
        "length_scale": [Interval(Real, 0, None, closed="neither")],
        "field_precision": [Interval(Real, 0, None, closed="neither"), None],
        "noise_precision": [Interval(Real, 0, None, closed="right"), None],
        "coef_precision": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "precision_prior": [tuple],
    }

    def __init__(
        self,
        field: str = "thin-plate",
        length_scale: float = 10.0,
        field_precision: float | None = None,
        noise_precision: float | None = np.inf,
        coef_precision: float = 1e-3,
        fit_intercept: bool = True,
        precision_prior: tuple[float, float] = (1.0, 5e-5),
        method: str = "ep",
        tol: float = 1e-6,
        max_iter: int = 200,
        n_jobs: int | None = None,
    ) -> None:
        self.field = field
        self.length_scale = length_scale
        self.field_precision = field_precision
        self.noise_precision = noise_precision
        self.coef_precision = coef_precision
        self.fit_intercept = fit_intercept
        self.precision_prior = precision_prior
        self.method = method
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _design(self, covariates: Any, shape: tuple[int, ...]) -> tuple[sp.csr_array, int]:
        """Return [I, 1, Z] and the number of covariates."""
        n = shape[0] * shape[1]
        columns = [np.ones((n, 1))] if self.fit_intercept else []
        count = 0
        if covariates is not None:
            Z = np.asarray(covariates, dtype=np.float64)
            Z = Z[..., None] if Z.ndim == 2 else Z
            if Z.shape[:2] != shape or Z.ndim != 3 or not np.isfinite(Z).all():
                raise ValueError(
                    f"covariates should be finite, of shape {shape} or {(*shape, 'k')}, "
                    f"got shape {np.shape(covariates)}."
                )
            count = Z.shape[2]
            columns.append(Z.reshape(n, count))
        blocks: list[Any] = [sp.eye_array(n)]
        blocks += [sp.csr_array(c) for c in columns]
        return sp.csr_array(sp.hstack(blocks)), count

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, counts: Any, covariates: Any = None, *, exposure: Any = None) -> Self:
        """Fit counts on a grid.

        Parameters
        ----------
        counts : array-like of shape (n_rows, n_columns)
            Points in each cell; NaN where nobody looked.
        covariates : array-like of shape (n_rows, n_columns) or (n_rows, n_columns, k), default=None
            Known fields.
        exposure : array-like of shape (n_rows, n_columns), default=None
            Areas of the cells; one if None.

        Returns
        -------
        self : LogGaussianCoxProcess
            The fitted model.
        """
        grid = np.asarray(counts, dtype=np.float64)
        if grid.ndim != 2 or min(grid.shape) < 3:
            raise ValueError(f"counts should be a grid of 3 x 3 or more, got {grid.shape}.")
        design, n_covariates = self._design(covariates, grid.shape)
        if self.field == "matern":
            n_rows, n_columns = grid.shape
            structure = matern_grid(n_rows, n_columns, float(self.length_scale), 1.0)
        else:
            structure = thin_plate_grid(*grid.shape)
        known = (self.field_precision, self.noise_precision)
        noisy = self.noise_precision is None or np.isfinite(self.noise_precision)
        prior: Any = FixedPrior(cox_prior, structure, design, known, float(self.coef_precision))
        n, width = design.shape
        A = design
        if noisy:
            A = sp.csr_array(sp.hstack([sp.eye_array(n), sp.csr_array((n, width))]))
        unknown = sum(value is None for value in known)
        theta0, hyperprior = None, None
        if unknown:
            theta0, hyperprior = [3.0] * unknown, LogGammaPrior(*self.precision_prior)
        else:
            prior = prior(np.empty(0))
        areas = None
        if exposure is not None:
            areas = np.asarray(exposure, dtype=np.float64)
            areas = areas if areas.ndim == 0 else areas.ravel()
        model = self._inner("poisson", prior, hyperprior, theta0)
        with FitProgress(self, 1) as progress:
            self._keep(model.fit(grid.ravel(), A, exposure=areas))
            progress.step()
        mean, var = model.combination_moments(A)
        self.mean_, self.var_ = mean.reshape(grid.shape), var.reshape(grid.shape)
        self.intensity_ = np.exp(self.mean_ + 0.5 * self.var_)  # the mean of a log-normal
        first = model.mean_.size - n_covariates
        self.coef_ = model.mean_[first:]
        self.coef_sd_ = np.sqrt(model.var_[first:])
        self.intercept_ = float(model.mean_[first - 1]) if self.fit_intercept else 0.0
        self._combinations = A
        return self

    def marginal(self, row: int, column: int, method: str | None = None) -> Marginal:
        """Return the posterior density of the log intensity of one cell.

        Parameters
        ----------
        row, column : int
            The cell.
        method : str, default=None
            How it is corrected, see `LatentGaussianModel`.

        Returns
        -------
        marginal : Marginal
            The density.
        """
        check_is_fitted(self, "mean_")
        n_rows, n_columns = (int(size) for size in np.asarray(self.intensity_).shape)
        if not (0 <= row < n_rows and 0 <= column < n_columns):
            raise ValueError(
                f"row and column should lie in a grid of {n_rows} x {n_columns}, "
                f"got {row} and {column}."
            )
        at = row * n_columns + column
        return self.model_.predict(self._combinations[[at]], method).marginals[0]
