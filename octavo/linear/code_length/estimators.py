"""Sparse models of many responses at once, chosen by description length and nothing else.

`MICSelector` chooses features and, for each, the responses that use it; `MICRegressor` predicts
with them; `MICClassifier` selects on indicators of classes or labels and refits.

Reference: P. S. Dhillon, D. Foster and L. H. Ungar (2011), "Minimum Description Length Penalization
for Group and Multi-Task Sparse Learning", Journal of Machine Learning Research 12, 525-564,
sections 3 and 4.1.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.linalg.forward_selection import coefficients
from octavo.linear.code_length.correlated import select_jointly
from octavo.linear.code_length.refits import Refit
from octavo.linear.code_length.responses import select_for_responses

__all__ = ["MICClassifier", "MICRegressor", "MICSelector"]

COEF_CODES = ("aic", "bic", "bic-paper", "zscore")


def warn_of_constant(constant, what="Response"):
    """Tell which responses have nothing to explain."""
    if constant.any():
        named = ", ".join(map(str, np.flatnonzero(constant)[:5]))
        warnings.warn(
            f"{what} {named} is constant: its model is the intercept alone.", stacklevel=4
        )


def warn_of_saturation(saturated):
    """Tell which models ended because they fit exactly."""
    if len(saturated):
        named = ", ".join(map(str, saturated[:5]))
        warnings.warn(
            f"The model of response {named} was closed: its residual is below 1e-12 of the total "
            "sum of squares, or as many features as rows are in it. Description length says "
            "nothing beyond that; use more rows, max_features or variance='plugin'.",
            stacklevel=4,
        )


class MICSelector(SelectorMixin, SoundEstimator):
    """Choose features, and the responses that use each, by description length alone.

    The multiple inclusion criterion (MIC): a feature enters the models of some responses if that
    shortens the code of the residuals by more bits than it takes to say which feature, which
    responses and what coefficients. There is nothing to tune and no cross-validation.

    Parameters
    ----------
    mode : {"partial", "full", "independent"}, default="partial"
        How a model is coded: a feature with any subset of the responses; with all of them;
        or once for each response, which makes the responses independent of one another.
    coef_bits : float or {"aic", "bic", "bic-paper", "zscore"}, default=2.0
        Bits of a coefficient: a number, one nat, lg(n) / 2, lg(n), or the code of its rounded
        z-score with a sign.
    variance : {"profile", "plugin"}, default="profile"
        Whether residuals are coded with the variance of the model that has the candidate, or of
        the one without it (the paper's text). "plugin" is more cautious.
    cov : {"diag", "full"} or float, default="diag"
        Covariance of residuals between responses: none, all of it, or shrunken to its diagonal by
        that share λ. The refitted part of "profile" is then one common scale.
    max_features : int, default=None
        Stop before there are more features than this.
    branch_and_bound : bool, default=True
        Whether features that cannot win a step are passed over. The outcome is the same.

    Attributes
    ----------
    support_ : ndarray of shape (n_features, n_responses)
        Whether a feature is in the model of a response.
    coef_ : ndarray of shape (n_responses, n_features) or (n_features,)
        Coefficients of the refit on the support.
    intercept_ : ndarray of shape (n_responses,) or float
        Intercepts.
    order_ : ndarray of shape (n_steps,)
        The feature of each step; with ``mode="independent"`` it may come once a response.
    order_tasks_ : list of ndarray
        The responses that took it.
    description_length_path_ : ndarray of shape (n_steps + 1, 3)
        Bits of data, of the model and of both before the first step and after each.
    description_length_ : float
        The last of the totals. Differences mean something, the level depends on units of y.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    MICGroup : Features in groups, one response.
    sklearn.linear_model.MultiTaskLassoCV : A feature for all responses or none, by validation.

    Notes
    -----
    Each step is the best one there is with ``cov="diag"``; the whole is greedy, and can miss
    features that only matter together. With very few rows (n below about 2 lg p) the best of many
    noise features fits well enough to pay for itself under "profile". Prefer
    `sklearn.linear_model.LassoCV` where many small effects predict better than few large ones.

    References
    ----------
    .. [1] Dhillon, Foster and Ungar (2011). Minimum description length penalization for group and
       multi-task sparse learning. Journal of Machine Learning Research 12:525-564.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.linear import MICSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 500))
    >>> Y = X[:, [3]] @ np.ones((1, 5)) + 0.5 * rng.standard_normal((60, 5))
    >>> Y[:, 0] += X[:, 7]
    >>> selector = MICSelector().fit(X, Y)
    >>> selector.order_.tolist(), selector.get_support(indices=True, task=0).tolist()
    ([3, 7], [3, 7])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "mode": [StrOptions({"partial", "full", "independent"})],
        "coef_bits": [Interval(Real, 0, None, closed="left"), StrOptions(set(COEF_CODES))],
        "variance": [StrOptions({"profile", "plugin"})],
        "cov": [StrOptions({"diag", "full"}), Interval(Real, 0, 1, closed="both")],
        "max_features": [Interval(Integral, 0, None, closed="left"), None],
        "branch_and_bound": ["boolean"],
    }

    def __init__(
        self,
        mode="partial",
        coef_bits=2.0,
        variance="profile",
        cov="diag",
        max_features=None,
        branch_and_bound=True,
    ):
        self.mode = mode
        self.coef_bits = coef_bits
        self.variance = variance
        self.cov = cov
        self.max_features = max_features
        self.branch_and_bound = branch_and_bound

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.single_output = True
        tags.target_tags.multi_output = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y) -> Self:
        """Choose features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features. Their scales do not matter.
        y : array-like of shape (n_samples, n_responses) or (n_samples,)
            Responses.

        Returns
        -------
        self : object
            Fitted selector.
        """
        X, Y = validate_rows(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=np.float64,
            multi_output=True,
            y_numeric=True,
            ensure_min_samples=2,
        )
        Y = Y.astype(np.float64, copy=False)
        coef, intercept = self._select(X, Y.reshape(len(Y), -1))
        one = Y.ndim == 1
        self.coef_ = coef[0] if one else coef
        self.intercept_: Any = float(intercept[0]) if one else intercept
        return self

    def _select(self, X, Y):
        """Select from checked arrays, Y with a column a response; return the refit."""
        options = {
            "mode": self.mode,
            "coef_bits": self.coef_bits,
            "variance": self.variance,
            "max_features": self.max_features,
            "cut": self.branch_and_bound,
        }
        shrinkage = {"diag": 1.0, "full": 0.0}.get(self.cov, self.cov)
        fitted = Y
        if shrinkage == 1.0:
            warn_of_constant((Y[0] == Y).all(axis=0))
            path, columns = select_for_responses(X, Y, **options)
        else:
            self._check_joint()
            path, columns, fitted = select_jointly(X, Y, shrinkage=float(shrinkage), **options)
            fitted = fitted + Y.mean(axis=0)
        warn_of_saturation(path.saturated)
        self.support_ = path.support
        supports = [np.flatnonzero(mine).tolist() for mine in path.support.T]
        self.order_, self.order_tasks_ = path.order, path.tasks
        bits = np.column_stack([path.data_bits, path.model_bits])
        self.description_length_path_ = np.column_stack([bits, bits.sum(axis=1)])
        self.description_length_ = float(self.description_length_path_[-1, 2])
        return coefficients(columns, fitted, supports)

    def _check_joint(self):
        if self.mode == "independent":
            raise ValueError(
                f"mode='independent' codes one response at a time and knows no covariance; "
                f"set cov='diag', got cov={self.cov!r}."
            )
        if self.coef_bits == "zscore":
            raise ValueError("coef_bits='zscore' needs cov='diag': z-scores of single responses.")

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_.any(axis=1)

    def get_support(self, indices=False, *, task=None):
        """Return which features were selected.

        Parameters
        ----------
        indices : bool, default=False
            Whether to return numbers of features in place of a mask.
        task : int, default=None
            The response whose features are asked for; any response by default.

        Returns
        -------
        ndarray
            A mask over features, or their numbers.
        """
        mask = self._get_support_mask()
        if task is not None:
            if not isinstance(task, (int, np.integer)) or not 0 <= task < self.support_.shape[1]:
                raise ValueError(
                    f"task must be a response from 0 to {self.support_.shape[1] - 1}, got {task!r}."
                )
            mask = self.support_[:, task]
        return np.flatnonzero(mask) if indices else mask.copy()


class MICRegressor(RegressorMixin, MICSelector):
    """Linear regression of one or many responses on few features, without a tuning parameter.

    `MICSelector` with predictions: least squares on the support of each response.

    Parameters
    ----------
    mode : {"partial", "full", "independent"}, default="partial"
        How a model is coded: a feature with any subset of the responses; with all of them;
        or once for each response.
    coef_bits : float or {"aic", "bic", "bic-paper", "zscore"}, default=2.0
        Bits of a coefficient; see `MICSelector`.
    variance : {"profile", "plugin"}, default="profile"
        Whether residuals are coded with the variance of the model with or without the candidate.
    cov : {"diag", "full"} or float, default="diag"
        Covariance of residuals between responses: none, all of it, or shrunken by that share.
    max_features : int, default=None
        Stop before there are more features than this.

    Attributes
    ----------
    coef_ : ndarray of shape (n_responses, n_features) or (n_features,)
        Coefficients.
    intercept_ : ndarray of shape (n_responses,) or float
        Intercepts.
    order_ : ndarray of shape (n_steps,)
        The feature of each step.
    description_length_ : float
        The last of the totals.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    MICSelector : The selection alone, with more words on it.
    sklearn.linear_model.LassoCV : Shrinks many small effects; predicts better where there are such.

    Notes
    -----
    Coefficients are not shrunken. Where no feature is worth its bits the prediction is the mean.

    References
    ----------
    .. [1] Dhillon, Foster and Ungar (2011). Minimum description length penalization for group and
       multi-task sparse learning. Journal of Machine Learning Research 12:525-564.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from octavo.linear import MICRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = MICRegressor().fit(X, y)
    >>> model.order_.tolist(), round(model.score(X, y), 2)
    ([2, 8, 3, 4], 0.49)
    """

    def predict(self, X):
        """Return the predicted responses.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_responses)
            Predictions, in the shape of the y of `fit`.
        """
        check_is_fitted(self)
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return np.asarray(X @ self.coef_.T) + self.intercept_


class MICClassifier(ClassifierMixin, MICSelector):
    """Classes or labels from few features each, chosen by description length.

    Features are selected by regression on 0/1 indicators, of the classes (one against the rest) or
    of the labels, with `MICSelector`; then each class or label gets a classifier of its own on its
    own features.

    Parameters
    ----------
    mode : {"partial", "full", "independent"}, default="partial"
        How a model is coded: a feature with any subset of the classes; with all of them;
        or once for each class.
    final : estimator, default=None
        The binary classifier that is refitted on the selected features; by default logistic
        regression, penalised in units in which they have deviation one. It needs
        ``decision_function`` or ``predict_proba``.
    coef_bits : float or {"aic", "bic", "bic-paper", "zscore"}, default=2.0
        Bits of a coefficient; see `MICSelector`.
    variance : {"profile", "plugin"}, default="profile"
        Whether residuals are coded with the variance of the model with or without the candidate.
    cov : {"diag", "full"} or float, default="diag"
        Covariance of residuals between responses: none, all of it, or shrunken by that share.
        Indicators of all classes sum to one, so that "full" is singular for three or more.
    max_features : int, default=None
        Stop before there are more features than this.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes; the numbers of the labels where y is an indicator matrix.
    estimators_ : list of estimators
        A fitted `final` for each response, None where no feature is worth its bits. For two
        classes there is one response, the indicator of ``classes_[1]``.
    coef_ : ndarray of shape (n_responses, n_features)
        Coefficients of the refits, where these are linear.
    intercept_ : ndarray of shape (n_responses,)
        Their intercepts.
    order_ : ndarray of shape (n_steps,)
        The feature of each step.
    description_length_ : float
        The last of the totals.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    MICSelector : The selection alone, with more words on it.
    sklearn.linear_model.LogisticRegressionCV : With an l1 penalty, by validation.

    Notes
    -----
    The Gaussian code of 0/1 responses is a heuristic, the paper's. Rare classes (a few rows) are
    seldom worth a feature; their score is then their share of the rows.

    References
    ----------
    .. [1] Dhillon, Foster and Ungar (2011). Minimum description length penalization for group and
       multi-task sparse learning. Journal of Machine Learning Research 12:525-564.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from octavo.linear import MICClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> model = MICClassifier().fit(X, y)
    >>> int(model.get_support().sum()), round(model.score(X, y), 2)
    (6, 0.98)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MICSelector._parameter_constraints,
        "final": [HasMethods(["fit", "predict"]), None],
    }

    def __init__(
        self,
        mode="partial",
        *,
        final=None,
        coef_bits=2.0,
        variance="profile",
        cov="diag",
        max_features=None,
        branch_and_bound=True,
    ):
        super().__init__(
            mode,
            coef_bits=coef_bits,
            variance=variance,
            cov=cov,
            max_features=max_features,
            branch_and_bound=branch_and_bound,
        )
        self.final = final

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = False
        return tags

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y) -> Self:
        """Choose features and refit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Classes, or an indicator matrix of labels.

        Returns
        -------
        self : object
            Fitted classifier.
        """
        X, y = validate_rows(
            self,
            X,
            y,
            narrow=True,
            accept_sparse="csr",
            dtype=np.float64,
            multi_output=True,
            ensure_min_samples=2,
        )
        self._multilabel = type_of_target(y) == "multilabel-indicator"
        if self._multilabel:
            Y, self.classes_ = np.asarray(y, dtype=np.float64), np.arange(y.shape[1])
        else:
            y = column_or_1d(y, warn=True)
            self.classes_, codes = encode_classes(y, owner=self)
            Y = (codes[:, None] == np.arange(len(self.classes_))).astype(np.float64)
            Y = Y[:, 1:] if len(self.classes_) == 2 else Y
        self._select(X, Y)
        self._refit(X, Y)
        return self

    def _refit(self, X, Y):
        """Fit a classifier for each response on its own features."""
        self._refits = [
            Refit(self.final, X, response, np.flatnonzero(mine))
            for mine, response in zip(self.support_.T, Y.T)
        ]
        self.estimators_ = [refit.fitted for refit in self._refits]
        lines = [line for refit in self._refits if (line := refit.linear) is not None]
        self.__dict__.pop("coef_", None)  # of an earlier fit
        self.__dict__.pop("intercept_", None)
        if len(lines) == len(self._refits):
            self.coef_ = np.zeros(self.support_.T.shape)
            for t, (weights, _) in enumerate(lines):
                self.coef_[t, self.support_[:, t]] = weights
            self.intercept_ = np.array([intercept for _, intercept in lines])

    def _answers(self, X, method):
        """Return (n, h) decision values or probabilities of the responses."""
        check_is_fitted(self)
        X = validate_rows(self, X, narrow=True, accept_sparse="csr", dtype=np.float64, reset=False)
        return np.column_stack([getattr(refit, method)(X) for refit in self._refits])

    def decision_function(self, X):
        """Return a score for each class or label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Log-odds for logistic refits; one column for two classes, positive for
            ``classes_[1]``.
        """
        scores = self._answers(X, "scores")
        return scores[:, 0] if not self._multilabel and len(self.classes_) == 2 else scores

    def predict_proba(self, X):
        """Return probabilities of classes (scaled to one) or of labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Of each class, or of each label to be set.
        """
        found = self._answers(X, "probabilities")
        if self._multilabel:
            return found
        if len(self.classes_) == 2:
            return np.column_stack([1.0 - found[:, 0], found[:, 0]])
        total = found.sum(axis=1, keepdims=True)
        flat = np.full_like(found, 1.0 / found.shape[1])
        return np.divide(found, total, out=flat, where=total > 0.0)

    def predict(self, X):
        """Return the class with the highest score, or the labels with a positive one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Classes, or an indicator matrix.
        """
        scores = self._answers(X, "scores")
        if self._multilabel:
            return (scores > 0.0).astype(int)
        if len(self.classes_) == 2:
            return self.classes_[(scores[:, 0] > 0.0).astype(int)]
        return self.classes_[scores.argmax(axis=1)]
