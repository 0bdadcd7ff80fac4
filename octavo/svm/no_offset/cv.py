"""Choose λ and the width of a Gaussian kernel for an SVM without offset, by cross-validation.

One matrix of squared distances serves every width, one kernel matrix every fold, and along λ each
solution starts the next. The grid follows from the number of samples and features.

Reference: I. Steinwart, D. Hush and C. Scovel (2011), "Training SVMs Without Offset", Journal of
Machine Learning Research 12:141-202. Implemented: the grid of section 5 and the initialisations
of section 5.6. The paths along λ are in `octavo.svm.no_offset.dual_paths`.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import check_random_state

from octavo.engine.duals.smo import BoxMemory, square_part
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.delegation import DelegatesToFitted
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import (
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
    ovr_decision_function,
)
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.svm.no_offset.box_problem import strategy_of
from octavo.svm.no_offset.dual_paths import ORDERS, PathRules, follow_path, parse_warm
from octavo.svm.no_offset.estimator import NoOffsetSVC, PairProblem, pair_problems, sample_bounds

__all__ = ["NoOffsetSVCCV", "steinwart_grid"]


@checked
def steinwart_grid(
    n: int,
    d: int,
    n_alphas: int = 10,
    n_gammas: int = 10,
    *,
    alpha_scale: float = 10.0,
    alpha_max: float = 1.0,
    sigma_min: float = 0.1,
    sigma_scale: float = 2.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the paper's grid of λ and σ: geometric in [10 n⁻², 1] × [0.1, 2 n^(1/d)].

    These intervals contain asymptotically good values for features scaled to [-1, 1] and the
    kernel exp(−σ² ||x − x'||²). The paper's control experiment has 25 by 30 values with
    ``alpha_scale=0.001, sigma_min=0.005, sigma_scale=20``.

    Parameters
    ----------
    n : int
        Number of training samples.
    d : int
        Number of features.
    n_alphas, n_gammas : int, default=10
        Sizes of the grid.
    alpha_scale : float, default=10.0
        The smallest λ is this over n².
    alpha_max : float, default=1.0
        The largest λ.
    sigma_min : float, default=0.1
        The smallest σ, where gamma = σ².
    sigma_scale : float, default=2.0
        The largest σ is this times n^(1/d).

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
        Descending.
    gammas : ndarray of shape (n_gammas,)
        Ascending.

    Examples
    --------
    >>> from octavo.svm import steinwart_grid
    >>> alphas, gammas = steinwart_grid(100, 2, 3, 3)
    >>> alphas.round(4), gammas.round(3)
    (array([1.    , 0.0316, 0.001 ]), array([1.e-02, 2.e+00, 4.e+02]))
    """
    for name, value in (("n", n), ("d", d), ("n_alphas", n_alphas), ("n_gammas", n_gammas)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value!r}.")
    alpha_min = min(alpha_scale / n**2, alpha_max)  # section 5
    sigma_max = max(sigma_scale * n ** (1.0 / d), sigma_min)
    sigmas = np.geomspace(sigma_min, sigma_max, n_gammas)
    return np.geomspace(alpha_max, alpha_min, n_alphas), sigmas**2


def fold_predictions(
    K: NDArray[np.float64],
    problems: list[PairProblem],
    weights: NDArray[np.float64],
    alphas: NDArray[np.float64],
    rules: PathRules,
    test: NDArray[np.int64],
    memories: list[BoxMemory],
    n_classes: int,
    n_train: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]]:
    """Train one fold at every λ; return the codes predicted on its test samples, and the cost."""
    n_iter, seconds = np.zeros(len(alphas), dtype=np.int64), np.zeros(len(alphas))
    converged = np.ones(len(alphas), dtype=bool)
    values = np.empty((len(alphas), test.size, len(problems)))
    for at, (problem, memory) in enumerate(zip(problems, memories)):
        chosen = problem.indices
        whole = chosen.size == len(K)
        gram = K if whole else square_part(K, chosen)
        path = follow_path(gram, problem.y, weights[chosen], alphas, rules, memory, n_train)
        if whole:
            values[:, :, at] = path.values[:, test]
        else:  # samples of other classes are judged too
            values[:, :, at] = path.beta @ K[np.ix_(test, chosen)].T
        n_iter += path.n_iter
        seconds += path.seconds
        converged &= path.converged
    if n_classes == 2:
        return (values[:, :, 0] >= 0).astype(np.int64), n_iter, seconds, converged
    scores = [ovr_decision_function(v >= 0, v, n_classes) for v in values]
    return np.array([s.argmax(axis=1) for s in scores]), n_iter, seconds, converged


class NoOffsetSVCCV(DelegatesToFitted, CallbackSupportMixin, ClassifierMixin, SoundEstimator):
    """Gaussian-kernel classifier without offset, λ and σ chosen by cross-validation.

    The whole grid is trained at a fraction of the cost of its cells: see `NoOffsetSVC` for the
    classifier itself.

    Parameters
    ----------
    alphas : "paper" or array-like, default="paper"
        Values of λ; "paper" takes `n_alphas` of them from `steinwart_grid`.
    gammas : "paper" or array-like, default="paper"
        Values of gamma in the kernel exp(−gamma ||x − x'||²): the square of the paper's σ.
    n_alphas, n_gammas : int, default=10
        Sizes of the paper's grid.
    cv : int or cross-validation generator, default=10
        Number of stratified, shuffled folds, or what `sklearn.model_selection.check_cv` takes.
    warm : str, default="I1-W4"
        How paths begin and go on: "I0" (zeros) or "I1" (kernel rule), a hyphen, and the rule from
        one λ to the next: "W0" and "W1" cold, "W2" keep, "W3" scale, "W4" expand; with ascending
        λ "W5" scale, "W6" shrink.
    order : {"descending", "ascending", "hybrid"}, default="descending"
        Order of λ along a path. "hybrid" begins in the middle of the grid and goes both ways.
    working_set : int or "1d", default=7
        Which variables are moved, see `solve_box_svm`.
    stopping : {"clipped_gap", "gap", "kkt"}, default="clipped_gap"
        What must fall to the tolerance, see `NoOffsetSVC`.
    tol : float, default=1e-3
        Tolerance.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the loss.
    n_neighbors : int, default=10
        Neighbours that strategy 4 looks at.
    max_iter : int, default=-1
        Most iterations of one cell of the grid in one fold.
    shrinking : bool, default=True
        Finish among the variables that may still move; only beyond 500 samples.
    random_state : int, RandomState instance or None, default=None
        Draws folds and halves.
    n_jobs : int, default=None
        Number of threads, each for some of the folds.

    Attributes
    ----------
    alphas_, gammas_ : ndarray
        The grid, alphas descending and gammas ascending.
    cv_error_ : ndarray of shape (n_alphas, n_gammas)
        Share of held-out samples that are classified wrongly, weighted as in the loss.
    best_alpha_, best_gamma_ : float
        Where that is smallest; of equals the largest alpha, then the smallest gamma.
    best_score_ : float
        One minus the error there.
    best_estimator_ : NoOffsetSVC
        Trained on all samples with the best pair.
    n_iter_grid_ : ndarray of shape (n_alphas, n_gammas)
        Iterations, all folds together.
    time_grid_ : ndarray of shape (n_alphas, n_gammas)
        Seconds of the solver, all folds together.
    n_iter_ : int
        Iterations of the grid and of the final fit.
    duality_gap_ : float
        Certificate of the final fit.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where they are all strings.

    See Also
    --------
    NoOffsetSVC : The classifier for one pair of parameters.

    Notes
    -----
    The grid presumes features scaled to [-1, 1]: put a `sklearn.preprocessing.MinMaxScaler` with
    ``feature_range=(-1, 1)`` before it. Two matrices of n² numbers are held; beyond about 20,000
    samples use approximate methods instead. For other kernels, or where classes of very different
    size call for an offset, use `sklearn.model_selection.GridSearchCV` with `sklearn.svm.SVC`.

    References
    ----------
    .. [1] I. Steinwart, D. Hush and C. Scovel (2011). "Training SVMs Without Offset". Journal of
       Machine Learning Research 12:141-202.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from octavo.svm import NoOffsetSVCCV
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> search = NoOffsetSVCCV(cv=5, random_state=0).fit(X, y)
    >>> search.cv_error_.shape, round(search.best_score_, 3)
    ((10, 10), 0.975)
    """

    _parameter_constraints: dict[str, Any] = {
        "alphas": [StrOptions({"paper"}), "array-like"],
        "gammas": [StrOptions({"paper"}), "array-like"],
        "n_alphas": [Interval(Integral, 1, None, closed="left")],
        "n_gammas": [Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object"],
        "warm": [str],
        "order": [StrOptions(set(ORDERS))],
        "working_set": [Interval(Integral, 0, 4095, closed="both"), StrOptions({"1d"})],
        "stopping": [StrOptions({"clipped_gap", "gap", "kkt"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "shrinking": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        alphas="paper",
        gammas="paper",
        n_alphas=10,
        n_gammas=10,
        cv=10,
        warm="I1-W4",
        order="descending",
        *,
        working_set=7,
        stopping="clipped_gap",
        tol=1e-3,
        class_weight=None,
        n_neighbors=10,
        max_iter=-1,
        shrinking=True,
        random_state=None,
        n_jobs=None,
    ):
        self.alphas = alphas
        self.gammas = gammas
        self.n_alphas = n_alphas
        self.n_gammas = n_gammas
        self.cv = cv
        self.warm = warm
        self.order = order
        self.working_set = working_set
        self.stopping = stopping
        self.tol = tol
        self.class_weight = class_weight
        self.n_neighbors = n_neighbors
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Train the grid by cross-validation, then the best pair on all samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, with features of about the same scale.
        y : array-like of shape (n_samples,)
            Classes, two or more.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, in the loss and in the error.

        Returns
        -------
        self : NoOffsetSVCCV
            The fitted search.
        """
        X, codes, sample_weight = self._validated(X, y, sample_weight)
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(2**31 - 1))
        first, rule = parse_warm(self.warm, self.order)
        rules = PathRules(
            first,
            rule,
            self.order,
            strategy_of(self.working_set),
            self.stopping,
            self.tol,
            self.max_iter,
            self.n_neighbors,
            self.shrinking,
        )
        self.alphas_, self.gammas_ = self._grid(*X.shape)
        weights = sample_bounds(codes, self.classes_, self.class_weight, sample_weight, 1.0)
        folds = self._folds(X, codes, seed)
        with FitProgress(self, len(self.gammas_) + 1, X, y, step_name="width") as progress:
            self._train_grid(X, codes, weights, folds, rules, seed, progress)
            self._refit(X, y, sample_weight, seed)
            progress.step()
        return self

    def _validated(self, X, y, sample_weight):
        X, y = validate_rows(
            self, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2
        )
        self.classes_, codes = encode_classes(y, owner=self)
        if sample_weight is not None:
            sample_weight = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        return X, codes, sample_weight

    def _grid(self, n, d):
        alphas, gammas = steinwart_grid(n, d, self.n_alphas, self.n_gammas)
        given = []
        for name, values, paper in (
            ("alphas", self.alphas, alphas),
            ("gammas", self.gammas, gammas),
        ):
            if isinstance(values, str):
                given.append(paper)
                continue
            grid = np.unique(np.asarray(values, dtype=float))
            if not (grid.size and np.isfinite(grid).all() and grid[0] > 0):
                raise ValueError(f"{name} must be positive and finite, got {values!r}.")
            given.append(grid[::-1] if name == "alphas" else grid)
        return given

    def _folds(self, X, codes, seed):
        """Return training and test indices; an int asks for no more folds than a class allows."""
        if not isinstance(self.cv, Integral):
            splits = list(check_cv(self.cv, codes, classifier=True).split(X, codes))
            if not splits:
                raise ValueError("cv must give at least one pair of training and test rows; got 0.")
            return splits
        fewest = max(2, int(np.bincount(codes).min()))
        n_splits = min(int(self.cv), fewest)
        if n_splits < int(self.cv):
            warnings.warn(
                f"cv={self.cv} folds were asked for, but the smallest class has {fewest} samples "
                f"or fewer: {n_splits} folds are used.",
                UserWarning,
                stacklevel=3,
            )
        splitter = StratifiedKFold(n_splits, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return list(splitter.split(np.zeros(codes.size), codes))

    def _train_grid(self, X, codes, weights, folds, rules, seed, progress):
        """Fill error, iterations and seconds of every cell."""
        n, k = codes.size, len(self.classes_)
        problems = pair_problems(codes, k, np.ones(n))
        squared = euclidean_distances(X, squared=True)
        K = np.empty_like(squared)
        memories = [
            [BoxMemory.new(p.indices.size, self.n_neighbors, seed=seed) for p in problems]
            for _ in folds
        ]
        kept = [np.zeros(n) for _ in folds]
        for row, (train, _) in zip(kept, folds):
            row[train] = weights[train]
        shape = len(self.alphas_), len(self.gammas_)
        counts = np.zeros(shape)
        self.n_iter_grid_, self.time_grid_ = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        unfinished = 0
        total = sum(weights[test].sum() for _, test in folds)
        with Parallel(n_jobs=self.n_jobs, prefer="threads") as parallel:
            for at, gamma in enumerate(self.gammas_):
                np.exp(np.multiply(squared, -gamma, out=K), out=K)
                done = parallel(
                    delayed(fold_predictions)(
                        K, problems, row, self.alphas_, rules, test, memory, k, len(train)
                    )
                    for row, (train, test), memory in zip(kept, folds, memories)
                )
                for (predicted, n_iter, seconds, converged), (_, test) in zip(done, folds):
                    counts[:, at] += (predicted != codes[test]) @ weights[test]
                    self.n_iter_grid_[:, at] += n_iter
                    self.time_grid_[:, at] += seconds
                    unfinished += int(np.count_nonzero(~converged))
                if progress.step():
                    counts[:, at + 1 :] = np.inf
                    break
        self.cv_error_ = counts / total
        if unfinished:
            warnings.warn(
                f"{unfinished} of {counts.size * len(folds)} fits of the grid stopped before the "
                f"tolerance {self.tol:g} was reached; raise max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _inner_candidates(self):
        return [NoOffsetSVC()]

    def _refit(self, X, y, sample_weight, seed):
        row, column = np.unravel_index(np.argmin(self.cv_error_), self.cv_error_.shape)
        self.best_alpha_ = float(self.alphas_[row])
        self.best_gamma_ = float(self.gammas_[column])
        self.best_score_ = 1.0 - float(self.cv_error_[row, column])
        self.best_estimator_ = NoOffsetSVC(
            alpha=self.best_alpha_,
            gamma=self.best_gamma_,
            class_weight=self.class_weight,
            working_set=self.working_set,
            stopping=self.stopping,
            tol=self.tol,
            n_neighbors=self.n_neighbors,
            max_iter=self.max_iter,
            shrinking=self.shrinking,
            random_state=seed,
            cache_size=np.inf,
        ).fit(X, y, sample_weight)
        self.n_iter_ = int(self.n_iter_grid_.sum()) + self.best_estimator_.n_iter_
        self.duality_gap_ = self.best_estimator_.duality_gap_
