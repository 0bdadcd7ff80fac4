"""Combine estimators, or columns of forecasts, with weights that are learnt as outcomes arrive.

Before each row the experts predict; when its target is known, each is charged a loss, a
strategy such as `FlipFlop` shifts the weights, and the experts that can learn do so. The
strategies are those of S. de Rooij, T. van Erven, P. D. Grünwald and W. M. Koolen (2014),
"Follow the Leader If You Can, Hedge If You Must", Journal of Machine Learning Research 15. That
experts may be silent in some rows is an addition: they are then charged the ensemble's loss.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import BaseComposition, Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.online.experts.hedges import FlipFlop
from octavo.online.experts.strategy import ExpertStrategy

__all__ = ["ExpertEnsembleClassifier", "ExpertEnsembleRegressor"]

_LEAST_PROBABILITY = 1e-15  # bounds the logarithmic loss of an expert by 34.5


def squared_loss(y: Floats, said: Floats, quantile: float) -> Floats:
    """Return (y - f)²."""
    return (y[:, None] - said) ** 2


def absolute_loss(y: Floats, said: Floats, quantile: float) -> Floats:
    """Return |y - f|."""
    return np.abs(y[:, None] - said)


def pinball_loss(y: Floats, said: Floats, quantile: float) -> Floats:
    """Return the loss that the quantile minimises: q (y - f) above, (1 - q)(f - y) below."""
    gap = y[:, None] - said
    return np.maximum(quantile * gap, (quantile - 1.0) * gap)


def log_loss(y: NDArray[np.int64], said: Floats) -> Floats:
    """Return -ln of the probability given to the class, which is taken to be at least 1e-15."""
    given = np.take_along_axis(said, y[:, None, None], axis=2)[:, :, 0]
    return np.where(np.isnan(given), np.nan, -np.log(np.maximum(given, _LEAST_PROBABILITY)))


def brier_loss(y: NDArray[np.int64], said: Floats) -> Floats:
    """Return the squared distance between the probabilities and what happened."""
    truth = np.eye(said.shape[2])[y]
    return ((said - truth[:, None, :]) ** 2).sum(axis=2)


def zero_one_loss(y: NDArray[np.int64], said: Floats) -> Floats:
    """Return 1 where the most probable class is not the right one."""
    wrong = (np.argmax(said, axis=2) != y[:, None]).astype(float)
    return np.where(np.isnan(said).any(axis=2), np.nan, wrong)


REGRESSION_LOSSES = {"squared": squared_loss, "absolute": absolute_loss, "pinball": pinball_loss}
CLASSIFICATION_LOSSES = {"log": log_loss, "squared": brier_loss, "zero_one": zero_one_loss}


class _ExpertEnsemble(CallbackSupportMixin, SoundEstimator, BaseComposition):
    """What the two ensembles share."""

    _parameter_constraints: dict[str, Any] = {
        "strategy": [ExpertStrategy, None],
        "combine": [StrOptions({"mean", "sample"})],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }
    experts: Any
    strategy: ExpertStrategy | None
    combine: str
    batch_size: int
    random_state: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with those of the experts under their names.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of experts and strategy.

        Returns
        -------
        params : dict
            Parameters by name.
        """
        return self._get_params("experts", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the ensemble, or of an expert as ``name__parameter``.

        Parameters
        ----------
        **params : dict
            Parameters by name.

        Returns
        -------
        self : object
            The ensemble.
        """
        self._set_params("experts", **params)
        return self

    # --- experts ------------------------------------------------------------------------------

    def _checked_experts(self) -> list[tuple[str, Any]]:
        experts = self.experts
        pairs = isinstance(experts, Sequence) and all(
            isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)
            for pair in experts
        )
        if not pairs or not experts:
            raise ValueError(f"experts must be a list of (name, estimator) pairs, got {experts!r}.")
        self._validate_names([name for name, _ in experts])
        for name, expert in experts:
            if not hasattr(expert, "predict"):
                raise ValueError(f"Expert {name!r} cannot predict: {expert!r}.")
            if hasattr(expert, "fit") and not hasattr(expert, "partial_fit"):
                try:
                    check_is_fitted(expert)
                except NotFittedError:
                    raise ValueError(
                        f"expert {name!r} is not fitted and cannot learn row by row (it has no "
                        "partial_fit): fit it before, or choose an online estimator."
                    ) from None
        return experts

    def _start(self) -> None:
        """Begin afresh: copies of the experts that learn, and a new game."""
        self._names: list[str] = []
        self.experts_: list[Any] = []
        if self.experts is not None:
            for name, expert in self._checked_experts():
                self._names.append(name)
                self.experts_.append(clone(expert) if hasattr(expert, "partial_fit") else expert)
        self.strategy_ = clone(FlipFlop() if self.strategy is None else self.strategy)
        self.n_silent_ = 0
        self._loss_sum, self._n_rows = 0.0, 0
        self._expert_sums: Floats = np.zeros(0)
        self._expert_rows: Floats = np.zeros(0)
        self._generator = check_random_state(self.random_state)

    @property
    def named_experts_(self) -> dict[str, Any]:
        """The experts by name."""
        check_is_fitted(self)
        return dict(zip(self._names, self.experts_))

    @abstractmethod
    def _said_by(self, expert: Any, X: Floats) -> Floats:
        """Return what one expert says of some rows."""

    @abstractmethod
    def _silence(self, n_rows: int) -> Floats:
        """Return what stands for an expert that says nothing."""

    @abstractmethod
    def _losses(self, y: Any, said: Floats) -> Floats:
        """Return the loss of each expert in each row, NaN where it said nothing."""

    @abstractmethod
    def _teach(self, expert: Any, X: Floats, y: Any) -> None:
        """Let an expert learn some rows."""

    def _advice(self, X: Floats) -> Floats:
        """Return what every expert says, silence for those that have not learnt anything."""
        if self.experts is None:
            return X
        columns = []
        for expert in self.experts_:
            try:
                columns.append(self._said_by(expert, X))
            except NotFittedError:
                columns.append(self._silence(X.shape[0]))
        return np.stack(columns, axis=1)

    # --- learning -----------------------------------------------------------------------------

    def _learn(self, X: Floats, y: Any) -> None:
        """Predict some rows, charge the experts, shift the weights, then let them learn."""
        said = self._advice(X)
        losses = np.asarray(self._losses(y, said), dtype=float)
        if losses.shape != said.shape[:2]:
            raise ValueError(
                f"The loss must return an array of shape {said.shape[:2]}, got {losses.shape}."
            )
        awake = ~np.isnan(losses)  # who says nothing sleeps in this round
        heard = awake.any(axis=1)
        if self.experts is None and not heard.all():
            raise ValueError(f"No expert says anything in row {int(np.argmin(heard))}.")
        self.n_silent_ += int((~heard).sum())
        if heard.any():
            self._charge(y[heard], said[heard], losses[heard], awake[heard])
        for expert in self.experts_:
            if hasattr(expert, "partial_fit"):
                self._teach(expert, X, y)

    def _charge(self, y: Any, said: Floats, losses: Floats, awake: NDArray[np.bool_]) -> None:
        """Play the rounds of some rows and keep the accounts."""
        complete = bool(awake.all())
        rounds = losses if complete else np.where(awake, losses, 0.0)
        if not np.isfinite(rounds).all():
            raise ValueError("The loss returned an infinite value.")
        played = self.strategy_._play_on(rounds, None if complete else awake)
        combined = self._mixed(said, played.weights)[:, None]
        self._loss_sum += float(np.sum(self._losses(y, combined)))
        self._n_rows += len(losses)
        if not self._expert_sums.size:
            self._expert_sums = np.zeros(losses.shape[1])
            self._expert_rows = np.zeros(losses.shape[1])
        self._expert_sums += np.nansum(losses, axis=0)
        self._expert_rows += awake.sum(axis=0)

    def _mixed(self, said: Floats, weights: Floats) -> Floats:
        """Return the weighted mean of what was said; silence has no weight."""
        extra = (slice(None), slice(None)) + (None,) * (said.ndim - 2)
        return (np.nan_to_num(said) * weights[extra]).sum(axis=1)

    def _learn_in_batches(self, X: Floats, y: Any, progress: FitProgress | None = None) -> None:
        n_rows, size = X.shape[0], int(self.batch_size)
        for start in range(0, n_rows, size):
            self._learn(X[start : start + size], y[start : start + size])
            if progress is not None and progress.step():
                break

    # --- results ------------------------------------------------------------------------------

    @property
    def weights_(self) -> Floats:
        """Weights of the experts for the coming row."""
        check_is_fitted(self)
        if not hasattr(self.strategy_, "_game"):
            n_experts = len(self.experts_) or self.n_features_in_
            return np.full(n_experts, 1.0 / n_experts)
        return self.strategy_.weights()

    @property
    def loss_(self) -> float:
        """Mean loss of the weighted mean of the experts, each row predicted before learning it."""
        check_is_fitted(self)
        return self._loss_sum / self._n_rows if self._n_rows else float("nan")

    @property
    def expert_loss_(self) -> Floats:
        """Mean loss of each expert over the rows of which it said something."""
        check_is_fitted(self)
        rows = self._expert_rows
        return np.divide(self._expert_sums, rows, out=np.full(rows.shape, np.nan), where=rows > 0)

    def _combined(self, X: Floats) -> Floats:
        """Return the combination of what the experts say of new rows."""
        said = self._advice(X)
        silent = np.asarray(np.isnan(said.reshape(*said.shape[:2], -1)).any(axis=2))
        if silent.all(axis=1).any():
            first = int(np.argmax(silent.all(axis=1)))
            raise ValueError(f"No expert says anything about row {first}.")
        weights = np.where(silent, 0.0, self.weights_)  # silence has no say
        for row in np.flatnonzero(silent.any(axis=1)):
            played = hasattr(self.strategy_, "_game")
            weights[row] = (
                self.strategy_.weights(~silent[row])
                if played
                else ~silent[row] / (~silent[row]).sum()
            )
        if self.combine == "sample":
            limits = np.cumsum(weights, axis=1)
            drawn = self._generator.uniform(size=len(X))[:, None] * limits[:, -1:]
            chosen = (limits <= drawn).sum(axis=1)
            weights = np.eye(weights.shape[1])[chosen]
        return self._mixed(said, weights)


class ExpertEnsembleRegressor(RegressorMixin, _ExpertEnsemble):
    """Combine regressors, or columns of forecasts, by a strategy with a regret bound.

    Parameters
    ----------
    experts : list of (str, estimator), optional
        Online estimators (with ``partial_fit``) are copied and learn as the ensemble does;
        others must be fitted before and stay as they are, and so does anything inside a
        `sklearn.frozen.FrozenEstimator`. Without experts the columns of X are taken to be
        forecasts, one expert a column, where NaN says that there is none.
    strategy : ExpertStrategy, optional
        How weights follow the losses; `FlipFlop` by default.
    loss : {"squared", "absolute", "pinball"} or callable, default="squared"
        What a prediction costs. A callable takes the targets, of shape (n,), and the
        predictions of K experts, (n, K), and returns the losses, (n, K).
    combine : {"mean", "sample"}, default="mean"
        Predict the weighted mean, or what an expert drawn with those weights says. For a
        convex loss the mean is no worse; the regret bounds then hold as they are, and for a
        drawn expert in expectation.
    quantile : float, default=0.5
        The quantile of the pinball loss.
    batch_size : int, default=1
        Rows between two lessons of the experts. The weights move after every row.
    random_state : int, RandomState instance or None, default=None
        For ``combine="sample"``.

    Attributes
    ----------
    experts_ : list of estimators
        The experts as they are now.
    strategy_ : ExpertStrategy
        The strategy and its game.
    n_silent_ : int
        Rows of which no expert could say anything, such as the first when all begin to learn.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of features, where X had them.

    See Also
    --------
    ExpertEnsembleClassifier : The same for classes.

    Notes
    -----
    The order of the rows matters: they are a stream. Do not use it for a batch of independent
    rows; there `sklearn.ensemble.StackingRegressor` learns a combination from held-out folds,
    and can extrapolate beyond the convex hull of the experts.

    References
    ----------
    .. [1] S. de Rooij, T. van Erven, P. D. Grünwald and W. M. Koolen (2014). "Follow the Leader
       If You Can, Hedge If You Must". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.online import AdaHedge, ExpertEnsembleRegressor
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=300)
    >>> forecasts = y[:, None] + rng.normal(scale=[0.2, 0.5, 1.0], size=(300, 3))
    >>> ensemble = ExpertEnsembleRegressor(strategy=AdaHedge()).fit(forecasts, y)
    >>> ensemble.weights_.round(2)
    array([1., 0., 0.])
    """

    _parameter_constraints: dict[str, Any] = {
        **_ExpertEnsemble._parameter_constraints,
        "experts": [list, tuple, None],
        "loss": [StrOptions(set(REGRESSION_LOSSES)), callable],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        experts: Sequence[tuple[str, Any]] | None = None,
        strategy: ExpertStrategy | None = None,
        loss: str | Callable[[Floats, Floats], Floats] = "squared",
        combine: str = "mean",
        *,
        quantile: float = 0.5,
        batch_size: int = 1,
        random_state: Any = None,
    ) -> None:
        self.experts = experts
        self.strategy = strategy
        self.loss = loss
        self.combine = combine
        self.quantile = quantile
        self.batch_size = batch_size
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.experts is None
        tags.regressor_tags.poor_score = True  # no better than the experts
        return tags

    def _said_by(self, expert: Any, X: Floats) -> Floats:
        return np.asarray(expert.predict(X), dtype=float).ravel()

    def _silence(self, n_rows: int) -> Floats:
        return np.full(n_rows, np.nan)

    def _losses(self, y: Floats, said: Floats) -> Floats:
        if callable(self.loss):
            return self.loss(y, said)
        return REGRESSION_LOSSES[self.loss](y, said, float(self.quantile))

    def _teach(self, expert: Any, X: Floats, y: Floats) -> None:
        expert.partial_fit(X, y)

    def _checked(self, X: ArrayLike, y: ArrayLike, *, reset: bool) -> tuple[Floats, Floats]:
        finite: bool | str = "allow-nan" if self.experts is None else True
        return validate_data(
            self, X, y, reset=reset, dtype=np.float64, y_numeric=True, ensure_all_finite=finite
        )

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Start afresh and learn a stream of rows in their order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, or forecasts.
        y : array-like of shape (n_samples,)
            Targets.

        Returns
        -------
        self : object
            The ensemble.
        """
        rows, targets = self._checked(X, y, reset=True)
        self._start()
        n_batches = -(-len(rows) // int(self.batch_size))
        with FitProgress(self, n_batches, X, y, step_name="batch") as progress:
            self._learn_in_batches(rows, targets.astype(float), progress)
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Go on with more rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, or forecasts.
        y : array-like of shape (n_samples,)
            Targets.

        Returns
        -------
        self : object
            The ensemble.
        """
        first = not hasattr(self, "strategy_")
        rows, targets = self._checked(X, y, reset=first)
        if first:
            self._start()
        self._learn_in_batches(rows, targets.astype(float))
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the combined prediction with the present weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, or forecasts.

        Returns
        -------
        prediction : ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self, "strategy_")
        finite: bool | str = "allow-nan" if self.experts is None else True
        rows = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=finite)
        return self._combined(rows)


class ExpertEnsembleClassifier(ClassifierMixin, _ExpertEnsemble):
    """Combine classifiers by a strategy with a regret bound.

    Parameters
    ----------
    experts : list of (str, estimator)
        Online estimators (with ``partial_fit``) are copied and learn as the ensemble does;
        others must be fitted before and stay as they are, and so does anything inside a
        `sklearn.frozen.FrozenEstimator`. One without ``predict_proba`` is taken to give its
        prediction probability one.
    strategy : ExpertStrategy, optional
        How weights follow the losses; `FlipFlop` by default.
    loss : {"log", "squared", "zero_one"} or callable, default="log"
        What a prediction costs: minus the logarithm of the probability given to the class (at
        least 1e-15), the Brier score, or one for a wrong class. A callable takes the indices
        of the classes, of shape (n,), and the probabilities given by K experts,
        (n, K, n_classes), and returns the losses, (n, K).
    combine : {"mean", "sample"}, default="mean"
        Predict with the weighted mean of the probabilities, or with those of an expert drawn
        with those weights.
    batch_size : int, default=1
        Rows between two lessons of the experts. The weights move after every row.
    random_state : int, RandomState instance or None, default=None
        For ``combine="sample"``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    experts_ : list of estimators
        The experts as they are now.
    strategy_ : ExpertStrategy
        The strategy and its game.
    n_silent_ : int
        Rows of which no expert could say anything, such as the first when all begin to learn.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of features, where X had them.

    See Also
    --------
    ExpertEnsembleRegressor : The same for numbers.

    Notes
    -----
    The order of the rows matters: they are a stream. Do not use it for a batch of independent
    rows; there `sklearn.ensemble.StackingClassifier` learns a combination from held-out folds.

    References
    ----------
    .. [1] S. de Rooij, T. van Erven, P. D. Grünwald and W. M. Koolen (2014). "Follow the Leader
       If You Can, Hedge If You Must". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import SGDClassifier
    >>> from octavo.online import ExpertEnsembleClassifier
    >>> X, y = make_classification(500, random_state=0)
    >>> rates = {"slow": 1e-4, "middle": 1e-2, "fast": 1.0}
    >>> experts = [
    ...     (name, SGDClassifier("log_loss", learning_rate="constant", eta0=eta, random_state=0))
    ...     for name, eta in rates.items()
    ... ]
    >>> ensemble = ExpertEnsembleClassifier(experts, batch_size=10).fit(X, y)
    >>> max(zip(ensemble.weights_, rates))[1]
    'middle'
    """

    _parameter_constraints: dict[str, Any] = {
        **_ExpertEnsemble._parameter_constraints,
        "experts": [list, tuple],
        "loss": [StrOptions(set(CLASSIFICATION_LOSSES)), callable],
    }

    def __init__(
        self,
        experts: Sequence[tuple[str, Any]],
        strategy: ExpertStrategy | None = None,
        loss: str | Callable[[NDArray[np.int64], Floats], Floats] = "log",
        combine: str = "mean",
        *,
        batch_size: int = 1,
        random_state: Any = None,
    ) -> None:
        self.experts = experts
        self.strategy = strategy
        self.loss = loss
        self.combine = combine
        self.batch_size = batch_size
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # no better than the experts
        return tags

    def _said_by(self, expert: Any, X: Floats) -> Floats:
        if hasattr(expert, "fit"):
            check_is_fitted(expert)
        said = np.zeros((X.shape[0], self.classes_.size))
        if hasattr(expert, "predict_proba"):
            known = expert.classes_
            place = np.searchsorted(self.classes_, known)
            place = np.minimum(place, self.classes_.size - 1)
            meant = self.classes_[place] == known
            said[:, place[meant]] = np.asarray(expert.predict_proba(X))[:, meant]
            return said
        label = np.asarray(expert.predict(X))
        place = np.minimum(np.searchsorted(self.classes_, label), self.classes_.size - 1)
        said[np.arange(X.shape[0]), place] = self.classes_[place] == label
        return said

    def _silence(self, n_rows: int) -> Floats:
        return np.full((n_rows, self.classes_.size), np.nan)

    def _losses(self, y: NDArray[np.int64], said: Floats) -> Floats:
        if callable(self.loss):
            return self.loss(y, said)
        return CLASSIFICATION_LOSSES[self.loss](y, said)

    def _teach(self, expert: Any, X: Floats, y: NDArray[np.int64]) -> None:
        expert.partial_fit(X, self.classes_[y], classes=self.classes_)

    def _encoded(self, y: Any) -> NDArray[np.int64]:
        place = np.minimum(np.searchsorted(self.classes_, y), self.classes_.size - 1)
        unknown = self.classes_[place] != y
        if unknown.any():
            raise ValueError(
                f"y holds {np.asarray(y)[unknown][0]!r}, which is none of the classes "
                f"{self.classes_.tolist()}."
            )
        return place

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Start afresh and learn a stream of rows in their order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The ensemble.
        """
        rows, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        self.classes_ = unique_labels(labels)
        self._start()
        n_batches = -(-len(rows) // int(self.batch_size))
        with FitProgress(self, n_batches, X, y, step_name="batch") as progress:
            self._learn_in_batches(rows, self._encoded(labels), progress)
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Go on with more rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        classes : array-like of shape (n_classes,), optional
            All classes that there will be; needed in the first call.

        Returns
        -------
        self : object
            The ensemble.
        """
        first = not hasattr(self, "strategy_")
        rows, labels = validate_data(self, X, y, reset=first, dtype=np.float64)
        check_classification_targets(labels)
        if first:
            if classes is None:
                raise ValueError("classes must be given in the first call of partial_fit.")
            self.classes_ = unique_labels(classes)
        elif classes is not None and not np.array_equal(unique_labels(classes), self.classes_):
            raise ValueError(
                f"classes={np.asarray(classes).tolist()} differ from those of the first call, "
                f"{self.classes_.tolist()}."
            )
        encoded = self._encoded(labels)
        if first:
            self._start()
        self._learn_in_batches(rows, encoded)
        return self

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the combined probabilities with the present weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes)
            Probabilities of the classes.
        """
        check_is_fitted(self, "strategy_")
        combined = self._combined(validate_data(self, X, reset=False, dtype=np.float64))
        total = combined.sum(axis=1, keepdims=True)
        equal = np.full_like(combined, 1.0 / self.classes_.size)
        return np.divide(combined, total, out=equal, where=total > 0)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        label : ndarray of shape (n_samples,)
            Classes.
        """
        probability = self.predict_proba(X)
        return self.classes_[np.argmax(probability, axis=1)]
