"""Tuning continuous hyper-parameters by natural evolution strategies."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state, get_tags

from octavo.engine.estimators.sklearn_door import BaseSearchCV, Interval
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.smooth.ask_tell import Bounds, propose
from octavo.search.evolution.gaussian_search import default_popsize
from octavo.search.evolution.xnes import XNES

__all__ = ["NESSearchCV"]


def check_space(space: dict) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """Return names, lower and upper ends (logarithms where asked) and which are logarithmic."""
    names, low, high, log = list(space), [], [], []
    for name in names:
        spec = tuple(space[name])
        scale = spec[2] if len(spec) == 3 else "linear"
        if len(spec) not in (2, 3) or scale not in ("linear", "log") or not spec[0] < spec[1]:
            raise ValueError(
                f"param_space[{name!r}] must be (low, high) or (low, high, 'log') with low < high; "
                f"got {space[name]!r}."
            )
        if scale == "log" and spec[0] <= 0:
            raise ValueError(f"param_space[{name!r}]: a logarithmic range must be positive.")
        log.append(scale == "log")
        low.append(np.log(spec[0]) if scale == "log" else spec[0])
        high.append(np.log(spec[1]) if scale == "log" else spec[1])
    if not names:
        raise ValueError("param_space names no parameter.")
    return names, np.array(low, float), np.array(high, float), np.array(log)


class NESSearchCV(SoundEstimator, BaseSearchCV):
    """Search of continuous hyper-parameters with cross-validation and `XNES`.

    Parameters
    ----------
    estimator : estimator
        What to tune.
    param_space : dict of str to tuple
        For each parameter (low, high), or (low, high, "log") to search its logarithm.
    n_generations : int, default=10
        Generations of candidates.
    popsize : int, optional
        Candidates in a generation, by default 4 + ⌊3 ln d⌋.
    sigma0 : float, default=0.25
        First standard deviation, as a share of each range; the search begins in the middle.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score : object
        As in `sklearn.model_selection.RandomizedSearchCV`.
    random_state : int, RandomState instance or None, default=None
        Source of the candidates.

    Attributes
    ----------
    best_params_, best_score_, best_estimator_, best_index_, cv_results_, scorer_, n_splits_
        As in `sklearn.model_selection.RandomizedSearchCV`.
    search_ : XNES
        The search in the unit cube, as it ended.

    Notes
    -----
    Scores of cross-validation are noisy and a search chooses the luckiest: report the score of
    the winner on fresh data. Do not use it for categorical parameters, or when fewer than some
    fifty fits can be afforded.

    References
    ----------
    D. Wierstra, T. Schaul, T. Glasmachers, Y. Sun, J. Peters and J. Schmidhuber (2014). Natural
    Evolution Strategies. Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from octavo.search import NESSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> space = {"C": (1e-2, 1e3, "log"), "gamma": (1e-4, 1e1, "log")}
    >>> search = NESSearchCV(SVC(), space, n_generations=5, random_state=0).fit(X, y)
    >>> print(round(search.best_score_, 2))
    0.99
    """

    _parameter_constraints: dict = {
        **BaseSearchCV._parameter_constraints,
        "param_space": [dict],
        "n_generations": [Interval(Integral, 1, None, closed="left")],
        "popsize": [Interval(Integral, 2, None, closed="left"), None],
        "sigma0": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        param_space: dict,
        *,
        n_generations: int = 10,
        popsize: int | None = None,
        sigma0: float = 0.25,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        error_score: Any = np.nan,
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
        self.n_generations = n_generations
        self.popsize = popsize
        self.sigma0 = sigma0
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Search, and fit the best candidate on all rows.

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
        self : NESSearchCV
            The fitted search.
        """
        return super().fit(X, y, **params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).target_tags
        tags.target_tags.multi_output = inner.multi_output
        return tags

    def _run_search(self, evaluate_candidates: Callable) -> None:
        names, low, high, log = check_space(self.param_space)
        d = len(names)
        popsize = default_popsize(d) if self.popsize is None else self.popsize
        search = XNES(
            np.full(d, 0.5),
            self.sigma0,
            popsize=popsize,
            random_state=check_random_state(self.random_state),
        )
        cube = Bounds(np.zeros(d), np.ones(d), "resample")
        metric = self.refit if isinstance(self.refit, str) else "score"
        for _ in range(self.n_generations):
            U = propose(search, None, cube)
            values = low + U * (high - low)
            values = np.where(log, np.exp(values), values)
            candidates = [dict(zip(names, map(float, row))) for row in values]
            scores = evaluate_candidates(candidates)[f"mean_test_{metric}"][-len(U) :]
            if not np.isnan(scores).all():  # else there is nothing to learn from
                search.tell(U, -np.asarray(scores, dtype=float))
        self.search_ = search
