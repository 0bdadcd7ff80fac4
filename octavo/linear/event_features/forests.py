"""Forests for few positives: bootstrap samples by class, and rotated features.

References: R. Oentaryo et al. (2014), Section 6.2 and Table 22; J. Rodríguez, L. Kuncheva and
C. Alonso (2006), Rotation forest: a new classifier ensemble method, IEEE PAMI 28.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["RotationForest", "StratifiedBootstrapForest"]

# Table 22: terminal node size, and shares of fraud, observation and OK.
TABLE_22 = (
    (5, 0.90, 0.63, 0.41),
    (5, 0.90, 0.63, 0.41),
    (3, 0.83, 0.75, 0.51),
    (3, 0.69, 0.38, 0.34),
    (3, 0.69, 0.38, 0.34),
    (3, 0.90, 0.44, 0.51),
    (4, 0.83, 0.63, 0.68),
)
MOST_TREES = 100_000


class _Forest(NamedTuple):
    """How one forest draws: the number of rows of each class, and the least rows of a leaf."""

    draws: tuple[int, ...]
    min_samples_leaf: int


class _AveragingClassifier(ClassifierMixin, SoundEstimator):
    """Predictions from averaged probabilities."""

    classes_: NDArray[Any]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of the highest probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        probability = self.predict_proba(X)
        return self.classes_[np.argmax(probability, axis=1)]

    def predict_proba(self, X: Any) -> Floats:
        """Return the mean of the trees' probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._average(X)

    def _average(self, X: Floats) -> Floats:
        raise NotImplementedError


def _tree_proba(tree: Any, X: Floats, n_classes: int) -> Floats:
    """Return a tree's probabilities with a column for classes that it never saw, too."""
    out = np.zeros((len(X), n_classes))
    out[:, tree.classes_] = tree.predict_proba(X)
    return out


def _grown(
    X: Floats, codes: NDArray[Any], forest: _Forest, max_features: Any, seed: int
) -> tuple[Any, NDArray[np.bool_]]:
    """Grow a tree on a bootstrap sample by class; return it and the rows that it did not see."""
    rng = np.random.RandomState(seed)
    count = np.zeros(len(codes))
    for code, n in enumerate(forest.draws):
        rows = np.flatnonzero(codes == code)
        # Rows drawn again and again weigh as often
        count += np.bincount(rows[rng.randint(len(rows), size=n)], minlength=len(codes))
    used = count > 0
    tree = DecisionTreeClassifier(
        max_features=max_features, min_samples_leaf=forest.min_samples_leaf, random_state=rng
    )
    return tree.fit(X[used], codes[used], sample_weight=count[used]), ~used


class StratifiedBootstrapForest(_AveragingClassifier):
    """Random forests whose trees draw a chosen share of each class.

    Down-sampling of common and up-sampling of rare classes happens in each tree's bootstrap, so
    that no row is lost to the ensemble. Several sets of shares make an ensemble of forests.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees of each forest (the paper: 250).
    fractions : "balanced", "table22", dict or list of dict, default="balanced"
        Rows that a tree draws with replacement, as a share of the rows of each class; a dict for
        each of several forests. ``"balanced"`` draws as many of every class as the rarest has;
        ``"table22"`` is the paper's seven forests for the classes "fraud", "observation" and "ok".
    min_samples_leaf : int, default=3
        Least rows in a leaf; Table 22 brings its own.
    max_features : str, int, float or None, default="sqrt"
        Features that a split looks at, as in scikit-learn.
    n_jobs : int, default=None
        Threads.
    random_state : int, RandomState instance or None, default=None
        Seeds the draws.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes.
    estimators_ : list of DecisionTreeClassifier
        All trees.
    fractions_ : list of dict
        Shares of the forests.
    feature_importances_ : ndarray of shape (n_features,)
        Mean over trees.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Mean of the trees that did not see a row; equal probabilities where all did.
    oob_score_ : float
        Accuracy of those.

    See Also
    --------
    sklearn.ensemble.RandomForestClassifier : With ``class_weight="balanced_subsample"`` it weighs
        classes instead of drawing them; without imbalance it is all one needs.

    Notes
    -----
    The paper's authors found that resampling of the whole table costs more than 15 points on later
    data; check on a later window what shares do. Probabilities are those of the drawn classes:
    ranks are right, levels are not.

    References
    ----------
    R. Oentaryo, E.-P. Lim, M. Finegold et al. (2014). Detecting click fraud in online advertising:
    a data mining approach. Journal of Machine Learning Research 15, Section 6.2.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.linear import StratifiedBootstrapForest
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = (X[:, 0] > 1.8).astype(int)
    >>> forest = StratifiedBootstrapForest(20, fractions={0: 0.2, 1: 0.9}, random_state=0)
    >>> round(forest.fit(X, y).score(X, y), 2)
    1.0
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "n_estimators": [Interval(Integral, 1, MOST_TREES, closed="both")],
        "fractions": [StrOptions({"balanced", "table22"}), dict, list, tuple],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "max_features": [
            StrOptions({"sqrt", "log2"}),
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            None,
        ],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        fractions: Any = "balanced",
        min_samples_leaf: int = 3,
        max_features: Any = "sqrt",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.fractions = fractions
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> StratifiedBootstrapForest:
        """Grow the forests.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : StratifiedBootstrapForest
            The fitted classifier.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes = encode_classes(y, owner=self)
        forests = self._forests(np.bincount(codes))
        rng = check_random_state(self.random_state)
        seeds = rng.randint(2**31 - 1, size=(len(forests), self.n_estimators))
        grown = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_grown)(X, codes, forest, self.max_features, int(seed))
            for forest, own in zip(forests, seeds)
            for seed in own
        )
        self.estimators_ = [tree for tree, _ in grown]
        self.feature_importances_ = np.mean(
            [tree.feature_importances_ for tree in self.estimators_], axis=0
        )
        self._judge_out_of_bag(X, codes, [unseen for _, unseen in grown])
        return self

    def _forests(self, sizes: NDArray[Any]) -> list[_Forest]:
        leaf = self.min_samples_leaf
        given: list[tuple[int, Mapping[Any, float]]]
        if isinstance(self.fractions, str) and self.fractions == "balanced":
            shares = sizes.min() / sizes
            given = [(leaf, dict(zip(self.classes_.tolist(), shares.tolist())))]
        elif isinstance(self.fractions, str):
            names = [str(name).lower() for name in self.classes_.tolist()]
            if sorted(names) != ["fraud", "observation", "ok"]:
                raise ValueError(
                    'fractions="table22" is for the classes "fraud", "observation" and "ok"; got '
                    f"{names}."
                )
            places = [("fraud", "observation", "ok").index(name) for name in names]
            given = [
                (node, {c: row[k] for c, k in zip(self.classes_.tolist(), places)})
                for node, *row in TABLE_22
            ]
        else:
            several = [self.fractions] if isinstance(self.fractions, dict) else self.fractions
            given = [(leaf, fractions) for fractions in several]
        if not given:
            raise ValueError("fractions must hold at least one dict; got none.")
        self.fractions_ = [dict(fractions) for _, fractions in given]
        return [_Forest(self._draws(fractions, sizes), node) for node, fractions in given]

    def _draws(self, fractions: Any, sizes: NDArray[Any]) -> tuple[int, ...]:
        known = self.classes_.tolist()
        if not isinstance(fractions, Mapping) or set(fractions) != set(known):
            raise ValueError(f"fractions must have a share for each of {known}; got {fractions!r}.")
        shares = [fractions[name] for name in known]
        if not all(isinstance(s, Real) and 0 < float(s) <= 100 for s in shares):
            raise ValueError(f"fractions must lie above 0 and at most at 100; got {fractions!r}.")
        # Table 22: 90 % of Fraud draws that share of its rows, with replacement
        return tuple(max(1, round(float(s) * int(n))) for s, n in zip(shares, sizes))

    def _judge_out_of_bag(
        self, X: Floats, codes: NDArray[Any], unseen: list[NDArray[np.bool_]]
    ) -> None:
        total, n_trees = np.zeros((len(X), len(self.classes_))), np.zeros(len(X))
        for tree, rows in zip(self.estimators_, unseen):
            if rows.any():
                total[rows] += _tree_proba(tree, X[rows], len(self.classes_))
                n_trees[rows] += 1
        even = np.full(total.shape, 1 / len(self.classes_))  # rows that every tree has seen
        some = n_trees > 0
        even[some] = total[some] / n_trees[some, None]
        self.oob_decision_function_ = even
        self.oob_score_ = float(np.mean(np.argmax(even[some], axis=1) == codes[some]))

    def _average(self, X: Floats) -> Floats:
        found = [_tree_proba(tree, X, len(self.classes_)) for tree in self.estimators_]
        return np.mean(found, axis=0)


def _rotation(
    Z: Floats, codes: NDArray[Any], size: int, share: float, rng: np.random.RandomState
) -> Floats:
    """Return a rotation: principal axes of random groups of features, each of some rows."""
    d, n_classes = Z.shape[1], int(codes.max()) + 1
    matrix = np.zeros((d, d))
    order = rng.permutation(d)
    for begin in range(0, d, size):
        group = order[begin : begin + size]
        chosen = rng.permutation(n_classes)[: rng.randint(1, n_classes + 1)]
        rows = np.flatnonzero(np.isin(codes, chosen))
        rows = rows[rng.randint(len(rows), size=max(2, int(share * len(rows))))]
        part = Z[np.ix_(rows, group)]
        # bias=True: a group of one row has no covariance
        _, axes = np.linalg.eigh(np.atleast_2d(np.cov(part, rowvar=False, bias=True)))
        matrix[np.ix_(group, group)] = axes[:, ::-1]
    return matrix


class RotationForest(_AveragingClassifier):
    """Trees on features that are rotated group by group along principal axes.

    Features are split at random into groups; the principal axes of each group, found on a
    bootstrap sample of some of the classes, are all kept. A tree of all rows in those axes
    splits along directions that single features do not offer.

    Parameters
    ----------
    n_estimators : int, default=50
        Trees.
    group_size : int, default=3
        Features of a group.
    sample_fraction : float, default=0.75
        Rows, as a share of those of the chosen classes, that find the axes.
    min_samples_leaf : int, default=1
        Least rows in a leaf.
    n_jobs : int, default=None
        Threads.
    random_state : int, RandomState instance or None, default=None
        Seeds groups and draws.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes.
    estimators_ : list of DecisionTreeClassifier
        The trees.
    rotations_ : list of ndarray of shape (n_features, n_features)
        Orthogonal, one per tree.
    mean_, scale_ : ndarray of shape (n_features,)
        By which features are standardised before.

    See Also
    --------
    sklearn.ensemble.ExtraTreesClassifier : Faster, and as good where features mean something one
        by one.

    Notes
    -----
    Rotations cost memory of n_features² a tree: not for thousands of features.

    References
    ----------
    J. Rodríguez, L. Kuncheva and C. Alonso (2006). Rotation forest: a new classifier ensemble
    method. IEEE Transactions on Pattern Analysis and Machine Intelligence 28.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.linear import RotationForest
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> y = (X.sum(axis=1) > 0).astype(int)
    >>> RotationForest(10, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "n_estimators": [Interval(Integral, 1, MOST_TREES, closed="both")],
        "group_size": [Interval(Integral, 1, None, closed="left")],
        "sample_fraction": [Interval(Real, 0, 1, closed="right")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        group_size: int = 3,
        sample_fraction: float = 0.75,
        min_samples_leaf: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.group_size = group_size
        self.sample_fraction = sample_fraction
        self.min_samples_leaf = min_samples_leaf
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> RotationForest:
        """Find rotations and grow trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : RotationForest
            The fitted classifier.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes = encode_classes(y, owner=self)
        top = np.maximum(np.abs(X).max(axis=0), np.finfo(float).tiny)
        spread = (X / top).std(axis=0)
        self.mean_ = top * (X / top).mean(axis=0)
        self.scale_ = top * np.where(spread > 1e-12, spread, 1.0)
        Z = (X - self.mean_) / self.scale_
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_estimators)
        grown = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._grow)(Z, codes, int(seed)) for seed in seeds
        )
        self.rotations_ = [rotation for rotation, _ in grown]
        self.estimators_ = [tree for _, tree in grown]
        return self

    def _grow(self, Z: Floats, codes: NDArray[Any], seed: int) -> tuple[Floats, Any]:
        rng = np.random.RandomState(seed)
        rotation = _rotation(Z, codes, self.group_size, self.sample_fraction, rng)
        tree = DecisionTreeClassifier(min_samples_leaf=self.min_samples_leaf, random_state=rng)
        return rotation, tree.fit(Z @ rotation, codes)

    def _average(self, X: Floats) -> Floats:
        Z = (X - self.mean_) / self.scale_
        return np.mean(
            [tree.predict_proba(Z @ own) for own, tree in zip(self.rotations_, self.estimators_)],
            axis=0,
        )
