"""Models that a user brings: log p(x, y) as a function of a vector, and its gradient if at hand."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices

# the step that balances rounding and the third derivative
_STEP = float(np.finfo(float).eps) ** (1.0 / 3.0)


class WeightedRows(NamedTuple):
    """Rows with their weights, for models that name no sums."""

    X: Any
    W: Floats


class CustomModel:
    """A user's model in the form of octavo's own.

    It has ``start(X, W, rng)``, parameters as a flat vector from rows that belong to classes by
    weights W of shape (n, n_classes); ``log_joint(theta, X)``, of the same shape; and may have
    ``gradient(theta, X, W)``, the gradient of Σ W log_joint (central differences stand in for it),
    ``maximize(X, W)`` for EM, ``bounds(theta)`` and ``sample(theta, classes, rng)``.
    """

    hidden = True  # a start need not be a maximum

    def __init__(self, model: Any, n_classes: int) -> None:
        self.model, self.n_classes = model, n_classes
        self._bounds: Any = None

    @property
    def has_maximum(self) -> bool:
        """Whether EM applies."""
        return hasattr(self.model, "maximize")

    def start(self, X: Any, W: Floats, rng: np.random.RandomState) -> Floats:
        """Return the user's start."""
        theta = np.asarray(self.model.start(X, W, rng), dtype=np.float64)
        if theta.ndim != 1 or not np.isfinite(theta).all():
            raise ValueError(
                "model.start(X, W, rng) must return a flat vector of finite numbers; got shape "
                f"{theta.shape}."
            )
        if hasattr(self.model, "bounds"):
            self._bounds = list(self.model.bounds(theta))
        return theta

    def log_joint(self, theta: Floats, X: Any) -> Floats:
        """Return log p(x, y)."""
        q = np.asarray(self.model.log_joint(theta, X), dtype=np.float64)
        if q.shape != (X.shape[0], self.n_classes):
            raise ValueError(
                f"model.log_joint(theta, X) must have shape {(X.shape[0], self.n_classes)}; got "
                f"{q.shape}."
            )
        return q

    def sums(self, theta: Floats | None, X: Any, W: Floats) -> WeightedRows:
        """Return rows and weights as they are."""
        return WeightedRows(X, W)

    def gradient(self, theta: Floats, sums: WeightedRows) -> Floats:
        """Return Σ W ∂q, by central differences where the model has no gradient."""
        if hasattr(self.model, "gradient"):
            return np.asarray(self.model.gradient(theta, sums.X, sums.W), dtype=np.float64)
        found = np.empty_like(theta)
        for j, value in enumerate(theta):
            step = np.zeros_like(theta)
            step[j] = _STEP * max(1.0, abs(value))
            change = self.log_joint(theta + step, sums.X) - self.log_joint(theta - step, sums.X)
            found[j] = np.sum(sums.W * change) / (2.0 * step[j])  # Σ W ∂q by central differences
        return found

    def penalty(self, theta: Floats) -> tuple[float, Floats]:
        """Return nothing: a user's model is its own."""
        return 0.0, np.zeros_like(theta)

    def maximum(self, sums: WeightedRows) -> Floats:
        """Return the user's weighted maximum."""
        return np.asarray(self.model.maximize(sums.X, sums.W), dtype=np.float64)

    def bounds(self) -> Any:
        """Return the box that is searched, or None."""
        return self._bounds

    def opened(self, theta: Floats) -> Floats:
        """Return the parameters as they are."""
        return theta

    def class_log_prior(self, theta: Floats) -> None:
        """Return nothing: only the model knows."""
        return None

    def sample(self, theta: Floats, classes: Indices, rng: np.random.RandomState) -> Any:
        """Draw rows, where the model can."""
        if not hasattr(self.model, "sample"):
            raise ValueError("model has no method sample(theta, classes, rng).")
        return self.model.sample(theta, classes, rng)
