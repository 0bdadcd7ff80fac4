"""The trade-offs of entropy regularisation and multi-conditional learning by cross-validation."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from octavo.bayes.generative_ssl.estimator import SemiSupervisedGenerativeClassifier
from octavo.bayes.generative_ssl.targets import PartialLabels
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context

__all__ = ["SemiSupervisedGenerativeClassifierCV"]

TRADE_OFFS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)


class SemiSupervisedGenerativeClassifierCV(SemiSupervisedGenerativeClassifier):
    """Choose λ or β of a semi-supervised objective on held-out labelled rows.

    With objective "entropy_reg" or "multi_conditional" and scoring "error" or "nll" it is the
    paper's ERer, ERnll, MCer and MCnll.

    Parameters
    ----------
    model : {"gaussian_nb", "qda", "lda", "gmm", "multinomial_nb", "bernoulli_nb"} or object, \
default="gaussian_nb"
        As for `SemiSupervisedGenerativeClassifier`.
    objective : {"entropy_reg", "multi_conditional", "expectation_reg"}, default="entropy_reg"
        What is maximised.
    scoring : {"nll", "error"}, default="nll"
        What is small on held-out rows: the mean of -log p(x, y), or the share of wrong classes.
    trade_offs : array-like or None, default=None
        Values of λ or β to try; 0.001 to 10 in powers of ten where None.
    cv : int, default=5
        Folds of the labelled rows; unlabelled rows are in every fold's training part, and so is
        the only row of a class that has one.
    unlabelled_weight, priors, var_floor, mean_penalty, n_init, solver, max_iter, tol, alpha, \
n_components, label_design, unlabelled_marker, test_shift, random_state, bounds : object
        As for `SemiSupervisedGenerativeClassifier`.

    Attributes
    ----------
    trade_off_ : float
        The value chosen, the first of the best.
    trade_offs_ : ndarray
        The values tried.
    cv_scores_ : ndarray of shape (n_values, n_folds)
        Scores on held-out rows; smaller is better.
    classes_, class_log_prior_, means_, vars_, covariances_, weights_, feature_log_prob_, theta_, \
objective_, objectives_, converged_, n_iter_, n_labelled_, n_unlabelled_ : object
        Of the fit to all rows with that value.

    See Also
    --------
    SemiSupervisedGenerativeClassifier : Its objective "unbiased" needs no choice.

    References
    ----------
    .. [1] C. Fox-Roberts and E. Rosten (2014). "Unbiased Generative Semi-Supervised Learning".
       Journal of Machine Learning Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import SemiSupervisedGenerativeClassifierCV
    >>> rng = np.random.RandomState(0)
    >>> truth = rng.randint(0, 2, 200)
    >>> X = rng.standard_normal((200, 2)) + 3.0 * truth[:, None]
    >>> y = np.where(np.arange(200) < 20, truth, -1)
    >>> model = SemiSupervisedGenerativeClassifierCV(
    ...     objective="multi_conditional", n_init=0, random_state=0
    ... )
    >>> round(model.fit(X, y).score(X, truth), 2), model.cv_scores_.shape
    (0.99, (5, 5))
    """

    _parameter_constraints: dict[str, Any] = {
        **{
            name: rule
            for name, rule in SemiSupervisedGenerativeClassifier._parameter_constraints.items()
            if name != "trade_off"
        },
        "objective": [StrOptions({"entropy_reg", "multi_conditional", "expectation_reg"})],
        "scoring": [StrOptions({"nll", "error"})],
        "trade_offs": [None, "array-like"],
        "cv": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        model: Any = "gaussian_nb",
        objective: str = "entropy_reg",
        scoring: str = "nll",
        trade_offs: Any = None,
        cv: int = 5,
        unlabelled_weight: str | float = "auto",
        priors: Any = None,
        var_floor: float = 1e-3,
        mean_penalty: float = 1e-5,
        n_init: int = 5,
        solver: str = "lbfgs",
        max_iter: int = 500,
        tol: float = 1e-6,
        alpha: float = 1.0,
        n_components: int = 2,
        label_design: str = "random",
        unlabelled_marker: Any = -1,
        test_shift: bool = False,
        random_state: Any = None,
        *,
        bounds: Any = None,
    ) -> None:
        self.model = model
        self.objective = objective
        self.scoring = scoring
        self.trade_offs = trade_offs
        self.cv = cv
        self.unlabelled_weight = unlabelled_weight
        self.priors = priors
        self.var_floor = var_floor
        self.mean_penalty = mean_penalty
        self.n_init = n_init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.alpha = alpha
        self.n_components = n_components
        self.label_design = label_design
        self.unlabelled_marker = unlabelled_marker
        self.test_shift = test_shift
        self.random_state = random_state
        self.bounds = bounds

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Choose the trade-off, then fit to all rows with it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows; sparse for the naive Bayes models.
        y : array-like of shape (n_samples,)
            Labels; ``unlabelled_marker``, None or NaN where a row has none.

        Returns
        -------
        self : SemiSupervisedGenerativeClassifierCV
            The fitted classifier.
        """
        X, labels = self._read(X, y)
        values = _check_values(self.trade_offs)
        folds = list(held_out_folds(labels.codes, self.cv, check_random_state(self.random_state)))
        scores = np.empty((len(values), len(folds)))
        seed = self.random_state
        with FitProgress(self, None, X, y) as progress:
            for f, rows in enumerate(folds):
                for v, value in enumerate(values):
                    scores[v, f] = self._held_out_score(X, labels, rows, value, progress)
            self.trade_offs_, self.cv_scores_ = values, scores
            self.trade_off_ = float(values[scores.mean(axis=1).argmin()])
            assert self.random_state is seed
            self._fit_rows(X, labels, self.trade_off_, progress)
        return self

    def _held_out_score(
        self, X: Any, labels: PartialLabels, rows: Indices, value: float, progress: FitProgress
    ) -> float:
        keep = np.ones(len(labels.codes), dtype=bool)
        keep[rows] = False
        part = PartialLabels(labels.classes, labels.codes[keep])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said of the last fit
            self._fit_rows(X[keep], part, value, progress)
        held = X[rows] if self._axes is None else self._axes.scaled(X[rows])
        q = self._model.log_joint(self.theta_, held)
        if self._axes is not None:
            q = q - self._axes.log_volume  # the density in the units of the data
        truth = labels.codes[rows]
        if self.scoring == "error":
            return float(np.mean(q.argmax(axis=1) != truth))
        return float(-np.mean(q[np.arange(len(rows)), truth]))


def _check_values(trade_offs: Any) -> Floats:
    values = np.array(TRADE_OFFS if trade_offs is None else trade_offs, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all() or values.min() < 0:
        raise ValueError(
            f"trade_offs must be a list of finite numbers, none negative; got {trade_offs!r}."
        )
    return values


def held_out_folds(codes: Indices, cv: int, rng: np.random.RandomState) -> list[Indices]:
    """Return rows to hold out, fold by fold: labelled, and never the only one of its class.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Classes, -1 where unknown.
    cv : int
        Folds.
    rng : RandomState
        Which rows go where.

    Returns
    -------
    folds : list of ndarray
        Positions of rows; at least two folds.
    """
    labelled = np.flatnonzero(codes >= 0)
    counts = np.bincount(codes[labelled])
    free = labelled[counts[codes[labelled]] > 1]
    if not free.size:
        raise ValueError(
            "Cross-validation needs a class with at least two labelled rows; every class has one."
        )
    # No class may lose all its rows to one fold: as many folds as its rows suffice for that.
    n_splits = int(min(cv, counts.max()))
    splits = StratifiedKFold(n_splits, shuffle=True, random_state=rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with fewer rows than folds are fine
        found = [free[test] for _, test in splits.split(free, codes[free])]
    return [rows for rows in found if rows.size]
