"""Kernel ridge regression whose penalty is computed from the spectrum and the noise.

Reference: Raskutti, Wainwright and Yu (2014), Section 3.4, Eqs. (17) and (18).
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.sklearn_door import fit_context
from octavo.engine.kernels.namespaces import to_namespace
from octavo.engine.spectral.gram_path import whole_path, whole_spectrum
from octavo.kernel.early_stopping.base import StoppedKernelMachine, beside
from octavo.kernel.early_stopping.complexity import RIDGE_THEORY, radius_square

__all__ = ["StoppedKernelRidge"]

_LARGEST = 1e12  # of ν times the largest eigenvalue: beyond, doubles cannot tell it from infinity


class StoppedKernelRidge(StoppedKernelMachine):
    """Kernel ridge regression that needs no cross-validation of its penalty.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        A name of scikit-learn's kernels, ``"precomputed"``, or a function of two arrays.
    gamma : float, {"scale", "auto"} or None, default=None
        Scale of the kernel; None is 1 / n_features.
    noise : {"hall_marron", "difference", "ridge"} or float, default="hall_marron"
        Standard deviation of the noise, in units of y, or how to estimate it; see
        `KernelGDRegressor`.
    hilbert_radius : float, default=1.0
        B with |f*|_H <= B, in units of y as scaled.
    constant : float or "theory", default="theory"
        Constant of Eq. (18), 4 in theory; about 1 serves better in practice.
    fit_intercept : bool, default=True
        Whether the mean of y is subtracted first.
    scale_y : bool, default=True
        Whether y is divided by its standard deviation.
    degree : float, default=3
        Exponent of ``"poly"``.
    coef0 : float, default=1.0
        Offset of ``"poly"`` and ``"sigmoid"``.
    kernel_params : dict, default=None
        Further parameters of a callable kernel.

    Attributes
    ----------
    nu_ : float or ndarray of shape (n_outputs,)
        ν of Eq. (18).
    alpha_ : float or ndarray of shape (n_outputs,)
        The penalty as `sklearn.kernel_ridge.KernelRidge` counts it, n/ν.
    sigma_ : float or ndarray of shape (n_outputs,)
        Standard deviation of the noise, in units of y.
    eigenvalues_ : ndarray of shape (n_samples,)
        Eigenvalues of Gram/n from the largest on.
    df_ : float or ndarray of shape (n_outputs,)
        Degrees of freedom, Σ νλ/(1 + νλ).
    dual_coef_ : array of shape (n_samples,) or (n_samples, n_outputs)
        Coefficients of the kernel functions: those of `KernelRidge` with that penalty.
    intercept_ : float or ndarray of shape (n_outputs,)
        What is added.
    kernel_ : Kernel
        The kernel with its parameters settled.
    X_fit_ : array of shape (n_samples, n_features) or None
        The rows that predictions compare with; None with a precomputed kernel.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, where they are strings.

    See Also
    --------
    KernelGDRegressor : Gradient descent, whose time plays the part of ν.
    ridge_nu : The rule alone.

    Notes
    -----
    Do not use it where there is data to spare for `sklearn.model_selection.GridSearchCV` and the
    kernel is to be chosen too. Where the noise is hardly there, ν is large and the fit
    interpolates.

    References
    ----------
    .. [1] G. Raskutti, M. J. Wainwright and B. Yu (2014). "Early Stopping and Non-parametric
       Regression: An Optimal Data-dependent Stopping Rule". JMLR 15, Section 3.4.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from octavo.kernel import StoppedKernelRidge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = StoppedKernelRidge(constant=1.0).fit(scale(X)[:300], y[:300])
    >>> bool(model.score(scale(X)[300:], y[300:]) > 0.4)
    True
    """

    _parameter_constraints: dict[str, Any] = {
        name: rule
        for name, rule in StoppedKernelMachine._parameter_constraints.items()
        if name != "random_state"
    }

    def __init__(
        self,
        kernel="rbf",
        gamma=None,
        noise="hall_marron",
        hilbert_radius=1.0,
        constant="theory",
        fit_intercept=True,
        scale_y=True,
        *,
        degree=3,
        coef0=1.0,
        kernel_params=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.noise = noise
        self.hilbert_radius = hilbert_radius
        self.constant = constant
        self.fit_intercept = fit_intercept
        self.scale_y = scale_y
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Find the penalty and the coefficients.

        Parameters
        ----------
        X : {array, CSR matrix} of shape (n_samples, n_features)
            Rows, at least four; with a precomputed kernel the Gram matrix.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            Targets. Every output has its own noise and its own penalty.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        problem = self._problem(X, y)
        spectrum = whole_spectrum(problem.K)
        self._check_definite(spectrum)
        sigmas = self._sigmas(problem, spectrum)
        constant = RIDGE_THEORY if isinstance(self.constant, str) else float(self.constant)
        values, n = spectrum.values, spectrum.n
        most = _LARGEST / max(float(values[0]), 1e-300)
        nus = []
        for sigma in sigmas:
            square = radius_square(values, 0.0, n, constant * sigma / float(self.hilbert_radius))
            nus.append(min(1.0 / square, most) if square > 0.0 else most)  # Eq. (18)
        if any(nu >= most for nu, y_j in zip(nus, problem.Y.T) if y_j.any()):
            warnings.warn(
                "The noise was taken to be next to nothing, so that the fit interpolates; give "
                "noise as a number if there is some.",
                UserWarning,
                stacklevel=2,
            )
        paths = [whole_path(spectrum, to_namespace(y_j, problem.K)) for y_j in problem.Y.T]
        self._keep(problem, [p.ridge_coefficients(nu) for p, nu in zip(paths, nus)])
        single, all_nus = problem.is_single, np.array(nus)
        shrunk = all_nus[:, None] * values
        freedom = (shrunk / (1.0 + shrunk)).sum(axis=1)  # tr (1 + (νλ)⁻¹)⁻¹
        for name, found in (
            ("nu_", all_nus),
            ("alpha_", n / all_nus),  # ½n⁻¹|y − f|² + ½ν⁻¹|f|²: the usual penalty is n/ν
            ("df_", freedom),
            ("sigma_", sigmas * problem.scale),
        ):
            setattr(self, name, float(found[0]) if single else beside(found, problem.K))
        self.eigenvalues_ = beside(values, problem.K)
        return self

    def predict(self, X: Any) -> Any:
        """Predict the targets.

        Parameters
        ----------
        X : {array, CSR matrix} of shape (n_samples, n_features)
            Rows; with a precomputed kernel, their kernel values with all training rows.

        Returns
        -------
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            Predictions, in the namespace of X.
        """
        check_is_fitted(self)
        return self._predicted(X, self.dual_coef_)
