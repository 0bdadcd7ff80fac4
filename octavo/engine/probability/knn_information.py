"""Entropies, mutual informations and powers of densities from distances to nearest neighbours.

The k-th neighbour of x at distance ρ among n points encloses about k of them in a ball of volume
V ρ^d, and n p(x) V ρ^d is nearly Gamma(k) distributed. Hence

    ∫ p^a q^b dp  ≈  Γ(k)² / (Γ(k - a) Γ(k - b)) · mean_i (n V ρ_i^d)^-a (m V ν_i^d)^-b,

with ρ_i the distance of x_i to its k-th neighbour in the other n = N - 1 points of its own sample
and ν_i that in the m = M points of the other sample. It needs k > a and k > b, and has a finite
variance for k > 2a and k > 2b. Everything is done in logarithms: no power of a small distance in
many dimensions underflows.

References: Kozachenko and Leonenko (1987), "Sample estimate of the entropy of a random vector",
Problems of Information Transmission 23; Kraskov, Stögbauer and Grassberger (2004), "Estimating
mutual information", Physical Review E 69, equations (8), (9), (22) and (23); Leonenko, Pronzato and
Savani (2008), "A class of Rényi information estimators for multidimensional densities", Annals of
Statistics 36; Póczos and Schneider (2011), "On the estimation of α-divergences", AISTATS.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import digamma, gammaln, logsumexp

from octavo.engine.estimators.arrays import Floats
from octavo.engine.probability.neighbours import count_within, positive_distances


def log_ball_volume(d: int) -> float:
    """Return the log volume of the unit ball in d dimensions, π^(d/2) / Γ(d/2 + 1)."""
    return 0.5 * d * math.log(math.pi) - float(gammaln(0.5 * d + 1.0))


def n_workers(n_jobs: int | None) -> int:
    """Return the number of threads that n_jobs stands for; -1 is all of them."""
    return 1 if n_jobs is None else n_jobs


def log_enclosed(
    X: Floats,
    k: int,
    *,
    Y: Floats | None = None,
    jitter: float = 0.0,
    n_jobs: int | None = None,
) -> Floats:
    """Return log n V ρ_k^d for each row of X: n times the volume that its k neighbours take.

    Parameters
    ----------
    X : ndarray of shape (N, d)
        The sample.
    k : int
        The neighbour.
    Y : ndarray of shape (M, d), default=None
        Where neighbours are searched, n = M; None for the other rows of X, n = N - 1.
    jitter : float, default=0.0
        As in `octavo.engine.probability.neighbours.positive_distances`.
    n_jobs : int, default=None
        Threads.

    Returns
    -------
    log_enclosed : ndarray of shape (N,)
        Finite.
    """
    N, d = X.shape
    distances = positive_distances(X, k, Y=Y, jitter=jitter, workers=n_workers(n_jobs))
    n = N - 1 if Y is None else Y.shape[0]
    return math.log(n) + log_ball_volume(d) + d * np.log(distances[:, -1])


def shannon_from_enclosed(log_u: Floats, n: int, k: int) -> float:
    """Return ψ(N) - ψ(k) + log V + (d/N) Σ log ρ_k from `log_enclosed`."""
    return float(digamma(n) - math.log(n - 1) - digamma(k) + log_u.mean())


def check_power(k: int, power: float, name: str) -> None:
    """Raise unless k neighbours can estimate that power of a density."""
    if not k > power:
        raise ValueError(
            f"{name} needs the power {power:g} of a density, which n_neighbors={k} cannot "
            f"give: it must exceed {power:g}."
        )


def log_power_mean(
    log_u: Floats,
    k: int,
    a: float,
    *,
    log_v: Floats | None = None,
    b: float = 0.0,
    name: str = "this quantity",
) -> float:
    """Return the logarithm of the estimate of ∫ p^a q^b dp; see the module.

    Parameters
    ----------
    log_u : ndarray of shape (N,)
        `log_enclosed` of X in itself. It may be anything of that shape where a is 0.
    k : int
        The neighbour that was used.
    a, b : float
        The powers; less than k.
    log_v : ndarray of shape (N,), default=None
        `log_enclosed` of X in Y; needed where b is not 0.
    name : str
        What messages call the quantity.

    Returns
    -------
    value : float
        The logarithm of the mean.
    """
    check_power(k, a, name)
    check_power(k, b, name)
    exponent = -a * log_u
    constant = gammaln(k) - gammaln(k - a)
    if log_v is not None:
        exponent = exponent - b * log_v
        constant += gammaln(k) - gammaln(k - b)
    return float(constant + logsumexp(exponent) - math.log(len(exponent)))


def ksg_balls(blocks: list[Floats], k: int, *, workers: int = 1) -> float:
    """Return the first estimate of Kraskov, Stögbauer and Grassberger: one radius for all blocks.

    Parameters
    ----------
    blocks : list of ndarray of shape (N, d_m)
        Groups of variables.
    k : int
        The neighbour in the joint space, in the maximum norm.
    workers : int, default=1
        Threads.

    Returns
    -------
    value : float
        ψ(k) + (M-1) ψ(N) - mean Σ_m ψ(n_m + 1), with n_m points closer than the k-th
        neighbour in block m alone: Eqs. (8) and (22).
    """
    joint = np.hstack(blocks)
    radius = positive_distances(joint, k, workers=workers, p=np.inf)[:, -1]
    open_radius = np.nextafter(radius, 0.0)
    inner = sum(
        digamma(count_within(block, open_radius, p=np.inf, workers=workers) + 1) for block in blocks
    )
    n = joint.shape[0]
    return float(digamma(k) + (len(blocks) - 1) * digamma(n) - np.mean(inner))


def ksg_boxes(blocks: list[Floats], k: int, *, workers: int = 1) -> float:
    """Return the second estimate of Kraskov, Stögbauer and Grassberger: a radius for each block.

    Parameters
    ----------
    blocks : list of ndarray of shape (N, d_m)
        Groups of variables.
    k : int
        The number of neighbours in the joint space that span the box.
    workers : int, default=1
        Threads.

    Returns
    -------
    value : float
        ψ(k) - (M-1)/k + (M-1) ψ(N) - mean Σ_m ψ(n_m), with n_m points inside the projection
        of the box on block m: Eqs. (9) and (23).
    """
    joint = np.hstack(blocks)
    positive_distances(joint, k, workers=workers, p=np.inf)
    near = cKDTree(joint).query(joint, k=k + 1, p=np.inf, workers=workers)[1]
    inner = 0.0
    for block in blocks:
        radius = np.abs(block[near] - block[:, None, :]).max(axis=(1, 2))
        inner = inner + digamma(count_within(block, radius, p=np.inf, workers=workers))
    n, m = joint.shape[0], len(blocks)
    return float(digamma(k) - (m - 1) / k + (m - 1) * digamma(n) - np.mean(inner))
