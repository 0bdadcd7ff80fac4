"""The proximal map of the nuclear norm and the sum of absolute values together.

``argmin ½‖X − Y‖² + τ‖X‖_* + γ‖X‖₁`` has no closed form. Its dual minimises ``½‖cut(Y − P)‖²`` over
matrices P of spectral norm at most τ, where `cut` is the map of the second penalty (and of X >= 0);
an accelerated projected gradient with restarts needs one decomposition a step, and its two
primal matrices, one exactly of low rank and one exactly sparse, meet at the answer. Small matrices
are solved by Newton's method. Arrays of other namespaces, under scikit-learn's dispatch, stay on
their device, where the accelerated steps are all there is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.engine.kernels.namespaces import namespace_of
from octavo.engine.proximal.matrices import (
    shrink_singular_values,
    shrunk_factors,
    soft_threshold,
)
from octavo.engine.proximal.nuclear_l1_newton import newton_nuclear_l1
from octavo.engine.spectral.block_lanczos import RitzPairs, block_lanczos

__all__ = ["NuclearL1", "SingularShrinker", "cut_entries", "shrink_both"]

FULL_SIDE = 400  # below, all singular values cost less than a few of them
BLOCKS = 20
MET = 0.25  # of the largest eigenvalue below the threshold: a residual that says it was found
NEWTON_SIDE = 200  # up to here
NEWTON_AFTER = {0: 40, 60: 250, 600: 250}  # so many steps of Newton's after how many others
NEWTON_TOL = 1e-9  # above, a start nearby needs fewer steps than Newton's method costs: not at once
FAR = 100  # powers of two from 1, beyond which cubes of entries could leave the doubles
FEW = 16  # factors whose product is formed row by row, never whole


class SingularShrinker:
    """Shrink singular values of one matrix after another, each near to the last.

    Parameters
    ----------
    svd : {"auto", "full", "randomized"}
        All singular values, or those above the threshold by a block Krylov space that begins at
        the last matrix's vectors; "auto" by size.
    rng : RandomState
        Fills the first block.
    """

    def __init__(self, svd: str = "auto", rng: np.random.RandomState | None = None):
        self.svd = svd
        self.rng = rng
        self.start: Floats | None = None
        self.width = 10
        self.likely: int | None = None  # values above the threshold at the last matrix
        self.tol = 1e-11  # of squared singular values above the threshold

    def __call__(self, M: Floats, tau: float) -> tuple[Floats, Floats]:
        """Return the matrix with singular values shrunk by `tau`, and those that are left."""
        left, right, values = self.factors(M, tau)
        return left @ right, values

    def factors(self, M: Floats, tau: float) -> tuple[Floats, Floats, Floats]:
        """Return the same matrix as a product of (n, k) and (k, m), and the values."""
        side = min(M.shape)
        if M.shape[0] < M.shape[1]:
            left, right, values = self.factors(M.T, tau)
            return right.T, left.T, values
        small = self.svd == "full" or (self.svd == "auto" and side <= FULL_SIDE)
        if small or tau <= 0.0 or 4 * self.width >= side:
            return self._of_all(M, tau)
        found = self._above(M, tau)
        while found is None:
            self.width = 2 * self.width
            if 4 * self.width >= side:
                return self._of_all(M, tau)
            found = self._above(M, tau)
        V, values = found
        Vt = np.ascontiguousarray(V.T)
        return (Vt @ M.T).T * (1.0 - tau / values), Vt, values - tau

    def _of_all(self, M: Floats, tau: float) -> tuple[Floats, Floats, Floats]:
        found = shrunk_factors(M, tau, self.likely)
        self.likely = len(found[2])
        return found

    def _above(self, M: Floats, tau: float) -> tuple[Floats, Floats] | None:
        """Return right vectors and singular values above `tau`; None where a block is too thin."""
        m, width = M.shape[1], self.width
        block = np.empty((m, 0)) if self.start is None else self.start[:, :width]
        self.rng = np.random.RandomState(0) if self.rng is None else self.rng
        block = np.hstack([block, self.rng.standard_normal((m, width - block.shape[1]))])
        unit = 1.0 / tau  # squares of small numbers stay doubles

        def finished(found: RitzPairs) -> bool:
            above = found.values > 1.0
            limit = self.tol * found.values[0] if above.any() else 0.0
            if above.all() or not np.all(found.residuals[above] <= limit):
                return bool(above.all())
            # the largest of what lies below must lie there for sure, and be the largest: a random
            # block begins with small values, however large those are that it has not met
            value, residual = found.values[~above][0], found.residuals[~above][0]
            met = residual <= max(MET * value, 1e-3)
            return bool(met and value + residual <= 1.05)

        found = block_lanczos(
            # few rows from the left take half the time of few columns from the right
            lambda X: (((np.ascontiguousarray(X.T) * unit) @ M.T) @ M).T * unit,
            block,
            finished,
            max_columns=min(m, BLOCKS * width),
        )
        above = int((found.values > 1.0).sum())
        if above >= width or not (found.exhausted or finished(found)):
            return None
        self.start = found.vectors(min(above + 4, width))
        return found.vectors(above), tau * np.sqrt(found.values[:above])  # σ of squares over tau²


def cut_entries(M: Floats, gamma: float, nonneg: bool) -> Floats:
    """Shrink entries by `gamma`, and those below zero to zero where none may be negative."""
    if not nonneg:
        return soft_threshold(M, gamma)
    cut = M - gamma
    return np.maximum(cut, 0.0, out=cut)


class NuclearL1(NamedTuple):
    """Both faces of the answer and the dual matrix, with what they are apart.

    `low_rank` has the singular values `values` and no others; `sparse` has exact zeros (and no
    negative entry where none may be). `residual` is the norm of their difference.
    """

    low_rank: Any
    sparse: Any
    dual: Any
    values: Any
    residual: float
    n_iter: int


def shrink_both(
    Y: Any,
    tau: float,
    gamma: float,
    nonneg: bool = False,
    *,
    dual: Floats | None = None,
    tol: float = 1e-10,
    max_iter: int = 5000,
    shrink: SingularShrinker | None = None,
) -> NuclearL1:
    """Return ``argmin ½‖X − Y‖² + tau ‖X‖_* + gamma ‖X‖₁``, over X >= 0 if `nonneg`.

    Parameters
    ----------
    Y : array of shape (n, m)
        Of any namespace under dispatch.
    tau, gamma : float
        At least 0.
    nonneg : bool, default=False
    dual : array of shape (n, m), default=None
        Where to begin; that of a problem nearby.
    tol : float, default=1e-10
        Bound on `residual`, relative to the norm of Y.
    max_iter : int, default=5000
    shrink : SingularShrinker, default=None

    Returns
    -------
    NuclearL1
    """
    if not isinstance(Y, np.ndarray):
        return _shrink_on_device(Y, tau, gamma, nonneg, dual, tol, max_iter)
    shrink = SingularShrinker() if shrink is None else shrink
    _, exponent = np.frexp(np.abs(Y).max(initial=0.0))
    if abs(int(exponent)) > FAR:
        unit = np.ldexp(1.0, int(exponent))
        start = None if dual is None else dual / unit
        options: Any = {"dual": start, "tol": tol, "max_iter": max_iter, "shrink": shrink}
        found = shrink_both(Y / unit, tau / unit, gamma / unit, nonneg, **options)
        scaled = {name: unit * value for name, value in found._asdict().items() if name != "n_iter"}
        return found._replace(**scaled)
    if tau == 0.0:
        Z = cut_entries(Y, gamma, nonneg)
        few = min(Z.shape) <= FULL_SIDE
        values: Any = np.linalg.svd(Z, compute_uv=False) if few else np.empty(0)
        return NuclearL1(Z, Z, np.zeros_like(Y), values, 0.0, 1)
    if gamma == 0.0 and not nonneg:
        X, values = shrink(Y, tau)
        return NuclearL1(X, X, Y - X, values, 0.0, 1)
    limit = tol * float(np.linalg.norm(Y))
    shrink.tol = min(1e-6, max(1e-11, 1e-2 * tol))
    Y = np.ascontiguousarray(Y, dtype=np.float64)
    P = np.zeros(Y.shape) if dual is None else np.array(dual, order="C")
    bounds = (float(gamma), -np.inf if nonneg else -float(gamma))
    small = min(Y.shape) <= NEWTON_SIDE
    if small and tol <= NEWTON_TOL:
        found = _by_newton(Y, tau, nonneg, P, bounds, limit, min(NEWTON_AFTER[0], max_iter))
        if found.residual <= limit:
            return found
        P[:] = found.dual
    Q, M, sums = np.empty(Y.shape), P.copy(), np.empty((3, Y.shape[1]))
    _add_cut(P, M, Y, Q, 0.0, *bounds)
    t, residual = 1.0, np.inf
    for k in range(1, max_iter + 1):
        left, right, values = shrink.factors(M, tau)
        # M - X is the projection of M on matrices of spectral norm tau
        sums[:] = 0.0
        _project(M, *_few(left, right), Y, Q, P, *bounds, sums)
        apart, turned, _ = sums.sum(axis=1)
        residual = float(np.sqrt(apart))
        if residual <= limit or k == max_iter:
            break
        momentum = 0.0
        if turned > 0.0:
            t = 1.0
        else:
            further = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
            momentum, t = (t - 1.0) / further, further
        if small and k in NEWTON_AFTER:
            found = _by_newton(Y, tau, nonneg, M, bounds, limit, NEWTON_AFTER[k])
            if found.residual <= limit:
                return found._replace(n_iter=k + found.n_iter)
            M[:] = found.dual
            t, momentum = 1.0, 0.0
        _add_cut(M, P, Y, Q, momentum, *bounds)
        P, M = M, P
    sparse = cut_entries(np.subtract(Y, Q, out=Q), gamma, nonneg)
    return NuclearL1(left @ right, sparse, M, values, residual, k)


def _by_newton(
    Y: Floats,
    tau: float,
    nonneg: bool,
    P: Floats,
    bounds: tuple[float, float],
    limit: float,
    max_iter: int,
) -> NuclearL1:
    """Go on from the dual matrix P by Newton's method."""
    high, low = bounds
    Q = np.clip(Y - P, low, high)
    found = newton_nuclear_l1(Y, tau, high, nonneg, Q, limit, max_iter=max_iter)
    P = (Y - found.Q) - found.low_rank
    return NuclearL1(
        found.low_rank, found.sparse, P, found.values, found.residual, found.n_decompositions
    )


def _shrink_on_device(
    Y: Any, tau: float, gamma: float, nonneg: bool, dual: Any, tol: float, max_iter: int
) -> NuclearL1:
    """Do the accelerated steps of `shrink_both` with whole arrays of Y's namespace."""
    xp = namespace_of(Y).xp
    low = float("-inf") if nonneg else -gamma

    def cut(M: Any) -> Any:
        return M - xp.clip(M, low, gamma)

    limit = tol * float(xp.linalg.vector_norm(Y))
    P = xp.zeros_like(Y) if dual is None else dual
    Q, t, n_iter = P, 1.0, 0
    while n_iter < max_iter:
        n_iter += 1
        Z = cut(Y - Q)
        X, values = shrink_singular_values(Q + Z, tau)
        residual = float(xp.linalg.vector_norm(X - Z))
        last, P = P, Q + Z - X
        if residual <= limit:
            break
        momentum = 0.0
        if float(xp.sum((Q - P) * (P - last))) > 0.0:
            t = 1.0
        else:
            further = (1.0 + (1.0 + 4.0 * t * t) ** 0.5) / 2.0
            momentum, t = (t - 1.0) / further, further
        Q = P + momentum * (P - last)
    return NuclearL1(X, Z, P, values, residual, n_iter)


def _few(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return the factors as the kernel takes them; their product and nothing where many."""
    if len(right) > FEW:
        left, right = left @ right, right[:0]
    return np.ascontiguousarray(left), np.ascontiguousarray(right)


@njit(cache=True)
def _project(M, left, right, Y, Q, P, high, low, sums):
    """Take X = left right off M in place; add up |X - Z|² and how far the last step turned back.

    Z = cut(Y - Q). Where `left` has more columns than `right` has rows, it is X itself. Both sums
    are made column by column, in rows 0 and 1 of `sums`; row 2 is room for a row of X.
    """
    n, m = M.shape
    whole = left.shape[1] > right.shape[0]
    for i in range(n):
        for j in range(m):
            sums[2, j] = left[i, j] if whole else 0.0
        for k in range(right.shape[0]):
            for j in range(m):
                sums[2, j] += left[i, k] * right[k, j]
        for j in range(m):
            x = sums[2, j]
            z = Y[i, j] - Q[i, j]
            z -= min(max(z, low), high)
            new = M[i, j] - x
            sums[0, j] += (x - z) ** 2
            sums[1, j] += (Q[i, j] - new) * (new - P[i, j])
            M[i, j] = new


@njit(cache=True)
def _add_cut(P, before, Y, Q, momentum, high, low):
    """Fill Q with P + momentum (P - before), and `before` with Q + cut(Y - Q)."""
    n, m = P.shape
    for i in range(n):
        for j in range(m):
            q = P[i, j] + momentum * (P[i, j] - before[i, j])
            z = Y[i, j] - q
            Q[i, j] = q
            before[i, j] = q + z - min(max(z, low), high)


def _warmup() -> None:
    shrink_both(np.eye(2), 0.1, 0.1, tol=0.5)  # so coarse that Newton's method is left out
