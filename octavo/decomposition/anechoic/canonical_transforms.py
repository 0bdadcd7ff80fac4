"""Linear canonical transforms of sampled signals: Fourier, fractional Fourier, Fresnel, chirps.

Time and frequency of a signal of N samples are k / √N with the signed index k of the FFT: the
origin is the first sample, and everything is circular. Chirps, the Fresnel transform and the
FFT are unitary on that grid, and every other transform is made of them.

Reference: Omlor and Giese (2011), "Anechoic blind source separation using Wigner marginals", JMLR
12:1111-1148, sections 2.4 and 2.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from octavo.decomposition.anechoic.hermite_basis import hermite_basis, signed_index
from octavo.engine.estimators.arrays import Complexes
from octavo.engine.estimators.checked import checked

__all__ = ["fractional_fourier", "fresnel_transform", "linear_canonical_transform"]

_LARGEST_BASIS = 2048  # eigenvectors of longer signals would fill the memory; chirps take over
_FOURIER = np.array([[0.0, 1.0], [-1.0, 0.0]])
_EXACT = 1e-12


def _signal(x: Any, name: str = "x") -> np.ndarray:
    try:
        array = np.asarray(x)
        array = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64, copy=False)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers, got {type(x).__name__}.") from None
    if array.ndim == 0 or array.size == 0:
        raise ValueError(f"{name} must hold at least one sample, got the shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers; it contains NaN or infinity.")
    return array


def _finite_number(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number, got {value!r}.") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}.")
    return number


def _along(
    x: Any, parameters: Sequence[Any], axis: Any, transform: Callable[..., Complexes]
) -> Complexes:
    """Apply a transform along one axis, or one after the other along several."""
    y = _signal(x)
    axes = (axis,) if np.ndim(axis) == 0 else tuple(axis)
    if len(parameters) != len(axes):
        raise ValueError(
            f"Give one transform, or one for each axis: got {len(parameters)} for {len(axes)} axes."
        )
    for a, parameter in zip(axes, parameters):
        if not isinstance(a, (int, np.integer)) or not -y.ndim <= a < y.ndim:
            raise ValueError(f"axis must name axes of x, which has {y.ndim}, got {axis!r}.")
        y = np.moveaxis(transform(np.moveaxis(y, a, -1), parameter), -1, a)
    return y


@lru_cache(maxsize=32)
def _chirp(n: int, rate: float) -> Complexes:
    """Return exp(iπ rate k² / n); the turns are reduced before they become angles."""
    k = signed_index(n)
    chirp = np.exp(1j * np.pi * np.mod(rate * (k * k / n), 2.0))
    chirp.flags.writeable = False
    return chirp


def _fresnel(x: np.ndarray, b: float) -> Complexes:
    # the chirp in frequency: exactly covariant to shifts, A = 1 of Eq. (14)
    return np.fft.ifft(np.fft.fft(x) * _chirp(x.shape[-1], -b))


def _quarter_turns(x: np.ndarray, count: int) -> np.ndarray:
    """Apply the unitary Fourier transform `count` times, 0 to 3."""
    if count == 0:
        return x
    if count == 2:  # time is reversed about the origin
        return np.roll(x[..., ::-1], 1, axis=-1)
    return np.fft.fft(x, norm="ortho") if count == 1 else np.fft.ifft(x, norm="ortho")


def _rotated(x: np.ndarray, theta: float) -> Complexes:
    n = x.shape[-1]
    turns = theta / (np.pi / 2)
    if abs(turns - round(turns)) < 1e-15 * max(1.0, abs(turns)):
        return _quarter_turns(x, round(turns) % 4).astype(np.complex128)
    if n > _LARGEST_BASIS:
        c, s = math.cos(theta), math.sin(theta)
        return _canonical(x, np.array([[c, s], [-s, c]]))
    basis, orders = hermite_basis(n)
    # eigenvalues e^(−iθk) of Hermite functions
    return ((x @ basis) * np.exp(-1j * theta * orders)) @ basis.T


def _phase(M: np.ndarray) -> complex:
    """Return the factor that makes one-parameter subgroups of transforms groups without signs.

    Chirps and Fresnel transforms need none; a matrix that is a rotation by θ in some coordinates
    has the half turn exp(iθ/2) of the ground state taken out, as Eq. (13) does.
    """
    trace = M[0, 0] + M[1, 1]
    if trace >= 2.0 - 1e-15:
        return 1.0
    side = 1.0 if M[0, 1] >= 0 else -1.0
    angle = math.pi if trace <= -2.0 else math.acos(trace / 2.0)
    return complex(np.exp(0.5j * side * angle))


def _chirp_steps(M: np.ndarray) -> tuple[float, float, float, float]:
    """Return how steep M's three chirps are at worst, and their rates: multiply, Fresnel, multiply.

    [[a, b], [c, d]] = [[1, 0], [(d - 1)/b, 1]] [[1, b], [0, 1]] [[1, 0], [(a - 1)/b, 1]].
    """
    (a, b), (_, d) = M
    if abs(b) < _EXACT:
        return math.inf, 0.0, 0.0, 0.0
    first, last = (a - 1.0) / b, (d - 1.0) / b
    return max(abs(first), abs(b), abs(last)), first, b, last


def _canonical(x: np.ndarray, M: np.ndarray) -> Complexes:
    """Apply the transform of M, Eq. (12): of four ways to make it, that of the least chirps."""
    turns, first, middle, last, factor = _plan(M)
    n = x.shape[-1]
    y = _quarter_turns(x, turns) * _chirp(n, first)
    return _fresnel(y, middle) * (factor * _chirp(n, last)) if middle else y * factor


def _canonical_inverse(y: np.ndarray, M: np.ndarray) -> Complexes:
    """Undo `_canonical` step by step, which is exact for every signal."""
    turns, first, middle, last, factor = _plan(M)
    n = y.shape[-1]
    x = _fresnel(y * (np.conj(factor) * _chirp(n, -last)), -middle) if middle else y / factor
    return _quarter_turns(x * _chirp(n, -first), -turns % 4)


def _plan(M: np.ndarray) -> tuple[int, float, float, float, complex]:
    """Return quarter turns to be taken first, the rates of three chirps, and a factor."""
    (a, b), (c, d) = M
    if abs(b) < _EXACT and abs(abs(a) - 1.0) < _EXACT:  # a product with a chirp
        return (0 if a > 0 else 2), c / a, 0.0, 0.0, 1.0
    if abs(a) < _EXACT and abs(d) < _EXACT and abs(abs(b) - 1.0) < _EXACT:
        return (1 if b > 0 else 3), 0.0, 0.0, 0.0, 1.0
    ways = [_chirp_steps(M @ np.linalg.matrix_power(_FOURIER.T, k)) for k in range(4)]
    if abs(a - 1.0) < _EXACT and abs(c) < _EXACT:
        turns = 0  # a Fresnel transform stays one, at any rate
    else:
        turns = int(np.argmin([way[0] for way in ways]))
    _, first, middle, last = ways[turns]
    # On the Gaussian exp(-πt²) the steps have the factor (1 + middle (first + i))^(-1/2), and the
    # transform has (a + ib)^(-1/2).
    factor = _phase(M) * np.sqrt((1.0 + middle * (first + 1j)) / (a + 1j * b) + 0j)
    return turns, first, middle, last, complex(factor)


@checked
def fresnel_transform(x: Any, b: float = 1.0, *, axis: Any = -1) -> Complexes:
    """Return the Fresnel transform: the canonical transform of [[1, b], [0, 1]].

    Shifts of x shift it by as much, which is why its modulus is again an anechoic mixture.

    Parameters
    ----------
    x : array-like of shape (..., n_times)
        Signals, real or complex.
    b : float, default=1.0
        The chirp rate; signals are smeared over about b samples.
    axis : int or tuple of int, default=-1
        Along which axes.

    Returns
    -------
    y : ndarray of complex, of the shape of x
        The transform; its inverse is that of -b.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import fresnel_transform
    >>> y = fresnel_transform([1.0, 0.0, 0.0, 0.0])
    >>> print(np.round(np.abs(y), 3))
    [0.5 0.5 0.5 0.5]
    """
    b = _finite_number(b, "b")
    count = 1 if np.ndim(axis) == 0 else len(axis)
    return _along(x, [b] * count, axis, _fresnel)


@checked
def fractional_fourier(x: Any, theta: Any, *, axis: Any = -1) -> Complexes:
    """Return the fractional Fourier transform, the power 2θ/π of the Fourier transform.

    Parameters
    ----------
    x : array-like of shape (..., n_times)
        Signals, real or complex.
    theta : float or sequence of float
        The angle, or one for each axis: π/2 is ``np.fft.fft(x, norm="ortho")``, 0 changes nothing.
    axis : int or tuple of int, default=-1
        Along which axes.

    Returns
    -------
    y : ndarray of complex, of the shape of x
        The transform.

    Notes
    -----
    Up to 2048 samples it is made of eigenvectors of the discrete transform: unitary, and angles
    add up exactly. Longer signals go through chirps, unitary too, where angles add up for
    signals that fade towards the ends of both grids.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import fractional_fourier
    >>> x = np.array([1.0, 2.0, 0.0, -1.0])
    >>> halfway = fractional_fourier(x, np.pi / 4)
    >>> y = fractional_fourier(halfway, np.pi / 4)
    >>> print(np.allclose(y, np.fft.fft(x, norm="ortho")))
    True
    """
    count = 1 if np.ndim(axis) == 0 else len(axis)
    angles = [theta] * count if np.ndim(theta) == 0 else list(theta)
    return _along(x, [_finite_number(a, "theta") for a in angles], axis, _rotated)


def _matrix(abcd: Any) -> np.ndarray:
    try:
        M = np.asarray(abcd, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"abcd must hold four numbers a, b, c, d, got {abcd!r}.") from None
    if M.size != 4 or not np.isfinite(M).all():
        raise ValueError(f"abcd must hold four finite numbers a, b, c, d, got {abcd!r}.")
    M = M.reshape(2, 2)
    (a, b), (c, d) = M.tolist()
    if not abs(a * d - b * c - 1.0) <= 1e-8 * max(1.0, abs(a * d), abs(b * c)):
        raise ValueError(
            f"abcd must have the determinant ad - bc = 1, got {a * d - b * c:.6g} for {abcd!r}."
        )
    return M


def into_domain(x: np.ndarray, domain: Any, *, inverse: bool = False) -> Complexes:
    """Transform the last axis by an angle (`fractional_fourier`) or a matrix, or back again."""
    if np.ndim(domain) == 0:
        angle = _finite_number(domain, "domains")
        return _rotated(x, -angle if inverse else angle)
    return (_canonical_inverse if inverse else _canonical)(x, _matrix(domain))


@checked
def linear_canonical_transform(x: Any, abcd: Any, *, axis: Any = -1) -> Complexes:
    """Return the linear canonical transform of a matrix [[a, b], [c, d]] of determinant one.

    The Wigner distribution of the transform is that of x with time and frequency mapped by the
    matrix. A delay by τ becomes one by aτ, with a chirp.

    Parameters
    ----------
    x : array-like of shape (..., n_times)
        Signals, real or complex.
    abcd : array-like of four float, or a sequence of those
        The matrix, row by row; several are taken one for each axis.
    axis : int or tuple of int, default=-1
        Along which axes.

    Returns
    -------
    y : ndarray of complex, of the shape of x
        The transform.

    Notes
    -----
    (0, 1, -1, 0) is the unitary FFT, (1, b, 0, 1) is `fresnel_transform`, (1, 0, c, 1) a product
    with a chirp. Every transform here is exactly unitary. No finite grid carries all of them as a
    group: the law L(M₁) L(M₂) = L(M₁M₂), which holds up to a constant phase, is exact among
    chirps and among Fresnel transforms; else it is so for signals that fade towards the ends of
    the grid in time and in frequency, before and after. `fractional_fourier` has rotations whose
    angles add up exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import linear_canonical_transform
    >>> x = np.array([1.0, 2.0, 0.0, -1.0])
    >>> print(np.round(np.abs(linear_canonical_transform(x, (0, 1, -1, 0))), 3))
    [1.    1.581 0.    1.581]
    """
    count = 1 if np.ndim(axis) == 0 else len(axis)
    if np.ndim(abcd) == 0 or len(abcd) == 0:
        raise ValueError(f"abcd must hold four numbers a, b, c, d, got {abcd!r}.")
    single = np.ndim(abcd[0]) == 0 or np.shape(abcd) == (2, 2)
    matrices = [_matrix(abcd)] * count if single else [_matrix(part) for part in abcd]
    return _along(x, matrices, axis, _canonical)
