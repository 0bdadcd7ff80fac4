"""Interactions as new columns for another model."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.linear.intersections.classes import need_two_rows
from octavo.linear.intersections.estimator import SEARCH_CONSTRAINTS
from octavo.linear.intersections.mining import Search, mine_patterns
from octavo.linear.intersections.patterns import flat_sets, indicate_patterns
from octavo.linear.intersections.thresholds import ThresholdBinarizer

__all__ = ["InteractionFeatures"]


class InteractionFeatures(TransformerMixin, SoundEstimator):
    """Add columns that say which interactions a row holds, found by random intersection trees.

    The patterns of each class against the rest are mined on a 0/1 form of the table; those found
    most often become columns, so that a linear model can use them.

    Parameters
    ----------
    max_patterns : int, default=100
        Most new columns, shared alike by the classes.
    n_trees : int, default=200
        Trees a class.
    branching : float, default=5
        Children of a node.
    theta0 : float, default=0.05
        Largest prevalence of a pattern outside its class.
    theta1 : float, default=0.05
        Least prevalence in its class.
    prevalence : {"exact", "minhash"}, default="exact"
        How branches are tested; see `RandomIntersectionTrees`.
    n_hashes : int, default=200
        Random orders of the rows for "minhash".
    min_count : int, default=2
        Least number of trees that a pattern was found in.
    max_size : int or None, default=None
        Patterns of more columns are left out.
    max_depth : int, default=50
        Levels at which a tree is cut.
    max_nodes : int, default=1000
        Nodes at which a tree is cut.
    n_thresholds : int, default=5
        Thresholds a column of numbers; see `ThresholdBinarizer`.
    passthrough : bool, default=True
        Whether the columns of X come first.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance or None, default=None
        Seeds the trees.

    Attributes
    ----------
    patterns_ : list of tuple of int
        The patterns that became columns, as columns of `binarizer_`.
    pattern_classes_ : ndarray of shape (n_patterns,)
        The class of each.
    binarizer_ : ThresholdBinarizer
        What makes the 0/1 columns.
    classes_ : ndarray of shape (n_classes,)
        Classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X has names that are strings.

    See Also
    --------
    RITClassifier : A classifier that is made of patterns alone.

    Notes
    -----
    Patterns are chosen by the labels: fit it inside a pipeline, on training rows alone. Where
    pairs suffice and columns are few, ``PolynomialFeatures(interaction_only=True)`` has them all.

    References
    ----------
    R. D. Shah and N. Meinshausen (2014), "Random Intersection Trees", Journal of Machine
    Learning Research 15.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from octavo.data import make_tic_tac_toe
    >>> from octavo.linear import InteractionFeatures
    >>> X, y = make_tic_tac_toe()
    >>> model = make_pipeline(InteractionFeatures(random_state=0), LogisticRegression(C=100))
    >>> round(model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]), 2)
    1.0
    """

    _parameter_constraints: dict[str, Any] = {
        **SEARCH_CONSTRAINTS,
        "theta0": [Interval(Real, 0, 1, closed="left")],
        "max_patterns": [Interval(Integral, 1, None, closed="left")],
        "n_thresholds": [Interval(Integral, 1, 10_000, closed="both")],
        "passthrough": ["boolean"],
    }

    def __init__(
        self,
        max_patterns=100,
        n_trees=200,
        *,
        branching=5,
        theta0=0.05,
        theta1=0.05,
        prevalence="exact",
        n_hashes=200,
        min_count=2,
        max_size=None,
        max_depth=50,
        max_nodes=1000,
        n_thresholds=5,
        passthrough=True,
        n_jobs=None,
        random_state=None,
    ):
        self.max_patterns = max_patterns
        self.n_trees = n_trees
        self.branching = branching
        self.theta0 = theta0
        self.theta1 = theta1
        self.prevalence = prevalence
        self.n_hashes = n_hashes
        self.min_count = min_count
        self.max_size = max_size
        self.max_depth = max_depth
        self.max_nodes = max_nodes
        self.n_thresholds = n_thresholds
        self.passthrough = passthrough
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Choose the patterns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Any numbers.
        y : array-like of shape (n_samples,)
            Classes, two rows of each at least.

        Returns
        -------
        self : InteractionFeatures
            The fitted transformer.
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
        chosen: dict[tuple[int, ...], int] = {}
        share = max(1, self.max_patterns // len(self.classes_))
        for code in range(len(self.classes_)):
            inside = codes == code
            found = mine_patterns(rows[inside], rows[~inside], search, rng)
            for pattern in found.patterns[:share]:
                if len(chosen) < self.max_patterns:
                    chosen.setdefault(pattern, code)
        self.patterns_ = list(chosen)
        self.pattern_classes_ = self.classes_[np.array(list(chosen.values()), np.int64)]
        return self

    def transform(self, X):
        """Return X with a column a pattern.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        columns : ndarray or csr_array of shape (n_samples, n_columns_out)
            The columns of X where `passthrough`, then one where a row holds a pattern; sparse
            where X is.
        """
        check_is_fitted(self)
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        held = indicate_patterns(self.binarizer_.transform(X), *flat_sets(self.patterns_))
        if sp.issparse(X):
            return sp.csr_array(sp.hstack([X, held])) if self.passthrough else held
        dense = held.toarray()
        return np.hstack([X, dense]) if self.passthrough else dense

    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of X.

        Returns
        -------
        names : ndarray of shape (n_columns_out,)
            Names; those of patterns are joined by "&".
        """
        check_is_fitted(self)
        made = self.binarizer_.get_feature_names_out(
            getattr(self, "feature_names_in_", None) if input_features is None else input_features
        )
        joined = [" & ".join(made[k] for k in pattern) for pattern in self.patterns_]
        if self.passthrough:
            own = getattr(self, "feature_names_in_", None)
            own = own if input_features is None else input_features
            own = [f"x{k}" for k in range(self.n_features_in_)] if own is None else list(own)
            joined = [*own, *joined]
        return np.array(joined, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags
