"""Signals from the moduli of their transforms: phases by projections, moments and neighbours.

Reference: Omlor and Giese (2011), "Anechoic blind source separation using Wigner marginals", JMLR
12:1111-1148, section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from sklearn.utils import check_random_state

from octavo.decomposition.anechoic.canonical_transforms import into_domain
from octavo.engine.estimators.arrays import Complexes, Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import check_squares, real_array

__all__ = [
    "PhaseRetrieval",
    "gerchberg_saxton",
    "phase_from_close_spectra",
    "phase_from_group_delay",
]

_FAINT = 1e-10  # powers below this share of the largest say nothing about a phase


class PhaseRetrieval(NamedTuple):
    """A signal found from moduli.

    ``signal`` in time (complex), ``error``, the distance of its moduli from those given, as the
    last cycle met them, relative to their norm, ``errors`` of all cycles, and ``n_iter``, the
    number of cycles.
    """

    signal: Complexes
    error: float
    errors: Floats
    n_iter: int


def _transform(x: np.ndarray, domain: Any, inverse: bool = False) -> Complexes:
    """Apply a domain: one transform for each axis of the signal, the last axis last."""
    for axis, part in enumerate(domain):
        x = np.moveaxis(into_domain(np.moveaxis(x, axis, -1), part, inverse=inverse), -1, axis)
    return x


def _domains(domains: Any, n_axes: int) -> list[tuple[Any, ...]]:
    """Return for each domain its transforms, one an axis."""
    found = []
    for domain in domains:
        if n_axes == 1:
            found.append((domain,))
            continue
        if np.ndim(domain) == 0 or len(domain) != n_axes:
            raise ValueError(f"A domain of images must be a pair of transforms, got {domain!r}.")
        found.append(tuple(domain))
    return found


def _cycle(
    x: Complexes, moduli: Floats, domains: list[tuple[Any, ...]], real: bool
) -> tuple[Complexes, float]:
    """Impose each modulus once, keeping the phase: the inner loop of Algorithm 1.

    Returns the signal, and how far its moduli were from those imposed on the way.
    """
    off = 0.0
    for modulus, domain in zip(moduli, domains):
        y = _transform(x, domain)
        size = np.abs(y)
        off += float(np.sum((size - modulus) ** 2))
        # Algorithm 1: phase kept, modulus imposed
        turned = np.where(size > 0, y / np.where(size > 0, size, 1.0), 1.0)
        x = _transform(turned * modulus, domain, inverse=True)
        x = x.real.astype(np.complex128) if real else x
    return x, float(np.sqrt(off))


@checked
def gerchberg_saxton(
    moduli: Any,
    domains: Sequence[Any],
    *,
    real: bool = False,
    n_init: int = 10,
    max_iter: int = 200,
    tol: float = 1e-6,
    random_state: Any = None,
) -> PhaseRetrieval:
    """Find a signal whose transforms have given moduli, by imposing them in turn (Algorithm 1).

    Parameters
    ----------
    moduli : array-like of shape (n_domains, n_times) or (n_domains, height, width)
        The moduli |L(M)x|, not squared, one for each domain.
    domains : sequence
        Of each domain its transform: an angle of `fractional_fourier` (0 is time, π/2 frequency),
        or four numbers of `linear_canonical_transform`. For images a pair of these.
    real : bool, default=False
        Whether the signal is known to be real.
    n_init : int, default=10
        Number of starts with random phases; the best is kept.
    max_iter : int, default=200
        Most cycles from each start.
    tol : float, default=1e-6
        Ends when a cycle moves the signal by less than this part of its norm.
    random_state : int, RandomState instance or None, default=None
        Seed of the phases.

    Returns
    -------
    PhaseRetrieval
        The signal with its error.

    Notes
    -----
    It creeps for domains that are close to each other, and stays in local optima; a constant phase
    (or sign) is never determined, nor a shift where all domains are frequency.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import gerchberg_saxton
    >>> x = np.array([0.0, 1.0, 2.0, 1.0, 0.0, 0.0, -1.0, 0.0])
    >>> moduli = [np.abs(x), np.abs(np.fft.fft(x, norm="ortho"))]
    >>> found = gerchberg_saxton(moduli, [0.0, np.pi / 2], real=True, random_state=0)
    >>> print(f"{found.error:.4f}")
    0.0000
    """
    values = real_array(moduli, "moduli")
    if values.ndim not in (2, 3) or values.size == 0:
        raise ValueError(
            "moduli must have a row for each domain: the shape (n_domains, n_times), or "
            f"(n_domains, height, width) for images, got {values.shape}."
        )
    if (values < 0).any():
        raise ValueError("moduli must not be negative; give |L(M)x|, not L(M)x.")
    check_squares(values, "moduli")
    plans = _domains(domains, values.ndim - 1)
    if len(plans) != len(values):
        raise ValueError(
            f"There must be a domain for each of {len(values)} moduli, got {len(plans)}."
        )
    for name, count in (("n_init", n_init), ("max_iter", max_iter)):
        if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
            raise ValueError(f"{name} must be a whole number, at least 1, got {count!r}.")
    if not tol >= 0:
        raise ValueError(f"tol must be a number, at least 0, got {tol!r}.")
    size = float(values.max()) or 1.0
    values, rng = values / size, check_random_state(random_state)
    fits = [_one_start(values, plans, real, max_iter, tol, rng) for _ in range(n_init)]
    best = min(fits, key=lambda fit: fit.error)
    return best._replace(signal=best.signal * size)


def _one_start(
    moduli: Floats, domains: list[tuple[Any, ...]], real: bool, max_iter: int, tol: float, rng: Any
) -> PhaseRetrieval:
    turns = np.exp(2j * np.pi * rng.uniform(size=moduli.shape[1:]))
    x = _transform(moduli[0] * turns, domains[0], inverse=True)
    errors: list[float] = []
    norm = max(float(np.linalg.norm(moduli)), np.finfo(float).tiny)
    for _ in range(max_iter):
        moved, off = _cycle(x, moduli, domains, real)
        change = float(np.linalg.norm(moved - x))
        x = moved
        errors.append(off / norm)
        if change <= tol * max(float(np.linalg.norm(x)), np.finfo(float).tiny):
            break
    return PhaseRetrieval(x, errors[-1], np.array(errors), len(errors))


def _summed(change: Floats) -> Floats:
    """Return the integral of a periodic signal, its mean apart, through its Fourier series."""
    n = len(change)
    k = np.fft.fftfreq(n, 1.0 / n)
    spectrum = np.fft.fft(change)
    turns = np.where(k == 0, 1.0, 2j * np.pi * k / n)
    spectrum = np.where((k == 0) | (2 * np.abs(k) == n), 0.0, spectrum / turns)
    return np.fft.ifft(spectrum).real


@checked
def phase_from_close_spectra(
    power: Any, power_nearby: Any, b: float, *, power_before: Any = None
) -> Floats:
    """Return the phase of a signal from its power and that of a Fresnel transform close by.

    The flow of power under the Fresnel transform is |x|² φ'; it is summed from the change of power
    between two rates, Eq. (35), divided by the power and summed again.

    Parameters
    ----------
    power : array-like of shape (n_times,)
        |x|². It should fade towards the first and the last sample.
    power_nearby : array-like of shape (n_times,)
        |fresnel_transform(x, b)|².
    b : float
        The rate, small.
    power_before : array-like of shape (n_times,), default=None
        |fresnel_transform(x, -b)|²: with it the derivative is exact to second order.

    Returns
    -------
    phase : ndarray of shape (n_times,)
        The phase, zero where the power is largest. It has no meaning where there is no power.

    Notes
    -----
    With ψ_b the Fresnel transform, ∂|ψ_b|²/∂b = -(|ψ|² φ')' / 2π. As printed, Eq. (35) lacks the
    factor and has the sign of a reversed axis.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import fresnel_transform, phase_from_close_spectra
    >>> t = (np.arange(128) - 64) / np.sqrt(128)
    >>> x = np.exp(-np.pi * t**2 + 0.7j * np.pi * t**2)
    >>> powers = [np.abs(fresnel_transform(x, b)) ** 2 for b in (0.0, 1e-3, -1e-3)]
    >>> phase = phase_from_close_spectra(powers[0], powers[1], 1e-3, power_before=powers[2])
    >>> print(np.round(phase[[64, 72]] / np.pi, 3))
    [0.    0.35]
    """
    rows = [real_array(power, "power"), real_array(power_nearby, "power_nearby")]
    if power_before is not None:
        rows.append(real_array(power_before, "power_before"))
    if rows[0].ndim != 1 or rows[0].size < 2 or any(row.shape != rows[0].shape for row in rows):
        raise ValueError(
            f"All powers must be signals of one length, got {[row.shape for row in rows]}."
        )
    if any((row < 0).any() for row in rows):
        raise ValueError("power must not be negative.")
    b = float(b)
    if not np.isfinite(b) or abs(b) < 1e-100:
        raise ValueError(f"b must be a finite number other than zero, got {b}.")
    top = max(float(row.max()) for row in rows)
    if top == 0.0:
        return np.zeros_like(rows[0])
    rows = [row / top for row in rows]
    # Eq. (35), a difference for ∂/∂B
    change = (rows[1] - rows[0]) / b if len(rows) == 2 else (rows[1] - rows[2]) / (2.0 * b)
    step = 1.0 / np.sqrt(len(change))  # between samples, in units of time
    flow = -2.0 * np.pi * step * _summed(change)  # |x|² φ', but for a constant:
    flow -= flow[rows[0].argmin()]  # nothing flows where there is nothing
    seen = np.flatnonzero(rows[0] > _FAINT * rows[0].max())
    if seen.size < 2:
        return np.zeros_like(rows[0])
    slope = CubicSpline(seen, flow[seen] / rows[0][seen])
    phase = step * slope.antiderivative()(np.clip(np.arange(len(flow)), seen[0], seen[-1]))
    return phase - phase[rows[0].argmax()]


@checked
def phase_from_group_delay(X: Any, weights: Any, delays: Any, power: Any) -> Floats:
    """Return the phases of the spectra of sources, from those of mixtures, Eq. (33).

    At each frequency |X_i|² φ'(X_i) = Σ_j α_ij² |S_j|² (φ'(S_j) - 2πτ_ij/N): a linear system for
    the derivatives of the sources' phases, which are then summed. Phases need not be unwrapped.

    Parameters
    ----------
    X : array-like of shape (n_channels, n_times)
        Mixtures.
    weights : array-like of shape (n_channels, n_sources)
        Weights; their signs do not matter.
    delays : array-like of shape (n_channels, n_sources)
        Delays in samples.
    power : array-like of shape (n_sources, n_times // 2 + 1)
        Power spectra of the sources, |rfft(s)|².

    Returns
    -------
    phase : ndarray of shape (n_sources, n_times // 2 + 1)
        Phases of rfft(s), zero at frequency zero.

    Notes
    -----
    Sources must not overlap in frequency, as everywhere that cross terms are dropped. Where a
    source has no power its phase does not change, so that errors add up over gaps.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import phase_from_group_delay
    >>> source = np.exp(-0.5 * ((np.arange(64) - 20) / 2) ** 2)
    >>> spectrum = np.fft.rfft(source)
    >>> X = [2.0 * np.roll(source, 5)]
    >>> phase = phase_from_group_delay(X, [[2.0]], [[5.0]], [np.abs(spectrum) ** 2])
    >>> print(f"{abs(np.exp(1j * phase[0, 3]) - spectrum[3] / abs(spectrum[3])):.6f}")
    0.000000
    """
    mixtures = real_array(X, "X")
    alphas, taus = real_array(weights, "weights"), real_array(delays, "delays")
    powers = real_array(power, "power")
    if mixtures.ndim != 2 or mixtures.size == 0:
        raise ValueError(f"X must be of shape (n_channels, n_times), got {mixtures.shape}.")
    if alphas.ndim != 2 or len(alphas) != len(mixtures) or taus.shape != alphas.shape:
        raise ValueError(
            "weights and delays must have a row for each channel and a column for each source, got "
            f"{alphas.shape} and {taus.shape} for {len(mixtures)} channels."
        )
    if powers.shape != (alphas.shape[1], mixtures.shape[1] // 2 + 1):
        raise ValueError(
            f"power must be of the shape {(alphas.shape[1], mixtures.shape[1] // 2 + 1)}, got "
            f"{powers.shape}."
        )
    check_squares(mixtures, "X")
    for name, values in (("weights", alphas), ("delays", taus), ("power", powers)):
        if np.abs(values).max(initial=0.0) > 1e70:
            raise ValueError(f"{name} are too large: their squares overflow.")
    return group_delay_phases(mixtures, alphas**2, taus, powers)


def group_delay_phases(X: Floats, squares: Floats, delays: Floats, powers: Floats) -> Floats:
    """See `phase_from_group_delay`; `squares` are those of the weights."""
    length = X.shape[1]
    spectra = np.fft.rfft(X)
    # dX/dk is the transform of -2πi t/N x(t): no phase needs to be unwrapped
    times = np.arange(length) / length
    slopes = -2j * np.pi * np.fft.fft(times * X)[:, : spectra.shape[1]]
    moments = (spectra.conj() * slopes).imag  # |X|² φ'
    moments += np.einsum("ij,ij,jf->if", squares, 2.0 * np.pi / length * delays, powers)
    flows = np.linalg.pinv(squares) @ moments  # |S|² φ'
    seen = powers > _FAINT * powers.max(axis=1, keepdims=True)  # Eq. (33) in least squares
    slope = np.where(seen, flows / np.where(seen, powers, 1.0), 0.0)
    phases = np.zeros_like(powers)
    # the phase by trapezoids, zero at frequency zero
    phases[:, 1:] = np.cumsum(0.5 * (slope[:, 1:] + slope[:, :-1]), axis=1)
    return phases
