"""A tree of clusters of hidden Markov models, from the leaves up.

Clusters HMMs, then the centres of the clusters, and so on: each level works on HMMs that condense
the level below, so that upper levels keep the structure of their clusters.

Reference: E. Coviello, A. B. Chan and G. R. G. Lanckriet (2014), "Clustering Hidden Markov Models
with Variational HEM", Journal of Machine Learning Research 15: Sections 4.1 and 5.1.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClusterMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.probability.mixtures import safe_log
from octavo.engine.smooth.em import warn_unless_converged
from octavo.sequence.hmm.bank import pack_hmms, unpack_hmms
from octavo.sequence.hmm.emissions import COVARIANCE_TYPES
from octavo.sequence.hmm.params import HMMParams
from octavo.sequence.hmm_mixtures.clustering import check_weights, reduce_bank, virtual_sequences
from octavo.sequence.hmm_mixtures.divergence import check_pair, expected_logliks
from octavo.sequence.hmm_mixtures.ppk_spectral import check_levels

__all__ = ["HMMLevel", "HierarchicalHMMClustering"]


class HMMLevel(NamedTuple):
    """One level of a tree: ``labels`` of the HMMs, ``parents`` of the nodes below, and centres.

    ``parents[c]`` is the cluster of this level that node c of the level below belongs to (at the
    first level, that of HMM c); ``cluster_hmms`` and ``weights`` are the clusters' centres and
    mixture weights; ``lower_bounds`` is the bound in each iteration.
    """

    labels: NDArray[np.int64]
    parents: NDArray[np.int64]
    cluster_hmms: list[HMMParams]
    weights: Floats
    lower_bounds: Floats


class HierarchicalHMMClustering(ClusterMixin, CallbackSupportMixin, SoundEstimator):
    """Cluster HMMs into a tree by repeated variational hierarchical EM.

    Parameters
    ----------
    n_clusters : tuple of int, default=(8, 4, 2)
        Number of clusters of each level, from the leaves up; they must fall.
    n_states : int, optional
        Number of hidden states of the centres; that of the largest HMM by default.
    n_mix : int, optional
        Number of Gaussians in a centre's state; that of the largest HMM by default.
    covariance_type : {"diag", "full", "spherical"}, default="diag"
        Form of the centres' covariances.
    n_virtual : "hard" or float, default="hard"
        Number N of virtual sequences of a level; see `HMMClustering`.
    tau : int, default=10
        Length of the virtual sequences.
    n_init : int, default=10
        Number of random starts of each level.
    max_iter : int, default=100
        Largest number of iterations from one start.
    tol : float, default=1e-5
        Stop when the bound rises by less than this, relative to its size.
    reg_covar : float, default=1e-6
        Variance added to those of the HMMs, once, at the first level.
    anneal : bool, default=True
        Whether each start makes a few iterations with less than N.
    random_state : int, RandomState instance or None, default=None
        Seeds the starts.
    min_covar : float, default=0
        Smaller variances of the HMMs are raised to this first.

    Attributes
    ----------
    levels_ : list of HMMLevel
        The levels, from the leaves up.
    linkage_children_ : list of list of ndarray
        ``linkage_children_[l][c]`` are the nodes of the level below (at the first level: the HMMs)
        that cluster c of level l joins.
    labels_ : ndarray of int of shape (n_hmms,)
        The clusters of the first level.
    n_iter_ : int
        Iterations of the best starts, all levels together.

    See Also
    --------
    HMMClustering : One level.

    Notes
    -----
    Do not use it for a flat clustering: a level never undoes the one below. scikit-learn's
    `sklearn.cluster.AgglomerativeClustering` builds binary trees from `hmm_distance_matrix`.

    References
    ----------
    .. [1] E. Coviello, A. B. Chan and G. R. G. Lanckriet (2014). "Clustering Hidden Markov Models
       with Variational HEM". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from octavo.sequence import HierarchicalHMMClustering, HMMParams
    >>> means = (0.0, 0.3, 3.0, 3.3, 20.0, 20.3)
    >>> hmms = [HMMParams([1], [[1]], [[1]], [[[m]]], [[[1.0]]]) for m in means]
    >>> tree = HierarchicalHMMClustering((3, 2), random_state=0).fit(hmms)
    >>> top = tree.levels_[1].labels
    >>> top[0] == top[3] != top[4] == top[5]
    np.True_
    """

    _parameter_constraints: dict[str, Any] = {
        "n_clusters": [tuple, list],
        "n_states": [Interval(Integral, 1, None, closed="left"), None],
        "n_mix": [Interval(Integral, 1, None, closed="left"), None],
        "covariance_type": [StrOptions(set(COVARIANCE_TYPES))],
        "n_virtual": [StrOptions({"hard"}), Interval(Real, 0, None, closed="neither")],
        "tau": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
        "anneal": ["boolean"],
        "random_state": ["random_state"],
        "min_covar": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: tuple[int, ...] = (8, 4, 2),
        n_states: int | None = None,
        n_mix: int | None = None,
        covariance_type: str = "diag",
        n_virtual: str | float = "hard",
        tau: int = 10,
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-5,
        reg_covar: float = 1e-6,
        anneal: bool = True,
        random_state: Any = None,
        *,
        min_covar: float = 0.0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_states = n_states
        self.n_mix = n_mix
        self.covariance_type = covariance_type
        self.n_virtual = n_virtual
        self.tau = tau
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.reg_covar = reg_covar
        self.anneal = anneal
        self.random_state = random_state
        self.min_covar = min_covar

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, hmms: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Build the tree.

        Parameters
        ----------
        hmms : list of HMMParams, or of other forms that `as_hmm` takes
            HMMs of one family.
        sample_weight : array-like of shape (n_hmms,), optional
            Weights of the HMMs, on any scale; upper levels weight a cluster by its share of the
            nodes below.

        Returns
        -------
        self : HierarchicalHMMClustering
            The fitted tree.
        """
        bank = pack_hmms(hmms)
        sizes = check_levels(tuple(self.n_clusters), bank.size)
        weights = check_weights(sample_weight, bank.size)
        rng = check_random_state(self.random_state)
        labels = np.arange(bank.size)
        levels, n_iter, each = [], 0, []
        with FitProgress(self, None, hmms) as progress:
            for depth, size in enumerate(sizes):
                rules = self if depth == 0 else _upper(self)
                run = reduce_bank(rules, bank, size, weights, progress, rng)
                warn_unless_converged(run, self, max_iter=self.max_iter, tol=self.tol)
                parents = run.expectations.share.argmax(axis=1)
                each.append(virtual_sequences(self.n_virtual, bank.size) / bank.size)
                # the centres of a level are the HMMs of the next (Section 5.2)
                labels, bank, weights = parents[labels], run.params.bank, run.params.weights
                levels.append(HMMLevel(labels, parents, unpack_hmms(bank), weights, run.trace))
                n_iter += run.n_iter
        self.levels_, self.n_iter_, self._virtual_each = levels, n_iter, each
        self.labels_ = levels[0].labels
        self.linkage_children_ = [
            [np.flatnonzero(level.parents == c) for c in range(size)]
            for level, size in zip(levels, sizes)
        ]
        return self

    def predict(self, hmms: Any, level: int = 0) -> NDArray[np.intp]:
        """Return the cluster of each HMM at a level: that under whose centre it is likeliest.

        Parameters
        ----------
        hmms : list of HMMParams, or of other forms that `as_hmm` takes
            HMMs of the family that was clustered.
        level : int, default=0
            The level, from the leaves up; -1 is the top.

        Returns
        -------
        labels : ndarray of int of shape (n_hmms,)
            Clusters of that level.
        """
        check_is_fitted(self, "levels_")
        bank, chosen = pack_hmms(hmms), self.levels_[level]
        centres = pack_hmms(chosen.cluster_hmms)
        check_pair(bank, centres, "the HMMs differ from those that were clustered")
        logliks = self._virtual_each[level] * expected_logliks(bank, centres, self.tau)
        return np.argmax(safe_log(chosen.weights) + logliks, axis=1)

    def linkage(self) -> Floats:
        """Return the tree as a linkage matrix, as `scipy.cluster.hierarchy.dendrogram` takes it.

        Returns
        -------
        matrix : ndarray of shape (n_hmms - 1, 4)
            Nodes that join at a level are joined one after the other at the height of that level,
            1, 2, ...; what is left at the top is joined one level higher.
        """
        check_is_fitted(self, "levels_")
        n = len(self.labels_)
        sizes, nodes, rows = [1.0] * n, list(range(n)), []
        top = [[np.arange(len(self.linkage_children_[-1]))]]
        for height, clusters in enumerate([*self.linkage_children_, *top], start=1):
            merged = []
            for children in clusters:
                whole = -1
                for child in children:
                    node = nodes[child]
                    if whole < 0 or node < 0:
                        whole = max(whole, node)
                        continue
                    sizes.append(sizes[whole] + sizes[node])
                    rows.append([whole, node, float(height), sizes[-1]])
                    whole = len(sizes) - 1
                merged.append(whole)
            nodes = merged
        return np.array(rows)


class _Rules(NamedTuple):
    """The parameters of a level above the first: its HMMs are widened already."""

    n_states: int | None
    n_mix: int | None
    covariance_type: str
    n_virtual: str | float
    tau: int
    n_init: int
    max_iter: int
    tol: float
    reg_covar: float
    anneal: bool


def _upper(tree: HierarchicalHMMClustering) -> _Rules:
    shared = {name: getattr(tree, name) for name in _Rules._fields}
    return _Rules(**{**shared, "reg_covar": 0.0})
