"""Estimators with pairwise features from l1 regressions: alone, and beside those of trees."""

from __future__ import annotations

from typing import Any

from sklearn.callback import with_callbacks

from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import StrOptions, fit_context
from octavo.graphical.log_linear.pseudo_likelihood import flat_plan, weighted_rows
from octavo.graphical.log_linear.trees import check_method
from octavo.graphical.log_linear_learners.dtsl import TREE_CONSTRAINTS
from octavo.graphical.log_linear_learners.learning import (
    POSITIVE,
    WEIGHT_CONSTRAINTS,
    LearnedNetwork,
    all_of,
    choose_weight_sd,
)
from octavo.graphical.log_linear_learners.neighbourhoods import (
    CS,
    BlanketChoice,
    blanket_features,
    choose_blankets,
    seed_of,
)
from octavo.graphical.log_linear_learners.tree_learning import (
    FEATURE_METHODS,
    KAPPAS,
    choose_trees,
    grow_trees,
    tree_plan,
)

__all__ = ["DTPlusL1MarkovNetwork", "L1MarkovNetwork"]

RULES = ("or", "and")
BLANKET_CONSTRAINTS: dict[str, Any] = {
    "C": [StrOptions({"auto"}), POSITIVE],
    "rule": [StrOptions({"auto", *RULES})],
}


class L1MarkovNetwork(LearnedNetwork):
    """A pairwise log-linear network whose edges come from l1-penalised logistic regressions.

    Parameters
    ----------
    C : "auto" or float, default="auto"
        Weight of the loss in every regression; "auto" chooses among the paper's seven values from
        0.001 to 5 by held-out score.
    rule : {"or", "and", "auto"}, default="or"
        Variables are joined where either regression, or both, name the other; "auto" tries both.
    weight_sd : "auto" or float, default="auto"
        Standard deviation of the Gaussian prior of weights.
    random_state : int, RandomState or None, default=None
        Draws the rows of `validation`, and LIBLINEAR's order of coordinates.
    validation : float or array-like of int, default=0.1
        Share of the rows by which "auto" chooses, or their numbers. When all is chosen, edges and
        weights are learned anew from all rows.

    Attributes
    ----------
    features_ : list of features
        Tuples of literals ``(variable, "==", value)``: states, and pairs of them on edges; the
        first state of a variable is the reference.
    cardinalities_ : ndarray
        States of each column.
    categories_ : list
        Names of the states of a column, or None where they are integers.
    C_, rule_, weight_sd_ : float, str, float
        What was chosen.
    validation_scores_ : dict
        Held-out scores by (C, rule, weight_sd).
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
    DTSLMarkovNetwork : Interactions of many variables at once.
    DTPlusL1MarkovNetwork : Both kinds of features.

    Notes
    -----
    It has pairwise features alone: do not use it where three variables matter only together.
    A variable of more than two states is regressed a state against the rest.

    References
    ----------
    .. [1] P. Ravikumar, M. J. Wainwright and J. D. Lafferty (2010). "High-dimensional Ising model
       selection using l1-regularized logistic regression". Annals of Statistics 38.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import L1MarkovNetwork
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (400, 3))
    >>> X[:, 2] = X[:, 0] ^ (rng.random(400) < 0.1)
    >>> network = L1MarkovNetwork(C=0.1, weight_sd=1.0).fit(X)
    >>> sorted(network.graph_.edges), round(network.score(X), 2)
    ([(0, 1), (0, 2)], -0.43)
    """

    _parameter_constraints: dict[str, Any] = {**BLANKET_CONSTRAINTS, **WEIGHT_CONSTRAINTS}

    def __init__(
        self,
        C: Any = "auto",
        rule: str = "or",
        weight_sd: Any = "auto",
        random_state: Any = None,
        *,
        validation: Any = 0.1,
        max_iter: int = 500,
        tol: float = 1e-6,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.rule = rule
        self.weight_sd = weight_sd
        self.random_state = random_state
        self.validation = validation
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn edges and weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Integer codes, booleans, categories, or zeros and ones in a sparse matrix.
        y : None
            Ignored.

        Returns
        -------
        self : L1MarkovNetwork
            The network.
        """
        codes = self._read(X, 20)
        Cs, rules = all_of(self.C, CS), all_of(self.rule, RULES)
        rows, seed = weighted_rows(codes, self.cardinalities_), seed_of(self.random_state)
        with FitProgress(self, None, X) as progress:
            if "auto" in (self.C, self.rule, self.weight_sd):
                tuning = self._tuning(codes, progress.step)
                choice = choose_blankets(tuning, Cs, rules, self.weight_sd, seed)
            else:
                choice = BlanketChoice(self.C, self.rule, self.weight_sd, 0.0, {})
            made = blanket_features(rows, choice.C, choice.rule, seed, self.n_jobs)
            plan = flat_plan(made, self.cardinalities_)
            self._fit_final(rows, plan, choice.weight_sd, progress.step)
        self.C_, self.rule_ = float(choice.C), choice.rule
        self.validation_scores_ = choice.scores
        return self


class DTPlusL1MarkovNetwork(LearnedNetwork):
    """The features of DTSL and of l1 regressions in one log-linear network.

    Parameters
    ----------
    random_state : int, RandomState or None, default=None
        Draws the rows of `validation`, and LIBLINEAR's order of coordinates.
    kappa : "auto" or float, default="auto"
        Prior odds of a parameter of a tree.
    features : "auto" or {"default", "prune", "prune-10", "prune-5", "nonzero"}, default="auto"
        How paths become features.
    C : "auto" or float, default="auto"
        Weight of the loss in every regression.
    rule : {"or", "and", "auto"}, default="or"
        Variables are joined where either regression, or both, name the other.
    weight_sd : "auto" or float, default="auto"
        Standard deviation of the Gaussian prior of weights, chosen anew for all features together.
    validation : float or array-like of int, default=0.1
        Share of the rows by which "auto" chooses, or their numbers. When all is chosen, the network
        is learned anew from all rows.

    Attributes
    ----------
    features_ : list of features
        Tuples of literals ``(variable, "==" or "!=", value)``, those of trees first.
    trees_ : list of SplitTree
        One a variable.
    cardinalities_ : ndarray
        States of each column.
    categories_ : list
        Names of the states of a column, or None where they are integers.
    kappa_, feature_method_, C_, rule_, weight_sd_ : float, str, float, str, float
        What was chosen.
    validation_scores_ : dict
        Held-out scores of trees, of both kinds of features, and of all by ``("all", weight_sd)``.
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
    DTSLMarkovNetwork : Features of trees alone.
    L1MarkovNetwork : Pairwise features alone.

    Notes
    -----
    The most reliable of the paper's learners, at the cost of both searches. Do not use it where a
    short list of interactions is to be read: it has the most features of all.

    References
    ----------
    .. [1] D. Lowd and J. Davis (2014). "Improving Markov Network Structure Learning Using Decision
       Trees". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import DTPlusL1MarkovNetwork
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (400, 4))
    >>> X[:, 3] = (X[:, 0] ^ X[:, 1]) ^ (rng.random(400) < 0.1)
    >>> X[:, 2] = X[:, 0] ^ (rng.random(400) < 0.2)
    >>> settings = {"kappa": 0.1, "features": "prune", "C": 0.1, "weight_sd": 1.0}
    >>> network = DTPlusL1MarkovNetwork(**settings).fit(X)
    >>> round(network.score(X), 2), network.graph_.number_of_edges()
    (-0.37, 4)
    """

    _parameter_constraints: dict[str, Any] = {
        **TREE_CONSTRAINTS,
        **BLANKET_CONSTRAINTS,
        **WEIGHT_CONSTRAINTS,
        "features": [str],
    }

    def __init__(
        self,
        random_state: Any = None,
        *,
        kappa: Any = "auto",
        leaf_prior: float = 1.0,
        min_samples_leaf: int = 10,
        features: str = "auto",
        C: Any = "auto",
        rule: str = "or",
        weight_sd: Any = "auto",
        validation: Any = 0.1,
        max_iter: int = 500,
        tol: float = 1e-6,
        n_jobs: int | None = None,
    ) -> None:
        self.random_state = random_state
        self.kappa = kappa
        self.leaf_prior = leaf_prior
        self.min_samples_leaf = min_samples_leaf
        self.features = features
        self.C = C
        self.rule = rule
        self.weight_sd = weight_sd
        self.validation = validation
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn both sets of features, and one set of weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Integer codes, booleans, categories, or zeros and ones in a sparse matrix.
        y : None
            Ignored.

        Returns
        -------
        self : DTPlusL1MarkovNetwork
            The network.
        """
        methods = all_of(self.features, FEATURE_METHODS)
        for method in methods:
            check_method(method)
        codes = self._read(X, 2 * self.min_samples_leaf)
        rows, cards = weighted_rows(codes, self.cardinalities_), self.cardinalities_
        seed, sd, scores = seed_of(self.random_state), self.weight_sd, {}
        kappa, method, C, rule = self.kappa, self.features, self.C, self.rule
        with FitProgress(self, None, X) as progress:
            if "auto" in (kappa, method, C, rule, sd):
                tuning = self._tuning(codes, progress.step)
                by_trees, trees = choose_trees(
                    tuning, all_of(kappa, KAPPAS), methods, sd, self.leaf_prior,
                    self.min_samples_leaf,
                )  # fmt: skip
                by_l1 = choose_blankets(tuning, all_of(C, CS), all_of(rule, RULES), sd, seed)
                kappa, method, C, rule = by_trees.kappa, by_trees.method, by_l1.C, by_l1.rule
                loose = blanket_features(tuning.train, C, rule, seed, self.n_jobs)
                plan = tree_plan(trees, method, cards, loose)
                sd, _, tried = choose_weight_sd(tuning, plan, sd)
                scores = by_trees.scores | by_l1.scores | {("all", s): v for s, v in tried.items()}
            self.trees_ = grow_trees(
                rows, kappa, self.leaf_prior, self.min_samples_leaf, self.n_jobs, progress.step
            )
            loose = blanket_features(rows, C, rule, seed, self.n_jobs)
            self._fit_final(rows, tree_plan(self.trees_, method, cards, loose), sd, progress.step)
        self.kappa_, self.feature_method_, self.C_, self.rule_ = (
            float(kappa),
            method,
            float(C),
            rule,
        )
        self.validation_scores_ = scores
        return self
