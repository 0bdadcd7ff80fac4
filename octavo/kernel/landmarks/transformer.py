"""A low-rank kernel feature map on well-chosen landmarks: a better `Nystroem`.

The same map as `sklearn.kernel_approximation.Nystroem`, on landmarks that are spread over the
feature space instead of drawn uniformly, and with more landmarks than components if wanted.

Reference: thesis on kernel-based greedy algorithms (D. Oglic), Chapter 4: Sections 4.1 and 4.5.
The choice of landmarks is in `octavo.kernel.landmarks.selection`.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import block_megabytes, check_gram, resolve_kernel, row_chunks
from octavo.engine.kernels.namespaces import (
    check_same_namespace,
    namespace_of,
    to_namespace,
    to_numpy,
)
from octavo.engine.kernels.nystroem import nystroem_normalization
from octavo.kernel.landmarks.selection import SELECTION_CONSTRAINTS, choose

__all__ = ["NystroemLandmarks"]


def landmark_count(n_landmarks: int | str | None, n_components: int, n_samples: int) -> int:
    """Return l: K, K ln K or K ln n (the settings of Section 4.5), or the given number."""
    if n_landmarks is None:
        return n_components
    if isinstance(n_landmarks, str):
        inner = n_components if n_landmarks == "k_log_k" else n_samples
        wanted = math.ceil(n_components * math.log(max(inner, 2)))
        return min(n_samples, max(n_components, wanted))
    return int(n_landmarks)


def top_directions(second_moment: Any, n_components: int) -> Any:
    """Return the leading eigenvectors of ΨᵀΨ as columns, each with a fixed sign."""
    xp = namespace_of(second_moment).xp
    _, vectors = xp.linalg.eigh(second_moment)
    vectors = xp.flip(vectors, axis=1)[:, :n_components]
    largest = xp.max(vectors, axis=0) + xp.min(vectors, axis=0)  # sign of the largest entry
    one = xp.ones_like(largest)
    return vectors * xp.where(largest < 0.0, -one, one)


class NystroemLandmarks(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SoundEstimator):
    """Approximate a kernel feature map by the Nyström method on chosen landmarks.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        Kernel: a name that `select_landmarks` knows, ``"precomputed"``, or a function of two
        arrays.
    n_components : int, default=100
        Rank of the approximation and number of features.
    n_landmarks : int, {"k_log_k", "k_log_n"} or None, default=None
        Landmarks. With more than `n_components` the approximation is truncated to its best
        directions on the training rows. ``"k_log_k"``, n_components · ln n_components, is
        enough in the thesis; None is `n_components`.
    method : str, default="kmeans++"
        How landmarks are chosen; see `select_landmarks`.
    gamma : float, {"scale", "auto"} or None, default=None
        Scale of the kernel; None and ``"auto"`` are 1 / n_features.
    degree : float, default=3
        Exponent of ``"poly"``.
    coef0 : float, default=1.0
        Offset of ``"poly"`` and ``"sigmoid"``.
    kernel_params : dict, default=None
        Further parameters of a callable kernel.
    n_local : int or "auto", default="auto"
        Candidates a landmark of ``"kmeans++"``; 1 is the fastest.
    lloyd : bool, default=False
        Move landmarks to the means of their clusters while the potential falls.
    sketch : {"uniform", "diagonal"}, default="uniform"
        Sketch of ``method="leverage"``.
    sketch_size : int, default=None
        Columns of that sketch.
    alpha : float, default=None
        Ridge form of leverage scores; see `select_landmarks`.
    n_steps : int, default=1000
        Steps of ``method="kdpp"``.
    start : {"uniform", "kmeans++"}, default="uniform"
        Where that chain starts.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    components_ : array of shape (n_landmarks, n_features)
        The landmarks; None with a precomputed kernel.
    landmarks_ : array of shape (n_landmarks,)
        Their indices among the training rows; None where they are no rows.
    normalization_ : array of shape (n_components, n_landmarks)
        Maps kernel values with the landmarks to features. Rows are zero beyond the rank of the
        approximation.
    potential_ : float
        Sum of squared distances, in the feature space, of the training rows to their nearest
        landmark: never less than the trace of what the approximation misses.
    rank_ : int
        Rank of the landmarks' Gram matrix.
    kernel_ : Kernel
        The kernel with its parameters settled.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, where they are strings.

    See Also
    --------
    select_landmarks : The choice alone.
    nystroem_report : How good an approximation is.

    Notes
    -----
    Do not use it where uniform landmarks do: with ``method="uniform"`` this is
    `sklearn.kernel_approximation.Nystroem`. When the kernel is narrow against the spacing of
    the rows, no landmarks help. For millions of rows use ``n_local=1``.

    With scikit-learn's ``array_api_dispatch`` the arrays stay in their namespace and on their
    device.

    References
    ----------
    .. [1] D. Oglic (2018). "Constructive Approximation and Learning by Greedy Algorithms".
       PhD thesis, University of Bonn. Chapter 4.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from octavo.kernel import NystroemLandmarks, nystroem_report
    >>> X = load_digits().data / 16
    >>> features = NystroemLandmarks(n_components=50, gamma=0.05, random_state=0)
    >>> features.fit_transform(X).shape
    (1797, 50)
    >>> bool(nystroem_report(X, features, n_uniform=3, random_state=0).lift > 1.2)
    True
    """

    _parameter_constraints: dict[str, Any] = {
        **SELECTION_CONSTRAINTS,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_landmarks": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"k_log_k", "k_log_n"}),
            None,
        ],
    }

    def __init__(
        self,
        kernel="rbf",
        n_components=100,
        n_landmarks=None,
        method="kmeans++",
        *,
        gamma=None,
        degree=3,
        coef0=1.0,
        kernel_params=None,
        n_local="auto",
        lloyd=False,
        sketch="uniform",
        sketch_size=None,
        alpha=None,
        n_steps=1000,
        start="uniform",
        random_state=None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.method = method
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_local = n_local
        self.lloyd = lloyd
        self.sketch = sketch
        self.sketch_size = sketch_size
        self.alpha = alpha
        self.n_steps = n_steps
        self.start = start
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the landmarks and the map.

        Parameters
        ----------
        X : {array, CSR matrix} of shape (n_samples, n_features)
            Training rows; with a precomputed kernel the Gram matrix.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        X = self._validated(X, reset=True)
        n_landmarks = landmark_count(self.n_landmarks, self.n_components, X.shape[0])
        if n_landmarks < self.n_components:
            raise ValueError(
                f"n_landmarks={n_landmarks} cannot carry n_components={self.n_components}: the "
                "rank of the approximation is at most the number of landmarks."
            )
        self.kernel_ = resolve_kernel(
            self.kernel,
            X,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            params=self.kernel_params,
        )
        chosen = choose(
            X,
            n_landmarks,
            self.kernel_,
            check_random_state(self.random_state),
            method=self.method,
            n_local=self.n_local,
            lloyd_refinement=self.lloyd,
            sketch=self.sketch,
            sketch_size=self.sketch_size,
            alpha=self.alpha,
            n_steps=self.n_steps,
            start=self.start,
        )
        indices, self.components_, self.potential_ = chosen
        self.landmarks_ = None if indices is None else to_namespace(indices.astype(np.int64), X)
        self.normalization_ = self._normalization(X)
        self._n_features_out = self.n_components
        return self

    def _validated(self, X: Any, reset: bool) -> Any:
        xp = namespace_of(X).xp if not sp.issparse(X) else np
        X = validate_rows(self, X, reset=reset, accept_sparse="csr", dtype=[xp.float64, xp.float32])
        if reset and self.kernel == "precomputed":
            check_gram(to_numpy(X), definite=False)
        return X

    def _normalization(self, X: Any) -> Any:
        """Return the map from kernel values with the landmarks to features."""
        if self.kernel_.name == "precomputed":
            xp = namespace_of(X).xp
            K_ZZ = xp.take(xp.take(X, self.landmarks_, axis=0), self.landmarks_, axis=1)
        else:
            K_ZZ = self.kernel_.block(self.components_, self.components_)
        W = nystroem_normalization(K_ZZ)
        self.rank_ = int(W.shape[1])
        if W.shape[0] == self.n_components:
            # U Λ^(-1/2) Uᵀ, as scikit-learn has it; W = UΛ^(-1/2), so |columns of W|⁻² are Λ.
            xp = namespace_of(W).xp
            return (W / xp.sqrt(xp.sum(W * W, axis=0))) @ W.T
        return self._truncated(X, W)

    def _truncated(self, X: Any, W: Any) -> Any:
        """Return the best n_components directions of the l > K landmarks (SVD of Ψ)."""
        xp, device, _ = namespace_of(W)
        moment = xp.zeros((W.shape[1], W.shape[1]), dtype=W.dtype, device=device)
        for rows in row_chunks(X.shape[0], 2 * W.shape[0]):
            factor = self._against(X[rows] if sp.issparse(X) else X[rows, :]) @ W
            # ΨᵀΨ, whose eigenvectors are Ψ's right singular ones
            moment = moment + factor.T @ factor
        directions = (W @ top_directions(moment, self.n_components)).T
        missing = self.n_components - directions.shape[0]
        if missing > 0:
            empty = xp.zeros((missing, W.shape[0]), dtype=W.dtype, device=device)
            directions = xp.concat([directions, empty], axis=0)
        return directions

    def _against(self, X: Any) -> Any:
        """Return kernel values of rows with the landmarks."""
        if self.kernel_.name == "precomputed":
            return namespace_of(X).xp.take(X, self.landmarks_, axis=1)
        return self.kernel_.block(X, self.components_)

    def transform(self, X: Any) -> Any:
        """Return features whose inner products approximate the kernel.

        Parameters
        ----------
        X : {array, CSR matrix} of shape (n_samples, n_features)
            Rows; with a precomputed kernel, their kernel values with all training rows.

        Returns
        -------
        features : array of shape (n_samples, n_components)
            In the namespace of X.
        """
        check_is_fitted(self)
        check_same_namespace(X, self, attribute="normalization_", method="transform")
        X = self._validated(X, reset=False)
        xp = namespace_of(X).xp if not sp.issparse(X) else np
        parts = []
        width = 2 * self.normalization_.shape[1]
        for rows in row_chunks(X.shape[0], width, megabytes=block_megabytes(X)):
            block = self._against(X[rows] if sp.issparse(X) else X[rows, :])
            parts.append(block @ self.normalization_.T)
        return parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = True
        return tags
