"""Draws of the latent scores behind class labels, with the coefficients integrated out.

A sample of c classes has c - 1 scores t, the contrasts of c utilities s = D t that sum to zero;
its class is the one whose utility is largest. For two classes that is one score and its sign. Each
score is drawn from its conditional given all others, a normal law cut to the interval in which the
largest utility stays that of the label.

References: Appendix A and Section 6.2 of Z. Zhang, G. Dai and M. I. Jordan (2011), "Bayesian
Generalized Kernel Mixed Models", Journal of Machine Learning Research 12; C. C. Holmes and L. Held
(2006), "Bayesian auxiliary variable models for binary and multinomial regression", Bayesian
Analysis 1.
"""

from __future__ import annotations

import math

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.probability.truncated import draw_between

LEAST_GAP = 1e-10  # of 1 - H_ii, which tends to zero as every sample becomes active


def class_contrasts(n_classes: int) -> Floats:
    """Return D: orthonormal columns that sum to zero, so that D D' = I - 11'/c.

    Parameters
    ----------
    n_classes : int
        The number c of classes.

    Returns
    -------
    contrasts : ndarray of shape (n_classes, n_classes - 1)
        For two classes (-1, 1) / √2: a positive score means the second class.
    """
    D = np.zeros((n_classes, n_classes - 1))
    for j in range(1, n_classes):  # Helmert's contrasts: class j against those before it
        D[:j, j - 1] = -1.0
        D[j, j - 1] = j
    return D / np.linalg.norm(D, axis=0)


def starting_scores(codes: Indices, contrasts: Floats, rng: np.random.Generator) -> Floats:
    """Return scores that agree with the labels: utilities in random order, but for the largest."""
    n, c = len(codes), contrasts.shape[0]
    utilities = rng.standard_normal((n, c))
    best = utilities.argmax(axis=1)
    at = np.arange(n)
    utilities[at, best], utilities[at, codes] = utilities[at, codes], utilities[at, best].copy()
    return (utilities - utilities.mean(axis=1, keepdims=True)) @ contrasts


@njit(cache=True, fastmath={"contract"})
def _draw_scores(rng, W, Z, S, codes, contrasts):
    """Draw every score from its conditional; W (n, r) has Q⁻¹ = I - WW', and Z = W'S.

    Appendix A, with b = Υ⁻¹K̃'S written as L⁻ᵀZ: K̃_i b = W_i Z, and Z is brought up to date after
    every draw, for both classes (the appendix indents that line into one branch).
    """
    n, m = S.shape
    r, c = W.shape[1], contrasts.shape[0]
    utilities = np.empty(c)
    for i in range(n):
        w = W[i]
        hat = 0.0
        for q in range(r):
            hat += w[q] * w[q]  # H_ii = K̃_i Υ⁻¹ K̃_i'
        gap = max(1.0 - hat, LEAST_GAP)
        spread = math.sqrt(1.0 / gap)  # the variance is 1 + H/(1 - H) = 1/(1 - H)
        for a in range(c):
            utilities[a] = 0.0
            for j in range(m):
                utilities[a] += contrasts[a, j] * S[i, j]
        label = codes[i]
        for j in range(m):
            fitted = 0.0
            for q in range(r):
                fitted += w[q] * Z[j, q]
            old = S[i, j]
            mean = (fitted - hat * old) / gap  # (1 + w) K̃_i b − w s_i of Appendix A, w = H/(1 − H)
            low, high = -math.inf, math.inf
            for a in range(c):
                slope = contrasts[label, j] - contrasts[a, j]
                if slope != 0.0:
                    # where another utility would reach the label's
                    bound = old - (utilities[label] - utilities[a]) / slope
                    if slope > 0.0:
                        low = max(low, bound)
                    else:
                        high = min(high, bound)
            new = old
            if low < high:
                new = mean + spread * draw_between(
                    rng, (low - mean) / spread, (high - mean) / spread
                )
                new = min(max(new, low), high)  # mean + spread * z rounds
            step = new - old
            S[i, j] = new
            for a in range(c):
                utilities[a] += contrasts[a, j] * step
            for q in range(r):
                # b is updated for either class: print indents it into one branch
                Z[j, q] += step * w[q]


def draw_scores(
    rng: np.random.Generator,
    W: Floats,
    Z: Floats,
    S: Floats,
    codes: Indices,
    contrasts: Floats,
) -> Floats:
    """Draw all scores once, in place, and return the new Z.

    Parameters
    ----------
    rng : Generator
        Source of randomness.
    W : ndarray of shape (n_samples, rank)
        The precision of a column of scores is I - WW'.
    Z : ndarray of shape (rank, n_classes - 1)
        W'S.
    S : ndarray of shape (n_samples, n_classes - 1)
        Scores, changed in place.
    codes : ndarray of int of shape (n_samples,)
        Labels as numbers.
    contrasts : ndarray of shape (n_classes, n_classes - 1)
        As `class_contrasts` returns them.

    Returns
    -------
    Z : ndarray of shape (rank, n_classes - 1)
        W'S of the new scores.
    """
    flat = np.ascontiguousarray(Z.T)  # one row per output: the inner loops run along it
    _draw_scores(rng, W, flat, S, codes, contrasts)
    return flat.T


def _warmup() -> None:
    rng = np.random.default_rng(0)
    codes = np.zeros(2, dtype=np.intp)
    draw_scores(
        rng, np.zeros((2, 1)), np.zeros((1, 1)), -np.ones((2, 1)), codes, class_contrasts(2)
    )
