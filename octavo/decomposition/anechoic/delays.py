"""Delays and weights of known sources in mixtures: least squares by Gauss-Seidel, and its bound.

Reference: Omlor and Giese (2011), "Anechoic blind source separation using Wigner marginals", JMLR
12:1111-1148, Appendix A.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from octavo.decomposition.anechoic.device_sweeps import device_delay_sweep
from octavo.decomposition.anechoic.shifts import (
    bin_weights,
    fill_phases,
    from_spectra,
    shift_phases,
    to_spectra,
)
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Complexes, Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import check_squares, real_array

__all__ = ["DelayEstimate", "delay_crlb", "estimate_delays"]

_MOST_ORDERS = 6  # of the sources, from which the search starts


class DelayEstimate(NamedTuple):
    """Weights and delays of sources in mixtures.

    ``weights`` (n_channels, n_sources) and ``delays``, the same for signals and with a last axis
    (down, right) for images; without the first axis for a single mixture.
    """

    weights: Floats
    delays: Floats


class Search(NamedTuple):
    """How delays are looked for.

    ``shape`` of an image (signals have height 1), ``nonneg`` weights, ``subsample`` for delays
    between samples, and ``allowed``, a mask of whole delays (height, width), or None for all.
    """

    shape: tuple[int, int]
    nonneg: bool = False
    subsample: bool = True
    allowed: Any = None


@njit(cache=True)
def _climb(products, i, height, width, n_steps, down, right):
    """Take Newton's steps on Σ w Re(C e^{iωτ}) of channel i from a pair of delays."""
    half = width // 2 + 1
    for _ in range(n_steps):
        down_step = 2.0 * np.pi * down / height
        right_step = 2.0 * np.pi * right / width
        turn = complex(np.cos(right_step), np.sin(right_step))
        value = g0 = g1 = h00 = h01 = h11 = 0.0
        for p in range(height):
            kp = p if 2 * p <= height else p - height
            row = complex(np.cos(down_step * kp), np.sin(down_step * kp))
            s0 = s1 = s2 = t0 = t1 = 0.0
            here = row
            for q in range(half):
                if q % 64 == 0:  # rounding of the products does not add up
                    here = row * complex(np.cos(right_step * q), np.sin(right_step * q))
                z = products[i, p * half + q] * here
                here *= turn
                w = 1.0 if q == 0 or 2 * q == width else 2.0
                s0 += w * z.real
                s1 += w * q * q * z.real
                s2 += w * q * z.real
                t0 += w * z.imag
                t1 += w * q * z.imag
            value += s0
            g0 -= kp * t0
            g1 -= t1  # slopes in angles: a factor 2πk/N each
            h00 -= kp * kp * s0
            h01 -= kp * s2
            h11 -= s1
        a, b = 2.0 * np.pi / height, 2.0 * np.pi / width
        g0, g1, h00, h01, h11 = a * g0, b * g1, a * a * h00, a * b * h01, b * b * h11
        if value < 0.0:  # a peak of |C|: the weight may be negative
            g0, g1, h00, h01, h11 = -g0, -g1, -h00, -h01, -h11
        d0 = d1 = 0.0
        determinant = h00 * h11 - h01 * h01
        # a maximum along both axes, else no step
        if height > 1 and h00 < 0.0 and determinant > 0.0:
            d0 = -(h11 * g0 - h01 * g1) / determinant
            d1 = -(h00 * g1 - h01 * g0) / determinant
        elif height == 1 and h11 < 0.0:
            d1 = -g1 / h11
        down += min(max(d0, -0.5), 0.5)
        right += min(max(d1, -0.5), 0.5)
    return down, right


@njit(cache=True)
def _place(
    products, source, starts, height, width, n_steps, nonneg, moved, after, delays, weights, phases
):  # fmt: skip
    """Move one source in every channel to the better of its old delay and a new one, in place.

    `moved` (1, 2) and `after` (1, n_bins) are work space: the new delay and its phases.
    """
    half = width // 2 + 1
    for i in range(len(products)):
        down, right = _climb(products, i, height, width, n_steps, starts[i, 0], starts[i, 1])
        if max(abs(down - starts[i, 0]), abs(right - starts[i, 1])) > 1.5:
            down, right = starts[i, 0], starts[i, 1]
        moved[0, 0], moved[0, 1] = down, right
        fill_phases(moved, height, width, after)
        # inner products with the source at both shifts, and the energies of both
        old = old_energy = new = new_energy = 0.0
        q = 0
        for f in range(len(source)):
            w = 1.0 if q == 0 or 2 * q == width else 2.0
            q = q + 1 if q + 1 < half else 0
            z, s, here, there = products[i, f], source[f], phases[i, f], after[0, f]
            power = w * (s.real**2 + s.imag**2)
            old += w * (z.real * here.real + z.imag * here.imag)
            new += w * (z.real * there.real + z.imag * there.imag)
            old_energy += power * (here.real**2 + here.imag**2)
            new_energy += power * (there.real**2 + there.imag**2)
        old_weight = old / old_energy if old_energy > 0.0 else 0.0  # α_j of Eq. (36) at this delay
        new_weight = new / new_energy if new_energy > 0.0 else 0.0
        if nonneg:
            old_weight, new_weight = max(old_weight, 0.0), max(new_weight, 0.0)
        weights[i] = old_weight
        if new_weight * new > old_weight * old:  # the fall of the squared error is c²/energy
            weights[i], delays[i, 0], delays[i, 1] = new_weight, down, right
            for f in range(len(source)):
                phases[i, f] = after[0, f]


def _best_whole(products: Complexes, search: Search) -> Floats:
    # the correlation of every shift at once
    """Return the whole delays of the largest cross-correlations, Eq. (37)."""
    height, width = search.shape
    c = from_spectra(products, search.shape)
    c = c if search.nonneg else np.abs(c)
    if search.allowed is not None:
        c = np.where(search.allowed, c, -np.inf)
    place = c.reshape(len(c), -1).argmax(axis=1)
    down, right = np.divmod(place, width)
    return np.column_stack(
        [down - height * (2 * down > height), right - width * (2 * right > width)]
    ).astype(np.float64)


def _distance(a: Floats, b: Floats, shape: tuple[int, int]) -> Floats:
    """Return the largest distance of delays on the circle, over both axes."""
    sizes = np.array(shape, dtype=np.float64)
    return np.abs((a - b + sizes / 2) % sizes - sizes / 2).max(axis=-1)


def joint_weights(
    X: Complexes, phases: Complexes, sources: Complexes, weights: Floats, search: Search
) -> Floats:
    """Return least-squares weights of shifted sources, phases of shape (n, m, F); never worse ones.

    Weights so far are kept where rounding would make the new ones worse.
    """
    parts = (phases * sources[:, None]).swapaxes(0, 1)
    weighed = parts.conj() * bin_weights(search.shape)
    gram = (weighed @ parts.swapaxes(1, 2)).real
    target = (weighed @ X[..., None])[..., 0].real
    return _regressed(gram, target, weights, search.nonneg)


def _regressed(gram: Floats, target: Floats, weights: Floats, nonneg: bool) -> Floats:
    """Solve the normal equations of each channel; keep weights so far where that is worse."""
    n = weights.shape[1]
    if nonneg:
        found = weights.copy()
        for _ in range(10):  # coordinate descent: each step is exact, so none is worse
            for j in range(n):
                slope = target[:, j] - np.einsum("ij,ij->i", gram[:, j], found)
                d = gram[:, j, j]
                # normal equation of one weight
                step = np.divide(slope, d, out=np.zeros_like(slope), where=d > 0)
                found[:, j] = np.maximum(found[:, j] + step, 0.0)
        return found
    scale = np.einsum("ijj->i", gram)[:, None, None] + np.finfo(float).tiny
    found = np.linalg.solve(gram + 1e-14 * scale * np.eye(n), target[..., None])[..., 0]

    def cost(w):
        return np.einsum("ij,ijk,ik->i", w, gram, w) - 2.0 * np.einsum("ij,ij->i", w, target)

    return np.where((cost(found) <= cost(weights))[:, None], found, weights)


def delay_sweep(
    X: Any,
    sources: Any,
    weights: Floats,
    delays: Floats,
    search: Search,
    *,
    order: Any = None,
    n_steps: int = 3,
) -> tuple[Floats, Floats]:
    """Improve the delays and weights of all channels, one source after the other, Eq. (36).

    Parameters
    ----------
    X : array of shape (m, n_bins)
        Spectra of the mixtures.
    sources : array of shape (n, n_bins)
        Spectra of the sources, where those of the mixtures are.
    weights : ndarray of shape (m, n)
        Weights so far.
    delays : ndarray of shape (m, n, 2)
        Delays so far.
    search : Search
        What delays and weights may be.
    order : sequence of int, optional
        In which order sources are visited.
    n_steps : int, default=3
        Newton steps between samples.

    Returns
    -------
    weights, delays : ndarray
        With an error in no channel above that before, rounding apart.
    """
    if not isinstance(X, np.ndarray):
        weights, delays, gram, target = device_delay_sweep(
            X, sources, weights, delays, search, order, n_steps
        )
        return _regressed(gram, target, weights, search.nonneg), delays
    weights, delays = weights.T.copy(), delays.swapaxes(0, 1).copy()  # source by source
    phases = shift_phases(delays, search.shape)
    residual = X - np.einsum("ji,jif,jf->if", weights, phases, sources)
    for j in range(len(sources)) if order is None else order:
        # Gauss-Seidel: what the other sources leave
        residual += weights[j][:, None] * phases[j] * sources[j]
        products = residual * sources[j].conj()
        start = _best_whole(products, search)
        if search.subsample:
            near = _distance(start, delays[j], search.shape) <= 1.0
            start = np.where(near[:, None], delays[j], start)
        steps = n_steps if search.subsample else 0
        place = products, sources[j], start, *search.shape, steps, search.nonneg
        _place(*place, np.empty((1, 2)), np.empty_like(X[:1]), delays[j], weights[j], phases[j])
        residual -= weights[j][:, None] * phases[j] * sources[j]
    found = joint_weights(X, phases, sources, weights.T, search)
    return found, delays.swapaxes(0, 1)


def misfit(X: Complexes, sources: Complexes, weights: Floats, delays: Floats, shape: Any) -> Floats:
    """Return the squared error of each channel."""
    phases = shift_phases(delays, shape)
    residual = X - np.einsum("ij,ijf,jf->if", weights, phases, sources)
    return (residual.real**2 + residual.imag**2) @ bin_weights(shape)


def _gauss_newton(
    X: Complexes, sources: Complexes, weights: Floats, delays: Floats, search: Search
) -> tuple[Floats, Floats]:
    """Finish by joint steps in all weights and delays: Gauss-Seidel creeps where sources overlap.

    A step is taken in the channels whose error it lowers.
    """
    (height, width), n = search.shape, len(sources)
    axes = (1,) if height == 1 else (0, 1)
    down, right = np.fft.fftfreq(height), np.fft.rfftfreq(width)
    rates = np.stack(np.broadcast_arrays(down[:, None], right), axis=-1).reshape(-1, 2)
    rates = -2j * np.pi * np.where(np.abs(rates) == 0.5, 0.0, rates)
    bins = bin_weights(search.shape)
    error = misfit(X, sources, weights, delays, search.shape)
    for _ in range(8):
        parts = shift_phases(delays, search.shape) * sources
        residual = X - np.einsum("ij,ijf->if", weights, parts)
        columns = np.concatenate(  # derivatives by weights, then by delays
            [parts, *(weights[..., None] * parts * rates[:, a] for a in axes)], axis=1
        )
        gram = ((columns.conj() * bins) @ columns.swapaxes(1, 2)).real
        slope = ((columns.conj() * bins) @ residual[..., None]).real
        size = np.einsum("ijj->ij", gram)
        size = np.where(size > 0, size, 1.0)  # a silent source stays where it is
        gram = gram + 1e-12 * size[:, None] * np.eye(size.shape[1])
        step = np.linalg.solve(gram, slope)[..., 0].reshape(len(X), -1, n)
        moved = delays.copy()
        for k, a in enumerate(axes):
            moved[..., a] += np.clip(step[:, 1 + k], -0.5, 0.5)
        tried = weights + step[:, 0]
        after = misfit(X, sources, tried, moved, search.shape)
        better = after < error
        if not better.any():
            break
        weights = np.where(better[:, None], tried, weights)
        delays = np.where(better[:, None, None], moved, delays)
        error = np.where(better, after, error)
    return weights, delays


def least_squares_delays(
    X: Complexes, sources: Complexes, search: Search, *, max_iter: int = 100, tol: float = 1e-12
) -> tuple[Floats, Floats]:
    """Return weights and delays of known sources, Eq. (36), the best of several orders of search.

    The first sweep takes sources greedily; which comes first decides where it ends, so every
    order of up to three sources is tried, and rotations of more.
    """
    m, n = len(X), len(sources)
    if n <= 3:
        orders = list(permutations(range(n)))
    else:
        orders = [tuple(np.roll(np.arange(n), -k)) for k in range(min(n, _MOST_ORDERS))]
    best = np.zeros((m, n)), np.zeros((m, n, 2))
    least = np.full(m, np.inf)
    energy = misfit(X, sources, *best, search.shape)
    for order in orders:
        weights, delays = np.zeros((m, n)), np.zeros((m, n, 2))
        last = energy
        for _ in range(max_iter):
            weights, delays = delay_sweep(X, sources, weights, delays, search, order=order)
            here = misfit(X, sources, weights, delays, search.shape)
            if np.all(last - here <= tol * energy):
                break
            last = here
        better = here < least
        least = np.where(better, here, least)
        best = (
            np.where(better[:, None], weights, best[0]),
            np.where(better[:, None, None], delays, best[1]),
        )
    if search.nonneg or not search.subsample:
        return best
    return _gauss_newton(X, sources, *best, search)


def correlation_delays(X: Complexes, sources: Complexes, search: Search) -> tuple[Floats, Floats]:
    """Return delays at the peaks of single cross-correlations, Eq. (37), and regressed weights."""
    n, m = len(sources), len(X)
    delays, weights = np.zeros((n, m, 2)), np.zeros((n, m))
    phases = shift_phases(delays, search.shape)
    for j, source in enumerate(sources):
        products = X * source.conj()
        start = _best_whole(products, search)
        steps = 6 if search.subsample else 0
        place = products, source, start, *search.shape, steps, search.nonneg
        _place(*place, np.empty((1, 2)), np.empty_like(X[:1]), delays[j], weights[j], phases[j])
    found = joint_weights(X, phases, sources, np.zeros((m, n)), search)
    return found, delays.swapaxes(0, 1)


def as_images(values: Any, name: str, *, single: tuple[int, ...]) -> tuple[Floats, bool, int]:
    """Return signals or images as (count, height, width), whether one came alone, and their axes.

    `single` are the numbers of axes that one signal or image may have.
    """
    array = real_array(values, name)
    if array.ndim not in {*single, *(k + 1 for k in single)} or array.size == 0:
        raise ValueError(f"{name} must hold signals or images, got the shape {array.shape}.")
    check_squares(array, name)
    alone = array.ndim == min(single) and len(single) == 1
    stack = array[None] if alone else array
    return (stack[:, None, :] if stack.ndim == 2 else stack), alone, stack.ndim - 1


@checked
def estimate_delays(
    x: Any,
    sources: Any,
    method: str = "ml",
    *,
    nonneg_weights: bool = False,
    subsample: bool = True,
) -> DelayEstimate:
    """Find how strongly and how late known sources occur in mixtures.

    Parameters
    ----------
    x : array-like of shape (n_times,) or (n_channels, n_times)
        A mixture or several; or images, (height, width) or (n_channels, height, width).
    sources : array-like of shape (n_sources, n_times)
        The sources; or images, (n_sources, height, width).
    method : {"ml", "xcorr"}, default="ml"
        Joint least squares by Gauss-Seidel, which is maximum likelihood under white noise; or the
        peak of each cross-correlation by itself, which is right for uncorrelated sources only.
    nonneg_weights : bool, default=False
        Whether weights must not be negative.
    subsample : bool, default=True
        Whether delays may lie between samples.

    Returns
    -------
    DelayEstimate
        ``weights`` and ``delays``, in (-n_times/2, n_times/2]; shifts are circular.

    Notes
    -----
    The least-squares problem has many local optima. The search starts from several orders of the
    sources; with sources that are almost shifted copies of each other it may still miss the best.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import estimate_delays, shift_fractional
    >>> source = np.exp(-0.5 * ((np.arange(64) - 20) / 3) ** 2)
    >>> x = 2.0 * shift_fractional(source, 7.25)
    >>> weights, delays = estimate_delays(x, [source])
    >>> print(np.round(weights, 4), np.round(delays, 4))
    [2.] [7.25]
    """
    if method not in ("ml", "xcorr"):
        raise ValueError(f"method must be 'ml' or 'xcorr', got {method!r}.")
    S, _, axes = as_images(sources, "sources", single=(1, 2))
    if np.ndim(sources) not in (2, 3):
        raise ValueError(
            "sources must have a row for each: the shape (n_sources, n_times) or (n_sources, "
            f"height, width), got {np.shape(sources)}."
        )
    mixtures, alone, _ = as_images(x, "x", single=(axes,))
    if mixtures.shape[1:] != S.shape[1:]:
        raise ValueError(
            f"x and sources must be of one length, got {np.shape(x)} and {np.shape(sources)}."
        )
    search = Search(S.shape[1:], bool(nonneg_weights), bool(subsample))
    size = max(np.abs(mixtures).max(), np.finfo(float).tiny)
    sizes = np.abs(S).max(axis=(1, 2))
    sizes = np.where(sizes > 0, sizes, 1.0)  # a silent source gets no weight
    solve = least_squares_delays if method == "ml" else correlation_delays
    weights, delays = solve(
        to_spectra(mixtures / size), to_spectra(S / sizes[:, None, None]), search
    )
    weights = weights * (size / sizes)
    delays = wrapped(delays, search.shape)
    delays = delays if axes == 2 else delays[..., 1]
    return DelayEstimate(weights[0], delays[0]) if alone else DelayEstimate(weights, delays)


def wrapped(delays: Floats, shape: tuple[int, int]) -> Floats:
    """Return delays in (-size/2, size/2] on both axes."""
    sizes = np.array(shape, dtype=np.float64)
    return -((-delays + sizes / 2) % sizes - sizes / 2)


@checked
def delay_crlb(sources: Any, weights: Any, snr: float, *, delays: Any = None) -> Floats:
    """Return the least root mean square error of unbiased estimates of delays, in samples.

    The square root of the Cramér-Rao bound for one mixture x(t) = Σ α_j s_j(t - τ_j) + white
    normal noise, with weights and delays unknown and sources known.

    Parameters
    ----------
    sources : array-like of shape (n_sources, n_times)
        The sources.
    weights : array-like of shape (n_sources,)
        Their weights α.
    snr : float
        Mean power of the mixture over that of the noise, in decibels.
    delays : array-like of shape (n_sources,), default=None
        Their delays τ, zero by default. They matter where sources overlap.

    Returns
    -------
    bound : ndarray of shape (n_sources,)
        The least standard deviation of each delay; infinite where a weight is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import delay_crlb
    >>> source = np.sin(2 * np.pi * 5 * np.arange(100) / 100)
    >>> print(np.round(delay_crlb([source], [1.0], snr=20.0), 4))
    [0.0318]
    """
    S, _, axes = as_images(sources, "sources", single=(1,))
    if axes != 1 or np.ndim(sources) != 2:
        raise ValueError(f"sources must be of shape (n_sources, n_times), got {np.shape(sources)}.")
    n = len(S)
    given = [real_array(weights, "weights"), np.zeros(n)]
    if delays is not None:
        given[1] = real_array(delays, "delays")
    for values, name in zip(given, ("weights", "delays")):
        if values.shape != (n,):
            raise ValueError(
                f"{name} must hold one number for each of {n} sources, got {values.shape}."
            )
    if not np.isfinite(float(snr)):
        raise ValueError(f"snr must be a finite number of decibels, got {snr!r}.")
    alphas, taus = given
    if np.abs(alphas).max() > 1e100:
        raise ValueError("weights are too large: their squares overflow.")
    length = S.shape[2]
    # delays do not depend on the units of sources: each is scaled to one
    sizes = np.abs(S).max(axis=(1, 2), keepdims=True)
    alphas = alphas * sizes[:, 0, 0]
    if not alphas.any():
        raise ValueError("Some weight and its source must differ from zero: there is no signal.")
    alphas = alphas / np.abs(alphas).max()
    spectra = np.fft.fft(S[:, 0] / np.where(sizes[:, 0] > 0, sizes[:, 0], 1.0), norm="ortho")
    k = np.fft.fftfreq(length, 1.0 / length)
    shifted = spectra * np.exp(-2j * np.pi / length * taus[:, None] * k)
    slope = 2j * np.pi / length * k * shifted
    if length % 2 == 0:
        slope[:, length // 2] = 0.0
    levels = np.fft.ifft(shifted, norm="ortho").real
    slopes = np.fft.ifft(slope, norm="ortho").real
    mixture = alphas @ levels
    variance = np.mean(mixture**2) / 10.0 ** (float(snr) / 10.0)
    seen = alphas != 0
    # derivatives of the mixture by weights and delays
    jacobian = np.vstack([levels[seen], -alphas[seen, None] * slopes[seen]])
    scale = np.linalg.norm(jacobian, axis=1)
    if not scale.all():
        raise ValueError("A source is constant or zero: its delay cannot be seen.")
    # Fisher's information of white noise, but for 1/σ²
    fisher = (jacobian / scale[:, None]) @ (jacobian / scale[:, None]).T
    if np.linalg.cond(fisher) > 1e14:
        raise ValueError("Sources at these delays depend on each other: delays cannot be told.")
    spread = np.sqrt(variance * np.diag(np.linalg.inv(fisher))) / scale
    bound = np.full(n, np.inf)
    bound[seen] = spread[len(scale) // 2 :]
    return bound


def _warmup() -> None:
    one = np.ones((1, 1), dtype=np.complex128)
    delay_sweep(one, one, np.zeros((1, 1)), np.zeros((1, 1, 2)), Search((1, 1)))
