"""`KernelFisherDiscriminant`: Fisher's discriminant in the feature space of a kernel.

References: A. Shashua (2008), "Introduction to Machine Learning", sections 5.5 to 5.7; S. Mika and
others (1999), "Fisher discriminant analysis with kernels".
"""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.special import softmax
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.kernels.whole_gram import KERNEL_CONSTRAINTS, KernelRows, cross_gram, gram_of

__all__ = ["KernelFisherDiscriminant"]


class Scatter(NamedTuple):
    """Class means of kernel rows, one a column, and N = Σ_c K_c (I - 1/l_c) K_cᵀ."""

    means: Floats
    within: Floats
    sizes: Floats


def kernel_scatter(K: Floats, codes: Indices, n_classes: int) -> Scatter:
    """Return the means and the scatter within classes of the columns of a Gram matrix."""
    H = np.zeros((len(K), n_classes))
    H[np.arange(len(K)), codes] = 1.0
    sizes = H.sum(axis=0)
    means = (K @ H) / sizes
    apart = K - means[:, codes]
    return Scatter(means, apart @ apart.T, sizes)  # Σ_c K_c (I − 1/l_c) K_cᵀ


def discriminant_directions(scatter: Scatter, reg: float) -> Floats:
    """Return coefficients of training rows, one column a direction, αᵀ(N + μI)α = 1.

    Two classes have α ∝ (N + μI)⁻¹(m_1 - m_0); more have the generalised eigenvectors of the
    scatter between classes.
    """
    n, n_classes = scatter.means.shape
    try:
        factor = cho_factor(scatter.within + reg * np.eye(n), lower=True)
    except np.linalg.LinAlgError:
        raise ValueError(
            f"reg={reg:g} is too small beside the scatter within classes, whose trace is "
            f"{np.trace(scatter.within):.3g}; raise it."
        ) from None
    share = scatter.sizes / scatter.sizes.sum()
    apart = scatter.means - (scatter.means @ share)[:, None]
    between = apart * np.sqrt(scatter.sizes)  # M = between betweenᵀ, of rank n_classes - 1
    # Eq. (5.2) has N⁻¹M, which is not symmetric; betweenᵀ N⁻¹ between is
    solved = cho_solve(factor, between)
    values, vectors = eigh(between.T @ solved)
    kept = np.argsort(-values)[: n_classes - 1]
    values, vectors = values[kept], vectors[:, kept]
    alive = values > 1e-14 * max(float(values[0]), 1e-300)
    return solved @ (vectors[:, alive] / np.sqrt(values[alive]))


class KernelFisherDiscriminant(
    KernelRows, ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, SoundEstimator
):
    """Classify along the directions of feature space that separate classes best for their spread.

    Fisher's criterion with a kernel: class means of kernel rows are set apart while the scatter N
    within classes, with a ridge, is kept small. Rows are then classified by Gaussians of equal
    covariance on the C - 1 directions.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        A kernel of scikit-learn by name, ``"precomputed"``, or a function of (X, Y).
    reg : float, default=1e-3
        μ, added to the diagonal of N; positive.
    gamma : {"scale", "auto"} or float, default="scale"
        Scale of ``rbf``, ``laplacian``, ``poly`` and ``sigmoid``.
    degree : float, default=3
        Exponent of ``poly``.
    coef0 : float, default=1.0
        Offset of ``poly`` and ``sigmoid``.
    kernel_params : dict, default=None
        Further parameters of a callable.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes.
    dual_coef_ : ndarray of shape (n_samples, n_directions)
        α: weights of the training rows in each direction.
    means_ : ndarray of shape (n_classes, n_directions)
        Class means of the projections.
    covariance_ : ndarray of shape (n_directions, n_directions)
        Covariance of the projections within classes.
    priors_ : ndarray of shape (n_classes,)
        Shares of the classes.
    n_features_in_ : int
        Number of columns.

    See Also
    --------
    KernelPCANovelty : Directions without labels.

    Notes
    -----
    Takes n² numbers and n³ steps. With the linear kernel and a small ridge it is
    `sklearn.discriminant_analysis.LinearDiscriminantAnalysis`, which is far faster;
    `sklearn.svm.SVC` scales better and has sparse solutions. Probabilities are those of the
    training projections and are too sure of themselves where ``reg`` is small.

    References
    ----------
    .. [1] Shashua (2008). Introduction to Machine Learning, lecture notes, Hebrew University,
       sections 5.5 to 5.7.
    .. [2] Mika, Rätsch, Weston, Schölkopf and Müller (1999). Fisher discriminant analysis with
       kernels. Neural Networks for Signal Processing IX.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from octavo.kernel import KernelFisherDiscriminant
    >>> X, y = make_circles(200, factor=0.4, noise=0.1, random_state=0)
    >>> model = KernelFisherDiscriminant().fit(X[:100], y[:100])
    >>> model.score(X[100:], y[100:])
    1.0
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **KERNEL_CONSTRAINTS,
        "reg": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self, kernel="rbf", reg=1e-3, *, gamma="scale", degree=3, coef0=1.0, kernel_params=None
    ):
        self.kernel = kernel
        self.reg = reg
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, or their Gram matrix where the kernel is precomputed.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : KernelFisherDiscriminant
            Fitted.
        """
        X, y = self._rows(X, y)
        self.classes_, codes = encode_classes(y, owner=self)
        self.kernel_ = self._settle(X)
        K = gram_of(self.kernel_, X)
        n_classes = len(self.classes_)
        scatter = kernel_scatter(K, codes, n_classes)
        self.dual_coef_ = discriminant_directions(scatter, float(self.reg))
        if not self.dual_coef_.shape[1]:
            raise ValueError("The class means coincide in feature space: no direction separates.")
        Z = K @ self.dual_coef_
        self.means_ = scatter.means.T @ self.dual_coef_
        apart = Z - self.means_[codes]
        self.priors_ = scatter.sizes / len(K)
        # a ridge in the same units keeps classes of one row each finite
        ridge = float(self.reg) * np.einsum("nk,nk->k", self.dual_coef_, self.dual_coef_)
        self.covariance_ = (apart.T @ apart + np.diag(ridge)) / len(K)
        self._fit_rows = None if self.kernel == "precomputed" else X
        self._n_features_out = self.dual_coef_.shape[1]
        return self

    def transform(self, X: Any) -> Floats:
        """Return projections onto the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, or kernel values against the training rows.

        Returns
        -------
        projections : ndarray of shape (n_samples, n_directions)
            Most separating direction first.
        """
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        return cross_gram(self.kernel_, X, self._fit_rows) @ self.dual_coef_

    def _scores(self, X: Any) -> Floats:
        """Return log prior - ½ Mahalanobis distance + what all classes share."""
        Z = self.transform(X)
        pull = np.linalg.solve(self.covariance_, self.means_.T)  # S_w⁻¹ μ_c
        # Eq. (5.3) for two classes of one size
        bias = np.log(self.priors_) - 0.5 * np.einsum("ck,kc->c", self.means_, pull)
        return Z @ pull + bias

    def decision_function(self, X: Any) -> Floats:
        """Return log-odds of the second class, or discriminant values of all.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Larger for what is more probable.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities of the Gaussians on the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Rows add up to one.
        """
        return softmax(self._scores(X), axis=1)

    def predict(self, X: Any) -> Any:
        """Return classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The most probable class.
        """
        scores = self._scores(X)
        return self.classes_[scores.argmax(axis=1)]
