"""Machines of several tasks along alpha and C, each from the last, with the best chosen.

Reference: T. Jebara (2011), "Multitask Sparsity via Maximum Entropy Discrimination", Journal of
Machine Learning Research 12, Sections 10 and 11.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.kernel.mkl.kernel_normalize import as_stack
from octavo.kernel.multitask.estimators import MEDMultitaskSVC
from octavo.kernel.multitask.task_tables import join_tasks, read_tasks

__all__ = ["MEDMultitaskPath"]

_FOLDS = 5


def mean_task_auc(y: Any, values: Floats, task: Any) -> float:
    """Return the mean over tasks of the area under the ROC curve; tasks of one class are left out.

    With three classes or more and no tasks, values have a column a class and each class is a task.
    """
    if values.ndim == 2:
        classes = range(values.shape[1])
        pairs = [((y == k), values[:, k]) for k in classes]
    elif task is None:
        pairs = [(y == 1, values)]
    else:
        pairs = [(y[task == m] == 1, values[task == m]) for m in np.unique(task)]
    areas = [roc_auc_score(one, v) for one, v in pairs if one.any() and not one.all()]
    return float(np.mean(areas)) if areas else 0.5


class MEDMultitaskPath(ClassifierMixin, CallbackSupportMixin, SoundEstimator):
    """`MEDMultitaskSVC` with alpha and C chosen by cross-validation along warm-started paths.

    For each C the fits go through the alphas from the smallest on, each from the last; what is
    compared is the mean over tasks of the area under the ROC curve.

    Parameters
    ----------
    alphas : array-like, default=(0, 1, 10, 100, 1000)
        Values of alpha; 0 is independent machines.
    Cs : array-like, default=(0.1, 1, 10)
        Weights of the hinge loss.
    cv : int, splitter or iterable, default=None
        How to split, as in scikit-learn; five folds, stratified by class within task, by default.
    select : {"features", "kernels"}, default="features"
        What is switched.
    kernels : str or list, default="rbf_ladder"
        The kernels, as in `KernelStack`.
    normalize : str or None, default=None
        How the kernels are made comparable, as in `KernelStack`.
    margin : float, default=1.0
        The margin.
    shared : bool, default=True
        Whether all tasks share their switches.
    bias : "free" or float, default="free"
        ``"free"``, or the variance of the normal prior of each task's intercept.
    solver : {"newton", "bound"}, default="newton"
        As in `MEDMultitaskSVC`.
    tol : float, default=1e-4
        Duality gap to stop at, relative to the objective.
    max_sweeps : int, default=200
        Most sweeps over the tasks in a fit.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_alphas,)
        Values of alpha, ascending.
    Cs_ : ndarray of shape (n_Cs,)
        Values of C, ascending.
    cv_scores_ : ndarray of shape (n_Cs, n_alphas, n_folds)
        Mean area under the ROC curve over tasks on held-out rows.
    switches_path_ : ndarray of shape (n_Cs, n_alphas, ...)
        Switches of the fits to all rows.
    n_iters_ : ndarray of shape (n_Cs, n_alphas)
        Sweeps of those fits.
    alpha_ : float
        The best alpha.
    C_ : float
        The best C.
    best_score_ : float
        Its mean score.
    best_estimator_ : MEDMultitaskSVC
        The fit to all rows with both.
    classes_ : ndarray of shape (n_classes,)
        Classes.
    n_features_in_ : int
        Number of features; of training samples if precomputed.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    MEDMultitaskSVC : One fit.

    Notes
    -----
    A path over ten alphas costs a few fits, not ten. Of equally good pairs the smallest C and then
    the smallest alpha is taken. With a single alpha and C, `MEDMultitaskSVC` is enough.

    References
    ----------
    .. [1] Jebara (2011). Multitask Sparsity via Maximum Entropy Discrimination. JMLR 12,
       Section 11.

    Examples
    --------
    >>> from octavo.data import make_shared_sparse_tasks
    >>> from octavo.kernel import MEDMultitaskPath
    >>> tasks = make_shared_sparse_tasks(6, 40, 40, random_state=0)
    >>> path = MEDMultitaskPath(alphas=(0, 10, 1000), Cs=(0.1, 1.0), cv=3)
    >>> path.fit(tasks.X, tasks.y, tasks.task).alpha_ > 0
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "alphas": ["array-like"],
        "Cs": ["array-like"],
        "cv": ["cv_object"],
        "select": [StrOptions({"features", "kernels"})],
        "kernels": [str, list, tuple],
        "normalize": [str, None],
        "margin": [Interval(Real, 0, None, closed="neither")],
        "shared": ["boolean"],
        "bias": [StrOptions({"free"}), Interval(Real, 0, None, closed="neither")],
        "solver": [StrOptions({"newton", "bound"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_sweeps": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        alphas=(0, 1, 10, 100, 1000),
        Cs=(0.1, 1, 10),
        cv=None,
        *,
        select="features",
        kernels="rbf_ladder",
        normalize=None,
        margin=1.0,
        shared=True,
        bias="free",
        solver="newton",
        tol=1e-4,
        max_sweeps=200,
    ):
        self.alphas = alphas
        self.Cs = Cs
        self.cv = cv
        self.select = select
        self.kernels = kernels
        self.normalize = normalize
        self.margin = margin
        self.shared = shared
        self.bias = bias
        self.solver = solver
        self.tol = tol
        self.max_sweeps = max_sweeps

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        precomputed = self._is_precomputed()
        tags.input_tags.two_d_array = not precomputed
        tags.input_tags.three_d_array = precomputed
        tags.input_tags.sparse = not precomputed
        return tags

    def _is_precomputed(self) -> bool:
        named = isinstance(self.kernels, str) and self.kernels == "precomputed"
        return self.select == "kernels" and named

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, task: Any = None) -> Self:
        """Fit all paths, choose, and keep the best fit to all rows.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows of all tasks; with precomputed kernels an array (n_kernels, n_samples, n_samples).
            Or a list of tables, one a task, with a list of targets as `y`; or a list of pairs.
        y : array-like of shape (n_samples,), default=None
            Labels.
        task : array-like of shape (n_samples,), default=None
            Task of each row.

        Returns
        -------
        self : object
            The fitted paths.
        """
        X, y, task = join_tasks(X, y, task)
        X, y = self._read(X, y)
        self.classes_, codes = encode_classes(y, owner=self)
        self.alphas_ = _grid(self.alphas, "alphas", 0.0)
        self.Cs_ = _grid(self.Cs, "Cs", np.nextafter(0.0, 1.0))
        names = None if task is None else read_tasks(task, len(codes))
        folds = self._folds(codes, names)
        self.cv_scores_ = np.zeros((len(self.Cs_), len(self.alphas_), len(folds)))
        with FitProgress(self, len(folds) + 1, X, y, step_name="fold") as progress:
            for fold, (train, test) in enumerate(folds):
                self.cv_scores_[:, :, fold] = self._scores(X, codes, names, train, test)
                progress.step()
            self._choose()
            self._fit_all(X, y, names)
            progress.step()
        return self

    def _read(self, X: Any, y: Any) -> tuple[Any, Any]:
        if not self._is_precomputed():
            options: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64}
            return validate_rows(self, X, y, ensure_min_samples=2, **options)
        X, y = as_stack(X), np.asarray(y).ravel()
        self.n_features_in_ = X.shape[1]
        if len(y) != X.shape[1]:
            raise ValueError(
                f"y must have one entry per sample: the kernels have {X.shape[1]}, y {len(y)}."
            )
        return X, y

    def _folds(self, codes: Any, names: Any) -> list[tuple[Any, Any]]:
        """Return the splits; by default classes are spread evenly within each task."""
        groups = codes
        if names is not None:
            places = np.unique(names, return_inverse=True)[1]
            groups = places * len(self.classes_) + codes
        cv = self.cv
        if cv is None:
            least = int(np.bincount(groups)[np.unique(groups)].min())
            if least < 2:
                raise ValueError(
                    "Cross-validation needs two rows of each class in every task; the smallest "
                    f"class has n_samples={least}. Pass cv, or fit MEDMultitaskSVC."
                )
            cv = min(_FOLDS, least)
        splitter = check_cv(cv, groups, classifier=True)
        return list(splitter.split(np.zeros((len(codes), 1)), groups))

    def _machine(self) -> MEDMultitaskSVC:
        return MEDMultitaskSVC(
            self.select,
            self.kernels,
            self.normalize,
            margin=self.margin,
            shared=self.shared,
            bias=self.bias,
            solver=self.solver,
            tol=self.tol,
            max_sweeps=self.max_sweeps,
        )

    def _walk(self, X: Any, y: Any, names: Any):
        """Yield the machine after each fit, C by C and alpha by alpha; data are read once."""
        machine = self._machine()
        problem, X, y = machine._begin(X, y, names)
        for c, C in enumerate(self.Cs_):
            start = None
            for a, alpha in enumerate(self.alphas_):
                machine.set_params(alpha=float(alpha), C=float(C))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    warnings.filterwarnings("ignore", message="All switches of")
                    machine._fit_problem(problem, start, X, y)
                start = machine._betas
                yield c, a, machine

    def _scores(self, X: Any, codes: Any, names: Any, train: Any, test: Any) -> Floats:
        scores = np.zeros(self.cv_scores_.shape[:2])
        if self._is_precomputed():
            fitted, asked = X[:, train][:, :, train], X[:, test][:, :, train]
        else:
            fitted, asked = X[train], X[test]
        own, held = (None, None) if names is None else (names[train], names[test])
        for c, a, machine in self._walk(fitted, codes[train], own):
            values = machine.decision_function(asked, held)
            scores[c, a] = mean_task_auc(codes[test], values, held)
        return scores

    def _choose(self) -> None:
        means = self.cv_scores_.mean(axis=2)
        c, a = np.unravel_index(int(means.argmax()), means.shape)
        self._best = int(c), int(a)
        self.C_, self.alpha_ = float(self.Cs_[c]), float(self.alphas_[a])
        self.best_score_ = float(means[c, a])

    def _fit_all(self, X: Any, y: Any, names: Any) -> None:
        switches, sweeps = [], []
        for _, _, machine in self._walk(X, y, names):
            switches.append(machine.switches_)
            sweeps.append(machine.n_iter_)
        shape = (len(self.Cs_), len(self.alphas_))
        self.switches_path_ = np.array(switches).reshape(*shape, *switches[0].shape)
        self.n_iters_ = np.array(sweeps).reshape(shape)
        best = self._machine().set_params(alpha=self.alpha_, C=self.C_)
        self.best_estimator_ = best.fit(X, y, names)

    def decision_function(self, X: Any, task: Any = None) -> Floats:
        """Return the decision values of the best machines.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows, or precomputed kernel values.
        task : array-like of shape (n_samples,), default=None
            Task of each row, if fit was given tasks.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive on the side of ``classes_[1]``; one column a class for three or more.
        """
        X = self._queries(X)
        return self.best_estimator_.decision_function(X, task)

    def predict(self, X: Any, task: Any = None) -> Any:
        """Return the classes that the best machines predict.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows, or precomputed kernel values.
        task : array-like of shape (n_samples,), default=None
            Task of each row, if fit was given tasks.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes.
        """
        X = self._queries(X)
        return self.best_estimator_.predict(X, task)

    def score(self, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy over all rows.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows, or precomputed kernel values.
        y : array-like of shape (n_samples,)
            True classes.
        task : array-like of shape (n_samples,), default=None
            Task of each row, if fit was given tasks.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            Accuracy.
        """
        return float(accuracy_score(y, self.predict(X, task), sample_weight=sample_weight))

    def _queries(self, X: Any) -> Any:
        check_is_fitted(self)
        if self._is_precomputed():
            return X
        return validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)


def _grid(values: Any, name: str, least: float) -> Floats:
    """Return a grid in ascending order, each value once."""
    grid = np.unique(np.asarray(values, dtype=np.float64))
    if not grid.size or not np.isfinite(grid).all() or grid[0] < least:
        kind = "at least 0" if least == 0.0 else "above 0"
        raise ValueError(f"{name} must hold finite numbers {kind}, got {values!r}.")
    return grid
