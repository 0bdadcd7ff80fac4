"""How far to trust draws: split R-hat, effective sample size, Monte Carlo error.

Draws have the shape (n_chains, n_draws), or (n_chains, n_draws, ...) for arrays of quantities,
each judged by itself; a single chain may come as (n_draws,). Every chain is split in two halves
first, so that a drift within a chain counts as a disagreement between chains.

Reference: A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner (2021),
"Rank-normalization, folding, and localization: an improved R-hat for assessing convergence of
MCMC", Bayesian Analysis 16.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from octavo.engine.estimators.arrays import Floats


def as_chains(draws: Any) -> Floats:
    """Return draws as (n_chains, n_draws, ...); refuse what is too short to judge."""
    draws = np.asarray(draws, dtype=np.float64)
    if draws.ndim == 1:
        draws = draws[None]
    if draws.ndim < 2 or draws.shape[0] < 1 or draws.shape[1] < 4:
        raise ValueError(
            "Draws must have the shape (n_chains, n_draws) with at least four draws per chain; "
            f"got {draws.shape}."
        )
    return draws


def split_chains(draws: Floats) -> Floats:
    """Return each chain as two, its halves; the middle draw of an odd number is left out."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _rank_normalized(draws: Floats) -> Floats:
    """Return normal scores of the draws, all chains ranked together."""
    flat = draws.reshape(draws.shape[0] * draws.shape[1], -1)
    ranks = rankdata(flat, axis=0)
    scores = ndtri((ranks - 0.375) / (flat.shape[0] + 0.25))  # Blom's normal scores
    return scores.reshape(draws.shape)


def _plain_rhat(split: Floats) -> Any:
    n = split.shape[1]
    within = split.var(axis=1, ddof=1).mean(axis=0)
    between = split.mean(axis=1).var(axis=0, ddof=1)
    total = (n - 1) / n * within + between  # var⁺ = (n - 1)/n W + B/n
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sqrt(total / within)
    # Chains that all stand on one value agree; chains that stand on different values never will.
    return np.where(within > 0.0, ratio, np.where(between > 0.0, np.inf, 1.0))


def split_rhat(draws: Any, *, rank_normalized: bool = True) -> Any:
    """Return R-hat: how much wider the chains are together than each by itself.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws, ...)
        Draws after the burn-in.
    rank_normalized : bool, default=True
        Take the larger of R-hat of normal scores of the draws and of their distances from the
        median, which sees chains of unequal spread and stands heavy tails.

    Returns
    -------
    rhat : float or ndarray
        One where the chains agree; above 1.01 they may not.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.mcmc.diagnostics import split_rhat
    >>> draws = np.random.default_rng(0).standard_normal((4, 1000))
    >>> moved = draws + [[0], [0], [0], [3]]
    >>> round(float(split_rhat(draws)), 2), round(float(split_rhat(moved)), 1)
    (1.0, 1.5)
    """
    split = split_chains(as_chains(draws))
    if not rank_normalized:
        return _plain_rhat(split)[()]
    # distances from the median: R-hat of the tails
    folded = np.abs(split - np.median(split, axis=(0, 1)))
    bulk, tail = (_plain_rhat(_rank_normalized(part)) for part in (split, folded))
    return np.maximum(bulk, tail)[()]


def autocovariances(draws: Floats) -> Floats:
    """Return the autocovariance of each chain at every lag, by the fast Fourier transform."""
    n = draws.shape[1]
    centred = draws - draws.mean(axis=1, keepdims=True)
    # twice the length in zeros, so that lags do not wrap round
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, size, axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    return np.fft.irfft(power, size, axis=1)[:, :n] / n


def _ess_of_one(split: Floats) -> float:
    m, n = split.shape
    gamma = autocovariances(split)
    within = gamma[:, 0].mean() * n / (n - 1)
    total = within * (n - 1) / n + (split.mean(axis=1).var(ddof=1) if m > 1 else 0.0)
    if total <= 0.0:
        return float(m * n)  # a constant is known exactly
    # ρ_t = 1 - (W - mean autocovariance) / var⁺
    rho = 1.0 - (within - gamma.mean(axis=0) * n / (n - 1)) / total
    rho[0] = 1.0
    pairs = rho[: 2 * (n // 2)].reshape(-1, 2).sum(axis=1)
    positive = np.flatnonzero(pairs < 0.0)  # Geyer's initial positive sequence ...
    pairs = pairs[: positive[0]] if positive.size else pairs
    pairs = np.minimum.accumulate(pairs)  # ... made monotone
    # τ = -1 + 2 Σ of pairs; not below 1 / log10 of the draws: anti-correlated chains
    time = max(-1.0 + 2.0 * pairs.sum(), 1.0 / np.log10(m * n))
    return float(m * n / time)


def effective_sample_size(draws: Any) -> Any:
    """Return how many independent draws would give a mean as exact as these do.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws, ...)
        Draws after the burn-in.

    Returns
    -------
    ess : float or ndarray
        At most n log10(n) of the n draws.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.mcmc.diagnostics import effective_sample_size
    >>> x = np.random.default_rng(0).standard_normal(20000)
    >>> for t in range(1, x.size):
    ...     x[t] += 0.5 * x[t - 1]
    >>> bool(abs(effective_sample_size(x) / (20000 / 3) - 1) < 0.1)
    True
    """
    split = split_chains(as_chains(draws))
    shape = split.shape[2:]
    flat = split.reshape(*split.shape[:2], -1)
    found = [_ess_of_one(flat[:, :, i]) for i in range(flat.shape[2])]
    return np.reshape(found, shape)[()]


def monte_carlo_error(draws: Any) -> Any:
    """Return the standard error of the mean of draws, by their effective number."""
    chains = as_chains(draws)
    return np.std(chains, axis=(0, 1), ddof=1) / np.sqrt(effective_sample_size(chains))
