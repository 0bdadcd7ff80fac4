"""One-class support vector machine trained on approximate extreme points.

The region that holds most rows, learnt from a weighted representative set: the extension to
other machines that Section 6 of Nandan, Khargonekar and Talathi (2014), "Fast SVM training using
approximate extreme points", JMLR 15:59-98, proposes.
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.svm import OneClassSVM

from octavo.engine.estimators.delegation import DelegatesToFitted
from octavo.engine.estimators.doubles import LIBSVM_TOL, libsvm_steps, reachable_tolerance
from octavo.engine.estimators.sklearn_door import Interval, check_sample_weight, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.svm.representatives.estimator import CACHE, kernel_of_machine
from octavo.svm.representatives.extreme_points import ApproximateExtremePoints

__all__ = ["AEOneClassSVM"]

SHARED = (
    "kernel",
    "gamma",
    "degree",
    "coef0",
    "eps",
    "subset_size",
    "block_size",
    "segregation",
    "n_jobs",
)


class AEOneClassSVM(DelegatesToFitted, CallbackSupportMixin, OutlierMixin, SoundEstimator):
    """Outlier detection by a one-class machine that is trained on approximate extreme points.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of rows outside, as in `sklearn.svm.OneClassSVM`.
    kernel : {"rbf", "poly", "linear"} or callable, default="rbf"
        The kernel; a callable takes two matrices and returns the block of kernel values.
    gamma : float or {"scale", "auto"}, default="scale"
        Coefficient of "rbf" and "poly".
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Offset of "poly".
    eps : float, default=1e-3
        Largest squared distance in kernel space of a row to the hull of its representatives. A
        quantile is finer than a boundary between classes; hence smaller than in `AESVC`.
    subset_size : int, default=1000
        Most rows of one set of neighbours.
    block_size : int, default=100_000
        Most rows of a block in which sets are cut.
    segregation : {"median_split", "contiguous"}, default="median_split"
        How blocks are made.
    tol : float, default=1e-3
        Tolerance of the machine; at least 1e-10, LIBSVM's reach.
    n_jobs : int, default=None
        Number of threads of the selection.

    Attributes
    ----------
    representative_indices_ : ndarray of shape (n_representatives,)
        Rows that the machine was trained on.
    representative_weights_ : ndarray of shape (n_representatives,)
        Their weights.
    reduction_ : float
        Share of the rows that represent.
    estimator_ : OneClassSVM
        The machine.
    support_ : ndarray of shape (n_support_vectors,)
        Rows of the training data that are support vectors.
    offset_ : float
        ``decision_function = score_samples - offset_``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    MinimumEnclosingBall : The ball that leaves nothing outside.
    AESVC : The classifier.

    Notes
    -----
    When not to use it: on some thousand rows `sklearn.svm.OneClassSVM` is as fast; in many
    dimensions nothing is saved, and `sklearn.linear_model.SGDOneClassSVM` on Nystroem features
    scales better.

    References
    ----------
    .. [1] Nandan, Khargonekar and Talathi (2014). Fast SVM training using approximate extreme
       points. JMLR 15:59-98, Section 6.

    Examples
    --------
    >>> from octavo.data import make_redundant_classes
    >>> from octavo.svm import AEOneClassSVM
    >>> X, _ = make_redundant_classes(4000, kind="rings", random_state=0)
    >>> model = AEOneClassSVM(nu=0.1, gamma=16.0).fit(X)
    >>> 0.05 < float((model.predict(X) < 0).mean()) < 0.15
    True
    """

    _inner = "estimator_"
    _parameter_constraints: dict = {
        "nu": [Interval(Real, 0, 1, closed="right")],
        **{name: ApproximateExtremePoints._parameter_constraints[name] for name in SHARED},
        "degree": [Interval(Integral, 1, None, closed="left")],  # LIBSVM's is a whole number
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        nu=0.5,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1.0,
        eps=1e-3,
        subset_size=1000,
        block_size=100_000,
        segregation="median_split",
        tol=1e-3,
        n_jobs=None,
    ):
        self.nu = nu
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.eps = eps
        self.subset_size = subset_size
        self.block_size = block_size
        self.segregation = segregation
        self.tol = tol
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Select representatives and train the machine on them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, at least 0.

        Returns
        -------
        self : AEOneClassSVM
            The fitted detector.
        """
        X = validate_rows(self, X, narrow=True, accept_sparse="csr", dtype=np.float64)
        weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        points = ApproximateExtremePoints(**{name: getattr(self, name) for name in SHARED})
        points._fit_checked(X, np.zeros(X.shape[0], dtype=np.intp), weight, owner=self)
        points._warn_of_extremes(X)
        machine = OneClassSVM(
            nu=self.nu,
            tol=reachable_tolerance(self.tol, floor=LIBSVM_TOL),
            max_iter=libsvm_steps(X.shape[0]),
            cache_size=CACHE,
            **kernel_of_machine(points.kernel_),
        )
        chosen = points.indices_
        self.estimator_ = machine.fit(X[chosen], sample_weight=points.weights_)
        self.representative_indices_, self.representative_weights_ = chosen, points.weights_
        self.reduction_ = points.reduction_
        self.support_, self.offset_ = chosen[machine.support_], float(machine.offset_[0])
        return self

    def _inner_candidates(self):
        return [OneClassSVM()]

    def score_samples(self, X):
        """Return the unshifted score of each row; larger is more normal.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Scores.
        """
        return self._ask("score_samples", X)

    def decision_function(self, X):
        """Return the score above the boundary of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            Negative for outliers.
        """
        return self._ask("decision_function", X)

    def predict(self, X):
        """Return 1 for each row inside and -1 for each outlier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            1 or -1.
        """
        return self._ask("predict", X)
