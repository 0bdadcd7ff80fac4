"""Networks over time: how the next values depend on the present ones and on each other.

A first network describes the start of the sequences, a second one a slice given the slice before.
The second is an ordinary network over twice as many variables, with rules that leave the previous
slice without parents.

Reference: C. P. de Campos and Q. Ji (2011), "Efficient Structure Learning of Bayesian Networks
using Constraints", JMLR 12, section 3.2.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.discrete.contingency import distinct_rows
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.graphical.network_scores.constraints import expanded, forbidden_arc, two_slice_structure
from octavo.graphical.network_scores.local_scores import FamilyScorer, topological_order
from octavo.graphical.network_scores.state_table import (
    Column,
    code_table,
    declared_categories,
    fit_columns,
)
from octavo.graphical.network_search.dispatch import NetworkResult
from octavo.graphical.networks.learner import STRUCTURE_CONSTRAINTS, learn_structure
from octavo.graphical.networks.model import BayesianNetworkModel

__all__ = ["DynamicBNLearner"]


def consecutive_pairs(sequences: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    """Return a row a step: the slice before and the slice itself, side by side."""
    # every step of every sequence counts once
    return np.concatenate([np.hstack([codes[:-1], codes[1:]]) for codes in sequences])


def slice_columns(columns: list[Column]) -> list[Column]:
    """Return the columns of two slices; names end in [t-1] and [t]."""
    return [
        Column(f"{column.name}[{when}]", column.states, column.edges)
        for when in ("t-1", "t")
        for column in columns
    ]


class DynamicBNLearner(CallbackSupportMixin, SoundEstimator):
    """Learn the optimal dynamic Bayesian network of sequences of categorical variables.

    Parameters
    ----------
    criterion : {"bic", "aic", "bdeu", "k2", "bd", "bde", "loglik"}, default="bic"
        Score that a network is judged by.
    ess : float, default=1.0
        Equivalent sample size of "bdeu".
    self_arcs : bool, default=False
        Require an arc from each variable to its own next value.
    within_slice : bool, default=True
        Whether variables of one slice may depend on each other. Without, no cycle is possible.
    method : {"auto", "bnb", "dp", "ilp", "order", "hc"}, default="auto"
        How the networks are found.
    constraints : list of NetworkRule or RuleTemplate, or None, default=None
        Rules for the transition; nodes are called ``name[t-1]`` and ``name[t]``, or by
        position, those of the previous slice first.
    initial_constraints : list of NetworkRule or RuleTemplate, or None, default=None
        Rules for the first slice.
    max_parents : int or None, default=None
        Largest number of parents of a node.
    time_limit : float or None, default=None
        Seconds of search for each of the two networks.
    max_iter : int or None, default=None
        Largest number of steps of each search.
    gap : float, default=0.0
        Relative gap at which a search stops.
    smoothing : float, default=1.0
        Added to every count when probabilities are estimated.
    discretize : {"mean", "quantile"} or None, default=None
        How to cut columns of numbers that are not integers; None refuses them.
    n_bins : int, default=3
        Intervals of "quantile".
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance or None, default=None
        Draws the orders from which searches start.

    Attributes
    ----------
    initial_, transition_ : NetworkResult
        The two networks with their scores and bounds.
    parents_ : list of list of tuple
        Parents of each variable as (lag, variable), lag being 1 for the slice before.
    initial_model_, transition_model_ : BayesianNetworkModel
        The networks with their probabilities.
    score_, upper_bound_, duality_gap_ : float
        Score of both networks, Eq. (3), a bound on all, and the relative gap.
    optimal_ : bool
        Whether both are optimal.
    dag_ : networkx.DiGraph
        The transition network over ``name[t-1]`` and ``name[t]``.
    columns_ : list of Column
        Name and states of each variable.
    n_features_in_ : int
        Number of variables.

    See Also
    --------
    BayesianNetworkStructureLearner : Without time.

    Notes
    -----
    The next slice depends on the present one alone, in the same way at all times. Do not use it
    for hidden states: that is what hidden Markov models, such as `octavo.sequence.CountHMM`,
    are for. With fewer than two sequences the first slice is taken to be independent.

    References
    ----------
    .. [1] C. P. de Campos and Q. Ji (2011). "Efficient Structure Learning of Bayesian Networks
       using Constraints". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import DynamicBNLearner
    >>> rng = np.random.default_rng(0)
    >>> a = rng.integers(0, 2, (20, 30))
    >>> follows = np.roll(a, 1, axis=1) ^ (rng.random(a.shape) < 0.1)
    >>> sequences = [np.column_stack(pair) for pair in zip(a, follows)]
    >>> DynamicBNLearner().fit(sequences).parents_
    [[], [(1, 0)]]
    """

    _parameter_constraints: dict[str, Any] = {
        **STRUCTURE_CONSTRAINTS,
        "self_arcs": ["boolean"],
        "within_slice": ["boolean"],
        "constraints": "no_validation",
        "initial_constraints": "no_validation",
        "smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        criterion: str = "bic",
        ess: float = 1.0,
        self_arcs: bool = False,
        within_slice: bool = True,
        method: str = "auto",
        constraints: Any = None,
        initial_constraints: Any = None,
        max_parents: int | None = None,
        time_limit: float | None = None,
        max_iter: int | None = None,
        gap: float = 0.0,
        smoothing: float = 1.0,
        *,
        discretize: str | None = None,
        n_bins: int = 3,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.criterion = criterion
        self.ess = ess
        self.self_arcs = self_arcs
        self.within_slice = within_slice
        self.method = method
        self.constraints = constraints
        self.initial_constraints = initial_constraints
        self.max_parents = max_parents
        self.time_limit = time_limit
        self.max_iter = max_iter
        self.gap = gap
        self.smoothing = smoothing
        self.discretize = discretize
        self.n_bins = n_bins
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def _tables(self, X: Any) -> list[NDArray[Any]]:
        """Check a list of sequences and return them as arrays."""
        if not isinstance(X, (list, tuple)) and np.ndim(X) != 3:
            raise TypeError(
                "X must be a list of sequences, each an array of shape (length, n_features); "
                f"got {type(X).__name__}."
            )
        if len(X) == 0:
            raise ValueError("X holds no sequence.")
        tables = []
        for k, sequence in enumerate(X):
            try:
                tables.append(check_array(sequence, dtype=None))
            except ValueError as error:
                raise ValueError(f"Sequence {k}: {error}") from None
            if tables[k].shape[1] != tables[0].shape[1]:
                raise ValueError(
                    f"Sequence {k} has {tables[k].shape[1]} variables, sequence 0 has "
                    f"{tables[0].shape[1]}."
                )
        return tables

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn both networks.

        Parameters
        ----------
        X : list of array-like of shape (length, n_features)
            Sequences of complete categorical data, one of two or more steps among them.
        y : None
            Ignored.

        Returns
        -------
        self : DynamicBNLearner
            The learner with its networks.
        """
        tables = self._tables(X)
        if max(len(table) for table in tables) < 2:
            raise ValueError("No sequence has two steps; there is no transition to learn from.")
        names = getattr(X[0], "columns", range(tables[0].shape[1]))
        self.n_features_in_ = n = tables[0].shape[1]
        self.columns_ = fit_columns(
            np.concatenate(tables),
            [str(name) for name in names],
            declared_categories(X[0]),
            discretize=self.discretize,
            n_bins=self.n_bins,
        )
        sequences = [code_table(table, self.columns_) for table in tables]
        with FitProgress(self, None, X) as progress:
            self._fit_initial(np.stack([codes[0] for codes in sequences]), progress.step)
            self._fit_transition(consecutive_pairs(sequences), progress.step)
        now = self.transition_.parents[n:]
        self.parents_ = [[(1, p) if p < n else (0, p - n) for p in of] for of in now]
        return self

    def _learn(
        self, codes: NDArray, columns: list[Column], rules: Any, limit: int | None, on_step: Any
    ) -> tuple[NetworkResult, BayesianNetworkModel]:
        rows = distinct_rows(codes, [len(column.states) for column in columns])
        found = learn_structure(
            rows,
            [column.name for column in columns],
            score=self.criterion,
            ess=self.ess,
            method=self.method,
            constraints=rules,
            max_parents=limit,
            time_limit=self.time_limit,
            max_iter=self.max_iter,
            gap=self.gap,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            on_step=on_step,
        ).result
        model = BayesianNetworkModel.from_codes(codes, columns, found.parents, self.smoothing)
        return found, model

    def _fit_initial(self, codes: NDArray, on_step: Any) -> None:
        """Step 1: the network of the first slice."""
        limit = 0 if len(codes) < 2 else self.max_parents
        found, model = self._learn(codes, self.columns_, self.initial_constraints, limit, on_step)
        self.initial_, self.initial_model_ = found, model

    def _fit_transition(self, codes: NDArray, on_step: Any) -> None:
        """Steps 2 to 5: the augmented problem of two slices."""
        n, columns = self.n_features_in_, slice_columns(self.columns_)
        names = [column.name for column in columns]
        rules = [
            # Section 3.2: no parents in the slice before
            two_slice_structure(n, self_arcs=self.self_arcs),
            *expanded(self.constraints, names),
        ]
        if not self.within_slice:
            rules += [forbidden_arc(a, b) for a in names[n:] for b in names[n:] if a != b]
        found, model = self._learn(codes, columns, rules, self.max_parents, on_step)
        self.transition_, self.transition_model_ = found, model
        # The previous slice has a constant score, which is no part of Eq. (3).
        constant = self._previous_score(codes[:, :n])
        initial = self.initial_
        self.score_ = initial.score + found.score - constant
        self.upper_bound_ = initial.upper_bound + found.upper_bound - constant
        self.optimal_ = initial.optimal and found.optimal
        self.duality_gap_ = (
            0.0 if self.optimal_ else (self.upper_bound_ - self.score_) / abs(self.score_)
        )

    def _previous_score(self, codes: NDArray) -> float:
        """Return the score of the previous slice, whose variables have no parents."""
        scorer = FamilyScorer(
            distinct_rows(codes, [len(column.states) for column in self.columns_]),
            self.criterion,
            ess=self.ess,
        )
        return math.fsum(scorer.one(v, ()) for v in range(self.n_features_in_))

    @property
    def dag_(self) -> Any:
        """The transition network as a networkx.DiGraph."""
        check_is_fitted(self, "transition_model_")
        import networkx as nx

        names = self.transition_model_.names
        graph = nx.DiGraph()
        graph.add_nodes_from(names)
        graph.add_edges_from(
            (names[p], names[v]) for v, of in enumerate(self.transition_.parents) for p in of
        )
        return graph

    def log_likelihood(self, X):
        """Return the log-probability of each sequence.

        Parameters
        ----------
        X : list of array-like of shape (length, n_features)
            Sequences.

        Returns
        -------
        log_likelihood : ndarray of shape (n_sequences,)
            Natural logarithms.
        """
        check_is_fitted(self, "transition_model_")
        n, model = self.n_features_in_, self.transition_model_
        totals = []
        for k, table in enumerate(self._tables(X)):
            if table.shape[1] != n:
                raise ValueError(f"Sequence {k} has {table.shape[1]} variables, expected {n}.")
            codes = code_table(table, self.columns_)
            total = self.initial_model_.log_likelihood_of_codes(codes[:1])[0]
            pairs = np.hstack([codes[:-1], codes[1:]])
            with np.errstate(divide="ignore"):
                for v in range(n, 2 * n):
                    index = tuple(pairs[:, u] for u in (*model.parents[v], v))
                    total += np.log(model.tables[v][index]).sum()
            totals.append(total)
        return np.array(totals)

    def sample(self, n_sequences=1, length=10, random_state=None):
        """Draw sequences.

        Parameters
        ----------
        n_sequences : int, default=1
            How many.
        length : int, default=10
            Steps of each.
        random_state : int, RandomState instance or None, default=None
            Source of randomness.

        Returns
        -------
        X : list of ndarray of shape (length, n_features)
            States.
        """
        check_is_fitted(self, "transition_model_")
        rng = check_random_state(random_state)
        n, model = self.n_features_in_, self.transition_model_
        order = [v for v in topological_order(model.parents) or () if v >= n]
        codes = np.empty((length, n_sequences, n), np.int32)
        codes[0] = self.initial_model_.sample_codes(n_sequences, rng)
        for t in range(1, length):
            pair = np.hstack([codes[t - 1], np.zeros((n_sequences, n), np.int32)])
            for v in order:
                index = tuple(pair[:, p] for p in model.parents[v])
                steps = np.cumsum(model.tables[v], axis=-1)[index]
                draw = rng.uniform(size=n_sequences)[:, None] * steps[..., -1:]
                pair[:, v] = np.minimum((draw >= steps).sum(axis=-1), steps.shape[-1] - 1)
            codes[t] = pair[:, n:]
        states = [np.asarray(column.states) for column in self.columns_]
        return [
            np.column_stack([values[codes[:, k, v]] for v, values in enumerate(states)])
            for k in range(n_sequences)
        ]
