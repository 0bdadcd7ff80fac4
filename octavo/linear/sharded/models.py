"""What the distributed linear estimators share: reading training data, and predicting.

Training data are a table with targets, a dask array, or shards; see `HybridLinearClassifier`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from octavo.engine.distributed.map_reduce import Communicator, communicator_for, join
from octavo.engine.distributed.shards import Shard, as_shards, is_sharded, split_rows
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import need_two_classes
from octavo.engine.estimators.sklearn_door import Interval, check_sample_weight
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.smooth.losses import HUBER, LOSSES, SMOOTH_ABSOLUTE
from octavo.linear.sharded.passes import LinearTask, ShardFacts, describe


class Training(NamedTuple):
    """An open communicator with the task, and what its shards say about themselves."""

    comm: Communicator
    task: LinearTask
    facts: list[ShardFacts]

    @property
    def weight(self) -> float:
        """Total weight of the rows."""
        return sum(fact.weight for fact in self.facts)


def check_widths(facts: Sequence[ShardFacts]) -> int:
    """Return the number of features, which all shards must share."""
    widths = {fact.n_features for fact in facts}
    if len(widths) > 1:
        told = ", ".join(f"shard {f.rank} ({f.name}): {f.n_features}" for f in facts[:5])
        raise ValueError(f"Shards differ in their number of features: {told}.")
    if not sum(fact.n_rows for fact in facts):
        raise ValueError("Found array with 0 sample(s): all shards are empty.")
    if not sum(fact.weight for fact in facts) > 0:
        raise ValueError("All sample weights are zero; expected at least one positive weight.")
    return widths.pop()


def warn_of_biased_shards(facts: Sequence[ShardFacts], positive: Any) -> None:
    """Warn when a shard's mean target is more than five standard errors from the others'."""
    filled = [fact for fact in facts if fact.n_rows]
    if len(filled) < 2:
        return
    n = np.array([fact.n_rows for fact in filled], dtype=float)
    if positive is None:
        sums = np.array([fact.total for fact in filled])
        variance = sum(fact.squares for fact in filled) / n.sum() - (sums.sum() / n.sum()) ** 2
    else:
        sums = np.array([float(f.counts[f.labels == positive].sum()) for f in filled])
        rate = sums.sum() / n.sum()
        variance = rate * (1 - rate)
    rest = n.sum() - n  # rows of the other shards
    error = np.sqrt(max(variance, 0.0) * (1 / n + 1 / rest))  # of the difference of two means
    distance = np.abs(sums / n - (sums.sum() - sums) / rest)
    far = [fact for fact, d, e in zip(filled, distance, error) if d > 5 * e > 0]
    if far:
        told = ", ".join(f"shard {fact.rank} ({fact.name})" for fact in far[:5])
        warnings.warn(
            f"The mean target of {told} is more than 5 standard errors from that of the other "
            "shards: the rows do not lie in random order, which spoils the average of the online "
            "pass. Shuffle them, or deal them with octavo.linear.write_shards.",
            UserWarning,
            stacklevel=4,
        )


class ShardedLinearModel(CallbackSupportMixin, SoundEstimator):
    """Base of the estimators that learn one weight vector from shards."""

    _parameter_constraints: dict[str, Any] = {
        "n_shards": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "comm": "no_validation",
    }
    _classify = False
    comm: Any
    coef_: Any
    intercept_: Any

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def __sklearn_clone__(self) -> Self:
        # A client cannot be copied; clones share it.
        comm, self.comm = self.comm, None
        try:
            copied = super().__sklearn_clone__()
        finally:
            self.comm = comm
        copied.comm = comm
        return copied

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        comm = state.get("comm")
        if hasattr(comm, "scheduler"):  # a client is pickled as the address of its scheduler
            state["comm"] = comm.scheduler.address
        return state

    # --- training data ---

    def _table(self, X: Any, y: Any, sample_weight: Any, *, reset: bool = True) -> tuple[Any, ...]:
        """Validate a table with targets; return it with the weights, or None."""
        X, y = validate_rows(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32],
            y_numeric=not self._classify, reset=reset,
        )  # fmt: skip
        y = column_or_1d(y, warn=True)
        if self._classify:
            check_classification_targets(y)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, X, ensure_non_negative=True)
        return X, y, sample_weight

    def _shards(self, X: Any, y: Any, sample_weight: Any) -> list[Shard]:
        if is_sharded(X, y):
            if y is not None or sample_weight is not None:
                raise ValueError(
                    "Shards carry their own targets and weights: y and sample_weight must be None."
                )
            self.__dict__.pop("feature_names_in_", None)  # of an earlier fit to a table
            return as_shards(X)
        if hasattr(X, "dask") and hasattr(X, "to_delayed"):
            from octavo.engine.distributed.dask_communicator import dask_shards

            if y is None:
                raise ValueError(
                    f"{type(self).__name__} requires y to be passed, but the target y is None."
                )
            return dask_shards(X, y, sample_weight)
        X, y, sample_weight = self._table(X, y, sample_weight)
        return list(split_rows(X, y, sample_weight, self.n_shards, canonical=True))

    @contextmanager
    def _training(self, X: Any, y: Any, sample_weight: Any) -> Iterator[Training]:
        """Open the shards, look at them, and yield what a fit needs."""
        shards = self._shards(X, y, sample_weight)
        comm = communicator_for(self.comm)
        comm.open(shards)
        try:
            facts = comm.run(describe, self._classify, combine=join)
            self.n_features_in_ = check_widths(facts)
            positive = self._positive(facts)
            warn_of_biased_shards(facts, positive)
            yield Training(comm, self._task(positive), facts)
            self.timing_ = comm.timing
        finally:
            comm.close()

    def _positive(self, facts: Sequence[ShardFacts]) -> Any:
        """Return the label that counts as +1; None for numbers."""
        return None

    def _task(self, positive: Any) -> LinearTask:
        code, level = LOSSES[self.loss], float(getattr(self, "quantile", 0.5))
        smooth, scale, tilt = code, 1.0, 0.0
        if self.loss == "hinge":
            smooth = HUBER
        elif self.loss == "quantile":
            # ρ_τ(y - p) = ½|p - y| + (τ - ½)(y - p), of which only the first part has a kink.
            smooth, scale, tilt = SMOOTH_ABSOLUTE, 0.5, level - 0.5
        bias = 1.0 if self.fit_intercept else 0.0
        return LinearTask(
            code, level, smooth, 0.5, scale, tilt, self.n_features_in_, bias, positive
        )

    # --- weights ---

    def _store(self, w: Floats) -> None:
        """Set the public weights from a vector that ends with the intercept."""
        if self._classify:
            self.coef_, self.intercept_ = w[None, :-1].copy(), w[-1:].copy()
        else:
            self.coef_, self.intercept_ = w[:-1].copy(), float(w[-1])

    def _stored(self) -> Floats:
        return np.append(np.ravel(self.coef_), self.intercept_)

    def _decide(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = validate_rows(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return np.asarray(X @ np.ravel(self.coef_)) + np.ravel(self.intercept_)


class ShardedClassifier(ClassifierMixin, ShardedLinearModel):
    """Base of the binary classifiers.

    Parameters
    ----------
    loss : {"log", "hinge", "squared_hinge", "squared"}, default="log"
        Loss of a prediction.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Class labels.
    coef_ : ndarray of shape (1, n_features)
        Weights.
    intercept_ : ndarray of shape (1,)
        Intercept.
    timing_ : FitTiming
        Where the time went.
    """

    _classify = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _positive(self, facts: Sequence[ShardFacts]) -> Any:
        labels = np.unique(np.concatenate([f.labels for f in facts if f.labels.size]))
        self._set_classes(labels)
        return self.classes_[1]

    def _set_classes(self, labels: NDArray[Any]) -> None:
        if labels.size > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is multiclass: "
                f"{labels.size} classes. Wrap the estimator in "
                "sklearn.multiclass.OneVsRestClassifier for more."
            )
        need_two_classes(labels, self)
        self.classes_ = labels

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the signed score of each row; positive for ``classes_[1]``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            x·coef + intercept.
        """
        return self._decide(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the predicted class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Entries of `classes_`.
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int)]


class ShardedRegressor(RegressorMixin, ShardedLinearModel):
    """Base of the regressors."""

    def predict(self, X: ArrayLike) -> Floats:
        """Return the predicted target of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            x·coef + intercept.
        """
        return self._decide(X)
