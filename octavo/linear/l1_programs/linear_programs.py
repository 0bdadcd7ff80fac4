"""Linear programs with a parameter: the whole solution path by the parametric simplex method.

`parametric_simplex` solves  max (c + λc*)'x, Ax ≤ b + λb*, x ≥ 0  for every λ in one run, and
`solve_lp` solves one program without a parameter by adding one that it then removes. Much of
sparse estimation is of this form, with λ the strength of the regularisation: CLIME and the
Dantzig selector (which have a faster solver of their own here), basis pursuit, the l1-SVM.

Reference: Pang, Liu and Vanderbei (2014), "The fastclime package for linear programming and
large-scale precision matrix estimation in R", JMLR 15:489-493, section 1.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array

from octavo.engine.estimators.checked import checked
from octavo.engine.linear_programs.parametric_simplex import LPPath, trace_lp

__all__ = ["LPPath", "LPSolution", "parametric_simplex", "solve_lp"]


def _as_vector(values, name, size, of_what):
    vector = check_array(values, ensure_2d=False, dtype=np.float64, input_name=name)
    if vector.shape != (size,):
        raise ValueError(
            f"{name} must have one entry per {of_what} of A, shape ({size},), got {vector.shape}."
        )
    return vector


def _check_program(A, b, c):
    A = check_array(A, dtype=np.float64, input_name="A")
    return A, _as_vector(b, "b", A.shape[0], "row"), _as_vector(c, "c", A.shape[1], "column")


def _check_perturbation(values, star, name, size, of_what, sign):
    """Return b* (sign 1) or c* (sign -1), checked or made, such that x = 0 starts the path."""
    # x = 0 is optimal for large λ if b + λb* >= 0 and c + λc* <= 0: Section 1.
    needs = sign * values < 0
    if star is None:
        return sign * needs.astype(np.float64)
    star = _as_vector(star, f"{name}_star", size, of_what)
    if (sign * star < 0).any():
        at = int(np.argmin(sign * star))
        raise ValueError(
            f"{name}_star must be {'>= 0' if sign > 0 else '<= 0'} everywhere, got "
            f"{star[at]} at position {at}."
        )
    stuck = np.flatnonzero(needs & (star == 0))
    if len(stuck):
        raise ValueError(
            f"{name}_star must not be 0 where {name} is {'negative' if sign > 0 else 'positive'} "
            f"(x = 0 would be optimal for no lam), but it is at positions {stuck[:10].tolist()}."
        )
    return star


@checked
def parametric_simplex(
    A,
    b,
    c,
    b_star=None,
    c_star=None,
    lam_min=0.0,
    max_iter=None,
    tol=1e-10,
) -> LPPath:
    """Solve  max (c + λc*)'x  subject to  Ax ≤ b + λb*, x ≥ 0  for every λ ≥ `lam_min`.

    Parameters
    ----------
    A : array-like of shape (n_constraints, n_variables)
        Constraints.
    b : array-like of shape (n_constraints,)
        Right-hand side.
    c : array-like of shape (n_variables,)
        Costs, to be maximised.
    b_star : array-like of shape (n_constraints,), default=None
        Perturbation of `b`, nowhere negative and positive where b < 0. None stands for 1
        where b < 0 and 0 elsewhere.
    c_star : array-like of shape (n_variables,), default=None
        Perturbation of `c`, nowhere positive and negative where c > 0. None stands for -1
        where c > 0 and 0 elsewhere.
    lam_min : float, default=0.0
        Where the path ends.
    max_iter : int, default=None
        Limit on the pivots; None stands for 50 (n_constraints + n_variables) + 1000.
    tol : float, default=1e-10
        Smaller entries of the dictionary, scaled to largest entries near 1, count as zero.

    Returns
    -------
    LPPath
        ``lambdas`` (the breakpoints, decreasing), ``basis``, ``status``, ``n_pivots``,
        ``at(lam)`` (the solution) and ``dual_at(lam)`` (the multipliers of the constraints).
        Where the status is "infeasible" or "unbounded", ``lambdas[-1]`` is the λ below which
        the program is so.

    Notes
    -----
    The dictionary is dense: a pivot costs n_constraints × n_variables multiplications. For
    one large sparse program and no path, use `scipy.optimize.linprog`. For CLIME and the
    Dantzig selector, `octavo.graphical.clime_path` and `DantzigSelector` follow the same path
    faster.

    Ties never make it cycle: they are broken as by an infinitesimal random perturbation.

    References
    ----------
    .. [1] Pang, Liu and Vanderbei (2014). The fastclime package for linear programming and
       large-scale precision matrix estimation in R. JMLR 15:489-493.
    .. [2] Vanderbei (2008). Linear programming: foundations and extensions. Springer.

    Examples
    --------
    The least x1 + x2 that covers two demands, as both fall short by λ:

    >>> from octavo.linear import parametric_simplex
    >>> path = parametric_simplex(
    ...     [[-1, -2], [-3, -1]], [-2, -3], [-1, -1], b_star=[1, 1], c_star=[0, 0]
    ... )
    >>> path.lambdas, path.status
    (array([3. , 1.5, 0. ]), 'optimal')
    >>> path.at(0.0), path.at(2.0)
    (array([0.8, 0.6]), array([0.33333333, 0.        ]))
    """
    A, b, c = _check_program(A, b, c)
    b_star = _check_perturbation(b, b_star, "b", A.shape[0], "row", 1.0)
    c_star = _check_perturbation(c, c_star, "c", A.shape[1], "column", -1.0)
    if not np.isfinite(lam_min):
        raise ValueError(f"lam_min must be finite, got {lam_min!r}.")
    path = trace_lp(A, b, c, b_star, c_star, float(lam_min), max_iter, tol)  # Eq. (1)
    if path.status == "pivot limit":
        warnings.warn(
            f"The parametric simplex method stopped after {path.n_pivots} pivots at "
            f"lam={path.lambdas[-1]:.6g} and did not reach lam_min={lam_min:.6g}. "
            "Raise max_iter.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return path


class LPSolution(NamedTuple):
    """Solution of  max c'x, Ax ≤ b, x ≥ 0.

    `x` and the multipliers `y` of the constraints are nan unless the `status` is "optimal"
    (the others are "infeasible", "unbounded" and "pivot limit"); `fun` is c'x, inf where
    unbounded and -inf where infeasible; `duality_gap` is b'y − c'x.
    """

    x: np.ndarray
    fun: float
    status: str
    y: np.ndarray
    duality_gap: float
    n_pivots: int


@checked
def solve_lp(A, b, c, *, max_iter=None, tol=1e-10) -> LPSolution:
    """Solve  max c'x  subject to  Ax ≤ b, x ≥ 0  by the parametric simplex method.

    Parameters
    ----------
    A : array-like of shape (n_constraints, n_variables)
        Constraints.
    b : array-like of shape (n_constraints,)
        Right-hand side.
    c : array-like of shape (n_variables,)
        Costs, to be maximised.
    max_iter : int, default=None
        As in `parametric_simplex`.
    tol : float, default=1e-10
        As in `parametric_simplex`.

    Returns
    -------
    LPSolution
        ``x``, ``fun``, ``status``, the dual solution ``y`` and the ``duality_gap``.

    Notes
    -----
    For one program, above all a sparse one, `scipy.optimize.linprog` is the better tool; this
    function is the parametric simplex method put to that use.

    Examples
    --------
    >>> from octavo.linear import solve_lp
    >>> solve_lp([[1, 2], [3, 1]], [2, 6], [1, 1]).fun
    2.0
    """
    A, b, c = _check_program(A, b, c)
    path = parametric_simplex(A, b, c, max_iter=max_iter, tol=tol)
    status = path.status
    if status == "unbounded" and (b < 0).any():
        # The dual is infeasible: the program is unbounded only if it is feasible at all.
        feasibility = parametric_simplex(A, b, np.zeros_like(c), max_iter=max_iter, tol=tol)
        status = "infeasible" if feasibility.status == "infeasible" else status
    if status != "optimal":
        fun = {"infeasible": -np.inf, "unbounded": np.inf}.get(status, np.nan)
        x, y = np.full(A.shape[1], np.nan), np.full(A.shape[0], np.nan)
        return LPSolution(x, fun, status, y, np.nan, path.n_pivots)
    x, y = path.at(0.0), path.dual_at(0.0)
    return LPSolution(x, float(c @ x), status, y, float(b @ y - c @ x), path.n_pivots)
