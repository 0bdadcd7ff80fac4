"""Rules that need more than eigenvalues and z: hold-out and cross-validation of the time.

The path of a training part is followed in the Krylov space of its targets, so that the error on
the held-out rows at all times costs a few hundred products with its Gram matrix and no
decomposition.

Reference: Raskutti, Wainwright and Yu (2014), Section 3.3.1, Eq. (14).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.kernels.gram import row_chunks
from octavo.engine.kernels.namespaces import namespace_of, to_namespace, to_numpy
from octavo.engine.spectral.gram_path import (
    SpectralPath,
    Spectrum,
    Steps,
    decayed_sums,
    factor_rows,
    krylov_path,
    top_spectrum,
)
from octavo.kernel.early_stopping.risk import sure_sums


class HeldOut(NamedTuple):
    """Mean squared error on held-out rows at t = 0, 1, ..., and the path that made it."""

    curve: Floats
    path: SpectralPath
    steps: Steps


def submatrix(K: Any, rows: Indices, columns: Indices) -> Any:
    """Return K[rows][:, columns] in its namespace."""
    xp, _, is_numpy = namespace_of(K)
    if is_numpy:
        return K[np.ix_(rows, columns)]
    first = xp.take(K, to_namespace(rows.astype(np.int64), K), axis=0)
    return xp.take(first, to_namespace(columns.astype(np.int64), K), axis=1)


def safe_steps(K: Any, steps: Steps, unsafe: bool = False) -> Steps:
    """Return steps that do not diverge on this Gram matrix: at most 1/λ₁ of its own.

    With `unsafe` those that converge, below 2/λ₁, stay as they are.
    """
    top = top_spectrum(K, lambda found: True, moments=(0.0, 0.0)).values[0]
    limit = min(1.0, 1.0 / top) if top > 0.0 else 1.0
    if unsafe:
        kept = np.where(np.asarray(steps) * top < 2.0, steps, limit)
        return kept if np.ndim(steps) else float(kept)
    return min(float(steps), limit) if np.ndim(steps) == 0 else np.minimum(steps, limit)


def held_out(
    K: Any,
    y: Floats,
    train: Indices,
    test: Indices,
    steps: Steps,
    n_steps: int,
    unsafe: bool = False,
) -> HeldOut:
    """Follow gradient descent on some rows and measure it on others.

    Parameters
    ----------
    K : array of shape (n, n)
        Gram matrix of all rows.
    y : ndarray of shape (n,)
        Targets.
    train, test : ndarray of int
        Rows to learn from, rows to measure on.
    steps : float or ndarray
        Step sizes.
    n_steps : int
        Last time.
    unsafe : bool, default=False
        Whether steps may lie between 1/λ₁ and 2/λ₁.

    Returns
    -------
    HeldOut
        The error at all times.
    """
    inner = submatrix(K, train, train)
    steps = safe_steps(inner, steps, unsafe)
    path = krylov_path(inner, to_namespace(y[train], K), steps, n_steps)
    places = to_numpy(submatrix(K, test, train) @ path.vectors).astype(np.float64)
    places *= path.z / len(train)  # predictions are places @ (1 - S_t)/λ
    moment, cross = places.T @ places, places.T @ y[test]
    curve = np.empty(n_steps + 1)
    for times in row_chunks(n_steps + 1, len(path.values), megabytes=16.0):
        rows = factor_rows(path.values, steps, np.arange(n_steps + 1)[times])
        # |K c_t − y|² from moments alone: no prediction is formed
        curve[times] = np.einsum("tk,tk->t", rows @ moment, rows) - 2.0 * rows @ cross
    return HeldOut((curve + y[test] @ y[test]) / len(test), path, steps)


def folds(n: int, count: int, rng: np.random.RandomState) -> list[tuple[Indices, Indices]]:
    """Return pairs of training and held-out rows, every row held out once."""
    parts = np.array_split(rng.permutation(n), count)
    return [(np.sort(np.concatenate(parts[:i] + parts[i + 1 :])), np.sort(parts[i]))
            for i in range(count)]  # fmt: skip


def same_travel(steps: Steps, own: Steps, t: int, longest: int) -> int:
    """Return the time at which `steps` have gone as far as `own` has at t, to the nearest."""
    if np.ndim(steps) == 0:
        return min(round(t * float(own) / float(steps)), longest)
    etas = np.append(0.0, np.cumsum(steps))
    return int(np.argmin(np.abs(etas - np.sum(np.asarray(own)[:t]))))


# --- SURE on all eigenvalues, or on the top ones -------------------------------------------------


def tail_trace(spectrum: Spectrum, steps: Steps, n_steps: int) -> Floats:
    """Return Σ (1 - S_t) over the eigenvalues that are not listed, to second order in ηλ."""
    if np.ndim(steps) == 0:
        times = np.arange(n_steps + 1, dtype=np.float64)
        etas, squares = float(steps) * times, float(steps) ** 2 * times
    else:
        etas = np.append(0.0, np.cumsum(np.asarray(steps)[:n_steps]))
        squares = np.append(0.0, np.cumsum(np.asarray(steps)[:n_steps] ** 2))
    pairs = 0.5 * (etas**2 - squares)  # Σ over s < u of α_s α_u
    grown = etas * spectrum.rest - pairs * spectrum.rest_square
    return np.clip(grown, 0.0, spectrum.n - len(spectrum.values))


def fitted_trace(spectrum: Spectrum, steps: Steps, n_steps: int) -> Floats:
    """Return the degrees of freedom tr(1 - S_t) at t = 0 to `n_steps`."""
    listed = decayed_sums(spectrum.values, steps, n_steps, np.ones_like(spectrum.values))
    return len(spectrum.values) - listed + tail_trace(spectrum, steps, n_steps)


def sure_of_path(
    spectrum: Spectrum, path: SpectralPath, sigma: float, steps: Steps, n_steps: int
) -> Floats:
    """Return Stein's estimate along a path, of all or of the top eigenvalues."""
    residuals = path.residual_squares(steps, n_steps)
    traces = spectrum.n - fitted_trace(spectrum, steps, n_steps)
    return sure_sums(residuals, traces, sigma, spectrum.n)


def horizon(spectrum: Spectrum, steps: Steps, n_steps: int) -> int:
    """Return the last time at which the tail is small: η_t times the largest of it at most 1/2."""
    if spectrum.is_whole:
        return n_steps
    largest = min(float(spectrum.values[-1]), np.sqrt(spectrum.rest_square))
    if not largest > 0.0:
        return n_steps
    if np.ndim(steps) == 0:
        return int(min(n_steps, 0.5 / (largest * float(steps))))
    return int(np.searchsorted(np.cumsum(steps), 0.5 / largest))
