"""Random intersection trees: interactions of any order without a search from pairs upwards.

Reference: R. D. Shah and N. Meinshausen (2014), "Random Intersection Trees", Journal of Machine
Learning Research 15. Implemented: Algorithms 1 and 2, the version without a depth (Section 4),
min-wise hashing (Equations (5) to (10)), verification of (1) on exact counts.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import (
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from octavo.engine.estimators.sound import SoundEstimator
from octavo.linear.intersections.binary_rows import binary_csr
from octavo.linear.intersections.classes import split_classes
from octavo.linear.intersections.mining import Search, mine_patterns
from octavo.linear.intersections.patterns import flat_sets, indicate_patterns

__all__ = ["RandomIntersectionTrees", "RankedPattern"]

# The limits of a search: more levels than rows can thin, more trees than hours.
DEEPEST, MOST_TREES = 1000, 10_000_000
SEARCH_CONSTRAINTS: dict[str, list[Any]] = {
    "n_trees": [Interval(Integral, 1, MOST_TREES, closed="both")],
    "branching": [Interval(Real, 1, 1e6, closed="both")],
    "theta0": [Interval(Real, 0, 1, closed="left"), None],
    "theta1": [Interval(Real, 0, 1, closed="both")],
    "prevalence": [StrOptions({"minhash", "exact"})],
    "n_hashes": [Interval(Integral, 1, 100_000, closed="both")],
    "min_count": [Interval(Integral, 1, None, closed="left")],
    "max_size": [Interval(Integral, 1, None, closed="left"), None],
    "max_depth": [Interval(Integral, 1, DEEPEST, closed="both")],
    "max_nodes": [Interval(Integral, 2, 10_000_000, closed="both")],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
}


class TruncatedTreesWarning(UserWarning):
    """Trees were cut at a limit of nodes or levels, and some patterns may be missing."""


def warn_of_truncation(truncated: int, n_trees: int, max_nodes: int, max_depth: int) -> None:
    """Say how many trees were cut."""
    if truncated:
        warnings.warn(
            f"{truncated} of {n_trees} trees were cut at {max_nodes} nodes or {max_depth} levels; "
            "patterns may be missing. A smaller branching factor or theta0, or a larger "
            "max_nodes, lets them end by themselves.",
            TruncatedTreesWarning,
            stacklevel=3,
        )


class RankedPattern(NamedTuple):
    """A pattern in a ranking.

    Attributes
    ----------
    pattern : tuple of int
        Column numbers.
    names : tuple of str
        The names of the columns.
    n_trees : int
        In how many trees it was found.
    inside, outside : float
        Its exact prevalence in the target class and outside.
    precision : float
        The share of the target class among the rows that hold it.
    lift : float
        That share over the share of the target class among all rows.
    """

    pattern: tuple[int, ...]
    names: tuple[str, ...]
    n_trees: int
    inside: float
    outside: float
    precision: float
    lift: float


class RandomIntersectionTrees(CallbackSupportMixin, TransformerMixin, SoundEstimator):
    """Find sets of 0/1 columns that occur together much more in one class than in the rest.

    The rows of the class are intersected at random along the branches of trees, so that a set
    of columns of any size is found at about the same cost as a pair, and no part of it needs to
    be informative by itself.

    Parameters
    ----------
    n_trees : int, default=1000
        Number of trees (the paper's M).
    branching : float, default=5
        Children of a node (B). Between two integers each node has one or the other at random,
        with this mean. Trees end by themselves where it is below one over the prevalence of the
        patterns that are sought.
    depth : int or None, default=None
        Depth of the trees (D); patterns are the sets at that depth. None lets branches grow
        until their sets are common outside the class, and takes the last that is not.
    theta0 : float or None, default=0.01
        Largest prevalence outside the target class. None for no limit, with a depth:
        Algorithm 1.
    theta1 : float, default=0.0
        Least prevalence in the target class of what is returned.
    prevalence : {"minhash", "exact"}, default="minhash"
        How branches are tested against `theta0`. "exact" counts bits: the better choice for up
        to some ten thousand rows, or where `theta0` is below 1 / n_hashes.
    n_hashes : int, default=200
        Random orders of the rows (L) for "minhash".
    min_count : int, default=2
        Least number of trees that a pattern was found in.
    max_size : int or None, default=None
        Patterns of more columns are left out.
    target : object, default=None
        The class of interest; the second of two by default.
    random_state : int, RandomState instance or None, default=None
        Seeds trees and hashes.
    root_single_child : bool, default=False
        Let trees branch below the second level only, which saves intersections of long rows.
    max_depth : int, default=50
        Levels at which a tree without a depth is cut.
    max_nodes : int, default=5000
        Nodes at which any tree is cut; `truncated_` counts such trees.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.

    Attributes
    ----------
    patterns_ : list of tuple of int
        Column numbers of each pattern, the most frequently found first.
    counts_ : ndarray of shape (n_patterns,)
        Number of trees in which each was found.
    prevalence_ : ndarray of shape (n_patterns, 2)
        Share of the rows that hold it, in the target class and outside; exact.
    lift_ : ndarray of shape (n_patterns,)
        Share of the target class among the rows that hold it, over its share among all rows.
    target_ : object
        The class of interest.
    classes_ : ndarray of shape (n_classes,)
        All classes.
    n_nodes_ : int
        Nodes of all trees.
    truncated_ : int
        Number of trees that were cut at a limit.
    always_ : ndarray of int
        Columns that all rows of the target class hold. They are part of every pattern.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X has names that are strings.

    See Also
    --------
    RITClassifier : Classify any table by such patterns.
    plan_rit : Choose trees, depth and branching for a wanted probability.
    ThresholdBinarizer : Make 0/1 columns.

    Notes
    -----
    Patterns are mined on the rows that they are counted on: verify on others before claiming
    anything. How often a pattern is found follows its prevalence in the class, not its effect:
    rank by lift or precision too (`top`). Where most columns are ones in half of the rows, trees
    explode; look at `truncated_`.

    Do not use it for main effects or pairs of a few dozen columns, which
    ``PolynomialFeatures(interaction_only=True)`` lists outright.

    References
    ----------
    R. D. Shah and N. Meinshausen (2014), "Random Intersection Trees", Journal of Machine
    Learning Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.linear import RandomIntersectionTrees
    >>> rng = np.random.default_rng(0)
    >>> X = (rng.random((500, 60)) < 0.2).astype(int)
    >>> y = rng.integers(0, 2, 500)
    >>> X[np.ix_((y == 1) & (rng.random(500) < 0.4), [3, 17, 41])] = 1
    >>> model = RandomIntersectionTrees(200, branching=2, random_state=0).fit(X, y)
    >>> best = model.top(1)[0]
    >>> best.pattern, round(best.inside, 3), round(best.outside, 3)
    ((3, 17, 41), 0.412, 0.004)
    """

    _parameter_constraints: dict[str, Any] = {
        **SEARCH_CONSTRAINTS,
        "depth": [Interval(Integral, 1, DEEPEST, closed="both"), None],
        "target": "no_validation",
        "root_single_child": ["boolean"],
    }

    def __init__(
        self,
        n_trees=1000,
        branching=5,
        depth=None,
        theta0=0.01,
        theta1=0.0,
        prevalence="minhash",
        n_hashes=200,
        min_count=2,
        max_size=None,
        target=None,
        random_state=None,
        *,
        root_single_child=False,
        max_depth=50,
        max_nodes=5000,
        n_jobs=None,
    ):
        self.n_trees = n_trees
        self.branching = branching
        self.depth = depth
        self.theta0 = theta0
        self.theta1 = theta1
        self.prevalence = prevalence
        self.n_hashes = n_hashes
        self.min_count = min_count
        self.max_size = max_size
        self.target = target
        self.random_state = random_state
        self.root_single_child = root_single_child
        self.max_depth = max_depth
        self.max_nodes = max_nodes
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Find the patterns of the target class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or list of sets
            Zeros and ones; or the active columns of each row, as sets or as lists of unequal
            lengths.
        y : array-like of shape (n_samples,)
            Classes; all but the target are one.
        sample_weight : array-like of shape (n_samples,), optional
            Rows of the target class are drawn in proportion to it. Prevalences count rows.

        Returns
        -------
        self : RandomIntersectionTrees
            The fitted estimator.
        """
        if self.depth is None and self.theta0 is None:
            raise ValueError("theta0=None has no rule that ends a branch: give a depth.")
        if self.theta0 is not None and self.theta1 and self.theta0 >= self.theta1:
            raise ValueError(
                f"theta0 must be below theta1, got {self.theta0!r} and {self.theta1!r}."
            )
        rows, y = binary_csr(self, X, y, reset=True)
        self.classes_, inside, self.target_ = split_classes(y, self.target, self)
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, X, ensure_non_negative=True)[inside]
            if not weights.sum() > 0:
                raise ValueError("sample_weight must be positive for some row of the target class.")
        search = Search(*(getattr(self, name) for name in Search._fields))
        own, others = rows[inside], rows[~inside]
        total = np.asarray(own.sum(axis=0)).ravel()
        with FitProgress(self, search.n_chunks, X, y, step_name="chunk of trees") as progress:
            found = mine_patterns(
                own, others, search, self.random_state, weights=weights, step=progress.step
            )
        self.patterns_, self.counts_, _, self.prevalence_, self.lift_ = found[:5]
        self.n_nodes_, self.truncated_ = found.n_nodes, found.truncated
        self.always_ = np.flatnonzero(total == own.shape[0])
        self._share_inside = own.shape[0] / rows.shape[0]
        warn_of_truncation(self.truncated_, self.n_trees, self.max_nodes, self.max_depth)
        return self

    def transform(self, X):
        """Return which rows hold which patterns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or list of sets
            Zeros and ones, or the active columns of each row; columns that `fit` has not seen
            are left out of sets.

        Returns
        -------
        indicators : csr_array of shape (n_samples, n_patterns)
            One where a row holds all columns of a pattern.
        """
        check_is_fitted(self)
        rows = binary_csr(self, X, reset=False)
        return indicate_patterns(rows, *flat_sets(self.patterns_))

    def get_feature_names_out(self, input_features=None):
        """Return the columns of each pattern, joined by "&".

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of X.

        Returns
        -------
        names : ndarray of shape (n_patterns,)
            Names.
        """
        check_is_fitted(self)
        names = self._names(input_features)
        joined = [" & ".join(names[k] for k in pattern) for pattern in self.patterns_]
        return np.array(joined, dtype=object)

    def _names(self, input_features: Any = None) -> list[str]:
        if input_features is None:
            input_features = getattr(self, "feature_names_in_", None)
        if input_features is None:
            return [f"x{k}" for k in range(self.n_features_in_)]
        if len(input_features) != self.n_features_in_:
            raise ValueError(
                f"input_features should have length {self.n_features_in_}, got "
                f"{len(input_features)}."
            )
        return [str(name) for name in input_features]

    def top(self, k=10, by="count"):
        """Return the first patterns of a ranking.

        Parameters
        ----------
        k : int, default=10
            How many.
        by : {"count", "lift", "precision", "prevalence"}, default="count"
            What they are ranked by, largest first: trees, lift (or precision, which orders them
            alike), or prevalence in the target class. Ties go by prevalence, then by count.

        Returns
        -------
        patterns : list of RankedPattern
            At most k.
        """
        check_is_fitted(self)
        if isinstance(k, bool) or not isinstance(k, Integral) or k < 0:
            raise ValueError(f"k must be a whole number from 0 on, got {k!r}.")
        inside = self.prevalence_[:, 0]
        rank = {"count": self.counts_, "lift": self.lift_, "precision": self.lift_}
        rank["prevalence"] = inside
        if by not in rank:
            raise ValueError(f"by must be one of {sorted(rank)}, got {by!r}.")
        order = np.lexsort((-self.counts_, -inside, -rank[by]))[:k]
        names = self._names()
        return [
            RankedPattern(
                self.patterns_[s],
                tuple(names[c] for c in self.patterns_[s]),
                int(self.counts_[s]),
                float(inside[s]),
                float(self.prevalence_[s, 1]),
                float(self.lift_[s] * self._share_inside),
                float(self.lift_[s]),
            )
            for s in order
        ]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags
