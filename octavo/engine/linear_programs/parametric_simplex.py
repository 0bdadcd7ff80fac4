"""The parametric simplex method on a dense dictionary: a linear program for every λ at once.

    maximise  (c + λ c*)' x   subject to   A x ≤ b + λ b*,  x ≥ 0        (1)

with b* ≥ 0 and c* ≤ 0, so that x = 0 is optimal for λ large. `trace_lp` lowers λ from there
pivot by pivot and returns an `LPPath`: the basis, the solution and the dual solution on each
of the intervals of λ on which they are linear.

Reference: Pang, Liu and Vanderbei (2014), "The fastclime package for linear programming and
large-scale precision matrix estimation in R", JMLR 15, section 1 and its equation (1).

Ties are broken as if the right-hand side were b + λb* + ε p and the costs c + λc* − ε q with
random positive p and q and an infinitesimal ε: both are carried along as further columns and
rows of the dictionary, and compared only where the rest is equal. No basis can then come back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from octavo.engine.compilation.kernel_cache import njit

__all__ = ["LPPath", "trace_lp"]

_REFRESH_EVERY = 64
_DOUBTFUL_PIVOT = 1e-7


@njit(cache=True, nogil=True, error_model="numpy")
def _next_lambda(D, m, n, slope_tol):
    # The third lines (n + 2, m + 2) hold a random perturbation: it orders breakpoints that tie.
    """Return the largest λ below which the dictionary is not optimal, and what fails there.

    (λ, its ε part, is_row, index); index = -1 where the dictionary stays optimal for ever.
    """
    lam, second, is_row, index = -np.inf, -np.inf, False, -1
    for i in range(m):
        slope = D[i, n + 1]
        # Section 1: -b_i / b*_i
        if slope > slope_tol:  # b_i + λ b*_i falls to zero
            at, then = -D[i, n] / slope, -D[i, n + 2] / slope
            tie = 1e-12 * (1.0 + abs(at))
            if at > lam + tie or (at > lam - tie and then > second):
                lam, second, is_row, index = max(at, lam), then, True, i
    for j in range(n):
        slope = D[m + 1, j]
        # Section 1: -c_j / c*_j
        if slope < -slope_tol:  # c_j + λ c*_j rises to zero
            at, then = -D[m, j] / slope, -D[m + 2, j] / slope
            tie = 1e-12 * (1.0 + abs(at))
            if at > lam + tie or (at > lam - tie and then > second):
                lam, second, is_row, index = max(at, lam), then, False, j
    return lam, second, is_row, index


@njit(cache=True, nogil=True, error_model="numpy")
def _ratio(D, m, n, is_row, index, lam, second, tol):
    """Return the partner of the pivot: a column where a row fails, a row where a column does.

    It is the first to lose the sign that optimality asks for; -1 where there is none.
    """
    best, best_second, partner = np.inf, np.inf, -1
    for a in range(n if is_row else m):
        if is_row:
            pivot, level = -D[index, a], -(D[m, a] + lam * D[m + 1, a])
            level_second = -(D[m + 2, a] + second * D[m + 1, a])
        else:
            pivot, level = D[a, index], D[a, n] + lam * D[a, n + 1]
            level_second = D[a, n + 2] + second * D[a, n + 1]
        if pivot > tol:
            # Ratio test of the dual simplex method for a row, of the primal one for a column.
            ratio, then = max(level, 0.0) / pivot, level_second / pivot
            tie = 1e-12 * (1.0 + ratio)
            if ratio < best - tie or (ratio <= best + tie and then < best_second):
                best, best_second, partner = min(ratio, best), then, a
    return partner


@njit(cache=True, nogil=True, error_model="numpy")
def _pivot(D, row, column):
    """Exchange the basic variable of `row` and the nonbasic one of `column`."""
    inverse = 1.0 / D[row, column]
    for a in range(D.shape[1]):
        D[row, a] *= inverse
    for i in range(D.shape[0]):
        factor = D[i, column]
        if i != row and factor != 0.0:
            for a in range(D.shape[1]):
                D[i, a] -= factor * D[row, a]
            D[i, column] = -factor * inverse
    D[row, column] = inverse  # Gauss-Jordan with the pivot's own entry inverted


@dataclass(frozen=True)
class LPPath:
    """The solutions of a parametric linear program, for every λ that was reached.

    Parameters
    ----------
    lambdas : ndarray of shape (n_pieces,)
        Breakpoints, decreasing. x = 0 is optimal above ``lambdas[0]``; ``lambdas[-1]`` is
        `lam_min`, or the λ below which the program is infeasible or unbounded.
    basis : ndarray of shape (n_pieces, n_constraints)
        The basic variables on ``[lambdas[k], lambdas[k - 1]]`` (up to infinity for k = 0);
        variable n_variables + i is the slack of constraint i.
    status : {"optimal", "infeasible", "unbounded", "pivot limit"}
        Why the path ends: "optimal" when it reached `lam_min`.
    n_pivots : int
        Number of exchanges of the basis.
    nonbasis : ndarray of shape (n_pieces, n_variables)
        The variables that are zero on each piece.
    primal : ndarray of shape (n_pieces, 2, n_constraints)
        Intercept and slope in λ of the basic variables.
    dual : ndarray of shape (n_pieces, 2, n_variables)
        Intercept and slope in λ of the reduced costs of the others.

    Examples
    --------
    >>> from octavo.linear import parametric_simplex
    >>> path = parametric_simplex([[-1.0], [1.0]], [-3.0, 1.0], [-1.0], b_star=[1.0, 0.0])
    >>> path.at(2.5), path.lambdas, path.status
    (array([0.5]), array([3., 2.]), 'infeasible')
    """

    lambdas: np.ndarray
    basis: np.ndarray
    status: str
    n_pivots: int
    nonbasis: np.ndarray
    primal: np.ndarray
    dual: np.ndarray

    def _piece(self, lam: float) -> int:
        if not lam >= self.lambdas[-1]:
            reason = {
                "optimal": "the path was asked for down to there",
                "pivot limit": "the limit on pivots was reached there",
            }.get(self.status, f"the program is {self.status} below it")
            raise ValueError(
                f"lam={lam!r} is below {float(self.lambdas[-1])!r}, where the path ends: {reason}."
            )
        return int(np.searchsorted(-self.lambdas, -lam, side="left"))

    def at(self, lam: float) -> np.ndarray:
        """Return the optimal x.

        Parameters
        ----------
        lam : float
            Any λ from ``lambdas[-1]`` on.

        Returns
        -------
        ndarray of shape (n_variables,)
            The solution.
        """
        k = self._piece(lam)
        n = self.nonbasis.shape[1]
        x = np.zeros(n + self.basis.shape[1])
        x[self.basis[k]] = np.maximum(self.primal[k, 0] + lam * self.primal[k, 1], 0.0)
        return x[:n]

    def dual_at(self, lam: float) -> np.ndarray:
        """Return the optimal multipliers of the constraints.

        Parameters
        ----------
        lam : float
            Any λ from ``lambdas[-1]`` on.

        Returns
        -------
        ndarray of shape (n_constraints,)
            The dual solution.
        """
        k = self._piece(lam)
        n = self.nonbasis.shape[1]
        y = np.zeros(n + self.basis.shape[1])
        y[self.nonbasis[k]] = np.maximum(-(self.dual[k, 0] + lam * self.dual[k, 1]), 0.0)
        return y[n:]


class _Dictionary:
    """A, b, c with their perturbations, and the dictionary of the current basis.

    Rows of `D`: the m constraints, then c, c* and the tie-breaking costs; columns: the n
    variables, then b, b* and the tie-breaking right-hand sides.
    """

    def __init__(self, A, b, c, b_star, c_star, seed):
        rng = np.random.default_rng(seed)
        m, n = A.shape
        self.row_scale = _power_of_two(np.abs(A).max(axis=1, initial=0.0))
        self.column_scale = _power_of_two(
            (np.abs(A) / self.row_scale[:, None]).max(axis=0, initial=0.0)
        )
        D = np.zeros((m + 3, n + 3))
        D[:m, :n] = A / self.row_scale[:, None] / self.column_scale
        D[:m, n], D[:m, n + 1] = b / self.row_scale, b_star / self.row_scale
        D[m, :n], D[m + 1, :n] = c / self.column_scale, c_star / self.column_scale
        D[:m, n + 2], D[m + 2, :n] = rng.uniform(0.5, 1.0, m), -rng.uniform(0.5, 1.0, n)
        self.start, self.D, self.m, self.n = D, D.copy(), m, n
        self.basis, self.nonbasis = np.arange(n, n + m), np.arange(n)
        largest = max(np.abs(D[:m, n + 1]).max(initial=0), np.abs(D[m + 1, :n]).max(initial=0))
        self.slope_unit = largest or 1.0
        self.is_fresh = True

    def exchange(self, row, column):
        _pivot(self.D, row, column)
        self.basis[row], self.nonbasis[column] = self.nonbasis[column], self.basis[row]
        self.is_fresh = False

    def refresh(self):
        """Compute the dictionary anew from the data: x_B = B⁻¹b − B⁻¹N x_N."""
        m, n, start = self.m, self.n, self.start
        full = np.hstack([start[:m, :n], np.eye(m)])
        costs = np.hstack([start[m:, :n], np.zeros((3, m))])
        right = np.hstack([full[:, self.nonbasis], start[:m, n:]])
        solved = np.linalg.solve(full[:, self.basis], right)
        self.D[:m] = solved
        self.D[m:, :n] = costs[:, self.nonbasis] - costs[:, self.basis] @ solved[:, :n]
        self.D[m:, n:] = -costs[:, self.basis] @ solved[:, n:]
        self.is_fresh = True

    def piece(self):
        """Return basis, nonbasis and the two pairs of lines, on the scale of the data."""
        m, n = self.m, self.n
        unit = np.concatenate([1.0 / self.column_scale, self.row_scale])
        primal = self.D[:m, n : n + 2].T * unit[self.basis]
        dual = self.D[m : m + 2, :n] / unit[self.nonbasis]
        return self.basis.copy(), self.nonbasis.copy(), primal, dual


def _power_of_two(size):
    """Return the power of two next to each entry, 1 for zeros: dividing by it is exact."""
    return np.exp2(np.round(np.log2(np.where(size > 0, size, 1.0))))


def trace_lp(
    A: np.ndarray,
    b: np.ndarray,
    c: np.ndarray,
    b_star: np.ndarray,
    c_star: np.ndarray,
    lam_min: float = 0.0,
    max_iter: int | None = None,
    tol: float = 1e-10,
    seed: int = 0,
) -> LPPath:
    """Follow the program (1) from λ = ∞ down to `lam_min`.

    Parameters
    ----------
    A : ndarray of shape (n_constraints, n_variables)
        Constraints.
    b, b_star : ndarray of shape (n_constraints,)
        Right-hand side and its perturbation, b* ≥ 0 and b*_i > 0 where b_i < 0.
    c, c_star : ndarray of shape (n_variables,)
        Costs and their perturbation, c* ≤ 0 and c*_j < 0 where c_j > 0.
    lam_min : float, default=0.0
        Where to stop.
    max_iter : int, default=None
        Limit on the pivots; None stands for 50 (n_constraints + n_variables) + 1000.
    tol : float, default=1e-10
        Smaller entries of the dictionary count as zero.
    seed : int, default=0
        Of the tie-breaking order.

    Returns
    -------
    LPPath
        The path.
    """
    m, n = A.shape
    limit = 50 * (m + n) + 1000 if max_iter is None else max_iter
    table = _Dictionary(A, b, c, b_star, c_star, seed)
    current, n_pivots = np.inf, 0
    lambdas: list[float] = []
    pieces: list[tuple[np.ndarray, ...]] = []
    while True:
        lam, second, is_row, index = _next_lambda(table.D, m, n, tol * table.slope_unit)
        if abs(lam - lam_min) <= 1e-12 * (lambdas[0] - lam_min if lambdas else 0.0):
            lam = lam_min  # a rounding error, seen against the length of the path
        at = max(min(lam, current), lam_min)
        partner = -1
        if lam > lam_min:
            partner = _ratio(table.D, m, n, is_row, index, at, second, tol)
            row, column = (index, partner) if is_row else (partner, index)
            doubtful = partner < 0 or abs(table.D[row, column]) < _DOUBTFUL_PIVOT
            if not table.is_fresh and (doubtful or n_pivots % _REFRESH_EVERY == 0):
                table.refresh()
                continue
        if not at >= current - 1e-13 * (1.0 + abs(current)) or not pieces:
            lambdas.append(at)
            pieces.append(table.piece())
        if lam <= lam_min:
            lambdas[-1], pieces[-1] = at, table.piece()
            status = "optimal"
            break
        if partner < 0:  # a row without a partner proves Ax <= b empty, a column's ray is feasible
            status = "infeasible" if is_row else "unbounded"
            break
        if n_pivots >= limit:
            status = "pivot limit"
            break
        table.exchange(row, column)
        current, n_pivots = at, n_pivots + 1
    basis, nonbasis, primal, dual = (np.stack(part) for part in zip(*pieces))
    return LPPath(np.array(lambdas), basis, status, n_pivots, nonbasis, primal, dual)


def _warmup() -> None:
    """Compile every kernel of this module."""
    A, b, c = np.array([[1.0, 1.0], [-1.0, 0.0]]), np.array([2.0, -1.0]), np.array([1.0, -1.0])
    trace_lp(A, b, c, np.array([0.0, 1.0]), np.array([-1.0, 0.0]))
