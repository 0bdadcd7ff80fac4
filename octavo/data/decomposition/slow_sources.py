"""Slow sources and nonlinear mixtures: coloured noise, a spiral, and bent rotations.

Reference: Sprekeler, Zito and Wiskott (2014), "An extension of slow feature analysis for
nonlinear blind source separation", JMLR 15:921-947, Section 4.2.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.sklearn_door import Interval, validate_params
from octavo.engine.spectral.expansions import box_of

__all__ = ["make_colored_noise", "make_postnonlinear_mixture", "make_spiral_mixture"]


def _standardized(S: Floats, name: str) -> Floats:
    box = box_of(S)
    if not (box.scale > 0).all():
        raise ValueError(f"{name} has a constant column; a source must vary.")
    units = box(S)
    return (units - units.mean(axis=0)) / units.std(axis=0)


@checked
@validate_params(
    {
        "T": [Interval(Integral, 4, 10**8, closed="both")],
        "sigma": ["array-like", Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_colored_noise(T: int, sigma: Any, random_state: Any = None) -> Floats:
    """Draw noise whose spectrum is a Gaussian around zero: a slow signal with normal values.

    White noise is multiplied by exp(-f² / 2σ²) in the frequency domain, where f counts cycles in
    the whole series.

    Parameters
    ----------
    T : int
        Length of the series.
    sigma : float or array-like of float
        Width σ of the spectrum, in cycles a series; one signal for each. Δ ≈ 2 (πσ / T)² where σ
        is far below T.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.

    Returns
    -------
    s : ndarray of shape (T,) or (T, n_signals)
        Signals of zero mean and unit variance in the sample.

    References
    ----------
    .. [1] Sprekeler, Zito and Wiskott (2014). An extension of slow feature analysis for nonlinear
       blind source separation. JMLR 15:921-947.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.data import make_colored_noise
    >>> from octavo.decomposition import delta_value
    >>> s = make_colored_noise(10000, 100, random_state=0)
    >>> print(f"{delta_value(s):.4f} {2 * (np.pi * 100 / 10000) ** 2:.4f}")
    0.0021 0.0020
    """
    widths = real_array(sigma, "sigma")
    if widths.ndim > 1 or not (widths > 0).all() or not widths.size:
        raise ValueError(f"sigma must hold positive numbers, got {sigma!r}.")
    rng = check_random_state(random_state)
    frequencies = np.arange(T // 2 + 1)
    columns = []
    for width in np.atleast_1d(widths):
        spectrum = np.fft.rfft(rng.normal(size=T))
        with np.errstate(under="ignore", over="ignore"):
            spectrum *= np.exp(-0.5 * (frequencies / width) ** 2)
        if not np.abs(spectrum[1:]).max() > 1e-100:
            raise ValueError(
                f"sigma={width:g} leaves no frequency but zero; it counts cycles in the series."
            )
        columns.append(np.fft.irfft(spectrum, n=T))
    S = _standardized(np.column_stack(columns), "The noise")
    return S[:, 0] if widths.ndim == 0 else S


@checked
def make_spiral_mixture(s1: ArrayLike, s2: ArrayLike) -> Floats:
    """Mix two sources into a spiral (equation 15).

    Parameters
    ----------
    s1 : array-like of shape (n_times,)
        The source along the spiral.
    s2 : array-like of shape (n_times,)
        The source across it. The mixture can be inverted where both lie in [-1, 1]; a warning
        says where they do not.

    Returns
    -------
    X : ndarray of shape (n_times, 2)
        The mixture.

    References
    ----------
    .. [1] Sprekeler, Zito and Wiskott (2014). An extension of slow feature analysis for nonlinear
       blind source separation. JMLR 15:921-947.

    Examples
    --------
    >>> from octavo.data import make_spiral_mixture
    >>> print(make_spiral_mixture([0.0, 1.0], [0.5, 0.0]).round(3))
    [[ 6.5  0. ]
     [-0.  -9. ]]
    """
    along, across = real_array(s1, "s1"), real_array(s2, "s2")
    if along.ndim != 1 or along.shape != across.shape or not along.size:
        raise ValueError(
            "s1 and s2 must be vectors of the same length, got shapes "
            f"{along.shape} and {across.shape}."
        )
    largest = max(np.abs(along).max(), np.abs(across).max())
    if largest > 1e100:
        raise ValueError(f"s1 and s2 must lie in [-1, 1], got {largest:g}.")
    if largest > 1.0 + 1e-9:
        warnings.warn(
            f"The spiral can be inverted for sources in [-1, 1]; these go to {largest:.3g}. Divide "
            "each by its largest absolute value.",
            UserWarning,
            stacklevel=3,
        )
    radius, angle = across + 3.0 * along + 6.0, 1.5 * np.pi * along
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


@checked
@validate_params(
    {
        "S": ["array-like"],
        "strength": [Interval(Real, 0, None, closed="neither")],
        "repeats": [Interval(Integral, 1, 1000, closed="both")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_postnonlinear_mixture(
    S: ArrayLike, strength: float, repeats: int = 2, random_state: Any = None
) -> Floats:
    """Rotate sources at random and bend each mixture by an arctangent, again and again.

    Each time x ← arctan(strength · O x), with a random rotation O, after x was brought to zero
    mean and unit variance.

    Parameters
    ----------
    S : array-like of shape (n_times, n_sources)
        Sources.
    strength : float
        Factor before the arctangent. The paper prints arctan(ζ⁻¹ O s) with ζ = 2, which is a
        strength of 0.5; its figure of a linear regression fits a strength of 2.
    repeats : int, default=2
        How many times.
    random_state : int, RandomState instance or None, default=None
        Seeds the rotations.

    Returns
    -------
    X : ndarray of shape (n_times, n_sources)
        The mixture.

    References
    ----------
    .. [1] Sprekeler, Zito and Wiskott (2014). An extension of slow feature analysis for nonlinear
       blind source separation. JMLR 15:921-947.

    Examples
    --------
    >>> from octavo.data import make_colored_noise, make_postnonlinear_mixture
    >>> S = make_colored_noise(1000, [20, 30], random_state=0)
    >>> X = make_postnonlinear_mixture(S, 2.0, random_state=0)
    >>> print(X.shape, f"{abs(X).max():.2f}")
    (1000, 2) 1.32
    """
    if not 0 < strength < 1e100:
        raise ValueError(f"strength must be a positive number, got {strength!r}.")
    values = real_array(S, "S")
    if values.ndim != 2 or len(values) < 2 or not values.shape[1]:
        raise ValueError(f"S must be a table of two rows or more, got shape {values.shape}.")
    rng = check_random_state(random_state)
    d = values.shape[1]
    for _ in range(repeats):
        turn, triangle = np.linalg.qr(rng.normal(size=(d, d)))
        turn *= np.sign(np.diagonal(triangle))  # uniform over orthogonal matrices
        values = np.arctan(strength * (_standardized(values, "S") @ turn.T))
    return values
