"""`KernelPCANovelty`: how far a point is from the subspace of kernel principal components.

Reference: A. Shashua (2008), "Introduction to Machine Learning", section 5.4; H. Hoffmann (2007),
"Kernel PCA for novelty detection".
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.kernels.whole_gram import (
    KERNEL_CONSTRAINTS,
    CentredGram,
    KernelRows,
    cross_gram,
    gram_of,
)

__all__ = ["KernelPCANovelty"]

ROUNDING = 1e-12


def leading_coefficients(K: Floats, n_components: int | None) -> tuple[Floats, Floats]:
    """Return α with Kα the projections of the rows onto unit directions, and the eigenvalues."""
    n = len(K)
    first = 0 if n_components is None else max(0, n - n_components)
    values, vectors = eigh(K, subset_by_index=(first, n - 1))
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > n * np.finfo(float).eps * max(float(values[0]), 1e-300)
    # α = v/√λ: a unit direction in feature space
    return vectors[:, kept] / np.sqrt(values[kept]), values[kept]


class KernelPCANovelty(KernelRows, OutlierMixin, SoundEstimator):
    """Find points that do not lie where the others do, by their distance to a kernel subspace.

    The squared distance in feature space of φ(x) from the span of the first principal components of
    the training rows: k_c(x, x) - ‖y‖², y the projections and k_c the centred kernel.

    Parameters
    ----------
    n_components : int, default=10
        Dimension of the subspace; None for all that the training rows span.
    kernel : str or callable, default="rbf"
        A kernel of scikit-learn by name or a function of (X, Y). A precomputed kernel is taken by
        `fit`, and scored only on training rows: k(x, x) of others is not in it.
    gamma : {"scale", "auto"} or float, default="scale"
        Scale of ``rbf``, ``laplacian``, ``poly`` and ``sigmoid``.
    degree : float, default=3
        Exponent of ``poly``.
    coef0 : float, default=1.0
        Offset of ``poly`` and ``sigmoid``.
    kernel_params : dict, default=None
        Further parameters of a callable.
    contamination : float, default=0.1
        The share of training rows that `predict` calls novel.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Of the centred Gram matrix.
    dual_coef_ : ndarray of shape (n_samples, n_components)
        Weights of the training rows in the components.
    offset_ : float
        The score below which a row is novel.
    n_features_in_ : int
        Number of columns.

    See Also
    --------
    KernelFisherDiscriminant : Directions that separate classes.

    Notes
    -----
    Takes n² numbers and n³ steps. `sklearn.decomposition.KernelPCA` has the projections without the
    distance; `sklearn.svm.OneClassSVM` and `sklearn.ensemble.IsolationForest` scale further. With
    all components every training row has distance zero: keep fewer than there are rows.

    References
    ----------
    .. [1] Shashua (2008). Introduction to Machine Learning, lecture notes, Hebrew University,
       section 5.4.
    .. [2] Hoffmann (2007). Kernel PCA for novelty detection. Pattern Recognition 40.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import KernelPCANovelty
    >>> t = np.linspace(0, 6.28, 100)
    >>> ring = np.column_stack([np.cos(t), np.sin(t)])
    >>> model = KernelPCANovelty(10, gamma=1.0).fit(ring)
    >>> (-model.score_samples([[1.0, 0.0], [0.0, 0.0], [2.0, 0.0]])).round(3)
    array([0.   , 0.573, 0.996])
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **KERNEL_CONSTRAINTS,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "contamination": [Interval(Real, 0, 0.5, closed="right")],
    }

    def __init__(
        self,
        n_components=10,
        kernel="rbf",
        *,
        gamma="scale",
        degree=3,
        coef0=1.0,
        kernel_params=None,
        contamination=0.1,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.contamination = contamination

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the subspace of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their Gram matrix where the kernel is precomputed.
        y : None
            Ignored.

        Returns
        -------
        self : KernelPCANovelty
            Fitted.
        """
        X = self._from_mean(self._rows(X, ensure_min_samples=2))
        self.kernel_ = self._settle(X)
        K = gram_of(self.kernel_, X)
        centred, self._means = CentredGram.of(K)
        self._diagonal = np.diagonal(K).copy()
        self.dual_coef_, self.eigenvalues_ = leading_coefficients(centred, self.n_components)
        self._fit_rows = None if self.kernel == "precomputed" else X
        self._fit_gram = X if self.kernel == "precomputed" else None
        scores = -self._distances(K, self._diagonal)
        self.offset_ = float(np.quantile(scores, float(self.contamination)))
        return self

    def _distances(self, K: Floats, diagonal: Floats) -> Floats:
        """Return squared distances: ‖φ - m‖² + ‖y‖² - 2‖y‖², at least 0 but for rounding."""
        projections = self._means.rows(K) @ self.dual_coef_
        squares = self._means.squares(diagonal, K)
        # Section 5.4, with +yᵀy where its middle line prints −
        apart = squares - np.einsum("nk,nk->n", projections, projections)
        # what the sums above round away is no distance
        noise = ROUNDING * (
            np.abs(diagonal) + 2.0 * np.abs(K).mean(axis=1) + abs(self._means.total)
        )
        return np.where(apart > noise, apart, 0.0)

    def score_samples(self, X: Any) -> Floats:
        """Return minus the squared distance from the subspace.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Zero in the subspace, lower for what is more novel.
        """
        check_is_fitted(self)
        X = self._from_mean(self._rows(X, reset=False), reset=False)
        K = cross_gram(self.kernel_, X, self._fit_rows)
        if self._fit_gram is None:
            return -self._distances(K, np.asarray(self.kernel_.diagonal(X), dtype=np.float64))
        if K.shape != self._fit_gram.shape or not np.array_equal(K, self._fit_gram):
            raise ValueError(
                "With a precomputed kernel only the training rows can be scored: k(x, x) of other "
                "rows is not in their kernel values. Give the kernel as a function instead."
            )
        return -self._distances(K, self._diagonal)

    def decision_function(self, X: Any) -> Floats:
        """Return scores less the offset: negative for novel rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            `score_samples` less `offset_`.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Any:
        """Return 1 for rows like the training rows, -1 for novel ones.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            1 or -1.
        """
        return np.where(self.decision_function(X) >= 0.0, 1, -1)
