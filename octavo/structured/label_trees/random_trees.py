"""Multi-label machines over random spanning trees: of equal weight, or trained one by one.

References: M. Marchand, H. Su, E. Morvant, J. Rousu and J. Shawe-Taylor (2014), "Multilabel
structured output learning with random spanning trees of max-margin Markov networks", NIPS; H. Su
and J. Rousu (2013), "Multilabel classification through random graph ensembles", ACML.
"""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval
from octavo.engine.graphs.spanning import random_tree, rooted_forest
from octavo.structured.label_trees.base import CONSTRAINTS, LabelTreeBase
from octavo.structured.label_trees.parities import LabelPairs, label_pairs, parity_weights
from octavo.structured.label_trees.training import TreeMachine, starting_mixture, train
from octavo.structured.label_trees.tree_weights import mixture_of, pair_numbers

__all__ = ["MaxMarginTrees", "RandomSpanningTreeMultiLabel"]

FEW = 8  # labels whose labellings are all compared


class RandomSpanningTreeMultiLabel(LabelTreeBase):
    """Multi-label margin machine over random spanning trees of equal weight.

    The baseline of `SpanningTreeMultiLabel` whose trees are not learned (RTA in the thesis).

    Parameters
    ----------
    n_trees : int, default=10
        Random spanning trees of the labels.
    kernel : {"linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed"} or \
callable, default="linear"
        Compares rows.
    intercept_scaling : float, default=1.0
        Size of a constant feature that is added to all rows; 0 for none.
    C : float, default=1.0
        Price of a unit of slack of one row.
    max_outer : int, default=100
        Most rounds of dual steps.
    k_best : "auto" or int, default="auto"
        Length of each tree's list in the search for the best label set.
    node_potentials : bool, default=False
        Whether each label has a function of its own beside those of its pairs.
    n_jobs : int, default=None
        Threads of `predict`.
    random_state : int, RandomState instance or None, default=None
        Draws the trees and the order of visits.

    Attributes
    ----------
    edge_weights_ : ndarray of shape (n_labels, n_labels)
        Share of the trees that have each pair.
    trees_ : list of ndarray of shape (n_labels - 1, 2)
        The trees.
    tree_weights_ : ndarray of shape (n_trees,)
        Equal.
    objective_ : float
        Primal objective for these trees.
    duality_gap_ : float
        How far it may be above the optimum.
    objectives_, duality_gaps_ : ndarray of shape (n_iter_ + 1,)
        The best objective so far and its gap, before the first round and after each.
    n_trees_ : ndarray of shape (n_iter_ + 1,)
        Trees at those times.
    n_iter_ : int
        Rounds.
    moments_ : ndarray of shape (n_support, n_labels * (n_labels + 1) / 2)
        Coefficients of the support rows, for labels and pairs, times the kernel's weights.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    SpanningTreeMultiLabel : Learns the weights of pairs.

    Notes
    -----
    Not where it matters which labels hang together: random trees miss most of the pairs of many
    labels, and give the same weight to those that say nothing.

    References
    ----------
    .. [1] M. Marchand, H. Su, E. Morvant, J. Rousu and J. Shawe-Taylor (2014). Multilabel
       structured output learning with random spanning trees of max-margin Markov networks. NIPS.

    Examples
    --------
    >>> from octavo.data import make_label_chain
    >>> from octavo.structured import RandomSpanningTreeMultiLabel
    >>> X, Y, edges = make_label_chain(300, n_labels=5, random_state=0)
    >>> model = RandomSpanningTreeMultiLabel(random_state=0).fit(X[:200], Y[:200])
    >>> round(float((model.predict(X[200:]) == Y[200:]).mean()), 2)
    0.75
    """

    _parameter_constraints = {
        **CONSTRAINTS,
        "n_trees": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_trees=10,
        kernel="linear",
        gamma=None,
        intercept_scaling=1.0,
        C=1.0,
        loss="hamming",
        max_outer=100,
        inner_factor=5,
        tol=1e-3,
        k_best="auto",
        node_potentials=False,
        n_jobs=None,
        random_state=None,
    ):
        self.n_trees = n_trees
        self.kernel = kernel
        self.gamma = gamma
        self.intercept_scaling = intercept_scaling
        self.C = C
        self.loss = loss
        self.max_outer = max_outer
        self.inner_factor = inner_factor
        self.tol = tol
        self.k_best = k_best
        self.node_potentials = node_potentials
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _solve(self, X: Any, K: Floats, Y: np.ndarray) -> None:
        random = check_random_state(self.random_state)
        mixture = starting_mixture(Y.shape[1], self.n_trees, random)
        self._train(X, K, Y, mixture, None, random)


def tree_max_marginals(coefficients: Floats, tree: Indices, pairs: LabelPairs) -> Floats:
    """Return for each row and label how much its best label set with the label beats that without.

    Parameters
    ----------
    coefficients : ndarray of shape (n_rows, n_parities)
        Of a score whose pairs are those of the tree.
    tree : ndarray of shape (n_labels - 1, 2)
        Edges.
    pairs : LabelPairs
        Which pair has which column.

    Returns
    -------
    ndarray of shape (n_rows, n_labels)
        Differences of max-marginals.
    """
    n = pairs.n_labels
    parent, order = rooted_forest(n, tree)
    above = np.where(parent >= 0, parent, 0)
    low, high = np.minimum(np.arange(n), above), np.maximum(np.arange(n), above)
    numbers = pair_numbers(np.column_stack([low, np.maximum(high, low + 1)]), n)
    belief = coefficients[:, :n].copy()  # half the difference of on and off, without the parent
    sent = np.zeros_like(belief)
    for v in order[:0:-1]:
        # from leaves to the root
        sent[:, v] = _passed(belief[:, v], coefficients[:, n + numbers[v]])
        belief[:, parent[v]] += sent[:, v]
    for v in order[1:]:
        rest = belief[:, parent[v]] - sent[:, v]
        # and back, without what the neighbour itself had sent
        belief[:, v] += _passed(rest, coefficients[:, n + numbers[v]])
    return 2.0 * belief


def _passed(field: Floats, coupling: Floats) -> Floats:
    """Return half the difference that a neighbour's sign makes: max over own sign of both terms."""
    return 0.5 * (np.abs(field + coupling) - np.abs(field - coupling))


class MaxMarginTrees(LabelTreeBase):
    """Ensemble of multi-label margin machines, each over a random spanning tree of its own.

    Every tree's machine gives each label the difference of its best label sets with and without
    it (max-marginals); a label is given where the mean over trees is positive (MAM in the thesis).

    Parameters
    ----------
    n_trees : int, default=10
        Trees, and machines.
    kernel : {"linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed"} or \
callable, default="linear"
        Compares rows.
    intercept_scaling : float, default=1.0
        Size of a constant feature that is added to all rows; 0 for none.
    C : float, default=1.0
        Price of a unit of slack of one row.
    max_outer : int, default=100
        Most rounds of dual steps of a machine.
    k_best : "auto" or int, default="auto"
        Length of the lists in `predict_certified`, which searches the mean of the trees' scores.
    node_potentials : bool, default=False
        Whether each label has a function of its own beside those of its pairs.
    n_jobs : int, default=None
        Threads: machines are trained side by side.
    random_state : int, RandomState instance or None, default=None
        Draws the trees and the order of visits.

    Attributes
    ----------
    edge_weights_ : ndarray of shape (n_labels, n_labels)
        Share of the trees that have each pair.
    trees_ : list of ndarray of shape (n_labels - 1, 2)
        The trees.
    tree_weights_ : ndarray of shape (n_trees,)
        Equal.
    objective_ : float
        Mean of the machines' primal objectives.
    duality_gap_ : float
        How far it may be above the optimum.
    n_iter_ : int
        Rounds of the machine that took most.
    moments_ : ndarray of shape (n_support, n_labels * (n_labels + 1) / 2)
        Mean coefficients of the support rows, for labels and pairs.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    RandomSpanningTreeMultiLabel : One machine over all trees.
    SpanningTreeMultiLabel : Learns the weights of pairs.

    Notes
    -----
    Not where whole label sets must be right: labels are decided one by one from averages. Use
    `SpanningTreeMultiLabel` then.

    References
    ----------
    .. [1] H. Su and J. Rousu (2013). Multilabel classification through random graph ensembles.
       ACML.

    Examples
    --------
    >>> from octavo.data import make_label_chain
    >>> from octavo.structured import MaxMarginTrees
    >>> X, Y, edges = make_label_chain(300, n_labels=5, random_state=0)
    >>> model = MaxMarginTrees(random_state=0).fit(X[:200], Y[:200])
    >>> round(float((model.predict(X[200:]) == Y[200:]).mean()), 2)
    0.75
    """

    _parameter_constraints = {
        **CONSTRAINTS,
        "n_trees": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_trees=10,
        kernel="linear",
        gamma=None,
        intercept_scaling=1.0,
        C=1.0,
        loss="hamming",
        max_outer=100,
        inner_factor=5,
        tol=1e-3,
        k_best="auto",
        node_potentials=False,
        n_jobs=None,
        random_state=None,
    ):
        self.n_trees = n_trees
        self.kernel = kernel
        self.gamma = gamma
        self.intercept_scaling = intercept_scaling
        self.C = C
        self.loss = loss
        self.max_outer = max_outer
        self.inner_factor = inner_factor
        self.tol = tol
        self.k_best = k_best
        self.node_potentials = node_potentials
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _solve(self, X: Any, K: Floats, Y: np.ndarray) -> None:
        random, n = check_random_state(self.random_state), Y.shape[1]
        trees = [random_tree(n, random) for _ in range(self.n_trees)]
        seeds = random.randint(np.iinfo(np.int32).max, size=self.n_trees)
        # One tree is searched exactly by the single best labelling; zero-one needs a second. All
        # labellings of few labels are compared as fast, and without compiling the lists.
        problem = self._problem(K, Y)._replace(k_best="auto" if n <= FEW else 2)

        def machine(tree: Indices, seed: int) -> TreeMachine:
            return train(
                problem,
                mixture_of(n, (tree,), np.ones(1)),
                update=None,
                max_outer=self.max_outer,
                inner_factor=self.inner_factor,
                tol=self.tol,
                random=np.random.RandomState(seed),
            )

        with FitProgress(self, self.n_trees, X, Y, step_name="tree") as progress:
            jobs = (delayed(machine)(*pair) for pair in zip(trees, seeds))
            machines = []
            parallel = Parallel(self.n_jobs, prefer="threads", return_as="generator")
            for made in parallel(jobs):
                machines.append(made)
                if progress.step():
                    break
        self._keep_all(X, trees[: len(machines)], machines)

    def _keep_all(self, X: Any, trees: list[Indices], machines: list[TreeMachine]) -> None:
        n, pairs = self.n_labels_, label_pairs(self.n_labels_)
        shares = np.full(len(trees), 1.0 / len(trees))
        mixture = mixture_of(n, tuple(trees), shares)
        self.edge_weights_ = np.zeros((n, n))
        self.edge_weights_[pairs.first, pairs.second] = mixture.edge_weights
        self.edge_weights_ += self.edge_weights_.T
        self.trees_, self.tree_weights_ = trees, shares
        self.objective_ = float(np.mean([made.objective for made in machines]))
        self.duality_gap_ = float(np.mean([made.gap for made in machines]))
        self.n_iter_ = max(len(made.objectives) - 1 for made in machines)
        each = [
            made.moments
            * parity_weights(made.mixture.edge_weights, pairs, bool(self.node_potentials))
            for made in machines
        ]
        self._keep_moments(X, np.mean(each, axis=0))
        self._tree_moments = np.array([moments[self.support_] for moments in each])
        poor = [made.gap / max(made.objective, 1e-300) for made in machines if not made.converged]
        if poor:
            warnings.warn(
                f"{len(poor)} machine(s) of MaxMarginTrees did not converge in max_outer="
                f"{self.max_outer} rounds: the largest duality gap is {max(poor):.3g} times the "
                f"objective, where tol={self.tol:.3g} was asked for. Increase max_outer or tol.",
                ConvergenceWarning,
                stacklevel=6,
            )

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the mean difference of the trees' max-marginals, for each label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; their kernel with the training rows for ``kernel="precomputed"``.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_labels)
            Positive where `predict` gives the label.
        """
        K, pairs = self._support_kernel(X), label_pairs(self.n_labels_)
        total = np.zeros((len(K), self.n_labels_))
        for tree, moments in zip(self.trees_, self._tree_moments):
            total += tree_max_marginals(K @ moments, tree, pairs)
        return total / len(self.trees_)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the label set of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; their kernel with the training rows for ``kernel="precomputed"``.

        Returns
        -------
        Y : ndarray of shape (n_samples, n_labels)
            0 and 1.
        """
        return (self.decision_function(X) > 0.0).astype(np.int64)
