"""Δ-values: how slowly a signal varies, what products of signals do, and how much data tells.

Reference: Sprekeler, Zito and Wiskott (2014), "An extension of slow feature analysis for
nonlinear blind source separation", JMLR 15:921-947, Sections 3 and 5.
"""

from __future__ import annotations

from itertools import product
from math import ceil, factorial, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from octavo.decomposition.slowness.episodes import stacked_rows
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.spectral.expansions import box_of, episodes_of

__all__ = [
    "PredictedSpectrum",
    "correlation_time",
    "delta_density",
    "delta_value",
    "predicted_delta",
    "predicted_spectrum",
    "required_samples",
    "resolvable_difference",
    "slow_frequency",
]

LAWS = {"gaussian": 1, "uniform": 2}  # λ_i = i^power λ_1
MOST_FUNCTIONS = 100_000


@checked
def delta_value(
    y: Any, dt: float = 1.0, *, lengths: ArrayLike | None = None, lag: int = 1
) -> float | Floats:
    """Return the Δ-value of signals: the mean square of their change, at unit variance.

    Parameters
    ----------
    y : array-like of shape (n_times,) or (n_times, n_signals), or list of such
        Signals; their shift and scale do not matter.
    dt : float, default=1.0
        Time between two rows.
    lengths : array-like of int, default=None
        Lengths of the episodes that are stacked in y.
    lag : int, default=1
        Steps between the values whose difference is taken.

    Returns
    -------
    delta : float or ndarray of shape (n_signals,)
        Near 0 for slow signals, 2 / dt² for white noise.

    References
    ----------
    .. [1] Sprekeler, Zito and Wiskott (2014). An extension of slow feature analysis for nonlinear
       blind source separation. JMLR 15:921-947.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import delta_value
    >>> t = np.arange(10000) * 2 * np.pi / 100
    >>> print(f"{delta_value(np.sin(t)):.6f} {(2 * np.pi / 100) ** 2:.6f}")
    0.003946 0.003948
    """
    if not (dt > 0 and np.isfinite(dt)):
        raise ValueError(f"dt must be a positive number, got {dt!r}.")
    if isinstance(lag, bool) or not isinstance(lag, (int, np.integer)) or lag < 1:
        raise ValueError(f"lag must be an integer of 1 or more, got {lag!r}.")
    values, counts = stacked_rows(y, lengths, "y")
    box = box_of(values)
    if not (box.scale > 0).all():
        column = int(np.flatnonzero(~(box.scale > 0))[0])
        raise ValueError(f"Signal {column} of y is constant; it has no Δ-value.")
    signals = box(values)
    episodes = episodes_of(counts)
    inside = np.flatnonzero(episodes[lag:] == episodes[:-lag])
    if not inside.size:
        raise ValueError(
            f"y needs an episode of more than lag={lag} values, got lengths up to {counts.max()}."
        )
    steps = (signals[inside + lag] - signals[inside]) / dt
    deltas = np.mean(steps**2, axis=0) / signals.var(axis=0)  # Eq. (1) under (2) and (3)
    one = np.ndim(y) == 1 if isinstance(y, np.ndarray) else values.shape[1] == 1
    return float(deltas[0]) if one else deltas


def _positive(delta: Any, name: str) -> Floats:
    values = real_array(delta, name)
    if not (values > 0).all():
        raise ValueError(f"{name} must be positive, got {values.min():g}.")
    return values


@checked
def correlation_time(delta: Any) -> Any:
    """Return the time over which a signal of that Δ-value stays alike: τ = 1 / √Δ.

    Parameters
    ----------
    delta : float or array-like
        Δ-values, per step of time.

    Returns
    -------
    tau : float or ndarray
        In steps of time.

    Examples
    --------
    >>> from octavo.decomposition import correlation_time
    >>> print(f"{correlation_time(0.01):.0f}")
    10
    """
    return (1.0 / np.sqrt(_positive(delta, "delta")))[()]


@checked
def slow_frequency(delta: Any) -> Any:
    """Return the frequency of the sine of that Δ-value: η = √Δ / 2π.

    Parameters
    ----------
    delta : float or array-like
        Δ-values, per step of time.

    Returns
    -------
    eta : float or ndarray
        Cycles a step of time.

    Examples
    --------
    >>> from octavo.decomposition import slow_frequency
    >>> print(f"{slow_frequency(0.003948):.3f}")
    0.010
    """
    # a sine of frequency η has Δ = (2πη)²
    return (np.sqrt(_positive(delta, "delta")) / (2.0 * np.pi))[()]


def _ladders(deltas: Any, law: str, most: int) -> list[Floats]:
    """Return λ_1, λ_2, ... of every source, at least `most` where a law gives them."""
    if law not in LAWS:
        raise ValueError(f"law must be one of {tuple(LAWS)}, got {law!r}.")
    ladders = []
    for source in deltas if isinstance(deltas, (list, tuple)) else np.atleast_1d(deltas):
        own = _positive(source, "deltas")
        if own.ndim > 1:
            raise ValueError(f"deltas must hold numbers or vectors, got shape {own.shape}.")
        if own.ndim == 0:
            # Eq. (14) for normal sources, squares for uniform ones
            own = float(own) * np.arange(1, most + 1, dtype=np.float64) ** LAWS[law]
        ladders.append(own)
    if not ladders:
        raise ValueError("deltas must hold the Δ-value of at least one source.")
    return ladders


@checked
def predicted_delta(deltas: Any, orders: ArrayLike, *, law: str = "gaussian") -> float | Floats:
    """Return the Δ-values of products of harmonics: those of the factors added up (Theorem 1).

    Parameters
    ----------
    deltas : array-like of float, or list of array-like
        For each source the Δ-value of its first harmonic, or those of all its harmonics in
        ascending order.
    orders : array-like of int of shape (n_sources,) or (n_products, n_sources)
        Which harmonic of each source is a factor; 0 for none.
    law : {"gaussian", "uniform"}, default="gaussian"
        How the Δ-values of further harmonics follow where only the first is given: i times
        (equation 14) or i² times as large (Section 3.5).

    Returns
    -------
    delta : float or ndarray of shape (n_products,)
        Predicted Δ-values.

    References
    ----------
    .. [1] Sprekeler, Zito and Wiskott (2014). An extension of slow feature analysis for nonlinear
       blind source separation. JMLR 15:921-947.

    Examples
    --------
    >>> from octavo.decomposition import predicted_delta
    >>> print(predicted_delta([0.01, 0.03], [[1, 0], [2, 0], [1, 1]]))
    [0.01 0.02 0.04]
    """
    table = np.asarray(orders)
    if table.dtype.kind not in "iu" or table.ndim not in (1, 2) or table.size == 0:
        raise ValueError(f"orders must be integers, a row for each product, got {orders!r}.")
    rows = np.atleast_2d(table)
    if rows.min() < 0:
        raise ValueError(f"orders must not be negative, got {rows.min()}.")
    if rows.max() > MOST_FUNCTIONS:
        raise ValueError(f"orders go up to {MOST_FUNCTIONS} here, got {rows.max()}.")
    ladders = _ladders(deltas, law, int(rows.max()))
    if rows.shape[1] != len(ladders):
        raise ValueError(f"orders has {rows.shape[1]} columns, deltas {len(ladders)} sources.")
    total = np.zeros(len(rows))
    for source, (ladder, column) in enumerate(zip(ladders, rows.T)):
        if column.max() > len(ladder):
            raise ValueError(
                f"deltas has {len(ladder)} harmonics of source {source}, orders asks for "
                f"{column.max()}."
            )
        total += np.concatenate([[0.0], ladder])[column]  # Theorem 1: λ_i = Σ_α λ_(α i_α)
    return float(total[0]) if table.ndim == 1 else total


class PredictedSpectrum(NamedTuple):
    """The slowest products of harmonics: ``delta_values``, and ``orders``, a row for each."""

    delta_values: Floats
    orders: Ints


@checked
def predicted_spectrum(
    deltas: Any, n_components: int = 10, *, law: str = "gaussian"
) -> PredictedSpectrum:
    """Return the slowest outputs that the theory predicts, in their order (Figure 1).

    Parameters
    ----------
    deltas : array-like of float, or list of array-like
        For each source the Δ-value of its first harmonic, or those of all its harmonics in
        ascending order.
    n_components : int, default=10
        How many.
    law : {"gaussian", "uniform"}, default="gaussian"
        How further harmonics follow where only the first is given; see `predicted_delta`.

    Returns
    -------
    PredictedSpectrum
        Ascending Δ-values, and which harmonics are multiplied.

    References
    ----------
    .. [1] Sprekeler, Zito and Wiskott (2014). An extension of slow feature analysis for nonlinear
       blind source separation. JMLR 15:921-947.

    Examples
    --------
    >>> from octavo.decomposition import predicted_spectrum
    >>> spectrum = predicted_spectrum([0.01, 0.025], 4)
    >>> print(spectrum.delta_values, spectrum.orders.tolist())
    [0.01  0.02  0.025 0.03 ] [[1, 0], [2, 0], [0, 1], [3, 0]]
    """
    if not 1 <= n_components <= 1000:
        raise ValueError(f"n_components must be from 1 to 1000, got {n_components!r}.")
    n = int(n_components)
    ladders = [np.concatenate([[0.0], ladder[:n]]) for ladder in _ladders(deltas, law, n)]
    # Source by source, no more than the n + 1 slowest so far (the constant among them) can matter.
    found: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for ladder in ladders:
        sums = [
            (delta + float(step), (*orders, i))
            for (delta, orders), (i, step) in product(found, enumerate(ladder))
        ]
        found = sorted(sums)[: n + 1]
    chosen = found[1:]
    return PredictedSpectrum(
        np.array([delta for delta, _ in chosen]),
        np.array([orders for _, orders in chosen], dtype=np.int64).reshape(-1, len(ladders)),
    )


@checked
def delta_density(delta: Any, deltas: ArrayLike) -> tuple[Any, Any]:
    """Return how many outputs lie below a Δ-value, and how densely they lie there (Section 5.3).

    Parameters
    ----------
    delta : float or array-like
        Where.
    deltas : array-like of float
        Δ-values of the sources, which are taken for Gaussian.

    Returns
    -------
    count : float or ndarray
        R(Δ), a volume: right up to lower orders.
    density : float or ndarray
        Its derivative ρ(Δ); 1 / ρ is the distance of neighbours that data must resolve.

    References
    ----------
    .. [1] Sprekeler, Zito and Wiskott (2014). An extension of slow feature analysis for nonlinear
       blind source separation. JMLR 15:921-947.

    Examples
    --------
    >>> from octavo.decomposition import delta_density
    >>> count, density = delta_density(1.0, [0.1, 0.2])
    >>> print(f"{count:.0f} {density:.0f}")
    25 50
    """
    where, sources = _positive(delta, "delta"), _positive(deltas, "deltas")
    if sources.ndim != 1 or not 1 <= sources.size <= 100:
        raise ValueError(f"deltas must hold 1 to 100 sources, got shape {sources.shape}.")
    S = sources.size
    ratios = where[..., None] / sources
    count = np.prod(ratios, axis=-1) / factorial(S)  # R(Δ) = Π(Δ / λ_μ) / S!
    return count[()], (count * S / where)[()]  # its derivative


@checked
def resolvable_difference(delta: Any, n_samples: int) -> Any:
    """Return the least difference of Δ-values that so many samples resolve (equation 17).

    Parameters
    ----------
    delta : float or array-like
        Δ-values.
    n_samples : int
        Length T of the series.

    Returns
    -------
    difference : float or ndarray
        Δ / √(T / τ) with τ = 1 / √Δ: an order of magnitude.

    References
    ----------
    .. [1] Sprekeler, Zito and Wiskott (2014). An extension of slow feature analysis for nonlinear
       blind source separation. JMLR 15:921-947.

    Examples
    --------
    >>> from octavo.decomposition import resolvable_difference
    >>> print(f"{resolvable_difference(0.01, 4000):.4f}")
    0.0005
    """
    values = _positive(delta, "delta")
    if not n_samples >= 1:
        raise ValueError(f"n_samples must be at least 1, got {n_samples!r}.")
    return (values / np.sqrt(n_samples * np.sqrt(values)))[()]  # Eq. (17) with τ = 1/√Δ


@checked
def required_samples(delta1: float, delta2: float) -> int:
    """Return how many samples tell two sources apart: T ≈ τ (Δ / δ)² (Section 5.5).

    Parameters
    ----------
    delta1, delta2 : float
        Δ-values of the two sources.

    Returns
    -------
    n_samples : int
        Order of magnitude of the length that a training series needs.

    References
    ----------
    .. [1] Sprekeler, Zito and Wiskott (2014). An extension of slow feature analysis for nonlinear
       blind source separation. JMLR 15:921-947.

    Examples
    --------
    Two string quartets of the paper, 5 % apart:

    >>> from octavo.decomposition import required_samples
    >>> required_samples(0.01, 0.0105)
    4000
    """
    low, high = sorted([float(_positive(d, "delta1 and delta2")) for d in (delta1, delta2)])
    if low == high:
        raise ValueError(f"Sources of one Δ-value, {low:g}, cannot be told apart by any data.")
    samples = prod([low / (high - low)] * 2) / np.sqrt(low)
    if not np.isfinite(samples):
        raise ValueError("delta1 and delta2 differ by too little for the number to be a double.")
    return max(ceil(samples - 1e-6 * samples), 1)
