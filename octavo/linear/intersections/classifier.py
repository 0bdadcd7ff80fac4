"""Classify by the patterns that intersection trees find: average log-odds, Section 5.1.

Reference: R. D. Shah and N. Meinshausen (2014), "Random Intersection Trees", Journal of Machine
Learning Research 15.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.linear.intersections.classes import need_two_rows
from octavo.linear.intersections.estimator import SEARCH_CONSTRAINTS
from octavo.linear.intersections.mining import Search, mine_patterns
from octavo.linear.intersections.patterns import flat_sets, indicate_patterns
from octavo.linear.intersections.thresholds import ThresholdBinarizer

__all__ = ["RITClassifier"]


def equal_error_threshold(scores: Floats, positive: np.ndarray) -> float:
    """Return a threshold at which both classes have the same share of errors.

    Where several serve alike, the middle one is taken: between two classes that the scores
    separate it lies half-way.
    """
    levels = np.unique(scores)
    if levels.size == 1:
        return float(levels[0])
    middles = levels[:-1] + 0.5 * np.diff(levels)  # where no row lies
    missed = np.searchsorted(np.sort(scores[positive]), middles) / positive.sum()
    kept = np.searchsorted(np.sort(scores[~positive]), middles) / (~positive).sum()
    gap = np.abs(missed - (1.0 - kept))
    best = np.flatnonzero(gap <= gap.min() + 1e-12)
    return float(middles[best[best.size // 2]])


def log_odds(held: Ints, totals: Ints, smoothing: float) -> tuple[Floats, Floats]:
    """Return the log-odds of the first class where a pattern is present, and where it is absent.

    The text prints the inclusion the other way round.
    """
    # P(Y = 1 | S ⊆ X), as odds
    present = np.log(held[:, 0] + smoothing) - np.log(held[:, 1] + smoothing)
    left = totals - held
    # P(Y = 1 | S ⊄ X), as odds
    absent = np.log(left[:, 0] + smoothing) - np.log(left[:, 1] + smoothing)
    return present, absent


class RITClassifier(CallbackSupportMixin, ClassifierMixin, SoundEstimator):
    """Classify by interactions: the average log-odds of patterns that are present or absent.

    Patterns of each class against the rest, and of the rest against it, are mined by random
    intersection trees. Any table is made 0/1 first.

    Parameters
    ----------
    n_trees : int, default=1000
        Trees in each direction.
    min_count : int, default=10
        Least number of trees that a pattern was found in. The paper has 2; among hundreds of
        columns of noise 10 errs less, because fewer chance patterns share in the average. With
        fewer trees it must be smaller.
    smoothing : float, default=1e-3
        Added to the counts of which odds are made. Small values let patterns that only one class
        has dominate; 0.5 is better where classes overlap.
    random_state : int, RandomState instance or None, default=None
        Seeds the trees.
    branching : float, default=12
        Children of a node. The paper has 5, with which trees lose patterns that fewer than one in
        five rows of a class have, and find others too seldom for `min_count`.
    theta0 : float, default=0.01
        Largest prevalence of a pattern outside its class: raise it where classes overlap.
    prevalence : {"exact", "minhash"}, default="exact"
        How branches are tested; see `RandomIntersectionTrees`.
    n_hashes : int, default=200
        Random orders of the rows for "minhash".
    max_size : int or None, default=None
        Patterns of more columns are left out.
    max_depth : int, default=50
        Levels at which a tree is cut.
    max_nodes : int, default=1000
        Nodes at which a tree is cut.
    n_thresholds : int, default=5
        Thresholds a column of numbers; see `ThresholdBinarizer`. Columns of zeros and ones, or
        mostly of zeros, are asked whether they are zero.
    n_jobs : int or None, default=None
        Number of threads.

    Attributes
    ----------
    patterns_ : list of tuple of int
        Patterns of all classes, as columns of `binarizer_`.
    pattern_names_ : ndarray of shape (n_patterns,)
        The same in words.
    counts_ : ndarray of shape (n_patterns,)
        Number of trees in which each was found.
    coef_ : ndarray of shape (1, n_patterns) or (n_classes, n_patterns)
        What the presence of a pattern adds to the decision.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The decision without any pattern, less the threshold at which both classes have the same
        share of errors in training.
    classes_ : ndarray of shape (n_classes,)
        Classes.
    binarizer_ : ThresholdBinarizer
        What makes the 0/1 columns.
    truncated_ : int
        Number of trees that were cut at a limit.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X has names that are strings.

    See Also
    --------
    RandomIntersectionTrees : The patterns alone.
    InteractionFeatures : The patterns as columns for another model.

    Notes
    -----
    The decision is an average of log-odds, not a calibrated probability: wrap it in
    ``CalibratedClassifierCV`` where one is needed. Where effects add up, `LogisticRegression` is
    better and faster; where a few columns interact, a random forest is.

    References
    ----------
    R. D. Shah and N. Meinshausen (2014), "Random Intersection Trees", Journal of Machine
    Learning Research 15.

    Examples
    --------
    >>> from octavo.data import make_tic_tac_toe
    >>> from octavo.linear import RITClassifier
    >>> X, y = make_tic_tac_toe()
    >>> model = RITClassifier(n_trees=1000, random_state=0).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    1.0
    """

    _parameter_constraints: dict[str, Any] = {
        **{name: kinds for name, kinds in SEARCH_CONSTRAINTS.items() if name != "theta1"},
        "theta0": [Interval(Real, 0, 1, closed="left")],
        "smoothing": [Interval(Real, 0, 1e6, closed="neither")],
        "n_thresholds": [Interval(Integral, 1, 10_000, closed="both")],
    }

    def __init__(
        self,
        n_trees=1000,
        min_count=10,
        smoothing=1e-3,
        random_state=None,
        *,
        branching=12,
        theta0=0.01,
        prevalence="exact",
        n_hashes=200,
        max_size=None,
        max_depth=50,
        max_nodes=1000,
        n_thresholds=5,
        n_jobs=None,
    ):
        self.n_trees = n_trees
        self.min_count = min_count
        self.smoothing = smoothing
        self.random_state = random_state
        self.branching = branching
        self.theta0 = theta0
        self.prevalence = prevalence
        self.n_hashes = n_hashes
        self.max_size = max_size
        self.max_depth = max_depth
        self.max_nodes = max_nodes
        self.n_thresholds = n_thresholds
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X, y):
        """Find patterns and their log-odds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Any numbers.
        y : array-like of shape (n_samples,)
            Classes, two rows of each at least.

        Returns
        -------
        self : RITClassifier
            The fitted classifier.
        """
        X, y = validate_rows(self, X, y, accept_sparse="csr", dtype=np.float64)
        self.classes_, codes = encode_classes(y, owner=self)
        for label, n in zip(self.classes_, np.bincount(codes)):
            need_two_rows(int(n), f"the class {label!s}")
        self.binarizer_ = ThresholdBinarizer(n_thresholds=self.n_thresholds).fit(X)
        rows = self.binarizer_.transform(X)
        shared = set(Search._fields) & set(self.get_params())
        search = Search(**{name: getattr(self, name) for name in shared})
        rng = check_random_state(self.random_state)
        ones = [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))
        self.truncated_ = 0
        pools: list[dict[tuple[int, ...], tuple[int, Ints]]] = []
        steps = 2 * len(ones) * search.n_chunks
        with FitProgress(self, steps, X, y, step_name="chunk of trees") as progress:
            for code in ones:
                pools.append(self._pool(rows, codes == code, search, rng, progress))
        self._assemble(rows, codes, ones, pools)
        return self

    def _pool(self, rows, inside, search, rng, progress):
        """Return the patterns of a class and of the rest: counts, and rows of both that hold it."""
        own, others = rows[inside], rows[~inside]
        pool: dict[tuple[int, ...], tuple[int, Ints]] = {}
        for swapped, (a, b) in enumerate(((own, others), (others, own))):
            found = mine_patterns(a, b, search, rng, step=progress.step)
            self.truncated_ += found.truncated
            for pattern, count, held in zip(found.patterns, found.counts, found.held):
                held = held[::-1] if swapped else held
                pool[pattern] = (max(count, pool.get(pattern, (0,))[0]), held)
        return pool

    def _assemble(self, rows, codes, ones, pools):
        """Turn log-odds into coefficients, and put the thresholds at equal errors."""
        self.patterns_ = sorted(set().union(*pools), key=lambda s: (len(s), s))
        at = {pattern: s for s, pattern in enumerate(self.patterns_)}
        self.counts_ = np.zeros(len(at), np.int64)
        self.coef_ = np.zeros((len(ones), len(at)))
        self.intercept_ = np.zeros(len(ones))
        held_by = indicate_patterns(rows, *flat_sets(self.patterns_))
        for o, (code, pool) in enumerate(zip(ones, pools)):
            positive = codes == code
            totals = np.array([positive.sum(), (~positive).sum()])
            if not pool:
                warnings.warn(
                    f"No pattern of the class {self.classes_[code]!s} was found by min_count="
                    f"{self.min_count} trees with theta0={self.theta0:g}; it is judged by its "
                    "frequency alone.",
                    UserWarning,
                    stacklevel=4,
                )
                self.intercept_[o] = np.log(totals[0]) - np.log(totals[1])
                continue
            places = np.array([at[pattern] for pattern in pool])
            self.counts_[places] = np.maximum(self.counts_[places], [c for c, _ in pool.values()])
            held = np.array([h for _, h in pool.values()])
            present, absent = log_odds(held, totals, self.smoothing)
            # The average over patterns of either log-odds is linear in the indicators
            self.coef_[o, places] = (present - absent) / len(places)
            scores = held_by @ self.coef_[o] + absent.mean()
            threshold = equal_error_threshold(scores, positive)
            self.intercept_[o] = absent.mean() - threshold
        names = self.binarizer_.get_feature_names_out()
        words = [" & ".join(names[k] for k in pattern) for pattern in self.patterns_]
        self.pattern_names_ = np.array(words, dtype=object)

    def decision_function(self, X):
        """Return average log-odds less the threshold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive on the side of ``classes_[1]`` for two classes; one column a class for more.
        """
        check_is_fitted(self)
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        held = indicate_patterns(self.binarizer_.transform(X), *flat_sets(self.patterns_))
        values = held @ self.coef_.T + self.intercept_
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X):
        """Return the class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Classes.
        """
        values = self.decision_function(X)
        codes = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_[codes]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
