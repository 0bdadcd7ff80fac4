"""Principal subspaces from a stream of rows: Oja's rule as descent on the Grassmann manifold.

Reference: Meyer, Bonnabel and Sepulchre (2011), Section 4; Oja (1992).
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.manifolds.grassmann import orthonormal_factor
from octavo.metric.fixed_rank.starts import check_magnitude, check_rank

__all__ = ["OjaSubspace"]


def oja_step(U: Floats, X: Floats, step: float) -> Floats:
    """Return qf(U + s (I - UUᵀ) XᵀXU/p), Oja's update for a batch of p rows."""
    P = X @ U
    out = X.T @ P / len(X)
    # Section 4, below Eq. (7), for a mini-batch
    return orthonormal_factor(U + step * (out - U @ (U.T @ out)))[0]


class OjaSubspace(
    ClassNamePrefixFeaturesOutMixin, CallbackSupportMixin, TransformerMixin, SoundEstimator
):
    """Follow the principal subspace of a stream in O(n_features · rank) memory.

    Gradient descent on half of ‖UUᵀx - x‖² over orthonormal bases, with steps that fall as 1/t.

    Rows at hand: `sklearn.decomposition.PCA`. A stream of blocks with more rows than
    components: `sklearn.decomposition.IncrementalPCA`, which needs no steps and orders its axes.

    Parameters
    ----------
    rank : int, default=2
        Dimension of the subspace.
    learning_rate : float, default=1.0
        First step, in units of one over the mean variance along the basis.
    t0 : float, default=100.0
        Batches after which steps have halved.
    batch_size : int, default=32
        Rows a step.
    n_epochs : int, default=5
        Passes of `fit`; `partial_fit` takes one.
    center : bool, default=True
        Whether the running mean is taken away first.
    random_state : int, RandomState instance or None, default=None
        For the first basis and the order of rows in `fit`.

    Attributes
    ----------
    basis_ : ndarray of shape (n_features, rank)
        Orthonormal basis U.
    mean_ : ndarray of shape (n_features,)
        Running mean, zeros unless `center`.
    n_seen_ : int
        Rows seen, over all passes.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    References
    ----------
    .. [1] Meyer, Bonnabel and Sepulchre (2011). Regression on fixed-rank positive semidefinite
       matrices: a Riemannian approach. JMLR 12:593-625, Section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.metric import OjaSubspace
    >>> X = np.random.default_rng(0).standard_normal((2000, 3)) * [3.0, 1.0, 0.1]
    >>> U = OjaSubspace(rank=1, random_state=0).fit(X).basis_
    >>> round(float(abs(U[0, 0])), 2)
    1.0
    """

    _parameter_constraints: dict[str, Any] = {
        "rank": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "t0": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "center": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        rank=2,
        *,
        learning_rate=1.0,
        t0=100.0,
        batch_size=32,
        n_epochs=5,
        center=True,
        random_state=None,
    ):
        self.rank = rank
        self.learning_rate = learning_rate
        self.t0 = t0
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.center = center
        self.random_state = random_state

    @property
    def _n_features_out(self):
        return self.basis_.shape[1]

    def _start(self, d):
        r = check_rank(self.rank, d, "flat")
        rng = check_random_state(self.random_state)
        self.basis_ = orthonormal_factor(rng.standard_normal((d, r)))[0]
        self.mean_, self.n_seen_ = np.zeros(d), 0
        self._n_batches, self._variance = 0, 0.0
        return rng

    def _pass(self, X, learn_mean):
        for start in range(0, len(X), self.batch_size):
            batch = X[start : start + self.batch_size]
            self.n_seen_ += len(batch)
            if self.center and learn_mean:
                self.mean_ += (batch - self.mean_).sum(axis=0) / self.n_seen_
            batch = batch - self.mean_
            seen = float(np.sum((batch @ self.basis_) ** 2)) / (len(batch) * self.basis_.shape[1])
            self._n_batches += 1
            self._variance += (seen - self._variance) / self._n_batches
            if self._variance > 0.0:
                # Of rows' variance, so that units do not matter
                step = self.learning_rate / self._variance / (1.0 + self._n_batches / self.t0)
                self.basis_ = oja_step(self.basis_, batch, min(step, 1e12 / self._variance))

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the subspace by several passes over the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        check_magnitude(X, "X")
        rng = self._start(X.shape[1])
        with FitProgress(self, self.n_epochs, X, step_name="epoch") as progress:
            for epoch in range(self.n_epochs):
                self._pass(X[rng.permutation(len(X))], learn_mean=epoch == 0)
                if progress.step():
                    break
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None):
        """Take one pass over these rows, in their order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        first = not hasattr(self, "basis_")
        X = validate_data(self, X, dtype=np.float64, reset=first)
        check_magnitude(X, "X")
        if first:
            self._start(X.shape[1])
        self._pass(X, learn_mean=True)
        return self

    def transform(self, X):
        """Return coordinates within the subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, rank)
            (X - mean) U.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return (X - self.mean_) @ self.basis_
