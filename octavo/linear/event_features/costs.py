"""MetaCost: any classifier made sensitive to costs by relabelling its training rows.

Reference: P. Domingos (1999), MetaCost: a general method for making classifiers cost-sensitive,
KDD, Table 1.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["MetaCost"]


class MetaCost(ClassifierMixin, SoundEstimator):
    """Bag a classifier, give each training row the class of least expected cost, fit once more.

    What remains is a single model of the base's kind, which decides by costs.

    Parameters
    ----------
    estimator : object, optional
        A classifier; a decision tree with at least five rows in a leaf by default.
    cost_matrix : "balanced" or array-like of shape (n_classes, n_classes), default="balanced"
        Entry (i, j) is the cost of saying class i where j is true. ``"balanced"``: an error
        costs as much as its true class is rare.
    n_estimators : int, default=10
        Bags.
    use_all : bool, default=True
        Whether a row's probabilities come from all bags, or from those that do not hold it.
    random_state : int, RandomState instance or None, default=None
        Seeds the bags.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes.
    cost_matrix_ : ndarray of shape (n_classes, n_classes)
        Costs.
    relabeled_ : ndarray of shape (n_samples,)
        The classes that the last model was fitted to.
    estimator_ : object
        That model.

    See Also
    --------
    sklearn.model_selection.TunedThresholdClassifierCV : Moves the threshold of probabilities, which
        is simpler where the model has good ones.

    Notes
    -----
    Probabilities are the final model's, of relabelled classes: use them to rank only.

    References
    ----------
    P. Domingos (1999). MetaCost: a general method for making classifiers cost-sensitive. KDD.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.linear import MetaCost
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = (X[:, 0] + rng.normal(size=500) > 2).astype(int)
    >>> model = MetaCost(cost_matrix=[[0, 10], [1, 0]], random_state=0).fit(X, y)
    >>> bool(model.predict(X).sum() > y.sum())
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "estimator": [None, HasMethods(["fit", "predict"])],
        "cost_matrix": [StrOptions({"balanced"}), "array-like"],
        "n_estimators": [Interval(Integral, 1, 100_000, closed="both")],
        "use_all": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        cost_matrix: Any = "balanced",
        n_estimators: int = 10,
        use_all: bool = True,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.cost_matrix = cost_matrix
        self.n_estimators = n_estimators
        self.use_all = use_all
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> MetaCost:
        """Relabel and fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : MetaCost
            The fitted classifier.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes = encode_classes(y, owner=self)
        self.cost_matrix_ = self._costs(codes)
        rng = check_random_state(self.random_state)
        chance = self._bagged(X, codes, rng)
        relabeled = np.argmin(chance @ self.cost_matrix_.T, axis=1)  # Σ_j P(j|x) C(i, j)
        self.relabeled_ = self.classes_[relabeled]
        if len(np.unique(relabeled)) == 1:
            self.estimator_ = DummyClassifier().fit(X, relabeled)
        else:
            self.estimator_ = self._model(rng).fit(X, relabeled)
        return self

    def _model(self, rng: np.random.RandomState) -> Any:
        base = DecisionTreeClassifier(min_samples_leaf=5)
        model = clone(base if self.estimator is None else self.estimator)
        if "random_state" in model.get_params():
            model.set_params(random_state=rng.randint(2**31 - 1))
        return model

    def _costs(self, codes: NDArray[Any]) -> Floats:
        J = len(self.classes_)
        if isinstance(self.cost_matrix, str):
            rare = len(codes) / (J * np.bincount(codes))  # n / (J n_j)
            return np.where(np.eye(J, dtype=bool), 0.0, rare[None, :])
        costs = np.asarray(self.cost_matrix, dtype=np.float64)
        if costs.shape != (J, J) or not np.isfinite(costs).all():
            raise ValueError(
                f"cost_matrix must be finite, with a row and a column for each of {J} classes; got "
                f"shape {costs.shape}."
            )
        return costs

    def _bagged(self, X: Floats, codes: NDArray[Any], rng: np.random.RandomState) -> Floats:
        """Return each row's class probabilities by the bags."""
        n, J = len(X), len(self.classes_)
        total, votes = np.zeros((n, J)), np.zeros(n)
        for _ in range(self.n_estimators):
            rows = rng.randint(n, size=n)
            held = np.ones(n, dtype=bool)
            if not self.use_all:
                held[rows] = False
            if len(np.unique(codes[rows])) == 1:
                # A bag of one class has nothing to learn from; it votes for that class.
                total[held, codes[rows[0]]] += 1
            elif held.any():
                model = self._model(rng).fit(X[rows], codes[rows])
                total[held] += _probability(model, X[held], J)
            votes[held] += 1
        lonely = votes == 0
        total[lonely] = np.eye(J)[codes[lonely]]
        return total / np.maximum(votes, 1)[:, None]

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities of the relabelled classes.

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
        return _probability(self.estimator_, X, len(self.classes_))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of least expected cost.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.classes_[np.asarray(self.estimator_.predict(X), dtype=np.intp)]


def _probability(model: Any, X: Floats, n_classes: int) -> Floats:
    """Return probabilities with a column for every class; votes of a model that has none."""
    out = np.zeros((len(X), n_classes))
    if hasattr(model, "predict_proba"):
        out[:, model.classes_] = model.predict_proba(X)
    else:
        out[np.arange(len(X)), np.asarray(model.predict(X), dtype=np.intp)] = 1.0
    return out
