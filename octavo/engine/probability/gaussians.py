"""Algebra of many Gaussians at once: expected log densities, weighted moments, product kernels.

A set of Gaussians is a pair (means, covars): means (n, d) and covars (n, d), the variances of
diagonal Gaussians, or (n, d, d), full matrices; covars None is a set of points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats

_LOG_2PI = math.log(2.0 * math.pi)
_EIGEN_TOLERANCE = 1e-10  # relative size of a negative eigenvalue that is rounding
_PAIRS = 1 << 20  # numbers in the temporary matrices of one block of pairs


class SingularCovarianceError(ValueError):
    """A Gaussian is flat in some direction: it has no density."""


class Moments(NamedTuple):
    """Weighted moments about given points, additive over parts of the data.

    ``mass`` (k,) is Σ w, ``first`` (k, d) is Σ w (x - shift), and ``second`` (k, d) or (k, d, d)
    is Σ w [Σ_x + (x - shift)(x - shift)ᵀ], or its diagonal.
    """

    mass: Floats
    first: Floats
    second: Floats

    def plus(self, other: Moments) -> Moments:
        """Return the moments of both parts together."""
        return Moments(*(mine + theirs for mine, theirs in zip(self, other)))


# Kernels for diagonal Gaussians serve one group of k Gaussians as well as many: `owner` says of
# every point whose Gaussians are its own.


@njit(cache=True, nogil=True)
def _diagonal_scores(means, variances, owner, centers, precisions, constant, out):
    """Fill out (n, k) with constant_j - ½ Σ_d [v_id + (m_id - c_jd)²] p_jd; v may be empty."""
    n, d = means.shape
    spread = variances.shape[0] > 0
    for i in range(n):
        g = owner[i]
        for j in range(out.shape[1]):
            total = 0.0
            for c in range(d):
                gap = means[i, c] - centers[g, j, c]
                total += gap * gap * precisions[g, j, c]
            if spread:
                for c in range(d):
                    total += variances[i, c] * precisions[g, j, c]
            out[i, j] = constant[g, j] - 0.5 * total


@njit(cache=True, nogil=True)
def _diagonal_moments(weights, means, variances, owner, shift, mass, first, second):
    """Add the moments of diagonal Gaussians, weighted, to mass, first and second."""
    n, d = means.shape
    spread = variances.shape[0] > 0
    for i in range(n):
        g = owner[i]
        for j in range(weights.shape[1]):
            w = weights[i, j]
            if w == 0.0:
                continue
            mass[g, j] += w
            for c in range(d):
                gap = means[i, c] - shift[g, j, c]
                first[g, j, c] += w * gap
                second[g, j, c] += w * gap * gap
            if spread:
                for c in range(d):
                    second[g, j, c] += w * variances[i, c]


def _no_owners(n: int) -> NDArray[np.int64]:
    """Return the owners of points that all have the same Gaussians."""
    return np.zeros(n, dtype=np.int64)


def diagonals(covars: Floats) -> Floats:
    """Return the variances of covariances of either form."""
    return covars if covars.ndim == 2 else np.ascontiguousarray(np.einsum("ndd->nd", covars))


def inverse_factors(spreads: Floats) -> tuple[Floats, Floats]:
    """Return the inverses of the Cholesky factors of full matrices, and their log determinants.

    Parameters
    ----------
    spreads : ndarray of shape (k, d, d)
        Positive definite; `numpy.linalg.LinAlgError` is raised where one is not.

    Returns
    -------
    inverse : ndarray of shape (k, d, d)
        L⁻¹, where LLᵀ is the matrix.
    log_det : ndarray of shape (k,)
        Log determinants.
    """
    factor = np.linalg.cholesky(spreads)
    log_det = 2.0 * np.log(np.einsum("kdd->kd", factor)).sum(axis=1)
    return np.linalg.inv(factor), log_det


def expected_log_density(
    means: Floats,
    covars: Floats | None,
    centers: Floats,
    spreads: Floats,
    *,
    noise: float = 0.0,
) -> Floats:
    """Return E log N(y; center_j, spread_j) for y drawn from N(mean_i, covar_i + noise I).

    Parameters
    ----------
    means, covars : ndarray
        The n Gaussians that y comes from; they may be singular. See the module.
    centers, spreads : ndarray
        The k Gaussians whose log density is averaged; positive definite.
    noise : float, default=0
        A variance that all n Gaussians have on top.

    Returns
    -------
    scores : ndarray of shape (n, k)
        -½ [d log 2π + log|S| + tr(S⁻¹ C) + (m - c)ᵀ S⁻¹ (m - c)].
    """
    n, d = means.shape
    out = np.empty((n, centers.shape[0]))
    if spreads.ndim == 2:
        variances = np.empty((0, d)) if covars is None else diagonals(covars)
        precisions = 1.0 / spreads
        constant = d * _LOG_2PI + np.log(spreads).sum(axis=1) + noise * precisions.sum(axis=1)
        _diagonal_scores(
            means, variances, _no_owners(n), centers[None], precisions[None],
            -0.5 * constant[None], out,
        )  # fmt: skip
        return out
    inverse, log_det = inverse_factors(spreads)
    for j, (white, center) in enumerate(zip(inverse, centers)):
        gap = (means - center) @ white.T
        out[:, j] = np.einsum("nd,nd->n", gap, gap)
        if covars is not None:
            precision = white.T @ white
            if covars.ndim == 2:
                out[:, j] += covars @ np.diagonal(precision)
            else:
                out[:, j] += covars.reshape(n, -1) @ precision.ravel()
    traces = (inverse**2).sum(axis=(1, 2))
    return -0.5 * (d * _LOG_2PI + log_det + noise * traces + out)


def weighted_moments(
    weights: Floats, means: Floats, covars: Floats | None, shift: Floats, *, full: bool
) -> Moments:
    """Return the weighted moments of n Gaussians for each of k columns of weights.

    Parameters
    ----------
    weights : ndarray of shape (n, k)
        Not negative.
    means, covars : ndarray
        The Gaussians; see the module.
    shift : ndarray of shape (k, d)
        Points about which the moments are taken; near the weighted means they lose no digits.
    full : bool
        Whether second moments are matrices or their diagonals.

    Returns
    -------
    moments : Moments
        Add those of further parts with `Moments.plus`.
    """
    n, d = means.shape
    k = shift.shape[0]
    mass, first = np.zeros(k), np.zeros((k, d))
    second = np.zeros((k, d, d) if full else (k, d))
    if not full:
        variances = np.empty((0, d)) if covars is None else diagonals(covars)
        _diagonal_moments(
            weights, means, variances, _no_owners(n), shift[None], mass[None], first[None],
            second[None],
        )  # fmt: skip
        return Moments(mass, first, second)
    for j in range(k):
        used = np.flatnonzero(weights[:, j])
        w = weights[used, j]
        gap = means[used] - shift[j]
        mass[j], first[j] = w.sum(), w @ gap
        second[j] = (w[:, None] * gap).T @ gap
        if covars is not None and covars.ndim == 2:
            second[j] += np.diag(w @ covars[used])
        elif covars is not None:
            second[j] += (w @ covars[used].reshape(used.size, d * d)).reshape(d, d)
    return Moments(mass, first, second)


def moments_to_gaussians(moments: Moments, shift: Floats) -> tuple[Floats, Floats]:
    """Return means and covariances of the weighted mixtures; those without mass become NaN.

    Parameters
    ----------
    moments : Moments
        About ``shift``.
    shift : ndarray of shape (k, d)
        The points that the moments were taken about.

    Returns
    -------
    means, covars : ndarray
        Covariances about the new means, symmetric, never with a negative variance.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        move = moments.first / moments.mass[:, None]
        if moments.second.ndim == 2:
            covars = np.maximum(moments.second / moments.mass[:, None] - move**2, 0.0)
            return shift + move, covars
        covars = moments.second / moments.mass[:, None, None]
    covars -= move[:, :, None] * move[:, None, :]
    covars = 0.5 * (covars + covars.transpose(0, 2, 1))
    index = np.arange(shift.shape[1])
    covars[:, index, index] = np.maximum(covars[:, index, index], 0.0)
    return shift + move, covars


def log_product_kernel(
    means: Floats, covars: Floats, centers: Floats, spreads: Floats, power: float
) -> Floats:
    """Return log ∫ N(y; m_i, C_i)^λ N(y; c_j, S_j)^λ dy for all pairs.

    Parameters
    ----------
    means, covars, centers, spreads : ndarray
        Two sets of Gaussians of the same form, positive definite.
    power : float
        λ; one half gives the Bhattacharyya affinity.

    Returns
    -------
    log_kernel : ndarray of shape (n, k)
        In the form of Σ + Σ', which no inverse of a difference of large numbers spoils.
    """
    n, d = means.shape
    k = centers.shape[0]
    out = np.empty((n, k))
    mine, theirs = _log_dets(covars), _log_dets(spreads)
    block = max(1, _PAIRS // (k * covars[0].size))
    for first in range(0, n, block):
        rows = slice(first, min(first + block, n))
        total = covars[rows, None] + spreads[None]
        gap = means[rows, None] - centers[None]
        if covars.ndim == 2:
            log_det, far = np.log(total).sum(axis=2), (gap**2 / total).sum(axis=2)
        else:
            factor = np.linalg.cholesky(total)
            log_det = 2.0 * np.log(np.einsum("nkdd->nkd", factor)).sum(axis=2)
            far = (np.linalg.solve(factor, gap[..., None])[..., 0] ** 2).sum(axis=2)
        both = mine[rows, None] + theirs
        out[rows] = 0.5 * ((1.0 - power) * both - log_det - power * far)
    return out + 0.5 * d * ((1.0 - 2.0 * power) * _LOG_2PI - math.log(power))


def _log_dets(covars: Floats) -> Floats:
    if covars.ndim == 2:
        return np.log(covars).sum(axis=1)
    return 2.0 * np.log(np.einsum("ndd->nd", np.linalg.cholesky(covars))).sum(axis=1)


# --- covariances that are none --------------------------------------------------------------------


def is_singular(covars: Floats, *, full: bool) -> NDArray[np.bool_]:
    """Tell for each covariance, variances or matrices, whether its Gaussian has no density."""
    if not full:
        return covars.min(axis=-1) <= 0
    values = np.linalg.eigvalsh(covars)
    return values[..., 0] <= np.finfo(float).eps * values[..., -1]


def checked_covariances(
    covars: Floats, *, full: bool, name: Callable[..., str] = "The covariance {}".format
) -> Floats:
    """Return covariances, symmetric; raise where a variance is negative.

    Parameters
    ----------
    covars : ndarray of shape (..., d) or (..., d, d)
        Variances, or matrices.
    full : bool
        Whether they are matrices.
    name : callable
        Says what an index of the leading axes means.

    Returns
    -------
    covars : ndarray
        The same, matrices made symmetric; they may be singular.
    """
    if not full:
        smallest = covars.min(axis=-1)
        largest = np.zeros_like(smallest)
    else:
        flipped = covars.swapaxes(-1, -2)
        size = np.abs(covars).max(axis=(-1, -2))
        skew = np.abs(covars - flipped).max(axis=(-1, -2)) > 1e-8 * size
        for place in np.argwhere(skew)[:1]:
            raise ValueError(f"{name(*place)} is not symmetric.")
        covars = 0.5 * (covars + flipped)
        values = np.linalg.eigvalsh(covars)
        smallest, largest = values[..., 0], values[..., -1]
    for place in np.argwhere(smallest < -_EIGEN_TOLERANCE * largest)[:1]:
        raise ValueError(
            f"{name(*place)} has a negative "
            f"{'eigenvalue' if full else 'variance'}, {smallest[tuple(place)]:g}."
        )
    return covars


def require_density(
    covars: Floats, *, full: bool, name: Callable[..., str] = "The covariance {}".format
) -> None:
    """Raise where a covariance is singular, so that the model has no density."""
    for place in np.argwhere(is_singular(covars, full=full))[:1]:
        raise SingularCovarianceError(
            f"{name(*place)} is singular, and the model has no density; add a small variance "
            "(reg_covar)."
        )


# --- every point with Gaussians of its own --------------------------------------------------------


@njit(cache=True, nogil=True)
def _owned_scores(points, owner, centers, factors, constant, out):
    """Fill out (n, C) with constant - ½ |factor (point - center)|², both of the point's owner.

    factors are (G, C, d, d) lower triangular.
    """
    n, d = points.shape
    for i in range(n):
        g = owner[i]
        for j in range(centers.shape[1]):
            total = 0.0
            for a in range(d):
                white = 0.0
                for b in range(a + 1):
                    white += factors[g, j, a, b] * (points[i, b] - centers[g, j, b])
                total += white * white
            out[i, j] = constant[g, j] - 0.5 * total


@njit(cache=True, nogil=True)
def _owned_moments(weights, points, owner, shift, mass, first, second):
    """Add the weighted moments of points to those of their owners; second is (G, C, d, d)."""
    n, d = points.shape
    for i in range(n):
        g = owner[i]
        for j in range(shift.shape[1]):
            w = weights[i, j]
            if w == 0.0:
                continue
            mass[g, j] += w
            for a in range(d):
                gap = points[i, a] - shift[g, j, a]
                first[g, j, a] += w * gap
                for b in range(d):
                    second[g, j, a, b] += w * gap * (points[i, b] - shift[g, j, b])


def owned_log_density(
    points: Floats,
    owner: NDArray[np.int64],
    centers: Floats,
    spreads: Floats,
    *,
    noise: float = 0.0,
) -> Floats:
    """Return the log density of each point under the C Gaussians of the group that it belongs to.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        The points.
    owner : ndarray of int of shape (n,)
        The group of each.
    centers, spreads : ndarray of shape (G, C, d), and (G, C, d) or (G, C, d, d)
        The Gaussians of the G groups.
    noise : float, default=0
        As in `expected_log_density`.

    Returns
    -------
    scores : ndarray of shape (n, C)
        Expected log densities.
    """
    G, C, d = centers.shape
    out = np.empty((points.shape[0], C))
    if spreads.ndim == 3:
        precisions = 1.0 / spreads
        constant = d * _LOG_2PI + np.log(spreads).sum(axis=2) + noise * precisions.sum(axis=2)
        _diagonal_scores(points, np.empty((0, d)), owner, centers, precisions, -0.5 * constant, out)
        return out
    inverse, log_dets = inverse_factors(spreads.reshape(-1, d, d))
    factors, log_det = inverse.reshape(spreads.shape), log_dets.reshape(G, C)
    traces = (factors**2).sum(axis=(2, 3))
    constant = -0.5 * (d * _LOG_2PI + log_det + noise * traces)
    _owned_scores(points, owner, centers, factors, constant, out)
    return out


def owned_moments(
    weights: Floats, points: Floats, owner: NDArray[np.int64], shift: Floats, *, full: bool
) -> Moments:
    """Return the weighted moments of the points of each group about C shifts of the group.

    Parameters
    ----------
    weights : ndarray of shape (n, C)
        Not negative.
    points, owner : ndarray
        As in `owned_log_density`.
    shift : ndarray of shape (G, C, d)
        Points about which the moments are taken.
    full : bool
        Whether second moments are matrices or their diagonals.

    Returns
    -------
    moments : Moments
        Of the G·C Gaussians.
    """
    G, C, d = shift.shape
    tail = (d, d) if full else (d,)
    mass, first, second = np.zeros((G, C)), np.zeros((G, C, d)), np.zeros((G, C, *tail))
    if full:
        _owned_moments(weights, points, owner, shift, mass, first, second)
    else:
        nothing = np.empty((0, d))
        _diagonal_moments(weights, points, nothing, owner, shift, mass, first, second)
    return Moments(mass.ravel(), first.reshape(-1, d), second.reshape(-1, *tail))


def _warmup() -> None:
    x, w = np.zeros((2, 2)), np.ones((2, 2))
    expected_log_density(x, w, x, w)
    weighted_moments(w, x, w, x, full=False)
    owner = _no_owners(2)
    owned_log_density(x, owner, x[None], np.eye(2)[None, None].repeat(2, axis=1))
    owned_moments(w, x, owner, x[None], full=True)
