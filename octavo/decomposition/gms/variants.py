"""What is built on the convex problem: GMS2, EGMS, REAPER, the penalty for a known dimension.

Every function here takes rows that are not zero and that span their space, and returns a
`Spectrum`: directions by decreasing robust variance.

References: Zhang and Lerman (2014), "A novel M-estimator for robust PCA", JMLR 15:749-808,
Sections 5 and 6.3; Lerman, McCoy, Tropp and Zhang (2012), "Robust computation of linear models,
or how to find a needle in a haystack", for REAPER.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning

from octavo.decomposition.gms.solver import (
    GMSPrecision,
    resolve_delta,
    smooth_weight,
    solve_precision,
)
from octavo.engine.estimators.arrays import Floats
from octavo.engine.linalg.weighted_scatter import (
    advance,
    row_blocks,
    row_norms,
    scatter_factor,
    symmetric,
    upper_factor,
    whitened_scatter,
)

Solve = Callable[..., GMSPrecision]

KERNEL = 1e-6  # eigenvalues of Q below this share of the largest count as its kernel


class Spectrum(NamedTuple):
    """Directions by decreasing robust variance, with the solution they come from.

    ``vectors`` of shape (n_features, n_features), one a column; ``values``, the eigenvalues of Q
    that belong to them (for EGMS and REAPER see there); ``found``, the solution of the convex
    problem; and the penalty ``alpha`` that was used.
    """

    vectors: Floats
    values: Floats
    found: GMSPrecision
    alpha: float = 0.0


def spectrum(found: GMSPrecision, alpha: float = 0.0) -> Spectrum:
    """Return the eigenvectors of Q from the smallest eigenvalue on; the kernel comes first.

    Within the kernel all eigenvalues are zero: the order there is that of the spread of the
    rows, which is what the smoothed problem gives.
    """
    kernel = found.kernel
    k = kernel.shape[1]
    outside = np.linalg.qr(kernel, mode="complete")[0][:, k:] if k else np.eye(len(kernel))
    values, vectors = np.linalg.eigh(outside.T @ found.precision @ outside)
    values = np.r_[np.zeros(k), np.maximum(values, 0.0)]
    return Spectrum(np.hstack([kernel, outside @ vectors]), values, found, alpha)


def dimension_by_gap(values: Floats) -> int:
    """Return the dimension of the subspace at the largest gap of the logarithms (Section 6.3).

    Parameters
    ----------
    values : ndarray of shape (n_features,)
        Eigenvalues of Q, increasing.

    Returns
    -------
    int
        How many eigenvalues lie below the gap: at least one.
    """
    if len(values) == 1:
        return 1
    floor = np.finfo(float).eps * values[-1]
    return int(np.argmax(np.diff(np.log(np.maximum(values, floor))))) + 1


def plain_gms(X: Any, delta: float, alpha: float, solve: Solve) -> Spectrum:
    """Return the spectrum of the solution of Eq. (4), or of Eq. (42)."""
    return spectrum(solve(X, delta, alpha=alpha), alpha)


def with_artificial_outliers(X: Any, delta: float | str, rng: Any, solve: Solve) -> Spectrum:
    """GMS2 (Section 5.1): add 2D Gaussian rows, scale every row to norm one, solve."""
    n_features = X.shape[1]
    added = rng.standard_normal((2 * n_features, n_features))  # GMS2: 2D artificial outliers
    Y = np.vstack([X.toarray() if issparse(X) else X, added])
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    found = solve(Y, resolve_delta(delta, np.ones(1)), alpha=0.0)
    own = found._replace(
        residuals=found.residuals[: X.shape[0]], weights=found.weights[: X.shape[0]]
    )
    return spectrum(own)


def kernel_dimension(found: GMSPrecision) -> int:
    """Return the number of eigenvalues of Q that are zero, up to the smoothing."""
    values = np.linalg.eigvalsh(found.precision)
    return int((values < KERNEL * values[-1]).sum())


def penalty_for_dimension(
    X: Any, d: int, delta: float, solve: Solve, max_trials: int = 40
) -> Spectrum:
    """Find the λ of Eq. (42) whose solution has a kernel of dimension d, by bisection.

    The kernel shrinks as λ grows, from that of λ = 0 to nothing. Where no kernel is found at
    any λ, as with noisy inliers, a warning says so and λ = 0 is taken.
    """
    scale = float(row_norms(X).sum())  # at Q = I / D both terms of Eq. (42) are then equal
    low, high = np.log(1e-6 * scale), np.log(1e4 * scale)
    best: Spectrum | None = None
    for _ in range(max_trials):
        middle = (low + high) / 2.0
        found = solve(X, delta, alpha=float(np.exp(middle)))
        size = kernel_dimension(found)
        if size == d:
            return spectrum(found, float(np.exp(middle)))
        if size > d:
            low = middle
            best = spectrum(found, float(np.exp(middle)))
        else:
            high = middle
    warnings.warn(
        f"No penalty gives a kernel of dimension {d}: "
        + (
            "it is larger up to alpha = "
            f"{np.exp(low):.4g} and smaller from {np.exp(high):.4g} on; the former is taken."
            if best is not None
            else "rows do not lie on a subspace exactly; alpha = 0 is taken."
        ),
        ConvergenceWarning,
        stacklevel=5,
    )
    return best if best is not None else plain_gms(X, delta, 0.0, solve)


def _drop_count(values: Floats, d: int, drop: int | str) -> int:
    """Return how many top eigenvectors a round of EGMS removes.

    Never one of the kernel: every direction there is as good as any other to this round's Q, and
    the subspace is among them. Whatever was asked for, the next round sees more.
    """
    room = len(values) - d
    if drop == "nonzero":
        return min(max(len(values) - dimension_by_gap(values), 1), room)
    outside = int((values >= KERNEL * values[-1]).sum())
    return min(int(drop), outside, room)


def by_deflation(X: Any, d: int, delta: float | str, drop: int | str, solve: Solve) -> Spectrum:
    """EGMS (Algorithm 3): remove the top eigenvectors of Q round by round.

    The vector removed last is the first robust principal vector (Section 6.5). Down to
    dimension d a round removes `drop` vectors, fewer where Q has fewer eigenvalues that are not
    zero, and below it one at a time, which orders them. The
    eigenvalues returned are those of the first round, whose Q is the solution of Eq. (4).
    """
    basis = np.eye(X.shape[1])
    removed: list[Floats] = []
    first: Spectrum | None = None
    gap, n_iter, converged = 0.0, 0, True
    norms = row_norms(X)
    while basis.shape[1] > 1:
        Z = np.asarray(X @ basis, dtype=np.float64)
        size = np.linalg.norm(Z, axis=1)
        Z = Z[size > 1e-12 * norms.max()]
        # the dimension removed is the top eigenvector of Q, Algorithm 3
        part = spectrum(solve(Z, resolve_delta(delta, size[size > 0.0]), alpha=0.0))
        if first is None:
            first = part
        gap = max(gap, part.found.duality_gap)
        n_iter, converged = n_iter + part.found.n_iter, converged and part.found.converged
        width = basis.shape[1]
        count = _drop_count(part.values, d, drop) if width > d else 1
        removed.append((basis @ part.vectors)[:, width - count :])
        basis = np.linalg.qr(basis @ part.vectors[:, : width - count])[0]
    vectors = np.hstack([basis, *removed[::-1]])
    if first is None:
        first = spectrum(solve(X, resolve_delta(delta, norms), alpha=0.0))
        converged, n_iter, gap = first.found.converged, first.found.n_iter, first.found.duality_gap
    found = first.found._replace(duality_gap=gap, n_iter=n_iter, converged=converged)
    return Spectrum(vectors, first.values, found)


def water_fill(inverse: Floats, cap: float) -> Floats:
    """Return q = min(cap, θ s) of sum one, for decreasing s = 1 / eigenvalues of the scatter."""
    q = np.zeros(len(inverse))
    total = np.cumsum(inverse[::-1])[::-1]
    for capped in range(len(inverse)):
        theta = (1.0 - capped * cap) / total[capped]
        if theta * inverse[capped] <= cap:
            q[:capped] = cap
            q[capped:] = theta * inverse[capped:]  # the rest is scaled to what the capped leave
            return q
    raise ValueError(f"cap={cap} cannot reach a sum of one over {len(inverse)} values.")


def reaper_bound(M: Floats, n_capped: int) -> float:
    """Return the least ⟨Q, M⟩ over 0 ≤ Q ≤ I / n_capped of trace one."""
    return float(np.linalg.eigvalsh(M)[:n_capped].mean())


def reaper(
    X: Any,
    d: int,
    delta: float,
    *,
    max_iter: int,
    tol: float,
    step: Callable[[], bool] | None = None,
) -> Spectrum:
    """REAPER (Section 1.4): Eq. (4) with eigenvalues of at most 1 / (D − d).

    The steps are those of Eq. (40); the weighted least squares problem under the bound has the
    eigenvectors of A⁻¹ and eigenvalues that fill up to the bound.
    """
    n_features = X.shape[1]
    cap = 1.0 / (n_features - d)
    weight = smooth_weight(delta)
    Z = np.asfortranarray(np.eye(n_features) / np.sqrt(n_features))
    q = np.full(n_features, 1.0 / n_features)
    path: list[float] = []
    converged = False
    for iteration in range(max_iter):
        B, r = whitened_scatter(X, Z, weight, triangular=False)
        path.append(float(r.sum()))
        recent = path[-5:]
        if len(recent) == 5 and recent[0] - recent[-1] <= 1e-15 * recent[-1]:
            converged = True
            break
        if iteration % 4 == 3:
            M = Z @ symmetric(B) @ (Z / q).T  # Q A with Z = V √q
            if path[-1] - reaper_bound((M + M.T) / 2.0, n_features - d) <= tol * path[-1]:
                converged = True
                break
        if step is not None and step():
            break
        U = upper_factor(B)
        if U is None:
            U = scatter_factor(X, Z, weight(r), triangular=False)
        V, s, _ = np.linalg.svd(advance(Z, np.asfortranarray(U), triangular=False))
        # eigenvalues of A⁻¹ under the bound of 1 / (D − d)
        q = np.maximum(water_fill(s * s, cap), 1e-300)
        Z = np.asfortranarray(V * np.sqrt(q))
    return _reaper_result(X, Z, q, d, delta, path, converged)


def _reaper_result(X, Z, q, d, delta, path, converged) -> Spectrum:
    """Collect the solution and its certificate: M = sym(Σ uᵢxᵢᵀ) with ‖uᵢ‖ ≤ 1."""
    Q = Z @ Z.T
    Q = (Q + Q.T) / 2.0
    residuals, M = np.empty(X.shape[0]), np.zeros_like(Q)
    for rows, block in row_blocks(X):
        R = block @ Q
        residuals[rows] = np.linalg.norm(R, axis=1)
        M += (block.T @ (R / np.maximum(residuals[rows], delta)[:, None])).T
    objective = float(residuals.sum())
    bound = reaper_bound((M + M.T) / 2.0, len(Q) - d)
    gap = max(objective - bound, 0.0)
    found = GMSPrecision(
        Q,
        objective,
        np.array(path),
        residuals,
        smooth_weight(delta)(residuals),
        delta,
        len(path),
        converged,
        gap,
        gap / objective,
        np.zeros((len(Q), 0)),
    )
    return Spectrum((Z / np.sqrt(q))[:, ::-1], q[::-1], found)


def make_solver(max_iter: int, tol: float, exact: bool, step: Callable[[], bool] | None) -> Solve:
    """Return `solve_precision` with its settings filled in."""
    return partial(solve_precision, max_iter=max_iter, tol=tol, exact=exact, step=step)
