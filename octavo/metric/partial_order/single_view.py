"""Partial order embedding of one view: features, or one kernel.

Reference: B. McFee and G. Lanckriet (2011), "Learning Multi-modal Similarity", Section 3,
Algorithms 2 and 3.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import KERNELS, check_gram, resolve_kernel
from octavo.metric.partial_order.base import BasePOE
from octavo.metric.partial_order.views import feature_view, gram_view, unit_scale

__all__ = ["KernelPOE", "LinearPOE"]


class LinearPOE(BasePOE):
    """Learn a Mahalanobis distance from comparisons "i and j are more alike than k and l".

    The matrix minimises tr(W) + (β/|C|) Σ max(0, 1 + d(i, j) - d(k, l)) over positive
    semidefinite (or diagonal) W, d(i, j) = (x_i - x_j)ᵀW(x_i - x_j). With more than some hundred
    features `octavo.metric.LowRankMahalanobis` is the cheaper choice; with labels for all rows look
    at `sklearn.neighbors.NeighborhoodComponentsAnalysis` first.

    Parameters
    ----------
    structure : {"full", "diagonal"}, default="full"
        Of W; ``"diagonal"`` weighs features, by a linear program.
    beta : float, default=1000.0
        The paper's β: weight of the mean loss.
    n_components : int, default=None
        Directions of largest variance that are kept; None keeps all.
    clean : bool or tuple of str, default=True
        As for `MultipleKernelPOE`.
    normalize : bool, default=True
        Whether rows are scaled to a mean squared length of one.
    solver : {"auto", "admm", "atoms", "fista", "subgradient", "sdp", "lp"}, default="auto"
        As for `MultipleKernelPOE`.
    tol : float, default=1e-4
        Duality gap relative to the objective.
    max_iter : int, default=2000
        Most steps.
    random_state : int, RandomState instance or None, default=None
        Draws the order in which cycles are broken.

    Attributes
    ----------
    W_ : ndarray of shape (n_features, n_features)
        The matrix, for X times the square root of ``scale_``.
    embedding_ : ndarray of shape (n_items, n_dimensions)
        The training items in the learned space.
    kernel_weights_ : ndarray of shape (1,)
        tr(W).
    scale_ : float
        What makes the mean squared length one; 1 without `normalize`.
    objective_ : float
        What is minimised, over the comparisons that cleaning left.
    duality_gap_ : float
        At least as large as the distance of `objective_` from the optimum.
    comparisons_ : ndarray of shape (n_comparisons, 4)
        The comparisons that cleaning left.
    n_violated_ : int
        How many of them the learned distances get wrong.
    n_iter_ : int
        Steps taken.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    References
    ----------
    .. [1] McFee and Lanckriet (2011). Learning Multi-modal Similarity. JMLR 12:491-523.

    Examples
    --------
    >>> from octavo.metric import LinearPOE
    >>> X = [[0.0, 3.0], [0.1, 0.0], [1.0, 3.1], [1.1, 0.2]]
    >>> comparisons = [[0, 1, 2], [1, 0, 3], [2, 3, 0], [3, 2, 1]]  # the first column counts
    >>> model = LinearPOE(beta=100.0).fit(X, comparisons)
    >>> model.score(comparisons)
    1.0
    """

    _parameter_constraints: dict[str, Any] = BasePOE._parameter_constraints

    def __init__(
        self,
        structure="full",
        beta=1000.0,
        n_components=None,
        *,
        clean=True,
        normalize=True,
        solver="auto",
        tol=1e-4,
        max_iter=2000,
        random_state=None,
    ):
        self.structure = structure
        self.beta = beta
        self.n_components = n_components
        self.clean = clean
        self.normalize = normalize
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @property
    def W_(self):
        check_is_fitted(self)
        return self._learned_matrices()[0]

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, C):
        """Learn the distance.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_items, n_features)
            Items.
        C : array-like of shape (n_comparisons, 4) or (n_comparisons, 3)
            Rows (i, j, k, l): i and j are more alike than k and l; or (i, j, k) for (i, j, i, k).

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        check_squares(X)
        dense = X.toarray() if hasattr(X, "toarray") else X
        mean = float(np.einsum("ij,ij->i", dense, dense).mean())
        self.scale_ = unit_scale(mean, "X") if self.normalize else 1.0
        view = feature_view(dense * np.sqrt(self.scale_), self.structure)
        return self._learn([view], C)

    def _tables(self, X):
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return [(X.toarray() if hasattr(X, "toarray") else X) * np.sqrt(self.scale_)]


class KernelPOE(BasePOE):
    """Learn a similarity space from comparisons and one kernel; new items can be embedded.

    With the identity matrix as a precomputed kernel this is generalised non-metric multidimensional
    scaling (GNMDS): no features, no new items, and W the inner products of the points. For the
    unweighted sum of several kernels use ``MultipleKernelPOE(combine="sum")``.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "chi2", a function of two
        tables, or "precomputed".
    structure : {"full", "diagonal"}, default="full"
        Of W; ``"diagonal"`` weighs training items as landmarks, by a linear program.
    beta : float, default=1000.0
        The paper's β: weight of the mean loss.
    n_components : int, default=None
        Directions of largest variance that are kept; None keeps all.
    gamma : {"scale", "auto"} or float, default="scale"
        Parameter of the kernels that have one.
    degree : float, default=3
        Exponent of "poly".
    coef0 : float, default=0.0
        Offset of "poly" and "sigmoid".
    clean : bool or tuple of str, default=True
        As for `MultipleKernelPOE`.
    normalize : bool, default=True
        Whether the kernel is scaled to unit mean diagonal.
    solver : {"auto", "admm", "atoms", "fista", "subgradient", "sdp", "lp"}, default="auto"
        As for `MultipleKernelPOE`.
    tol : float, default=1e-4
        Duality gap relative to the objective.
    max_iter : int, default=2000
        Most steps.
    random_state : int, RandomState instance or None, default=None
        Draws the order in which cycles are broken.

    Attributes
    ----------
    W_ : ndarray of shape (n_items, n_items)
        The matrix, for the kernel times ``scale_``.
    embedding_ : ndarray of shape (n_items, n_dimensions)
        The training items in the learned space.
    kernel_weights_ : ndarray of shape (1,)
        tr(WK).
    kernel_ : object
        The kernel with its parameters settled; None for a precomputed one.
    scale_ : float
        What makes the mean diagonal one; 1 without `normalize`.
    objective_ : float
        What is minimised, over the comparisons that cleaning left.
    duality_gap_ : float
        At least as large as the distance of `objective_` from the optimum.
    comparisons_ : ndarray of shape (n_comparisons, 4)
        The comparisons that cleaning left.
    n_violated_ : int
        How many of them the learned distances get wrong.
    n_iter_ : int
        Steps taken.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    References
    ----------
    .. [1] McFee and Lanckriet (2011). Learning Multi-modal Similarity. JMLR 12:491-523.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.metric import KernelPOE
    >>> comparisons = [[0, 1, 2], [1, 2, 3], [2, 3, 0]]
    >>> model = KernelPOE("precomputed", normalize=False).fit(np.eye(4), comparisons)
    >>> model.score(comparisons)
    1.0
    """

    _parameter_constraints: dict[str, Any] = {
        **BasePOE._parameter_constraints,
        "kernel": [StrOptions({*KERNELS, "chi2", "additive_chi2"}), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
    }

    def __init__(
        self,
        kernel="rbf",
        structure="full",
        beta=1000.0,
        n_components=None,
        *,
        gamma="scale",
        degree=3,
        coef0=0.0,
        clean=True,
        normalize=True,
        solver="auto",
        tol=1e-4,
        max_iter=2000,
        random_state=None,
    ):
        self.kernel = kernel
        self.structure = structure
        self.beta = beta
        self.n_components = n_components
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.clean = clean
        self.normalize = normalize
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        return tags

    def _is_precomputed(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def W_(self):
        check_is_fitted(self)
        return self._learned_matrices()[0]

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, C):
        """Learn the space.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_items, n_features) or (n_items, n_items)
            Items, or their kernel matrix with ``kernel="precomputed"``.
        C : array-like of shape (n_comparisons, 4) or (n_comparisons, 3)
            Rows (i, j, k, l): i and j are more alike than k and l; or (i, j, k) for (i, j, i, k).

        Returns
        -------
        self : object
            Fitted estimator.
        """
        accept = False if self._is_precomputed() else "csr"
        X = validate_rows(self, X, accept_sparse=accept, dtype=np.float64, ensure_min_samples=2)
        check_squares(X)
        if self._is_precomputed():
            check_gram(X, definite=False)
            kernel, self._X, K = None, None, X
        else:
            kernel = resolve_kernel(
                self.kernel, X, gamma=self.gamma, degree=self.degree, coef0=self.coef0
            )
            self._X, K = X, kernel.block(X, X)
            check_gram(K, definite=False, name="The kernel matrix")
        self.kernel_: Any = kernel
        own = float(np.diagonal(K).mean())
        self.scale_ = unit_scale(own, "The kernel matrix") if self.normalize else 1.0
        K = 0.5 * self.scale_ * (K + K.T)
        return self._learn([gram_view(K, self.structure, "The kernel matrix")], C)

    def _tables(self, X):
        accept = False if self._is_precomputed() else "csr"
        X = validate_rows(self, X, accept_sparse=accept, dtype=np.float64, reset=False)
        return [self.scale_ * (X if self._X is None else self.kernel_.block(X, self._X))]
