"""`BayesRiskClassifier`: decide for what costs least on average, given probabilities.

Reference: A. Shashua (2008), "Introduction to Machine Learning", lecture 1.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted, has_fit_parameter

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows

__all__ = ["BayesRiskClassifier"]


def action_losses(loss: Any, reject_cost: float | None, n_classes: int) -> Floats:
    """Return L(i, j), the loss of action i where the class is j: a row an action.

    One row per class, and a last one for rejecting where there is one.
    """
    if loss is None:
        table = 1.0 - np.eye(n_classes)  # 0-1 loss: the most probable class
    else:
        table = real_array(loss, "loss")
        fits = table.ndim == 2 and table.shape[1] == n_classes
        if not fits or table.shape[0] not in (n_classes, n_classes + 1):
            raise ValueError(
                f"loss must have one column for each of the {n_classes} classes, and one row for "
                f"each of them (and one more to reject): ({n_classes}, {n_classes}) or "
                f"({n_classes + 1}, {n_classes}); got shape {table.shape}."
            )
    if reject_cost is None:
        return table
    if table.shape[0] > n_classes:
        raise ValueError("loss has a row to reject already; leave reject_cost=None.")
    return np.vstack([table, np.full(n_classes, float(reject_cost))])


def conditional_risks(losses: Floats, posterior: Floats) -> Floats:
    """Return R(i | x) = Σ_j L(i, j) P(j | x), one column an action."""
    return posterior @ losses.T  # lecture 1: R(h_i | x)


def least_risk(risks: Floats, posterior: Floats) -> Indices:
    """Return the action of least risk; among equal ones the class that is most probable."""
    least = risks.min(axis=1, keepdims=True)
    size = np.abs(risks).max(axis=1, keepdims=True)
    is_least = risks <= least + 1e-15 * size  # ties to rounding are ties
    preference = np.full(risks.shape, -1.0)  # rejecting comes last
    preference[:, : posterior.shape[1]] = posterior
    return np.argmax(np.where(is_least, preference, -np.inf), axis=1)


class BayesRiskClassifier(MetaEstimatorMixin, ClassifierMixin, SoundEstimator):
    """Decide by a matrix of losses: the class of least expected loss, or none at all.

    Wraps a classifier with `predict_proba` and predicts argmin_i Σ_j L(i, j) P(j | x). With zero
    loss for what is right and one for what is wrong this is the most probable class.

    Parameters
    ----------
    estimator : classifier
        Gives probabilities; these must be calibrated, or losses are weighed wrongly. Wrap it in
        `sklearn.calibration.CalibratedClassifierCV` where they are not.
    loss : array-like of shape (n_classes, n_classes) or (n_classes + 1, n_classes), default=None
        L(i, j): what it costs to decide for class i where the truth is class j, in the order of
        `classes_`. A last row is what it costs to reject. None is the loss of 0 and 1.
    reject_cost : float, default=None
        What it costs not to decide, whatever the class. None does not reject, unless `loss` has
        a row for it.
    reject_label : object, default=None
        What `predict` answers then. None is -1 for classes that are numbers, else "reject".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes.
    estimator_ : classifier
        Fitted.
    loss_ : ndarray of shape (n_actions, n_classes)
        The losses, the row to reject last if there is one.
    reject_label_ : object
        What stands for a rejection; None where there is none.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    For two classes and one known cost `sklearn.model_selection.TunedThresholdClassifierCV` looks
    for a threshold on the data instead, which forgives probabilities that are not calibrated. Where
    all mistakes cost the same there is nothing to gain.

    References
    ----------
    .. [1] Shashua (2008). Introduction to Machine Learning, lecture notes, Hebrew University,
       chapter 1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from octavo.bayes import BayesRiskClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)  # 0 is malignant
    >>> loss = [[0, 1], [20, 0]]  # to overlook a malignant one costs 20
    >>> model = BayesRiskClassifier(GaussianNB(), loss).fit(X, y)
    >>> int((model.predict(X) == 0).sum()), int((model.estimator_.predict(X) == 0).sum())
    (209, 199)
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict_proba"])],
        "loss": ["array-like", None],
        "reject_cost": [Interval(Real, None, None, closed="neither"), None],
        "reject_label": "no_validation",
    }

    def __init__(self, estimator, loss=None, reject_cost=None, *, reject_label=None):
        self.estimator = estimator
        self.loss = loss
        self.reject_cost = reject_cost
        self.reject_label = reject_label

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier, and check the losses against its classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Handed on to the classifier.

        Returns
        -------
        self : BayesRiskClassifier
            Fitted.
        """
        X, y = validate_rows(self, X, y, accept_sparse="csr")
        options = {}
        if sample_weight is not None:
            if not has_fit_parameter(self.estimator, "sample_weight"):
                raise ValueError(
                    f"{type(self.estimator).__name__} takes no sample_weight; leave it out."
                )
            options["sample_weight"] = sample_weight
        if not is_classifier(self.estimator):
            raise ValueError(f"estimator must be a classifier; got {self.estimator!r}.")
        self.estimator_ = clone(self.estimator).fit(X, y, **options)
        self.classes_ = self.estimator_.classes_
        self.loss_ = action_losses(self.loss, self.reject_cost, len(self.classes_))
        self.reject_label_ = self._label_of_rejection()
        return self

    def _label_of_rejection(self) -> Any:
        if len(self.loss_) == len(self.classes_):
            return None
        label = self.reject_label
        if label is None:
            label = -1 if self.classes_.dtype.kind in "biuf" else "reject"
        if label in self.classes_.tolist():
            raise ValueError(
                f"reject_label={label!r} is a class as well: {self.classes_.tolist()}. Give "
                "another."
            )
        return label

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities that decisions are made from.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Of the wrapped classifier.
        """
        check_is_fitted(self)
        X = validate_rows(self, X, accept_sparse="csr", reset=False)
        return np.asarray(self.estimator_.predict_proba(X), dtype=np.float64)

    def conditional_risk(self, X: Any) -> Floats:
        """Return the expected loss of every action.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        risks : ndarray of shape (n_samples, n_actions)
            R(i | x), one column per class, and a last one to reject where that is possible.
        """
        return conditional_risks(self.loss_, self.predict_proba(X))

    def predict(self, X: Any) -> Any:
        """Return the action of least expected loss.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Classes, or `reject_label_`.
        """
        posterior = self.predict_proba(X)
        actions = least_risk(conditional_risks(self.loss_, posterior), posterior)
        return self._labels()[actions]

    def _labels(self) -> Any:
        if self.reject_label_ is None:
            return self.classes_
        both = np.append(self.classes_, self.reject_label_)
        if both.dtype.kind == self.classes_.dtype.kind or {both.dtype.kind} <= set("iuf"):
            return both
        labels = np.empty(len(self.loss_), dtype=object)
        labels[:-1], labels[-1] = self.classes_, self.reject_label_
        return labels

    def mean_loss(self, X: Any, y: Any) -> float:
        """Return the mean loss of the decisions on labelled samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            True classes.

        Returns
        -------
        loss : float
            Mean of L(decision, truth).
        """
        posterior = self.predict_proba(X)
        check_consistent_length(X, y)
        truth = np.asarray(y)
        unknown = np.setdiff1d(truth, self.classes_)
        if unknown.size:
            raise ValueError(
                f"y has labels that are not in classes_={self.classes_.tolist()}: "
                f"{unknown[:3].tolist()}."
            )
        actions = least_risk(conditional_risks(self.loss_, posterior), posterior)
        return float(self.loss_[actions, np.searchsorted(self.classes_, truth)].mean())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags
