"""Completion of the matrix of signs by its rank: singular value projection, nuclear norm."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from octavo.engine.estimators.arrays import Floats
from octavo.engine.proximal.matrices import shrink_singular_values
from octavo.engine.spectral.low_rank_sparse import (
    LowRankPlusSparse,
    entries_of_product,
    truncated_svd,
)
from octavo.network.signed.factors import Factors, Report

SHRINK, GROW = 0.5, 1.2


def project_singular_values(
    matrix: sp.csr_array,
    rank: int,
    max_iter: int,
    tol: float,
    report: Report,
    rng: np.random.RandomState,
) -> Factors:
    """Return the completion by singular value projection (Algorithm 1).

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
    rank : int
    max_iter : int
        Steps.
    tol : float
        Relative residual |P(X) - A| / |A|, or its relative fall, at which to end.
    report : callable
        Is called after every step; whether to stop.
    rng : RandomState
        Starts the first singular vectors.

    Returns
    -------
    Factors
        With W Hᵀ = X; `losses` are |P(X) - A|².

    Notes
    -----
    The paper names no step. It begins at half the inverse share of known links, is halved where
    the residual would rise, and grows while it falls.
    """
    n, m = matrix.shape
    # η, for which Algorithm 1 has no value: n²/|Ω| makes known entries stand for all
    step = 0.5 * n * m / matrix.nnz
    W, H = np.zeros((n, rank)), np.zeros((m, rank))
    residual = -matrix.data
    losses = [float(residual @ residual)]
    total = losses[0]
    start = None
    for _ in range(max_iter):
        for _ in range(40):
            # −η(P(X) − A) of Algorithm 1
            S = sp.csr_array((-step * residual, matrix.indices, matrix.indptr), shape=matrix.shape)
            # P_k of the sum, never formed
            found = truncated_svd(LowRankPlusSparse(W, H, S), rank, start=start, tol=1e-6, rng=rng)
            root = np.sqrt(found.values)
            new = found.U * root, found.V * root
            off = entries_of_product(*new, matrix).data - matrix.data
            loss = float(off @ off)
            if loss < losses[-1]:
                break
            step *= SHRINK  # until ‖P(X) − A‖ falls
        else:
            return Factors(W, H, losses, True)
        (W, H), start, residual = new, found.V, off
        losses.append(loss)
        small = loss <= tol**2 * total or losses[-2] - loss <= tol * losses[-2]
        if report() or small:
            return Factors(W, H, losses, True)
        step *= GROW
    return Factors(W, H, losses, False)


def least_nuclear_norm(
    matrix: sp.csr_array, max_iter: int, tol: float, report: Report
) -> tuple[Floats, list[float], bool]:
    """Return the matrix of least nuclear norm that has the known entries, Eq. (9), by ADMM.

    Parameters
    ----------
    matrix : csr_array of shape (n, m)
        Its stored entries are known.
    max_iter : int
        Iterations, a dense singular value decomposition each.
    tol : float
        Relative size of the primal and dual residuals.
    report : callable
        Is called after every iteration; whether to stop.

    Returns
    -------
    X : ndarray of shape (n, m)
        With the known entries exactly.
    norms : list of float
        Nuclear norm after each iteration.
    converged : bool
    """
    links = matrix.tocoo()
    known = links.row, links.col
    Z = matrix.toarray()
    scaled = np.zeros_like(Z)  # the dual, over rho
    rho = 1.0 / max(float(np.linalg.norm(Z, 2)), float(np.finfo(float).tiny))
    norms: list[float] = []
    size, likely = np.linalg.norm(Z), None
    for _ in range(max_iter):
        # the map of ‖X‖_* in Eq. (9)
        X, values = shrink_singular_values(Z - scaled, 1.0 / rho, likely)
        likely = len(values)
        norms.append(float(values.sum()))
        before = Z
        Z = X + scaled
        Z[known] = links.data  # and its constraint
        scaled = scaled + X - Z
        primal, dual = np.linalg.norm(X - Z), rho * np.linalg.norm(Z - before)
        if report() or (primal <= tol * size and dual <= tol):
            return Z, norms, True
        if primal / size > 10.0 * dual:  # Boyd and others (2011), Section 3.4.1
            rho, scaled = 2.0 * rho, scaled / 2.0
        elif dual > 10.0 * primal / size:
            rho, scaled = rho / 2.0, scaled * 2.0
    return Z, norms, False
