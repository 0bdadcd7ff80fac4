"""Shifts of signals and images by any number of samples, by phases of their Fourier transforms.

Signals are rows of an image of one row: the same code serves both. Spectra are those of
``rfft2(norm="ortho")``, flattened; shifts are pairs (down, right). Spectra may lie on a device (any
namespace, under scikit-learn's array API dispatch); shifts and weights are few and NumPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Complexes, Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.kernels.namespaces import xp_of

__all__ = ["shift_fractional"]


def to_spectra(X: Any) -> Any:
    """Return the half spectra of images (..., height, width), flattened to (..., n_bins)."""
    if not isinstance(X, np.ndarray):
        xp = xp_of(X)
        return xp.reshape(xp.fft.rfftn(X, axes=(-2, -1), norm="ortho"), (*X.shape[:-2], -1))
    spectra = scipy.fft.rfft2(X, norm="ortho")
    return spectra.reshape(*X.shape[:-2], -1)


def from_spectra(spectra: Any, shape: tuple[int, int]) -> Any:
    """Return images (..., height, width) from their half spectra."""
    height, width = shape
    folded = (*spectra.shape[:-1], height, width // 2 + 1)
    if not isinstance(spectra, np.ndarray):
        xp = xp_of(spectra)
        full = xp.reshape(spectra, folded)
        return xp.fft.irfftn(full, s=shape, axes=(-2, -1), norm="ortho")
    return scipy.fft.irfft2(spectra.reshape(folded), s=shape, norm="ortho")


def bin_weights(shape: tuple[int, int]) -> Floats:
    """Return how often each bin of a half spectrum counts, so that sums of squares are kept."""
    height, width = shape
    once = np.full(width // 2 + 1, 2.0)
    once[0] = 1.0
    if width % 2 == 0:
        once[-1] = 1.0
    return np.tile(once, height)


@njit(cache=True)
def fill_phases(delays, height, width, out):
    """Fill in what `shift_phases` returns, a row for each pair of delays."""
    half = width // 2 + 1
    for i in range(len(delays)):
        a, b = -2.0 * np.pi * delays[i, 0] / height, -2.0 * np.pi * delays[i, 1] / width
        turn = complex(np.cos(b), np.sin(b))
        for p in range(height):
            k = p if 2 * p <= height else p - height
            row = complex(np.cos(a * k), np.sin(a * k))
            # A real signal stays real: halfway round, frequencies +n/2 and -n/2 are one bin.
            row = complex(row.real, 0.0) if 2 * p == height else row
            here = row
            for q in range(half):
                if q % 64 == 0:  # rounding of the products does not add up
                    here = row * complex(np.cos(b * q), np.sin(b * q))
                out[i, p * half + q] = row * np.cos(b * q) if 2 * q == width else here
                here *= turn


def shift_phases(delays: Floats, shape: tuple[int, int]) -> Complexes:
    """Return what multiplies a half spectrum when its image is shifted.

    Parameters
    ----------
    delays : ndarray of shape (..., 2)
        Shifts down and to the right.
    shape : tuple of two int
        Height and width.

    Returns
    -------
    phases : ndarray of shape (..., n_bins)
        Of modulus one, but for bins halfway round, which are cosines.
    """
    height, width = shape
    flat = np.ascontiguousarray(delays, dtype=np.float64).reshape(-1, 2)
    out = np.empty((len(flat), height * (width // 2 + 1)), dtype=np.complex128)
    fill_phases(flat, height, width, out)
    return out.reshape(*delays.shape[:-1], -1)


@checked
def shift_fractional(x: Any, tau: Any, *, axis: Any = -1) -> np.ndarray:
    """Return x(t - τ) on a circle, for any τ, by the phase of its Fourier transform.

    Parameters
    ----------
    x : array-like of shape (..., n_times)
        Signals or images, real or complex.
    tau : float or array-like
        Shift in samples, later if positive; an array is one shift for each signal, that is of the
        shape of x without `axis`. With several axes: one for each of them.
    axis : int or tuple of int, default=-1
        Along which axes.

    Returns
    -------
    y : ndarray of the shape of x
        The shifted signals; real if x is. Whole shifts are exact rotations.

    Notes
    -----
    What lies between samples is the trigonometric polynomial through them: edges ring. For an even
    number of samples the highest frequency has no phase; its part fades as cos πτ.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import shift_fractional
    >>> wave = np.cos(2 * np.pi * np.arange(8) / 8)
    >>> print(np.round(shift_fractional(wave, 1.0), 3)[:3])
    [0.707 1.    0.707]
    """
    y = np.asarray(x)
    if y.dtype.kind not in "fciub" or y.ndim == 0 or y.size == 0:
        raise ValueError(f"x must be an array of numbers with samples, got {type(x).__name__}.")
    if not np.isfinite(y).all():
        raise ValueError("x must hold finite numbers; it contains NaN or infinity.")
    try:
        shifts = np.asarray(tau, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"tau must hold real numbers, got {tau!r}.") from None
    if not np.isfinite(shifts).all():
        raise ValueError("tau must be finite; it contains NaN or infinity.")
    if y.dtype.kind != "c":
        y = y.astype(np.float64)
        check_squares(y, "x")
    axes = (axis,) if np.ndim(axis) == 0 else tuple(axis)
    if np.ndim(axis) and shifts.shape != (len(axes),):
        raise ValueError(f"tau must hold one shift for each of {len(axes)} axes, got {tau!r}.")
    for j, a in enumerate(axes):
        if not isinstance(a, (int, np.integer)) or not -y.ndim <= a < y.ndim:
            raise ValueError(f"axis must name axes of x, which has {y.ndim}, got {axis!r}.")
        each = shifts[j] if np.ndim(axis) else shifts
        y = np.moveaxis(_shifted(np.moveaxis(y, a, -1), each), -1, a)
    return y


def _shifted(x: np.ndarray, tau: Any) -> np.ndarray:
    n = x.shape[-1]
    if tau.ndim and tau.shape != x.shape[:-1]:
        raise ValueError(
            f"tau must be one number, or one for each signal: of the shape {x.shape[:-1]}, got "
            f"{tau.shape}."
        )
    tau = np.mod(tau, n)  # exact, and the angles below stay small
    if tau.ndim == 0 and tau == np.rint(tau):
        return np.roll(x, int(tau), axis=-1)
    k = np.fft.fftfreq(n, 1.0 / n)
    phases = np.exp(-2j * np.pi / n * (tau[..., None] * k))
    if n % 2 == 0:
        phases[..., n // 2] = np.cos(np.pi * tau)
    shifted = np.fft.ifft(np.fft.fft(x) * phases)
    return shifted if x.dtype.kind == "c" else shifted.real


def _warmup() -> None:
    shift_phases(np.zeros((1, 2)), (1, 2))
