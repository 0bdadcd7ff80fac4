"""What the states of hidden Markov models emit: log densities of observations, and draws.

Emissions are mixtures of Gaussians or symbols, held as arrays whose leading axes may be states, or
models and states; or anything that can say its log density: scipy distributions, a function, a
fitted model of hmmlearn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from octavo.engine.chains.sequences import locate
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.probability.gaussians import expected_log_density
from octavo.engine.probability.mixtures import log_sum, safe_log
from octavo.sequence.hmm.scores import log_of_probabilities

COVARIANCE_TYPES = ("diag", "full", "spherical")
_ROOM = 1 << 21  # numbers in the temporary array of one block of rows


# --- observations ---------------------------------------------------------------------------------


def checked_symbols(
    values: NDArray[Any], lengths: Ints, n_symbols: int | None = None, name: str = "X"
) -> Ints:
    """Return symbols as a vector of integers, or say where one is not.

    Parameters
    ----------
    values : ndarray of shape (n,) or (n, 1)
        Stacked observations.
    lengths : ndarray of int
        Lengths of the sequences.
    n_symbols : int, optional
        How many symbols there are; any number by default.
    name : str, default="X"
        What messages call the observations.

    Returns
    -------
    symbols : ndarray of int of shape (n,)
        Integers 0..n_symbols - 1.
    """
    symbols = np.asarray(values)
    if symbols.ndim == 2 and symbols.shape[1] == 1:
        symbols = symbols[:, 0]
    if symbols.ndim != 1 or symbols.dtype.kind not in "iub":
        raise ValueError(
            f"{name} must hold one integer symbol a position, got {symbols.dtype} of shape "
            f"{symbols.shape}."
        )
    above = np.inf if n_symbols is None else n_symbols
    if symbols.size and (symbols.min() < 0 or symbols.max() >= above):
        row = int(np.argmax((symbols < 0) | (symbols >= above)))
        wanted = "of at least 0" if n_symbols is None else f"0..{n_symbols - 1}"
        raise ValueError(
            f"{name} must hold integers {wanted}, got {symbols[row]} at {locate(row, lengths)}."
        )
    return symbols.astype(np.int64, copy=False)


def checked_numbers(
    values: NDArray[Any], lengths: Ints, n_features: int | None = None, name: str = "X"
) -> Floats:
    """Return observations as finite rows of numbers, or say where one is not.

    Parameters
    ----------
    values : ndarray of shape (n, n_features), or (n,) for one feature
        Stacked observations.
    lengths : ndarray of int
        Lengths of the sequences.
    n_features : int, optional
        How many numbers a row holds; any number by default.
    name : str, default="X"
        What messages call the observations.

    Returns
    -------
    rows : ndarray of shape (n, n_features)
        Contiguous floats.
    """
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} must hold rows of numbers, got shape {values.shape} of {values.dtype}."
        )
    rows = np.ascontiguousarray(values, dtype=np.float64)
    for row in np.flatnonzero(~np.isfinite(rows).all(axis=1))[:1]:
        raise ValueError(f"{name} has a value that is NaN or infinite at {locate(row, lengths)}.")
    if n_features is not None and rows.shape[1] != n_features:
        raise ValueError(f"{name} has {rows.shape[1]} features, the HMMs have {n_features}.")
    return rows


# --- log densities --------------------------------------------------------------------------------


def symbol_log_density(table: Floats, symbols: Ints) -> Floats:
    """Return the log probabilities of symbols.

    Parameters
    ----------
    table : ndarray of shape (..., V)
        Probabilities of the V symbols.
    symbols : ndarray of int of shape (n,)
        What was observed.

    Returns
    -------
    scores : ndarray of shape (n, ...)
        Log probabilities.
    """
    columns = np.ascontiguousarray(safe_log(table).reshape(-1, table.shape[-1]).T)
    return np.take(columns, symbols, axis=0).reshape(symbols.size, *table.shape[:-1])


def component_log_density(
    means: Floats,
    covars: Floats,
    points: Floats,
    spreads: Floats | None = None,
    noise: float = 0.0,
) -> Floats:
    """Return the expected log density of n points or Gaussians under every Gaussian.

    Parameters
    ----------
    means, covars : ndarray of shape (..., d), and (..., d) or (..., d, d)
        The Gaussians; variances or matrices.
    points, spreads : ndarray
        What is explained: n points (spreads None), or Gaussians, (n, d) and (n, d) or (n, d, d).
    noise : float, default=0
        A variance that they have on top.

    Returns
    -------
    scores : ndarray of shape (n, ...)
        E log N(y; μ, Σ), the expression below Eq. (18) of Coviello et al. (2014).
    """
    d, lead = means.shape[-1], means.shape[:-1]
    flat = covars.reshape(-1, *covars.shape[len(lead) :])
    scores = expected_log_density(points, spreads, means.reshape(-1, d), flat, noise=noise)
    return scores.reshape(len(points), *lead)


def mixture_log_density(weights: Floats, means: Floats, covars: Floats, rows: Floats) -> Floats:
    """Return the log density of rows under mixtures of Gaussians.

    Parameters
    ----------
    weights : ndarray of shape (..., M)
        Mixture weights.
    means, covars : ndarray of shape (..., M, d), and (..., M, d) or (..., M, d, d)
        The Gaussians.
    rows : ndarray of shape (n, d)
        Observations.

    Returns
    -------
    scores : ndarray of shape (n, ...)
        Log densities.
    """
    logs = safe_log(weights)
    out = np.empty((len(rows), *weights.shape[:-1]))
    step = max(1, _ROOM // weights.size)
    for first in range(0, len(rows), step):
        block = slice(first, first + step)
        joint = component_log_density(means, covars, rows[block])
        joint += logs
        # log Σ_m c_m N(y; μ_m, Σ_m), Eq. (1) of Coviello et al. (2014)
        out[block] = joint[..., 0] if weights.shape[-1] == 1 else log_sum(joint)
    return out


def distribution_log_density(distributions: Sequence[Any], values: NDArray[Any]) -> Floats:
    """Return the log densities (n, K) of scipy distributions, one a state."""
    x = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    logs = [d.logpdf(x) if hasattr(d, "pdf") else d.logpmf(x) for d in distributions]
    return np.ascontiguousarray(np.stack(logs, axis=1))


def emitted_by(emission: Any) -> str:
    """Return in words what emissions of another kind are, for messages."""
    if hasattr(emission, "_compute_log_likelihood"):
        return type(emission).__name__
    if isinstance(emission, (list, tuple)):
        return f"a list of {len(emission)} distributions"
    return "a function"


def other_log_density(emission: Any, values: NDArray[Any], lengths: Ints) -> Floats:
    """Return the log densities (n, K) of a function, of distributions, or of a hmmlearn model."""
    if callable(emission):
        return emission(values)
    if isinstance(emission, (list, tuple)):
        return distribution_log_density(emission, values)
    checked_numbers(values, lengths)
    rows = values[:, None] if values.ndim == 1 else values  # counts must stay integers
    return np.ascontiguousarray(emission._compute_log_likelihood(rows))


# --- draws ----------------------------------------------------------------------------------------


def cumulative(logs: Floats) -> Floats:
    """Return cumulative probabilities that end in exactly one at the last possible entry."""
    total = np.cumsum(np.exp(logs - logsumexp(logs, axis=-1, keepdims=True)), axis=-1)
    possible = logs > -np.inf
    last = logs.shape[-1] - 1 - np.argmax(possible[..., ::-1], axis=-1)
    # rounding must not leave a draw beyond the last possible entry
    total[np.arange(logs.shape[-1]) >= last[..., None]] = 1.0
    return total


def draw_symbols(table: Floats, states: Ints, rng: Any) -> Ints:
    """Return one symbol a state, by the probabilities of the table (K, V)."""
    edges = cumulative(log_of_probabilities(table, "emission"))
    symbols = np.empty(states.size, dtype=np.int64)
    uniforms = rng.uniform(size=states.size)
    for state, row in enumerate(edges):
        here = states == state
        symbols[here] = np.searchsorted(row, uniforms[here], side="right")
    return symbols


def draw_mixtures(weights: Floats, means: Floats, covars: Floats, states: Ints, rng: Any) -> Floats:
    """Return one row a state, from its mixture of Gaussians; covariances may be singular."""
    parts = draw_symbols(weights, states, rng)
    noise = rng.normal(size=(states.size, means.shape[2]))
    if covars.ndim == 3:
        return means[states, parts] + noise * np.sqrt(covars[states, parts])
    values, vectors = np.linalg.eigh(covars)
    roots = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
    return means[states, parts] + np.einsum("nde,ne->nd", roots[states, parts], noise)


def draw_others(emission: Any, states: Ints, rng: Any) -> NDArray[Any]:
    """Return one observation a state, from distributions or from a hmmlearn model."""
    if callable(emission):
        raise ValueError("A model whose emission is a function cannot be simulated.")
    if not isinstance(emission, (list, tuple)):
        seed = rng.integers(2**31) if hasattr(rng, "integers") else rng.randint(2**31)
        source = np.random.RandomState(seed)
        return np.vstack([emission._generate_sample_from_state(s, source) for s in states])
    drawn: NDArray[Any] | None = None
    for state, distribution in enumerate(emission):
        here = np.flatnonzero(states == state)
        if here.size:
            x = np.asarray(distribution.rvs(size=here.size, random_state=rng))
            if drawn is None:
                drawn = np.empty((states.size, *x.shape[1:]), dtype=x.dtype)
            drawn[here] = x
    assert drawn is not None
    return drawn
