"""Natural-gradient steps of a Gaussian search distribution, and a climb by them.

A search distribution is a mean, a scale and a shape of determinant one. What its points are worth
enters by ranks alone, so nothing depends on the scale of a function's values.

Reference: D. Wierstra, T. Schaul, T. Glasmachers, Y. Sun, J. Peters and J. Schmidhuber (2014),
"Natural Evolution Strategies", Algorithm 5 and Table 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

LARGEST_STEP = 3.0  # in the exponent: no generation scales a direction by more than e³


class SearchGaussian(NamedTuple):
    """A Gaussian whose points are mean + scale * shape s, s standard normal."""

    mean: np.ndarray
    scale: float
    shape: np.ndarray


def log_utilities(n: int) -> np.ndarray:
    """Return the utilities of n ranks, best first; they sum to zero (Section 3.1)."""
    raw = np.maximum(0.0, np.log(n / 2 + 1) - np.log(np.arange(1, n + 1)))
    return raw / raw.sum() - 1.0 / n  # Table 1: u_k


def default_rate(d: int) -> float:
    """Return the learning rate of scale and shape (Table 1)."""
    return (9 + 3 * np.log(d)) / (5 * d * np.sqrt(d))  # Table 1: η_σ = η_B


def spectrum(S: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues and orthonormal eigenvectors that span Σ u s sᵀ.

    The matrix acts on the span of n points alone, so that fewer points than dimensions need an
    eigenproblem of size n; the eigenvalues that are left out are zero.
    """
    if len(S) >= S.shape[1]:
        return np.linalg.eigh((S.T * u) @ S)
    Q, R = np.linalg.qr(S.T)
    values, W = np.linalg.eigh((R * u) @ R.T)
    return values, Q @ W


def times_function(B: np.ndarray, V: np.ndarray, rest: float, values: np.ndarray) -> np.ndarray:
    """Return B (rest I + V (diag(values) - rest I) Vᵀ): a function of a symmetric matrix."""
    if V.shape[0] == V.shape[1]:
        return ((B @ V) * values) @ V.T
    return rest * B + ((B @ V) * (values - rest)) @ V.T


def bent(B: np.ndarray, values: np.ndarray, V: np.ndarray, rate: float) -> np.ndarray:
    """Return B exp(rate G), G the traceless part of the matrix with that spectrum."""
    trace = values.sum() / len(B)
    largest = rate * max(abs(values - trace).max(), abs(trace))
    rate *= min(1.0, LARGEST_STEP / largest) if largest > 0 else 1.0
    return times_function(B, V, np.exp(-rate * trace), np.exp(rate * (values - trace)))


def scale_step(values: np.ndarray, d: int, total: float, rate: float) -> float:
    """Return the logarithm by which the scale grows: ∇_σ = tr(∇_M) / d, kept within bounds."""
    # -U from the -I of ∇_M J = Σ u (s sᵀ - I)
    return float(np.clip(rate / 2 * (values.sum() / d - total), -LARGEST_STEP, LARGEST_STEP))


def natural_step(here: SearchGaussian, S: np.ndarray, u: np.ndarray) -> SearchGaussian:
    """Return the distribution after one generation (Algorithm 5, default rates).

    Parameters
    ----------
    here : SearchGaussian
        Where the points were drawn.
    S : ndarray of shape (n, d)
        Their standard normal coordinates.
    u : ndarray of shape (n,)
        Their utilities.

    Returns
    -------
    SearchGaussian
        Moved along the natural gradient.
    """
    d = len(here.mean)
    rate = default_rate(d)
    values, V = spectrum(S, u)
    mean = here.mean + here.scale * (here.shape @ (u @ S))  # η_μ = 1 (Table 1)
    scale = here.scale * np.exp(scale_step(values, d, u.sum(), rate))
    return SearchGaussian(mean, float(scale), bent(here.shape, values, V, rate / 2))


def climb_in_box(
    f: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    scale: float,
    *,
    n_calls: int,
    popsize: int,
    rng: Any,
) -> np.ndarray:
    """Return the best point found in the unit box by following the natural gradient.

    Parameters
    ----------
    f : callable
        Takes points (n, d) and returns their values; larger is better.
    start : ndarray of shape (d,)
        The first mean.
    scale : float
        The first standard deviation.
    n_calls : int
        Points that may be looked at.
    popsize : int
        Points of a generation.
    rng : RandomState
        Draws them.

    Returns
    -------
    ndarray of shape (d,)
        The best of all points, the start among them; points outside are moved to the box.
    """
    here = SearchGaussian(np.asarray(start, dtype=float), scale, np.eye(len(start)))
    best, best_value = here.mean, float(f(here.mean[None])[0])
    utilities = log_utilities(popsize)
    for _ in range(n_calls // popsize):
        S = rng.standard_normal((popsize, len(start)))
        X = np.clip(here.mean + here.scale * (S @ here.shape.T), 0.0, 1.0)
        values = f(X)
        order = np.argsort(-values, kind="stable")
        if values[order[0]] > best_value:
            best, best_value = X[order[0]], float(values[order[0]])
        here = natural_step(here, S[order], utilities)
    return best
