"""Naive Bayes for words: counts (multinomial) or presence (Bernoulli), dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from octavo.bayes.generative_ssl.gaussians import (
    STEEPEST,
    ClassModel,
    Sums,
    log_softmax,
    logit_gradient,
)
from octavo.engine.estimators.arrays import Floats, Indices


def _product(A: Any, B: Floats) -> Floats:
    found = A @ B
    return np.asarray(found.todense() if sp.issparse(found) else found)


class MultinomialCounts(ClassModel):
    """Words are drawn independently given the class; smoothing adds ``alpha`` to each count.

    The multinomial coefficient of a row is left out: it depends on no parameter.
    """

    def __init__(self, n_classes, n_features, log_prior=None, alpha=1.0, length=1.0):
        super().__init__(n_classes, n_features, log_prior)
        self.alpha, self.length = alpha, length

    def unpack(self, theta: Floats) -> Floats:
        """Return logits of the words (K, d)."""
        return theta[self.n_classes :].reshape(self.n_classes, self.n_features)

    def feature_log_prob(self, theta: Floats) -> Floats:
        """Return log p(word | y)."""
        return log_softmax(self.unpack(theta))

    def log_joint(self, theta: Floats, X: Any) -> Floats:
        """Return log p(x, y)."""
        return _product(X, self.feature_log_prob(theta).T) + self.class_log_prior(theta)

    def sums(self, theta: Floats | None, X: Any, W: Floats) -> Sums:
        """Return weighted counts."""
        return Sums(W.sum(axis=0), _product(X.T, W).T, np.zeros(0))

    def gradient(self, theta: Floats, sums: Sums) -> Floats:
        """Return Σ W ∂q."""
        words = logit_gradient(sums.first, self.unpack(theta))  # Σ counts · ∂ log softmax
        return np.concatenate([self._prior_gradient(sums.mass, theta), words.ravel()])

    def penalty(self, theta: Floats) -> tuple[float, Floats]:
        """Return minus the log prior of the smoothing, and its gradient."""
        logits = self.unpack(theta)
        slope = np.zeros_like(theta)
        flat = np.full(logits.shape, self.alpha)
        slope[self.n_classes :] = -logit_gradient(flat, logits).ravel()
        # α pseudo-counts of every word
        return -self.alpha * float(log_softmax(logits).sum()), slope

    def maximum(self, sums: Sums) -> Floats:
        """Return the smoothed frequencies."""
        counts = np.maximum(sums.first + self.alpha, 1e-300)
        logits = np.log(counts / counts.sum(axis=1, keepdims=True))
        return np.concatenate([self._prior_logits(sums.mass), logits.ravel()])

    def expected(self, theta: Floats) -> Sums:
        """Return the sums that one row drawn from the model gives on average."""
        share = np.exp(self.class_log_prior(theta))
        words = self.length * share[:, None] * np.exp(self.feature_log_prob(theta))
        return Sums(share, words, np.zeros(0))

    def bounds(self) -> list[tuple[float, float]]:
        """Return the box that is searched."""
        return [(-STEEPEST, STEEPEST)] * (self.n_classes * (1 + self.n_features))

    def sample(self, theta: Floats, classes: Indices, rng: np.random.RandomState) -> Floats:
        """Draw a row of the training rows' mean length for each class given."""
        words = np.exp(self.feature_log_prob(theta))
        words /= words.sum(axis=1, keepdims=True)
        length = max(1, round(self.length))
        return np.array([rng.multinomial(length, words[k]) for k in classes], dtype=np.float64)


class BernoulliFeatures(ClassModel):
    """Features are there or not, independently given the class."""

    def __init__(self, n_classes, n_features, log_prior=None, alpha=1.0):
        super().__init__(n_classes, n_features, log_prior)
        self.alpha = alpha

    def unpack(self, theta: Floats) -> Floats:
        """Return logits of the features (K, d)."""
        return theta[self.n_classes :].reshape(self.n_classes, self.n_features)

    def feature_log_prob(self, theta: Floats) -> Floats:
        """Return log p(feature | y)."""
        return -np.logaddexp(0.0, -self.unpack(theta))

    def log_joint(self, theta: Floats, X: Any) -> Floats:
        """Return log p(x, y); log p(1) - log p(0) is the logit."""
        logits = self.unpack(theta)
        absent = -np.logaddexp(0.0, logits).sum(axis=1)
        # x · logit + Σ log p(absent)
        return _product(X, logits.T) + absent + self.class_log_prior(theta)

    def sums(self, theta: Floats | None, X: Any, W: Floats) -> Sums:
        """Return weighted counts."""
        return Sums(W.sum(axis=0), _product(X.T, W).T, np.zeros(0))

    def gradient(self, theta: Floats, sums: Sums) -> Floats:
        """Return Σ W ∂q."""
        chance = np.exp(self.feature_log_prob(theta))
        features = sums.first - sums.mass[:, None] * chance  # Σ W (x - p)
        return np.concatenate([self._prior_gradient(sums.mass, theta), features.ravel()])

    def penalty(self, theta: Floats) -> tuple[float, Floats]:
        """Return minus the log prior of the smoothing, and its gradient."""
        logits = self.unpack(theta)
        present, absent = -np.logaddexp(0.0, -logits), -np.logaddexp(0.0, logits)
        slope = np.zeros_like(theta)
        # α (1 - 2p): a pseudo-count on either side
        slope[self.n_classes :] = -self.alpha * (1.0 - 2.0 * np.exp(present)).ravel()
        return -self.alpha * float(present.sum() + absent.sum()), slope

    def maximum(self, sums: Sums) -> Floats:
        """Return the smoothed frequencies."""
        there = np.maximum(sums.first + self.alpha, 1e-300)
        gone = np.maximum(sums.mass[:, None] - sums.first + self.alpha, 1e-300)
        logits = np.log(there) - np.log(gone)
        return np.concatenate([self._prior_logits(sums.mass), logits.ravel()])

    def expected(self, theta: Floats) -> Sums:
        """Return the sums that one row drawn from the model gives on average."""
        share = np.exp(self.class_log_prior(theta))
        return Sums(share, share[:, None] * np.exp(self.feature_log_prob(theta)), np.zeros(0))

    def bounds(self) -> list[tuple[float, float]]:
        """Return the box that is searched."""
        return [(-STEEPEST, STEEPEST)] * (self.n_classes * (1 + self.n_features))

    def sample(self, theta: Floats, classes: Indices, rng: np.random.RandomState) -> Floats:
        """Draw a row for each class given."""
        chance = np.exp(self.feature_log_prob(theta))[classes]
        return (rng.uniform(size=chance.shape) < chance).astype(np.float64)
