"""Choice of C and kernel for `AESVC`, and a report of what representatives save over a grid.

A representative set depends on the kernel and on the rows, not on C: a search selects once for
each kernel and fold, and trains as many machines on it as there are values of C.
`speedup_report` runs a method and a baseline over the same grid and folds, and sums the outcome
up in the seven figures of the paper.

Reference: Nandan, Khargonekar and Talathi (2014), "Fast SVM training using approximate extreme
points", JMLR 15:59-98, Section 5.3. The printed figure CTS takes the largest number of support
vectors; its text means the number at the parameters of the best accuracy, as computed here.
"""

from __future__ import annotations

import time
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.model_selection import check_cv

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.delegation import DelegatesToFitted
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import fit_context, safe_indexing
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.svm.representatives.estimator import AESVC

__all__ = [
    "AESVCCV",
    "GridRun",
    "SpeedupReport",
    "compare_runs",
    "run_grid",
    "speedup_report",
]


class GridRun(NamedTuple):
    """One method over a grid: arrays with a row a cell and a column a fold.

    `cells` lists the parameters; `accuracy`, `training_time` (without selection), `n_support`
    (nan where a model has none) and `reduction` have shape (n_cells, n_folds); `selection_time`
    is the total of all selections.
    """

    cells: list[dict[str, Any]]
    accuracy: Floats
    training_time: Floats
    n_support: Floats
    reduction: Floats
    selection_time: float


class SpeedupReport(NamedTuple):
    """The seven figures of the paper: a method beside a baseline over one grid.

    `ets`, `ots`: training time of the baseline over the method's, as the mean of ratios and as
    the ratio of totals with the selection. `ecs`, `cts`: the same of numbers of support vectors,
    as the mean of ratios and at the best cell of each. `rmse`: of the accuracies. `max_accuracy`,
    `mean_accuracy`, `std_accuracy`, and those of the baseline. `run` and `baseline_run` hold
    everything (`GridRun`).
    """

    ets: float
    ots: float
    ecs: float
    cts: float
    rmse: float
    max_accuracy: float
    mean_accuracy: float
    std_accuracy: float
    baseline_max_accuracy: float
    baseline_mean_accuracy: float
    baseline_std_accuracy: float
    run: GridRun
    baseline_run: GridRun


def cells_of(grid: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every combination; `C` varies fastest, so that cells of one kernel stand together."""
    names = sorted(grid, key=lambda name: name == "C")
    return [dict(zip(names, values)) for values in product(*(grid[name] for name in names))]


def _fit_cell(model: Any, X: Any, y: Any, weight: Any, cache: dict) -> tuple[Any, float, float]:
    """Fit one cell; return the model and the seconds of training and of a new selection."""
    if not isinstance(model, AESVC):
        start = time.perf_counter()
        model.fit(X, y) if weight is None else model.fit(X, y, sample_weight=weight)
        return model, time.perf_counter() - start, 0.0
    model._validate_params()
    X, codes, weight = model._check(X, y, weight)
    points, seconds = model._selection(), 0.0
    key = tuple((name, repr(value)) for name, value in points.get_params().items())
    if cache.get("key") != key:
        start = time.perf_counter()
        points._fit_checked(X, codes, weight, owner=points)
        seconds = time.perf_counter() - start
        cache.update(key=key, points=points)
    model._train(X, codes, weight, cache["points"], seconds)
    return model, model.fit_times_["training"], seconds


@checked
def run_grid(estimator, X, y, grid, *, cv=5, sample_weight=None, progress=None):
    """Fit and score a classifier on every cell of a grid and every fold.

    Parameters
    ----------
    estimator : classifier
        An `AESVC`, whose representatives are selected once per kernel and fold, or any other
        classifier.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Classes.
    grid : dict of str to sequence
        Values of parameters, such as ``{"C": [1, 10], "gamma": [0.1, 1]}``.
    cv : int, cross-validation generator or iterable, default=5
        Folds.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, used in training.
    progress : FitProgress, default=None
        Stepped once a cell and fold.

    Returns
    -------
    GridRun
        Accuracies, times and sizes.

    Examples
    --------
    >>> from octavo.data import make_redundant_classes
    >>> from octavo.svm import AESVC, run_grid
    >>> X, y = make_redundant_classes(1000, kind="rings", random_state=0)
    >>> found = run_grid(AESVC(), X, y, {"C": [1.0, 4.0], "gamma": [4.0]}, cv=3)
    >>> found.accuracy.shape, bool(found.accuracy.mean() > 0.98)
    ((2, 3), True)
    """
    cells = cells_of(grid)
    splits = list(check_cv(cv, y, classifier=True).split(X, y))
    accuracy, seconds, support, reduction = np.full((4, len(cells), len(splits)), np.nan)
    selecting = 0.0
    for fold, (train, test) in enumerate(splits):
        rows, labels = safe_indexing(X, train), safe_indexing(y, train)
        weight = None if sample_weight is None else np.asarray(sample_weight)[train]
        cache: dict[str, Any] = {}
        for cell, params in enumerate(cells):
            model = clone(estimator).set_params(**params)
            model, seconds[cell, fold], spent = _fit_cell(model, rows, labels, weight, cache)
            selecting += spent
            accuracy[cell, fold] = model.score(safe_indexing(X, test), safe_indexing(y, test))
            support[cell, fold] = np.sum(getattr(model, "n_support_", np.nan))
            reduction[cell, fold] = getattr(model, "reduction_", 1.0)
            if progress is not None:
                progress.step()
    return GridRun(cells, accuracy, seconds, support, reduction, selecting)


@checked
def speedup_report(estimator, baseline, X, y, grid, *, cv=5):
    """Compare a method with a baseline over a grid, by the seven figures of the paper.

    Parameters
    ----------
    estimator : classifier
        The method, such as `AESVC`.
    baseline : classifier
        What it is measured against, such as `sklearn.svm.SVC`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Classes.
    grid : dict of str to sequence
        Values of parameters that both understand.
    cv : int, cross-validation generator or iterable, default=5
        Folds, the same for both.

    Returns
    -------
    SpeedupReport
        ETS, OTS, ECS, CTS, RMSE, and accuracies.

    References
    ----------
    .. [1] Nandan, Khargonekar and Talathi (2014). Fast SVM training using approximate extreme
       points. JMLR 15:59-98, Section 5.3.1.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from octavo.data import make_redundant_classes
    >>> from octavo.svm import AESVC, speedup_report
    >>> X, y = make_redundant_classes(1000, kind="rings", random_state=0)
    >>> report = speedup_report(AESVC(), SVC(), X, y, {"C": [1.0], "gamma": [4.0]}, cv=3)
    >>> report.ecs > 1, report.rmse < 0.02
    (True, True)
    """
    folds = list(check_cv(cv, y, classifier=True).split(X, y))
    ours = run_grid(estimator, X, y, grid, cv=folds)
    return compare_runs(ours, run_grid(baseline, X, y, grid, cv=folds))


@checked
def compare_runs(ours, theirs):
    """Return the seven figures of two runs over one grid.

    Parameters
    ----------
    ours : GridRun
        The method's.
    theirs : GridRun
        The baseline's, on the same cells and folds.

    Returns
    -------
    SpeedupReport
        ETS, OTS, ECS, CTS, RMSE, and accuracies.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.svm import GridRun, compare_runs
    >>> one = np.ones((1, 1))
    >>> fast = GridRun([{}], 0.9 * one, 2.0 * one, 10 * one, 0.1 * one, 1.0)
    >>> slow = GridRun([{}], 0.9 * one, 12.0 * one, 50 * one, one, 0.0)
    >>> report = compare_runs(fast, slow)
    >>> report.ets, report.ots, report.ecs
    (6.0, 4.0, 5.0)
    """
    if ours.accuracy.shape != theirs.accuracy.shape:
        raise ValueError(
            "Both runs must have the same cells and folds; got shapes "
            f"{ours.accuracy.shape} and {theirs.accuracy.shape}."
        )
    best, best_theirs = (int(np.argmax(r.accuracy.mean(axis=1))) for r in (ours, theirs))
    mean, mean_theirs = ours.accuracy.mean(axis=1), theirs.accuracy.mean(axis=1)
    return SpeedupReport(
        ets=float(np.mean(theirs.training_time / ours.training_time)),
        ots=float(theirs.training_time.sum() / (ours.training_time.sum() + ours.selection_time)),
        ecs=float(np.mean(theirs.n_support / ours.n_support)),
        cts=float(theirs.n_support[best_theirs].sum() / ours.n_support[best].sum()),
        rmse=float(np.sqrt(np.mean((theirs.accuracy - ours.accuracy) ** 2))),
        max_accuracy=float(mean.max()),
        mean_accuracy=float(mean.mean()),
        std_accuracy=float(mean.std()),
        baseline_max_accuracy=float(mean_theirs.max()),
        baseline_mean_accuracy=float(mean_theirs.mean()),
        baseline_std_accuracy=float(mean_theirs.std()),
        run=ours,
        baseline_run=theirs,
    )


class AESVCCV(DelegatesToFitted, CallbackSupportMixin, ClassifierMixin, SoundEstimator):
    """Choose C and the kernel of `AESVC` by cross-validation, selecting once per kernel and fold.

    Parameters
    ----------
    Cs : array-like of shape (n_C,), default=None
        Values of C; None takes the paper's, 2**-4 to 2**7.
    gammas : array-like of shape (n_gamma,), default=None
        Values of gamma; None takes the paper's, 2**-4 to 2**2, which expect features scaled to
        about [0, 1]. For "poly" None is 1, and for "linear" and callables gamma is not used.
    degree_grid : array-like of shape (n_degrees,), default=None
        Degrees for "poly"; None takes the paper's 2, 3 and 4.
    kernel : {"rbf", "poly", "linear"} or callable, default="rbf"
        The kernel.
    coef0 : float, default=1.0
        Offset of "poly".
    eps : float, default=1e-2
        Largest squared distance of a row to the hull of its representatives.
    subset_size : int, default=1000
        Most rows of one set of neighbours.
    block_size : int, default=100_000
        Most rows of a block.
    segregation : {"median_split", "contiguous"}, default="median_split"
        How blocks are made.
    tol : float, default=1e-3
        Tolerance of the machines; at least 1e-10, LIBSVM's reach.
    class_weight : dict or "balanced", default=None
        Factors of the classes' costs.
    cv : int, cross-validation generator or iterable, default=5
        Folds.
    n_jobs : int, default=None
        Number of threads of a selection.

    Attributes
    ----------
    best_estimator_ : AESVC
        Fitted on all rows with the best parameters.
    best_params_ : dict
        Parameters of the best mean accuracy; of equal ones those that were tried first, which
        have the smaller C.
    best_score_ : float
        Their mean accuracy over the folds.
    grid_run_ : GridRun
        Accuracies, times, numbers of support vectors and reductions of all cells and folds.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    AESVC : The classifier.
    speedup_report : A grid of AESVC beside a grid of another classifier.

    Notes
    -----
    When not to use it: for parameters other than C and the kernel's (such as `eps`), use
    `sklearn.model_selection.GridSearchCV` on `AESVC`; it selects anew for every cell.

    References
    ----------
    .. [1] Nandan, Khargonekar and Talathi (2014). Fast SVM training using approximate extreme
       points. JMLR 15:59-98, Section 5.3.

    Examples
    --------
    >>> from octavo.data import make_redundant_classes
    >>> from octavo.svm import AESVCCV
    >>> X, y = make_redundant_classes(1000, kind="rings", random_state=0)
    >>> search = AESVCCV([1.0, 8.0], [1.0, 4.0], cv=3).fit(X, y)
    >>> search.best_score_ > 0.98
    True
    """

    _parameter_constraints: dict = {
        "Cs": [None, "array-like"],
        "gammas": [None, "array-like"],
        "degree_grid": [None, "array-like"],
        **{
            name: AESVC._parameter_constraints[name]
            for name in (
                "kernel",
                "coef0",
                "eps",
                "subset_size",
                "block_size",
                "segregation",
                "tol",
                "class_weight",
                "n_jobs",
            )
        },
        "cv": ["cv_object"],
    }

    def __init__(
        self,
        Cs=None,
        gammas=None,
        *,
        degree_grid=None,
        kernel="rbf",
        coef0=1.0,
        eps=1e-2,
        subset_size=1000,
        block_size=100_000,
        segregation="median_split",
        tol=1e-3,
        class_weight=None,
        cv=5,
        n_jobs=None,
    ):
        self.Cs = Cs
        self.gammas = gammas
        self.degree_grid = degree_grid
        self.kernel = kernel
        self.coef0 = coef0
        self.eps = eps
        self.subset_size = subset_size
        self.block_size = block_size
        self.segregation = segregation
        self.tol = tol
        self.class_weight = class_weight
        self.cv = cv
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _grid(self) -> dict[str, list[Any]]:
        """Return the cells' values; the paper's where None was given."""
        grid = {"C": _values(self.Cs, 2.0 ** np.arange(-4, 8), "Cs")}
        if self.kernel == "rbf":
            grid["gamma"] = _values(self.gammas, 2.0 ** np.arange(-4, 3), "gammas")
        if self.kernel == "poly":
            grid["gamma"] = _values(self.gammas, [1.0], "gammas")
            grid["degree"] = _values(self.degree_grid, [2, 3, 4], "degree_grid")
        return grid

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Search the grid and fit the best cell on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, used in training.

        Returns
        -------
        self : AESVCCV
            The fitted search.
        """
        X, y = validate_rows(self, X, y, narrow=True, accept_sparse="csr", dtype=np.float64)
        shared = set(AESVC._get_param_names())
        own = {name: value for name, value in self.get_params(deep=False).items() if name in shared}
        model, grid = AESVC(**own), self._grid()
        clone(model)._check(X, y, sample_weight)  # before any work is done
        splits = list(check_cv(self.cv, y, classifier=True).split(X, y))
        n_steps = len(cells_of(grid)) * len(splits)
        with FitProgress(self, n_steps, X, y, step_name="cell") as progress:
            self.grid_run_ = run_grid(
                model, X, y, grid, cv=splits, sample_weight=sample_weight, progress=progress
            )
        means = self.grid_run_.accuracy.mean(axis=1)
        best = int(np.argmax(means))
        self.best_params_, self.best_score_ = self.grid_run_.cells[best], float(means[best])
        self.best_estimator_ = model.set_params(**self.best_params_).fit(X, y, sample_weight)
        self.classes_ = self.best_estimator_.classes_
        return self

    def _inner_candidates(self):
        return [AESVC()]


def _values(given: Any, default: Any, name: str) -> list[Any]:
    values = np.asarray(default if given is None else given)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"{name} must be a list of at least one value, got {given!r}.")
    return values.tolist()
