"""From the decision values of the machines of an ensemble to one decision.

An aggregator takes D, of shape (n_samples, n_machines) for two classes and (n_samples, n_machines,
n_classes) for more, and gives decision values that are positive where the second class is chosen
(two classes) or largest for the class that is chosen. The threshold is kept with the aggregator:
1/2 for vote shares and probabilities, 0 for decision values.

Claesen, De Smet, Suykens and De Moor (2014), EnsembleSVM, sections 2 and 2.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC

from octavo.engine.kernels.namespaces import namespace_of, to_namespace, to_numpy

WEIGHTED = ("vote", "mean", "logistic")
TRAINED = ("logistic_regression", "linear_svc", "svc")


class Aggregator:
    """What every aggregator does.

    Parameters
    ----------
    threshold : float, default=None
        The second of two classes is chosen above it; `default_threshold` where None.
    """

    default_threshold = 0.0
    has_proba = False

    def __init__(self, threshold: float | None = None) -> None:
        self.threshold = self.default_threshold if threshold is None else float(threshold)

    def decision(self, D: Any, known: np.ndarray | None = None) -> Any:
        """Return decision values; where `known` is False a value of D is not to be used."""
        raise NotImplementedError

    def proba(self, D: Any) -> Any:
        """Return the probability of every class."""
        raise NotImplementedError

    def choose(self, D: Any) -> Any:
        """Return the number of the class of every row."""
        decision = self.decision(D)
        xp = namespace_of(decision).xp
        if decision.ndim == 1:
            return xp.astype(decision > 0.0, xp.int64)
        return xp.argmax(decision, axis=1)


class Weighted(Aggregator):
    """An aggregator with a weight for each machine.

    Parameters
    ----------
    weights : ndarray of shape (n_machines,)
        Weights.
    threshold : float, default=None
        The second of two classes is chosen above it.
    """

    name: str

    def __init__(self, weights: np.ndarray, threshold: float | None = None) -> None:
        super().__init__(threshold)
        self.weights = weights

    def _weighted_sum(self, values: Any) -> Any:
        """Return Σ_b a_b values_b."""
        weights = to_namespace(self.weights, values)
        if values.ndim == 2:
            return values @ weights
        return namespace_of(values).xp.sum(values * weights[None, :, None], axis=1)

    def _totals(self, D: Any, known: np.ndarray | None) -> Any:
        """Return Σ_b a_b over the machines that are used, shaped to divide a sum by it."""
        if known is None:
            return float(self.weights.sum())
        totals = np.where(known.any(axis=1), known @ self.weights, np.nan)
        totals[totals == 0.0] = np.nan
        return totals if D.ndim == 2 else totals[:, None]


class Vote(Weighted):
    """Weighted majority vote: the share of votes for a class."""

    name = "vote"
    default_threshold = 0.5
    has_proba = True

    def shares(self, D: Any, known: np.ndarray | None = None) -> Any:
        """Return the share of votes of the second class, or of every class."""
        xp, device, _ = namespace_of(D)
        if D.ndim == 2:
            votes = xp.astype(D > 0.0, D.dtype)  # 1[D_b > 0]
        else:  # a machine of more than two classes votes for its largest value
            filled = D if known is None else np.where(known[:, :, None], D, 0.0)
            classes = xp.arange(D.shape[2], device=device)
            votes = xp.astype(xp.argmax(filled, axis=2)[:, :, None] == classes, D.dtype)
        if known is not None:
            votes = votes * (known if D.ndim == 2 else known[:, :, None])
        # Divided last: with equal weights a tie is exactly one half.
        return self._weighted_sum(votes) / self._totals(D, known)

    def decision(self, D: Any, known: np.ndarray | None = None) -> Any:
        """Return the shares, for two classes less the threshold."""
        shares = self.shares(D, known)
        return shares - self.threshold if D.ndim == 2 else shares

    def proba(self, D: Any) -> Any:
        """Return the shares of every class."""
        shares = self.shares(D)
        if D.ndim == 3:
            return shares
        return namespace_of(shares).xp.stack([1.0 - shares, shares], axis=1)


class MeanDecision(Weighted):
    """Weighted mean of the decision values."""

    name = "mean"

    def decision(self, D: Any, known: np.ndarray | None = None) -> Any:
        """Return the means, for two classes less the threshold."""
        if known is not None:
            D = np.where(known if D.ndim == 2 else known[:, :, None], D, 0.0)
        means = self._weighted_sum(D) / self._totals(D, known)  # Σ a_b D_b / Σ a_b
        return means - self.threshold if D.ndim == 2 else means


class FixedLogistic(Weighted):
    """Logistic function of the weighted sum of decision values, nothing trained."""

    name = "logistic"
    default_threshold = 0.5
    has_proba = True

    def __init__(self, weights: np.ndarray, threshold: float | None = None) -> None:
        super().__init__(weights, threshold)
        if not 0.0 < self.threshold < 1.0:
            raise ValueError(
                f"The threshold of a logistic aggregation is a probability between 0 and 1, "
                f"both excluded; got {self.threshold!r}."
            )

    def decision(self, D: Any, known: np.ndarray | None = None) -> Any:
        """Return the log-odds, less those of the threshold for two classes."""
        sums = self._weighted_sum(impute_rows(D, known))
        return sums - float(logit(self.threshold)) if D.ndim == 2 else sums

    def proba(self, D: Any) -> Any:
        """Return 1 / (1 + exp(−a'D)); for more than two classes scaled to sum to one."""
        sums = self._weighted_sum(D)
        xp, _, is_numpy = namespace_of(sums)
        if D.ndim == 2:
            # The same function; the array API has no sigmoid.
            share = expit(sums) if is_numpy else 0.5 * (1.0 + xp.tanh(0.5 * sums))
            return xp.stack([1.0 - share, share], axis=1)
        logs = -xp.logaddexp(xp.zeros_like(sums), -sums)  # log of 1/(1 + e⁻ˢ), which may underflow
        odds = xp.exp(logs - xp.max(logs, axis=1, keepdims=True))
        return odds / xp.sum(odds, axis=1, keepdims=True)


class Trained(Aggregator):
    """A classifier that was trained on decision values; it computes on the host.

    Parameters
    ----------
    estimator : classifier
        Fitted on D with classes numbered from 0.
    threshold : float, default=None
        0 for a classifier with decision values, 1/2 for one with probabilities alone.
    """

    def __init__(self, estimator: Any, threshold: float | None = None) -> None:
        if not hasattr(estimator, "decision_function"):
            self.default_threshold = 0.5
        super().__init__(threshold)
        self.estimator = estimator
        self.has_proba = hasattr(estimator, "predict_proba")

    def decision(self, D: Any, known: np.ndarray | None = None) -> Any:
        """Return what the classifier decides, for two classes less the threshold."""
        flat = flatten(to_numpy(impute_rows(D, known)))
        usable = ~np.isnan(flat).any(axis=1)
        name = next(
            (n for n in ("decision_function", "predict_proba") if hasattr(self.estimator, n)), None
        )
        values = getattr(self.estimator, name or "predict")(flat[usable])
        if D.ndim == 2:
            values = (values[:, 1] if name == "predict_proba" else values) - self.threshold
        elif name is None:
            values = (values[:, None] == np.arange(D.shape[2])).astype(np.float64)
        found = np.full((len(flat), *values.shape[1:]), np.nan)
        found[usable] = values
        return to_namespace(found, D)

    def choose(self, D: Any) -> Any:
        """Return the classifier's choice; with two classes by the threshold."""
        if D.ndim == 2:
            return super().choose(D)
        return to_namespace(self.estimator.predict(flatten(to_numpy(D))), D)

    def proba(self, D: Any) -> Any:
        """Return the classifier's probabilities."""
        return to_namespace(self.estimator.predict_proba(flatten(to_numpy(D))), D)


class Custom(Aggregator):
    """A function of the user's: D in, decision values out.

    Parameters
    ----------
    function : callable
        Takes D; returns an array of shape (n_samples,) or (n_samples, n_classes).
    threshold : float, default=None
        0 where None.
    """

    def __init__(self, function: Callable[[Any], Any], threshold: float | None = None) -> None:
        super().__init__(threshold)
        self.function = function

    def decision(self, D: Any, known: np.ndarray | None = None) -> Any:
        """Return what the function gives, for two classes less the threshold."""
        values = self.function(impute_rows(D, known))
        expected = (D.shape[0],) if D.ndim == 2 else (D.shape[0], D.shape[2])
        if tuple(values.shape) != expected:
            raise ValueError(
                f"The aggregation must return decision values of shape {expected} for D of shape "
                f"{tuple(D.shape)}; it returned shape {tuple(values.shape)}."
            )
        return values - self.threshold if D.ndim == 2 else values


# --- making one ----------------------------------------------------------------------------------


def make_aggregator(
    aggregation: Any,
    n_machines: int,
    n_classes: int,
    *,
    weights: Any = None,
    threshold: float | None = None,
    values: Callable[[], tuple[np.ndarray, np.ndarray]] | None = None,
) -> Aggregator:
    """Return an aggregator that is ready to use.

    Parameters
    ----------
    aggregation : str, classifier or callable
        A name of `WEIGHTED` or `TRAINED`, a classifier to train, or a function of D.
    n_machines, n_classes : int
        The shape of the decision values.
    weights : array-like of shape (n_machines,), default=None
        For the names of `WEIGHTED`; ones where None.
    threshold : float, default=None
        For two classes; the aggregator's own where None.
    values : callable, default=None
        Returns (D, y) for a classifier to train on; asked only then.

    Returns
    -------
    Aggregator
        Its `decision`, `proba` and `choose` take decision values.
    """
    check_aggregation(aggregation, n_classes, weights, threshold)
    if isinstance(aggregation, str) and aggregation in WEIGHTED:
        kinds = {"vote": Vote, "mean": MeanDecision, "logistic": FixedLogistic}
        return kinds[aggregation](_check_weights(weights, n_machines, aggregation), threshold)
    if needs_values(aggregation):
        assert values is not None
        return Trained(train(classifier_of(aggregation), *values(), n_classes), threshold)
    return Custom(aggregation, threshold)


def check_aggregation(
    aggregation: Any, n_classes: int, weights: Any, threshold: float | None
) -> None:
    """Refuse a threshold for many classes, and weights where they have no meaning."""
    if threshold is not None and n_classes != 2:
        raise ValueError(f"threshold={threshold!r} is for two classes; there are {n_classes}.")
    if weights is not None and not (isinstance(aggregation, str) and aggregation in WEIGHTED):
        raise ValueError(
            f"aggregation_weights are for the aggregations {', '.join(WEIGHTED)}; "
            f"{aggregation!r} finds its own."
        )


def classifier_of(aggregation: Any) -> Any:
    """Return an unfitted classifier for one of the names of `TRAINED`, or a clone."""
    if aggregation == "logistic_regression":
        return LogisticRegression()
    if aggregation == "linear_svc":
        return LinearSVC()
    return SVC() if isinstance(aggregation, str) else clone(aggregation)


def needs_values(aggregation: Any) -> bool:
    """Return whether the aggregation is trained on decision values."""
    return hasattr(aggregation, "fit") or (isinstance(aggregation, str) and aggregation in TRAINED)


def train(classifier: Any, D: np.ndarray, y: np.ndarray, n_classes: int) -> Any:
    """Fit a classifier on the rows of D that are known."""
    flat = flatten(D)
    usable = ~np.isnan(flat).any(axis=1)
    if len(np.unique(y[usable])) < n_classes:
        raise ValueError(
            f"A trained aggregation needs decision values of rows that the machines were not "
            f"trained on, from every class: {int(usable.sum())} of {len(y)} rows are out of bag, "
            f"from {len(np.unique(y[usable]))} of {n_classes} classes. Draw smaller samples, or "
            "train it on rows held out with with_aggregation(aggregation, X, y)."
        )
    return classifier.fit(flat[usable], y[usable])


def impute_rows(D: Any, known: np.ndarray | None) -> Any:
    """Return D with what is not known replaced by the mean of what is, row by row."""
    if known is None:
        return D
    mask = known if D.ndim == 2 else known[:, :, None]
    counts = known.sum(axis=1)
    with np.errstate(invalid="ignore"):
        means = np.where(mask, D, 0.0).sum(axis=1, keepdims=True) / counts.reshape(
            -1, *[1] * (D.ndim - 1)
        )
    return np.where(mask, D, means)


def flatten(D: Any) -> Any:
    """Return D as a table: a column for each machine and class."""
    return D if D.ndim == 2 else D.reshape(D.shape[0], -1)


def _check_weights(weights: Any, n_machines: int, aggregation: str) -> np.ndarray:
    """Return the weights as an array, or say what is wrong with them."""
    if weights is None:
        return np.ones(n_machines)
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n_machines,):
        raise ValueError(
            f"aggregation_weights must hold one number for each of the {n_machines} machines; "
            f"got shape {weights.shape}."
        )
    if not np.isfinite(weights).all():
        raise ValueError("aggregation_weights must be finite; they hold NaN or infinite values.")
    if not weights.any():
        raise ValueError("aggregation_weights must not all be zero.")
    if aggregation != "logistic" and weights.min() < 0.0:
        raise ValueError(
            f"aggregation_weights must not be negative for {aggregation!r}; the smallest is "
            f"{weights.min():.6g}."
        )
    return weights
