"""The convex problem behind the geometric median subspace, solved to a certificate.

``min Σ‖Qxᵢ‖ + λ‖Q‖²_F`` over symmetric Q of trace one. Its solution is a robust inverse
covariance, up to scale: rows on a low-dimensional subspace are in its kernel, whatever the other
rows do. `gms_precision` solves it by iteratively reweighted least squares and bounds from below
what any Q can reach.

Reference: Zhang and Lerman (2014), "A novel M-estimator for robust PCA", JMLR 15:749-808,
Sections 2.8, 4 and 5.1.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params
from octavo.engine.estimators.sparse_rows import canonical_csr
from octavo.engine.linalg.weighted_scatter import (
    advance,
    off_identity,
    row_blocks,
    row_norms,
    scatter_factor,
    span,
    triangle,
    upper_factor,
    whitened_scatter,
)
from octavo.engine.smooth.anderson import AndersonMixing

__all__ = ["GMSPrecision", "gms_precision"]


RELATIVE_DELTA = 1e-11  # of the median norm: the error it leaves is of the same order (Fig. 3)
MIXED = 0.5  # the residual below which steps are mixed
NEAR = 0.1  # the residual at which rows of the kernel have reached it, up to the smoothing
IN_KERNEL = 1e-10  # of the norm of a row: further off it is no row of the kernel
FEW = 10_000  # rows of a sample that finds the kernel of more; 50 a feature where that is more
RISE = 1e-13  # of the objective, by rounding
STALL = 10  # iterations without progress after which rounding is all that is left
LOOK = 100  # iterations after which the certificate is tried
ROUNDING = 1e-6  # the residual below which a lack of progress is rounding


class GMSPrecision(NamedTuple):
    """A solution of the convex problem.

    ``precision`` of shape (n_features, n_features), of trace one; its ``objective`` and the
    ``objectives`` of the iterations; ``residuals`` ‖Qxᵢ‖ and ``weights`` 1 / max(‖Qxᵢ‖, δ) of
    the rows; ``delta``; ``n_iter``; whether it ``converged``; ``duality_gap``, the objective less
    a lower bound on every Q's; ``kkt_residual`` ‖G − cI‖_F / c, with G the derivative and c the
    objective, zero at the solution; and ``kernel`` of shape (n_features, k), the directions in
    which Q is exactly zero, by decreasing spread of the rows there.
    """

    precision: Floats
    objective: float
    objectives: Floats
    residuals: Floats
    weights: Floats
    delta: float
    n_iter: int
    converged: bool
    duality_gap: float
    kkt_residual: float
    kernel: Floats


class Descent(NamedTuple):
    """Where the iterations ended: a factor Z of the precision with its residuals, the path."""

    Z: Floats
    residuals: Floats
    path: list[float]
    residual: float
    converged: bool
    stopped: bool = False


def smooth_weight(delta: float) -> Callable[[Floats], Floats]:
    """Return the weights of Eq. (40) as a function of the residuals."""
    return lambda r: 1.0 / np.maximum(r, delta)


def next_factor(X: Any, Z: Floats, B: Floats, weights: Floats, alpha: float) -> Floats:
    """Return the factor of the next precision, from the scatter B of the whitened rows."""
    U = upper_factor(B)
    if U is None:  # far from the solution of badly scaled data: no shortcut through B
        U = scatter_factor(X, Z, weights)
        if alpha:
            # λ's step in Section 5.1, whose print has this 2λI outside the inverse of the trace
            U = triangle(np.vstack([U, np.sqrt(2.0 * alpha) * Z]))
    return advance(Z, np.asfortranarray(U))


def descend(
    X: Any,
    delta: float,
    *,
    alpha: float = 0.0,
    max_iter: int = 500,
    tol: float = 1e-10,
    Z: Floats | None = None,
    step: Callable[[], bool] | None = None,
) -> Descent:
    """Minimise the smoothed objective by reweighted least squares, Eq. (40) and Eq. (42).

    Near the solution steps are mixed (Anderson); a mixture that raises the objective by more than
    rounding gives way to the plain step, which cannot.
    """
    n_features = X.shape[1]
    Z = np.asfortranarray(np.eye(n_features) / np.sqrt(n_features)) if Z is None else Z
    weight = smooth_weight(delta)
    path: list[float] = []
    best, best_Z, best_r, since = np.inf, Z, np.zeros(0), 0
    mixing = AndersonMixing()
    plain: Floats | None = None  # where the last step led, if a mixture was taken instead
    while len(path) < max_iter:
        B, r = whitened_scatter(X, Z, weight)
        weights = weight(r)
        value, c = r.sum(), float(weights @ (r * r))  # Eq. (4), and c = F(Q): Eq. (36) times Q
        if alpha:
            gram = Z.T @ Z
            squared_norm = float(np.einsum("ij,ij->", gram, gram))  # ‖Q‖² of Q = ZZᵀ
            value, c = value + alpha * squared_norm, c + 2.0 * alpha * squared_norm
            B = np.asfortranarray(B + 2.0 * alpha * np.triu(gram))
        if plain is not None and not value <= path[-1] * (1.0 + RISE):
            Z, plain = plain, None
            mixing.forget()
            continue
        path.append(float(value))
        residual = off_identity(B, c)  # Eq. (36) in whitened rows: ZᵀGZ is c I
        since = 0 if residual < 0.9 * best else since + 1
        if residual < best:
            best, best_Z, best_r = residual, Z, r
        if residual <= tol or (since >= STALL and best <= ROUNDING):
            return Descent(best_Z, best_r, path, best, True)
        if step is not None and step():
            return Descent(Z, r, path, best, False, True)
        after, plain = next_factor(X, Z, B, weights, alpha), None
        if residual < MIXED:
            mixed = mixing(Z, after)
            if (np.diagonal(mixed) > 0.0).all():
                after, plain = np.asfortranarray(mixed / np.linalg.norm(mixed)), after
        Z = after
    Z = Z if plain is None else plain  # the last mixture was not looked at
    return Descent(Z, whitened_scatter(X, Z, weight)[1], path, best, False)


def zero_map(X: Floats, Q: Floats, zero: NDArray[np.bool_]) -> Floats:
    """Return T(Q) of Eq. (39): a step that keeps the rows marked `zero` in the kernel.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    Q : ndarray of shape (n_features, n_features)
        The precision before the step.
    zero : ndarray of shape (n_samples,)
        Which rows have Qx = 0.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        The precision after the step, exactly zero on the span of those rows.
    """
    basis, _ = _kernel_split(X[zero])
    outside = basis[1]
    Y = X[~zero] @ outside
    w = 1.0 / np.linalg.norm(X[~zero] @ Q, axis=1)  # weights of Eq. (39)
    # P (Σ w x xᵀ)⁻¹ P is the limit of Eq. (40), which weighs the zero rows infinitely: the
    # inverse of the scatter within the complement.
    A = (Y.T * w) @ Y
    inverse = np.linalg.inv(A)
    return outside @ (inverse / np.trace(inverse)) @ outside.T


def _kernel_split(rows: Floats) -> tuple[tuple[Floats, Floats], float]:
    """Return bases of the span of some rows and of its complement, and how far off it they lie."""
    values, vectors = np.linalg.eigh(rows.T @ rows)
    values, vectors = values[::-1], vectors[:, ::-1]
    rank = int((values > 1e-12 * values[0]).sum())
    inside, outside = vectors[:, :rank], vectors[:, rank:]
    scale = np.linalg.norm(rows, axis=1).max()
    off = np.abs(rows @ outside).max() / scale if outside.shape[1] else 0.0
    return (inside, outside), float(off)


class Settled(NamedTuple):
    """A precision that is exactly zero on the span of some rows, a basis of it, and the path."""

    precision: Floats
    kernel: Floats
    path: list[float]
    converged: bool


def settle_kernel(
    X: Any,
    found: Descent,
    delta: float,
    max_iter: int,
    tol: float,
    *,
    seen: Any = None,
    step: Callable[[], bool] | None = None,
) -> Settled | None:
    """Solve the rest exactly where some rows have reached Qx = 0, up to the smoothing.

    Eq. (40) leaves such rows at ‖Qx‖ < δ. Here they span the kernel, and Eq. (39), which is
    Eq. (40) on the complement, gives Q there. Returns None where there is no such kernel, or
    where the objective would not fall. `seen` are the rows that were descended on, if not all.
    """
    zero = np.flatnonzero(found.residuals < delta)
    if not zero.size or max_iter < 1:
        return None
    rows = (X if seen is None else seen)[zero]
    rows = rows.toarray() if issparse(rows) else np.asarray(rows, dtype=np.float64)
    (inside, outside), off = _kernel_split(rows)
    if off > 1e-9 or outside.shape[1] == 0:
        return None
    reduced = _off_kernel(X, outside)  # the others, in the complement, as in Eq. (39)
    if len(reduced) < outside.shape[1]:
        return None
    Z = outside.T @ found.Z
    Q = Z @ Z.T
    try:
        start = np.linalg.cholesky(Q[::-1, ::-1] / np.trace(Q))[::-1, ::-1]  # upper triangular
        rest = descend(
            reduced,
            delta,
            max_iter=max_iter,
            tol=tol,
            Z=np.asfortranarray(np.triu(start)),
            step=step,
        )
    except np.linalg.LinAlgError:  # the other rows do not span the complement
        return None
    if seen is None and rest.residuals.sum() > found.residuals.sum() * (1.0 + 1e-12):
        return None
    Z = outside @ rest.Z
    return Settled(Z @ Z.T, inside, rest.path, rest.converged)


def _off_kernel(X: Any, outside: Floats) -> Floats:
    """Return the rows that do not lie in a subspace, in a basis of its complement."""
    parts = []
    for _, block in row_blocks(X):
        part = np.asarray(block @ outside)
        sizes = np.sqrt(np.einsum("ij,ij->i", part, part))
        parts.append(part[sizes > IN_KERNEL * row_norms(block)])
    return np.vstack(parts)


class Certificate(NamedTuple):
    """What proves a solution: a lower bound on the objective, and how far G is from cI."""

    bound: float
    gap: float


def dual_certificate(
    X: Any, Q: Floats, smooth_Q: Floats, delta: float, alpha: float, tol: float
) -> Certificate:
    """Bound the objective from below by vectors uᵢ of norm at most one, one a row.

    Σ‖Qxᵢ‖ ≥ ⟨Q, M⟩ for M = sym(Σ uᵢxᵢᵀ), and over positive semidefinite Q of trace one, among which
    the solution is (Lemma 14), ⟨Q, M⟩ is at least the smallest eigenvalue of M. At the solution
    uᵢ = Qxᵢ/‖Qxᵢ‖ makes M = cI; short of it, terms Kxᵢ bring M to cI and lengthen the uᵢ a little,
    first for the rows of the kernel, which lie inside the ball, then for all.
    """
    M, inner = np.zeros_like(Q), np.zeros_like(Q)
    kernel_rows = []
    for rows, block in row_blocks(X):
        U, zero = _unit_vectors(block, Q, smooth_Q, delta)
        M += np.asarray((block.T @ U).T if issparse(block) else U.T @ block)
        if zero.size:
            kernel_rows.append((rows, zero))
            inner += _gram(block[zero])
    M = (M + M.T) / 2.0
    if alpha:
        return _penalised_certificate(M, Q, alpha)
    level = float(np.einsum("ij,ij->", M, Q))
    target, K = level * np.eye(len(Q)), np.zeros_like(Q)
    proof = Certificate(float(np.linalg.eigvalsh(M)[0]), float(np.linalg.norm(M - target) / level))
    if level - proof.bound > tol * level and kernel_rows:
        K = correction(inner, target - M)
        M = M + (K @ inner + inner @ K) / 2.0
        longest = _longest_in_kernel(X, kernel_rows, smooth_Q, K, delta)
        bound = float(np.linalg.eigvalsh(M)[0]) / longest
        off = float(np.linalg.norm(M - target) / level)
        proof = Certificate(max(proof.bound, bound), min(proof.gap, off))
    if level - proof.bound > tol * level:
        S = sum((_gram(block) for _, block in row_blocks(X)), np.zeros_like(Q))
        K_all = correction(S, target - M)
        M = M + (K_all @ S + S @ K_all) / 2.0
        longest = _longest(X, Q, smooth_Q, K, K_all, delta)
        proof = proof._replace(bound=max(proof.bound, float(np.linalg.eigvalsh(M)[0]) / longest))
    return proof


def _longest_in_kernel(
    X: Any, kernel_rows: list, smooth_Q: Floats, K: Floats, delta: float
) -> float:
    """Return the largest norm of u + Kx over the rows of the kernel, or one."""
    longest = 1.0
    for rows, zero in kernel_rows:
        part = X[rows][zero]
        smooth = np.asarray(part @ smooth_Q)
        s = np.maximum(np.linalg.norm(smooth, axis=1, keepdims=True), delta)
        longest = max(longest, float(np.linalg.norm(smooth / s + part @ K, axis=1).max()))
    return longest


def _longest(X: Any, Q: Floats, smooth_Q: Floats, K: Floats, K_all: Floats, delta: float) -> float:
    """Return the largest norm of u + K_all x, and + Kx in the kernel, over all rows, or one."""
    longest = 1.0
    for _, block in row_blocks(X):
        U, zero = _unit_vectors(block, Q, smooth_Q, delta)
        U[zero] += block[zero] @ K
        longest = max(longest, float(np.linalg.norm(U + block @ K_all, axis=1).max()))
    return longest


def _gram(rows: Any) -> Floats:
    product = rows.T @ rows
    return product.toarray() if issparse(product) else np.asarray(product, dtype=np.float64)


def _unit_vectors(block: Any, Q: Floats, smooth_Q: Floats, delta: float):
    """Return a vector of norm at most one for each row, and the numbers of those in the kernel.

    Where Q is exactly zero the smoothed solution, which is not quite, gives the direction.
    """
    R = np.asarray(block @ Q)
    r = np.linalg.norm(R, axis=1)
    low = np.flatnonzero((r < 10.0 * delta) | (r < 1e-12 * row_norms(block)))
    smooth = np.asarray(block[low] @ smooth_Q)
    s = np.linalg.norm(smooth, axis=1)
    inside = (s < delta) | (r[low] < 0.1 * s)  # in the kernel, or smoothed towards it
    R /= np.where(r > 0.0, r, 1.0)[:, None]
    R[low[inside]] = (smooth / np.maximum(s, delta)[:, None])[inside]
    return R, low[inside]


def correction(S: Floats, wanted: Floats) -> Floats:
    """Return the symmetric K with sym(KS) = wanted, as far as S reaches."""
    values, V = np.linalg.eigh(S)
    sums = values[:, None] + values[None, :]
    usable = sums > 1e-14 * max(values[-1], np.finfo(float).tiny)
    turned = V.T @ wanted @ V
    return V @ np.where(usable, 2.0 * turned / np.where(usable, sums, 1.0), 0.0) @ V.T


def _penalised_certificate(M: Floats, Q: Floats, alpha: float) -> Certificate:
    """Return the bound max over c of c − ‖cI − M‖²/(4λ), and how far M + 2λQ is from cI."""
    identity = np.eye(len(Q))
    c = (2.0 * alpha + np.trace(M)) / len(Q)
    bound = c - np.linalg.norm(c * identity - M) ** 2 / (4.0 * alpha)
    G = M + 2.0 * alpha * Q
    level = float(np.einsum("ij,ij->", G, Q))
    return Certificate(float(bound), float(np.linalg.norm(G - level * identity) / level))


def resolve_delta(delta: float | str, norms: Floats) -> float:
    """Return δ: as given, or a small share of the median norm."""
    return RELATIVE_DELTA * float(np.median(norms)) if delta == "auto" else float(delta)


def solve_precision(
    X: Any,
    delta: float,
    *,
    alpha: float,
    max_iter: int,
    tol: float,
    exact: bool,
    step: Callable[[], bool] | None = None,
) -> GMSPrecision:
    """Solve for rows that are not zero and span the space; see `gms_precision`.

    The kernel shows long before the solution does: once rows have reached it, the others are
    solved for in its complement, and if the certificate holds that is all. Of many rows a sample
    finds the kernel. Otherwise the iterations go on over all rows, and now and then, where they
    slow down because few rows are off the kernel, it is looked at whether the certificate holds.
    """
    Z: Floats | None = None
    path: list[float] = []
    if exact and not alpha:
        seen = _sample(X)
        near = descend(
            X if seen is None else seen,
            delta,
            max_iter=min(LOOK, max_iter),
            tol=max(NEAR, tol),
            step=step if seen is None else None,
        )
        Z, path = near.Z, near.path if seen is None else []
        left = max_iter - len(path)
        settled = None
        if near.converged:
            settled = settle_kernel(X, near, delta, left, tol, seen=seen, step=step)
        if settled is not None:
            solution = _with_certificate(X, near, delta, alpha, tol, settled)
            if solution.duality_gap <= tol * solution.objective:
                path = path + settled.path
                return solution._replace(objectives=np.array(path), n_iter=len(path))
    for budget in (LOOK, 2 * LOOK, max_iter):
        found = descend(
            X,
            delta,
            alpha=alpha,
            max_iter=min(budget, max_iter - len(path)),
            tol=tol,
            Z=Z,
            step=step,
        )
        Z, path = found.Z, path + found.path
        settled = None if alpha or not exact else settle_kernel(X, found, delta, max_iter, tol)
        solution = _with_certificate(X, found, delta, alpha, tol, settled)
        if solution.converged or len(path) >= max_iter or found.stopped:
            break
    return solution._replace(objectives=np.array(path), n_iter=len(path))


def _sample(X: Any) -> Any:
    """Return some of the rows, or None where all of them are few."""
    n_samples, n_features = X.shape
    few = max(FEW, 50 * n_features)
    if n_samples <= 4 * few:
        return None
    drawn = np.sort(np.random.RandomState(0).choice(n_samples, few, replace=False))
    return X[drawn]


def _with_certificate(
    X: Any, found: Descent, delta: float, alpha: float, tol: float, settled: Settled | None
) -> GMSPrecision:
    """Bound how far from optimal the solution is, with its kernel where that is settled."""
    smooth_Q = found.Z @ found.Z.T
    Q, kernel = smooth_Q, np.zeros((len(smooth_Q), 0))
    if settled is not None:
        Q, kernel = settled.precision, settled.kernel
        Q = (Q + Q.T) / 2.0
    residuals = np.empty(X.shape[0])
    for rows, block in row_blocks(X):
        residuals[rows] = np.linalg.norm(block @ Q, axis=1)
    objective = float(residuals.sum() + alpha * np.einsum("ij,ij->", Q, Q))
    proof = dual_certificate(X, Q, smooth_Q, delta, alpha, tol)
    gap = max(objective - float(proof.bound), 0.0)
    return GMSPrecision(
        Q,
        objective,
        np.array(found.path),
        residuals,
        smooth_weight(delta)(residuals),
        delta,
        len(found.path),
        found.converged or gap <= tol * objective,
        gap,
        float(proof.gap),
        kernel,
    )


def warn_unless_converged(found: GMSPrecision) -> None:
    """Say how far from optimal a solution may be, if the iterations ended early."""
    if not found.converged:
        warnings.warn(
            f"Not converged after {found.n_iter} iterations: the objective {found.objective:.6g} "
            f"may be above the smallest by up to {found.duality_gap:.3g} (duality gap). Raise "
            "max_iter; convergence is slow where there are few outliers, for which "
            "variant='gms2' and variant='egms' are made.",
            ConvergenceWarning,
            stacklevel=4,
        )


def drop_zero_rows(X: Any, norms: Floats) -> tuple[Any, NDArray[np.intp]]:
    """Return the rows that are not zero and which they are; a warning counts the others."""
    if not np.isfinite(norms).all():
        raise ValueError(
            f"norms of {int((~np.isfinite(norms)).sum())} rows overflow; divide X by a constant, "
            "which does not change the result."
        )
    kept = np.flatnonzero(norms > 0.0)
    if len(kept) == len(norms):
        return X, kept
    warnings.warn(
        f"{len(norms) - len(kept)} of {len(norms)} rows are zero; they say nothing of a "
        "subspace and are left out.",
        UserWarning,
        stacklevel=4,
    )
    if len(kept) == 0:
        raise ValueError("X has no row that is not zero; at least one is needed.")
    return X[kept], kept


@checked
@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "delta": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "exact": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def gms_precision(X, *, alpha=0.0, delta="auto", tol=1e-10, max_iter=500, exact=True):
    """Minimise Σ‖Qxᵢ‖ + alpha ‖Q‖²_F over symmetric Q of trace one.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows, taken as they are: centre them first where the subspace does not pass through
        zero. Arrays mapped from a file are read block by block.
    alpha : float, default=0.0
        The penalty λ of Eq. (42).
    delta : float or "auto", default="auto"
        Residuals below δ are smoothed (Section 2.8). "auto" takes 1e-11 of the median norm.
    tol : float, default=1e-10
        Stop when the stationarity equation holds to this, relatively, or to rounding.
    max_iter : int, default=500
        The largest number of iterations.
    exact : bool, default=True
        Where rows reach Qx = 0 up to the smoothing, put them into the kernel exactly, by the map
        of Eq. (39). False returns the minimiser of the smoothed objective.

    Returns
    -------
    GMSPrecision
        A named tuple: `precision`, `objective`, `objectives`, `residuals`, `weights`,
        `delta`, `n_iter`, `converged`, `duality_gap`, `kkt_residual` and `kernel`.

    References
    ----------
    .. [1] Zhang and Lerman (2014). A novel M-estimator for robust PCA. JMLR 15:749-808.

    Examples
    --------
    >>> from octavo.decomposition import gms_precision, make_outlier_subspace
    >>> sample = make_outlier_subspace(60, 60, 8, 2, random_state=0)
    >>> found = gms_precision(sample.X)
    >>> found.kernel.shape, found.duality_gap < 1e-8 * found.objective
    ((8, 2), True)
    """
    X = canonical_csr(
        check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2)
    )
    norms = row_norms(X)
    X, kept = drop_zero_rows(X, norms)
    delta = resolve_delta(delta, norms[kept])
    basis = span(X)
    if basis is None:
        found = solve_precision(X, delta, alpha=alpha, max_iter=max_iter, tol=tol, exact=exact)
    else:
        reduced = np.asarray(X @ basis, dtype=np.float64)
        found = solve_precision(
            reduced, delta, alpha=alpha, max_iter=max_iter, tol=tol, exact=exact
        )
        found = found._replace(
            precision=basis @ found.precision @ basis.T, kernel=basis @ found.kernel
        )
    warn_unless_converged(found)
    return expand_rows(found, kept, len(norms))


def expand_rows(found: GMSPrecision, kept: NDArray[np.intp], n_samples: int) -> GMSPrecision:
    """Give the rows that were left out the residual 0 and the weight 0."""
    if len(kept) == n_samples:
        return found
    residuals, weights = np.zeros(n_samples), np.zeros(n_samples)
    residuals[kept], weights[kept] = found.residuals, found.weights
    return found._replace(residuals=residuals, weights=weights)
