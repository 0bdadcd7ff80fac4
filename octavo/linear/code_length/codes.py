"""Lengths of codes, in bits: integers, subsets, coefficients, and models of features by tasks.

Reference: P. S. Dhillon, D. Foster and L. H. Ungar (2011), "Minimum Description Length Penalization
for Group and Multi-Task Sparse Learning", Journal of Machine Learning Research 12, 525-564,
sections 3.1.2 and 4.1.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy.special import gammaln

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array

__all__ = ["c_normalizer", "codelength", "lgstar"]

MAX_Z = 1000  # the largest z-score that is coded, as in the paper
LARGEST = 1 << 26  # integers that c_normalizer sums over one by one


def _integers(values: Any, name: str, low: int = 1) -> Floats:
    numbers = real_array(values, name)
    if (numbers < low).any() or (numbers != np.floor(numbers)).any():
        raise ValueError(f"{name} must hold integers from {low} on, got {values!r:.60}.")
    return numbers


@checked
def lgstar(i: Any) -> Any:
    """Return Rissanen's lg* i = lg i + lg lg i + ..., as long as the terms are positive.

    Parameters
    ----------
    i : array-like
        Integers, 1 or larger.

    Returns
    -------
    float or ndarray
        Bits, one number for one integer. With `c_normalizer` added they are a code.

    Examples
    --------
    >>> from octavo.linear import lgstar
    >>> lgstar(1), round(lgstar(20), 3)
    (0.0, 7.621)
    """
    numbers = _integers(i, "i")
    total, term = np.zeros_like(numbers), numbers
    while True:
        term = np.log2(np.where(term > 1.0, term, 1.0))
        if not term.any():
            return float(total) if total.ndim == 0 else total
        total = total + term


@functools.lru_cache(maxsize=256)
def _normalizer(Z: int) -> float:
    total = 0.0
    for start in range(1, Z + 1, 1 << 20):
        block = np.arange(start, min(start + (1 << 20), Z + 1), dtype=np.float64)
        total += float(np.exp2(-lgstar(block)).sum())  # Σ 2^-(lg* i) of Eq. (3)
    return float(np.log2(total))


@checked
def c_normalizer(Z: int) -> float:
    """Return c_Z: with it, lg* i + c_Z is a code of the integers 1 to Z (Eq. 3 as intended).

    Parameters
    ----------
    Z : int
        The largest integer that is coded, up to 67 million.

    Returns
    -------
    float
        lg of the sum of 2^(-lg* i) over i = 1, ..., Z.

    Examples
    --------
    >>> from octavo.linear import c_normalizer
    >>> round(c_normalizer(20), 3), round(c_normalizer(1000), 3)
    (1.098, 1.199)
    """
    number = float(_integers(Z, "Z"))
    if number > LARGEST:
        raise ValueError(f"Z must be at most {LARGEST}, got {Z!r:.60}.")
    return _normalizer(int(number))


def lg_binomial(h: Any, k: Any) -> Any:
    """Return lg of the number of subsets of size k of h things."""
    return (gammaln(h + 1.0) - gammaln(k + 1.0) - gammaln(h - k + 1.0)) / np.log(2.0)


def subset_bits(k: Floats, h: int) -> Floats:
    """Return the bits of a subset of k of h things, k first: lg* k + c_h + lg C(h, k)."""
    return lgstar(k) + c_normalizer(h) + lg_binomial(float(h), k)  # H of Section 4.1.1


def coefficient_bits(coef_bits: float | str, n: int) -> float:
    """Return the bits of one coefficient: a number, "aic", "bic" (lg n / 2) or "bic-paper" (lg n).

    AIC charges one nat. "zscore" has no constant: see `zscore_bits`.
    """
    if isinstance(coef_bits, str):
        lg_n = float(np.log2(n))
        return {"aic": 1.0 / np.log(2.0), "bic": 0.5 * lg_n, "bic-paper": lg_n}[coef_bits]
    return float(coef_bits)


def zscore_bits(z: Floats) -> Floats:
    """Return the bits of coefficients coded by the nearest integer to their z-score, 1 to 1000."""
    # Section 3.1.2: the z-score's closest integer
    return _zscore_table()[np.rint(np.clip(np.abs(z), 1.0, MAX_Z)).astype(np.intp)]


@functools.lru_cache(maxsize=1)
def _zscore_table() -> Floats:
    bits = lgstar(np.maximum(np.arange(MAX_Z + 1), 1)) + c_normalizer(MAX_Z) + 1.0  # and the sign
    return bits


@checked
def codelength(k: Any, h: int, p: int, scheme: str = "partial", coef_bits: float = 2.0) -> Any:
    """Return the bits of one feature that has coefficients in k of h tasks (Table 1).

    Parameters
    ----------
    k : array-like
        Tasks whose models take the feature, 1 to h.
    h : int
        Tasks.
    p : int
        Candidate features.
    scheme : {"partial", "full", "independent"}, default="partial"
        Eq. (5): the feature, the number of tasks, which tasks, coefficients; or the feature and
        coefficients in all tasks, whatever k; or the feature again for each task (Eq. 4).
    coef_bits : float, default=2.0
        Bits of a coefficient.

    Returns
    -------
    float or ndarray
        Bits, in the shape of k.

    Examples
    --------
    >>> from octavo.linear import codelength
    >>> [round(codelength(5, 20, 2000, scheme), 1) for scheme in ("partial", "full", "independent")]
    [39.8, 51.0, 64.8]
    """
    tasks, h_, p_ = _integers(k, "k"), _integers(h, "h"), _integers(p, "p")
    if h_.ndim or p_.ndim:
        raise ValueError("h and p must be single integers.")
    if (tasks > h_).any():
        raise ValueError(f"k must be at most h={h}, got {k!r:.60}.")
    bits = float(real_array(coef_bits, "coef_bits"))
    if bits < 0:
        raise ValueError(f"coef_bits must be at least 0, got {bits:g}.")
    lg_p = float(np.log2(p_))
    if scheme == "partial":
        total = lg_p + subset_bits(tasks, int(h_)) + bits * tasks  # Eq. (5)
    elif scheme == "full":
        # I + θ of Section 4.1.1, no subset to name
        total = lg_p + bits * float(h_) + np.zeros_like(tasks)
    elif scheme == "independent":
        total = tasks * (lg_p + bits)  # Eq. (4)
    else:
        raise ValueError(f"scheme must be 'partial', 'full' or 'independent', got {scheme!r:.60}.")
    return float(total) if np.ndim(total) == 0 else total
