"""Estimators that learn a network from probability trees: DTSL, and a tree by itself."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.graphical.log_linear.pseudo_likelihood import weighted_rows
from octavo.graphical.log_linear.state_codes import read_table
from octavo.graphical.log_linear.trees import (
    check_method,
    features_of_tree,
    grow_tree,
    leaf_log_probabilities,
    leaf_of,
    nonzero_rows,
)
from octavo.graphical.log_linear_learners.learning import (
    POSITIVE,
    WEIGHT_CONSTRAINTS,
    LearnedNetwork,
    all_of,
)
from octavo.graphical.log_linear_learners.tree_learning import (
    FEATURE_METHODS,
    KAPPAS,
    TreeChoice,
    choose_trees,
    grow_trees,
    tree_plan,
)

__all__ = ["DTSLMarkovNetwork", "ProbabilityTree", "tree_features"]

KAPPA = Interval(Real, 0, 1, closed="right")
TREE_CONSTRAINTS: dict[str, Any] = {
    "kappa": [StrOptions({"auto"}), KAPPA],
    "leaf_prior": [POSITIVE],
    "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
}


class ProbabilityTree(SoundEstimator):
    """The distribution of one categorical variable given the others, by a tree of tests.

    Parameters
    ----------
    kappa : float, default=0.01
        Prior odds κ of a parameter, at most 1: a split must gain (l - 1) log(1/κ) in log-likelihood
        for a target of l states.
    leaf_prior : float, default=1.0
        The Dirichlet prior α of leaves.
    min_samples_leaf : int, default=10
        Splits that would leave fewer rows on a side are not made.

    Attributes
    ----------
    tree_ : SplitTree
        Tests, children, gains and counts of the nodes.
    target_ : int
        The column that is predicted.
    cardinalities_ : ndarray
        States of each column.
    categories_ : list
        Names of the states of a column, or None where they are integers.
    n_leaves_ : int
        Number of leaves.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    tree_features : The conjunctions that a tree stands for.
    DTSLMarkovNetwork : A joint distribution from the trees of all variables.

    Notes
    -----
    Do not use it as a classifier on continuous features: scikit-learn's `DecisionTreeClassifier`
    cuts them.

    References
    ----------
    .. [1] D. Lowd and J. Davis (2014). "Improving Markov Network Structure Learning Using Decision
       Trees". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import ProbabilityTree
    >>> X = np.random.default_rng(0).integers(0, 2, (200, 3))
    >>> X[:, 2] = X[:, 0] & X[:, 1]
    >>> tree = ProbabilityTree(kappa=0.01).fit(X, target=2)
    >>> tree.n_leaves_, tree.predict_proba([[1, 1, 0]]).round(3)
    (3, array([[0.014, 0.986]]))
    """

    _parameter_constraints: dict[str, Any] = {**TREE_CONSTRAINTS, "kappa": [KAPPA]}

    def __init__(
        self, kappa: float = 0.01, leaf_prior: float = 1.0, min_samples_leaf: int = 10
    ) -> None:
        self.kappa = kappa
        self.leaf_prior = leaf_prior
        self.min_samples_leaf = min_samples_leaf

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, target=-1):
        """Grow the tree of a column.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Categories.
        target : int, default=-1
            The column that is predicted from the others; -1 is the last.

        Returns
        -------
        self : ProbabilityTree
            The tree.
        """
        table = read_table(self, X, reset=True)
        d = table.codes.shape[1]
        if not isinstance(target, (int, np.integer)) or not -d <= target < d:
            raise ValueError(
                f"target must be the number of one of the {d} columns, got {target!r}."
            )
        self.cardinalities_, self.categories_ = table.cardinalities, table.categories
        self.target_ = int(target) % d
        rows = weighted_rows(table.codes, self.cardinalities_)
        listed = nonzero_rows(rows.codes, rows.weights, self.cardinalities_)
        self.tree_ = grow_tree(
            listed, self.target_, self.kappa, self.leaf_prior, self.min_samples_leaf
        )
        self.n_leaves_ = int((self.tree_.variable < 0).sum())
        return self

    def predict_log_proba(self, X):
        """Return the log-probabilities of the target's states.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with the column of the target, which is not looked at.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_states)
            Logarithms.
        """
        check_is_fitted(self, "tree_")
        codes = read_table(self, X, reset=False).codes
        return leaf_log_probabilities(self.tree_, self.leaf_prior)[leaf_of(self.tree_, codes)]

    def predict_proba(self, X):
        """Return the probabilities of the target's states.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with the column of the target, which is not looked at.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_states)
            Rows add to one.
        """
        return np.exp(self.predict_log_proba(X))


@checked
def tree_features(tree: Any, method: str = "default") -> list[Any]:
    """Return the conjunctions that a probability tree stands for (Section 4.2).

    Parameters
    ----------
    tree : ProbabilityTree
        A fitted tree.
    method : {"default", "prune", "prune-10", "prune-5", "nonzero"}, default="default"
        A state of the target with the path to each leaf; to every node; the same with at most k
        tests ("prune-k" for any k); or those of "default" without the tests for 0 or for "not".

    Returns
    -------
    features : list of features
        Tuples of literals ``(variable, "==" or "!=", value)``, variables in ascending order.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import ProbabilityTree, tree_features
    >>> X = np.random.default_rng(0).integers(0, 2, (200, 2))
    >>> X[:, 1] = X[:, 0]
    >>> tree_features(ProbabilityTree().fit(X, target=1), "nonzero")
    [((0, '==', 1),), ((0, '==', 1), (1, '==', 1)), ((1, '==', 1),)]
    """
    if not isinstance(tree, ProbabilityTree):
        raise TypeError(f"tree must be a fitted ProbabilityTree, got {type(tree).__name__}.")
    if not isinstance(method, str):
        raise TypeError(f"method must be a word, got {method!r}.")
    check_is_fitted(tree, "tree_")
    check_method(method)
    return features_of_tree(tree.tree_, method, tree.cardinalities_)


class DTSLMarkovNetwork(LearnedNetwork):
    """A log-linear Markov network whose features are the paths of probability trees.

    Parameters
    ----------
    kappa : "auto" or float, default="auto"
        Prior odds of a parameter of a tree; "auto" chooses among 1, 0.1, ..., 0.0001 by the
        held-out likelihood of the trees.
    features : "auto" or {"default", "prune", "prune-10", "prune-5", "nonzero"}, default="auto"
        How paths become features, see `tree_features`; "auto" chooses by held-out score.
    weight_sd : "auto" or float, default="auto"
        Standard deviation of the Gaussian prior of weights; "auto" goes from 0.1 to 100 in powers
        of ten until the held-out score falls.
    validation : float or array-like of int, default=0.1
        Share of the rows by which "auto" chooses, or their numbers. When all is chosen, trees and
        weights are learned anew from all rows.

    Attributes
    ----------
    features_ : list of features
        Tuples of literals ``(variable, "==" or "!=", value)``.
    trees_ : list of SplitTree
        One a variable.
    cardinalities_ : ndarray
        States of each column.
    categories_ : list
        Names of the states of a column, or None where they are integers.
    kappa_, feature_method_, weight_sd_ : float, str, float
        What was chosen.
    validation_scores_ : dict
        Held-out scores: of trees by ``("kappa", κ)``, of networks by ``(features, weight_sd)``.
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
    L1MarkovNetwork : Pairwise interactions alone; better where there are many weak ones.
    DTPlusL1MarkovNetwork : Both kinds of features.

    Notes
    -----
    The pseudo-likelihood flatters near-deterministic links; look at `ncmll` too. The paper's
    Algorithm 2 compares the best gain, which starts at 0, with log κ < 0; what its text describes,
    and what is done here, is to ask for a gain of (l - 1) log(1/κ). Do not use it for continuous
    columns, or for fewer than some hundred rows.

    References
    ----------
    .. [1] D. Lowd and J. Davis (2014). "Improving Markov Network Structure Learning Using Decision
       Trees". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import DTSLMarkovNetwork
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (600, 4))
    >>> X[:, 3] = np.where(X[:, 0], X[:, 1], X[:, 2]) ^ (rng.random(600) < 0.1)
    >>> network = DTSLMarkovNetwork(kappa=0.1, features="prune", weight_sd=1.0).fit(X[:500])
    >>> round(network.score(X[500:]), 2), network.graph_.number_of_edges()
    (-0.42, 6)
    """

    _parameter_constraints: dict[str, Any] = {
        **TREE_CONSTRAINTS,
        **WEIGHT_CONSTRAINTS,
        "features": [str],
    }

    def __init__(
        self,
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

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn trees, features and weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Integer codes, booleans, categories, or zeros and ones in a sparse matrix.
        y : None
            Ignored.

        Returns
        -------
        self : DTSLMarkovNetwork
            The network.
        """
        methods = all_of(self.features, FEATURE_METHODS)
        for method in methods:
            check_method(method)
        codes = self._read(X, 2 * self.min_samples_leaf)
        kappas = all_of(self.kappa, KAPPAS)
        rows = weighted_rows(codes, self.cardinalities_)
        with FitProgress(self, None, X) as progress:
            if "auto" in (self.kappa, self.features, self.weight_sd):
                tuning = self._tuning(codes, progress.step)
                choice, _ = choose_trees(
                    tuning, kappas, methods, self.weight_sd, self.leaf_prior, self.min_samples_leaf
                )
            else:
                choice = TreeChoice(self.kappa, self.features, self.weight_sd, np.nan, {})
            self.trees_ = grow_trees(
                rows, choice.kappa, self.leaf_prior, self.min_samples_leaf, self.n_jobs,
                progress.step,
            )  # fmt: skip
            plan = tree_plan(self.trees_, choice.method, self.cardinalities_)
            self._fit_final(rows, plan, choice.weight_sd, progress.step)
        self.kappa_, self.feature_method_ = float(choice.kappa), choice.method
        self.validation_scores_ = choice.scores
        return self
