"""What all one-pass linear classifiers share: they predict a row, then learn from it, once.

A learner of this family keeps a weight vector (and, if of second order, how sure it is of
it), needs constant memory, and is a usable model after every row. This module turns an update
rule of `octavo.online.one_pass.rules` into a scikit-learn classifier; the classifiers themselves
are in `octavo.online.one_pass.first_order` and `octavo.online.one_pass.second_order`.

References
----------
S. C. H. Hoi, J. Wang, P. Zhao. LIBOL: A Library for Online Learning Algorithms. JMLR 15,
2014, sections 2 and 3.
"""

from __future__ import annotations

import itertools
from numbers import Integral, Real

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.doubles import check_finite_result, check_squares, has_small_squares
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import canonical_csr, validate_rows
from octavo.engine.streams import packed_covariance as rank_one
from octavo.engine.streams import passes as streams
from octavo.engine.streams.chunks import is_chunk_stream, linear_scores
from octavo.online.one_pass.rules import (
    LearnerState,
    UpdateRule,
    find_rule,
    new_state,
    registered_rules,
    side_by_side,
    state_weights,
)

__all__ = ["CustomOnlineClassifier", "OnlineClassifierMixin", "SecondOrderMixin"]

PIECE = 1 << 20  # rows learnt between two reports of progress
FULL_LIMIT = 512  # features up to which covariance="auto" keeps the full matrix
FULL_NUMBERS = rank_one.factor_size(20_000)  # numbers in the largest full covariance allowed


def encode_labels(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the numbers of the labels in ``classes``; a label not among them is an error."""
    if len(classes) == 2:
        second = y == classes[1]
        codes, unseen = second.astype(np.int64), ~(second | (y == classes[0]))
    else:
        codes = np.searchsorted(classes, y)
        codes[codes == len(classes)] = 0
        unseen = classes[codes] != y
    if np.any(unseen):
        raise ValueError(
            f"y contains a label that is not one of the classes: {y[unseen][0]!r}; "
            f"expected labels from {classes!r}. Pass all labels as `classes` at the start."
        )
    return codes


def quadratic_forms(X, covariance: np.ndarray) -> np.ndarray:
    """Return xᵀΣx of every row, with a constant 1 appended where Σ has a row more."""
    n_features = X.shape[1]
    if covariance.ndim == 1:
        squares = X.multiply(X) if streams.is_sparse(X) else np.square(X, dtype=np.float64)
        forms = np.asarray(squares @ covariance[:n_features]).reshape(-1)
        return forms + covariance[n_features:].sum()
    inner = covariance[:n_features, :n_features]
    image = np.asarray(X @ inner)
    if streams.is_sparse(X):
        forms = np.asarray(X.multiply(image).sum(axis=1)).reshape(-1)
    else:
        forms = np.einsum("ij,ij->i", X, image)
    if len(covariance) > n_features:
        forms = forms + 2.0 * np.asarray(X @ covariance[:n_features, -1]) + covariance[-1, -1]
    return np.maximum(forms, 0.0)


class _LearnerEntries:
    """What one-pass learners document alike.

    Parameters
    ----------
    average : bool, default=False
        Whether the model is the mean of the weights over all rounds. ``n_mistakes_`` is of
        the weights as they were in each round in any case.
    shuffle : bool, default=False
        Whether `fit` visits the rows in random order (within a chunk, if given chunks).

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    n_mistakes_ : int
        Rows that were predicted wrongly just before they were learnt.
    n_updates_ : int
        Rows whose loss was positive, so that they changed the model.
    t_ : int
        Rows seen.
    """


class OnlineClassifierMixin(_LearnerEntries, CallbackSupportMixin, ClassifierMixin):
    """Everything a one-pass linear classifier does except choosing its update rule.

    A class that uses it gives `_binary_rule` and, where the rule has a multiclass form,
    `_multiclass_rule`, and has the parameters ``fit_intercept``, ``average``, ``n_epochs``,
    ``shuffle`` and ``random_state``. With two classes the binary rule learns; with more the
    multiclass one does, or, for a rule that has none, one binary learner per class (that
    class against the rest; the largest score wins).

    Examples
    --------
    A learner that is a registered rule with one parameter:

    >>> from sklearn.base import BaseEstimator
    >>> from octavo.online import OnlineClassifierMixin
    >>> class SlowPerceptron(OnlineClassifierMixin, BaseEstimator):
    ...     def __init__(self, C=0.1, fit_intercept=True, average=False, n_epochs=1,
    ...                  shuffle=False, random_state=None):
    ...         self.C = C
    ...         self.fit_intercept, self.average = fit_intercept, average
    ...         self.n_epochs, self.shuffle, self.random_state = n_epochs, shuffle, random_state
    ...     def _binary_rule(self):
    ...         return "ogd", (self.C, 0.0)
    >>> SlowPerceptron().fit([[1.0], [-1.0], [2.0]], [1, 0, 1]).n_mistakes_
    1
    """

    _parameter_constraints: dict = {
        "fit_intercept": ["boolean"],
        "average": ["boolean"],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
    }

    def _binary_rule(self) -> tuple[str, tuple[float, ...]]:
        """Return the name of the binary rule and its parameters."""
        raise NotImplementedError

    def _multiclass_rule(self) -> tuple[str, tuple[float, ...]] | None:
        """Return the same for more than two classes, or None where there is no such rule."""
        return None

    def _covariance_kind(self) -> int:
        return rank_one.NONE

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # Learning -------------------------------------------------------------------------

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, classes=None):
        """Forget everything, then learn from all rows, one by one, in the order given.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or iterable
            The rows, float64 or float32 (used as they are, not copied), dense or CSR. With
            ``y`` left out, an iterable of chunks ``(X, y)``, of which one is held at a time.
        y : array-like of shape (n_samples,), optional
            The labels.
        classes : array-like of shape (n_classes,), optional
            All labels that may come, for an iterable of chunks. Taken from its attribute
            ``classes``, else from the first chunk, when absent.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        rng = check_random_state(self.random_state)
        if y is None and is_chunk_stream(X):
            return self._fit_chunks(X, classes, rng)
        X, y = self._validated(X, y, reset=True)
        self._start(np.unique(y) if classes is None else np.unique(classes))
        codes = encode_labels(y, self.classes_)
        n = len(codes)
        starts = range(0, n, PIECE)
        with FitProgress(self, self.n_epochs * len(starts), X, y, step_name="piece") as progress:
            for _, start in itertools.product(range(self.n_epochs), starts):
                if start == 0:
                    order = rng.permutation(n) if self.shuffle else np.arange(n)
                self._learn(X, codes, order[start : start + PIECE])
                if progress.step():
                    break
        return self

    def _fit_chunks(self, chunks, classes, rng):
        if self.n_epochs > 1 and iter(chunks) is chunks:
            raise ValueError(
                f"n_epochs={self.n_epochs} needs chunks that can be read again, and an "
                f"iterator of type {type(chunks).__name__} is used up after one pass. Pass a "
                "list or one of the readers of octavo.data."
            )
        if classes is None:
            classes = getattr(chunks, "classes", None)  # the readers of octavo.data know them
        started = False
        with FitProgress(self, None, step_name="chunk") as progress:
            for X, y in itertools.chain.from_iterable(itertools.repeat(chunks, self.n_epochs)):
                X, y = self._validated(X, y, reset=not started)
                if not started:
                    self._start(np.unique(y if classes is None else classes))
                    started = True
                codes = encode_labels(y, self.classes_)
                self._learn(X, codes, rng.permutation(len(codes)) if self.shuffle else None)
                if progress.step():
                    break
        if not started:
            raise ValueError("X is an iterable without a chunk; expected at least one (X, y).")
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None):
        """Learn from more rows, one by one, in the order given.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), optional
            All labels that may ever come; needed at the first call.

        Returns
        -------
        self : object
            The classifier.
        """
        first = not hasattr(self, "classes_")
        X, y = self._validated(X, y, reset=first)
        self._settle_classes(classes, first)
        self._learn(X, encode_labels(y, self.classes_), None)
        return self

    def learn_one(self, x, y, classes=None):
        """Learn from one row.

        Parameters
        ----------
        x : array-like of shape (n_features,) or sparse matrix of shape (1, n_features)
            The row.
        y : label
            Its label.
        classes : array-like of shape (n_classes,), optional
            All labels that may ever come; needed if nothing was learnt before.

        Returns
        -------
        self : object
            The classifier.
        """
        if not streams.is_sparse(x):
            x = np.asarray(x)
            x = x.reshape(1, -1) if x.ndim == 1 else x
        if x.shape[0] != 1:
            raise ValueError(f"learn_one takes one row, got an x of shape {x.shape}.")
        if not hasattr(self, "classes_"):
            return self.partial_fit(x, [y], classes=classes)
        self._settle_classes(classes, False)
        x = canonical_csr(x)
        if x.dtype not in (np.float64, np.float32):
            x = x.astype(np.float64)
        if x.shape[1] != self.n_features_in_:
            raise ValueError(
                f"x has {x.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        if not np.all(np.isfinite(x.data if streams.is_sparse(x) else x)):
            raise ValueError("x contains NaN or infinity; expected finite numbers.")
        check_squares(x, "x")
        self._learn(x, encode_labels(np.array([y]), self.classes_), None)
        return self

    def _validated(self, X, y, reset: bool):
        """Check a table and its labels as scikit-learn does; what one pass shows, only once."""
        small = has_small_squares(X)
        X, y = validate_rows(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            reset=reset,
            ensure_all_finite=not small,
        )
        if y.dtype.kind not in "biu":  # whole numbers are labels
            check_classification_targets(y)
        if X.shape[1] >= 2**31:
            raise ValueError(f"X has {X.shape[1]} features; at most 2**31 - 1 are supported.")
        if not small:
            check_squares(X)
        return X, y

    def _settle_classes(self, classes, first: bool) -> None:
        if first:
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self._start(np.unique(classes))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: "
                f"{self.classes_!r}."
            )

    def _start(self, classes: np.ndarray) -> None:
        """Set the state of a learner that has seen nothing."""
        if len(classes) < 2:
            raise ValueError(
                "The number of classes has to be greater than one; got "
                f"{len(classes)} class: {classes!r}. A stream whose first rows are all of one "
                "class needs the argument `classes`."
            )
        self.classes_ = classes
        self.t_ = 0
        self.n_mistakes_ = 0
        self.n_updates_ = 0
        _, parameters, direct = self._rule()
        n_vectors = len(classes) if direct and len(classes) > 2 else 1
        n_states = 1 if direct else len(classes)
        n_coordinates = self.n_features_in_ + int(self.fit_intercept)
        kind = self._covariance_kind()
        numbers = n_states * rank_one.factor_size(n_coordinates)
        if kind == rank_one.FULL and numbers > FULL_NUMBERS:
            raise ValueError(
                f"A full covariance of {n_coordinates} features needs "
                f"{numbers * 8 / 2**30:.1f} GiB of memory ({n_states} of them); pass "
                "covariance='diag', which needs one number per feature."
            )
        self._states = [
            new_state(
                n_coordinates,
                n_vectors,
                parameters,
                covariance_kind=kind,
                variance=getattr(self, "a", 1.0),
                average=self.average,
            )
            for _ in range(n_states)
        ]

    def _rule(self) -> tuple[UpdateRule, tuple[float, ...], bool]:
        """Return the rule, its parameters, and whether one state serves all classes."""
        if len(self.classes_) > 2:
            chosen = self._multiclass_rule()
            if chosen is not None:
                return find_rule(chosen[0], "multiclass"), chosen[1], True
        name, parameters = self._binary_rule()
        return find_rule(name, "binary"), parameters, len(self.classes_) == 2

    def _learn(self, X, codes: np.ndarray, order: np.ndarray | None) -> None:
        """Run the rule over rows in an order."""
        rule, parameters, direct = self._rule()
        numbers = np.array(parameters, dtype=np.float64).reshape(-1)
        self._states = [state._replace(parameters=numbers) for state in self._states]
        if streams.is_sparse(X):
            self._states = [side_by_side(state) for state in self._states]
        for rows, local, visited in streams.row_blocks(X, order, float(self.fit_intercept)):
            labels = codes if order is None and len(visited) == len(codes) else codes[visited]
            if direct:
                mistakes, updates = self._run(rule, rows, local, labels)
            else:
                mistakes, updates = self._run_one_vs_rest(rule, rows, local, labels)
            self.n_mistakes_ += mistakes
            self.n_updates_ += updates
            self.t_ += len(labels)

    def _run(self, rule, rows, local, labels) -> tuple[int, int]:
        margins, losses = np.empty(len(labels)), np.empty(len(labels))
        if rule.task == "binary":
            labels = 2.0 * labels - 1.0
        labels = streams.locked(labels)
        counts = rule.run(rows, local, labels, self._states[0], margins, losses)
        check_finite_result(margins, "The margins that were met while learning")
        return counts

    def _run_one_vs_rest(self, rule, rows, local, labels) -> tuple[int, int]:
        """Let one binary learner per class see the rows; the largest of the scores predicts."""
        scores = np.empty((len(self._states), len(labels)))
        updated = np.zeros(len(labels), dtype=bool)
        losses = np.empty(len(labels))
        for c, state in enumerate(self._states):
            signs = np.where(labels == c, 1.0, -1.0)
            rule.run(rows, local, streams.locked(signs), state, scores[c], losses)
            check_finite_result(scores[c], "The margins that were met while learning")
            scores[c] *= signs
            updated |= losses > 0.0
        return int(np.sum(np.argmax(scores, axis=0) != labels)), int(np.sum(updated))

    # The model ------------------------------------------------------------------------

    def _weights_of(self, state: LearnerState) -> np.ndarray:
        return state_weights(state, average=state.drift.size > 0)

    def _weights(self) -> np.ndarray:
        if not hasattr(self, "_states"):
            raise AttributeError(f"{type(self).__name__} has no weights before it is fitted.")
        return np.vstack([self._weights_of(state) for state in self._states])

    @property
    def coef_(self):
        """Weights of the features, of shape (1, n_features) or (n_classes, n_features)."""
        return self._weights()[:, : self.n_features_in_]

    @property
    def intercept_(self):
        """Intercepts, of shape (1,) or (n_classes,)."""
        weights = self._weights()
        if weights.shape[1] > self.n_features_in_:
            return weights[:, -1].copy()
        return np.zeros(len(weights))

    def _table(self, X):
        check_is_fitted(self, "classes_")
        return validate_rows(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False
        )

    def decision_function(self, X):
        """Return the scores of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Signed score of the second class if there are two, else one score per class.
        """
        X = self._table(X)
        scores = linear_scores(X, self._weights(), self.n_features_in_)
        scores = self._after_absorbing(X, scores)
        check_finite_result(scores, "The scores")
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _after_absorbing(self, X, scores: np.ndarray) -> np.ndarray:
        return scores

    def predict(self, X):
        """Return the labels predicted for rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The second class where the score is 0 or more if there are two classes, else the
            first class with the largest score.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return self.classes_[(scores >= 0.0).astype(np.intp)]
        return self.classes_[np.argmax(scores, axis=1)]


class _SecondOrderEntries:
    """What learners of second order document alike.

    Parameters
    ----------
    a : float, default=1.0
        Initial variance of a weight.
    covariance : {"auto", "full", "diag"}, default="auto"
        Keep the whole covariance of the weights or its diagonal; "auto" is "full" up to 512
        features.
    """


class SecondOrderMixin(_SecondOrderEntries, OnlineClassifierMixin):
    """A one-pass classifier that also keeps a covariance of its weights.

    Besides those of `OnlineClassifierMixin` it has the parameters ``a`` (initial variance of
    a weight) and ``covariance``.

    Examples
    --------
    >>> from octavo.online import AROW, SecondOrderMixin
    >>> model = AROW(fit_intercept=False).fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    >>> isinstance(model, SecondOrderMixin)
    True
    >>> model.predict_margin_variance([[1.0, 0.0]])
    array([0.5])
    """

    _parameter_constraints: dict = {
        **OnlineClassifierMixin._parameter_constraints,
        "a": [Interval(Real, 0, None, closed="neither")],
        "covariance": [StrOptions({"auto", "full", "diag"})],
    }

    def _covariance_kind(self) -> int:
        if self.covariance == "auto":
            return rank_one.FULL if self.n_features_in_ <= FULL_LIMIT else rank_one.DIAGONAL
        return rank_one.FULL if self.covariance == "full" else rank_one.DIAGONAL

    @property
    def covariance_(self):
        """Covariance of the weights, the intercept last.

        A symmetric matrix, or its diagonal when only that is kept. One learner per class
        (rules without a multiclass form) adds a leading axis.
        """
        if not hasattr(self, "_states"):
            raise AttributeError(f"{type(self).__name__} has no covariance before it is fitted.")
        matrices = [rank_one.as_matrix(state.covariance) for state in self._states]
        return matrices[0] if len(matrices) == 1 else np.stack(matrices)

    def _row_variances(self, X) -> np.ndarray:
        """Return xᵀΣx, a column per state."""
        variances = np.empty((X.shape[0], len(self._states)))
        for c, state in enumerate(self._states):
            variances[:, c] = quadratic_forms(X, rank_one.as_matrix(state.covariance))
        return variances

    def _absorbed_share(self, X) -> tuple[np.ndarray, np.ndarray] | None:
        """Return v and 1/(v + r) of rows, for rules that predict after absorbing the row."""
        return None

    def _after_absorbing(self, X, scores: np.ndarray) -> np.ndarray:
        """Turn w·x = θᵀΣx into θᵀΣ'x, Σ' having absorbed x, where the rule predicts so."""
        absorbed = self._absorbed_share(X)
        if absorbed is None:
            return scores
        variances, share = absorbed
        if self._states[0].covariance.kind == rank_one.FULL:
            # θ_j σ_j x_j is w_j x_j, and absorbing takes σ_j x_j² of it
            return scores * (1.0 - share * variances)
        lost = np.empty_like(scores)
        weights, covariance = self._weights(), np.atleast_2d(self.covariance_)
        wide = X.astype(np.float64, copy=False)
        cubes = wide.power(3) if streams.is_sparse(X) else wide**3
        for c, products in enumerate(weights * covariance):  # of w_j σ_j x_j³
            lost[:, c] = cubes @ products[: self.n_features_in_]
            lost[:, c] += products[self.n_features_in_ :].sum()
        return scores - share * lost

    def predict_margin_variance(self, X):
        """Return how unsure the scores of rows are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        variance : ndarray of shape (n_samples,) or (n_samples, n_classes)
            xᵀΣx with two classes. With more, the variance 2 xᵀΣx of the difference of two
            scores, or one xᵀΣx per class where a binary learner per class is kept.
        """
        variances = self._row_variances(self._table(X))
        if len(self._states) > 1:
            return variances
        return variances[:, 0] * (1.0 if len(self.classes_) == 2 else 2.0)


class CustomOnlineClassifier(SecondOrderMixin, SoundEstimator):
    """One-pass linear classifier with an update rule of your own.

    Parameters
    ----------
    rule : str
        Name of a rule given to `register_rule`, or of one that comes with octavo. Two
        classes need its binary form; more use its multiclass form where it has one, else
        one binary learner per class.
    parameters : tuple of float, default=()
        What the rule finds in ``state.parameters``.
    a : float, default=1.0
        Initial variance of a weight, for rules of second order.
    covariance : {"auto", "full", "diag"}, default="auto"
        Covariance to keep, for rules of second order.
    fit_intercept : bool, default=True
        Whether a constant feature of 1 is appended to every row.
    average : bool, default=False
        Whether the model is the mean of the weights over all rounds.
    n_epochs : int, default=1
        Passes over the data in `fit`.
    shuffle : bool, default=False
        Whether `fit` visits the rows in random order.
    random_state : int, RandomState instance or None, default=None
        The random order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_updates_ : int
        Rows that changed the model.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the rows had them.

    See Also
    --------
    register_rule : Enters a rule; its example defines one.

    Notes
    -----
    To use a published rule, take its own class, which checks its parameters.

    References
    ----------
    .. [1] S. C. H. Hoi, J. Wang, P. Zhao. LIBOL: a library for online learning algorithms.
       Journal of Machine Learning Research 15, 2014, section 3.2.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from octavo.online import CustomOnlineClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> CustomOnlineClassifier("arow", parameters=(1.0,)).fit(scale(X), y).n_mistakes_
    32
    """

    _parameter_constraints: dict = {
        **SecondOrderMixin._parameter_constraints,
        "rule": [str],
        "parameters": ["array-like"],
    }

    def __init__(
        self,
        rule="perceptron",
        parameters=(),
        *,
        a=1.0,
        covariance="auto",
        fit_intercept=True,
        average=False,
        n_epochs=1,
        shuffle=False,
        random_state=None,
    ):
        self.rule = rule
        self.parameters = parameters
        self.a = a
        self.covariance = covariance
        self.fit_intercept = fit_intercept
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _binary_rule(self):
        return self.rule, tuple(self.parameters)

    def _multiclass_rule(self):
        if (self.rule, "multiclass") in registered_rules():
            return self.rule, tuple(self.parameters)
        return None

    def _covariance_kind(self) -> int:
        return super()._covariance_kind() if self._rule()[0].second_order else rank_one.NONE
