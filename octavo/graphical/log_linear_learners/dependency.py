"""Dependency networks: the probability trees alone, with Gibbs sampling for queries."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.callback import with_callbacks

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import fit_context
from octavo.graphical.log_linear.conjunctions import as_parts, canonical, matches
from octavo.graphical.log_linear.pseudo_likelihood import weighted_rows
from octavo.graphical.log_linear.state_codes import Codes
from octavo.graphical.log_linear.text_format import WrittenNetwork
from octavo.graphical.log_linear.trees import leaf_log_probabilities, node_features
from octavo.graphical.log_linear_learners.dtsl import TREE_CONSTRAINTS
from octavo.graphical.log_linear_learners.learning import WEIGHT_CONSTRAINTS, LearnedNetwork, all_of
from octavo.graphical.log_linear_learners.tree_learning import KAPPAS, choose_kappa, grow_trees

__all__ = ["DependencyNetwork"]


class DependencyNetwork(LearnedNetwork):
    """One probability tree a variable, without weights that would make them one distribution.

    Parameters
    ----------
    kappa : "auto" or float, default="auto"
        Prior odds of a parameter of a tree; "auto" chooses among 1, 0.1, ..., 0.0001 by held-out
        likelihood.
    validation : float or array-like of int, default=0.1
        Share of the rows by which "auto" chooses, or their numbers; then trees are grown anew.

    Attributes
    ----------
    features_ : list of features
        Paths to leaves with a state of the target; the same one may belong to two targets.
    weights_ : ndarray
        Log-probabilities of the leaves.
    targets_ : ndarray
        The variable whose conditional each feature belongs to.
    trees_ : list of SplitTree
        One a variable.
    cardinalities_ : ndarray
        States of each column.
    categories_ : list
        Names of the states of a column, or None where they are integers.
    kappa_ : float
        What was chosen.
    validation_scores_ : dict
        Held-out scores by ``("kappa", κ)``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    DTSLMarkovNetwork : The same trees as one consistent distribution.

    Notes
    -----
    The conditionals need not belong to one joint distribution: `log_prob`, `log_partition`,
    `energy` and every method of marginals but Gibbs sampling are refused.

    References
    ----------
    .. [1] D. Heckerman, D. M. Chickering, C. Meek, R. Rounthwaite and C. Kadie (2000). "Dependency
       networks for inference, collaborative filtering, and data visualization". Journal of
       Machine Learning Research 1.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import DependencyNetwork
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (300, 3))
    >>> X[:, 2] = X[:, 0] ^ (rng.random(300) < 0.1)
    >>> network = DependencyNetwork(kappa=0.01).fit(X)
    >>> round(network.score(X), 3), len(network.features_)
    (-0.403, 10)
    """

    _parameter_constraints: dict[str, Any] = {
        **TREE_CONSTRAINTS,
        **{name: WEIGHT_CONSTRAINTS[name] for name in ("validation", "random_state", "n_jobs")},
    }

    def __init__(
        self,
        kappa: Any = "auto",
        leaf_prior: float = 1.0,
        min_samples_leaf: int = 10,
        validation: Any = 0.1,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kappa = kappa
        self.leaf_prior = leaf_prior
        self.min_samples_leaf = min_samples_leaf
        self.validation = validation
        self.random_state = random_state
        self.n_jobs = n_jobs

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Grow the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Integer codes, booleans, categories, or zeros and ones in a sparse matrix.
        y : None
            Ignored.

        Returns
        -------
        self : DependencyNetwork
            The network.
        """
        codes = self._read(X, 2 * self.min_samples_leaf)
        cards, kappa = self.cardinalities_, self.kappa
        self.validation_scores_ = {}
        settings = (self.leaf_prior, self.min_samples_leaf, self.n_jobs)
        with FitProgress(self, None, X) as progress:
            if kappa == "auto":
                tuning = self._tuning(codes, progress.step)
                kappas = all_of(kappa, KAPPAS)
                grown = grow_trees(tuning.train, max(kappas), *settings, progress.step)
                found = choose_kappa(grown, tuning.held_out, kappas, self.leaf_prior, cards)
                kappa = found[0]
                self.validation_scores_ = {("kappa", k): s for k, s in found[2].items()}
            rows = weighted_rows(codes, cards)
            self.trees_ = grow_trees(rows, kappa, *settings, progress.step)
        self.kappa_ = float(kappa)
        features, weights, targets = [], [], []
        for tree in self.trees_:
            logs = leaf_log_probabilities(tree, self.leaf_prior)
            for node, v, feature in node_features(tree, "default", cards):
                features.append(feature)
                weights.append(logs[node, v])
                targets.append(tree.target)
        self.features_, self.weights_ = features, np.array(weights)
        self.targets_ = np.array(targets, np.int64)
        return self

    def _targets(self) -> Ints | None:
        self._ready()
        return self.targets_

    def _log_conditionals(self, codes: Codes) -> Floats:
        """Add, for each variable, the weights of its own features that match."""
        found = np.zeros(codes.shape)
        for k in range(codes.shape[1]):
            own = np.flatnonzero(self.targets_ == k)
            parts = as_parts([self.features_[f] for f in own], self.cardinalities_)
            blocks = self._blocks(codes, parts.variable.size)
            if own.size:
                found[:, k] = np.concatenate(
                    [matches(b, parts) @ self.weights_[own] for b in blocks]
                )
        return found

    def _adopt(self, written: WrittenNetwork) -> None:
        if written.targets is None:
            raise ValueError(
                "The file holds a Markov network; LogLinearMarkovNetwork.load reads it."
            )
        made = [canonical(feature, written.cardinalities) for feature in written.features]
        self.features_ = [feature for feature in made if feature]
        if len(self.features_) != len(written.features):
            raise ValueError("The file has a feature that always or never matches.")
        self.weights_, self.targets_ = written.weights, written.targets
        self.cardinalities_ = written.cardinalities
        self.categories_ = [None] * len(self.cardinalities_)
        self.n_features_in_ = len(self.cardinalities_)
