"""How many examples are enough: sample sizes and error bounds of PAC learning.

Reference: A. Shashua (2008), "Introduction to Machine Learning", chapters 7 to 9.
"""

from __future__ import annotations

from math import ceil, exp, inf, log, log2, sqrt
from typing import Any

import numpy as np
from scipy.special import logsumexp

from octavo.engine.estimators.checked import checked

__all__ = ["margin_vc_bound", "pac_error_bound", "pac_sample_size", "vc_sample_size"]

KINDS = ("rectangle", "finite", "agnostic", "vc")
RECTANGLE_SIDES = 4


def _check_share(value: Any, name: str) -> float:
    if isinstance(value, bool) or not 0.0 < float(value) < 1.0:
        raise ValueError(f"{name} must be a number between 0 and 1; got {value!r}.")
    return float(value)


def _check_whole(value: Any, name: str, least: int = 1) -> int:
    if value is None or isinstance(value, bool) or int(value) != value or value < least:
        raise ValueError(f"{name} must be a whole number, {least} at least; got {value!r}.")
    return int(value)


def _rounded_up(value: float) -> int:
    """Return the least whole number that is not below, forgiving the last digits."""
    return max(1, ceil(value * (1.0 - 1e-13)))


def log_sauer(m: float, d: int) -> float:
    """Return log Σ_{i≤d} C(m, i) in floating point."""
    if d >= m:
        return m * log(2.0)
    i = np.arange(d)
    # factor by factor: differences of log m! would lose all digits of C(m, i) for large m
    binomials = np.cumsum(np.log(m - i) - np.log(i + 1.0))  # log C(m, i + 1)
    return float(logsumexp(np.append(0.0, binomials)))  # Φ_d(m), chapter 8


def _log_failure(m: int, eps: float, d: int, agnostic: bool) -> float:
    """Return the logarithm of the bound on the chance that m examples mislead."""
    if agnostic:
        # 4 e^(4ε + 4ε²) Φ_d(m²) 2^(-mε²/2): some empirical error is off by ε/2 (Devroye 1982)
        half = 0.5 * eps
        growth = log_sauer(float(m) ** 2, d)
        return log(4.0) + 4.0 * half + 4.0 * half**2 + growth - 0.5 * m * half**2 * log(2.0)
    return log(2.0) + log_sauer(2.0 * m, d) - 0.5 * eps * m * log(2.0)  # 2 Φ_d(2m) 2^(-εm/2)


@checked
def vc_sample_size(eps: float, delta: float, vc_dim: int, *, agnostic: bool = False) -> int:
    """Return how many examples the double-sampling theorem asks for.

    The smallest m with 2 Φ_d(2m) 2^(-εm/2) ≤ δ and m ≥ (8/ε) log 2, found numerically: the theorem
    itself only gives the order of growth.

    Parameters
    ----------
    eps : float
        Error that is allowed.
    delta : float
        Chance of failure that is allowed.
    vc_dim : int
        VC dimension of the class.
    agnostic : bool, default=False
        Whether the target may be outside the class: then the error is at most ε above the best in
        the class, by uniform convergence within ε/2 in Devroye's form as the notes print it.

    Returns
    -------
    m : int
        Number of examples.

    Examples
    --------
    >>> from octavo.teaching import vc_sample_size
    >>> vc_sample_size(0.1, 0.05, 4)
    877
    """
    eps, delta = _check_share(eps, "eps"), _check_share(delta, "delta")
    d = _check_whole(vc_dim, "vc_dim", 0)

    def enough(m: int) -> bool:
        return _log_failure(m, eps, d, agnostic) <= log(delta)

    # m ≥ 8/ε log 2, the premise of the double-sampling theorem (section 9.1)
    low = max(1, ceil(8.0 / eps * log(2.0))) - 1
    if not agnostic and enough(low + 1):
        return low + 1
    high = max(low, 1)
    while not enough(high):  # once it holds it keeps holding
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@checked
def pac_sample_size(
    kind: str,
    *,
    eps: float,
    delta: float,
    n_hypotheses: int | None = None,
    vc_dim: int | None = None,
) -> int:
    """Return how many examples make an error above eps less likely than delta.

    Parameters
    ----------
    kind : {"rectangle", "finite", "agnostic", "vc"}
        The tight rectangle in the plane, (4/ε) log(4/δ); a finite class that holds the target,
        (1/ε) log(|C|/δ); a finite class that need not, (2/ε²) log(2|C|/δ) for an error at most ε
        above the best; a class of finite VC dimension, `vc_sample_size`. With `vc_dim` in place of
        `n_hypotheses`, ``"agnostic"`` is that of an infinite class.
    eps : float
        Error that is allowed.
    delta : float
        Chance of failure that is allowed.
    n_hypotheses : int, default=None
        Size of a finite class.
    vc_dim : int, default=None
        VC dimension.

    Returns
    -------
    m : int
        Number of examples, drawn independently.

    Examples
    --------
    >>> from octavo.teaching import pac_sample_size
    >>> pac_sample_size("rectangle", eps=0.1, delta=0.05)
    176
    >>> pac_sample_size("finite", eps=0.1, delta=0.05, n_hypotheses=1000)
    100
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS}; got {kind!r}.")
    eps, delta = _check_share(eps, "eps"), _check_share(delta, "delta")
    if kind == "rectangle":
        # section 7.2: (4/ε) log(4/δ)
        return _rounded_up(RECTANGLE_SIDES / eps * log(RECTANGLE_SIDES / delta))
    if kind == "vc":
        return vc_sample_size(eps, delta, _check_whole(vc_dim, "vc_dim", 0))
    if kind == "agnostic" and n_hypotheses is None and vc_dim is not None:
        return vc_sample_size(eps, delta, vc_dim, agnostic=True)
    size = log(_check_whole(n_hypotheses, "n_hypotheses"))  # of whole numbers of any length
    if kind == "finite":
        return _rounded_up((size - log(delta)) / eps)  # section 7.3.1: (1/ε) log(|C| / δ)
    # section 7.3.2: (2/ε²) log(2|C| / δ)
    return _rounded_up(2.0 / eps**2 * (size + log(2.0 / delta)))


@checked
def pac_error_bound(
    kind: str,
    *,
    n_samples: int,
    delta: float,
    n_hypotheses: int | None = None,
    vc_dim: int | None = None,
) -> float:
    """Return the error that is exceeded with a chance of delta at most after n_samples examples.

    Parameters
    ----------
    kind : {"rectangle", "finite", "agnostic", "vc"}
        As for `pac_sample_size`, of which it is the inverse.
    n_samples : int
        Number of examples.
    delta : float
        Chance of failure that is allowed.
    n_hypotheses : int, default=None
        Size of a finite class.
    vc_dim : int, default=None
        VC dimension.

    Returns
    -------
    eps : float
        At most 1, which promises nothing. For ``"agnostic"``, above the best of the class.

    Examples
    --------
    >>> from octavo.teaching import pac_error_bound
    >>> round(pac_error_bound("rectangle", n_samples=176, delta=0.05), 4)
    0.0996
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS}; got {kind!r}.")
    m, delta = _check_whole(n_samples, "n_samples"), _check_share(delta, "delta")
    if kind == "rectangle":
        return min(1.0, RECTANGLE_SIDES / m * log(RECTANGLE_SIDES / delta))
    if kind == "vc":
        growth = log_sauer(2.0 * m, _check_whole(vc_dim, "vc_dim", 0)) / log(2.0)
        # ε at which 2 Φ_d(2m) 2^(-εm/2) is δ
        return min(1.0, max(8.0 * log(2.0) / m, 2.0 / m * (1.0 + growth - log2(delta))))
    if kind == "agnostic" and n_hypotheses is None and vc_dim is not None:
        return _agnostic_error(m, delta, _check_whole(vc_dim, "vc_dim", 0))
    size = log(_check_whole(n_hypotheses, "n_hypotheses"))
    if kind == "finite":
        return min(1.0, (size - log(delta)) / m)
    return min(1.0, sqrt(2.0 / m * (size + log(2.0 / delta))))


def _agnostic_error(m: int, delta: float, d: int) -> float:
    """Return the least ε at which Devroye's bound is delta, by bisection: it falls in ε."""
    low, high = 0.0, 1.0
    if _log_failure(m, high, d, True) > log(delta):
        return 1.0
    while high - low > 1e-14 * high:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (
            (low, middle) if _log_failure(m, middle, d, True) <= log(delta) else (middle, high)
        )
    return high


@checked
def margin_vc_bound(radius: float, margin: float, n_features: int | None = None) -> float:
    """Return the bound on the VC dimension of hyperplanes that keep a margin.

    Parameters
    ----------
    radius : float
        R: no point is longer.
    margin : float
        γ: no point is nearer to the hyperplane.
    n_features : int, default=None
        Dimension of the space; None for one that is infinite, such as that of a kernel.

    Returns
    -------
    bound : float
        min(R²/γ², n) + 1.

    Examples
    --------
    >>> from octavo.teaching import margin_vc_bound
    >>> margin_vc_bound(1.0, 0.1, 1000), margin_vc_bound(1.0, 0.1, 20)
    (101.0, 21.0)
    """
    for name, value in (("radius", radius), ("margin", margin)):
        if isinstance(value, bool) or not 0.0 < float(value) < inf:
            raise ValueError(f"{name} must be a positive number; got {value!r}.")
    most = inf if n_features is None else _check_whole(n_features, "n_features")
    ratio = 2.0 * (log(float(radius)) - log(float(margin)))
    within = (float(radius) / float(margin)) ** 2 if abs(ratio) < 700.0 else exp(min(ratio, 709.0))
    return float(min(within, most) + 1.0)  # section 9.2: min(R²/γ², n) + 1
