"""`KernelKMeans`: k-means in the feature space of a kernel, with a bound on what is lost.

Reference: A. Shashua (2008), "Introduction to Machine Learning", section 6.1.1.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.cluster.kernel_partitions.lloyd import (
    best_partition,
    cluster_distances,
    top_eigenvalues,
)
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.kernels.whole_gram import KERNEL_CONSTRAINTS, KernelRows, cross_gram, gram_of

__all__ = ["KernelKMeans"]


class KernelKMeans(KernelRows, ClusterMixin, CallbackSupportMixin, SoundEstimator):
    """Cluster rows by k-means in the feature space of a kernel.

    Lloyd's iteration with sums over the Gram matrix in place of means, from several k-means++
    starts. The sum of the largest eigenvalues of the Gram matrix bounds what any partition can
    reach: `duality_gap_` says how far the one found can be from the best.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernel : str or callable, default="rbf"
        A kernel of scikit-learn by name, ``"precomputed"``, or a function of (X, Y).
    gamma : {"scale", "auto"} or float, default="scale"
        Scale of ``rbf``, ``laplacian``, ``chi2``, ``poly`` and ``sigmoid``.
    degree : float, default=3
        Exponent of ``poly``.
    coef0 : float, default=1.0
        Offset of ``poly`` and ``sigmoid``.
    kernel_params : dict, default=None
        Further parameters of a callable.
    n_init : int, default=10
        Starts, of which the best is kept.
    max_iter : int, default=300
        Most iterations from a start.
    tol : float, default=0.0
        Stop when the objective changes by less than this, relatively; 0 for until no row moves.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters.
    inertia_ : float
        Sum of squared distances to the means in feature space, the objective.
    cohesion_ : float
        Σ_j (1/l_j) 1ᵀK_jj 1, what is maximised: the trace of the Gram matrix less `inertia_`.
    spectral_bound_ : float
        Sum of the `n_clusters` largest eigenvalues of the Gram matrix: no partition has a larger
        `cohesion_`.
    duality_gap_ : float
        `spectral_bound_` less `cohesion_`.
    n_iter_ : int
        Iterations from the best start.
    n_features_in_ : int
        Number of columns.

    See Also
    --------
    DoublyStochasticSpectral : The relaxation of it, rounded.

    Notes
    -----
    Takes n² numbers. With the linear kernel it is `sklearn.cluster.KMeans`, which is faster; for
    very many rows use that on `sklearn.kernel_approximation.Nystroem` features.

    References
    ----------
    .. [1] Shashua (2008). Introduction to Machine Learning, lecture notes, Hebrew University,
       section 6.1.1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_circles
    >>> from octavo.cluster import KernelKMeans
    >>> X, y = make_circles(200, factor=0.1, noise=0.05, random_state=0)
    >>> model = KernelKMeans(2, gamma=1.0, random_state=0).fit(X)
    >>> round(model.cohesion_, 2), round(model.spectral_bound_, 2)
    (123.12, 136.42)
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **KERNEL_CONSTRAINTS,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters=8,
        kernel="rbf",
        *,
        gamma="scale",
        degree=3,
        coef0=1.0,
        kernel_params=None,
        n_init=10,
        max_iter=300,
        tol=0.0,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their Gram matrix where the kernel is precomputed.
        y : None
            Ignored.

        Returns
        -------
        self : KernelKMeans
            Fitted.
        """
        X = self._from_mean(self._rows(X))
        n = X.shape[0]
        if n < self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} must be at most the number of rows; n_samples={n}."
            )
        self.kernel_ = self._settle(X)
        K = gram_of(self.kernel_, X)
        rng = check_random_state(self.random_state)
        best = None
        with FitProgress(self, self.n_init, X) as progress:
            for _ in range(self.n_init):
                run = best_partition(
                    K, self.n_clusters, rng, max_iter=self.max_iter, tol=float(self.tol)
                )
                # starts that end in one partition differ by rounding: the first of them stays
                if best is None or run.cohesion > best.cohesion + 1e-12 * abs(best.cohesion):
                    best = run
                if progress.step():
                    break
        assert best is not None
        if not best.converged:
            warnings.warn(
                f"KernelKMeans did not converge in {best.n_iter} iterations: rows still change "
                f"clusters. Raise max_iter={self.max_iter} or tol={self.tol:g}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.labels_, self.cohesion_, self.n_iter_ = best.labels, best.cohesion, best.n_iter
        trace = float(np.trace(K))
        # Eq. (6.2) by Eq. (6.3)
        self.inertia_ = max(0.0, trace - best.cohesion) if trace >= 0 else trace - best.cohesion
        # Eq. (6.5) without G ≥ 0 and GGᵀ1 = 1
        self.spectral_bound_ = float(top_eigenvalues(K, self.n_clusters).sum())
        self.duality_gap_ = max(0.0, self.spectral_bound_ - self.cohesion_)
        H = np.zeros((n, self.n_clusters))
        H[np.arange(n), self.labels_] = 1.0
        self._sizes = H.sum(axis=0)
        self._within = np.einsum("ij,ij->j", H, K @ H)
        self._fit_rows = None if self.kernel == "precomputed" else X
        return self

    def _relative(self, X: Any) -> tuple[Any, Floats]:
        check_is_fitted(self)
        X = self._from_mean(self._rows(X, reset=False), reset=False)
        K = cross_gram(self.kernel_, X, self._fit_rows)
        H = np.zeros((K.shape[1], self.n_clusters))
        H[np.arange(K.shape[1]), self.labels_] = 1.0
        return X, cluster_distances(K @ H, self._within, self._sizes)

    def predict(self, X: Any) -> Any:
        """Return the cluster whose mean is nearest in feature space.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or kernel values against the training rows where the kernel is precomputed.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Clusters.
        """
        return self._relative(X)[1].argmin(axis=1)
