"""What to evaluate next, and how much to trust a simulator.

Reference: Wilson, Fern and Tadepalli (2014), "Using trajectory data to improve Bayesian
optimization for reinforcement learning", JMLR 15:253-282, sections 3.2 and 4.3.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.estimators.checked import checked
from octavo.engine.gaussian_process.improvement import improvement
from octavo.engine.gaussian_process.posterior import Factor, jittered_factor, solve_factor

__all__ = ["expected_improvement", "model_weight"]

_NO_MODEL = 1e-12


@checked
def expected_improvement(mean, std, best):
    """Return the expected improvement over the best value so far.

    Parameters
    ----------
    mean : array-like of shape (n,)
        Posterior means.
    std : array-like of shape (n,)
        Posterior standard deviations.
    best : float
        The best value so far; larger is better.

    Returns
    -------
    ndarray of shape (n,)
        σ(uΦ(u) + φ(u)) with u = (μ − best)/σ; 0 where σ is 0.

    References
    ----------
    .. [1] Mockus (1994). Application of Bayesian approach to numerical methods of global and
       stochastic optimization. Journal of Global Optimization 4:347-365.

    Examples
    --------
    >>> from octavo.rl import expected_improvement
    >>> expected_improvement([0.0, 1.0, 5.0], [1.0, 1.0, 0.0], 0.0).round(4).tolist()
    [0.3989, 1.0833, 0.0]
    """
    mean, std = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    if np.isnan(mean).any() or not np.isfinite(best):
        raise ValueError("Means must not be NaN, and best must be finite.")
    if not (std >= 0).all():
        raise ValueError(f"Standard deviations must not be negative or NaN; got {std.min()}.")
    # Section 3.1: σ(uΦ(u) + φ(u)), 0 where σ is
    return np.where(std > 0, improvement(mean, std, float(best)), 0.0)


def weight_from_factor(factor: Factor, y: np.ndarray, m: np.ndarray) -> float:
    """Return β from the factor of K: generalised least squares, kept in [0, 1]."""
    solved = solve_factor(factor, m)
    size = float(m @ solved)
    if not size >= _NO_MODEL:
        return 0.0
    # Section 4.3: β = η'K⁻¹m / (m'K⁻¹m), which print does not keep in [0, 1]
    return float(np.clip(y @ solved / size, 0.0, 1.0))


@checked
def model_weight(y, m, K):
    """Return the weight β of a simulator's predictions that maximises the evidence.

    Parameters
    ----------
    y : array-like of shape (n,)
        Observed returns.
    m : array-like of shape (n,)
        The simulator's predictions of them.
    K : array-like of shape (n, n)
        Kernel matrix of the evaluated policies, with the noise on its diagonal.

    Returns
    -------
    float
        yᵀK⁻¹m / mᵀK⁻¹m, clipped to [0, 1]; 0 where the predictions are all zero.

    References
    ----------
    .. [1] Wilson, Fern and Tadepalli (2014). Using trajectory data to improve Bayesian
       optimization for reinforcement learning. JMLR 15:253-282, section 4.3.

    Examples
    --------
    >>> from octavo.rl import model_weight
    >>> model_weight([1.0, 2.0], [2.0, 4.0], [[1.0, 0.3], [0.3, 1.0]])
    0.5
    """
    y, m, K = (np.asarray(v, dtype=float) for v in (y, m, K))
    if y.ndim != 1 or m.shape != y.shape or K.shape != (len(y), len(y)):
        raise ValueError(
            f"y and m must be vectors of one length n, and K of shape (n, n); got {y.shape}, "
            f"{m.shape} and {K.shape}."
        )
    for name, values in (("y", y), ("m", m), ("K", K)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} must be finite; got NaN or infinity.")
    if not len(y):
        raise ValueError("At least one observation is needed; got none.")
    return weight_from_factor(jittered_factor(0.5 * (K + K.T)), y, m)
