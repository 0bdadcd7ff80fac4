"""The linear programs of robust separable NMF, brought to one form.

Points are the columns of M here, as in the paper. With X_ij = (c_i / c_j) Y_ij, c_j = ||m_j||_1 and
columns scaled to unit l1 norm, the programs (2), (3), (7) and (8) are all

    min p'd   such that   ||m_j - M x_j|| ≤ β_j,   0 ≤ X_ij ≤ d_i,   X_ii = d_i ≤ 1

(and tr X = r in (2)), and differ in the radii β alone (Section 4): ρε in (3) and (7), ρε / c_j in
(8), and 2ε in (2). Other norms are Remark 12's noise models.

A column with x_jj < d_j costs nothing: t e_j + (1 - t) x_j leaves (1 - t) times its residual, so
that any x_j ≤ d within its radius becomes one with x_jj = d_j. Given d, the columns are therefore
independent, which is what the solvers build on.

Reference: Gillis and Luce (2014), "Robust near-separable nonnegative matrix factorization using
linear optimization", JMLR 15:1249-1280, Sections 1.2, 2 and 4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices

__all__: list[str] = []

NOISES = ("absolute", "relative", "l2", "linf", "frobenius")
BALLS = {"absolute": "l1", "relative": "l1", "l2": "l2", "linf": "linf", "frobenius": "frobenius"}
SLACK = 1e-8  # of a point of unit norm: a residual so little beyond its radius is within it


class NormalizedProgram(NamedTuple):
    """One program in the form above.

    `M` (n_features, n_points) has columns of unit l1 norm, whose norms were `norms`; `kept` are
    their places among all points, zero ones left out. `radii` has β_j. For the ball "frobenius" the
    only constraint is that the columns of M - MX, times `norms`, have a Frobenius norm of at most
    ``radii[0]``. `trace` is r in (2), and None otherwise.
    """

    M: Floats
    norms: Floats
    kept: Indices
    radii: Floats
    costs: Floats
    ball: str
    trace: int | None


class Solved(NamedTuple):
    """A feasible X with its diagonal, its objective, a lower bound, and the multipliers of it."""

    X: Floats
    diagonal: Floats
    upper: float
    lower: float
    n_iter: int
    status: str
    U: Floats | None = None


def normalize(X: Floats, epsilon, rho, noise, costs, trace=None) -> NormalizedProgram:
    """Return the program for the rows of X."""
    norms = np.abs(X).sum(axis=1)
    kept = np.flatnonzero(norms > 0)
    norms = norms[kept]
    X = X[:, np.abs(X).max(axis=0) > 0]  # a feature that is zero everywhere asks nothing
    # columns of l1 norm one, Section 4 turned round
    M = np.ascontiguousarray((X[kept] / norms[:, None]).T)
    if noise == "relative":
        radii = np.full(len(kept), rho * epsilon)  # (7)
    elif noise == "frobenius":
        radii = np.array([rho * epsilon])
        return NormalizedProgram(M, norms, kept, radii, costs[kept], "frobenius", trace)
    else:
        with np.errstate(over="ignore"):  # a radius of infinity asks nothing
            radii = rho * epsilon / norms  # (8)
    radii = np.minimum(radii, 2.0)  # at 1 and beyond, nothing is asked
    return NormalizedProgram(M, norms, kept, radii, costs[kept], BALLS[noise], trace)


def residual_sizes(program: NormalizedProgram, residual: Floats) -> Floats:
    """Return the norm of each column of a residual; a single number for "frobenius"."""
    if program.ball == "l1":
        return np.abs(residual).sum(axis=0)
    if program.ball == "linf":
        return np.abs(residual).max(axis=0)
    lengths = np.sqrt(np.einsum("ij,ij->j", residual, residual))
    if program.ball == "l2":
        return lengths
    return np.array([np.linalg.norm(program.norms * lengths)])


def support(program: NormalizedProgram, U: Floats) -> float:
    """Return the largest inner product of U with a residual that the program allows."""
    if program.ball == "l1":
        return float(program.radii @ np.abs(U).max(axis=0))
    if program.ball == "linf":
        return float(program.radii @ np.abs(U).sum(axis=0))
    lengths = np.sqrt(np.einsum("ij,ij->j", U, U))
    if program.ball == "l2":
        return float(program.radii @ lengths)
    return float(program.radii[0] * np.linalg.norm(lengths / program.norms))


def lower_bound(program: NormalizedProgram, U: Floats) -> float:
    """Return the Lagrangian bound of multipliers U (n_features, n_points), whatever they are.

    min p'd + Σ_j [u_j'm_j - max_{0 ≤ x ≤ d} u_j'M x] - support(U) over the d that are allowed.
    """
    M, costs = program.M, program.costs
    fixed = float(np.einsum("ij,ij->", U, M)) - support(program, U)
    prices = costs - np.maximum(M.T @ U, 0.0).sum(axis=1)
    if program.trace is None:
        return fixed + float(np.minimum(prices, 0.0).sum())
    return fixed + float(np.sort(prices)[: program.trace].sum())


def lift_diagonal(X: Floats, diagonal: Floats) -> Floats:
    """Return X with a larger diagonal: each column moves towards its own unit vector."""
    own = np.diagonal(X)
    share = np.divide(diagonal - own, 1.0 - own, out=np.zeros_like(own), where=own < 1.0)
    lifted = X * (1.0 - share)
    np.fill_diagonal(lifted, diagonal)
    return lifted


def make_feasible(program: NormalizedProgram, X: Floats) -> tuple[Floats, Floats]:
    """Return the X that is feasible by construction, near one that is so nearly, and its diagonal.

    Columns beyond their radius move towards their own unit vector, which leaves nothing. `SLACK` is
    allowed, as by every solver of linear programs: else ε = 0 would have no meaning in floating
    point.
    """
    slack = SLACK * (np.linalg.norm(program.norms) if program.ball == "frobenius" else 1.0)
    sizes = residual_sizes(program, program.M - program.M @ X)
    with np.errstate(over="ignore", divide="ignore"):
        share = np.minimum(1.0, (program.radii + slack) / sizes)
    X = X * share
    X[np.diag_indices(len(X))] += 1.0 - (share if len(share) > 1 else share[0])
    diagonal = np.minimum(X.max(axis=1), 1.0)
    if program.trace is not None and (rest := program.trace - diagonal.sum()) > 0:
        diagonal = diagonal + rest * (1.0 - diagonal) / (1.0 - diagonal).sum()
    return lift_diagonal(X, diagonal), diagonal


def objective(program: NormalizedProgram, diagonal: Floats) -> float:
    """Return p'd; infinity where the trace is larger than the program allows."""
    if program.trace is not None and diagonal.sum() > program.trace * (1.0 + 1e-9):
        return np.inf
    return float(program.costs @ diagonal)


def coupling_of(program: NormalizedProgram, X: Floats, n_points: int) -> Floats:
    """Return Y among all points, in their own units: Y_ij = (c_j / c_i) X_ij."""
    Y = np.zeros((n_points, n_points))
    scaled = X * program.norms / program.norms[:, None]
    np.fill_diagonal(scaled, np.diagonal(X))  # back to (7) and (8)
    Y[np.ix_(program.kept, program.kept)] = scaled
    return Y
