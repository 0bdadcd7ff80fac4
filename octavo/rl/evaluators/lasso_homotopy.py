"""Lasso-TD: sparse LSTD by a homotopy (LARS-TD) or by linear complementarity (LC-TD).

Reference: Dann, Neumann and Peters (2014), "Policy evaluation with temporal differences: a survey
and comparison", JMLR 15:809-883, section 2.3.2; Kolter and Ng (2009), "Regularization and feature
selection in least-squares temporal difference learning"; Johns, Painter-Wakefield and Parr (2010),
"Linear complementarity for regularized policy evaluation and improvement".
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.checked import checked
from octavo.rl.evaluators.complementarity import solve_lcp

__all__ = ["LassoTDPath", "lasso_td", "lasso_td_path", "lasso_td_violation"]


def check_system(A, b):
    A, b = np.asarray(A, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or b.shape != (len(A),):
        raise ValueError(
            f"A must be square and b have one entry a row, got shapes {A.shape} and {b.shape}."
        )
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        raise ValueError("A and b must be finite, got NaN or infinity.")
    return A, b


def check_strength(value, name="alpha"):
    if not (np.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be a finite number >= 0, got {value!r}.")
    return float(value)


class LassoTDPath(NamedTuple):
    """Lasso-TD for every strength: θ is linear in α between breakpoints.

    `alphas` are the breakpoints, decreasing; row k of `coefs` is θ at ``alphas[k]``. `status` is
    "complete", "singular" (a block of A could not be inverted), "not a P-matrix" (the path turns
    back, so that θ is no function of α) or "step limit"; the path then ends early.
    """

    alphas: np.ndarray
    coefs: np.ndarray
    status: str

    def at(self, alpha):
        """Return θ at a strength between the first and the last breakpoint, or above the first."""
        if alpha < self.alphas[-1] * (1 - 1e-12):
            raise ValueError(f"The path ends at alpha={self.alphas[-1]:.6g}, got {alpha:.6g}.")
        rising, coefs = self.alphas[::-1], self.coefs[::-1]
        return np.array([np.interp(alpha, rising, coefs[:, j]) for j in range(coefs.shape[1])])


@checked
def lasso_td_violation(A, b, theta, alpha):
    """Return by how much θ violates the conditions of Lasso-TD: zero at a solution.

    Parameters
    ----------
    A : array-like of shape (n_features, n_features)
        Matrix of LSTD.
    b : array-like of shape (n_features,)
        Vector of LSTD.
    theta : array-like of shape (n_features,)
        Coefficients.
    alpha : float
        Strength.

    Returns
    -------
    float
        With c = b − Aθ, the largest of ``|c_i| − α`` where θ_i = 0 and ``|c_i − α sign θ_i|``
        elsewhere.

    Examples
    --------
    >>> from octavo.rl import lasso_td_violation
    >>> lasso_td_violation([[2.0]], [3.0], [1.0], 1.0)
    0.0
    """
    A, b = check_system(A, b)
    theta = np.asarray(theta, dtype=np.float64)
    c = b - A @ theta
    # c = β sign θ on the support, |c| <= β off it
    off = np.where(theta == 0, np.abs(c) - alpha, np.abs(c - alpha * np.sign(theta)))
    return float(max(off.max(), 0.0))


def _next_event(lines, rest, slope, inactive, now, just_left):
    """Return (α, variable, whether it joins) of the next breakpoint below `now`.

    A variable that has `just_left` cannot meet the bound that it left from, but the other one.
    """
    index, u, v = lines
    below = now * (1 - 1e-13)
    alpha, variable, joins = 0.0, -1, False
    with np.errstate(divide="ignore", invalid="ignore"):
        # an inactive correlation reaches the bound
        meets = np.stack([rest / (1.0 - slope), -rest / (1.0 + slope)])  # |rest + α slope| = α
        zero = np.where(v != 0, u / v, np.nan)  # θ = u − αv
    for row, sign in zip(meets, (1.0, -1.0)):
        here = (inactive == just_left[0]) & (sign == just_left[1])
        allowed = np.where((row < below) & (row > 0) & ~here, row, 0.0)
        if allowed.size and allowed.max() > alpha:
            alpha, variable, joins = allowed.max(), int(inactive[allowed.argmax()]), True
    allowed = np.where((zero < below) & (zero > 0), zero, 0.0)
    if allowed.size and allowed.max() > alpha:
        alpha, variable, joins = allowed.max(), int(index[allowed.argmax()]), False
    return alpha, variable, joins


def _lines(A, targets, signs):
    """Return the active variables and their lines θ = u − αv: u for each target, then v.

    The lines are None where the block of A is singular.
    """
    index = np.array(sorted(signs), dtype=int)
    # On the support A_II θ = b_I - α s.
    s = np.array([signs[i] for i in index])
    right = np.column_stack([targets[index], s])
    try:
        return index, np.linalg.solve(A[np.ix_(index, index)], right).T
    except np.linalg.LinAlgError:
        return index, None


def _follow(A, b, steer, end, limit):
    """Walk along the path, with breakpoints as for `steer` in place of b."""
    p, now = len(b), float(np.abs(steer).max())
    alphas, coefs, status = [now], [np.zeros(p)], "complete"
    joined = int(np.abs(steer).argmax())
    signs, just_left = {joined: np.sign(steer[joined])}, (-1, 0.0)
    while now > end:
        index, lines = _lines(A, np.column_stack([b, steer]), signs)
        if len(alphas) > limit or lines is None:
            status = "singular" if lines is None else "step limit"
            break
        u, steered, v = lines
        if joined >= 0 and signs[joined] * v[index == joined][0] <= 0:
            status = "not a P-matrix"  # what joins would leave zero against its sign
            break
        inactive = np.setdiff1d(np.arange(p), index)
        rest = steer[inactive] - A[np.ix_(inactive, index)] @ steered
        slope = A[np.ix_(inactive, index)] @ v
        reached, variable, joins = _next_event(
            (index, steered, v), rest, slope, inactive, now, just_left
        )
        now, joined, just_left = max(reached, end), -1, (-1, 0.0)
        theta = np.zeros(p)
        theta[index] = u - now * v
        if reached > end and joins:
            joined = variable
            signs[joined] = np.sign(steer[joined] - A[joined, index] @ (steered - now * v))
        elif reached > end:
            theta[variable] = 0.0  # it leaves at zero
            just_left = (variable, signs.pop(variable))
        alphas.append(now)
        coefs.append(theta)
    return LassoTDPath(np.array(alphas), np.array(coefs), status)


def _largest_excess(A, b, path):
    """Return by how much an equation exceeds α at a breakpoint; infinite if the path is cut."""
    over = np.abs(b - path.coefs @ A.T) - path.alphas[:, None]
    return over.max() if path.status == "complete" else np.inf


@checked
def lasso_td_path(A, b, alpha_min=0.0, *, max_iter=None):
    """Follow Lasso-TD from θ = 0 as its strength falls: the LARS-TD homotopy.

    Parameters
    ----------
    A : array-like of shape (n_features, n_features)
        Matrix of LSTD, on-policy or off-policy, with or without traces.
    b : array-like of shape (n_features,)
        Vector of LSTD.
    alpha_min : float, default=0.0
        Where the path ends.
    max_iter : int, default=None
        Limit on the breakpoints; None stands for 20 n_features + 100.

    Returns
    -------
    LassoTDPath
        The breakpoints and the coefficients there.

    Notes
    -----
    Lasso-TD is the fixed point θ = argmin_ω ½||Φω − (r + γΦ'θ)||² + α||ω||₁, in means over
    transitions, which is no minimum of anything. It is unique for every α if A is a P-matrix, as
    it is on-policy with enough data.

    References
    ----------
    .. [1] Kolter and Ng (2009). Regularization and feature selection in least-squares temporal
       difference learning. ICML 26.

    Examples
    --------
    >>> from octavo.rl import lasso_td_path
    >>> path = lasso_td_path([[2.0, 0.0], [0.0, 1.0]], [4.0, 1.0])
    >>> path.alphas.tolist(), path.at(0.5).tolist()
    ([4.0, 1.0, 0.0], [1.75, 0.5])
    """
    A, b = check_system(A, b)
    end = check_strength(alpha_min, "alpha_min")
    limit = 20 * len(b) + 100 if max_iter is None else max_iter
    path = _follow(A, b, b, end, limit)
    unit, excess = np.abs(b).max(), _largest_excess(A, b, path)
    if excess > 1e-9 * unit:
        # Variables that reach a breakpoint together are told apart by a hair's breadth of noise.
        # Two that join together are one breakpoint, which the walk cannot take in one step.
        noise = np.random.RandomState(0).uniform(-1.0, 1.0, len(b))
        again = _follow(A, b, b + 1e-9 * unit * noise, end, limit)
        if _largest_excess(A, b, again) < excess:
            return again
    return path


def _polished(A, b, theta, alpha):
    """Solve for the support and signs of θ afresh, if that is any better."""
    found = np.abs(theta) > 1e-7 * np.abs(theta).max(initial=0.0)
    index, lines = _lines(A, b[:, None], dict(zip(np.flatnonzero(found), np.sign(theta[found]))))
    if lines is None:
        return theta
    better = np.zeros_like(theta)
    better[index] = lines[0] - alpha * lines[1]
    errors = [lasso_td_violation(A, b, t, alpha) for t in (theta, better)]
    return better if errors[1] < errors[0] else theta


def _by_pivoting(A, b, alpha):
    """Return the solution as that of a linear complementarity problem, and how it ended."""
    M = np.block([[A, -A], [-A, A]])  # θ = θ+ - θ-, w = q + Mz the slacks of |b - Aθ| <= α
    solution = solve_lcp(M, np.concatenate([alpha - b, alpha + b]))
    parts = np.nan_to_num(solution.z)
    return parts[: len(b)] - parts[len(b) :], solution.status


@checked
def lasso_td(A, b, alpha, *, solver="lars", tol=1e-8):
    """Solve Lasso-TD: LSTD with an l1 penalty in the projection.

    Parameters
    ----------
    A : array-like of shape (n_features, n_features)
        Matrix of LSTD.
    b : array-like of shape (n_features,)
        Vector of LSTD.
    alpha : float
        Strength, on the scale of b.
    solver : {"lars", "lcp"}, default="lars"
        "lars" follows the path from θ = 0; "lcp" solves a linear complementarity problem by
        Lemke's method, which needs no path and no start.
    tol : float, default=1e-8
        Violation of the optimality conditions, relative to ``max |b|``, above which a
        `ConvergenceWarning` is given.

    Returns
    -------
    ndarray of shape (n_features,)
        Coefficients.

    References
    ----------
    .. [1] Kolter and Ng (2009). Regularization and feature selection in least-squares temporal
       difference learning. ICML 26.
    .. [2] Johns, Painter-Wakefield and Parr (2010). Linear complementarity for regularized policy
       evaluation and improvement. NIPS 23.

    Examples
    --------
    >>> from octavo.rl import lasso_td
    >>> A, b = [[2.0, 0.5], [0.3, 1.0]], [4.0, 1.0]
    >>> lasso_td(A, b, 0.8), lasso_td(A, b, 0.8, solver="lcp")
    (array([1.6, 0. ]), array([1.6, 0. ]))
    """
    A, b = check_system(A, b)
    alpha = check_strength(alpha)
    if solver not in ("lars", "lcp"):
        raise ValueError(f"solver must be 'lars' or 'lcp', got {solver!r}.")
    limit = tol * max(np.abs(b).max(), 1e-300)
    if solver == "lars":
        path = lasso_td_path(A, b, alpha)
        theta = _polished(A, b, path.at(max(alpha, path.alphas[-1])), alpha)
        status = path.status
    if solver == "lcp" or lasso_td_violation(A, b, theta, alpha) > limit:
        # Variables that tie can throw the path off; pivoting is sure for every P-matrix.
        theta, status = _by_pivoting(A, b, alpha)
    violation = lasso_td_violation(A, b, theta, alpha)
    if violation > limit:
        warnings.warn(
            f"Lasso-TD was not solved ({status}): its conditions are violated by {violation:.3g}. "
            "Either A is no P-matrix (add alpha to its diagonal, or use dantzig_td or l1_td), or "
            "variables tie.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return theta
