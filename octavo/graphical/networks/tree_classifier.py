"""Classifiers that are Bayesian networks: naive Bayes and trees, with selection of features.

The class is a root. In a naive network a feature has the class as parent, or none; in a
tree-augmented one it may have one other feature besides. Which features are linked, and how, is the
global optimum of a score, found as a network under constraints.

Reference: C. P. de Campos and Q. Ji (2011), "Efficient Structure Learning of Bayesian Networks
using Constraints", JMLR 12, section 3.1; N. Friedman, D. Geiger and M. Goldszmidt (1997), "Bayesian
network classifiers", Machine Learning 29.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from octavo.engine.discrete.contingency import distinct_rows
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.graphical.network_scores.constraints import (
    RuleTemplate,
    naive_bayes_structure,
    required_arc,
    tan_structure,
)
from octavo.graphical.network_scores.state_table import (
    Column,
    code_table,
    declared_categories,
    fit_columns,
)
from octavo.graphical.networks.learner import STRUCTURE_CONSTRAINTS, learn_structure
from octavo.graphical.networks.model import BayesianNetworkModel

__all__ = ["NaiveBayesSelect", "TANClassifier"]

CLASS = "class"


class NetworkClassifier(CallbackSupportMixin, ClassifierMixin, SoundEstimator):
    """What the two classifiers share: a network whose last node is the class."""

    _parameter_constraints: dict[str, Any] = {
        **{k: v for k, v in STRUCTURE_CONSTRAINTS.items() if k != "max_parents"},
        "select": ["boolean"],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "handle_unknown": [StrOptions({"error", "ignore"})],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _rules(self, names: list[str]) -> list[Any]:
        raise NotImplementedError

    def _search_options(self) -> dict[str, Any]:
        return {}

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Learn network and probabilities.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Complete categorical data.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : estimator
            The fitted classifier.
        """
        declared = declared_categories(X)
        X, y = validate_data(self, X, y, dtype=None)
        y = column_or_1d(y, warn=True)
        self.classes_, targets = encode_classes(y, owner=self)
        named = getattr(self, "feature_names_in_", range(X.shape[1]))
        self.columns_ = fit_columns(
            X,
            [str(name) for name in named],
            declared,
            discretize=self.discretize,
            n_bins=self.n_bins,
            on_constant="isolate",
        )
        codes = np.column_stack([code_table(X, self.columns_), targets]).astype(np.int32)
        columns = [*self.columns_, Column(self._class_name(), tuple(self.classes_.tolist()))]
        self._learn(codes, columns, X)
        return self

    def _class_name(self) -> str:
        taken = {column.name for column in self.columns_}
        name = CLASS
        while name in taken:
            name += "_"
        return name

    def _learn(self, codes: NDArray[np.int32], columns: list[Column], X: Any) -> None:
        names = [column.name for column in columns]
        rows = distinct_rows(codes, [len(column.states) for column in columns])
        with FitProgress(self, None, X) as progress:
            learned = learn_structure(
                rows,
                names,
                score=self.criterion,
                ess=self.ess,
                constraints=self._rules(names),
                random_state=self.random_state,
                n_jobs=self.n_jobs,
                on_step=progress.step,
                **self._search_options(),
            )
        found, target = learned.result, len(names) - 1
        self.parents_, self.score_, self.upper_bound_ = (
            found.parents,
            found.score,
            found.upper_bound,
        )
        self.duality_gap_, self.optimal_, self.n_iter_ = found.gap, found.optimal, found.n_steps
        self.cache_ = learned.cache
        linked = [target in of for of in found.parents[:target]]
        # A feature without the class as parent still tells if it is a parent of one that has.
        used = {p for of in found.parents[:target] if target in of for p in of}
        self.support_ = np.array([flag or v in used for v, flag in enumerate(linked)], np.bool_)
        self.model_ = BayesianNetworkModel.from_codes(codes, columns, found.parents, self.smoothing)

    @property
    def dag_(self) -> Any:
        """The network as a networkx.DiGraph; the class is its last node."""
        check_is_fitted(self, "model_")
        import networkx as nx

        names = self.model_.names
        graph = nx.DiGraph()
        graph.add_nodes_from(names)
        graph.add_edges_from((names[p], names[v]) for v, of in enumerate(self.parents_) for p in of)
        return graph

    def predict_proba(self, X):
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. A state that was not there at fit raises a ValueError, or is summed out with
            ``handle_unknown="ignore"``.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One row a sample.
        """
        check_is_fitted(self, "model_")
        X = validate_data(self, X, dtype=None, reset=False)
        codes = code_table(X, self.columns_, self.handle_unknown)
        whole = np.column_stack([codes, np.zeros(len(codes), np.int32)])
        if (codes < 0).any():
            return self.model_.proba_of_partial_codes(whole, codes.shape[1])
        return self.model_.proba_of_codes(whole, codes.shape[1])

    def predict(self, X):
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]


class TANClassifier(NetworkClassifier):
    """Tree-augmented naive Bayes: each feature depends on the class and on one other feature.

    The best forest and the best choice of features are found together, as the global optimum
    of a score over networks.

    Parameters
    ----------
    criterion : {"bic", "aic", "bdeu", "k2", "bd", "bde", "loglik"}, default="bic"
        Score of a network. "loglik" without selection is the classical TAN: the spanning tree of
        largest conditional mutual information.
    ess : float, default=1.0
        Equivalent sample size of "bdeu".
    select : bool, default=True
        Whether features may stay unlinked; otherwise the class is a parent of all.
    smoothing : float, default=1.0
        Added to every count when probabilities are estimated.
    method : {"auto", "bnb", "dp", "ilp", "order", "hc"}, default="auto"
        How the network is found.
    time_limit : float or None, default=None
        Seconds of search.
    max_iter : int or None, default=None
        Largest number of steps of the search.
    gap : float, default=0.0
        Relative gap at which the search stops.
    discretize : {"mean", "quantile"} or None, default=None
        How to cut columns of numbers that are not integers; None refuses them.
    n_bins : int, default=3
        Intervals of "quantile".
    handle_unknown : {"error", "ignore"}, default="error"
        Whether states not seen at fit are refused by `predict`, or summed out.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance or None, default=None
        Draws the orders from which searches start.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    parents_ : list of tuple of int
        Parents of each feature and, last, of the class, which is node `n_features_in_`.
    support_ : ndarray of shape (`n_features_in_`,), dtype bool
        The features that tell of the class.
    score_, upper_bound_, duality_gap_ : float
        Score of the network, a bound on all of them, and the relative gap.
    optimal_ : bool
        Whether the gap is closed.
    n_iter_ : int
        Steps of the search.
    cache_ : ParentSetCache
        The parent sets that were left.
    model_ : BayesianNetworkModel
        The network with its probabilities.
    dag_ : networkx.DiGraph
        The network.
    columns_ : list of Column
        Name and states of each feature.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    NaiveBayesSelect : No arcs between features.
    sklearn.naive_bayes.CategoricalNB : Naive Bayes with all features.

    Notes
    -----
    The score judges the joint distribution, not the prediction; do not use it where accuracy is
    all that counts and data are many: `sklearn.ensemble.HistGradientBoostingClassifier` takes
    categories, too. Columns of a single state are left unlinked with a warning.

    References
    ----------
    .. [1] C. P. de Campos and Q. Ji (2011). "Efficient Structure Learning of Bayesian Networks
       using Constraints". Journal of Machine Learning Research 12.
    .. [2] N. Friedman, D. Geiger and M. Goldszmidt (1997). "Bayesian Network Classifiers".
       Machine Learning 29.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import TANClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (300, 3))
    >>> y = X[:, 0] ^ X[:, 1]
    >>> model = TANClassifier(criterion="loglik", select=False).fit(X, y)
    >>> round(model.score(X, y), 2)
    1.0
    """

    def __init__(
        self,
        criterion: str = "bic",
        ess: float = 1.0,
        select: bool = True,
        smoothing: float = 1.0,
        method: str = "auto",
        time_limit: float | None = None,
        max_iter: int | None = None,
        gap: float = 0.0,
        *,
        discretize: str | None = None,
        n_bins: int = 3,
        handle_unknown: str = "error",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.criterion = criterion
        self.ess = ess
        self.select = select
        self.smoothing = smoothing
        self.method = method
        self.time_limit = time_limit
        self.max_iter = max_iter
        self.gap = gap
        self.discretize = discretize
        self.n_bins = n_bins
        self.handle_unknown = handle_unknown
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _rules(self, names: list[str]) -> list[RuleTemplate]:
        return [tan_structure(names[-1], select=self.select)]  # Section 3.1's constraints

    def _search_options(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "time_limit": self.time_limit,
            "max_iter": self.max_iter,
            "gap": self.gap,
        }


class NaiveBayesSelect(NetworkClassifier):
    """Naive Bayes that keeps the features whose arc from the class improves the score.

    Parameters
    ----------
    criterion : {"bic", "aic", "bdeu", "k2", "bd", "bde", "loglik"}, default="bic"
        Score of a network.
    ess : float, default=1.0
        Equivalent sample size of "bdeu".
    select : bool, default=True
        Whether features may stay unlinked; otherwise it is the usual naive Bayes.
    smoothing : float, default=1.0
        Added to every count when probabilities are estimated.
    discretize : {"mean", "quantile"} or None, default=None
        How to cut columns of numbers that are not integers; None refuses them.
    n_bins : int, default=3
        Intervals of "quantile".
    handle_unknown : {"error", "ignore"}, default="error"
        Whether states not seen at fit are refused by `predict`, or summed out.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance or None, default=None
        Not used: there is nothing to search.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    parents_ : list of tuple of int
        Parents of each feature and, last, of the class, which is node `n_features_in_`.
    support_ : ndarray of shape (`n_features_in_`,), dtype bool
        The features that were kept.
    score_, upper_bound_, duality_gap_ : float
        Score of the network, a bound on all of them, and the relative gap, which is zero.
    optimal_ : bool
        Always True.
    n_iter_ : int
        Steps of the search.
    cache_ : ParentSetCache
        The parent sets that were left.
    model_ : BayesianNetworkModel
        The network with its probabilities.
    dag_ : networkx.DiGraph
        The network.
    columns_ : list of Column
        Name and states of each feature.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    TANClassifier : One arc between features allowed as well.
    sklearn.naive_bayes.CategoricalNB : Naive Bayes with all features.

    Notes
    -----
    Do not use it where features depend on each other given the class: their evidence is counted
    twice. Without selection `sklearn.naive_bayes.CategoricalNB` does the same.

    References
    ----------
    .. [1] C. P. de Campos and Q. Ji (2011). "Efficient Structure Learning of Bayesian Networks
       using Constraints". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import NaiveBayesSelect
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (300, 3))
    >>> y = X[:, 0] ^ (rng.random(300) < 0.1)
    >>> NaiveBayesSelect().fit(X, y).support_
    array([ True, False, False])
    """

    _parameter_constraints: dict[str, Any] = {
        k: v
        for k, v in NetworkClassifier._parameter_constraints.items()
        if k not in ("method", "time_limit", "max_iter", "gap")
    }

    def __init__(
        self,
        criterion: str = "bic",
        ess: float = 1.0,
        select: bool = True,
        smoothing: float = 1.0,
        *,
        discretize: str | None = None,
        n_bins: int = 3,
        handle_unknown: str = "error",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.criterion = criterion
        self.ess = ess
        self.select = select
        self.smoothing = smoothing
        self.discretize = discretize
        self.n_bins = n_bins
        self.handle_unknown = handle_unknown
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _rules(self, names: list[str]) -> list[Any]:
        arcs = [] if self.select else [required_arc(names[-1], name) for name in names[:-1]]
        return [naive_bayes_structure(names[-1]), *arcs]
