"""Screening and climbing of an estimator's settings, by the paper's protocol (Section 5.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import is_classifier
from sklearn.model_selection import GroupShuffleSplit, train_test_split
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.sklearn_door import BaseSearchCV, Interval, StrOptions
from octavo.engine.estimators.sound import SoundEstimator
from octavo.search.screening.ascent import LARGEST_STEP
from octavo.search.screening.factors import OwnDefaults, check_factors
from octavo.search.screening.runs import Experiments, Params
from octavo.search.screening.search import ScreenedSearch, factorial_search, response_surface_search

__all__ = ["ScreenedSearchCV"]


class HoldoutWithin:
    """A validation part of the training rows of each fold: test rows are never seen."""

    def __init__(self, cv: Any, validation: float, stratify: bool, seed: int) -> None:
        self.cv, self.validation, self.stratify, self.seed = cv, validation, stratify, seed
        self.splits: list[tuple[Any, Any]] | None = None

    def split(self, X: Any, y: Any = None, groups: Any = None, **more: Any) -> Iterator[Any]:
        """Yield the rows to learn from and the rows to validate on, one pair for each fold."""
        if self.splits is None:
            options = more if groups is None else {"groups": groups, **more}
            rows = [train for train, _ in self.cv.split(X, y, **options)]
            self.splits = [self._part(np.asarray(train), y, groups) for train in rows]
        return iter(self.splits)

    def _part(self, train: Any, y: Any, groups: Any) -> tuple[Any, Any]:
        if len(train) < 2:
            raise ValueError(
                f"A fold has {len(train)} training samples, of which none can be held out."
            )
        if groups is not None:
            inside = np.asarray(groups)[train]
            if len(np.unique(inside)) > 1:
                splitter = GroupShuffleSplit(1, test_size=self.validation, random_state=self.seed)
                a, b = next(splitter.split(train, groups=inside))
                return train[a], train[b]
        labels = None
        n_held = int(np.ceil(self.validation * len(train)))
        if self.stratify and type_of_target(y) in ("binary", "multiclass"):
            labels = np.asarray(y)[train]
            counts = np.unique(labels, return_counts=True)[1]
            if counts.min() < 2 or len(counts) > min(n_held, len(train) - n_held):
                labels = None
        held = min(max(n_held, 1), len(train) - 1)
        a, b = train_test_split(train, test_size=held, random_state=self.seed, stratify=labels)
        return a, b


class FitFailed(ValueError):
    """A fit of a candidate raised an error, which the search raises in its place."""


class Candidates:
    """The objective of a search: the mean score of settings over the folds."""

    def __init__(self, evaluate: Callable[..., Any], cv: HoldoutWithin, metric: str) -> None:
        self.evaluate, self.cv, self.metric = evaluate, cv, metric
        self.params: list[Params] = []
        self.error: Exception | None = None

    def evaluate_many(self, settings: list[Params]) -> list[float]:
        """Return the scores of several settings, fitted together."""
        self.params += settings
        try:
            results = self.evaluate(settings, cv=self.cv)
        except Exception as error:
            self.error = error
            raise FitFailed("A fit of a candidate failed.") from error
        return list(results[f"mean_test_{self.metric}"][-len(settings) :])

    def __call__(self, params: Params) -> float:
        return self.evaluate_many([params])[0]


class ScreenedSearchCV(SoundEstimator, BaseSearchCV):
    """Tune numeric settings in some twenty fits, and learn which of them matter.

    A two-level fraction of the settings is scored; those whose effects a stepwise regression keeps
    are climbed along the steepest ascent (or tried on a grid); the others keep their defaults.

    Parameters
    ----------
    estimator : estimator
        What to tune.
    param_space : dict of str to tuple
        For each parameter (low, high), (low, high, "log") or (low, high, "int"): the two levels of
        the screening. An ascent may leave them, up to `limits`.
    method : {"rsm", "factorial"}, default="rsm"
        Climb the fitted plane (the paper's SO), or try all levels of what matters (SO').
    levels : int, default=5
        Levels of each relevant parameter, for ``method="factorial"``.
    validation : float, default=0.3
        Share of each fold's training rows on which settings are scored.
    cv : int, splitter or iterable, default=10
        Folds for the final scores; their test rows score no setting that was tried in that fold.
    defaults : dict, optional
        Values of parameters that turn out irrelevant; those of `estimator` by default.
    limits : dict of str to tuple, optional
        Hard ends (lowest, highest) of parameters, such as (0, 1) for a share; None for no end.
    resolution : int, default=4
        Least resolution of the fraction.
    center_points : int, default=0
        Runs in the middle of it.
    p_enter, p_remove : float, default=0.10 and 0.15
        p-values with which a parameter becomes relevant, and beyond which it is not.
    step : float, default=0.5
        Step of the ascent in coded units, at most 10: half of a range is one.
    patience : int, default=3
        Runs without a better score after which the ascent ends.
    n_rounds : int, default=1
        Most ascents, each after the first with a new first-order model.
    second_order : bool, default=False
        Whether a quadratic around the best point ends the search.
    include_screening : bool, default=False
        Whether the best may be a run of the screening; always so for ``method="factorial"``.
    max_iter : int, default=100
        Most steps of an ascent.
    scoring, n_jobs, refit, verbose, pre_dispatch, error_score, return_train_score : object
        As in `sklearn.model_selection.RandomizedSearchCV`, but that a fit that fails raises its
        error by default: a design with holes cannot be screened.
    random_state : int, RandomState instance or None, default=None
        Source of the validation parts.

    Attributes
    ----------
    best_params_, best_score_, best_estimator_, best_index_, cv_results_, scorer_, n_splits_
        As in `sklearn.model_selection.RandomizedSearchCV`; scores are those of validation.
    relevant_params_ : tuple of str
        What matters, in the order of entry.
    adequate_ : bool
        Whether anything does; if not, the defaults are kept, with a warning.
    screening_ : ScreeningResult
        The screening.
    path_ : AscentPath or None
        The ascent.
    n_iter_ : int
        Runs of the ascent.
    n_experiments_ : int
        Number of different settings that were scored.
    final_scores_ : ndarray of shape (n_splits,)
        Scores of the best settings on the test rows of each fold, averaged over tied settings.

    Notes
    -----
    The protocol is the paper's: one search whose scores are averaged over the training rows of all
    folds. Rows that are tested in one fold are trained on in others, so `final_scores_` are a
    little optimistic; put the whole search into `cross_val_score` for an estimate that is not.
    It is no method for categorical settings, nor for a few that interact strongly.

    References
    ----------
    A. Srinivasan and G. Ramakrishnan (2011). Parameter Screening and Optimisation for ILP using
    Designed Experiments. Journal of Machine Learning Research 12.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.svm import SVC
    >>> from octavo.search import ScreenedSearchCV
    >>> X, y = load_wine(return_X_y=True)
    >>> space = {"C": (0.1, 10, "log"), "gamma": (1e-4, 1e-2, "log"), "tol": (1e-4, 1e-2, "log")}
    >>> search = ScreenedSearchCV(SVC(), space, cv=3, random_state=0).fit(X, y)
    >>> print(search.relevant_params_, search.n_experiments_ < 25)
    ('gamma', 'C') True
    """

    _parameter_constraints: dict = {
        **BaseSearchCV._parameter_constraints,
        "param_space": [dict],
        "method": [StrOptions({"rsm", "factorial"})],
        "levels": [Interval(Integral, 2, 1000, closed="both")],
        "validation": [Interval(Real, 0, 1, closed="neither")],
        "defaults": [dict, None],
        "limits": [dict, None],
        "resolution": [Interval(Integral, 3, None, closed="left")],
        "center_points": [Interval(Integral, 0, 10_000, closed="both")],
        "p_enter": [Interval(Real, 0, 1, closed="both")],
        "p_remove": [Interval(Real, 0, 1, closed="both")],
        "step": [Interval(Real, 0, LARGEST_STEP, closed="right")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "n_rounds": [Interval(Integral, 1, 1000, closed="both")],
        "second_order": ["boolean"],
        "include_screening": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        param_space: dict,
        *,
        method: str = "rsm",
        levels: int = 5,
        validation: float = 0.3,
        cv: Any = 10,
        defaults: dict | None = None,
        limits: dict | None = None,
        resolution: int = 4,
        center_points: int = 0,
        p_enter: float = 0.10,
        p_remove: float = 0.15,
        step: float = 0.5,
        patience: int = 3,
        n_rounds: int = 1,
        second_order: bool = False,
        include_screening: bool = False,
        max_iter: int = 100,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        error_score: Any = "raise",
        return_train_score: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_space = param_space
        self.method = method
        self.levels = levels
        self.validation = validation
        self.defaults = defaults
        self.limits = limits
        self.resolution = resolution
        self.center_points = center_points
        self.p_enter = p_enter
        self.p_remove = p_remove
        self.step = step
        self.patience = patience
        self.n_rounds = n_rounds
        self.second_order = second_order
        self.include_screening = include_screening
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Search, and fit the best settings on all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            Their targets.
        **params : dict
            Passed to the ``fit`` of the estimator, the scorer and the splitter.

        Returns
        -------
        self : ScreenedSearchCV
            The fitted search.
        """
        super().fit(X, y, **params)
        self._set_final_scores_apart()
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = get_tags(self.estimator).target_tags.multi_output
        return tags

    @property
    def final_scores_(self) -> np.ndarray:
        """Scores of the best settings on the test rows of each fold."""
        check_is_fitted(self, "_final_scores")
        return np.array(self._final_scores)

    def _own_defaults(self) -> dict[str, Any]:
        own = self.estimator.get_params(deep=True)
        if unknown := [str(name) for name in self.param_space if name not in own]:
            raise ValueError(
                f"param_space names what {type(self.estimator).__name__} does not have: "
                f"{', '.join(unknown)}."
            )
        return OwnDefaults({name: own[name] for name in self.param_space})

    def _metric(self) -> str:
        return self.refit if isinstance(self.refit, str) else "score"

    def _run_search(self, evaluate_candidates: Callable) -> None:
        check_factors(self.param_space, self.limits, "param_space")
        defaults = self._own_defaults() if self.defaults is None else self.defaults
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        inner = HoldoutWithin(
            self._checked_cv_orig, self.validation, is_classifier(self.estimator), seed
        )
        scored = Candidates(evaluate_candidates, inner, self._metric())
        options: dict[str, Any] = {
            "defaults": defaults,
            "limits": self.limits,
            "resolution": self.resolution,
            "center_points": self.center_points,
            "p_enter": self.p_enter,
            "p_remove": self.p_remove,
        }
        try:
            found = self._search(scored, options)
        except FitFailed as failure:
            raise scored.error or failure from None
        if not found.adequate:  # scored all the same, so that there is a score to report
            scored(found.best_params)
        self._chosen = scored.params.index(found.best_params)
        self._n_final = len(found.tied_params)
        evaluate_candidates(found.tied_params)
        self.screening_, self.path_ = found.screening, found.path
        self.relevant_params_, self.adequate_ = found.screening.relevant, found.adequate
        self.n_experiments_ = len(scored.params)
        self.n_iter_ = 0 if found.path is None else len(found.path.responses)

    def _search(self, scored: Candidates, options: dict[str, Any]) -> ScreenedSearch:
        runs = Experiments(scored, deterministic=True)  # the same folds: repeats say nothing new
        if self.method == "factorial":
            return factorial_search(runs, self.param_space, levels=self.levels, **options)
        return response_surface_search(
            runs,
            self.param_space,
            step=self.step,
            patience=self.patience,
            n_rounds=self.n_rounds,
            second_order=self.second_order,
            include_screening=self.include_screening,
            max_iter=self.max_iter,
            **options,
        )

    def _select_best_index(self, refit: Any, refit_metric: str, results: Any) -> int:
        return self._chosen

    def _set_final_scores_apart(self) -> None:
        """Take the scores on test rows out of the table of the experiments."""
        results: dict[str, Any] = vars(self)["cv_results_"]
        kept = len(results["params"]) - self._n_final
        metric = self._metric()
        folds = [results[f"split{i}_test_{metric}"][kept:] for i in range(self.n_splits_)]
        self._final_scores = np.mean(folds, axis=1).tolist()
        self.cv_results_ = {key: values[:kept] for key, values in results.items()}
        for key in list(self.cv_results_):
            if key.startswith("rank_test_"):
                means = self.cv_results_[f"mean_test_{key.removeprefix('rank_test_')}"]
                worst = np.nan_to_num(means, nan=np.nanmin(means) - 1.0)
                self.cv_results_[key] = rankdata(-worst, method="min").astype(np.int32)
        del self._chosen, self._n_final
