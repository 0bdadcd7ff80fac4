"""Nonnegative mixtures of shifted patterns: the factorizations of power spectra, and on their own.

Patterns are images whose rows are shifted together along the last axis, so that one code serves
signals (one row), instantaneous mixtures (no shifts) and the marginals of images.

Reference: Omlor and Giese (2011), "Anechoic blind source separation using Wigner marginals", JMLR
12:1111-1148, section 3.2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.fft
from scipy.optimize import nnls

from octavo.engine.estimators.arrays import Complexes, Floats

_FLOOR = 1e-16  # of divisors, relative to the largest entry of the data


class NonnegativeFactors(NamedTuple):
    """Patterns (n, rows, T), weights (m, n), whole delays (m, n) and the squared error."""

    sources: Floats
    weights: Floats
    delays: Floats
    error: float


def _spectra(x: Floats) -> Complexes:
    return scipy.fft.rfft(x)


def circular(a: Complexes, b: Complexes, length: int) -> Floats:
    """Return the circular convolution of two signals from their spectra; correlation with conj."""
    return scipy.fft.irfft(a * b, n=length)


def shifted_sources(sources: Floats, delays: Floats) -> Floats:
    """Return sources (n, rows, T) at whole delays (m, n): shape (m, n, rows, T)."""
    length = sources.shape[-1]
    places = (np.arange(length) - delays[..., None].astype(np.int64)) % length
    return np.take_along_axis(sources[None], places[:, :, None, :], axis=-1)


def _reconstruction(sources: Floats, weights: Floats, delays: Floats) -> Floats:
    return np.einsum("ij,ijrt->irt", weights, shifted_sources(sources, delays))


def weights_and_delays(
    Y: Floats, sources: Floats, weights: Floats, delays: Floats, move: bool
) -> tuple[Floats, Floats]:
    """Improve whole delays and weights ≥ 0, source after source: Eq. (36) under α ≥ 0."""
    weights, delays = weights.copy(), delays.copy()
    length = Y.shape[-1]
    residual = Y - _reconstruction(sources, weights, delays)
    energies = np.einsum("jrt,jrt->j", sources, sources)
    for j, source in enumerate(sources):
        here = shifted_sources(source[None], delays[:, j : j + 1])[:, 0]
        residual += weights[:, j, None, None] * here
        if energies[j] <= 0.0:
            weights[:, j] = 0.0
            continue
        if move:
            products = np.einsum("irf,rf->if", _spectra(residual), _spectra(source).conj())
            correlation = scipy.fft.irfft(products, n=length)
            best = correlation.argmax(axis=1)
            kept = correlation[np.arange(len(Y)), delays[:, j].astype(np.int64)]
            better = correlation[np.arange(len(Y)), best] > kept  # Eq. (37)
            delays[:, j] = np.where(better, best, delays[:, j])
            here = shifted_sources(source[None], delays[:, j : j + 1])[:, 0]
        slope = np.einsum("irt,irt->i", residual, here)
        weights[:, j] = np.maximum(slope / energies[j], 0.0)  # Eq. (36) in one weight
        residual -= weights[:, j, None, None] * here
    return weights, delays


def fitted_weights(Y: Floats, sources: Floats, delays: Floats) -> Floats:
    """Return the weights ≥ 0 of least squares at given delays, channel by channel."""
    moved = shifted_sources(sources[:, None], delays)[:, :, 0]
    return np.array([nnls(own.T, y[0])[0] for own, y in zip(moved, Y)])


def _gathered(Y: Floats, weights: Floats, delays: Floats) -> Floats:
    """Return Σ_i α_ij y_i(t + τ_ij): the data as each source would have it, (n, rows, T)."""
    length = Y.shape[-1]
    places = (np.arange(length) + delays[..., None].astype(np.int64)) % length
    back = np.take_along_axis(Y[:, None], places[:, :, None, :], axis=-1)
    return np.einsum("ij,ijrt->jrt", weights, back)


def update_sources(Y: Floats, sources: Floats, weights: Floats, delays: Floats) -> Floats:
    """Return better patterns ≥ 0, one after the other; each is the exact least-squares answer."""
    sources = sources.copy()
    residual = Y - _reconstruction(sources, weights, delays)
    for j in range(len(sources)):
        size = float(weights[:, j] @ weights[:, j])
        if size <= 0.0:
            continue
        pick = slice(j, j + 1)
        drawn = _gathered(residual, weights[:, pick], delays[:, pick])[0]
        improved = np.maximum(sources[j] + drawn / size, 0.0)
        change = shifted_sources((improved - sources[j])[None], delays[:, pick])[:, 0]
        residual -= weights[:, j, None, None] * change
        sources[j] = improved
    return sources


def update_orthogonal_sources(Y: Floats, sources: Floats, weights: Floats, delays: Floats):
    """Return patterns nearer to S Sᵀ = I, Eq. (32), by the multiplicative rule of Ding et al."""
    drawn = _gathered(Y, weights, delays).reshape(len(sources), -1)
    S = sources.reshape(len(sources), -1)
    pulled = (drawn @ S.T) @ S
    floor = _FLOOR * max(float(pulled.max(initial=0.0)), np.finfo(float).tiny)
    # Norms must be left alone: at a fixed point of the rule they are one by themselves.
    # SSᵀ = I of Eq. (32) holds at a fixed point
    return (S * np.sqrt(np.maximum(drawn, 0.0) / np.maximum(pulled, floor))).reshape(sources.shape)


def random_patterns(Y: Floats, n_sources: int, rng: np.random.RandomState) -> Floats:
    """Return random nonnegative combinations of the data, so that no pattern starts far away."""
    shares = rng.exponential(size=(n_sources, len(Y)))
    mixed = np.einsum("ji,irt->jrt", shares, Y) * rng.uniform(0.5, 1.5, (n_sources, *Y.shape[1:]))
    norms = np.linalg.norm(mixed.reshape(n_sources, -1), axis=1)
    return mixed / np.where(norms > 0, norms, 1.0)[:, None, None]


def _unit_norms(sources: Floats, weights: Floats) -> tuple[Floats, Floats]:
    norms = np.linalg.norm(sources.reshape(len(sources), -1), axis=1)
    norms = np.where(norms > 0, norms, 1.0)
    return sources / norms[:, None, None], weights * norms


def euclidean_factors(
    Y: Floats,
    n_sources: int,
    rng: np.random.RandomState,
    *,
    move: bool,
    orthogonal: bool = False,
    max_iter: int,
    tol: float,
    report=None,
) -> tuple[NonnegativeFactors, list[float], bool]:
    """Fit y_i(t) ≈ Σ_j α_ij s_j(t - τ_ij) with everything ≥ 0, whole delays, least squares.

    Delays and weights are estimated (Appendix A) in the place of Eq. (29), sources by exact
    coordinate steps, or towards orthogonal ones. Without `move` it is an instantaneous mixture.

    Returns
    -------
    factors, errors, converged
        Errors after each sweep never rise unless sources are asked to be orthogonal.
    """
    m = len(Y)
    sources = random_patterns(Y, n_sources, rng)
    weights, delays = np.zeros((m, n_sources)), np.zeros((m, n_sources))
    energy = float(np.einsum("irt,irt->", Y, Y))
    errors: list[float] = []
    last, converged = energy, False
    for _ in range(max_iter):
        weights, delays = weights_and_delays(Y, sources, weights, delays, move)
        step = update_orthogonal_sources if orthogonal else update_sources
        sources = step(Y, sources, weights, delays)
        if not orthogonal:
            sources, weights = _unit_norms(sources, weights)
        residual = Y - _reconstruction(sources, weights, delays)
        errors.append(float(np.einsum("irt,irt->", residual, residual)))
        converged = abs(last - errors[-1]) <= tol * energy
        if converged or (report is not None and report()):
            break
        last = errors[-1]
    sources, weights = _unit_norms(sources, weights)
    error = errors[-1] if errors else energy
    return NonnegativeFactors(sources, weights, delays, error), errors, converged


class SparseFilters(NamedTuple):
    """Patterns (n, rows, T), filters (m, n, L) and the α-divergence of each sweep."""

    sources: Floats
    filters: Floats
    objectives: list[float]


def alpha_divergence(Y: Floats, model: Floats, beta: float) -> float:
    """Return Amari's divergence of order β of data from a model; β = 1 is Kullback-Leibler's."""
    if beta == 1.0:
        ratio = np.where(Y > 0, Y / model, 1.0)
        return float(np.sum(Y * np.log(ratio) - Y + model))
    power = Y**beta * model ** (1.0 - beta)
    return float(np.sum(power - beta * Y + (beta - 1.0) * model) / (beta * (beta - 1.0)))


def _model(source_spectra: Complexes, filter_spectra: Complexes, length: int) -> Floats:
    product = np.einsum("jrf,ijf->irf", source_spectra, filter_spectra)
    return scipy.fft.irfft(product, n=length)


def sparse_filters(
    Y: Floats,
    n_sources: int,
    rng: np.random.RandomState,
    *,
    filter_length: int,
    mu: float,
    beta: float,
    alpha_filters: float,
    alpha_sources: float,
    max_iter: int,
    tol: float = 0.0,
    report=None,
) -> SparseFilters:
    """Fit y_i ≈ Σ_j ν_ij * s_j by multiplicative steps on the α-divergence, Eqs. (29) and (30).

    The printed rules leave out the sums by which they are divided; with patterns of sum one,
    as kept here, those of Eq. (29) are one. Exponents 1 + λ make filters sparse.
    """
    m, _, length = Y.shape
    top = max(float(Y.max(initial=0.0)), np.finfo(float).tiny)
    sources = random_patterns(Y, n_sources, rng) + 1e-3 * top / Y[0].size
    sources /= sources.sum(axis=(1, 2), keepdims=True)
    support = np.arange(length) < filter_length
    filters = rng.uniform(0.5, 1.5, (m, n_sources, length)) * support
    filters *= (Y.sum(axis=(1, 2)) / n_sources)[:, None, None] / filters.sum(axis=2, keepdims=True)
    objectives: list[float] = []

    def ratio() -> tuple[Complexes, float]:
        model = np.maximum(_model(_spectra(sources), _spectra(filters), length), _FLOOR * top)
        return _spectra((Y / model) ** beta), alpha_divergence(Y, model, beta)

    last = np.inf
    for _ in range(max_iter):
        pull, _ = ratio()
        drawn = scipy.fft.irfft(
            np.einsum("jrf,irf->ijf", _spectra(sources).conj(), pull), n=length
        )  # Eq. (29)
        step = np.maximum(drawn, 0.0) ** (mu / beta)
        filters = _sparsened(filters * step, alpha_filters, (2,)) * support
        pull, _ = ratio()
        drawn = scipy.fft.irfft(
            np.einsum("ijf,irf->jrf", _spectra(filters).conj(), pull), n=length
        )  # Eq. (30)
        mass = filters.sum(axis=(0, 2))[:, None, None]
        # Σ_i ν_ij, by which the printed rule does not divide
        step = (np.maximum(drawn, 0.0) / np.where(mass > 0, mass, 1.0)) ** (mu / beta)
        sources = _sparsened(sources * step, alpha_sources, (1, 2))
        sums = sources.sum(axis=(1, 2))
        sums = np.where(sums > 0, sums, 1.0)
        sources, filters = sources / sums[:, None, None], filters * sums[:, None]
        objectives.append(ratio()[1])
        if abs(last - objectives[-1]) <= tol * abs(objectives[-1]):
            break
        last = objectives[-1]
        if report is not None and report():
            break
    return SparseFilters(sources, filters, objectives)


def _sparsened(values: Floats, strength: float, axes: tuple[int, ...]) -> Floats:
    """Return values to the power 1 + λ, with their sums over `axes` kept."""
    if strength == 0.0:
        return values
    before = values.sum(axis=axes, keepdims=True)
    top = values.max(axis=axes, keepdims=True)
    # to the power 1 + λ: λ₁ and λ₂ of Eqs. (29) and (30)
    raised = (values / np.where(top > 0, top, 1.0)) ** (1.0 + strength)
    after = raised.sum(axis=axes, keepdims=True)
    return raised * before / np.where(after > 0, after, 1.0)


def filter_peaks(filters: Floats) -> tuple[Floats, Floats]:
    """Return the weight (the whole sum) and the place of the largest entry of each filter."""
    return filters.sum(axis=-1), filters.argmax(axis=-1).astype(np.float64)
