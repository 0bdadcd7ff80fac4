"""The minimax probability machine for moments that come from few rows and may be wrong.

Each class's mean and covariance are allowed to be wrong by what a sample of its size leaves
open, and the hyperplane is the one whose guarantee is best for the worst moments: a
regularisation that is stronger for the class that was seen less.

Reference: S. Cousins, thesis on moments and multi-label learning (University College London),
Sections 3.3 and 3.4; also S. Cousins and J. Shawe-Taylor (2017), "High-probability minimax
probability machines", Machine Learning 106. Proposition 7 concludes P(w·x ≤ b), not ≥; with
``bound="union"`` all four bounds on moments hold together. The numerics are in
`octavo.svm.minimax.robust_hyperplanes`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import with_callbacks
from sklearn.model_selection import check_cv
from sklearn.utils.extmath import safe_sparse_dot

from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.svm.minimax.base import TrainingRows
from octavo.svm.minimax.curve import Hyperplane
from octavo.svm.minimax.robust_classifier import Prepared, RobustClassifier
from octavo.svm.minimax.robust_hyperplanes import InfeasibleUncertainty

__all__ = ["HighProbabilityMPM", "HighProbabilityMPMCV"]

RHOS = (1e-6, 1e-4, 1e-3, 1e-2, 0.05, 0.1, 0.3, 0.6, 0.9)
AUTO_SHARE = 0.1  # of the largest feasible uncertainty


class HighProbabilityMPM(RobustClassifier):
    """Minimax probability machine that allows for the errors of estimated moments.

    HP-MPM: the hyperplane with the best worst-case accuracy over all distributions whose means
    and covariances lie within a bound of the sample's. The bound shrinks with the size of a
    class, so that the class seen less is regularised more.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed"}, \
            callable or None, default=None
        Space of the hyperplane; None for the features themselves.
    uncertainty : float or "auto", default="auto"
        Share ν of the bound that is allowed for. Only with 1 is there a certificate. With few
        rows 1 is not feasible: "auto" takes a tenth of the largest feasible share, at most 1;
        `HighProbabilityMPMCV` chooses it.
    delta : float, default=0.05
        Probability with which the bound on the moments may fail.
    radius : float or "max", default="max"
        Every row, seen or not, has at most this norm. "max" takes the largest norm of the
        training rows, for want of a better bound; the certificate then leans on it.
    bound : {"thesis", "union", "bootstrap"}, default="thesis"
        How far moments may be from the sample's: as published; with the logarithms that make
        all four bounds hold together; or by resampling, which is smaller and only asymptotic.
    solver : {"direct", "alternating", "socp"}, default="direct"
        How the direction is found; all agree. "alternating" is the published algorithm, "socp"
        bisects with cvxpy.
    bias : {"minimax", "accuracy"}, default="minimax"
        Threshold of the guarantee, or the one with the fewest training errors (bHP-MPM), which
        suits classes of unequal size and voids the guarantee.
    norm : {"l2", "l1"}, default="l2"
        Norm in which the weights are bounded; "l1" makes most of them zero. Only without a
        kernel.
    tol : float, default=1e-8
        Largest gap, relative to `kappa_`.
    max_iter : int, default=500
        Largest number of steps.
    on_infeasible : {"raise", "warn"}, default="raise"
        What to do when no hyperplane guarantees anything at this `uncertainty`: raise
        `InfeasibleUncertainty`, or warn and take the direction between the means.
    kernel_params : dict, default=None
        Further parameters of a callable kernel.
    n_bootstrap : int, default=200
        Resamples of ``bound="bootstrap"``.
    random_state : None, int or RandomState, default=None
        Draws landmarks and resamples.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weights of the features, of unit norm; only without a kernel.
    dual_coef_ : ndarray of shape (1, n_landmarks)
        Weights of the rows that span the kernel; only with a kernel.
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        These rows.
    landmark_indices_ : ndarray of shape (n_landmarks,)
        Their places among the training rows.
    intercept_ : ndarray of shape (1,)
        Minus the threshold.
    kappa_ : float
        The κ that was maximised.
    worst_case_error_ : float
        1 / (1 + κ²): the largest error of either class when the moments are wrong by at most
        `nu_` times the bound.
    certificate_ : float
        The same where it is a guarantee, with probability 1 - `delta`; nan where it is not
        (`nu_` below 1, or ``bias="accuracy"``).
    nu_ : float
        The share of the bound that was allowed for.
    nu_max_ : float
        From this share on there is no solution.
    A_ : ndarray of shape (2,)
        What was added to the variances of ``classes_[0]`` and ``classes_[1]``.
    offset_ : ndarray of shape (2,)
        What their uncertain means added under the root; the published bound has 2 `A_`.
    radius_ : float
        The radius used.
    duality_gap_ : float
        No hyperplane has a `kappa_` larger by more than this.
    n_iter_ : int
        Steps of the solver.
    classes_ : ndarray of shape (2,)
        The classes.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    HighProbabilityMPMCV : Chooses the uncertainty by cross-validation.
    MinimaxProbabilityMachine : The machine for known moments.

    Notes
    -----
    Centre the features (`sklearn.preprocessing.StandardScaler`): the radius is measured from
    the origin, and a large one leaves nothing feasible. Do not use it with many rows: it becomes
    the plain machine, and `sklearn.svm.LinearSVC` or logistic regression, which look at the
    rows near the boundary, are more accurate. A certificate at full size takes thousands of
    rows of well separated classes.

    References
    ----------
    .. [1] S. Cousins and J. Shawe-Taylor (2017). "High-probability minimax probability
       machines". Machine Learning 106.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from octavo.svm import HighProbabilityMPM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = HighProbabilityMPM().fit(X[:50], y[:50])
    >>> round(model.score(X[50:], y[50:]), 3)
    0.94
    """

    _parameter_constraints: dict[str, Any] = {
        **RobustClassifier._parameter_constraints,
        "uncertainty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "solver": [StrOptions({"direct", "alternating", "socp"})],
        "on_infeasible": [StrOptions({"raise", "warn"})],
    }

    def __init__(
        self,
        kernel: Any = None,
        gamma: float | str | None = None,
        uncertainty: float | str = "auto",
        delta: float = 0.05,
        radius: float | str = "max",
        bound: str = "thesis",
        solver: str = "direct",
        bias: str = "minimax",
        norm: str = "l2",
        tol: float = 1e-8,
        *,
        max_iter: int = 500,
        on_infeasible: str = "raise",
        degree: float = 3,
        coef0: float = 0.0,
        kernel_params: dict[str, Any] | None = None,
        n_components: int | None = None,
        n_bootstrap: int = 200,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.uncertainty = uncertainty
        self.delta = delta
        self.radius = radius
        self.bound = bound
        self.solver = solver
        self.bias = bias
        self.norm = norm
        self.tol = tol
        self.max_iter = max_iter
        self.on_infeasible = on_infeasible
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.n_bootstrap = n_bootstrap
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the hyperplane from the moments of two classes and their uncertainty.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; their Gram matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Classes, of which there must be two.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts; the size of a class is the sum of its weights.

        Returns
        -------
        self : HighProbabilityMPM
            Fitted.
        """
        if self.norm == "l1" and self.solver != "direct":
            raise ValueError(
                f'solver={self.solver!r} is for norm="l2"; norm="l1" has a solver of its own: '
                'leave solver="direct".'
            )
        train = self._checked(X, y, sample_weight)
        ready = self._prepare(train)
        nu = self._share(ready)
        with FitProgress(self, self.max_iter, X, y) as progress:
            if nu < ready.nu_max:
                plane = self._plane(ready, nu, self.solver, watch=lambda w, kappa: progress.step())
            else:
                plane = self._without_guarantee(ready, nu)
                progress.step()
        self._conclude(ready, plane, nu, train)
        return self

    def _share(self, ready: Prepared) -> float:
        """Return ν; say so when one far row makes the bound what it is."""
        if isinstance(self.uncertainty, str):
            return min(1.0, AUTO_SHARE * ready.nu_max)  # the radius cancels below 1
        typical = float(np.median(ready.space.norms))
        if isinstance(self.radius, str) and ready.radius > 5.0 * typical:
            warnings.warn(
                f"The largest norm of a row, {ready.radius:.3g}, is more than five times the "
                f"median, {typical:.3g}, and enters the uncertainty squared. Centre the "
                "features, treat the outlier, or give a radius.",
                UserWarning,
                stacklevel=3,
            )
        return float(self.uncertainty)

    def _without_guarantee(self, ready: Prepared, nu: float) -> Hyperplane:
        """Raise or warn, and take the direction of the means."""
        message = (
            f"No hyperplane gives a guarantee at uncertainty nu={nu:g}: the largest feasible share "
            f"is nu_max={ready.nu_max:.4g}. Give a smaller one, centre the features, or collect "
            f"more than the {ready.zero.n:g} and {ready.one.n:g} rows of the classes."
        )
        if self.on_infeasible == "raise":
            raise InfeasibleUncertainty(message)
        warnings.warn(
            message + " The direction between the means is taken.", UserWarning, stacklevel=3
        )
        w = ready.one.mean - ready.zero.mean
        if self.norm == "l1":
            w = np.where(np.arange(len(w)) == np.abs(w).argmax(), np.sign(w), 0.0)
        w = w / np.linalg.norm(w)
        q0, q1 = np.sqrt(nu * ready.full.offset)  # the offsets alone, κ = 0
        threshold = float(w @ ready.zero.mean + q0 + w @ ready.one.mean - q1) / 2.0
        return Hyperplane(w, threshold, (0.0, 0.0), 0.0, 0)


class HighProbabilityMPMCV(RobustClassifier):
    """`HighProbabilityMPM` with the share of the uncertainty chosen by cross-validation.

    The share is ρ times the largest feasible one, so that every ρ below one has a solution on
    every fold. Moments are computed once a fold; each ρ starts from the solution of the last.

    Parameters
    ----------
    rhos : sequence of float, default=(1e-6, 1e-4, 1e-3, 1e-2, 0.05, 0.1, 0.3, 0.6, 0.9)
        Shares of the largest feasible uncertainty to choose from, each in (0, 1).
    cv : int, splitter or iterable, default=5
        How rows are split, stratified by class where it is a number.
    kernel : {"linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed"}, \
            callable or None, default=None
        Space of the hyperplane; None for the features themselves.
    gamma : {"scale", "auto"}, float or None, default=None
        Scale of the kernels ``rbf``, ``laplacian``, ``poly`` and ``sigmoid``.
    delta : float, default=0.05
        Probability with which the bound on the moments may fail.
    radius : float or "max", default="max"
        Every row has at most this norm.
    bound : {"thesis", "union", "bootstrap"}, default="thesis"
        How far moments may be from the sample's.
    bias : {"minimax", "accuracy"}, default="minimax"
        Threshold of the guarantee, or the one with the fewest training errors.
    norm : {"l2", "l1"}, default="l2"
        Norm in which the weights are bounded.
    tol : float, default=1e-8
        Largest gap, relative to `kappa_`.
    max_iter : int, default=500
        Largest number of steps.
    kernel_params : dict, default=None
        Further parameters of a callable kernel.
    n_bootstrap : int, default=200
        Resamples of ``bound="bootstrap"``.
    n_jobs : int, default=None
        Folds computed at a time.
    random_state : None, int or RandomState, default=None
        Draws landmarks and resamples.

    Attributes
    ----------
    rho_ : float
        The ρ with the best accuracy; of equals the largest.
    cv_scores_ : ndarray of shape (n_rhos, n_folds)
        Accuracy of each ρ on each fold.
    coef_, dual_coef_, landmarks_, landmark_indices_, intercept_, kappa_, worst_case_error_, \
certificate_, nu_, nu_max_, A_, offset_, radius_, duality_gap_, n_iter_, classes_, n_features_in_, \
feature_names_in_
        As in `HighProbabilityMPM`, of the machine fitted to all rows.

    See Also
    --------
    HighProbabilityMPM : One share of the uncertainty.

    Notes
    -----
    Do not read `worst_case_error_` as a guarantee: at a share below one it is none, and
    `certificate_` is nan. Where rows abound, `sklearn.linear_model.LogisticRegressionCV` is
    the more accurate model to tune.

    References
    ----------
    .. [1] S. Cousins and J. Shawe-Taylor (2017). "High-probability minimax probability
       machines". Machine Learning 106.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from octavo.svm import HighProbabilityMPMCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = HighProbabilityMPMCV().fit(X[:50], y[:50])
    >>> model.rho_, round(model.score(X[50:], y[50:]), 3)
    (0.1, 0.94)
    """

    _parameter_constraints: dict[str, Any] = {
        **RobustClassifier._parameter_constraints,
        "rhos": ["array-like"],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        rhos: Sequence[float] = RHOS,
        cv: Any = 5,
        kernel: Any = None,
        gamma: float | str | None = None,
        delta: float = 0.05,
        radius: float | str = "max",
        bound: str = "thesis",
        bias: str = "minimax",
        norm: str = "l2",
        tol: float = 1e-8,
        *,
        max_iter: int = 500,
        degree: float = 3,
        coef0: float = 0.0,
        kernel_params: dict[str, Any] | None = None,
        n_components: int | None = None,
        n_bootstrap: int = 200,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.rhos = rhos
        self.cv = cv
        self.kernel = kernel
        self.gamma = gamma
        self.delta = delta
        self.radius = radius
        self.bound = bound
        self.bias = bias
        self.norm = norm
        self.tol = tol
        self.max_iter = max_iter
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.n_bootstrap = n_bootstrap
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose the uncertainty by cross-validation and fit to all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; their Gram matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Classes, of which there must be two.

        Returns
        -------
        self : HighProbabilityMPMCV
            Fitted.
        """
        rhos = np.asarray(self.rhos, dtype=np.float64).ravel()
        if not (rhos.size and np.all((rhos > 0.0) & (rhos < 1.0))):
            raise ValueError(
                "rhos must be shares of the largest feasible uncertainty, each strictly between "
                f"0 and 1; got {self.rhos!r}."
            )
        train = self._checked(X, y, None)
        cv = check_cv(self.cv, train.is_one, classifier=True)
        splits = list(cv.split(train.X, train.is_one))
        with FitProgress(self, len(splits) + 1, X, y, step_name="fold") as progress:
            scores = Parallel(n_jobs=self.n_jobs, return_as="generator")(
                delayed(self._scores)(train, *split, rhos) for split in splits
            )
            columns = []
            for column in scores:
                columns.append(column)
                progress.step()
            self.cv_scores_ = np.array(columns).T
            self.rho_ = self._best(rhos)
            ready = self._prepare(train)
            nu = self.rho_ * ready.nu_max
            plane = self._plane(ready, nu)
            progress.step()
        self._conclude(ready, plane, nu, train)
        return self

    def _best(self, rhos: NDArray[np.float64]) -> float:
        """Return the largest of the shares with the best mean accuracy."""
        means = self.cv_scores_.mean(axis=1)
        return float(rhos[means >= means.max() - 1e-12].max())

    def _scores(
        self,
        rows: TrainingRows,
        train: NDArray[np.intp],
        test: NDArray[np.intp],
        rhos: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return the accuracy on the rows `test` of every ρ trained on the rows `train`."""
        is_one = rows.is_one[train]
        if is_one.all() or not is_one.any():
            raise ValueError(
                "A fold of the cross-validation has one class only; use fewer folds than the "
                f"{min(rows.is_one.sum(), (~rows.is_one).sum())} rows of the smaller class."
            )
        X = rows.X
        seen = X[np.ix_(train, train)] if self._pairwise else X[train]
        unseen = X[np.ix_(test, train)] if self._pairwise else X[test]
        fold = TrainingRows(seen, is_one, None, train)
        ready = self._prepare(fold)
        if ready.kernel is not None:
            marks = ready.space.landmarks
            vectors = None if self._pairwise else seen[marks]
            unseen = ready.kernel.against(unseen, vectors, marks)
        accuracy, start = np.empty(len(rhos)), None
        for place in np.argsort(rhos):
            plane = self._plane(ready, rhos[place] * ready.nu_max, start=start)
            threshold = self._threshold(ready, plane, fold)
            projections = safe_sparse_dot(unseen, ready.space.weights_of(plane.coef))
            accuracy[place] = np.mean((projections >= threshold) == rows.is_one[test])
            start = plane.coef
        return accuracy
