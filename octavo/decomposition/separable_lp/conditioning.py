"""How much noise the linear programs withstand: conditioning of the vertices, and the theorems.

Reference: Gillis and Luce (2014), "Robust near-separable nonnegative matrix factorization using
linear optimization", JMLR 15:1249-1280, Section 2.
"""

from __future__ import annotations

import numpy as np

from octavo.decomposition.separable_lp.cutting import l1_weights
from octavo.decomposition.separable_lp.programs import as_points
from octavo.engine.estimators.checked import checked

__all__ = [
    "cluster_noise_bound",
    "hottopixx_noise_bound",
    "lp_noise_bound",
    "outlier_noise_bound",
    "robust_conicity",
]


@checked
def robust_conicity(W) -> float:
    """Return κ: the least l1 distance of a vertex from the cone of the others.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_components, n_features)
        Vertices, one a row; the theorems take them scaled to unit l1 norm.

    Returns
    -------
    float
        κ, between 0 (a row is a non-negative combination of others) and 1 for rows of unit norm.

    Examples
    --------
    >>> from octavo.decomposition import robust_conicity
    >>> robust_conicity([[1, 0, 0], [0, 1, 0], [0, 0.5, 0.5]])
    0.5
    """
    W = as_points(W)
    scale = float(np.abs(W).max()) or 1.0
    rows = W / scale
    distances = [
        np.abs(row - l1_weights(others, row[None]).ravel() @ others).sum()
        for row, others in ((rows[k], np.delete(rows, k, axis=0)) for k in range(len(rows)))
    ]
    return float(min(distances) * scale)


def _check_shares(**shares) -> None:
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise ValueError(f"{name} must lie between 0 and 1, got {share!r}.")


@checked
def lp_noise_bound(kappa, beta=0.0, rho=1.0, *, kind="sufficient") -> float:
    """Return how much noise program (3) with Algorithm 2 withstands.

    Parameters
    ----------
    kappa : float
        κ of the vertices, scaled to unit l1 norm: `robust_conicity`.
    beta : float, default=0.0
        β: the largest weight of any vertex in any other point; 1 means duplicates.
    rho : float, default=1.0
        ρ of the program; 1 is best (Remark 5).
    kind : {"sufficient", "improved", "necessary"}, default="sufficient"
        Theorem 2's bound, up to which the vertices are found; Remark 4's, slightly larger; or
        Theorem 6's, from which on there are data where they are not.

    Returns
    -------
    float
        A bound on the largest l1 norm of the noise of a row.

    Examples
    --------
    >>> from octavo.decomposition import lp_noise_bound
    >>> round(lp_noise_bound(0.6, 0.5, 1.0), 6)
    0.02
    """
    _check_shares(kappa=kappa, beta=beta)
    if not (np.isfinite(rho) and rho > 0):
        raise ValueError(f"rho must be a finite positive number, got {rho!r}.")
    spread = kappa * (1.0 - beta) * min(1.0, rho)
    if kind == "sufficient":
        return float(spread / (5.0 * (rho + 2.0)))  # Theorem 2
    if kind == "improved":
        return float(spread / (4.0 * (rho + 2.0) + spread))  # Remark 4
    if kind == "necessary":
        return float(spread / (2.0 * rho))  # Theorem 6
    raise ValueError(f"kind must be 'sufficient', 'improved' or 'necessary', got {kind!r}.")


@checked
def hottopixx_noise_bound(kappa, beta, n_components, *, kind="sufficient") -> float:
    """Return how much noise Hottopixx (Algorithm 1) withstands: less, the more vertices there are.

    Parameters
    ----------
    kappa : float
        κ of the vertices, scaled to unit l1 norm.
    beta : float
        β: the largest weight of any vertex in any other point.
    n_components : int
        r, the number of vertices.
    kind : {"sufficient", "necessary"}, default="sufficient"
        Up to which they are found, or from which on there are data where they are not (r ≥ 3).

    Returns
    -------
    float
        A bound on the largest l1 norm of the noise of a row.

    Examples
    --------
    >>> from octavo.decomposition import hottopixx_noise_bound
    >>> round(hottopixx_noise_bound(0.9, 0.5, 9), 6)
    0.005
    """
    _check_shares(kappa=kappa, beta=beta)
    if n_components < 1:
        raise ValueError(f"n_components must be at least 1, got {n_components!r}.")
    spread = kappa * (1.0 - beta)
    if kind == "sufficient":
        return float(spread / (9.0 * (n_components + 1)))
    if kind == "necessary":
        return float(spread / ((n_components - 1) * (1.0 - beta) + 1.0))
    raise ValueError(f"kind must be 'sufficient' or 'necessary', got {kind!r}.")


@checked
def cluster_noise_bound(kappa, omega, n_components) -> float:
    """Return how much noise Algorithm 3 withstands where rows have duplicates: Theorem 7.

    Parameters
    ----------
    kappa : float
        κ of the vertices, scaled to unit l1 norm.
    omega : float
        ω: the least l1 distance of two vertices.
    n_components : int
        r, the number of vertices.

    Returns
    -------
    float
        ωκ / (99 (r + 1)).

    Examples
    --------
    >>> from octavo.decomposition import cluster_noise_bound
    >>> round(cluster_noise_bound(0.99, 1.0, 9), 6)
    0.001
    """
    _check_shares(kappa=kappa)
    if not 0 <= omega <= 2:
        raise ValueError(f"omega must lie between 0 and 2, got {omega!r}.")
    if n_components < 1:
        raise ValueError(f"n_components must be at least 1, got {n_components!r}.")
    return float(omega * kappa / (99.0 * (n_components + 1)))


@checked
def outlier_noise_bound(nu, beta, n_points) -> float:
    """Return how much noise Algorithm 5 withstands: Theorem 9.

    Parameters
    ----------
    nu : float
        ν = min(κ, η, δ): conditioning of vertices and outliers, the angle between outliers and the
        space of the vertices (5), and how much each vertex is needed (6).
    beta : float
        β: the largest weight of any vertex in any other point.
    n_points : int
        n; with ``refit``, vertices and outliers together.

    Returns
    -------
    float
        ν (1 - β) / (20 (n - 1)).

    Examples
    --------
    >>> from octavo.decomposition import outlier_noise_bound
    >>> round(outlier_noise_bound(0.8, 0.5, 21), 6)
    0.001
    """
    _check_shares(nu=nu, beta=beta)
    if n_points < 2:
        raise ValueError(f"n_points must be at least 2, got {n_points!r}.")
    return float(nu * (1.0 - beta) / (20.0 * (n_points - 1)))
