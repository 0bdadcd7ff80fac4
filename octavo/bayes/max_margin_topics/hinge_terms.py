"""Margin losses as scale mixtures of normals: what the weights and the topics see of the labels.

Every loss here is a sum of hinges 2c max(0, ζ), ζ = m - s f, of a score f = ηᵀz̄. A class label
is one hinge with m = ℓ and s = y; the ε-insensitive loss of a number y is two, (y - ε, +1) and
(-(y + ε), -1). Each hinge has one scale λ with

    exp(-2c max(0, ζ)) = ∫ (2πλ)^(-1/2) exp(-(λ + cζ)² / (2λ)) dλ      (Lemma 2)

so that given the scales the log-likelihood is quadratic in f: Σ lin f - quad f² / 2 with
lin = c s (λ + c m) / λ and quad = c² / λ. That is the paper's Eq. (10) and (22), and its (17)
with the factor c² in the linear term, which is printed as c there.

Reference: J. Zhu, N. Chen, H. Perkins and B. Zhang (2014), "Gibbs Max-Margin Topic Models with Data
Augmentation", Journal of Machine Learning Research 15.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular

from octavo.engine.estimators.arrays import Floats
from octavo.engine.mcmc.inverse_gaussian import fill_inverse_gaussian

# c |ζ| below which a scale is drawn as if it were this: 1 / 0 is no mean.
SMALLEST_MARGIN = 1e-8


@dataclass
class HingeTerms:
    """The hinges of all rows and tasks.

    Parameters
    ----------
    margins, signs : ndarray of shape (n_terms, n_samples, n_tasks)
        The m and s of ζ = m - s f.
    costs : ndarray of shape (n_samples, n_tasks)
        The c of each row and task; zero where a label is unknown.
    """

    margins: Floats
    signs: Floats
    costs: Floats

    @property
    def n_tasks(self) -> int:
        """Number of scores that are learned."""
        return self.costs.shape[1]

    def task(self, i: int) -> HingeTerms:
        """Return the hinges of one task."""
        cut = slice(i, i + 1)
        return HingeTerms(self.margins[..., cut], self.signs[..., cut], self.costs[:, cut])

    def slacks(self, scores: Floats) -> Floats:
        """Return ζ of each term, row and task."""
        return self.margins - self.signs * scores  # ζ = ℓ - y ηᵀz̄; of a number, Δ - ε and -(Δ + ε)

    def loss(self, scores: Floats) -> float:
        """Return the sum of max(0, ζ) over rows and tasks that have a label."""
        known = (self.costs > 0.0) | ~(self.costs > 0.0).any()
        return float((np.maximum(self.slacks(scores), 0.0) * known).sum())

    def quadratic(self, scales: Floats) -> tuple[Floats, Floats]:
        """Return (lin, quad) given the scales λ (ω is the second of two)."""
        c = self.costs
        with np.errstate(over="ignore", invalid="ignore"):  # met by a sentence in `weight_law`
            quad = (c * c / scales).sum(axis=0)  # c² / λ of Eq. (10); c² ρ_d of Eq. (17)
            # Eq. (10), (22): c y (λ + cℓ) / λ; Eq. (17): c² ψ
            lin = (c * self.signs * (1.0 + c * self.margins / scales)).sum(axis=0)
        return lin, quad

    def draw_scales(self, scores: Floats, state: Any) -> Floats:
        """Draw the scales: 1/λ ~ IG(1 / (c |ζ|), 1), Eq. (12), (19), (20), (24)."""
        means = 1.0 / np.maximum(self.costs * np.abs(self.slacks(scores)), SMALLEST_MARGIN)
        inverse = np.empty(means.size)
        fill_inverse_gaussian(state, means.ravel(), 1.0, inverse)
        return 1.0 / np.maximum(inverse.reshape(means.shape), 1e-300)


def class_terms(Y: Floats, c: Any, margin: float) -> HingeTerms:
    """Return the hinges of labels ±1 (rows x tasks); NaN is an unknown label."""
    known = ~np.isnan(Y)
    signs = np.where(known, Y, 1.0)[None]
    return HingeTerms(np.full(signs.shape, float(margin)), signs, known * np.asarray(c, float))


def interval_terms(y: Floats, c: float, epsilon: float) -> HingeTerms:
    """Return the two hinges of the ε-insensitive loss of numbers."""
    column = np.asarray(y, dtype=np.float64)[:, None]
    # Section 5.1: Δ_d - ε and -Δ_d - ε, a hinge each
    margins = np.stack([column - epsilon, -(column + epsilon)])
    signs = np.ones(margins.shape)
    signs[1] = -1.0
    return HingeTerms(margins, signs, np.full(column.shape, float(c)))


def weight_law(Z: Floats, lin: Floats, quad: Floats, nu2: float) -> tuple[Floats, Any]:
    """Return the mean and the Cholesky factor of the precision of η for one task.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_features)
        Mean topics of documents, or observed features.
    lin, quad : ndarray of shape (n_samples,)
        From `HingeTerms.quadratic`.
    nu2 : float
        Prior variance ν².

    Returns
    -------
    mean : ndarray of shape (n_features,)
        The μ of Eq. (10).
    factor : tuple
        As `scipy.linalg.cho_factor` returns it, lower.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        precision, pull = Z.T @ (Z * quad[:, None]), Z.T @ lin
        # Σ⁻¹ of Eq. (10): I / ν² + c² Σ_d z̄_d z̄_dᵀ / λ_d
        precision[np.diag_indices_from(precision)] += 1.0 / nu2
    try:
        if not (np.all(np.isfinite(precision)) and np.all(np.isfinite(pull))):
            raise LinAlgError
        factor = cho_factor(precision, lower=True, check_finite=False)
    except LinAlgError:
        raise ValueError(
            "The precision of the weights overflows: c or the values are too large for numbers "
            "of 64 bits. Scale the data or lower c."
        ) from None
    return cho_solve(factor, pull, check_finite=False), factor


def draw_weights(
    Z: Floats, lin: Floats, quad: Floats, nu2: float, rng: np.random.Generator
) -> Floats:
    """Draw η of every task from its normal law, Eq. (10), (17), (22): tasks x features."""
    found = np.empty((lin.shape[1], Z.shape[1]))
    for i in range(lin.shape[1]):
        mean, (factor, _) = weight_law(Z, lin[:, i], quad[:, i], nu2)
        noise = rng.standard_normal(Z.shape[1])
        # Lᵀ x = noise: of covariance (L Lᵀ)⁻¹
        found[i] = mean + solve_triangular(factor, noise, lower=True, trans=1, check_finite=False)
    return found
