"""LogitBoost: boosting as additive logistic regression by Newton steps.

Reference: J. Friedman, T. Hastie and R. Tibshirani (2000), Additive logistic regression: a
statistical view of boosting, Annals of Statistics 28, Algorithms 3 and 6.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin, clone
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, Options, fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["LogitBoost"]


def working_response(y: Floats, p: Floats, limit: float) -> tuple[Floats, Floats]:
    """Return z = (y - p) / (p (1 - p)), cut, and the weights p (1 - p)."""
    # Friedman, Hastie and Tibshirani's Algorithm 3, 2(a).
    weight = np.maximum(p * (1 - p), 1e-12)
    return np.clip((y - p) / weight, -limit, limit), weight


class LogitBoost(ClassifierMixin, SoundEstimator):
    """Boost regressors on the working responses of logistic regression.

    Parameters
    ----------
    n_estimators : int, default=100
        Rounds.
    estimator : object, optional
        A regressor that takes sample weights; trees of one split by default.
    learning_rate : float, default=1.0
        Shrinks each round.
    max_response : float, default=4.0
        Where working responses are cut; infinity makes every round a whole Newton step.
    random_state : int, RandomState instance or None, default=None
        Seeds the regressors.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes.
    estimators_ : list of list
        Regressors by round; one for two classes, one a class otherwise.
    losses_ : ndarray of shape (n_estimators,)
        Mean negative log-likelihood of the training rows after each round.

    See Also
    --------
    sklearn.ensemble.HistGradientBoostingClassifier : Newton steps within leaves and far faster;
        LogitBoost differs by boosting any regressor.

    Notes
    -----
    Not for thousands of rounds on large tables: each round fits a regressor a class in Python.

    References
    ----------
    J. Friedman, T. Hastie and R. Tibshirani (2000). Additive logistic regression: a statistical
    view of boosting. Annals of Statistics 28.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.linear import LogitBoost
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = (np.abs(X[:, 0]) > 1).astype(int)
    >>> round(LogitBoost(20).fit(X, y).score(X, y), 3)
    1.0
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "estimator": [None, HasMethods(["fit", "predict"])],
        "n_estimators": [Interval(Integral, 1, 100_000, closed="both")],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "max_response": [Interval(Real, 0, None, closed="neither"), Options(Real, {np.inf})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        estimator: Any = None,
        learning_rate: float = 1.0,
        max_response: float = 4.0,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.estimator = estimator
        self.learning_rate = learning_rate
        self.max_response = max_response
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> LogitBoost:
        """Boost.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : LogitBoost
            The fitted classifier.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes = encode_classes(y, owner=self)
        rng = check_random_state(self.random_state)
        n, J = len(X), len(self.classes_)
        target = np.eye(J)[codes]
        F = np.zeros((n, 1 if J == 2 else J))
        self.estimators_, losses = [], []
        for _ in range(self.n_estimators):
            p = self._probability(F)
            columns = [1] if J == 2 else range(J)
            models = [self._regressor(rng, X, target[:, j], p[:, j]) for j in columns]
            F += self._step(models, X)
            self.estimators_.append(models)
            losses.append(
                -np.mean(
                    np.log(
                        np.maximum(self._probability(F)[np.arange(n), codes], np.finfo(float).tiny)
                    )
                )
            )
        self.losses_ = np.array(losses)
        return self

    def _regressor(self, rng: np.random.RandomState, X: Floats, y: Floats, p: Floats) -> Any:
        z, weight = working_response(y, p, self.max_response)
        model = DecisionTreeRegressor(max_depth=1) if self.estimator is None else self.estimator
        model = clone(model)
        if "random_state" in model.get_params():
            model.set_params(random_state=rng.randint(2**31 - 1))
        return model.fit(X, z, sample_weight=weight / weight.sum())

    def _step(self, models: list[Any], X: Floats) -> Floats:
        """Return what a round adds: half the regression, or its deviation from the mean."""
        found = np.stack([model.predict(X) for model in models], axis=1)
        if len(self.classes_) == 2:
            return self.learning_rate * 0.5 * found  # Algorithm 3, 2(c)
        J = len(self.classes_)
        centered = found - found.mean(axis=1, keepdims=True)
        return self.learning_rate * (J - 1) / J * centered  # Algorithm 6, 2(b)

    def _probability(self, F: Floats) -> Floats:
        if F.shape[1] == 1:
            p = expit(2 * F[:, 0])  # e^F / (e^F + e^-F)
            return np.stack([1 - p, p], axis=1)
        return np.asarray(softmax(F, axis=1))

    def _additive(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        F = np.zeros((len(X), 1 if len(self.classes_) == 2 else len(self.classes_)))
        for models in self.estimators_:
            F += self._step(models, X)
        return F

    def decision_function(self, X: Any) -> Floats:
        """Return log-odds of the second of two classes, or the classes' additive functions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The higher, the likelier.
        """
        F = self._additive(X)
        return 2 * F[:, 0] if F.shape[1] == 1 else F

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return self._probability(self._additive(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the likeliest class.

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
