"""Sparse and low-rank links without time, and a sparse autoregression without links."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.kernels.namespaces import namespace_of
from octavo.engine.proximal.nuclear_l1 import SingularShrinker, shrink_both
from octavo.network.autoregressive.base import CellScorer
from octavo.network.autoregressive.regression import FeatureRegression
from octavo.network.autoregressive.snapshots import (
    cumulative,
    dense,
    is_on_device,
    read_matrix,
    read_snapshots,
)

__all__ = ["SparseLowRankDenoiser", "SparseVAR"]


class SparseLowRankDenoiser(CellScorer):
    """Score links by a sparse matrix of low rank near to the one that was seen.

    Minimises ``‖X − A‖² + tau ‖X‖_* + gamma ‖X‖₁``: the static rival of the autoregressive
    predictor, and a denoiser for any matrix that is both.

    Parameters
    ----------
    tau : float, default=0.1
        Penalty on the nuclear norm.
    gamma : float, default=0.1
        Penalty on absolute entries; 0 leaves a matrix of low rank only.
    nonneg : bool, default=True
        Whether entries are never negative.
    max_iter : int, default=5000
        Most iterations.
    tol : float, default=1e-9
        How far the low-rank and the sparse face of the answer may be apart, relative to A.
    random_state : int, RandomState instance or None, default=None
        Start of the singular vectors of large matrices.

    Attributes
    ----------
    A_next_ : ndarray of shape (n, m)
        The answer, exactly of low rank.
    A_sparse_ : ndarray of shape (n, m)
        The same up to the tolerance, with exact zeros.
    objective_ : float
        At `A_sparse_`.
    kkt_residual_ : float
        Norm of the difference of both.
    n_iter_ : int
        Iterations that were made.

    See Also
    --------
    AutoregressiveLinkPredictor : With time.

    References
    ----------
    Richard, Savalle and Vayatis (2012), "Estimation of Simultaneously Sparse and Low Rank
    Matrices".

    Examples
    --------
    >>> from octavo.network import SparseLowRankDenoiser
    >>> model = SparseLowRankDenoiser(1.0, 0.4).fit([[3.0, 0.1], [0.0, 1.0]])
    >>> model.A_sparse_.round(2).tolist()
    [[2.3, 0.0], [0.0, 0.3]]
    """

    _parameter_constraints = {
        "tau": [Interval(Real, 0, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "nonneg": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(self, tau=0.1, gamma=0.1, nonneg=True, max_iter=5000, tol=1e-9, random_state=None):
        self.tau = tau
        self.gamma = gamma
        self.nonneg = nonneg
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, A: Any, y: Any = None) -> Self:
        """Shrink a matrix, or the sum of a series of them.

        Parameters
        ----------
        A : matrix of shape (n, m), or series of them
            Dense or sparse; a series (a 3-D array, or a list of matrices) is added up. Under
            scikit-learn's ``array_api_dispatch`` an array of any namespace, on whose device the
            answer is found and stays; single precision wants a `tol` of 1e-4 or more.
        y : ignored
            Present for the convention.

        Returns
        -------
        self : SparseLowRankDenoiser
            The fitted estimator.
        """
        is_series = (isinstance(A, np.ndarray) and A.ndim == 3) or (
            isinstance(A, (list, tuple)) and len(A) > 0 and getattr(A[0], "ndim", 0) == 2
        )
        if is_on_device(A) and A.ndim == 3:
            A = namespace_of(A).xp.sum(A, axis=0)
        matrix = dense(cumulative(read_snapshots(A))) if is_series else read_matrix(A, "A")
        xp = namespace_of(matrix).xp
        rng = check_random_state(self.random_state)
        found = shrink_both(
            matrix,
            self.tau / 2.0,  # the map has ½‖X − Y‖²: half of both penalties
            self.gamma / 2.0,
            self.nonneg,
            tol=self.tol,
            max_iter=self.max_iter,
            shrink=SingularShrinker(rng=rng),
        )
        self.A_next_, self.A_sparse_ = found.low_rank, found.sparse
        penalty = self.tau * float(xp.sum(xp.linalg.svdvals(found.sparse)))
        penalty += self.gamma * float(xp.sum(xp.abs(found.sparse)))
        self.objective_ = float(xp.sum((found.sparse - matrix) ** 2)) + penalty
        self.kkt_residual_, self.n_iter_ = found.residual, found.n_iter
        if found.residual > self.tol * float(xp.linalg.vector_norm(matrix)):
            warnings.warn(
                f"The low-rank and the sparse answer are {found.residual:.1e} apart after "
                f"{found.n_iter} iterations. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self


class SparseVAR(SoundEstimator):
    """Fit a vector autoregression with few coefficients, or with small ones.

    Rows are times: ``X_t ≈ [X_{t−1}, …, X_{t−order}] W``, without intercept.

    Parameters
    ----------
    order : int, default=1
        Lags.
    penalty : {"l1", "l2"}, default="l1"
        ``(1/T) ‖·‖² + kappa ‖W‖₁``, or ``kappa ‖W‖²``. T is one less than the number of rows
        whatever the order, as in the paper.
    kappa : float, default=0.1
        Strength of the penalty.

    Attributes
    ----------
    coef_ : ndarray of shape (order * n_features, n_features)
        W: the lag of one step first.
    objective_ : float
        Loss and penalty.
    n_features_in_ : int
        Number of variables.

    See Also
    --------
    AutoregressiveLinkPredictor : Fits it together with the graph whose features these are.

    References
    ----------
    Richard, Gaïffas and Vayatis (2014), Eq. (2) and Section 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.network import SparseVAR
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> SparseVAR(kappa=0.1).fit(X).coef_.round(2).tolist()
    [[0.0, 0.92], [0.85, 0.0]]
    """

    _parameter_constraints = {
        "order": [Interval(Integral, 1, None, closed="left")],
        "penalty": [StrOptions({"l1", "l2"})],
        "kappa": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, order=1, penalty="l1", kappa=0.1):
        self.order = order
        self.penalty = penalty
        self.kappa = kappa

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the coefficients to a series.

        Parameters
        ----------
        X : array-like of shape (n_times, n_features)
            Oldest row first.
        y : ignored
            Present for the convention.

        Returns
        -------
        self : SparseVAR
            The fitted estimator.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        check_squares(X)
        if len(X) <= self.order:
            raise ValueError(
                f"order={self.order} needs at least {self.order + 1} rows (times); got "
                f"n_samples={len(X)}."
            )
        kappa = self.kappa if self.penalty == "l1" else 0.0
        regression = FeatureRegression(X[:, None, :], self.order, kappa, "kron")
        if self.penalty == "l1":
            W = regression.fit().W
        else:
            ridge = self.kappa * np.eye(regression.moments.shape[1])
            if self.kappa > 0.0:
                # of (1/T)‖X_T − X_{T−1}W‖² + κ‖W‖²
                W = np.linalg.solve(regression.moments + ridge, regression.cross)
            else:
                W = regression.fit().W
        self.coef_ = W[0]
        shrunk = 0.0 if self.penalty == "l1" else self.kappa * float((W**2).sum())
        self.objective_ = regression.loss(W) + shrunk
        return self

    def predict(self, X: Any) -> Floats:
        """Return what follows each row, from the rows up to it.

        Parameters
        ----------
        X : array-like of shape (n_times, n_features)
            Oldest row first.

        Returns
        -------
        following : ndarray of shape (n_times - order + 1, n_features)
            The first is what follows row ``order - 1``, the last what follows X.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if len(X) < self.order:
            raise ValueError(f"order={self.order} needs as many rows to look back; got {len(X)}.")
        last = len(X) - self.order + 1
        lags = [X[self.order - 1 - lag :][:last] for lag in range(self.order)]
        return np.hstack(lags) @ self.coef_
