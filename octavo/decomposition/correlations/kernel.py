"""`KernelCCA`: canonical correlations between feature spaces, with the ridge that they need.

References: A. Shashua (2008), "Introduction to Machine Learning", section 5.9; D. Hardoon, S.
Szedmak and J. Shawe-Taylor (2004), "Canonical correlation analysis: an overview".
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.base import TransformerMixin
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_array, check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.kernels.whole_gram import (
    KERNEL_CONSTRAINTS,
    CentredGram,
    KernelRows,
    cross_gram,
    gram_of,
)

__all__ = ["KernelCCA"]


def shrunk_basis(K: Floats, reg: float) -> tuple[Floats, Floats]:
    """Return M = U √(s/(s + κ)) and A = U / √(s (s + κ)) of a centred Gram matrix K = U s Uᵀ.

    K A = M, and wᵀ(K + κI)K w = 1 for columns w of A: what the constraint of the problem asks.
    """
    s, U = eigh(K)
    kept = s > len(K) * np.finfo(float).eps * max(float(s[-1]), 1e-300)
    s, U = s[kept], U[:, kept]
    return U * np.sqrt(s / (s + reg)), U / np.sqrt(s * (s + reg))


class KernelCCA(KernelRows, TransformerMixin, SoundEstimator):
    """Find functions of two sets of variables that are most correlated.

    Canonical correlation analysis in the feature spaces of a kernel: the ridge κ is needed, because
    rich feature spaces correlate perfectly with anything. With the linear kernel it is `ExactCCA`
    with the same ridge.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        A kernel of scikit-learn by name or a function of (X, Y), used for both sets;
        ``"precomputed"`` for two Gram matrices.
    reg : float, default=0.1
        κ, added to the diagonals of the centred Gram matrices; positive.
    n_components : int, default=2
        How many pairs of functions are kept; fewer where there are fewer.
    gamma : {"scale", "auto"} or float, default="scale"
        Scale of ``rbf``, ``laplacian``, ``poly`` and ``sigmoid``, settled on each set.
    degree : float, default=3
        Exponent of ``poly``.
    coef0 : float, default=1.0
        Offset of ``poly`` and ``sigmoid``.
    kernel_params : dict, default=None
        Further parameters of a callable.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components,)
        Of the regularised problem, in falling order; correlations of the variates on new rows tell
        what is real.
    x_dual_coef_ : ndarray of shape (n_samples, n_components)
        Weights of the training rows in the functions of X.
    y_dual_coef_ : ndarray of shape (n_samples, n_components)
        Weights in the functions of Y.
    n_features_in_ : int
        Number of columns of X.

    See Also
    --------
    ExactCCA : The linear method.

    Notes
    -----
    Takes n² numbers and n³ steps. Choose κ by correlations on held-out rows. Where dependence only
    is to be tested, `octavo.info` has HSIC and kin.

    References
    ----------
    .. [1] Shashua (2008). Introduction to Machine Learning, lecture notes, Hebrew University,
       section 5.9.
    .. [2] Hardoon, Szedmak and Shawe-Taylor (2004). Canonical correlation analysis: an overview
       with application to learning methods. Neural Computation 16.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import ExactCCA, KernelCCA
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, size=(200, 1))
    >>> y = x**2 + 0.1 * rng.normal(size=(200, 1))
    >>> model = KernelCCA("rbf", 1.0, n_components=1).fit(x, y)
    >>> u, v = model.transform(x, y)
    >>> linear = ExactCCA().fit(x, y).correlations_
    >>> print(np.corrcoef(u[:, 0], v[:, 0])[0, 1].round(2), linear.round(2))
    1.0 [0.1]
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **KERNEL_CONSTRAINTS,
        "reg": [Interval(Real, 0, None, closed="neither")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        kernel="rbf",
        reg=0.1,
        *,
        n_components=2,
        gamma="scale",
        degree=3,
        coef0=1.0,
        kernel_params=None,
    ):
        self.kernel = kernel
        self.reg = reg
        self.n_components = n_components
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params

    def _read_y(self, Y: Any, n_columns: int | None = None) -> Floats:
        if np.ndim(Y) == 1:
            Y = np.asarray(Y).reshape(-1, 1)
        Y = check_array(Y, dtype=np.float64, input_name="Y")
        check_squares(Y, "Y")
        if n_columns is not None and Y.shape[1] != n_columns:
            raise ValueError(f"Y must have {n_columns} columns as in fit; got {Y.shape[1]}.")
        return Y

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Find the functions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_x_features)
            One set of variables, or its Gram matrix where the kernel is precomputed.
        y : array-like of shape (n_samples, n_y_features) or (n_samples,)
            The other, or its Gram matrix.

        Returns
        -------
        self : KernelCCA
            Fitted.
        """
        X, Y = self._rows(X, y, multi_output=True, y_numeric=True, ensure_min_samples=2)
        Y = self._read_y(Y)
        self._n_y = Y.shape[1]
        X = self._from_mean(X, origin="_x_origin")
        Y = self._from_mean(Y, origin="_y_origin")
        self._x_kernel, self._y_kernel = self._settle(X), self._settle(Y)
        Kx, self._x_means = CentredGram.of(gram_of(self._x_kernel, X))
        Ky, self._y_means = CentredGram.of(gram_of(self._y_kernel, Y))
        Mx, Ax = shrunk_basis(Kx, float(self.reg))
        My, Ay = shrunk_basis(Ky, float(self.reg))
        if not Mx.shape[1] or not My.shape[1]:
            raise ValueError("X and Y must each hold at least two different rows.")
        U, D, Vt = np.linalg.svd(Mx.T @ My, full_matrices=False)  # Eq. (5.4) in feature space
        U, Vt = svd_flip(U, Vt)
        k = min(self.n_components, len(D))
        spread = np.sqrt(len(Kx) - 1.0)  # variates of variance one, not of length one
        self.correlations_ = np.clip(D[:k], 0.0, 1.0)
        self.x_dual_coef_ = Ax @ U[:, :k] * spread
        self.y_dual_coef_ = Ay @ Vt[:k].T * spread
        self._x_rows: Any = None if self.kernel == "precomputed" else X
        self._y_rows: Any = None if self.kernel == "precomputed" else Y
        return self

    def transform(self, X: Any, Y: Any = None) -> Any:
        """Return the canonical variates.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_x_features)
            Rows of the first set, or kernel values against its training rows.
        Y : array-like of shape (n_samples, n_y_features), default=None
            Rows of the other.

        Returns
        -------
        x_variates : ndarray of shape (n_samples, n_components)
            Of X; where Y is given, a pair with those of Y.
        """
        check_is_fitted(self)
        X = self._from_mean(self._rows(X, reset=False), reset=False, origin="_x_origin")
        Kx = self._x_means.rows(cross_gram(self._x_kernel, X, self._x_rows))
        if Y is None:
            return Kx @ self.x_dual_coef_
        Y = self._from_mean(self._read_y(Y, self._n_y), reset=False, origin="_y_origin")
        Ky = self._y_means.rows(cross_gram(self._y_kernel, Y, self._y_rows))
        return Kx @ self.x_dual_coef_, Ky @ self.y_dual_coef_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
