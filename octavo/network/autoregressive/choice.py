"""Penalties chosen by predicting the past: each fold ends earlier than what it is judged on."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.network.autoregressive.base import CellScorer
from octavo.network.autoregressive.evaluation import feature_error, link_auc
from octavo.network.autoregressive.predictor import AutoregressiveLinkPredictor
from octavo.network.autoregressive.snapshots import Snapshot, dense, read_snapshots

__all__ = ["AutoregressiveLinkPredictorCV"]

# Shares of the penalties that leave nothing.
TAU_SHARES = (0.1, 0.03, 0.01, 0.003)
GAMMA_SHARES = (1e-2, 1e-3, 1e-4)
KAPPA_SHARES = (1e-3,)
SEARCH_TOL = 1e-3


class AutoregressiveLinkPredictorCV(CallbackSupportMixin, CellScorer):
    """Predict the next graph of a series with penalties that predicted the latest ones best.

    The last `n_splits` snapshots are predicted one by one, each from those before it.

    Parameters
    ----------
    taus, gammas, kappas : array-like, default=None
        Penalties to try. By default shares of those that leave nothing for the snapshots before
        the first one that is predicted: 0.1 to 0.003, 0.01 to 0.0001, and 0.001.
    estimator : AutoregressiveLinkPredictor, default=None
        All other parameters; the default one's if None.
    n_splits : int, default=2
        Snapshots that are predicted.
    scoring : {"auc", "features"}, default="auc"
        Area under the ROC curve of the links that came, or less the relative quadratic error of
        the features.

    Attributes
    ----------
    best_params_ : dict
        The `tau`, `gamma` and `kappa` chosen; the largest penalties of those that tie.
    best_score_ : float
        Their mean score over folds.
    cv_scores_ : ndarray of shape (n_taus, n_gammas, n_kappas, n_splits)
        All scores.
    taus_, gammas_, kappas_ : ndarray
        What was tried, from the largest on.
    best_estimator_ : AutoregressiveLinkPredictor
        Fitted to all snapshots.
    A_next_ : ndarray of shape (n, m)
        Its prediction.

    References
    ----------
    Richard, Gaïffas and Vayatis (2014), Section 5.1.

    Examples
    --------
    >>> from octavo.data import make_autoregressive_graphs
    >>> from octavo.network import AutoregressiveLinkPredictor, AutoregressiveLinkPredictorCV
    >>> series = make_autoregressive_graphs(n=20, rank=2, T=6, random_state=0)
    >>> model = AutoregressiveLinkPredictorCV([1e-3], [1e-2, 1e-4], [1e-3],
    ...     estimator=AutoregressiveLinkPredictor(rank=2)).fit(series.snapshots)
    >>> model.best_params_["gamma"]
    0.0001
    """

    _parameter_constraints = {
        "taus": ["array-like", None],
        "gammas": ["array-like", None],
        "kappas": ["array-like", None],
        "estimator": [AutoregressiveLinkPredictor, None],
        "n_splits": [Interval(Integral, 1, None, closed="left")],
        "scoring": [StrOptions({"auc", "features"})],
    }

    def __init__(
        self, taus=None, gammas=None, kappas=None, *, estimator=None, n_splits=2, scoring="auc"
    ):
        self.taus = taus
        self.gammas = gammas
        self.kappas = kappas
        self.estimator = estimator
        self.n_splits = n_splits
        self.scoring = scoring

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, snapshots: Any, y: Any = None) -> Self:
        """Choose penalties, then predict the graph that follows the series.

        Parameters
        ----------
        snapshots : array of shape (T, n, m), or list of matrices or networkx graphs
            Oldest first.
        y : ignored
            Present for the convention.

        Returns
        -------
        self : AutoregressiveLinkPredictorCV
            The fitted estimator.
        """
        plain = AutoregressiveLinkPredictor() if self.estimator is None else clone(self.estimator)
        matrices = read_snapshots(snapshots, plain.nonneg)
        n_first = len(matrices) - self.n_splits
        if n_first <= plain.order:
            raise ValueError(
                f"n_splits={self.n_splits} and order={plain.order} need at least "
                f"{self.n_splits + plain.order + 1} snapshots; got {len(matrices)}."
            )
        grids = self._grids(plain, matrices[:n_first])
        self.taus_, self.gammas_, self.kappas_ = grids
        shape = tuple(len(grid) for grid in grids)
        scores = np.empty((*shape, self.n_splits))
        search = clone(plain).set_params(tol=max(plain.tol, SEARCH_TOL))
        with FitProgress(self, scores.size, snapshots, step_name="fold") as progress:
            for place in np.ndindex(shape):
                tau, gamma, kappa = (grid[i] for grid, i in zip(grids, place, strict=True))
                search.set_params(tau=tau, gamma=gamma, kappa=kappa)
                for fold in range(self.n_splits):
                    past, came = matrices[: n_first + fold], matrices[n_first + fold]
                    scores[(*place, fold)] = self._score(search, past, came)
                    progress.step()
        self.cv_scores_ = scores
        means = scores.mean(axis=-1)
        best = np.unravel_index(int(means.argmax()), shape)
        values = (float(grid[i]) for grid, i in zip(grids, best, strict=True))
        self.best_params_ = dict(zip(("tau", "gamma", "kappa"), values, strict=True))
        self.best_score_ = float(means[best])
        self.best_estimator_ = plain.set_params(**self.best_params_).fit(matrices)
        self.A_next_ = self.best_estimator_.A_next_
        return self

    def _grids(self, plain: AutoregressiveLinkPredictor, past: list[Snapshot]) -> list[Floats]:
        """Return the penalties to try, each from the largest on, from the first fold's past."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # the penalties that leave nothing depend on kappa alone
            probe = clone(plain).set_params(max_iter=1, kappa=0.0).fit(past)
            kappas = self._grid("kappas", self.kappas, probe.kappa_max_, KAPPA_SHARES)
            probe = clone(plain).set_params(max_iter=1, kappa=float(kappas[-1])).fit(past)
        return [
            self._grid("taus", self.taus, probe.tau_max_, TAU_SHARES),
            self._grid("gammas", self.gammas, probe.gamma_max_, GAMMA_SHARES),
            kappas,
        ]

    def _grid(self, name: str, given: Any, largest: float, shares: Any) -> Floats:
        if given is None:
            return largest * np.array(shares)
        grid = np.asarray(given)
        if grid.ndim != 1 or not grid.size or grid.dtype.kind not in "iuf":
            raise ValueError(f"{name} must be a sequence of numbers; got {given!r}.")
        if not (np.isfinite(grid).all() and grid.min() >= 0.0):
            raise ValueError(f"{name} must be finite numbers of at least 0; got {given!r}.")
        return np.sort(grid.astype(np.float64))[::-1]

    def _score(self, model: Any, past: list[Snapshot], came: Snapshot) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(past)
        if self.scoring == "auc":
            truth = dense(came) != 0.0
            if truth.all() or not truth.any():
                raise ValueError(
                    "scoring='auc' needs snapshots with links and with pairs that have none; use "
                    "'features'."
                )
            return link_auc(truth, model.A_next_)
        came_features = model.features_of(came)
        if not came_features.any():
            return -float(model.predict_features().any())
        return -feature_error(model.predict_features(), came_features)

    def predict_features(self) -> Floats:
        """Return the features of the graph that is foreseen.

        Returns
        -------
        features : ndarray of shape (d,)
            As of `best_estimator_`.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_features()
