"""A multi-label classifier that learns which label pairs matter, as a mixture of spanning trees.

Reference: S. Cousins, PhD thesis, University College London, Chapter 4: the L1 mixture of all
spanning trees (Sections 4.4.3 to 4.4.8).
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.structured.label_trees.base import CONSTRAINTS, LabelTreeBase
from octavo.structured.label_trees.training import starting_mixture
from octavo.structured.label_trees.tree_weights import TreeMixture

__all__ = ["SpanningTreeMultiLabel"]


class SpanningTreeMultiLabel(LabelTreeBase):
    """Multi-label margin machine over a learned mixture of spanning trees of the labels.

    Scores of label sets are sums over pairs of labels. Which pairs count is learned with the
    machine: their weights are those of the mixture of spanning trees with the largest margin, out
    of all trees. Predictions come with a certificate that no other label set scores more.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed"} or \
callable, default="linear"
        Compares rows.
    intercept_scaling : float, default=1.0
        Size of a constant feature that is added to all rows; 0 for none. Without it a linear
        kernel cannot hold couplings of labels that do not depend on x.
    C : float, default=1.0
        Price of a unit of slack of one row.
    n_init_trees : int, default=10
        Random spanning trees to start from.
    update : {"edges", "closed", "thesis"}, default="edges"
        How weights follow the machine: those of pairs by the closed form of multiple kernel
        learning, with longer steps while they help; those of a list of trees likewise; or the
        thesis's Algorithm 7. The best machine of all rounds is kept.
    max_outer : int, default=100
        Most rounds of dual steps and a step of the weights.
    k_best : "auto" or int, default="auto"
        Length of each tree's list in the search for the best label set. ``"auto"`` compares all
        label sets up to 14 labels, and beyond doubles the lists until they certify, up to 1,024.
    node_potentials : bool, default=False
        Whether each label has a function of its own beside those of its pairs; a tree's kernel is
        then the mean over its pairs and all labels.
    n_jobs : int, default=None
        Threads of `predict`.
    random_state : int, RandomState instance or None, default=None
        Draws the first trees and the order of visits.

    Attributes
    ----------
    edge_weights_ : ndarray of shape (n_labels, n_labels)
        Weight of each pair, symmetric: the sum of the weights of the trees that have it. All
        entries sum to 2 (n_labels - 1).
    trees_ : list of ndarray of shape (n_labels - 1, 2)
        Trees of the mixture; empty for ``update="edges"``, which keeps none.
    tree_weights_ : ndarray of shape (n_trees,)
        Their weights, which sum to one.
    objective_ : float
        Primal objective, 1/2 (sum of norms of the trees' functions)² + C · slacks.
    duality_gap_ : float
        How far it may be above the optimum over all mixtures.
    objectives_, duality_gaps_ : ndarray of shape (n_iter_ + 1,)
        The best objective so far and its gap, before the first round and after each.
    n_trees_ : ndarray of shape (n_iter_ + 1,)
        Trees in the mixture at those times.
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
    RandomSpanningTreeMultiLabel : Random trees of equal weight.
    MaxMarginTrees : A machine for each random tree, averaged.
    sklearn.multioutput.ClassifierChain : One classifier after another, in a given order.

    Notes
    -----
    Not for thousands of labels, nor for more than some ten thousand rows: the Gram matrix is held
    in memory, and a label pair costs a column. Where labels are independent given x, a classifier
    for each label (`sklearn.multioutput.MultiOutputClassifier`) is as good and faster.

    References
    ----------
    .. [1] S. Cousins. PhD thesis, University College London, Chapter 4: multi-label learning over
       unknown graph structures.

    Examples
    --------
    >>> from octavo.data import make_label_chain
    >>> from octavo.structured import SpanningTreeMultiLabel
    >>> X, Y, edges = make_label_chain(300, n_labels=5, random_state=0)
    >>> model = SpanningTreeMultiLabel(random_state=0).fit(X[:200], Y[:200])
    >>> labels, exact, gap = model.predict_certified(X[200:])
    >>> bool(exact.all()), round(float((labels == Y[200:]).mean()), 2)
    (True, 0.74)
    """

    _parameter_constraints = {
        **CONSTRAINTS,
        "n_init_trees": [Interval(Integral, 1, None, closed="left")],
        "update": [StrOptions({"edges", "closed", "thesis"})],
    }

    def __init__(
        self,
        kernel="linear",
        gamma=None,
        intercept_scaling=1.0,
        C=1.0,
        loss="hamming",
        n_init_trees=10,
        update="edges",
        max_outer=100,
        inner_factor=5,
        tol=1e-3,
        k_best="auto",
        node_potentials=False,
        n_jobs=None,
        random_state=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.intercept_scaling = intercept_scaling
        self.C = C
        self.loss = loss
        self.n_init_trees = n_init_trees
        self.update = update
        self.max_outer = max_outer
        self.inner_factor = inner_factor
        self.tol = tol
        self.k_best = k_best
        self.node_potentials = node_potentials
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _solve(self, X: Any, K: Floats, Y: np.ndarray) -> None:
        random = check_random_state(self.random_state)
        n = Y.shape[1]
        mixture = starting_mixture(n, self.n_init_trees, random)
        if self.update == "edges":  # half of all trees, so that every pair has a weight to follow
            mixed = 0.5 * mixture.edge_weights + 0.5 * 2.0 / n
            mixture = TreeMixture(n, mixed, (), np.empty(0))
        self._train(X, K, Y, mixture, self.update, random)
