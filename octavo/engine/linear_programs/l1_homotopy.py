"""The exact path of  min ||β||₁  subject to  ||Sβ − g||∞ ≤ λ,  for every λ at once.

With S a covariance matrix and g a unit vector this is one column of CLIME; with S = X'X/n
and g = X'y/n it is the Dantzig selector. The path is piecewise linear in λ: `l1_path`
follows it from λ = ||g||∞, where β = 0, and keeps its breakpoints; `l1_solutions` keeps
only the solutions at given values of λ. Both carry a dual vector y with every solution,

    maximise  g'y − λ||y||₁  subject to  ||Sy||∞ ≤ 1,

which certifies it, and both say where the constraints can no longer be met.

The steps are those of the parametric simplex method (Pang, Liu and Vanderbei, 2014, "The
fastclime package", section 1) on the linear program of its equation (3), but the dictionary
of size 2d × 2d is never formed. The basis is a set J of coefficients that are not zero and
a set T of as many rows that are tight, and all that is kept of it is the inverse of the
k × k block S[T, J]; a pivot costs two products of k rows of S with a vector, 2dk
multiplications, beside O(k²) for the inverse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from octavo.engine.compilation.kernel_cache import njit

__all__ = ["L1Path", "L1Solutions", "certificate", "l1_path", "l1_solutions"]

REACHED, INFEASIBLE, FULL, STALLED, NO_ROOM, INVERT = range(6)
_STATUS = {
    REACHED: "complete",
    INFEASIBLE: "infeasible",
    FULL: "truncated",
    STALLED: "stalled",
}

_PIVOT_TOL = 1e-9  # a smaller rate is rounding error: taking it for a pivot runs past the end
_TIE_TOL = 1e-12
_ZERO_STEP = 1e-13
_DRIFT = 1e-12  # β and y are computed anew when errors of this size have built up,
_REFRESH_EVERY = 32  # and after so many pivots at the latest
_BLAND_AFTER = 30
_NO_LIMIT = np.iinfo(np.int64).max

# The state of the walk lives in two arrays: compiled functions with few arguments compile fast.
# Rows of `place`; the first k entries of COLUMNS and ROWS are in use.
COLUMNS = 0  # J: the coefficients that are not zero
ROWS = 1  # T: the constraints that are tight
IN_COLUMNS = 2  # the place of a coefficient in J, -1 for those that are not there
IN_ROWS = 3  # the place of a row in T, -1 for those that are not there
# Rows of `real`, each on J, on T or on all d features.
SIGMA = 0  # signs of the coefficients in J
TAU = 1  # the side on which the rows in T are tight
BETA = 2
Y = 3
DBETA = 4  # dβ/dλ on J
DY = 5  # direction of y on T
RESIDUAL = 6  # r = g − Sβ
DRESIDUAL = 7  # dr/dλ
Z = 8  # Sy
DZ = 9  # direction of Sy
WORK, WORK2 = 10, 11


@njit(cache=True, nogil=True, error_model="numpy")
def _combine_rows(S, index, weight, k, out):
    """out = Σ_a weight[a] S[index[a]], four rows at a time: `out` is read k/4 times, not k."""
    d = S.shape[0]
    for j in range(d):
        out[j] = 0.0
    a = 0
    while a + 4 <= k:
        row0, row1, row2, row3 = S[index[a]], S[index[a + 1]], S[index[a + 2]], S[index[a + 3]]
        w0, w1, w2, w3 = weight[a], weight[a + 1], weight[a + 2], weight[a + 3]
        for j in range(d):
            out[j] += (w0 * row0[j] + w1 * row1[j]) + (w2 * row2[j] + w3 * row3[j])
        a += 4
    while a < k:
        row0, w0 = S[index[a]], weight[a]
        for j in range(d):
            out[j] += w0 * row0[j]
        a += 1


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _row_products(M, x, k, out):
    """out = M[:k, :k] x. Only the order of the sums is left free, which no error bound minds."""
    for a in range(k):
        row = M[a]
        total = 0.0
        for b in range(k):
            total += row[b] * x[b]
        out[a] = total


@njit(cache=True, nogil=True, error_model="numpy")
def _column_products(M, x, k, out):
    """out = M[:k, :k]' x."""
    for b in range(k):
        out[b] = 0.0
    for a in range(k):
        row, xa = M[a], x[a]
        for b in range(k):
            out[b] += xa * row[b]


@njit(cache=True, nogil=True, error_model="numpy")
def _add_outer(M, x, y, k):
    """M[:k, :k] += x y'."""
    for a in range(k):
        row, xa = M[a], x[a]
        for b in range(k):
            row[b] += xa * y[b]


@njit(cache=True, nogil=True, error_model="numpy")
def _refresh(S, g, place, real, k, M, alpha):
    """Stop the drift: compute r and z anew and correct β and y. Returns the error left over."""
    rows, columns, error, change = place[ROWS], place[COLUMNS], real[WORK], real[WORK2]
    worst = 0.0
    for _ in range(3):
        _combine_rows(S, columns, real[BETA], k, real[RESIDUAL])
        for j in range(g.shape[0]):
            real[RESIDUAL, j] = g[j] - real[RESIDUAL, j]
        _combine_rows(S, rows, real[Y], k, real[Z])
        worst = 0.0
        for a in range(k):
            error[a] = real[RESIDUAL, rows[a]] - alpha * real[TAU, a]
            worst = max(worst, abs(error[a]))
        # M = S[T,J]⁻¹ gives the correction of β, its transpose that of y.
        _row_products(M, error, k, change)
        for a in range(k):
            real[BETA, a] += change[a]
            error[a] = real[SIGMA, a] - real[Z, columns[a]]
            worst = max(worst, abs(error[a]))
        _column_products(M, error, k, change)
        for a in range(k):
            real[Y, a] += change[a]
        if worst <= 1e-13:
            break
    return worst


@njit(cache=True, nogil=True, error_model="numpy")
def _dual_direction(S, place, real, k, M, is_row, index, side):
    """Direction of y on T, and of z = Sy, that the event asks for.

    A row (t, τ) that became tight: dy_t = τ and dy_T = −τ S[J,T]⁻¹ S[J,t], so that z_J stays.
    A coefficient j that reached zero: dy_T = −σ_j S[J,T]⁻¹ e_j, so that |z_j| falls below 1.
    Returns the size that rates along this direction are judged by, and by how much rounding
    errors in M make z_J move otherwise.
    """
    columns, dy, dz, work = place[COLUMNS], real[DY], real[DZ], real[WORK]
    n_moving = k
    if is_row:
        for a in range(k):
            # row t enters T: z_J must stay, so dy_T answers τ S[t,J]
            work[a] = -side * S[index, columns[a]]
        _column_products(M, work, k, dy)
        place[ROWS, k], dy[k] = index, side
        n_moving = k + 1
    else:
        p = place[IN_COLUMNS, index]
        for a in range(k):
            # column j leaves J: z_j moves off its bound, the other z_J stay
            dy[a] = -real[SIGMA, p] * M[p, a]
    _combine_rows(S, place[ROWS], dy, n_moving, dz)
    slip = 0.0
    for a in range(k):
        target = -real[SIGMA, a] if columns[a] == index and not is_row else 0.0
        slip = max(slip, abs(dz[columns[a]] - target))
        dz[columns[a]] = target
    size = 1.0
    for a in range(n_moving):
        size = max(size, abs(dy[a]))
    return size, slip


@njit(cache=True, nogil=True, error_model="numpy")
def _dual_ratio(place, real, k, size, bland):
    """How far y may go until a |z_j| reaches 1 or a y_t reaches 0, and which comes first.

    Returns (θ, is_column, index, sign): `index` is a coefficient that joins J with that sign,
    or the place in T of the row that leaves; θ = -1 where nothing stops the move. Of those
    that come first together the largest pivot is taken, or under Bland's rule the first.
    """
    z, dz, y, dy, tau = real[Z], real[DZ], real[Y], real[DY], real[TAU]
    d = place.shape[1] - 1
    smallest = _PIVOT_TOL * size
    theta, best, is_column, index, sign = np.inf, 0.0, False, -1, 0.0
    for j in range(d):
        rate = abs(dz[j])
        if rate > smallest:
            side = 1.0 if dz[j] > 0.0 else -1.0
            ratio = max(1.0 - side * z[j], 0.0) / rate
            tie = _TIE_TOL * (1.0 + ratio)
            if ratio <= theta + tie:
                merit = -(2.0 * j + (side < 0.0)) if bland else rate
                if ratio < theta - tie or merit > best:
                    best, is_column, index, sign = merit, True, j, side
                theta = min(theta, ratio)
    for a in range(k):
        rate = -tau[a] * dy[a]
        if rate > smallest:
            ratio = max(tau[a] * y[a], 0.0) / rate
            tie = _TIE_TOL * (1.0 + ratio)
            if ratio <= theta + tie:
                merit = -(2.0 * (d + place[ROWS, a]) + (tau[a] < 0.0)) if bland else rate
                if ratio < theta - tie or merit > best:
                    best, is_column, index, sign = merit, False, a, 0.0
                theta = min(theta, ratio)
    return (theta if index >= 0 else -1.0), is_column, index, sign


@njit(cache=True, nogil=True, error_model="numpy")
def _change_inverse(S, place, real, k, M, t, side, p, j, q):
    """Update M = S[T,J]⁻¹ for one exchange. Returns the pivot.

    Row t joins T (-1: none does), or else place p of J is given up; coefficient j joins J
    (-1: none does), or else place q of T is given up. All four cases add one outer product.
    """
    w, v, entry = real[WORK], real[WORK2], real[DBETA]
    for a in range(k):  # w = S[t,J] M, which is −τ dy from the dual move, or row p of M
        # Sherman and Morrison's formula, its four cases by what enters and what leaves.
        w[a] = -side * real[DY, a] if t >= 0 else M[p, a]
    if j >= 0:  # v = M S[T,j], or column q of M
        for a in range(k):
            entry[a] = S[j, place[ROWS, a]]
        _row_products(M, entry, k, v)
    else:
        for a in range(k):
            v[a] = M[a, q]
    if t >= 0 and j >= 0:
        pivot = S[t, j]
        for a in range(k):
            pivot -= w[a] * entry[a]
        factor = 1.0 / pivot
    else:
        pivot = w[q] if t >= 0 else (v[p] if j >= 0 else M[p, q])
        factor = -1.0 / pivot
        if t >= 0:
            w[q] -= 1.0
        elif j >= 0:
            v[p] -= 1.0
    for a in range(k):
        v[a] *= factor
    _add_outer(M, v, w, k)
    if t >= 0 and j >= 0:
        for a in range(k):
            M[k, a], M[a, k] = -w[a] * factor, -v[a]
        M[k, k] = factor
    return pivot


@njit(cache=True, nogil=True, error_model="numpy")
def _set_row(place, real, q, t, tau, y):
    place[ROWS, q], place[IN_ROWS, t], real[TAU, q], real[Y, q] = t, q, tau, y


@njit(cache=True, nogil=True, error_model="numpy")
def _set_column(place, real, p, j, sigma, beta):
    place[COLUMNS, p], place[IN_COLUMNS, j] = j, p
    real[SIGMA, p], real[BETA, p] = sigma, beta


@njit(cache=True, nogil=True, error_model="numpy")
def _exchange(S, place, real, k, M, is_row, index, side, theta, is_column, stopped, sign):
    """Move y by θ and exchange what the event brings for what stopped it. Returns k, pivot."""
    for a in range(k):
        real[Y, a] += theta * real[DY, a]
    for j in range(S.shape[0]):
        real[Z, j] += theta * real[DZ, j]
    t, p = (index, k) if is_row else (-1, place[IN_COLUMNS, index])
    j, q = (stopped, k) if is_column else (-1, stopped)
    if not is_row and j == index:  # it comes back with the other sign
        real[SIGMA, p], real[BETA, p] = sign, 0.0
        return k, 1.0
    pivot = _change_inverse(S, place, real, k, M, t, side, p, j, q)
    if not is_row:
        place[IN_COLUMNS, index] = -1
    if not is_column:
        place[IN_ROWS, place[ROWS, q]] = -1
    if is_row:
        _set_row(place, real, q, t, side, theta * side)
    if is_column:
        _set_column(place, real, p, j, sign, 0.0)
    if is_row and is_column:
        return k + 1, pivot
    if not is_row and not is_column:  # the last ones move to the places given up
        k -= 1
        for a in range(k + 1):
            M[p, a] = M[k, a]
        for a in range(k):
            M[a, q] = M[a, k]
        if p < k:
            _set_column(place, real, p, place[COLUMNS, k], real[SIGMA, k], real[BETA, k])
        if q < k:
            _set_row(place, real, q, place[ROWS, k], real[TAU, k], real[Y, k])
    return k, pivot


@njit(cache=True, nogil=True, error_model="numpy")
def _primal_direction(S, place, real, k, M):
    """dβ_J/dλ = −S[T,J]⁻¹ τ_T and dr/dλ = −S dβ/dλ. Returns by how much r_T slips."""
    _row_products(M, real[TAU], k, real[DBETA])
    _combine_rows(S, place[COLUMNS], real[DBETA], k, real[DRESIDUAL])
    slip = 0.0
    for a in range(k):
        real[DBETA, a] = -real[DBETA, a]  # d/dλ of β_J = S[T,J]⁻¹ (g_T - λ τ_T)
        slip = max(slip, abs(real[DRESIDUAL, place[ROWS, a]] - real[TAU, a]))
    return slip


@njit(cache=True, nogil=True, error_model="numpy")
def _primal_ratio(place, real, k, alpha, bland):
    """How far λ may fall until a coefficient reaches 0 or a row becomes tight, and which.

    Returns (δ, is_row, index, side). Ties as in the dual ratio.
    """
    beta, dbeta, sigma = real[BETA], real[DBETA], real[SIGMA]
    r, dr = real[RESIDUAL], real[DRESIDUAL]
    columns, in_rows = place[COLUMNS], place[IN_ROWS]
    d = place.shape[1] - 1
    delta, best, is_row, index, chosen = np.inf, 0.0, False, -1, 0.0
    for a in range(k):
        rate = sigma[a] * dbeta[a]
        if rate > _PIVOT_TOL:
            ratio = max(sigma[a] * beta[a], 0.0) / rate
            if ratio <= delta + _TIE_TOL:
                merit = -(2.0 * columns[a] + (sigma[a] < 0.0)) if bland else rate
                if ratio < delta - _TIE_TOL or merit > best:
                    best, is_row, index, chosen = merit, False, columns[a], 0.0
                delta = min(delta, ratio)
    for t in range(d):
        if in_rows[t] < 0:
            for side in (1.0, -1.0):
                rate = 1.0 - side * dr[t]  # r_t falls to λ at the rate 1 - side dr_t
                gap = alpha - side * r[t]
                if rate > _PIVOT_TOL and gap <= (delta + _TIE_TOL) * rate:
                    ratio = max(gap, 0.0) / rate
                    merit = -(2.0 * (d + t) + (side < 0.0)) if bland else rate
                    if ratio < delta - _TIE_TOL or merit > best:
                        best, is_row, index, chosen = merit, True, t, side
                    delta = min(delta, ratio)
    return delta, is_row, index, chosen


@njit(cache=True, nogil=True, error_model="numpy")
def _keep_point(tape_end, tape_index, tape_value, n_points, place, real, k, step):
    """Append β and y of the point that lies `step` below where the state stands."""
    end = tape_end[n_points, 1]
    for a in range(k):
        entry = real[BETA, a] - step * real[DBETA, a]
        if abs(entry) > _ZERO_STEP:
            tape_index[end], tape_value[end] = place[COLUMNS, a], entry
            end += 1
    tape_end[n_points + 1, 0] = end
    for a in range(k):
        if real[Y, a] != 0.0:
            tape_index[end], tape_value[end] = place[ROWS, a], real[Y, a]
            end += 1
    tape_end[n_points + 1, 1] = end


@njit(cache=True, nogil=True, error_model="numpy")
def _walk(
    S, g, place, real, M, alphas, ends, index_tape, value_tape,
    n_grid, max_points, max_iter, alpha_min,
    alpha, k, fresh, idle, n_points, n_pivots,
):  # fmt: skip
    """Follow the path down to `alpha_min`, or until the caller must lend a hand.

    That is so with NO_ROOM (enlarge the arrays) and INVERT (M is doubted: invert it anew, and
    say so by `fresh`). With n_grid = 0 the breakpoints are kept and their λ written to `alphas`,
    otherwise the solutions at the n_grid values in `alphas`. Returns the status and the last
    line of arguments.
    """
    d = S.shape[0]
    status, drift = REACHED, 0.0
    while alpha > alpha_min:
        needed = ends[n_points, 1] + 2 * (k + 1) * max(n_grid - n_points, 1)
        if k >= M.shape[0] or n_points >= alphas.shape[0] or needed > index_tape.shape[0]:
            status = NO_ROOM
            break
        if n_grid == 0 and n_points >= max_points:
            status = FULL
            break
        if n_pivots >= max_iter or idle > 50 * d + 1000:
            status = STALLED
            break
        if fresh or drift > _DRIFT or n_pivots % _REFRESH_EVERY == 0:
            error = _refresh(S, g, place, real, k, M, alpha)
            drift = 0.0
            if error > (1e-8 if fresh else 1e-11):
                status = STALLED if fresh else INVERT
                break
        slip = _primal_direction(S, place, real, k, M)
        bland = idle > _BLAND_AFTER
        delta, is_row, index, side = _primal_ratio(place, real, k, alpha, bland)
        lower = alpha - delta
        if lower <= alpha_min + _ZERO_STEP:
            lower = alpha_min
        delta = alpha - lower
        drift += delta * slip
        idle = 0 if delta > _ZERO_STEP else idle + 1
        if n_grid == 0 and idle == 0:
            alphas[n_points] = lower
            _keep_point(ends, index_tape, value_tape, n_points, place, real, k, delta)
            n_points += 1
        while n_points < n_grid and alphas[n_points] >= lower:
            step = alpha - alphas[n_points]
            _keep_point(ends, index_tape, value_tape, n_points, place, real, k, step)
            n_points += 1
        for a in range(k):
            real[BETA, a] -= delta * real[DBETA, a]
        for j in range(d):
            real[RESIDUAL, j] -= delta * real[DRESIDUAL, j]
        alpha = lower
        if alpha <= alpha_min or (n_grid == 0 and n_points >= max_points):
            continue
        size, slip = _dual_direction(S, place, real, k, M, is_row, index, side)
        theta, is_column, stopped, sign = _dual_ratio(place, real, k, size, bland)
        if theta < 0.0:  # believed only of a fresh inverse
            status = INFEASIBLE if fresh or k == 0 else INVERT
            break
        k, pivot = _exchange(
            S, place, real, k, M, is_row, index, side, theta, is_column, stopped, sign
        )
        n_pivots, fresh, drift = n_pivots + 1, False, drift + theta * slip
        if abs(pivot) < 1e-6:
            status = INVERT
            break
    return status, (alpha, k, fresh, idle, n_points, n_pivots)


def certificate(
    S: np.ndarray, g: np.ndarray, alpha: float, beta: np.ndarray, y: np.ndarray
) -> tuple[float, float]:
    """Return the duality gap of (β, y) and how much β violates its constraints.

    Nothing is taken from the solver: y is shrunk until ||Sy||∞ ≤ 1 holds in floating point,
    so that g'y − λ||y||₁ is a lower bound on the optimum whatever y is.
    """
    j, t = np.flatnonzero(beta), np.flatnonzero(y)
    # y is made feasible by its largest |Sy|
    shrink = max(1.0, float(np.abs(y[t] @ S[t]).max(initial=0.0)))
    # weak duality: any feasible y bounds ||β||₁ from below
    bound = (float(g @ y) - alpha * float(np.abs(y).sum())) / shrink
    violation = float(np.abs(beta[j] @ S[j] - g).max(initial=0.0)) - alpha
    return float(np.abs(beta).sum()) - bound, max(violation, 0.0)


@dataclass(frozen=True)
class L1Solutions:
    """Solutions of  min ||β||₁, ||Sβ − g||∞ ≤ λ  at given values of λ.

    Attributes
    ----------
    alphas : ndarray of shape (n_points,)
        Values of λ, decreasing. Those that could not be reached are not among them.
    coefs : csr_array of shape (n_points, n_features)
        β at each of `alphas`.
    duals : csr_array of shape (n_points, n_features)
        y at each of `alphas`.
    status : {"complete", "infeasible", "truncated", "stalled"}
        "infeasible": no λ below `alpha_end` can be met. "truncated": the number of
        breakpoints that was asked for was reached. "stalled": the limit on pivots was
        reached, rounding errors could not be kept below 1e-8, or S is scaled so badly that
        it cannot be told whether a smaller λ is feasible.
    alpha_end : float
        The smallest λ that was reached.
    n_pivots : int
        Number of exchanges of the basis.
    ray : ndarray of shape (n_features,)
        Where the status is "infeasible", a vector with Sv = 0 and g'v = λ||v||₁ at
        λ = `alpha_end`: no smaller λ is feasible, as g'v = (g − Sβ)'v ≤ λ||v||₁ for every β.
        Zero otherwise.
    """

    alphas: np.ndarray
    coefs: sparse.csr_array
    duals: sparse.csr_array
    status: str
    alpha_end: float
    n_pivots: int
    ray: np.ndarray


class L1Path(L1Solutions):
    """The whole path of  min ||β||₁, ||Sβ − g||∞ ≤ λ:  `alphas` are its breakpoints.

    β is zero above ``alphas[0]`` and linear between the breakpoints; y is constant
    between them, and row k of `duals` belongs to ``[alphas[k], alphas[k - 1]]``.
    """

    def _piece(self, alpha: float) -> int:
        """Return k with alphas[k] <= alpha < alphas[k - 1]; 0 where β is still zero."""
        if not alpha >= self.alpha_end:
            reason = {
                "infeasible": "no smaller alpha is feasible",
                "truncated": "the path was cut at the number of breakpoints asked for",
                "complete": "the path was asked for down to there",
                "stalled": "the solver stalled there",
            }[self.status]
            raise ValueError(
                f"alpha={alpha!r} is below {self.alpha_end!r}, where the path ends: {reason}."
            )
        return int(np.searchsorted(-self.alphas, -alpha, side="left"))

    def at(self, alpha: float) -> np.ndarray:
        """Return β at any λ that the path reaches."""
        beta = np.zeros(self.coefs.shape[1])
        k = min(self._piece(alpha), len(self.alphas) - 1)
        if k == 0:
            return beta
        high, low = self.alphas[k - 1], self.alphas[k]
        share = min(max((alpha - low) / (high - low), 0.0), 1.0)
        pointer, index, value = self.coefs.indptr, self.coefs.indices, self.coefs.data
        for row, weight in ((k, 1.0 - share), (k - 1, share)):
            piece = slice(pointer[row], pointer[row + 1])
            beta[index[piece]] += weight * value[piece]
        return beta

    def dual_at(self, alpha: float) -> np.ndarray:
        """Return the dual vector y at any λ that the path reaches."""
        y = np.zeros(self.duals.shape[1])
        k = min(self._piece(alpha), len(self.alphas) - 1)
        piece = slice(self.duals.indptr[k], self.duals.indptr[k + 1])
        y[self.duals.indices[piece]] = self.duals.data[piece]
        return y


def _trace(S, g, alpha_min, grid, max_points, max_iter):
    """Walk to the end, with larger arrays whenever they are full."""
    d = len(g)
    place, real, M = np.full((4, d + 1), -1), np.zeros((12, d + 1)), np.zeros((24, 24))
    alphas = grid.copy() if len(grid) else np.empty(64)
    ends = np.zeros((len(alphas) + 1, 2), dtype=np.int64)
    indices, values = np.empty(1024, dtype=np.int32), np.empty(1024)
    real[RESIDUAL, :d] = g
    alpha = float(np.abs(g).max())
    n_points = int(np.count_nonzero(grid >= alpha))  # there β = 0
    if len(grid) == 0:
        alphas[0], n_points = alpha, 1
    limits = (len(grid), max_points, max_iter, alpha_min)
    status, at = NO_ROOM, (alpha, 0, False, 0, n_points, 0)
    while status in (NO_ROOM, INVERT):
        status, at = _walk(S, g, place, real, M, alphas, ends, indices, values, *limits, *at)
        alpha, k, fresh, idle, n_points, n_pivots = at
        if status == INVERT:
            try:
                M[:k, :k] = np.linalg.inv(S[np.ix_(place[ROWS, :k], place[COLUMNS, :k])])
            except np.linalg.LinAlgError:
                status = STALLED
            at = (alpha, k, True, idle, n_points, n_pivots)
        if k >= len(M):
            M = np.pad(M, (0, k + 8))
        if n_points >= len(alphas) and len(grid) == 0:
            alphas, ends = np.resize(alphas, 2 * n_points), np.resize(ends, (2 * n_points + 1, 2))
        needed = ends[n_points, 1] + 2 * (k + 1) * max(len(grid) - n_points, 1)
        if needed > len(indices):
            indices, values = np.resize(indices, 2 * needed), np.resize(values, 2 * needed)
    if len(grid) == 0:
        alphas[n_points - 1] = alpha  # steps too short to keep may have followed
    ray = np.zeros(d)
    if status == INFEASIBLE:
        ray[place[ROWS, : k + 1]] = real[DY, : k + 1]
        support = np.flatnonzero(ray)
        if np.abs(ray[support] @ S[support]).max() > 1e-11 * np.abs(ray).max():
            status, ray = STALLED, np.zeros(d)  # no proof: S is too badly scaled to tell
    return alphas[:n_points], ends[: n_points + 1], indices, values, status, alpha, n_pivots, ray


def _sparse_rows(index, value, sizes, d):
    pointer = np.concatenate([[0], np.cumsum(sizes)])
    return sparse.csr_array((value, index, pointer), shape=(len(sizes), d))


def _solve(kind, S, g, alpha_min, grid, max_points, max_iter, scale):
    """Trace on data scaled to max |S| = max |g| = 1, and scale back."""
    S, g = np.ascontiguousarray(S, dtype=np.float64), np.asarray(g, dtype=np.float64)
    scale = float(np.abs(S).max(initial=0.0)) if scale is None else scale
    scale, unit = scale or 1.0, float(np.abs(g).max(initial=0.0)) or 1.0
    alphas, ends, index, value, status, alpha_end, n_pivots, ray = _trace(
        S if scale == 1.0 else S / scale,
        g / unit,
        max(alpha_min / unit, 0.0),
        grid / unit,
        _NO_LIMIT if max_points is None else max_points,
        _NO_LIMIT if max_iter is None else max_iter,
    )
    sizes = np.diff(ends.ravel()[1:])  # of β at the first point, of its y, of the next β, ...
    is_beta = np.repeat(np.arange(len(sizes)) % 2 == 0, sizes)
    index, value = index[: len(is_beta)], value[: len(is_beta)]
    return kind(
        alphas=grid[: len(alphas)].copy() if len(grid) else alphas * unit,
        coefs=_sparse_rows(index[is_beta], value[is_beta] * (unit / scale), sizes[::2], len(g)),
        duals=_sparse_rows(index[~is_beta], value[~is_beta] / scale, sizes[1::2], len(g)),
        status=_STATUS[status],
        alpha_end=alpha_end * unit,
        n_pivots=n_pivots,
        ray=ray,
    )


def l1_path(
    S: np.ndarray,
    g: np.ndarray,
    alpha_min: float = 0.0,
    *,
    max_breakpoints: int | None = None,
    max_iter: int | None = None,
    scale: float | None = None,
) -> L1Path:
    """Follow  min ||β||₁, ||Sβ − g||∞ ≤ λ  from λ = ||g||∞ down to `alpha_min`.

    Parameters
    ----------
    S : ndarray of shape (n_features, n_features)
        A symmetric matrix; that it is symmetric is not checked.
    g : ndarray of shape (n_features,)
        The target.
    alpha_min : float, default=0.0
        Where to stop.
    max_breakpoints : int, default=None
        Stop after this many breakpoints, the first one, λ = ||g||∞, included.
    max_iter : int, default=None
        Stop after this many exchanges of the basis.
    scale : float, default=None
        The largest absolute entry of `S`, where it is known: saves looking for it.

    Returns
    -------
    L1Path
        The breakpoints.
    """
    return _solve(L1Path, S, g, alpha_min, np.empty(0), max_breakpoints, max_iter, scale)


def l1_solutions(
    S: np.ndarray,
    g: np.ndarray,
    alphas: np.ndarray,
    *,
    max_iter: int | None = None,
    scale: float | None = None,
) -> L1Solutions:
    """Solve  min ||β||₁, ||Sβ − g||∞ ≤ λ  at each of `alphas`, in one walk.

    Parameters
    ----------
    S, g, max_iter, scale
        As in `l1_path`.
    alphas : ndarray of shape (n_points,)
        Values of λ in decreasing order.

    Returns
    -------
    L1Solutions
        The solutions at those of `alphas` that are feasible.
    """
    grid = np.asarray(alphas, dtype=np.float64)
    return _solve(L1Solutions, S, g, grid[-1], grid, None, max_iter, scale)


def _warmup() -> None:
    """Compile every kernel of this module."""
    S, g = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([1.0, 0.0])
    l1_path(S, g, 0.1)
