"""`TransFeat`: related classification tasks, of which the rich tell the poor what to look at.

Reference: P. S. Dhillon, D. Foster and L. H. Ungar (2011), "Minimum Description Length Penalization
for Group and Multi-Task Sparse Learning", Journal of Machine Learning Research 12, 525-564,
section 7 and Algorithm 3.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import canonical_csr
from octavo.engine.linalg.unit_columns import UnitColumns
from octavo.linear.code_length.codes import coefficient_bits
from octavo.linear.code_length.group_estimator import MICGroup, resolved_variance
from octavo.linear.code_length.group_search import search_groups
from octavo.linear.code_length.groups import GroupCode, as_group_labels
from octavo.linear.code_length.refits import Refit
from octavo.linear.code_length.transfer import cosines, foreground_clusters, learnt_code

__all__ = ["TransFeat"]

POSITIVE = 1e-12  # correlations above this are positive


class _Sense(NamedTuple):
    """One class of one task against its rest."""

    task: int
    columns: UnitColumns
    indicator: Floats
    correlations: Floats  # positive parts, (p,)
    kept: Indices  # features that are positively correlated


class TransFeat(SoundEstimator):
    """Classify in many related tasks; what richer similar ones selected costs the poorer less.

    Each class of each task is a problem of its own, against the rest of its task. Problems are
    clustered by the features that go with them; `MICGroup` selects features for each; then each
    problem selects again with a code that is shorter for features and groups which the problems
    of its cluster with more rows selected. A class is predicted by the highest score of a
    logistic refit.

    Parameters
    ----------
    base : {"switch", "ric"} or MICGroup, default="switch"
        The code that transfer builds on: with groups, or the baseline without; or a `MICGroup`
        with such a scheme, whose other settings are then used.
    background : float, default=0.2
        Share of the problems that are like no other and neither give nor take.
    similarity : float, default=0.5
        Cosine between the positive correlations of two problems from which on they are linked.
        Two that share nothing have about 1/π where correlations are noise.
    a : float, default=1.0
        Weight of the uniform code against the evidence of other problems, in problems.
    final : estimator, default=None
        The binary classifier on the selected features; logistic regression, penalised in units
        in which they have deviation one, by default.

    Attributes
    ----------
    classes_ : list of ndarray
        Classes of each task.
    groups_ : ndarray of shape (n_features,)
        The number of the group of each feature.
    senses_ : ndarray of shape (n_senses, 2)
        Task and position of the class, for each problem.
    clusters_ : ndarray of shape (n_senses,)
        Clusters of problems; -1 for the background.
    donors_ : list of ndarray
        The problems that each has learnt from.
    base_supports_ : list of ndarray
        Features selected without transfer.
    supports_ : list of ndarray
        Features selected with it.
    estimators_ : list of estimators
        The refits, None where no feature is worth its bits.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    MICGroup : One problem.
    sklearn.multiclass.OneVsRestClassifier : Classes of one task, without transfer.

    Notes
    -----
    Transfer pays where a task has much less data than similar ones. It can hurt (the paper finds
    it on 8 of 172 words); problems of the background are safe. Use `MICClassifier` for the labels
    of one table: its responses share rows, here tasks have rows of their own. Where only
    prediction counts, `sklearn.linear_model.LogisticRegressionCV` with an l1 penalty for each
    task keeps more features and can be more accurate.

    References
    ----------
    .. [1] Dhillon, Foster and Ungar (2011). Minimum description length penalization for group and
       multi-task sparse learning. Journal of Machine Learning Research 12:525-564.

    Examples
    --------
    >>> from octavo.data import make_word_senses
    >>> from octavo.linear import TransFeat
    >>> words = make_word_senses(random_state=0)
    >>> model = TransFeat(similarity=0.4).fit(words.tasks, words.groups)
    >>> X, y = words.tests[5]
    >>> round(model.score(X, y, task=5), 2)
    0.88
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "base": [StrOptions({"switch", "ric"}), MICGroup],
        "background": [Interval(Real, 0, 1, closed="both")],
        "similarity": [Interval(Real, -1, 1, closed="both")],
        "a": [Interval(Real, 0, None, closed="neither")],
        "final": [HasMethods(["fit", "predict"]), None],
    }

    def __init__(self, base="switch", *, background=0.2, similarity=0.5, a=1.0, final=None):
        self.base = base
        self.background = background
        self.similarity = similarity
        self.a = a
        self.final = final

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        tags.target_tags.required = False
        return tags

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, tasks, groups=None) -> Self:
        """Select features for all tasks and refit.

        Parameters
        ----------
        tasks : list of (X, y)
            Each X of shape (n_samples, n_features), dense or sparse, with the same features in
            all tasks; each y holds two classes or more.
        groups : array-like of shape (n_features,) or sequence of sequence of int, default=None
            Groups of features, as for `MICGroup`.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        base = MICGroup(scheme=self.base) if isinstance(self.base, str) else self.base
        if base.scheme not in ("switch", "ric"):
            raise ValueError(
                "base must have the scheme 'switch' or 'ric', whose code transfer can change; got "
                f"{base.scheme!r}."
            )
        tables = self._check_tasks(tasks)
        self.n_features_in_ = tables[0][0].shape[1]
        self.groups_ = as_group_labels(groups, self.n_features_in_)
        senses = self._senses(tables)
        similar = cosines(np.array([sense.correlations for sense in senses]))
        self.clusters_ = foreground_clusters(similar, self.background, self.similarity)  # line 3
        # Line 8, uniform prior
        self.base_supports_ = [self._selected(base, s, np.empty((0, 0))) for s in senses]
        self.donors_ = self._find_donors(senses)
        self.supports_ = [
            self._learnt(base, s, donors) if donors.size else alone  # lines 13 and 14
            for s, donors, alone in zip(senses, self.donors_, self.base_supports_)
        ]
        self._refit(tables, senses)
        return self

    def _check_tasks(self, tasks):
        if isinstance(tasks, (str, bytes, dict)) or not hasattr(tasks, "__iter__"):
            raise ValueError(f"tasks must be a list of pairs (X, y), got {type(tasks).__name__}.")
        pairs = list(tasks)
        if not pairs:
            raise ValueError("tasks is empty; at least one pair (X, y) is needed.")
        if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
            raise ValueError("tasks must be a list of pairs (X, y), one a task.")
        tables: list[Any] = []
        self.classes_ = []
        for i, (X, y) in enumerate(pairs):
            X = canonical_csr(
                check_array(
                    X,
                    accept_sparse="csr",
                    dtype=np.float64,
                    ensure_min_samples=2,
                    input_name=f"X of task {i}",
                ),
                narrow=True,
            )
            y = check_array(y, ensure_2d=False, dtype=None, input_name=f"y of task {i}")
            check_consistent_length(X, y)
            if y.ndim != 1:
                raise ValueError(f"y of task {i} must have one dimension, got shape {y.shape}.")
            classes, codes = encode_classes(y, owner=self)
            if tables and X.shape[1] != tables[0][0].shape[1]:
                raise ValueError(
                    f"All tasks must have the same features; task 0 has {tables[0][0].shape[1]}, "
                    f"task {i} has {X.shape[1]}."
                )
            self.classes_.append(classes)
            tables.append((X, codes))
        self.senses_ = np.array(
            [(i, c) for i, classes in enumerate(self.classes_) for c in range(len(classes))]
        )
        return tables

    def _senses(self, tables):
        """Return a problem for each class, with the features that go with it."""
        columns = [UnitColumns(X) for X, _ in tables]
        senses = []
        for i, c in self.senses_.tolist():
            indicator = (tables[i][1] == c).astype(np.float64)
            unit = indicator - indicator.mean()
            found = columns[i].dot((unit / np.linalg.norm(unit))[None])[0]
            kept = np.flatnonzero(found > POSITIVE)  # Algorithm 3, line 2
            senses.append(_Sense(i, columns[i], indicator, np.maximum(found, 0.0), kept))
        return senses

    def _find_donors(self, senses):
        """Return the problems of the same cluster that have more rows of their class."""
        rows = np.array([sense.indicator.sum() for sense in senses])  # line 13: more observations
        alike = (self.clusters_[:, None] == self.clusters_) & (self.clusters_[:, None] >= 0)
        return [np.flatnonzero(alike[i] & (rows > rows[i])) for i in range(len(senses))]

    def _learnt(self, base, sense, donors):
        """Select with the code that donors taught."""
        selected = np.zeros((donors.size, self.n_features_in_))
        for row, donor in enumerate(donors.tolist()):
            selected[row, self.base_supports_[donor]] = 1.0
        return self._selected(base, sense, selected[:, sense.kept])

    def _selected(self, base, sense, donors):
        """Return the features that the shortest description of a problem has."""
        if not sense.kept.size:
            return np.empty(0, dtype=np.intp)
        group_of = np.unique(self.groups_[sense.kept], return_inverse=True)[1]
        bits = coefficient_bits(base.coef_bits, len(sense.indicator))
        code = (
            learnt_code(group_of, base.scheme, bits, donors, float(self.a))
            if len(donors)
            else GroupCode(group_of, base.scheme, bits)
        )
        path = search_groups(
            sense.columns.table(sense.kept),
            sense.indicator,
            code,
            variance=resolved_variance(base.variance, base.scheme),
            overshoot=base.overshoot if base.search == "forward-backward" else 0,
            max_features=base.max_features,
        )
        return np.sort(sense.kept[path.order])

    def _refit(self, tables, senses):
        self._refits = [
            Refit(self.final, tables[sense.task][0], sense.indicator, support)
            for sense, support in zip(senses, self.supports_)
        ]
        self.estimators_ = [refit.fitted for refit in self._refits]

    def _check_query(self, X, task):
        check_is_fitted(self)
        if not isinstance(task, (int, np.integer)) or not 0 <= task < len(self.classes_):
            raise ValueError(
                f"task must be the number of one of the {len(self.classes_)} tasks of fit, "
                f"got {task!r}."
            )
        X = canonical_csr(check_array(X, accept_sparse="csr", dtype=np.float64), narrow=True)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but TransFeat is expecting {self.n_features_in_} "
                "features as input."
            )
        return X

    def decision_function(self, X, task):
        """Return the scores of the classes of a task.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of that task.
        task : int
            Which of the tasks of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One score a class, for two classes too; log-odds for logistic refits.
        """
        X = self._check_query(X, task)
        mine = np.flatnonzero(self.senses_[:, 0] == task).tolist()
        return np.column_stack([self._refits[i].scores(X) for i in mine])

    def predict(self, X, task):
        """Return the classes with the highest scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of that task.
        task : int
            Which of the tasks of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes of that task.
        """
        best = self.decision_function(X, task).argmax(axis=1)  # line 18
        return self.classes_[task][best]

    def score(self, X, y, task):
        """Return the share of rows whose class is predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of that task.
        y : array-like of shape (n_samples,)
            Their classes.
        task : int
            Which of the tasks of `fit`.

        Returns
        -------
        float
            Accuracy.
        """
        return float(np.mean(self.predict(X, task) == np.asarray(y)))
