"""The function that couples tasks, its switches, its quadratic bound, and the penalty it implies.

Integrating a 0/1 switch out of a Gaussian model leaves φ = log((α + e^q)/(α + 1)) of the energy
q = ½ |u|² that the switch guards; α = (1 − ρ)/ρ for a prior probability ρ of keeping it. Its
derivative is the switch's posterior mean.

Reference: T. Jebara (2011), "Multitask Sparsity via Maximum Entropy Discrimination", Journal of
Machine Learning Research 12, Sections 6 and 10, Appendices A to C.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from scipy.special import expit

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = ["med_iteration_bound", "med_penalty"]

_FAR = 30.0  # energies beyond which e^q - 1 and e^q are one double
_NEWTON_STEPS = 200


def log_ratio(alpha: float) -> float:
    """Return log α, −inf for α = 0."""
    return math.log(alpha) if alpha > 0.0 else -math.inf


def potential(energy: Floats, alpha: float) -> Floats:
    """Return φ = log((α + e^q)/(α + 1)), exact near q = 0 and finite for any q (Section 6)."""
    near = np.minimum(energy, _FAR)
    far = np.logaddexp(log_ratio(alpha), energy) - math.log1p(alpha)
    # no digits lost at small q
    return np.where(energy < _FAR, np.log1p(np.expm1(near) / (1.0 + alpha)), far)


def switch_means(energy: Floats, alpha: float) -> Floats:
    """Return ŝ = 1/(1 + α e^{−q}), in [1/(1 + α), 1] (Section 6)."""
    return expit(energy - log_ratio(alpha))


def bound_curvature(energy: Floats, alpha: float) -> Floats:
    """Return G = tanh(L/2)/(2L) with L = log α − q, which Theorem 1's bound adds along v."""
    L = log_ratio(alpha) - np.asarray(energy, dtype=np.float64)  # log g_d of Algorithm 1, step 3a
    small = np.abs(L) < 1e-4
    safe = np.where(small | ~np.isfinite(L), 1.0, L)
    # tanh's series: G is 1/4 at L = 0
    G = np.where(small, 0.25 - L * L / 48.0 if np.isfinite(L).all() else 0.25, 0.0)
    return np.where(small, G, np.where(np.isfinite(L), np.tanh(0.5 * safe) / (2.0 * safe), 0.0))


def amplitudes(w: Floats, alpha: float) -> Floats:
    """Return the a ≥ 0 with a/(1 + α e^{−a²/2}) = |w|."""
    w = np.abs(w)
    # ŝ is between 1/(1 + α) and 1, and a beyond √(2 log α) + ... makes it about one.
    low, high = w.copy(), np.minimum(w * (1.0 + alpha), w + math.sqrt(2.0 * math.log1p(alpha)) + 2)
    high = np.maximum(high, low)
    a = 0.5 * (low + high)
    for _ in range(_NEWTON_STEPS):
        s = switch_means(0.5 * a * a, alpha)
        excess = s * a - w
        low, high = np.where(excess < 0.0, a, low), np.where(excess < 0.0, high, a)
        step = a - excess / np.maximum(s + s * (1.0 - s) * a * a, 1e-300)
        inside = (step > low) & (step < high)
        new = np.where(inside, step, 0.5 * (low + high))
        if np.all(np.abs(new - a) <= 1e-14 * np.maximum(a, 1e-300)):
            break
        a = new
    return a


@checked
def med_penalty(w: Any, alpha: float, form: str = "primal") -> Floats:
    """Return the penalty on a coefficient (or on the norm of a group) that the switches imply.

    Parameters
    ----------
    w : array-like
        Coefficients, or norms of a feature's coefficients over tasks.
    alpha : float
        (1 − ρ)/ρ for a prior probability ρ of keeping a feature; 0 gives w²/2.
    form : {"primal", "appendix"}, default="primal"
        ``"primal"`` is φ*(w) = a w − φ(a), the convex penalty whose dual the estimators solve;
        ``"appendix"`` is h(w) = φ(a(w)), which Appendix C writes and which is not convex for large
        alpha. In both a is such that w = a/(1 + α exp(−a²/2)).

    Returns
    -------
    ndarray
        Penalties, in the shape of `w`; 0 at 0.

    Notes
    -----
    Near zero both are (1 + α) w²/2, then the convex one is nearly linear with slope about
    √(2 log α), and far away both are about w²/2. The implicit equation that the paper prints for h
    has a wrong sign: with e^h = 1 + e^{a²/2}/α it is w² = 2 log(α (e^h − 1)) / (1 + 1/(e^h − 1))².
    That h is the one returned here plus the constant log(1 + 1/α).

    References
    ----------
    .. [1] Jebara (2011). Multitask Sparsity via Maximum Entropy Discrimination. JMLR 12,
       Appendix C.

    Examples
    --------
    >>> from octavo.kernel import med_penalty
    >>> med_penalty([0.0, 1.0, 2.0], alpha=0.0).tolist()
    [0.0, 0.5, 2.0]
    >>> med_penalty([0.5, 1.0, 2.0], alpha=1000.0).round(3).tolist()
    [1.447, 3.126, 6.744]
    """
    values = np.asarray(w, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("w must hold finite numbers; it holds NaN or infinity.")
    if not (math.isfinite(alpha) and alpha >= 0.0):
        raise ValueError(f"alpha must be a finite number of at least 0, got {alpha}.")
    if form not in ("primal", "appendix"):
        raise ValueError(f'form must be "primal" or "appendix", got {form!r}.')
    a = amplitudes(values, alpha)
    with np.errstate(over="ignore"):
        value = potential(0.5 * a * a, alpha)
        if form == "primal":
            value = a * np.abs(values) - value  # φ*(w) = a w − φ at φ'(a) = w
    if not np.isfinite(value).all():
        raise ValueError(f"w is too large: the penalty of {np.abs(values).max():.3g} overflows.")
    return value


@checked
def med_iteration_bound(alpha: float, eps: float) -> int:
    """Return how many joint steps of the bound are enough for J ≥ (1 − eps) of its maximum.

    Parameters
    ----------
    alpha : float
        (1 − ρ)/ρ, at least 0.
    eps : float
        Relative distance to the maximum, between 0 and 1.

    Returns
    -------
    int
        ⌈log(1/eps) / log min(1 + 1/alpha, 2)⌉, Theorem 2.

    Notes
    -----
    The theorem is about steps that maximise the bound over all tasks together; sweeps that move a
    task at a time need no more in practice.

    References
    ----------
    .. [1] Jebara (2011). Multitask Sparsity via Maximum Entropy Discrimination. JMLR 12,
       Theorem 2.

    Examples
    --------
    >>> from octavo.kernel import med_iteration_bound
    >>> med_iteration_bound(10.0, 0.01)
    49
    """
    if not (math.isfinite(alpha) and alpha >= 0.0):
        raise ValueError(f"alpha must be a finite number of at least 0, got {alpha}.")
    if not 0.0 < eps < 1.0:
        raise ValueError(f"eps must lie strictly between 0 and 1, got {eps}.")
    # Theorem 2: log min(1 + 1/α, 2)
    rate = math.log(2.0) if alpha <= 1.0 else math.log1p(1.0 / alpha)
    if rate == 0.0 or math.log(1.0 / eps) / rate > 1e300:
        raise ValueError(f"alpha={alpha:.3g} is so large that the bound says nothing.")
    return math.ceil(math.log(1.0 / eps) / rate - 1e-12)


def warn_if_saturated(switches: Floats, alpha: float, energy: Floats, what: str) -> None:
    """Warn where no switch says anything: all on, or all at their prior."""
    if alpha == 0.0 or not switches.size or not energy.any():
        return
    if switches.min() > 0.99:
        where = "above 0.99: nothing is selected. Scale the data down, or use a larger alpha"
    elif switches.max() < 1.01 / (1.0 + alpha):
        where = (
            "at their prior 1/(1 + alpha): all are kept off. Give columns a unit scale (both "
            "very small and very large values do this), or raise C"
        )
    else:
        return
    warnings.warn(f"All switches of {what} are {where}.", UserWarning, stacklevel=5)
