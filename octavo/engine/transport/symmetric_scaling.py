"""Scaling of a symmetric, non-negative matrix to row sums of one, by one vector on both sides.

Looks for x > 0 with x_i Σ_j K_ij x_j = 1, so that diag(x) K diag(x) is doubly stochastic. In
u = log x this is the stationary point of the convex function ½ Σ_ij K_ij e^(u_i + u_j) - Σ_i u_i.
The damped iteration x ← √(x / Kx) halves the error of every eigenvector whose eigenvalue is not
negative; where negative ones make it slow, Newton steps by conjugate gradients take over. Only
products of K with a vector are needed, so that K may be sparse.

A scaling exists if and only if K has total support: every positive entry lies on a positive
diagonal, that is, a permutation through positive entries.

References: R. Sinkhorn and P. Knopp (1967), "Concerning nonnegative matrices and doubly stochastic
matrices"; P. Knight and D. Ruiz (2013), "A fast algorithm for matrix balancing".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

from octavo.engine.estimators.arrays import Floats

PLAIN_STEPS = 60  # of the damped iteration before Newton's steps: enough where K is definite
REACH = 1e-12  # residuals below this are rounding
FINEST = 1e-15  # to which a Newton step is solved at best
PATIENCE = 5  # Newton steps without a smaller residual before giving up


class SymmetricScaling(NamedTuple):
    """The vector x, the number of products with K, and the largest |row sum - 1|."""

    x: Floats
    n_iter: int
    residual: float


def has_total_support(K: Any) -> bool:
    """Tell whether every positive entry of a symmetric matrix lies on a positive diagonal."""
    if (K.diagonal() > 0.0).all():
        # a positive (i, j) has a positive (j, i): exchange i with j and leave the others
        return True
    graph = sp.csr_array(K)
    graph.eliminate_zeros()
    match = maximum_bipartite_matching(graph, perm_type="column")  # a column for each row
    if (match < 0).any():
        return False
    lined_up = sp.coo_array(graph[:, match])
    parts = connected_components(lined_up, directed=True, connection="strong")[1]
    return bool((parts[lined_up.coords[0]] == parts[lined_up.coords[1]]).all())


def _newton_step(K: Any, x: Floats, sums: Floats, target: float) -> tuple[Floats, int]:
    """Solve (diag(sums) + XKX) u = 1 - sums by conjugate gradients, scaled by the diagonal."""
    residual = 1.0 - sums
    step, direction = np.zeros_like(x), residual / sums
    fit, n_products = float(residual @ direction), 0
    for _ in range(10 * x.size):
        image = sums * direction + x * (K @ (x * direction))
        n_products += 1
        curvature = float(direction @ image)
        if curvature <= 0.0:
            break
        length = fit / curvature
        step += length * direction
        residual = residual - length * image
        if np.abs(residual).max() <= target:
            break
        scaled = residual / sums
        fit, old = float(residual @ scaled), fit
        direction = scaled + fit / old * direction
    return step, n_products


def symmetric_scaling(K: Any, *, tol: float = 1e-12, max_iter: int = 10_000) -> SymmetricScaling:
    """Find x with x_i (Kx)_i = 1 for all i.

    Parameters
    ----------
    K : {ndarray, sparse matrix} of shape (n, n)
        Symmetric, none negative, with total support.
    tol : float, default=1e-12
        Stop when no row sum is farther from one.
    max_iter : int, default=10_000
        Most products with K.

    Returns
    -------
    SymmetricScaling
        x with what it took and how close it came.
    """
    tol = max(tol, REACH)
    product = np.asarray(K @ np.ones(K.shape[0]))
    x = 1.0 / np.sqrt(product)
    n_iter = 1
    product = np.asarray(K @ x)
    sums = x * product
    residual = float(np.abs(sums - 1.0).max())
    best, n_worse = SymmetricScaling(x, n_iter, residual), 0
    while best.residual > tol and n_iter < max_iter and n_worse < PATIENCE:
        if n_iter <= PLAIN_STEPS:
            x = np.sqrt(x / product)  # x ← √(x / Kx)
        else:
            target = max(0.1 * min(residual, 1.0) ** 2, FINEST)
            step, n_products = _newton_step(K, x, sums, target)
            n_iter += n_products
            # far from the solution a whole step in log x may overshoot
            x = x * np.exp(step * min(1.0, 1.0 / max(float(np.abs(step).max()), 1e-300)))
        product = np.asarray(K @ x)
        sums = x * product
        n_iter += 1
        residual = float(np.abs(sums - 1.0).max())
        n_worse = 0 if residual < best.residual or n_iter <= PLAIN_STEPS else n_worse + 1
        if residual < best.residual:
            best = SymmetricScaling(x, n_iter, residual)
    return best._replace(n_iter=n_iter)
