"""Vector autoregressions by least squares, with inputs from outside, forwards and backwards.

Reference: Lütkepohl (2005), "New introduction to multiple time series analysis", Springer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.samples import as_sample

__all__ = ["Autoregression", "fit_autoregression"]


class Autoregression(NamedTuple):
    """A fitted process x_t = Σ F_i x_(t-i) + Σ B_j u_(t-j) + e_t.

    ``coef`` (order, p, p) holds F_1, F_2, ...; ``input_coef`` (input_order, p, q) holds B_0,
    B_1, ...; ``innovations`` (n - lag, p) the e_t that were left, from the first t that has all
    of its past.
    """

    coef: np.ndarray
    input_coef: np.ndarray
    innovations: np.ndarray


def lagged(X: Floats, lags: range, first: int) -> Floats:
    """Return the rows x_(t-lag) beside each other for every lag, for t from `first` on."""
    n = len(X)
    parts = [X[first - lag : n - lag] for lag in lags]
    return np.hstack(parts) if parts else np.empty((n - first, 0))


@checked
def fit_autoregression(
    X: ArrayLike, order: int, inputs: ArrayLike | None = None, input_order: int = 1
) -> Autoregression:
    """Fit a vector autoregression, with inputs where there are any, by least squares.

    Parameters
    ----------
    X : array-like of shape (n_times, p)
        The process, of zero mean.
    order : int
        How many steps back it looks at itself; may be 0.
    inputs : array-like of shape (n_times, q), default=None
        What drives it from outside, of zero mean.
    input_order : int, default=1
        How many of the inputs it sees: the present one and those before it.

    Returns
    -------
    Autoregression
        Coefficients and innovations.

    References
    ----------
    .. [1] Lütkepohl (2005). New introduction to multiple time series analysis. Springer.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import fit_autoregression
    >>> e = np.random.default_rng(0).normal(size=(2000, 1))
    >>> x = e.copy()
    >>> for t in range(1, 2000):
    ...     x[t] += 0.8 * x[t - 1]
    >>> print(f"{fit_autoregression(x, 1).coef[0, 0, 0]:.1f}")
    0.8
    """
    series = as_sample(X, allow_complex=False)
    n, p = series.shape
    first = order
    past = [lagged(series, range(1, order + 1), first)]
    drive = None if inputs is None else as_sample(inputs, "inputs", allow_complex=False)
    if drive is not None:
        if len(drive) != n:
            raise ValueError(f"inputs must have a row for each of the {n} times, got {len(drive)}.")
        first = max(order, input_order - 1)
        if first < n:
            past = [
                lagged(series, range(1, order + 1), first),
                lagged(drive, range(input_order), first),
            ]
    regressors = np.hstack(past)
    if n - first <= regressors.shape[1]:
        raise ValueError(
            f"{n} times are too few for {regressors.shape[1]} coefficients a feature: each needs "
            f"more than one of the {max(n - first, 0)} times that have a past. Lower the order."
        )
    weights = np.linalg.lstsq(regressors, series[first:], rcond=None)[0]
    innovations = series[first:] - regressors @ weights
    q = 0 if drive is None else drive.shape[1]
    coef = weights[: order * p].reshape(order, p, p).transpose(0, 2, 1)
    driven = weights[order * p :].reshape(-1, q, p).transpose(0, 2, 1) if q else np.empty((0, p, 0))
    return Autoregression(coef, driven, innovations)


def ar_innovations(X: Floats, coef: Floats) -> Floats:
    """Return x_t − Σ F_i x_(t-i) for all t, with zeros before the first."""
    innovations = X.copy()
    for i, F in enumerate(coef, start=1):
        innovations[i:] -= X[:-i] @ F.T
    return innovations


def run_autoregression(innovations: Floats, coef: Floats) -> Floats:
    """Return the process of these innovations, with zeros before the first: the way back."""
    X = innovations.copy()
    for t in range(len(X)):
        for i, F in enumerate(coef[:t], start=1):
            X[t] += F @ X[t - i]
    return X
