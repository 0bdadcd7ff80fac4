"""Sources, weights and delays by turns: each is the least-squares answer to the others.

Reference: Omlor and Giese (2011), "Anechoic blind source separation using Wigner marginals", JMLR
12:1111-1148, section 4.1, with the model error itself in the place of phase derivatives. From
random delays this is shifted factor analysis (Harshman, Hong and Lundy 2003; Mørup, Madsen and
Hansen 2007).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from octavo.decomposition.anechoic.delays import Search, delay_sweep
from octavo.decomposition.anechoic.device_sweeps import (
    device_phases,
    device_sources,
    placed,
    squares,
)
from octavo.decomposition.anechoic.shifts import bin_weights, shift_phases
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.engine.kernels.namespaces import to_numpy, xp_of


class Factors(NamedTuple):
    """Spectra of sources (n, n_bins), weights (m, n), delays (m, n, 2), squared error."""

    sources: Any
    weights: Floats
    delays: Floats
    error: float


def energies(spectra: Any, shape: tuple[int, int]) -> Floats:
    """Return the sum of squares of each signal or image from its half spectrum."""
    if isinstance(spectra, np.ndarray):
        return (spectra.real**2 + spectra.imag**2) @ bin_weights(shape)
    sums = squares(spectra) @ placed(bin_weights(shape), spectra, "real")
    return to_numpy(sums, xp_of(sums)).astype(np.float64)


@njit(cache=True)
def _solve_bins(X, phases, weights, shrink, width, sources, gram, mixing, rest, y):
    """Add to the sources (AᴴA + shrink I)⁻¹ Aᴴ r, bin by bin; return the error that is left.

    The last four are work space, (n, n), (n, m), m and n numbers.
    """
    n, m, n_bins = phases.shape
    half, q, error = width // 2 + 1, 0, 0.0
    for f in range(n_bins):
        for i in range(m):
            rest[i] = X[i, f]
            for j in range(n):
                # α_ij e^{−2πi fτ_ij} of Eq. (2) in the Fourier domain
                mixing[j, i] = weights[i, j] * phases[j, i, f]
                rest[i] -= mixing[j, i] * sources[j, f]
        for j in range(n):  # Cholesky's factor of the Gram matrix, and forward substitution
            y[j] = 0.0
            for i in range(m):
                y[j] += mixing[j, i].conjugate() * rest[i]
            for k in range(j + 1):
                v = 0.0 + 0.0j
                for i in range(m):
                    v += mixing[j, i].conjugate() * mixing[k, i]
                for l in range(k):
                    v -= gram[j, l] * gram[k, l].conjugate()
                if k < j:
                    gram[j, k] = v / gram[k, k].real
                    y[j] -= gram[j, k] * y[k]
                else:
                    size = v.real + shrink if v.real > 0.0 else shrink
                    gram[j, j] = np.sqrt(size)
            y[j] /= gram[j, j].real
        for j in range(n - 1, -1, -1):
            for k in range(j + 1, n):
                y[j] -= gram[k, j].conjugate() * y[k]
            y[j] /= gram[j, j].real
            sources[j, f] += y[j]
        w = 1.0 if q == 0 or 2 * q == width else 2.0
        q = q + 1 if q + 1 < half else 0
        for i in range(m):
            r = rest[i]
            for j in range(n):
                r -= mixing[j, i] * y[j]
            error += w * (r.real**2 + r.imag**2)
    return error


def solve_sources(
    X: Any,
    weights: Floats,
    delays: Floats,
    shape: tuple[int, int],
    alpha: float,
    start: Any = None,
) -> tuple[Any, float]:
    """Return the sources of given weights and delays, and the squared error.

    Least squares at each frequency, drawn towards `start` by `alpha` times the largest squared
    norm of a column of weights: deconvolution by a Wiener filter (section 3.3.1) from a start of
    zero, and a proximal step, which never raises the error, from a start of the sources so far.
    """
    n = weights.shape[1]
    size = float(np.einsum("ij,ij->j", weights, weights).max(initial=0.0))
    # ridge for frequencies at which the mixing matrix is singular
    shrink = max(alpha, 1e-14) * (size if size > 0.0 else 1.0)
    if not isinstance(X, np.ndarray):
        if start is None:
            start = xp_of(X).zeros((n, X.shape[1]), dtype=X.dtype, device=X.device)
        phases = device_phases(delays.swapaxes(0, 1), shape, X)
        return device_sources(X, weights, phases, shrink, shape, start)
    sources = np.zeros((n, X.shape[1]), dtype=np.complex128) if start is None else start.copy()
    phases = shift_phases(delays.swapaxes(0, 1), shape)
    space = [np.empty(k, dtype=np.complex128) for k in ((n, n), weights.shape[::-1], len(X), n)]
    error = _solve_bins(X, phases, np.ascontiguousarray(weights), shrink, shape[1], sources, *space)
    return sources, float(error)


def divided(spectra: Any, sizes: Floats) -> Any:
    """Return spectra over a number each."""
    if isinstance(spectra, np.ndarray):
        return spectra / sizes[:, None]
    return spectra / placed(sizes, spectra, "real")[:, None]


def _balanced(factors: Factors, shape: tuple[int, int]) -> Factors:
    """Return the same model with sources of unit norm; silent ones stay as they are."""
    # one of the model's freedoms: a source's scale
    norms = np.sqrt(energies(factors.sources, shape))
    norms = np.where(norms > 0.0, norms, 1.0)
    return factors._replace(
        sources=divided(factors.sources, norms), weights=factors.weights * norms
    )


def alternate(
    X: Any,
    factors: Factors,
    search: Search,
    *,
    alpha: float,
    max_iter: int,
    tol: float,
    report: Callable[[], bool] | None = None,
) -> tuple[Factors, list[float], bool]:
    """Improve delays with weights, then sources, until the error falls by less than `tol`.

    Parameters
    ----------
    X : array of shape (m, n_bins)
        Spectra of the mixtures, NumPy's or on a device.
    factors : Factors
        Where to start.
    search : Search
        What delays and weights may be.
    alpha : float
        How strongly sources are drawn to what they were, see `solve_sources`.
    max_iter : int
        Most sweeps.
    tol : float
        Least decrease of the error in a sweep, relative to the energy of the mixtures.
    report : callable, optional
        Called after each sweep; a true answer ends the search.

    Returns
    -------
    factors : Factors
        With an error that is not above that of the start.
    errors : list of float
        After each sweep, never rising.
    converged : bool
        Whether the error stopped falling.
    """
    energy = float(energies(X, search.shape).sum())
    errors: list[float] = []
    for _ in range(max_iter):
        factors = _balanced(factors, search.shape)
        weights, delays = delay_sweep(  # Section 4.1's second half: delays and weights
            X, factors.sources, factors.weights, factors.delays, search, n_steps=2
        )
        # and sources, by the model error in place of Eq. (33)
        sources, error = solve_sources(X, weights, delays, search.shape, alpha, factors.sources)
        if not error <= factors.error:  # rounding: there is nothing left to gain
            return factors, [*errors, factors.error], True
        gained = factors.error - error
        factors = Factors(sources, weights, delays, error)
        errors.append(error)
        if gained <= tol * energy:
            return factors, errors, True
        if report is not None and report():
            break
    return factors, errors, max_iter == 0


def _warmup() -> None:
    one = np.ones((1, 1), dtype=np.complex128)
    solve_sources(one, np.ones((1, 1)), np.zeros((1, 1, 2)), (1, 1), 1.0)
