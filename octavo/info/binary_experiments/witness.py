"""The witness of a kernel discrepancy as a classifier: nearest means, ν-SVM, and between.

The maximum mean discrepancy of two weighted samples is the distance of their means in a feature
space, and its witness Σ α_i y_i k(x_i, ·) tells the classes apart. Equal weights make it the
classifier of the nearest mean; the weights that make the discrepancy least make it a support
vector machine; a cap of 1 / (ν m) on each weight lies between, and is the ν-SVM.

Reference: Reid and Williamson (2011), "Information, divergence and risk for binary experiments",
JMLR 12:731-817, section 8 and appendix H.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from octavo.engine.duals.group_sums import GroupSums, solve_group_sums
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import KERNEL_PARAMETERS, check_gram, resolve_kernel, row_chunks

__all__ = ["WitnessClassifier"]


def start_weights(y: Floats, masses: tuple[float, float]) -> Floats:
    """Return equal weights within classes, signed, that sum to the classes' masses."""
    positive = y > 0.0
    shares = masses[0] / positive.sum(), masses[1] / (~positive).sum()
    return np.where(positive, shares[0], -shares[1])


def witness_weights(
    K: Floats,
    y: Floats,
    nu: float,
    masses: tuple[float, float],
    *,
    tol: float,
    max_iter: int,
    report: Callable[[], bool] | None = None,
) -> GroupSums:
    """Return the signed weights of least discrepancy, none above 1 / (ν m) (Eq. (86) to (90))."""
    cap = 1.0 / (nu * y.size) if nu > 0.0 else np.inf
    start = start_weights(y, masses)
    cap = max(cap, float(np.abs(start).max()))  # equal up to rounding at the largest nu
    lower, upper = np.where(y > 0.0, 0.0, -cap), np.where(y > 0.0, cap, 0.0)
    group = (y > 0.0).astype(np.int64)
    return solve_group_sums(
        K, lower, upper, group, start, tol=tol, max_iter=max_iter, report=report
    )


class WitnessClassifier(ClassifierMixin, CallbackSupportMixin, SoundEstimator):
    """Classify by the witness of the maximum mean discrepancy between two classes.

    One parameter leads from the nearest mean in a feature space (``nu=None``, no optimisation, and
    `mmd_` is the discrepancy of the samples) through ν-SVMs to the hard-margin machine (``nu=0``,
    for classes that the kernel can separate). For large data or more than two classes take
    `sklearn.svm.NuSVC` or `SVC`; the Gram matrix of all rows is kept in memory.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        A kernel of scikit-learn, "precomputed", or a function of (X, Y).
    nu : float, default=None
        At least this share of the rows carries weight, and at most this share errs in margin;
        up to 2 min(m₊, m₋) / m with even masses. None gives all rows of a class one weight.
    gamma : {"scale", "auto"} or float, default="scale"
        Width of the kernel, as in `sklearn.svm.SVC`.
    degree : float, default=3
        Exponent of ``"poly"``.
    coef0 : float, default=0.0
        Offset of ``"poly"`` and ``"sigmoid"``.
    masses : {"even", "empirical"}, default="even"
        Total weight of the classes: one half each, which is the ν-SVM, or their shares of the
        rows, as the paper has it.
    fit_intercept : bool, default=True
        Whether decisions are cut midway between the classes, or at zero as the bare witness.
    tol : float, default=1e-6
        Violation of the optimality conditions at which the solver stops, relative.
    max_iter : int, default=1000000
        Most exchanges of a pair of weights.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels.
    support_ : ndarray of shape (n_support,)
        Rows that carry weight.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        Those rows; not with a precomputed kernel.
    dual_coef_ : ndarray of shape (n_support,)
        Their weights α_i y_i.
    intercept_ : float
        What is added to the witness.
    mmd_ : float
        Distance of the two weighted means in the feature space.
    objective_ : float
        Σ α_i α_j y_i y_j k(x_i, x_j), the least that the weights can make it.
    duality_gap_ : float
        Bound on its distance from the optimum; 0 without optimisation.
    n_iter_ : int
        Exchanges of pairs; 1 where there are none.

    References
    ----------
    .. [1] Reid and Williamson (2011). Information, divergence and risk for binary experiments.
       JMLR 12, appendix H.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from octavo.info import WitnessClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> for nu in (None, 0.1):
    ...     model = WitnessClassifier(nu=nu).fit(X[::2], y[::2])
    ...     print(f"{model.score(X[1::2], y[1::2]):.3f}, {model.support_.size} of 285 rows")
    0.923, 285 of 285 rows
    0.961, 62 of 285 rows
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions({*KERNEL_PARAMETERS, "polynomial"}), callable],
        "nu": [Interval(Real, 0, 1, closed="both"), None],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "masses": [StrOptions({"even", "empirical"})],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        kernel="rbf",
        nu=None,
        *,
        gamma="scale",
        degree=3,
        coef0=0.0,
        masses="even",
        fit_intercept=True,
        tol=1e-6,
        max_iter=1_000_000,
    ):
        self.kernel = kernel
        self.nu = nu
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.masses = masses
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: Any, y: Any) -> WitnessClassifier:
        """Find the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; the Gram matrix of a precomputed kernel.
        y : array-like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        WitnessClassifier
            Itself.
        """
        X, y = validate_rows(self, X, y, accept_sparse="csr", dtype=np.float64, order="C")
        self.classes_, codes = encode_classes(y, owner=self)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. WitnessClassifier tells two classes "
                f"apart; y holds {len(self.classes_)} classes."
            )
        signs = np.where(codes == 1, 1.0, -1.0)
        share = float(np.mean(codes))
        masses = (0.5, 0.5) if self.masses == "even" else (share, 1.0 - share)
        self._check_nu(share)
        self._kernel = resolve_kernel(
            self.kernel, X, gamma=self.gamma, degree=self.degree, coef0=self.coef0
        )
        K = self._gram(X)
        with FitProgress(self, None, X, y, step_name="round") as progress:
            beta, product, offsets = self._weights(K, signs, masses, progress.step)
            progress.step()
        self.intercept_ = -0.5 * float(offsets.sum()) if self.fit_intercept else 0.0
        self.objective_ = max(float(beta @ product), 0.0)
        # weights of sum one in each class: the plain discrepancy
        even = beta / np.where(signs > 0.0, masses[0], masses[1])
        self.mmd_ = float(np.sqrt(max(even @ K @ even, 0.0)))
        self.support_ = np.flatnonzero(beta)
        self.dual_coef_ = beta[self.support_]
        if self.kernel != "precomputed":
            self.support_vectors_ = X[self.support_]
        return self

    def _check_nu(self, share: float) -> None:
        most = 2.0 * min(share, 1.0 - share) if self.masses == "even" else 1.0
        if self.nu is not None and self.nu > most * (1.0 + 1e-12):
            raise ValueError(
                f"nu must be at most 2 min(m₊, m₋) / m = {most:.6g} for classes of these sizes, "
                f"got {self.nu:g}: weights of at most 1 / (nu m) cannot give the smaller class "
                "half of the whole. Take a smaller nu, or masses='empirical'."
            )

    def _gram(self, X: Any) -> Floats:
        if self.kernel == "precomputed":
            if sp.issparse(X):
                raise TypeError("A precomputed kernel must be dense.")
            check_gram(X)
            return X
        return np.asarray(self._kernel.block(X, X), dtype=np.float64)

    def _weights(self, K, signs, masses, report):
        """Return the signed weights, K times them, and the offsets of both classes."""
        if self.nu is None:
            beta = start_weights(signs, masses)
            product = K @ beta
            self.duality_gap_, self.n_iter_ = 0.0, 1
            positive = signs > 0.0
            return beta, product, np.array([product[~positive].mean(), product[positive].mean()])
        found = witness_weights(
            K, signs, self.nu, masses, tol=self.tol, max_iter=self.max_iter, report=report
        )
        self.duality_gap_ = 2.0 * max(found.duality_gap, 0.0)
        self.n_iter_ = max(found.n_iter, 1)
        if not found.converged:
            warnings.warn(
                f"The weights have not converged after {found.n_iter} exchanges: the duality gap "
                f"is {self.duality_gap_:.3g} of an objective of {2 * found.objective:.3g}. Raise "
                "max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif 2.0 * found.objective <= self.duality_gap_:
            warnings.warn(
                f"The classes' weighted means meet at nu={self.nu:g}: the objective is "
                f"{2 * max(found.objective, 0.0):.3g} within {self.duality_gap_:.3g}, so that the "
                "witness is zero and decisions are rounding. Raise nu, or take nu=None.",
                UserWarning,
                stacklevel=3,
            )
        return found.beta, found.product, found.offsets

    def decision_function(self, X: Any) -> Floats:
        """Return the witness plus the intercept.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel k(X, training rows).

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive for the second class.
        """
        check_is_fitted(self)
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, order="C", reset=False)
        vectors = getattr(self, "support_vectors_", None)
        values = np.empty(X.shape[0])
        for rows in row_chunks(X.shape[0], self.support_.size):
            block = self._kernel.against(X[rows], vectors, self.support_)
            values[rows] = block @ self.dual_coef_
        return values + self.intercept_

    def predict(self, X: Any) -> Any:
        """Predict classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel k(X, training rows).

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        values = self.decision_function(X)
        return self.classes_[(values > 0.0).astype(int)]
