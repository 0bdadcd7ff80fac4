"""The columns of CLIME: from data to a problem per column, and from solutions to one matrix.

What `octavo.graphical.l1_programs.clime` and `octavo.graphical.l1_programs.cv` have in common.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.covariance import empirical_covariance

from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.linear_programs.l1_homotopy import certificate, l1_solutions

__all__: list[str] = []

SYMMETRIZE = ("min", "max", "average", "none")
SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "standardize": ["boolean"],
    "symmetrize": [StrOptions(set(SYMMETRIZE))],
    "alpha_ridge": [Interval(Real, 0, None, closed="left")],
    "assume_centered": ["boolean"],
    "psd": [StrOptions({"none", "shift"})],
    "on_infeasible": [StrOptions({"raise", "warn"})],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "n_jobs": [None, Integral],
}


@dataclass(frozen=True)
class ColumnProblem:
    """The matrix whose columns are solved, and the way back to the scale of the data."""

    S: np.ndarray
    deviation: np.ndarray  # Omega on the scale of the data = Omega / outer(deviation, deviation)
    covariance: np.ndarray
    location: np.ndarray
    scale: float  # max |S|


def _check_covariance(S):
    if S.shape[0] != S.shape[1]:
        raise ValueError(f"With is_cov=True a square matrix is expected, got shape {S.shape}.")
    apart = np.abs(S - S.T).max(initial=0.0)
    if apart > 1e-8 * max(np.abs(S).max(initial=0.0), 1e-300):
        raise ValueError(
            "With is_cov=True a symmetric matrix is expected, got entries that differ from "
            f"their mirror image by up to {apart:.3g}."
        )
    diagonal = np.diag(S)
    if (diagonal < 0).any():
        at = int(np.argmin(diagonal))
        raise ValueError(
            f"With is_cov=True variances are expected on the diagonal, got {diagonal[at]:.3g} "
            f"for column {at}."
        )
    return (S + S.T) / 2


def as_problem(X, is_cov, standardize, alpha_ridge, assume_centered):
    """Return the covariance of X, or X itself, as the problem to solve."""
    if is_cov:
        covariance, location = _check_covariance(X), np.zeros(X.shape[1])
    else:
        location = np.zeros(X.shape[1]) if assume_centered else X.mean(axis=0)
        covariance = empirical_covariance(X - location, assume_centered=True)
    variance = np.diag(covariance)
    if standardize:
        # Rounding leaves a constant column a variance of the order of eps² mean².
        floor = 0.0 if is_cov else 10 * np.finfo(float).eps ** 2 * np.mean(X**2, axis=0)
        flat = np.flatnonzero(variance <= floor)
        if len(flat):
            raise ValueError(
                "standardize=True divides by the standard deviations, but the variance of "
                f"column(s) {flat[:10].tolist()} is zero. Drop them or pass standardize=False."
            )
        deviation = np.sqrt(variance)
        S = covariance / np.outer(deviation, deviation)
        np.fill_diagonal(S, 1.0)
    else:
        if variance.max() > 100 * variance.min():
            warnings.warn(
                "standardize=False, but the variances of the columns span a factor above 100 "
                f"({variance.min():.3g} to {variance.max():.3g}): one alpha cannot suit all of "
                "them.",
                UserWarning,
                stacklevel=3,
            )
        S, deviation = covariance.copy(), np.ones(len(variance))
    S[np.diag_indices_from(S)] += alpha_ridge  # CLIME's own remedy where S is singular
    return ColumnProblem(S, deviation, covariance, location, float(np.abs(S).max()))


def map_columns(solve, d, n_jobs, n_tasks=None, after_task=None):
    """Return [solve(0), ..., solve(d - 1)]; the kernels release the GIL, so threads do."""
    n_tasks = min(d, 4 * effective_n_jobs(n_jobs)) if n_tasks is None else n_tasks
    tasks = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
        delayed(lambda columns: [solve(i) for i in columns])(columns)
        for columns in np.array_split(np.arange(d), n_tasks)
    )
    found = []
    for task in tasks:
        found += task
        if after_task is not None:
            after_task()
    return found


def unit(d, i):
    e = np.zeros(d)
    e[i] = 1.0
    return e


def symmetrized(beta, rule):
    """Turn the matrix of columns into one estimate: entry ij is found in two of them.

    "min" takes the one of smaller magnitude (Cai, Liu and Luo, 2011, section 2).
    """
    if rule == "none":
        return beta.copy()
    if rule == "average":
        return (beta + beta.T) / 2
    upper = np.triu(np.ones(beta.shape, dtype=bool))
    smaller = np.abs(beta) <= np.abs(beta.T)
    chosen = np.where(smaller if rule == "min" else ~smaller, beta, beta.T)
    return np.where(upper, chosen, chosen.T)


def is_positive_definite(matrix):
    try:
        np.linalg.cholesky((matrix + matrix.T) / 2)
    except np.linalg.LinAlgError:
        return False
    return True


def _shift_to_positive_definite(matrix):
    """Return how much to add to the diagonal for a condition number of at most 1000."""
    eigenvalues = np.linalg.eigvalsh((matrix + matrix.T) / 2)
    lowest, highest = eigenvalues[0], max(eigenvalues[-1], 0.0)
    if lowest > 0:
        return 0.0
    # (highest + s) / (lowest + s) = 1000
    return (highest - 1000.0 * lowest) / 999.0 if highest > 0 else 1.0 - lowest


def assemble(beta, symmetrize, psd, deviation):
    """Return the precision matrix on the scale of the data, and the shift of its diagonal."""
    omega = symmetrized(beta, symmetrize)
    shift = _shift_to_positive_definite(omega) if psd == "shift" else 0.0
    omega[np.diag_indices_from(omega)] += shift
    return omega / np.outer(deviation, deviation), shift


def edges(precision):
    """Return the graph of a precision matrix: where it is not zero off the diagonal."""
    adjacency = precision != 0
    np.fill_diagonal(adjacency, False)
    return adjacency


def infeasible_message(alpha, columns, smallest, all_feasible):
    listed = ", ".join(f"{i}: {value:.6g}" for i, value in zip(columns[:10], smallest[:10]))
    more = ", ..." if len(columns) > 10 else ""
    return (
        f"alpha={alpha:.6g} is not feasible for {len(columns)} column(s): no beta satisfies "
        f"||S beta - e_i||_inf <= alpha. The smallest feasible alpha by column is "
        f"{{{listed}{more}}}; alpha >= {all_feasible:.6g} is feasible for every column."
    )


def solve_at(problem, alpha, n_jobs, n_tasks, after_task):
    """Return for each column: β, the λ solved for, status, pivots, duality gap, violation."""
    d, alphas = len(problem.S), np.array([float(alpha)])

    def solve(i):
        e = unit(d, i)
        result = l1_solutions(problem.S, e, alphas, scale=problem.scale)
        at = float(alpha)
        if len(result.alphas) == 0:  # stay at the smallest alpha that could be reached
            at = result.alpha_end
            last = l1_solutions(problem.S, e, np.array([at]), scale=problem.scale)
            coefs, duals = last.coefs, last.duals
        else:
            coefs, duals = result.coefs, result.duals
        beta, y = np.zeros(d), np.zeros(d)
        beta[coefs.indices], y[duals.indices] = coefs.data, duals.data
        gap, violation = certificate(problem.S, e, at, beta, y)
        return beta, at, result.status, result.n_pivots, gap, violation

    return map_columns(solve, d, n_jobs, n_tasks, after_task)
