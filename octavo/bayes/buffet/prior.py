"""The Indian buffet process: draws, the law of classes of binary matrices, expected features.

The first of n guests takes Poisson(α) dishes; guest i takes each dish that m guests had before
with probability m / i, and Poisson(α / i) new ones. The number of dishes is Poisson(α H_n).

Reference: T. L. Griffiths and Z. Ghahramani (2011), "The Indian buffet process: an introduction
and review", JMLR 12; Y. W. Teh, D. Görür and Z. Ghahramani (2007), "Stick-breaking construction
for the Indian buffet process", AISTATS.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import gammaln
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Ints
from octavo.engine.estimators.checked import checked

__all__ = ["ibp_expected_features", "ibp_log_prob", "ibp_sample"]

SMALLEST_STICK = 1e-9  # where sticks end: a later feature is held by nobody, but for a chance


def harmonic(n: int) -> float:
    """Return H_n = 1 + 1/2 + ... + 1/n."""
    return math.fsum(1.0 / i for i in range(1, n + 1))


def left_ordered(Z: Any) -> Any:
    """Return the matrix with columns in the order of the binary numbers that they are."""
    Z = np.asarray(Z)
    if Z.shape[1] == 0:
        return Z
    return np.ascontiguousarray(Z[:, np.lexsort(-Z[::-1].astype(np.int64))])


def log_prob_of_counts(columns: Any, counts: Ints, n: int, alpha: float) -> float:
    """Return the log-probability of a class from the counts of its columns.

    `columns` tells equal columns apart: the codes of all rows, or the matrix itself.
    """
    columns, K = np.asarray(columns), counts.size
    if columns.ndim == 1:
        columns = (columns[:, None] >> np.arange(K)) & 1
    m = np.asarray(counts, dtype=np.float64)
    packed = np.packbits(columns.astype(bool), axis=0)
    _, repeats = np.unique(packed, axis=1, return_counts=True) if K else (None, np.zeros(0))
    # α^K / Π repeats! exp(-α H_n): equal columns are one class
    value = K * math.log(alpha) - float(gammaln(repeats + 1.0).sum()) - alpha * harmonic(n)
    # Π (n - m_k)! (m_k - 1)! / n!
    return value + float((gammaln(n - m + 1.0) + gammaln(m)).sum()) - K * math.lgamma(n + 1.0)


def _check_mass(alpha: float) -> None:
    if not (alpha > 0.0 and math.isfinite(alpha)):
        raise ValueError(f"alpha must be positive and finite; got {alpha}.")


@checked
def ibp_sample(n: int, alpha: float, random_state: Any = None, *, method: str = "restaurant"):
    """Return a binary matrix drawn from the Indian buffet process.

    Parameters
    ----------
    n : int
        Number of rows.
    alpha : float
        Mass: the expected number of features of a row.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.
    method : {"restaurant", "stick_breaking"}, default="restaurant"
        Row by row, or by the sticks v_1 v_2 ... v_k of Beta(α, 1) numbers, which are the
        probabilities of features in decreasing order.

    Returns
    -------
    Z : ndarray of int of shape (n, n_features)
        In left-ordered form, without empty columns.

    Examples
    --------
    >>> from octavo.bayes import ibp_sample
    >>> ibp_sample(4, 1.5, random_state=0).shape[0]
    4
    """
    if n < 1:
        raise ValueError(f"n must be at least 1; got {n}.")
    _check_mass(alpha)
    if method not in ("restaurant", "stick_breaking"):
        raise ValueError(f"method must be 'restaurant' or 'stick_breaking'; got {method!r}.")
    rng = check_random_state(random_state)
    Z = _restaurant(n, alpha, rng) if method == "restaurant" else _sticks(n, alpha, rng)
    return left_ordered(Z[:, Z.any(axis=0)])


def _restaurant(n: int, alpha: float, rng: np.random.RandomState) -> Any:
    news = rng.poisson(alpha / np.arange(1, n + 1))  # Poisson(α / i) new dishes of guest i
    Z = np.zeros((n, int(news.sum())), dtype=np.int64)
    K = 0
    counts = np.zeros(Z.shape[1])
    for i, new in enumerate(news):
        Z[i, :K] = rng.random_sample(K) * (i + 1) < counts[:K]  # m / i, guest i counted
        Z[i, K : K + new] = 1
        K += new
        counts += Z[i]
    return Z


def _sticks(n: int, alpha: float, rng: np.random.RandomState) -> Any:
    columns, stick = [], 1.0
    while stick * n > SMALLEST_STICK:
        # ω_k = Π v_i, Section 2.1
        stick *= rng.random_sample() ** (1.0 / alpha)  # Beta(alpha, 1)
        columns.append(rng.random_sample(n) < stick)
    return np.array(columns, dtype=np.int64).reshape(-1, n).T


@checked
def ibp_log_prob(Z: Any, alpha: float) -> float:
    """Return the log-probability of the left-ordered class of a binary matrix.

    Parameters
    ----------
    Z : array-like of shape (n, n_features)
        Zeros and ones; the order of columns does not matter and empty ones are left out.
    alpha : float
        Mass.

    Returns
    -------
    log_prob : float
        Over all left-ordered classes of n rows the probabilities add up to one.

    Examples
    --------
    >>> from octavo.bayes import ibp_log_prob
    >>> round(ibp_log_prob([[1], [0]], 1.0), 4)
    -2.1931
    """
    _check_mass(alpha)
    Z = np.asarray(Z)
    if Z.ndim != 2 or Z.shape[0] < 1:
        raise ValueError(f"Z must be a matrix with at least one row; got shape {Z.shape}.")
    if Z.dtype.kind not in "biuf" or not np.isin(Z, (0, 1)).all():
        raise ValueError("Z must hold zeros and ones only.")
    Z = Z[:, (Z != 0).any(axis=0)].astype(np.int64)
    return log_prob_of_counts(Z, Z.sum(axis=0), Z.shape[0], float(alpha))


@checked
def ibp_expected_features(n: int, alpha: float) -> float:
    """Return the expected number of features of n rows, α H_n.

    Parameters
    ----------
    n : int
        Number of rows.
    alpha : float
        Mass.

    Returns
    -------
    expected : float
        The number of features is Poisson with this mean.

    Examples
    --------
    >>> from octavo.bayes import ibp_expected_features
    >>> round(ibp_expected_features(100, 1.0), 4)
    5.1874
    """
    if n < 1:
        raise ValueError(f"n must be at least 1; got {n}.")
    _check_mass(alpha)
    return float(alpha) * harmonic(int(n))
