"""`GPProbitClassifier`: Gaussian process classification by EP with a corrected predictive (4.4).

References
----------
B. Cseke and T. Heskes. Approximate marginals in latent Gaussian models. JMLR 12, 2011, Sections 4.4
and 6.3.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import ndtr
from sklearn.base import ClassifierMixin, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.gaussian_process.kernels import RBF, CompoundKernel, ConstantKernel, Kernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.bayes.latent_gaussian.corrections import Correction, Target, corrected_marginal
from octavo.bayes.latent_gaussian.densities import Marginal
from octavo.bayes.latent_gaussian.gaussian_models import CovarianceModel
from octavo.bayes.latent_gaussian.global_fits import GlobalFit, global_fit
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.sparse_gaussian.likelihoods import FAMILIES, Terms

__all__ = ["GPProbitClassifier"]


class GPProbitClassifier(CallbackSupportMixin, ClassifierMixin, SoundEstimator):
    """Binary Gaussian process classifier with a probit link, by expectation propagation.

    Parameters
    ----------
    kernel : kernel instance, default=None
        Covariance of the latent function; None is scikit-learn's ``1.0 * RBF(1.0)``, both fixed.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        Maximises EP's evidence over the kernel's parameters; a callable has scikit-learn's
        signature (objective, initial_theta, bounds) -> (theta, value). None keeps the kernel.
    n_restarts_optimizer : int, default=0
        Further starts, log-uniform within the kernel's bounds.
    marginals : {"ep-fact", "ep-g"}, default="ep-fact"
        The predictive latent density: corrected for skewness by factors, or EP's Gaussian.
    damping : "auto" or float, default="auto"
        Part of each EP update that is taken.
    tol : float, default=1e-6
        EP stops when tilted and marginal moments agree to this, in units of the marginal.
    max_iter : int, default=200
        Most iterations of EP.
    random_state : int, RandomState instance or None, default=None
        Seeds the restarts.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The classes.
    kernel_ : kernel instance
        The kernel that predicts.
    log_marginal_likelihood_value_ : float
        EP's log evidence at it.
    X_train_ : ndarray of shape (n_samples, n_features)
        What it was fitted to.
    mean_, var_ : ndarray of shape (n_samples,)
        EP's posterior of the latent function at the training rows.
    converged_ : bool
        Whether EP has converged.
    n_iter_ : int
        Its iterations.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    octavo.bayes.LatentGaussianModel : All marginals, other likelihoods, sparse priors.

    Notes
    -----
    Do not use it beyond some thousand rows: time grows with their cube. scikit-learn's
    `GaussianProcessClassifier` uses the logistic link and Laplace's method, whose probabilities are
    pulled towards one half; it also takes more than two classes, for which this one goes into
    `OneVsRestClassifier`.

    References
    ----------
    .. [1] B. Cseke and T. Heskes (2011). "Approximate Marginals in Latent Gaussian Models". Journal
       of Machine Learning Research 12.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from octavo.bayes import GPProbitClassifier
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> model = GPProbitClassifier().fit(X, y)
    >>> round(model.log_marginal_likelihood_value_, 2)
    -25.77
    """

    _parameter_constraints: dict[str, Any] = {
        "kernel": [Kernel, None],
        "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
        "n_restarts_optimizer": [Interval(Integral, 0, None, closed="left")],
        "marginals": [StrOptions({"ep-fact", "ep-g"})],
        "damping": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="right")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        optimizer: str | Callable[..., Any] | None = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        marginals: str = "ep-fact",
        damping: str | float = "auto",
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.marginals = marginals
        self.damping = damping
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the kernel's parameters and EP.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        self : GPProbitClassifier
            The fitted classifier.
        """
        X, y = validate_data(self, X, y, dtype="numeric")
        classes, codes = encode_classes(y, owner=self)
        if len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"multiclass, with {len(classes)} classes; put GPProbitClassifier into "
                "OneVsRestClassifier."
            )
        self.classes_ = classes
        self.X_train_ = np.array(X, dtype=np.float64)
        self._terms = FAMILIES["probit"]().bind(codes)
        if self.kernel is None:
            fixed = {"constant_value_bounds": "fixed"}
            kernel = ConstantKernel(1.0, **fixed) * RBF(1.0, length_scale_bounds="fixed")
        else:
            kernel = clone(self.kernel)
        if isinstance(kernel, CompoundKernel):
            raise ValueError("kernel should not be a CompoundKernel.")
        self.kernel_ = kernel
        self._sites: Any = None
        with FitProgress(self, None, X, y) as progress:
            if self.optimizer is not None and kernel.n_dims > 0:
                self._optimize(progress)
            fit = self._ep(self.kernel_, quiet=False)
            progress.step()
        self._fit = fit
        self.log_marginal_likelihood_value_ = fit.log_evidence
        self.mean_, self.var_ = fit.state.mean_u, fit.state.variances()[1]
        self.converged_, self.n_iter_ = fit.converged, fit.n_iter
        return self

    def _ep(self, kernel: Kernel, quiet: bool, tol: float | None = None) -> GlobalFit:
        K = kernel(self.X_train_)
        n = K.shape[0]
        rows = sp.eye_array(n, format="csr")
        model = CovarianceModel(np.asarray(K, dtype=np.float64), np.zeros(n), rows, None)
        fit = global_fit(
            "ep",
            model,
            self._terms,
            power=1.0,
            damping=self.damping,
            tol=float(self.tol) if tol is None else max(tol, float(self.tol)),
            max_iter=self.max_iter,
            n_quad=32,
            start=self._sites,
            quiet=quiet,
        )
        self._sites = (fit.h, fit.q, fit.state.mean_u) if fit.converged else None
        return fit

    def _optimize(self, progress: Any) -> None:
        bounds = self.kernel_.bounds

        def objective(theta: Floats, eval_gradient: bool = True) -> Any:
            progress.step()
            # The evidence is stationary in the sites: an error e of theirs is e² in it.
            value, gradient = self._evidence(theta, 1e-4)
            return (-value, -gradient) if eval_gradient else -value

        starts = [self.kernel_.theta]
        if self.n_restarts_optimizer:
            if not np.isfinite(bounds).all():
                raise ValueError("n_restarts_optimizer needs finite bounds of the kernel.")
            rng = check_random_state(self.random_state)
            starts += [rng.uniform(*bounds.T) for _ in range(self.n_restarts_optimizer)]
        best = None
        for start in starts:
            if callable(self.optimizer):
                theta, value = self.optimizer(objective, start, bounds=bounds)
            else:
                found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds)
                theta, value = found.x, found.fun
            if best is None or value < best[1]:
                best = (theta, value)
        assert best is not None
        self.kernel_ = self.kernel_.clone_with_theta(best[0])

    def _evidence(self, theta: Floats, tol: float | None = None) -> tuple[float, Floats]:
        """Return EP's log evidence and its gradient: at a fixed point sites do not move it."""
        kernel = self.kernel_.clone_with_theta(theta)
        fit = self._ep(kernel, True, tol)
        _, dK = kernel(self.X_train_, eval_gradient=True)
        state = fit.state
        # ½ (K⁻¹m (K⁻¹m)' - (K + W⁻¹)⁻¹), both formed without K⁻¹
        slope = 0.5 * (np.outer(state.weights, state.weights) - state.site_precision)
        return fit.log_evidence, np.einsum("ij,ijk->k", slope, dK)

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """Return EP's log evidence of the training data.

        Parameters
        ----------
        theta : array-like of shape (n_kernel_params,), default=None
            Log parameters of the kernel; those of `kernel_` if None.
        eval_gradient : bool, default=False
            Whether the gradient comes too.

        Returns
        -------
        log_likelihood : float
            The log evidence.
        gradient : ndarray, only if `eval_gradient`
            Its derivative in theta.
        """
        check_is_fitted(self)
        if theta is None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated for theta!=None.")
            return self.log_marginal_likelihood_value_
        value, gradient = self._evidence(np.asarray(theta, dtype=np.float64))
        return (value, gradient) if eval_gradient else value

    def _targets(self, X: Floats) -> list[Target]:
        """Return the joint laws of the latent value at each row with those of training (4.4)."""
        state = self._fit.state
        K = self.kernel_(X, self.X_train_)
        lost = K @ state.site_precision  # Section 4.4: K_* (K + W⁻¹)⁻¹
        mean = K @ state.weights
        variance = np.maximum(self.kernel_.diag(X) - (lost * K).sum(axis=1), 1e-12)
        cov_u = K - lost @ state.model.K  # cov(u, f_*) under q: what `Correction` takes for V a
        return [Target(*row, None) for row in zip(mean, variance, cov_u, strict=True)]

    def latent_mean_and_variance(self, X: Any) -> tuple[Floats, Floats]:
        """Return EP's Gaussian of the latent function at rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        mean, variance : ndarray of shape (n_samples,)
            Of the latent function.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype="numeric")
        targets = self._targets(np.asarray(X, dtype=np.float64))
        return np.array([t.mean for t in targets]), np.array([t.variance for t in targets])

    def latent_marginals(self, X: Any) -> list[Marginal]:
        """Return the predictive densities of the latent function at rows, corrected by EP-FACT.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        marginals : list of Marginal
            The densities, in the order asked for.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype="numeric")
        targets = self._targets(np.asarray(X, dtype=np.float64))
        return [_corrected(self._fit, self._terms, target) for target in targets]

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the two classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, 2)
            One row each, in the order of `classes_`.
        """
        if self.marginals == "ep-g":
            mean, variance = self.latent_mean_and_variance(X)
            p = ndtr(mean / np.sqrt(1.0 + variance))  # ∫ Φ(f) N(f; m, v) df
        else:
            found = self.latent_marginals(X)
            # Section 4.4 with the corrected predictive density
            p = np.array([np.trapezoid(m.pdf * ndtr(m.x), m.x) for m in found])
        p = np.clip(p, 0.0, 1.0)
        return np.column_stack([1.0 - p, p])

    def predict(self, X: Any) -> Any:
        """Return the more probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            One of `classes_` each.
        """
        proba = self.predict_proba(X)
        return self.classes_[(proba[:, 1] > 0.5).astype(int)]


def _corrected(fit: GlobalFit, terms: Terms, target: Target) -> Marginal:
    return corrected_marginal(Correction(fit, terms, target, 32), "ep-fact", n_fine=401)
