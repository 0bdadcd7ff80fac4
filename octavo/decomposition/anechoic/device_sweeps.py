"""The steps of anechoic demixing on whole arrays, for images on an accelerator.

The same answers as the compiled kernels of `delays` and `alternation`, written against the array
API: spectra stay where they are, all channels and bins at once. Weights and delays, a few numbers
a channel, are NumPy's; so are the phases of a shift along each axis, in doubles, which a device
only multiplies.

Reference: Omlor and Giese (2011), "Anechoic blind source separation using Wigner marginals", JMLR
12:1111-1148, section 4.2 and Appendix A.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.decomposition.anechoic.shifts import bin_weights, from_spectra
from octavo.engine.estimators.arrays import Complexes, Floats
from octavo.engine.kernels.namespaces import to_numpy, xp_of


def placed(values: np.ndarray, like: Any, kind: str) -> Any:
    """Return NumPy numbers on the device of complex spectra, in their precision.

    `kind` is "real" or "complex".
    """
    xp, device = xp_of(like), like.device
    single = like.dtype == xp.complex64
    real = xp.float32 if single else xp.float64
    dtype = real if kind == "real" else like.dtype
    wanted = {"real": np.float32, "complex": np.complex64}[kind] if single else values.dtype
    return xp.asarray(np.ascontiguousarray(values, dtype=wanted), dtype=dtype, device=device)


def squares(z: Any) -> Any:
    """Return |z|²."""
    xp = xp_of(z)
    return xp.real(z) ** 2 + xp.imag(z) ** 2


def _turns(delays: Floats, length: int, n_bins: int) -> Complexes:
    """Return e^{-2πi k τ / length} for the first bins of an axis, k negative beyond its half."""
    k = np.arange(n_bins)
    k = np.where(2 * k <= length, k, k - length)
    return np.exp((-2j * np.pi / length) * delays[..., None] * k)


def device_phases(delays: Floats, shape: tuple[int, int], like: Any) -> Any:
    """Return `shift_phases` on the device of spectra."""
    height, width = shape
    down = _turns(delays[..., 0], height, height)
    right = _turns(delays[..., 1], width, width // 2 + 1)
    if height % 2 == 0:  # a real image stays real: halfway round, ±n/2 are one bin
        down[..., height // 2] = down[..., height // 2].real
    if width % 2 == 0:
        right[..., -1] = right[..., -1].real
    xp = xp_of(like)
    phases = (
        placed(down, like, "complex")[..., :, None] * placed(right, like, "complex")[..., None, :]
    )
    return xp.reshape(phases, (*delays.shape[:-1], -1))


def mixed(weights: Floats, phases: Any, sources: Any) -> Any:
    """Return Σ_j α_ij e^{-iωτ_ij} s_j of all channels, phases of shape (n, m, n_bins)."""
    w = placed(weights, sources, "complex")
    total = w[:, 0, None] * phases[0, ...] * sources[0, ...]
    for j in range(1, sources.shape[0]):
        total = total + w[:, j, None] * phases[j, ...] * sources[j, ...]
    return total


def _best_whole(products: Any, search: Any) -> Floats:
    """Return the whole delays of the largest cross-correlations, Eq. (37)."""
    xp, device = xp_of(products), products.device
    height, width = search.shape
    c = from_spectra(products, search.shape)
    c = c if search.nonneg else xp.abs(c)
    if search.allowed is not None:
        c = xp.where(xp.asarray(search.allowed, device=device), c, -xp.inf)
    place = to_numpy(xp.argmax(xp.reshape(c, (c.shape[0], -1)), axis=1), xp)
    down, right = np.divmod(place, width)
    return np.column_stack(
        [down - height * (2 * down > height), right - width * (2 * right > width)]
    ).astype(np.float64)


def _climbed(products: Any, shape: tuple[int, int], n_steps: int, starts: Floats) -> Floats:
    """Take Newton's steps on Σ w Re(C e^{iωτ}) in every channel from pairs of delays.

    All sums are of the form Σ k^a q^b C e^{iωτ}: two products with three columns each.
    """
    xp = xp_of(products)
    height, width = shape
    half = width // 2 + 1
    k = np.arange(height)
    k = np.where(2 * k <= height, k, k - height)
    q = np.arange(half)
    once = np.where((q == 0) | (2 * q == width), 1.0, 2.0)
    down, right = np.array([k**0, k, k * k]), np.array([once, once * q, once * q * q])
    image = xp.reshape(products, (products.shape[0], height, half))
    a, b = 2.0 * np.pi / height, 2.0 * np.pi / width
    at = starts.copy()
    for _ in range(n_steps):
        rows = down * _turns(at[:, 0], height, height).conj()[:, None, :]
        columns = right * _turns(at[:, 1], width, half).conj()[:, None, :]
        sums = placed(rows, products, "complex") @ (
            image @ xp.matrix_transpose(placed(columns, products, "complex"))
        )
        T = to_numpy(sums, xp).astype(np.complex128)
        sign = np.where(T[:, 0, 0].real < 0.0, -1.0, 1.0)
        g0, g1 = -sign * a * T[:, 1, 0].imag, -sign * b * T[:, 0, 1].imag
        h00, h01 = -sign * a * a * T[:, 2, 0].real, -sign * a * b * T[:, 1, 1].real
        h11 = -sign * b * b * T[:, 0, 2].real
        if height > 1:
            determinant = h00 * h11 - h01 * h01
            good = (h00 < 0.0) & (determinant > 0.0)
            over = np.where(good, determinant, 1.0)
            d0 = np.where(good, -(h11 * g0 - h01 * g1) / over, 0.0)
            d1 = np.where(good, -(h00 * g1 - h01 * g0) / over, 0.0)
        else:
            d0, d1 = np.zeros(len(at)), np.where(h11 < 0.0, -g1 / np.where(h11 < 0.0, h11, 1), 0.0)
        at += np.clip(np.column_stack([d0, d1]), -0.5, 0.5)
    return at


def _explained(products: Any, phases: Any, powers: Any, bins: Any) -> tuple[Floats, Floats]:
    """Return each channel's inner product with a shifted source, and that one's energy."""
    xp = xp_of(products)
    # as in `_place`, for all channels
    c = xp.sum(xp.real(products * xp.conj(phases)) * bins, axis=1)
    energy = squares(phases) @ powers
    return to_numpy(c, xp).astype(np.float64), to_numpy(energy, xp).astype(np.float64)


def device_delay_sweep(
    X: Any, sources: Any, weights: Floats, delays: Floats, search: Any, order: Any, n_steps: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """Improve delays and weights as `delay_sweep` does, spectra on a device.

    Returns
    -------
    weights, delays : ndarray of shape (m, n) and (m, n, 2)
    gram, target : ndarray of shape (m, n, n) and (m, n)
        Normal equations of the weights of each channel at these delays.
    """
    xp = xp_of(X)
    weights, delays = weights.T.copy(), delays.swapaxes(0, 1).copy()  # source by source
    phases = device_phases(delays, search.shape, X)
    bins = placed(bin_weights(search.shape), X, "real")
    residual = X - mixed(weights.T, phases, sources)
    for j in range(sources.shape[0]) if order is None else order:
        source, here = sources[j, ...], phases[j, ...]
        residual = residual + placed(weights[j], X, "complex")[:, None] * here * source
        products = residual * xp.conj(source)
        start = _best_whole(products, search)
        if search.subsample:
            sizes = np.array(search.shape, dtype=np.float64)
            off = np.abs((start - delays[j] + sizes / 2) % sizes - sizes / 2).max(axis=1)
            start = np.where((off <= 1.0)[:, None], delays[j], start)
            climbed = _climbed(products, search.shape, n_steps, start)
            far = np.abs(climbed - start).max(axis=1) > 1.5
            start = np.where(far[:, None], start, climbed)
        after = device_phases(start, search.shape, X)
        powers = bins * squares(source)
        old, old_energy = _explained(products, here, powers, bins)
        new, new_energy = _explained(products, after, powers, bins)
        old_weight = np.divide(old, old_energy, out=np.zeros_like(old), where=old_energy > 0)
        new_weight = np.divide(new, new_energy, out=np.zeros_like(new), where=new_energy > 0)
        if search.nonneg:
            old_weight, new_weight = np.maximum(old_weight, 0.0), np.maximum(new_weight, 0.0)
        better = new_weight * new > old_weight * old
        weights[j] = np.where(better, new_weight, old_weight)
        delays[j] = np.where(better[:, None], start, delays[j])
        chosen = xp.asarray(better, device=X.device)
        phases[j, ...] = xp.where(chosen[:, None], after, here)
        residual = residual - placed(weights[j], X, "complex")[:, None] * phases[j, ...] * source
    parts = xp.permute_dims(phases * sources[:, None, :], (1, 0, 2))
    weighed = xp.conj(parts) * bins
    gram = to_numpy(xp.real(weighed @ xp.matrix_transpose(parts)), xp).astype(np.float64)
    target = to_numpy(xp.real(weighed @ X[..., None])[..., 0], xp).astype(np.float64)
    return weights.T, delays.swapaxes(0, 1), gram, target


def device_sources(
    X: Any, weights: Floats, phases: Any, shrink: float, shape: tuple[int, int], sources: Any
) -> tuple[Any, float]:
    """Return sources + (AᴴA + shrink I)⁻¹ Aᴴ r of all bins at once, and the squared error.

    Cholesky's factor of the small matrices entry by entry, each entry a vector over bins.
    """
    xp = xp_of(X)
    n = sources.shape[0]
    mixing = placed(weights.T, X, "complex")[:, :, None] * phases  # α_ij e^{−2πi fτ_ij}
    rest = X - xp.sum(mixing * sources[:, None, :], axis=0)
    factor: list[list[Any]] = []
    y: list[Any] = []
    for j in range(n):
        back = xp.conj(mixing[j, ...])
        here = xp.sum(back * rest, axis=0)
        row: list[Any] = []
        for k in range(j + 1):
            v = xp.sum(back * mixing[k, ...], axis=0)
            for l in range(k):
                v = v - row[l] * xp.conj(factor[k][l] if k < j else row[l])
            if k < j:
                row.append(v / factor[k][k])
                here = here - row[k] * y[k]
            else:
                size = xp.clip(xp.real(v) + shrink, shrink, None)
                row.append(xp.astype(xp.sqrt(size), X.dtype))
        factor.append(row)
        y.append(here / row[j])
    for j in range(n - 1, -1, -1):
        for k in range(j + 1, n):
            y[j] = y[j] - xp.conj(factor[k][j]) * y[k]
        y[j] = y[j] / factor[j][j]
    step = xp.stack(y)
    rest = rest - xp.sum(mixing * step[:, None, :], axis=0)
    bins = placed(bin_weights(shape), X, "real")
    return sources + step, float(xp.sum(squares(rest) * bins))


def device_patterns(
    powers: Any, n_sources: int, rng: np.random.RandomState, like: Any, max_iter: int, tol: float
) -> tuple[Any, Floats]:
    """Factorize power spectra (m, n_bins) as `euclidean_factors` does without delays.

    Returns
    -------
    patterns : array of shape (n_sources, n_bins)
    weights : ndarray of shape (m, n_sources)
    """
    xp = xp_of(powers)
    m, n_bins = powers.shape
    shares = rng.exponential(size=(n_sources, m))
    spread = rng.uniform(0.5, 1.5, (n_sources, 1, n_bins))[:, 0]
    S = (placed(shares, like, "real") @ powers) * placed(spread, like, "real")
    S = S / xp.linalg.vector_norm(S, axis=1, keepdims=True)
    W = np.zeros((m, n_sources))
    energy = last = float(xp.sum(powers**2))
    for _ in range(max_iter):
        gram = to_numpy(S @ S.T, xp).astype(np.float64)
        slopes = to_numpy(powers @ S.T, xp).astype(np.float64)
        for j in range(n_sources):
            size = gram[j, j]
            step = (slopes[:, j] - W @ gram[:, j]) / size if size > 0.0 else -W[:, j]
            W[:, j] = np.maximum(W[:, j] + step, 0.0)
        drawn, inner = placed(W.T, like, "real") @ powers, W.T @ W
        for j in range(n_sources):
            if inner[j, j] > 0.0:
                pull = drawn[j, :] - placed(inner[j], like, "real") @ S
                S[j, :] = xp.clip(S[j, :] + pull / float(inner[j, j]), 0.0, None)
        norms = to_numpy(xp.linalg.vector_norm(S, axis=1), xp).astype(np.float64)
        norms = np.where(norms > 0.0, norms, 1.0)
        S, W = S / placed(norms, like, "real")[:, None], W * norms
        error = float(xp.sum((powers - placed(W, like, "real") @ S) ** 2))
        if abs(last - error) <= tol * energy:
            break
        last = error
    return S, W
