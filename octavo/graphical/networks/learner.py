"""Provably optimal Bayesian networks for categorical data, with expert constraints.

The score of a network is a sum over its nodes. Parent sets that no optimal network can have are
pruned, then the best acyclic choice is found exactly, or with a bound on what is missing if the
search is stopped.

Reference: C. P. de Campos and Q. Ji (2011), "Efficient Structure Learning of Bayesian Networks
using Constraints", JMLR 12. The pieces are in `network_scores`, the searches
in `network_search`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.discrete.contingency import CountedRows, distinct_rows
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.graphical.network_scores.constraints import CompiledRules
from octavo.graphical.network_scores.local_scores import SCORES, FamilyScorer
from octavo.graphical.network_scores.parent_sets import PRUNING, ParentSetCache
from octavo.graphical.network_scores.state_table import (
    Column,
    code_table,
    declared_categories,
    fit_columns,
)
from octavo.graphical.network_search.climb import hill_climb
from octavo.graphical.network_search.dispatch import (
    EXACT,
    METHODS,
    NetworkResult,
    solve_parent_sets,
)
from octavo.graphical.networks.equivalence import cpdag
from octavo.graphical.networks.model import BayesianNetworkModel

__all__ = ["BayesianNetworkStructureLearner"]

# What every learner of a structure takes, and how it is checked.
STRUCTURE_CONSTRAINTS: dict[str, Any] = {
    "criterion": [StrOptions(set(SCORES))],
    "ess": [Interval(Real, 0, None, closed="neither")],
    "method": [StrOptions(set(METHODS))],
    "max_parents": [Interval(Integral, 0, None, closed="left"), None],
    "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    "gap": [Interval(Real, 0, None, closed="left")],
    "discretize": [StrOptions({"mean", "quantile"}), None],
    "n_bins": [Interval(Integral, 2, None, closed="left")],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
}


class LearnedStructure(NamedTuple):
    """A network with the cache it was chosen from (None for hill climbing) and its rules."""

    result: NetworkResult
    cache: ParentSetCache | None
    rules: CompiledRules


def learn_structure(
    rows: CountedRows,
    names: list[str],
    *,
    score: str = "bic",
    ess: float = 1.0,
    alpha: Any = 1.0,
    prior: Any = None,
    method: str = "auto",
    constraints: Any = None,
    max_parents: int | None = None,
    time_limit: float | None = None,
    max_iter: int | None = None,
    gap: float = 0.0,
    bottom: int = 3,
    pruning: str = "all",
    n_jobs: int | None = None,
    random_state: Any = None,
    on_step: Callable[[], bool] = lambda: False,
) -> LearnedStructure:
    """Score parent sets and search; the parameters are those of the learner."""
    rules = CompiledRules(constraints, names, max_parents)
    scorer = FamilyScorer(rows, score, ess=ess, alpha=alpha, prior=prior, n_jobs=n_jobs)
    if method == "hc":
        parents, value, steps, trace = hill_climb(
            scorer, rules, max_iter=max_iter, time_limit=time_limit, on_step=on_step
        )
        found = NetworkResult(parents, value, math.inf, math.inf, False, steps, trace)
        return LearnedStructure(found, None, rules)
    cache = ParentSetCache.from_scorer(scorer, rules, pruning, on_step)
    found = solve_parent_sets(
        cache,
        method,
        time_limit=time_limit,
        max_iter=max_iter,
        gap=gap,
        bottom=bottom,
        n_jobs=n_jobs,
        random_state=random_state,
        on_step=on_step,
    )
    if method in EXACT and not found.optimal and found.gap > gap:
        warnings.warn(
            f"The search stopped before its end: the score {found.score:.6g} may be up to "
            f"{found.upper_bound - found.score:.4g} below the best (gap {found.gap:.3g}).",
            ConvergenceWarning,
            stacklevel=2,
        )
    return LearnedStructure(found, cache, rules)


def table_of(
    estimator: Any, X: Any, *, reset: bool, on_constant: str = "raise"
) -> tuple[NDArray[np.int32], list[Column]]:
    """Validate a table, and return its codes and columns; at fit the states are found."""
    declared = declared_categories(X)
    values = validate_data(
        estimator, X, dtype=None, reset=reset, ensure_min_samples=2 if reset else 1
    )
    if values.dtype == object and (values == None).any():  # noqa: E711 (of each cell)
        raise ValueError("Input X contains None. Fill missing cells, or make them a state.")
    if not reset:
        return code_table(values, estimator.columns_), estimator.columns_
    names = getattr(estimator, "feature_names_in_", None)
    names = [str(n) for n in (range(values.shape[1]) if names is None else names)]
    columns = fit_columns(
        values,
        names,
        declared,
        discretize=estimator.discretize,
        n_bins=estimator.n_bins,
        on_constant=on_constant,
    )
    return code_table(values, columns), columns


class BayesianNetworkStructureLearner(CallbackSupportMixin, SoundEstimator):
    """Learn the Bayesian network of largest score, with proof, under expert constraints.

    Parameters
    ----------
    criterion : {"bic", "aic", "bdeu", "k2", "bd", "bde", "loglik"}, default="bic"
        Score that a network is judged by, in natural logarithms; larger is better. "loglik" has no
        penalty and needs `max_parents` or constraints.
    ess : float, default=1.0
        Equivalent sample size of "bdeu" and "bde". The optimum is very sensitive to it.
    method : {"auto", "bnb", "dp", "ilp", "order", "hc"}, default="auto"
        Exact: "dp", dynamic programming over subsets of nodes, in full up to 22 nodes and best
        first up to 63; "ilp", integer programming with cycle cuts; "bnb", branch and bound.
        Not exact: "order", climbing from random orders of the nodes, with a bound; "hc", hill
        climbing over arcs, which needs no cache of parent sets and gives no bound. "auto" is
        "dp", or "ilp" where more than 63 nodes can form cycles.
    constraints : list of NetworkRule or RuleTemplate, or None, default=None
        Rules that all must hold, made by `required_arc`, `forbidden_arc`, `indegree`,
        `tiered_structure`, `tan_structure` and so on.
    max_parents : int or None, default=None
        Largest number of parents of any node.
    time_limit : float or None, default=None
        Seconds of search, after which the best network so far is kept.
    max_iter : int or None, default=None
        Largest number of steps of the search (cases, states, programs, orders or moves).
    gap : float, default=0.0
        Stop when (upper bound − score) over the absolute score is this small.
    bottom : int, default=3
        Branch and bound takes every `bottom`-th case from the bottom of its queue.
    n_jobs : int or None, default=None
        Number of threads that count tables and branch.
    random_state : int, RandomState instance or None, default=None
        Draws the orders from which searches start.
    alpha : float or callable, default=1.0
        Hyper-parameters of "bd": a number for all cells, or a function of (node, parents).
    prior : list of array-like, BayesianNetworkModel or None, default=None
        Prior distribution of "bde"; None is uniform.
    pruning : {"all", "paper", "lemma", "none"}, default="all"
        Rules that cut parent sets. All give the same network.
    discretize : {"mean", "quantile"} or None, default=None
        How to cut columns that hold numbers that are not integers: at their mean, or into
        `n_bins` intervals of equal count. None refuses them.
    n_bins : int, default=3
        Intervals of "quantile".
    on_constant : {"raise", "isolate"}, default="raise"
        What to do with a column of a single state: refuse it, or warn and give it no arcs.

    Attributes
    ----------
    dag_ : networkx.DiGraph
        The network; nodes are names of columns, or their positions where there are none.
    cpdag_ : networkx.DiGraph
        Its equivalence class; a link that can be turned is a pair of arcs.
    parents_ : list of tuple of int
        Parents of each node, by position.
    score_ : float
        Its score.
    upper_bound_ : float
        No network that satisfies the constraints scores more.
    duality_gap_ : float
        (`upper_bound_` − `score_`) / abs(`score_`).
    optimal_ : bool
        Whether the gap is closed.
    cache_ : ParentSetCache or None
        The parent sets that were left, with counts of those evaluated and cut; None for "hc".
    n_iter_ : int
        Steps of the search.
    history_ : tuple of TracePoint
        Seconds, best score and upper bound as the search went on.
    columns_ : list of Column
        Name and states of each column.
    required_arcs_, forbidden_arcs_ : list of tuple of int
        Arcs (parent, child) that the constraints fix.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    TANClassifier : A network built to predict one variable.
    DynamicBNLearner : A network over time.
    solve_parent_sets : The search alone, on a cache from elsewhere.

    Notes
    -----
    Arcs are not causes: members of `cpdag_` cannot be told apart by data. Do not use it for
    continuous data; scikit-learn's `sklearn.covariance.GraphicalLasso` finds undirected graphs of
    Gaussian variables. With hundreds of variables exact search is hopeless: use ``method="hc"``
    or ``"order"``.

    References
    ----------
    .. [1] C. P. de Campos and Q. Ji (2011). "Efficient Structure Learning of Bayesian Networks
       using Constraints". Journal of Machine Learning Research 12.
    .. [2] C. Yuan and B. Malone (2013). "Learning Optimal Bayesian Networks: A Shortest Path
       Perspective". Journal of Artificial Intelligence Research 48.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import BayesianNetworkStructureLearner, forbidden_arc
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.integers(0, 2, (2, 300))
    >>> X = np.column_stack([a, b, (a | b) ^ (rng.random(300) < 0.05)])
    >>> learner = BayesianNetworkStructureLearner().fit(X)
    >>> learner.parents_, round(learner.score_, 2), learner.optimal_
    ([(), (), (0, 1)], -474.98, True)
    >>> learner.set_params(constraints=[forbidden_arc(0, 2)]).fit(X).parents_
    [(1, 2), (2,), ()]
    """

    _parameter_constraints: dict[str, Any] = {
        **STRUCTURE_CONSTRAINTS,
        "constraints": "no_validation",
        "bottom": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="neither"), callable],
        "prior": "no_validation",
        "pruning": [StrOptions(set(PRUNING))],
        "on_constant": [StrOptions({"raise", "isolate"})],
    }

    def __init__(
        self,
        criterion: str = "bic",
        ess: float = 1.0,
        method: str = "auto",
        constraints: Any = None,
        max_parents: int | None = None,
        time_limit: float | None = None,
        max_iter: int | None = None,
        gap: float = 0.0,
        bottom: int = 3,
        n_jobs: int | None = None,
        random_state: Any = None,
        *,
        alpha: Any = 1.0,
        prior: Any = None,
        pruning: str = "all",
        discretize: str | None = None,
        n_bins: int = 3,
        on_constant: str = "raise",
    ) -> None:
        self.criterion = criterion
        self.ess = ess
        self.method = method
        self.constraints = constraints
        self.max_parents = max_parents
        self.time_limit = time_limit
        self.max_iter = max_iter
        self.gap = gap
        self.bottom = bottom
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.alpha = alpha
        self.prior = prior
        self.pruning = pruning
        self.discretize = discretize
        self.n_bins = n_bins
        self.on_constant = on_constant

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn the network.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Complete categorical data: integers, strings or pandas categories.
        y : None
            Ignored.

        Returns
        -------
        self : BayesianNetworkStructureLearner
            The learner with its network.
        """
        codes, self.columns_ = table_of(self, X, reset=True, on_constant=self.on_constant)
        self._rows = distinct_rows(codes, [len(column.states) for column in self.columns_])
        names = [column.name for column in self.columns_]
        options = self.get_params(deep=False)
        for own in ("discretize", "n_bins", "on_constant"):
            options.pop(own)
        options["score"] = options.pop("criterion")
        with FitProgress(self, None, X) as progress:
            learned = learn_structure(self._rows, names, on_step=progress.step, **options)
        found = learned.result
        self.parents_, self.score_, self.upper_bound_ = (
            found.parents,
            found.score,
            found.upper_bound,
        )
        self.duality_gap_, self.optimal_ = found.gap, found.optimal
        self.n_iter_, self.history_ = found.n_steps, found.trace
        self.cache_ = learned.cache
        self.required_arcs_, self.forbidden_arcs_ = learned.rules.arcs()
        return self

    def _nodes(self) -> list[Any]:
        check_is_fitted(self, "parents_")
        named = hasattr(self, "feature_names_in_")
        return [column.name if named else k for k, column in enumerate(self.columns_)]

    @property
    def dag_(self) -> Any:
        """The network as a networkx.DiGraph."""
        import networkx as nx

        nodes = self._nodes()
        graph = nx.DiGraph()
        graph.add_nodes_from(nodes)
        graph.add_edges_from(
            (nodes[p], nodes[node]) for node, of in enumerate(self.parents_) for p in of
        )
        return graph

    @property
    def cpdag_(self) -> Any:
        """The equivalence class of the network as a networkx.DiGraph."""
        return cpdag(self.dag_)

    def to_model(self, alpha=1.0):
        """Return the network with its probabilities.

        Parameters
        ----------
        alpha : float, default=1.0
            Added to every count.

        Returns
        -------
        model : BayesianNetworkModel
            Samples, answers queries, predicts, writes BIF.
        """
        check_is_fitted(self, "parents_")
        return BayesianNetworkModel.from_codes(
            self._rows.codes.T.astype(np.int32),
            self.columns_,
            self.parents_,
            alpha,
            self._rows.weights,
        )

    def score_samples(self, X):
        """Return the log-probability of each row under the network, with counts smoothed by one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Complete rows; a state that was not there at fit raises a ValueError.

        Returns
        -------
        log_likelihood : ndarray of shape (n_samples,)
            Natural logarithms.
        """
        check_is_fitted(self, "parents_")
        codes, _ = table_of(self, X, reset=False)
        return self.to_model().log_likelihood_of_codes(codes)

    def score(self, X, y=None):
        """Return the mean log-probability of rows under the network, counts smoothed by one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Complete rows.
        y : None
            Ignored.

        Returns
        -------
        score : float
            Natural logarithm a row; `score_` is the criterion on the training data.
        """
        return float(np.mean(self.score_samples(X)))
