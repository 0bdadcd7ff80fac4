"""Estimators that search over features: bottom-up generalisation, and top-down induction."""

from __future__ import annotations

import heapq
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks

from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.graphical.log_linear.conjunctions import Feature, canonical, canonical_set
from octavo.graphical.log_linear.pseudo_likelihood import (
    PseudoLikelihood,
    WeightedRows,
    fit_weights,
    flat_plan,
    weighted_rows,
)
from octavo.graphical.log_linear.trees import check_method
from octavo.graphical.log_linear_learners.dtsl import TREE_CONSTRAINTS
from octavo.graphical.log_linear_learners.feature_search import (
    best_weight,
    feature_terms,
    generalizations,
    generalize_once,
    pair_counts,
    search_state,
)
from octavo.graphical.log_linear_learners.learning import WEIGHT_CONSTRAINTS, LearnedNetwork, all_of
from octavo.graphical.log_linear_learners.tree_learning import (
    FEATURE_METHODS,
    KAPPAS,
    choose_trees,
    grow_trees,
    tree_plan,
)

__all__ = ["BLMMarkovNetwork", "DellaPietraMarkovNetwork"]

COST = Interval(Real, 0, None, closed="left")
SEARCH_TOL = 1e-5  # of weights between steps of a search; the last fit has the user's tolerance


def _relearned(rows: WeightedRows, weights: dict[Feature, float], sd: float, jobs: Any) -> Any:
    """Fit all weights anew from where they are, and return features and weights."""
    features = list(weights)
    likelihood = PseudoLikelihood(rows, flat_plan(features, rows.cardinalities), jobs)
    start = np.array(list(weights.values()))
    return features, fit_weights(likelihood, sd, start=start, tol=SEARCH_TOL, max_iter=100).x


class BLMMarkovNetwork(LearnedNetwork):
    """Bottom-up learning of Markov networks: features are generalised while the score rises.

    Parameters
    ----------
    init : {"dtsl", "examples"}, default="dtsl"
        Start from the features of DTSL (DT-BLM), or from the training rows themselves (BLM).
    n_neighbors : sequence of int, default=(1, 2, 5, 10, 20)
        The paper's K: a feature is generalised to its k nearest unmatched rows, for each k.
    alpha : float, default=1e-4
        What a test of a feature costs, a row: the paper's α is alpha times the number of rows.
    power : int, default=2
        The paper's Q, of the value difference metric.
    max_sweeps : int, default=10
        Most passes over the features.
    kappa : "auto" or float, default="auto"
        Prior odds of a parameter of a tree.
    features : "auto" or {"default", "prune", "prune-10", "prune-5", "nonzero"}, default="auto"
        How paths of trees become features.
    weight_sd : "auto" or float, default="auto"
        Standard deviation of the Gaussian prior of weights; "auto" takes that of DTSL, or 1 for
        ``init="examples"``.
    validation : float or array-like of int, default=0.1
        Share of the rows by which "auto" chooses, or their numbers.

    Attributes
    ----------
    features_ : list of features
        Tuples of literals ``(variable, "==" or "!=", value)``.
    n_initial_features_ : int
        Number of features at the start.
    history_ : list of tuple
        Number of features and of accepted changes after each pass.
    cardinalities_ : ndarray
        States of each column.
    categories_ : list
        Names of the states of a column, or None where they are integers.
    weight_sd_ : float
        What was chosen.
    objective_ : float
        Minus the penalised pseudo-log-likelihood a row.
    gradient_norm_ : float
        Largest entry of its gradient.
    n_iter_ : int
        Iterations of the last fit of weights.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    DTSLMarkovNetwork : Where the search starts.

    Notes
    -----
    The paper gives no values of K, α and Q; the defaults are ours. A candidate is judged by the
    best weight of its own with all others held, which is a lower bound of what relearning all
    weights would gain; all are relearned after every pass. It is slow: do not use it for hundreds
    of columns.

    References
    ----------
    .. [1] D. Lowd and J. Davis (2014). "Improving Markov Network Structure Learning Using Decision
       Trees". Journal of Machine Learning Research 15.
    .. [2] J. Davis and P. Domingos (2010). "Bottom-up learning of Markov network structure".
       ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import BLMMarkovNetwork
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (300, 4))
    >>> X[:, 3] = np.where(X[:, 0], X[:, 1], X[:, 2]) ^ (rng.random(300) < 0.1)
    >>> network = BLMMarkovNetwork(kappa=0.1, features="prune", weight_sd=1.0).fit(X)
    >>> len(network.features_) < network.n_initial_features_, round(network.score(X), 2)
    (True, -0.43)
    """

    _parameter_constraints: dict[str, Any] = {
        **TREE_CONSTRAINTS,
        **WEIGHT_CONSTRAINTS,
        "init": [StrOptions({"dtsl", "examples"})],
        "n_neighbors": ["array-like"],
        "alpha": [COST],
        "power": [Interval(Integral, 1, None, closed="left")],
        "max_sweeps": [Interval(Integral, 1, None, closed="left")],
        "features": [str],
    }

    def __init__(
        self,
        init: str = "dtsl",
        *,
        n_neighbors: Any = (1, 2, 5, 10, 20),
        alpha: float = 1e-4,
        power: int = 2,
        max_sweeps: int = 10,
        kappa: Any = "auto",
        leaf_prior: float = 1.0,
        min_samples_leaf: int = 10,
        features: str = "auto",
        weight_sd: Any = "auto",
        max_iter: int = 500,
        tol: float = 1e-6,
        validation: Any = 0.1,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.init = init
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.power = power
        self.max_sweeps = max_sweeps
        self.kappa = kappa
        self.leaf_prior = leaf_prior
        self.min_samples_leaf = min_samples_leaf
        self.features = features
        self.weight_sd = weight_sd
        self.max_iter = max_iter
        self.tol = tol
        self.validation = validation
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _neighbors(self) -> list[int]:
        asked = np.atleast_1d(np.asarray(self.n_neighbors))
        if asked.dtype.kind not in "iu" or asked.ndim != 1 or not asked.size or asked.min() < 1:
            raise ValueError(
                f"n_neighbors must be whole numbers of at least 1, got {self.n_neighbors!r}."
            )
        return sorted({int(k) for k in asked})

    def _initial(self, codes: Any, rows: WeightedRows, step: Any) -> tuple[list[Feature], float]:
        if self.init == "examples":
            made = [tuple((k, "==", int(v)) for k, v in enumerate(row)) for row in rows.codes]
            sd = 1.0 if isinstance(self.weight_sd, str) else float(self.weight_sd)
            return canonical_set(made, rows.cardinalities), sd
        kappa, method, sd = self.kappa, self.features, self.weight_sd
        if "auto" in (kappa, method, sd):
            choice, _ = choose_trees(
                self._tuning(codes, step), all_of(kappa, KAPPAS), all_of(method, FEATURE_METHODS),
                sd, self.leaf_prior, self.min_samples_leaf,
            )  # fmt: skip
            kappa, method, sd = choice.kappa, choice.method, choice.weight_sd
        trees = grow_trees(rows, kappa, self.leaf_prior, self.min_samples_leaf, self.n_jobs, step)
        return tree_plan(trees, method, rows.cardinalities).features, float(sd)

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn features and weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Integer codes, booleans, categories, or zeros and ones in a sparse matrix.
        y : None
            Ignored.

        Returns
        -------
        self : BLMMarkovNetwork
            The network.
        """
        for method in all_of(self.features, FEATURE_METHODS):
            check_method(method)
        neighbors = self._neighbors()
        codes = self._read(X, 2 * self.min_samples_leaf)
        rows = weighted_rows(codes, self.cardinalities_)
        with FitProgress(self, None, X) as progress:
            features, sd = self._initial(codes, rows, progress.step)
            self.n_initial_features_, self.history_ = len(features), []
            weights = np.zeros(len(features))
            features, weights = _relearned(rows, dict.fromkeys(features, 0.0), sd, self.n_jobs)
            counts, cost = pair_counts(rows), self.alpha * rows.n_samples
            for _ in range(self.max_sweeps):
                state = search_state(rows, features, weights)
                accepted = 0
                for feature in features:
                    made = generalizations(rows, feature, counts, neighbors, self.power)
                    accepted += generalize_once(rows, state, feature, made, sd, cost)
                self.history_.append((len(state.weights), accepted))
                features, weights = _relearned(rows, state.weights, sd, self.n_jobs)
                if not accepted or progress.step():
                    break
            plan = flat_plan(features, self.cardinalities_)
            self._fit_final(rows, plan, sd, progress.step, start=weights)
        return self


class DellaPietraMarkovNetwork(LearnedNetwork):
    """Feature induction from the top: the conjunction that gains most is added, again and again.

    Parameters
    ----------
    max_features : int, default=100
        Most conjunctions that are added to the single tests.
    alpha : float, default=1e-4
        What a test of a feature costs, a row; a conjunction must gain more.
    weight_sd : float, default=1.0
        Standard deviation of the Gaussian prior of weights.

    Attributes
    ----------
    features_ : list of features
        Tuples of literals ``(variable, "==", value)``, in the order in which they came.
    gains_ : ndarray
        What each added conjunction gained when it came.
    cardinalities_ : ndarray
        States of each column.
    categories_ : list
        Names of the states of a column, or None where they are integers.
    weight_sd_ : float
        As given.
    objective_ : float
        Minus the penalised pseudo-log-likelihood a row.
    gradient_norm_ : float
        Largest entry of its gradient.
    n_iter_ : int
        Iterations of the last fit of weights.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    DTSLMarkovNetwork : Faster, and better on most tables of the paper.

    Notes
    -----
    Gains are of the pseudo-likelihood, without the sampling of the original. Candidates whose gain
    was low are looked at again only when they come to the top of the list (lazy greedy), so that
    one that other features have since made useful can be late. The slowest of the learners: do
    not use it beyond some twenty columns.

    References
    ----------
    .. [1] S. Della Pietra, V. Della Pietra and J. Lafferty (1997). "Inducing features of random
       fields". IEEE Transactions on Pattern Analysis and Machine Intelligence 19.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import DellaPietraMarkovNetwork
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (300, 3))
    >>> X[:, 2] = X[:, 0] & X[:, 1] ^ (rng.random(300) < 0.1)
    >>> network = DellaPietraMarkovNetwork().fit(X)
    >>> network.features_[6], round(network.score(X), 2)
    (((1, '==', 0), (2, '==', 1)), -0.37)
    """

    _parameter_constraints: dict[str, Any] = {
        "max_features": [Interval(Integral, 0, None, closed="left")],
        "alpha": [COST],
        "weight_sd": [WEIGHT_CONSTRAINTS["weight_sd"][1]],
        "max_iter": WEIGHT_CONSTRAINTS["max_iter"],
        "tol": WEIGHT_CONSTRAINTS["tol"],
        "n_jobs": WEIGHT_CONSTRAINTS["n_jobs"],
    }

    def __init__(
        self,
        max_features: int = 100,
        *,
        alpha: float = 1e-4,
        weight_sd: float = 1.0,
        max_iter: int = 500,
        tol: float = 1e-6,
        n_jobs: int | None = None,
    ) -> None:
        self.max_features = max_features
        self.alpha = alpha
        self.weight_sd = weight_sd
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn features and weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Integer codes, booleans, categories, or zeros and ones in a sparse matrix.
        y : None
            Ignored.

        Returns
        -------
        self : DellaPietraMarkovNetwork
            The network.
        """
        codes = self._read(X, 20)
        rows, cards = weighted_rows(codes, self.cardinalities_), self.cardinalities_
        cost, sd = self.alpha * rows.n_samples, self.weight_sd
        atoms: list[Feature] = [((k, "==", v),) for k, c in enumerate(cards) for v in range(int(c))]
        gains: list[float] = []
        with FitProgress(self, None, X) as progress:
            features, weights = _relearned(rows, dict.fromkeys(atoms, 0.0), sd, self.n_jobs)
            waiting: list[tuple[float, int, Feature]] = []
            seen: set[Feature] = set(features)
            self._offer(waiting, seen, atoms, atoms)
            while len(gains) < self.max_features and not progress.step():
                state = search_state(rows, features, weights)
                gain, found = self._best(rows, state.margins, waiting, cost)
                if found is None:
                    break
                gains.append(gain)
                state.weights[found] = 0.0
                features, weights = _relearned(rows, state.weights, sd, self.n_jobs)
                self._offer(waiting, seen, [found], features)
            plan = flat_plan(features, cards)
            self._fit_final(rows, plan, sd, progress.step, start=weights)
        self.gains_ = np.array(gains)
        return self

    def _offer(self, waiting: Any, seen: set[Feature], some: Any, others: Any) -> None:
        """Put new conjunctions on the list, to be looked at first."""
        for one in some:
            for other in others:
                made = canonical((*one, *other), self.cardinalities_)
                if made and made not in seen:
                    seen.add(made)
                    heapq.heappush(waiting, (-np.inf, len(seen), made))

    def _best(
        self, rows: WeightedRows, margins: Any, waiting: Any, cost: float
    ) -> tuple[float, Feature | None]:
        """Take the conjunction that gains most off the list; None where none pays for itself."""
        fresh: set[Feature] = set()
        while waiting:
            known, order, feature = heapq.heappop(waiting)
            if feature in fresh:
                if -known > 1e-9 * rows.n_samples:
                    return -known, feature
                heapq.heappush(waiting, (known, order, feature))
                return 0.0, None
            terms = feature_terms(rows, feature)
            gain = best_weight(margins, terms, rows.weights, self.weight_sd)[1]
            fresh.add(feature)
            heapq.heappush(waiting, (-(gain - cost * len(feature)), order, feature))
        return 0.0, None
