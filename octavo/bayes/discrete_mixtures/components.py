"""Components of discrete mixtures: log-probabilities of rows, and the M-step.

§3.3: with responsibilities r of m rows the weights are λ_j = Σ_i r_ij / m (the notes print the
number of components as the divisor) and the parameters of a component are means weighted by r.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln

from octavo.engine.estimators.arrays import Floats
from octavo.engine.probability.mixtures import responsibilities, safe_log

TINY = np.finfo(np.float64).tiny


class MixtureParams(NamedTuple):
    """Weights (n_components,) and, for each component, probabilities of the columns."""

    weights: Floats
    means: Floats


def _times(X: Any, logs: Floats) -> Floats:
    """Return X @ logs.T where 0 · (-inf) is 0 and a positive number times -inf is -inf."""
    empty = np.isneginf(logs)
    products = np.asarray(X @ np.where(empty, 0.0, logs).T)
    if empty.any():
        products = np.where(np.asarray(X @ empty.T.astype(np.float64)) > 0.0, -np.inf, products)
    return products


def bernoulli_logs(X: Any, means: Floats) -> Floats:
    """Return Σ_d log P(x_d | j) of zeros and ones, one column a component."""
    off = safe_log(1.0 - means)
    if np.isneginf(off).any():
        ones = np.asarray(X.toarray() if sp.issparse(X) else X)
        return _times(ones, safe_log(means)) + _times(1.0 - ones, off)
    # x log p + (1 - x) log(1 - p) touches only what is stored of a sparse X
    return _times(X, safe_log(means) - off) + off.sum(axis=1)


def multinomial_logs(X: Any, means: Floats) -> Floats:
    """Return Σ_d x_d log p_jd, one column a component; without the coefficient."""
    return _times(X, safe_log(means))


def multinomial_coefficients(X: Any) -> Floats:
    """Return log n!/Π x_d! of each row."""
    totals = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
    if sp.issparse(X):
        logs = X.copy()
        logs.data = gammaln(X.data + 1.0)
        return gammaln(totals + 1.0) - np.asarray(logs.sum(axis=1)).ravel()
    return gammaln(totals + 1.0) - gammaln(X + 1.0).sum(axis=1)


def bernoulli_step(X: Any, share: Floats, alpha: float) -> MixtureParams:
    """Return the maximum a posteriori weights and probabilities, alpha pseudo-counts a side."""
    mass = share.sum(axis=0)
    ones = np.asarray(share.T @ X)
    held = mass + 2.0 * alpha
    # §3.3: means weighted by responsibilities
    means = (ones + alpha) / np.where(held > 0.0, held, 1.0)[:, None]
    means[held <= 0.0] = 0.5  # nobody's component
    return MixtureParams(mass / share.shape[0], np.clip(means, 0.0, 1.0))  # λ_j = Σ_i r_ij / m


def multinomial_step(X: Any, share: Floats, alpha: float) -> MixtureParams:
    """Return the maximum a posteriori weights and probabilities, alpha pseudo-counts a column."""
    counts = np.asarray(share.T @ X) + alpha
    held = counts.sum(axis=1, keepdims=True)
    means = counts / np.where(held > 0.0, held, 1.0)  # §3.3 for counts
    means[held[:, 0] <= 0.0] = 1.0 / X.shape[1]
    return MixtureParams(share.sum(axis=0) / share.shape[0], means)


def log_prior(params: MixtureParams, alpha: float, two_sided: bool) -> float:
    """Return the log density of the pseudo-counts' prior, up to a constant."""
    if alpha == 0.0:
        return 0.0
    total = safe_log(params.means).sum()
    if two_sided:
        total += safe_log(1.0 - params.means).sum()
    # log of Π p^α, and of (1 - p)^α where both sides have pseudo-counts
    return alpha * float(total)


def posterior_of(params: MixtureParams, logs: Floats) -> tuple[Floats, Floats]:
    """Return responsibilities and the log-likelihood of each row."""
    return responsibilities(params.weights, logs)
