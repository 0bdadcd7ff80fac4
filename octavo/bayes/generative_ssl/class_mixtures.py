"""A mixture of axis-aligned Gaussians for each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.bayes.generative_ssl.gaussians import (
    STEEPEST,
    WIDEST,
    ClassModel,
    Sums,
    diagonal_gradient,
    diagonal_log_density,
    diagonal_maximum,
    diagonal_sums,
    log_softmax,
    logit_gradient,
)
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.probability.mixtures import log_sum


class ClassMixtures(ClassModel):
    """Each class is a mixture; which component a row comes from is hidden."""

    hidden = True

    def __init__(
        self, n_classes, n_features, log_prior=None, floor=2e-3, penalty=0.0, n_components=2
    ):
        super().__init__(n_classes, n_features, log_prior)
        self.floor, self.mean_penalty, self.n_components = floor, penalty, n_components
        self.n_parts = n_classes * n_components

    def unpack(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Return logits of components (K, M), and means and log variances (K·M, d)."""
        K, J = self.n_classes, self.n_parts
        rest = theta[K + J :].reshape(2, J, self.n_features)
        return theta[K : K + J].reshape(K, self.n_components), rest[0], rest[1]

    def _parts(self, theta: Floats, X: Floats) -> Floats:
        """Return log p(x, y, component), (n, K, M)."""
        logits, means, log_vars = self.unpack(theta)
        q = diagonal_log_density(X, means, log_vars).reshape(len(X), *logits.shape)
        q += log_softmax(logits) + self.class_log_prior(theta)[:, None]
        return q

    def log_joint(self, theta: Floats, X: Floats) -> Floats:
        """Return log p(x, y)."""
        # log Σ over components: the class of a row is seen, its component never
        return log_sum(self._parts(theta, X))

    def sums(self, theta: Floats | None, X: Floats, W: Floats) -> Sums:
        """Return weighted sums a component, the weights of a class shared by what explains x."""
        assert theta is not None
        parts = self._parts(theta, X)
        # W p(component | x, y): the derivative of log p(x, y) in its parts
        share = np.exp(parts - log_sum(parts)[:, :, None]) * W[:, :, None]
        return diagonal_sums(X, share.reshape(len(X), self.n_parts))

    def start(self, X: Floats, W: Floats, rng: np.random.RandomState) -> Floats:
        """Return parameters from rows assigned to the nearest of a few rows of their class."""
        shares = np.zeros((len(X), self.n_classes, self.n_components))
        for k in range(self.n_classes):
            rows = np.flatnonzero(W[:, k] > 0)
            chosen = X[rng.choice(rows, self.n_components, replace=len(rows) < self.n_components)]
            apart = ((X[rows, None, :] - chosen[None]) ** 2).sum(axis=2)
            shares[rows, k, apart.argmin(axis=1)] = W[rows, k]
            # A component without rows would have no place: every one gets a part of all.
            shares[rows, k] += 0.01 * W[rows, k, None]
        return self.maximum(diagonal_sums(X, shares.reshape(len(X), self.n_parts)))

    def gradient(self, theta: Floats, sums: Sums) -> Floats:
        """Return Σ W ∂q."""
        logits, means, log_vars = self.unpack(theta)
        mass = sums.mass.reshape(logits.shape)
        on_means, on_vars = diagonal_gradient(sums, means, log_vars)
        return np.concatenate(
            [
                self._prior_gradient(mass.sum(axis=1), theta),
                logit_gradient(mass, logits).ravel(),
                on_means.ravel(),
                on_vars.ravel(),
            ]
        )

    def penalty(self, theta: Floats) -> tuple[float, Floats]:
        """Return C‖μ‖² and its gradient."""
        begin = self.n_classes + self.n_parts
        means = theta[begin : begin + self.n_parts * self.n_features]
        slope = np.zeros_like(theta)
        slope[begin : begin + means.size] = 2.0 * self.mean_penalty * means
        return self.mean_penalty * float(means @ means), slope

    def maximum(self, sums: Sums) -> Floats:
        """Return the parameters of largest weighted likelihood above the floor."""
        mass = np.maximum(sums.mass, 1e-12).reshape(self.n_classes, self.n_components)
        means, log_vars = diagonal_maximum(sums, self.floor, self.mean_penalty)
        logits = np.log(mass / mass.sum(axis=1, keepdims=True))
        head = self._prior_logits(mass.sum(axis=1))
        return np.concatenate([head, logits.ravel(), means.ravel(), log_vars.ravel()])

    def expected(self, theta: Floats) -> Sums:
        """Return the sums that one row drawn from the model gives on average."""
        logits, means, log_vars = self.unpack(theta)
        share = np.exp(self.class_log_prior(theta)[:, None] + log_softmax(logits)).ravel()
        second = share[:, None] * (means**2 + np.exp(log_vars))  # E x² of an axis
        return Sums(share, share[:, None] * means, second)

    def bounds(self) -> list[tuple[float, float]]:
        """Return the box that is searched."""
        size = self.n_parts * self.n_features
        ends = (2.0 * float(np.log(self.floor)), 2.0 * float(np.log(WIDEST)))
        head = [(-STEEPEST, STEEPEST)] * (self.n_classes + self.n_parts)
        return head + [(-WIDEST, WIDEST)] * size + [ends] * size

    def sample(self, theta: Floats, classes: Indices, rng: np.random.RandomState) -> Floats:
        """Draw a row for each class given."""
        logits, means, log_vars = self.unpack(theta)
        steps = np.exp(log_softmax(logits)).cumsum(axis=1)[classes]
        part = (rng.uniform(size=(len(classes), 1)) > steps).sum(axis=1)
        which = classes * self.n_components + np.minimum(part, self.n_components - 1)
        noise: Any = rng.standard_normal((len(classes), self.n_features))
        return means[which] + np.exp(0.5 * log_vars[which]) * noise
