"""Risk along the path: Stein's estimate of it, its exact value where f* is known, where to stop.

Reference: Raskutti, Wainwright and Yu (2014), Section 3.3, Eqs. (14) to (16), and Lemma 6.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.spectral.gram_path import Steps, decayed_sums, fitted_squares
from octavo.kernel.early_stopping.complexity import check_positive, check_steps

__all__ = [
    "BiasVariance",
    "bias_variance",
    "exact_risk",
    "ridge_exact_risk",
    "stop_on_curve",
    "sure_curve",
]


class BiasVariance(NamedTuple):
    """Squared bias and variance at t = 0, 1, ...; the exact risk is their sum."""

    bias: np.ndarray
    variance: np.ndarray


def _sorted_pair(eigs: Any, z: Any, name: str) -> tuple[Floats, Floats]:
    """Return eigenvalues and coordinates in the order given: they belong together."""
    values, coordinates = real_array(eigs, "eigs"), real_array(z, name)
    if values.ndim != 1 or values.shape != coordinates.shape or not values.size:
        raise ValueError(
            f"{name} must have one coordinate per eigenvalue; eigs has shape {values.shape}, "
            f"{name} {coordinates.shape}."
        )
    if values.min() < -1e-8 * max(values.max(), 0.0):
        raise ValueError(f"eigs must not be negative; the smallest is {values.min():.3g}.")
    if max(np.abs(coordinates).max(), values.max()) > 1e150:
        raise ValueError(f"eigs and {name} must be below 1e150, so that squares are finite.")
    return np.maximum(values, 0.0), coordinates


def _length(steps: float | Floats) -> int:
    if np.ndim(steps) == 0:
        raise ValueError(
            "steps must be a sequence of step sizes, one for each time of the curve; for a "
            "constant step give np.full(n_steps, step)."
        )
    return np.size(steps)


def _plain(steps: Floats) -> Steps:
    """Return one number where all steps are equal, for which there is a faster sum."""
    return float(steps[0]) if steps.size and (steps == steps[0]).all() else steps


def sure_sums(residuals: Floats, traces: Floats, sigma: float, n: int) -> Floats:
    """Return Stein's estimate from |S_t z|² and tr S_t: the display before Eq. (15)."""
    return sigma**2 + (residuals - 2.0 * sigma**2 * traces) / n


@checked
def sure_curve(eigs: Any, z: Any, sigma: float, steps: Any) -> np.ndarray:
    """Return Stein's unbiased estimate of the risk along the path of gradient descent.

    Parameters
    ----------
    eigs : array-like of shape (n,)
        All eigenvalues of Gram/n.
    z : array-like of shape (n,)
        Coordinates of y in the eigenvectors: Uᵀy.
    sigma : float
        Standard deviation of the noise.
    steps : array-like of shape (n_steps,)
        Step sizes α_0, α_1, ...

    Returns
    -------
    curve : ndarray of shape (n_steps + 1,)
        σ² + (|S_t z|² - 2σ² tr S_t)/n for t = 0, 1, ...

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import sure_curve
    >>> sure_curve([0.5, 0.1], [2.0, 0.3], 1.0, np.full(3, 1.0)).round(4).tolist()
    [1.045, 0.1365, 0.0945, 0.2012]
    """
    values, coordinates = _sorted_pair(eigs, z, "z")
    sigma = check_positive(sigma, "sigma")
    checked_steps = np.atleast_1d(check_steps(steps, values.max())) if np.ndim(steps) else steps
    n_steps = _length(checked_steps)
    sizes = _plain(checked_steps)
    residuals = decayed_sums(values, sizes, n_steps, coordinates**2, power=2)
    traces = decayed_sums(values, sizes, n_steps, np.ones_like(values))
    return sure_sums(residuals, traces, sigma, len(values))


@checked
def bias_variance(eigs: Any, z_star: Any, sigma: float, steps: Any) -> BiasVariance:
    """Return squared bias and variance of every iterate where f* is known.

    Parameters
    ----------
    eigs : array-like of shape (n,)
        All eigenvalues of Gram/n.
    z_star : array-like of shape (n,)
        Coordinates of f* at the rows in the eigenvectors: Uᵀf*.
    sigma : float
        Standard deviation of the noise.
    steps : array-like of shape (n_steps,)
        Step sizes α_0, α_1, ...

    Returns
    -------
    curves : BiasVariance
        (1/n) Σ S_t² z*² and (σ²/n) Σ (1 - S_t)² for t = 0, 1, ...

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import bias_variance
    >>> curves = bias_variance([0.5, 0.1], [2.0, 0.3], 1.0, np.full(2, 1.0))
    >>> curves.bias.round(3).tolist(), curves.variance.round(3).tolist()
    ([2.045, 0.536, 0.155], [0.0, 0.13, 0.299])
    """
    values, coordinates = _sorted_pair(eigs, z_star, "z_star")
    sigma = check_positive(sigma, "sigma")
    checked_steps = np.atleast_1d(check_steps(steps, values.max())) if np.ndim(steps) else steps
    n_steps, n = _length(checked_steps), len(values)
    sizes = _plain(checked_steps)
    bias = decayed_sums(values, sizes, n_steps, coordinates**2, power=2) / n
    # Lemma 6, both terms
    return BiasVariance(bias, sigma**2 / n * fitted_squares(values, sizes, n_steps))


@checked
def exact_risk(eigs: Any, z_star: Any, sigma: float, steps: Any) -> np.ndarray:
    """Return the expected squared error E|f_t - f*|²_n of every iterate where f* is known.

    Parameters
    ----------
    eigs : array-like of shape (n,)
        All eigenvalues of Gram/n.
    z_star : array-like of shape (n,)
        Coordinates of f* at the rows in the eigenvectors: Uᵀf*.
    sigma : float
        Standard deviation of the noise.
    steps : array-like of shape (n_steps,)
        Step sizes α_0, α_1, ...

    Returns
    -------
    curve : ndarray of shape (n_steps + 1,)
        Risk at t = 0, 1, ...: the sum of `bias_variance`.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import exact_risk
    >>> exact_risk([0.5, 0.1], [2.0, 0.3], 1.0, np.full(2, 1.0)).round(3).tolist()
    [2.045, 0.666, 0.454]
    """
    return sum(bias_variance(eigs, z_star, sigma, steps))  # type: ignore[return-value]


@checked
def ridge_exact_risk(eigs: Any, z_star: Any, sigma: float, nus: Any) -> np.ndarray:
    """Return the expected squared error of kernel ridge regression where f* is known.

    Parameters
    ----------
    eigs : array-like of shape (n,)
        All eigenvalues of Gram/n.
    z_star : array-like of shape (n,)
        Coordinates of f* at the rows in the eigenvectors: Uᵀf*.
    sigma : float
        Standard deviation of the noise.
    nus : array-like of shape (n_penalties,)
        Inverse penalties ν of Eq. (17).

    Returns
    -------
    curve : ndarray of shape (n_penalties,)
        Risk at each ν.

    Examples
    --------
    >>> from octavo.kernel import ridge_exact_risk
    >>> ridge_exact_risk([0.5, 0.1], [2.0, 0.3], 1.0, [1.0, 10.0]).round(4).tolist()
    [0.9858, 0.539]
    """
    values, coordinates = _sorted_pair(eigs, z_star, "z_star")
    sigma = check_positive(sigma, "sigma")
    inverse = np.atleast_1d(real_array(nus, "nus"))
    if inverse.ndim != 1 or not (inverse > 0.0).all():
        raise ValueError("nus must be positive numbers in one row.")
    left = 1.0 / (1.0 + inverse[:, None] * values)  # what shrinkage leaves of a residual
    # Lemma 12
    return (left**2 @ coordinates**2 + sigma**2 * ((1.0 - left) ** 2).sum(axis=1)) / len(values)


@checked
def stop_on_curve(curve: Any, mode: str = "argmin") -> int:
    """Return the time at which a curve of risk says to stop: Eqs. (14), (15) and (16).

    Parameters
    ----------
    curve : array-like of shape (n_steps + 1,)
        Risk at t = 0, 1, ...: estimated (`sure_curve`, hold-out) or true (an oracle's).
    mode : {"argmin", "first"}, default="argmin"
        The smallest risk, or the paper's rule: one less than the first t >= 1 from which it rises.

    Returns
    -------
    t : int
        The time; with ``"first"`` and a curve that never rises, the last.

    Examples
    --------
    >>> from octavo.kernel import stop_on_curve
    >>> curve = [4.0, 3.0, 2.0, 2.5, 1.0, 3.0]
    >>> stop_on_curve(curve), stop_on_curve(curve, "first")
    (4, 1)
    """
    values = real_array(curve, "curve")
    if values.ndim != 1 or not values.size:
        raise ValueError(f"curve must be a row of numbers, got shape {values.shape}.")
    if mode not in ("argmin", "first"):
        raise ValueError(f'mode must be "argmin" or "first", got {mode!r}.')
    if mode == "argmin":
        return int(np.argmin(values))
    rises = np.diff(values[1:]) > 0.0  # t = 1, 2, ...: R(t + 1) > R(t)
    return int(np.argmax(rises)) if rises.any() else len(values) - 1
