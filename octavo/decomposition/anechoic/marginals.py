"""Starts for anechoic demixing, from nonnegative factorizations of Wigner marginals.

A marginal |L(M)x|² of uncorrelated sources is again an anechoic mixture, of nonnegative sources
and with delays Aτ, Eq. (20). In the Fourier domain A is zero and the mixture instantaneous.

Reference: Omlor and Giese (2011), "Anechoic blind source separation using Wigner marginals", JMLR
12:1111-1148, sections 3.1 and 4.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from octavo.decomposition.anechoic.alternation import Factors, solve_sources
from octavo.decomposition.anechoic.canonical_transforms import into_domain
from octavo.decomposition.anechoic.delays import Search, delay_sweep
from octavo.decomposition.anechoic.device_sweeps import (
    device_patterns,
    device_phases,
    mixed,
    placed,
    squares,
)
from octavo.decomposition.anechoic.nonnegative_factors import (
    NonnegativeFactors,
    euclidean_factors,
    filter_peaks,
    sparse_filters,
)
from octavo.decomposition.anechoic.phase_retrieval import gerchberg_saxton, group_delay_phases
from octavo.decomposition.anechoic.shifts import bin_weights, from_spectra, shift_phases, to_spectra
from octavo.engine.estimators.arrays import Complexes, Floats, Numbers
from octavo.engine.kernels.namespaces import to_numpy, xp_of

_SWEEPS = 30  # of a factorization that only starts the search
_FOURIER = np.pi / 2


class Plan(NamedTuple):
    """What a fit was asked for.

    ``domain`` ("fourier", "fresnel" or "frft"), its ``chirp_rate`` and ``theta``, ``inner``
    ("anmf" or "nmf"), ``init`` ("nmf" or "random"), ``alpha`` and the ``search`` for delays.
    """

    domain: str
    chirp_rate: float
    theta: float
    inner: str
    init: str
    alpha: float
    search: Search


def _moving_domain(plan: Plan) -> tuple[Any, float]:
    """Return the transform that keeps delays, and what multiplies them (the A of its matrix)."""
    if plan.domain == "frft":
        return plan.theta, float(np.cos(plan.theta))
    return (1.0, plan.chirp_rate, 0.0, 1.0), 1.0


def _factorize(Y: Floats, n_sources: int, move: bool, plan: Plan, rng: Any) -> NonnegativeFactors:
    """Factorize a marginal (m, rows, T), by least squares with delays or by sparse filters."""
    top = float(Y.max(initial=0.0))
    Y = Y / (top if top > 0 else 1.0)
    if plan.inner == "nmf":
        return euclidean_factors(Y, n_sources, rng, move=move, max_iter=_SWEEPS, tol=1e-5)[0]
    found = sparse_filters(
        Y,
        n_sources,
        rng,
        filter_length=Y.shape[-1] if move else 1,
        mu=1.9,
        beta=2.0,
        alpha_filters=0.02,
        alpha_sources=0.0,
        max_iter=_SWEEPS,
        tol=1e-5,
    )  # the paper's choice after Eq. (30)
    weights, delays = filter_peaks(found.filters)
    return NonnegativeFactors(found.sources, weights, delays, found.objectives[-1])


def _fourier_factors(X: Complexes, n_sources: int, plan: Plan, rng: Any) -> NonnegativeFactors:
    # |X_i(f)|²: Eq. (20) with A = 0
    powers = (X.real**2 + X.imag**2) * bin_weights(plan.search.shape)
    return _factorize(powers[:, None], n_sources, False, plan, rng)


def _from_fourier(X: Any, n_sources: int, plan: Plan, rng: Any) -> Factors:
    """Take each source out of one channel by its share of the power (section 4.1, step 1)."""
    if not isinstance(X, np.ndarray):
        return _settled(X, _device_shares(X, n_sources, plan, rng), plan)
    found = _fourier_factors(X, n_sources, plan, rng)
    patterns = found.sources[:, 0]
    total = found.weights @ patterns
    sources = np.empty((n_sources, X.shape[1]), dtype=np.complex128)
    for j in range(n_sources):
        i = rng.randint(len(X))
        share = found.weights[i, j] * patterns[j]
        # Wiener's share of this source
        sources[j] = X[i] * np.divide(share, total[i], out=np.zeros_like(share), where=total[i] > 0)
    return _settled(X, sources, plan)


def _device_shares(X: Any, n_sources: int, plan: Plan, rng: Any) -> Any:
    """Return what `_from_fourier` takes out of the channels, on their device."""
    xp = xp_of(X)
    powers = squares(X) * placed(bin_weights(plan.search.shape), X, "real")
    top = float(xp.max(powers))
    powers = powers / (top if top > 0 else 1.0)
    patterns, weights = device_patterns(powers, n_sources, rng, X, _SWEEPS, 1e-5)
    taken = []
    for j in range(n_sources):
        i = rng.randint(X.shape[0])
        total = placed(weights[i], X, "real") @ patterns
        share = float(weights[i, j]) * patterns[j, :]
        some = total > 0
        taken.append(X[i, :] * xp.where(some, share / xp.where(some, total, 1.0), 0.0))
    return xp.stack(taken)


def _settled(X: Any, sources: Any, plan: Plan) -> Factors:
    """Return given sources with the weights and delays of one sweep, and then their own answer."""
    m, n = X.shape[0], sources.shape[0]
    weights, delays = delay_sweep(X, sources, np.zeros((m, n)), np.zeros((m, n, 2)), plan.search)
    start = sources if np.abs(weights).max(initial=0.0) > 0 else None
    solved, error = solve_sources(X, weights, delays, plan.search.shape, plan.alpha, start)
    return Factors(solved, weights, delays, error)


def _moving_factors(
    X: Complexes, n_sources: int, plan: Plan, rng: Any
) -> tuple[list[NonnegativeFactors], Floats]:
    """Factorize the marginals that keep delays along one axis; return them and delays (m, n, 2).

    Signals have one, |L(M)x|² (section 4.3); images one for each axis, with the Fourier transform
    along the other (section 4.2), whose sources are matched by their weights.
    """
    images = from_spectra(X, plan.search.shape)
    domain, factor = _moving_domain(plan)
    axes = (2,) if plan.search.shape[0] == 1 else (2, 1)
    found = []
    for axis in axes:
        still: Numbers = np.moveaxis(images, axis, -1)
        if len(axes) == 2:
            still = np.fft.fft(still, axis=1, norm="ortho")
        found.append(
            _factorize(np.abs(into_domain(still, domain)) ** 2, n_sources, True, plan, rng)
        )
    if len(axes) == 2:
        found[1] = _matched(found[1], found[0])
    delays = np.zeros((len(X), n_sources, 2))
    for axis, part in zip(axes, found):
        length = images.shape[axis]
        signed = (part.delays + length / 2) % length - length / 2
        delays[..., axis - 1] = np.rint(signed / factor)  # Aτ of Eq. (20), divided by A
    return found, delays


def _matched(moved: NonnegativeFactors, kept: NonnegativeFactors) -> NonnegativeFactors:
    """Return factors in the order of others whose weights are like theirs."""

    def unit(weights):
        norms = np.linalg.norm(weights, axis=0)
        return weights / np.where(norms > 0, norms, 1.0)

    order = linear_sum_assignment(-unit(kept.weights).T @ unit(moved.weights))[1]
    return moved._replace(
        sources=moved.sources[order],
        weights=moved.weights[:, order],
        delays=moved.delays[:, order],
    )


def _from_moving(X: Complexes, n_sources: int, plan: Plan, rng: Any) -> Factors:
    """Deconvolve with the weights and delays of a marginal that keeps delays (section 3.3.1).

    A marginal knows squares of weights only. Signs are those of the first eigenvector of the
    channels' products after the delays of a source are taken out.
    """
    found, delays = _moving_factors(X, n_sources, plan, rng)
    weights = np.sqrt(np.mean([part.weights for part in found], axis=0))  # Eq. (20) has |α|²
    if not plan.search.nonneg:
        bins = bin_weights(plan.search.shape)
        for j in range(n_sources):
            aligned = X * shift_phases(delays[:, j], plan.search.shape).conj()
            products = ((aligned * bins) @ aligned.conj().T).real
            leading = np.linalg.eigh(products)[1][:, -1]
            weights[:, j] *= np.where(leading < 0, -1.0, 1.0)
    sources, error = solve_sources(X, weights, delays, plan.search.shape, plan.alpha)
    return Factors(sources, weights, delays, error)


def _from_chance(X: Any, n_sources: int, plan: Plan, rng: Any) -> Factors:
    """Draw weights and delays: shifted factor analysis, without a look at marginals."""
    m, (height, width) = X.shape[0], plan.search.shape
    delays = np.stack(
        [rng.randint(height, size=(m, n_sources)), rng.randint(width, size=(m, n_sources))], axis=-1
    ).astype(np.float64)
    if plan.search.allowed is not None:
        places = np.argwhere(plan.search.allowed)
        delays = places[rng.randint(len(places), size=(m, n_sources))].astype(np.float64)
    weights = rng.normal(size=(m, n_sources))
    weights = np.abs(weights) if plan.search.nonneg else weights
    sources, error = solve_sources(X, weights, delays, plan.search.shape, plan.alpha)
    return Factors(sources, weights, delays, error)


def draw_start(X: Any, n_sources: int, plan: Plan, rng: Any) -> Factors:
    """Return a random start: step 1 of Algorithm 2, and what its phases are at first."""
    if plan.init == "random":
        return _from_chance(X, n_sources, plan, rng)
    start = _from_fourier if plan.domain == "fourier" else _from_moving
    return start(X, n_sources, plan, rng)


def redrawn(X: Any, factors: Factors, plan: Plan, rng: Any) -> Factors:
    """Return a model in which one source is what some channel has left of it, to leave an optimum.

    All others stay as they are; weights and delays are those of a sweep.
    """
    n = factors.sources.shape[0]
    j, i = rng.randint(n), rng.randint(X.shape[0])
    kept = np.arange(n) != j
    if not isinstance(X, np.ndarray):
        xp = xp_of(X)
        phases = device_phases(factors.delays[i], plan.search.shape, X)
        others = mixed((factors.weights[i] * kept)[None], phases[:, None, :], factors.sources)
        sources = xp.asarray(factors.sources, copy=True)
        sources[j, :] = X[i, :] - others[0, :]
        return _settled(X, sources, plan)
    phases = shift_phases(factors.delays[i], plan.search.shape)
    others = np.einsum("j,jf,jf->f", factors.weights[i] * kept, phases, factors.sources)
    sources = factors.sources.copy()
    sources[j] = X[i] - others
    return _settled(X, sources, plan)


def principal_start(X: Any, n_sources: int, plan: Plan) -> Factors:
    """Return the best model without delays: the leading singular vectors."""
    if not isinstance(X, np.ndarray):
        return _device_principal(X, n_sources, plan)
    images = from_spectra(X, plan.search.shape)
    U, s, Vt = np.linalg.svd(images.reshape(len(X), -1), full_matrices=False)
    n = min(n_sources, len(s))
    weights, sources = np.zeros((len(X), n_sources)), np.zeros((n_sources, Vt.shape[1]))
    weights[:, :n], sources[:n] = U[:, :n] * s[:n], Vt[:n]
    spectra = to_spectra(sources.reshape(n_sources, *plan.search.shape))
    return Factors(spectra, weights, np.zeros((*weights.shape, 2)), float(np.sum(s[n:] ** 2)))


def _device_principal(X: Any, n_sources: int, plan: Plan) -> Factors:
    """Do the same by the products of channels, which are few."""
    m, n = X.shape[0], min(n_sources, X.shape[0])
    xp = xp_of(X)
    weighed = xp.conj(X) * placed(bin_weights(plan.search.shape), X, "real")
    products = to_numpy(xp.real(X @ weighed.T), xp).astype(np.float64)
    values, vectors = np.linalg.eigh(products)
    weights = np.zeros((m, n_sources))
    weights[:, :n] = vectors[:, ::-1][:, :n]  # of unit norm: sources carry the energy
    sources = placed(weights.T.astype(np.complex128), X, "complex") @ X
    return Factors(
        sources, weights, np.zeros((m, n_sources, 2)), float(max(values[: m - n].sum(), 0.0))
    )


def by_group_delay(
    X: Complexes, n_sources: int, plan: Plan, rng: Any, max_iter: int
) -> tuple[Factors, list[float]]:
    """Run section 4.1 as printed: phases from Eq. (33) and delays in turn; the best is kept."""
    found = _fourier_factors(X, n_sources, plan, rng)
    shape, m = plan.search.shape, len(X)
    mixtures = from_spectra(X, shape)[:, 0]
    bins = bin_weights(shape)
    powers = found.sources[:, 0] / bins
    weights = np.sqrt(found.weights)
    start = _from_chance(X, n_sources, plan, rng)
    delays, best, errors = start.delays, None, []
    for _ in range(max_iter):
        # Eq. (33)
        phases = group_delay_phases(mixtures, weights**2, delays[..., 1], powers * shape[1])
        sources = np.sqrt(powers) * np.exp(1j * phases)  # the modulus from step 1
        sources[:, 0] = sources[:, 0].real
        weights, delays = delay_sweep(X, sources, np.zeros((m, n_sources)), delays, plan.search)
        phased = shift_phases(delays.swapaxes(0, 1), shape)
        rest = X - np.einsum("ij,jif,jf->if", weights, phased, sources)
        error = float(((rest.real**2 + rest.imag**2) @ bins).sum())
        errors.append(error)
        if best is None or error < best.error:
            best = Factors(sources, weights, delays, error)
        if len(errors) > 5 and errors[-1] >= min(errors[:-5]):
            break
    assert best is not None
    return best, errors


def by_projections(
    X: Complexes, n_sources: int, plan: Plan, rng: Any, max_iter: int
) -> tuple[Factors, list[float]]:
    """Find each source from the moduli of two of its marginals, then weights and delays."""
    moving, _ = _moving_factors(X, n_sources, plan, rng)
    domain, _ = _moving_domain(plan)
    height, width = plan.search.shape
    sources = np.empty((n_sources, height, width))
    if height == 1:
        still = _matched(_fourier_factors(X, n_sources, plan, rng), moving[0])
        full = _mirrored(still.sources[:, 0] / bin_weights(plan.search.shape), width)
    for j in range(n_sources):
        if height == 1:
            moduli = np.sqrt(np.stack([moving[0].sources[j, 0], full[j]]))
            domains: list[Any] = [domain, _FOURIER]
        else:
            moduli = np.sqrt(np.stack([moving[0].sources[j], moving[1].sources[j].T]))
            domains = [(_FOURIER, domain), (domain, _FOURIER)]
        moduli /= np.linalg.norm(moduli.reshape(2, -1), axis=1).reshape(
            -1, *[1] * (moduli.ndim - 1)
        )
        # Algorithm 1
        seen = gerchberg_saxton(
            moduli, domains, real=True, n_init=1, max_iter=max_iter, random_state=rng
        )
        sources[j] = seen.signal.real.reshape(height, width)
    spectra = to_spectra(sources)
    m = len(X)
    zero = np.zeros((m, n_sources)), np.zeros((m, n_sources, 2))
    weights, delays = delay_sweep(X, spectra, *zero, plan.search)
    phased = shift_phases(delays.swapaxes(0, 1), plan.search.shape)
    rest = X - np.einsum("ij,jif,jf->if", weights, phased, spectra)
    error = float(((rest.real**2 + rest.imag**2) @ bin_weights(plan.search.shape)).sum())
    return Factors(spectra, weights, delays, error), [error]


def _mirrored(half: Floats, width: int) -> Floats:
    """Return the whole of spectra of real signals from their first halves."""
    return half[:, np.minimum(np.arange(width), width - np.arange(width))]
