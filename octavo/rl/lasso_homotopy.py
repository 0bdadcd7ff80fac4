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

from octavo.rl.complementarity import solve_lcp

__all__ = ["LassoTDPath", "lasso_td", "lasso_td_path", "lasso_td_violation"]


def _check_system(A, b):
    A, b = np.asarray(A, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or b.shape != (len(A),):
        raise ValueError(
            f"A must be square and b have one entry a row, got shapes {A.shape} and {b.shape}."
        )
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        raise ValueError("A and b must be finite, got NaN or infinity.")
    return A, b


def _check_strength(value, name="alpha"):
    if not (np.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be a finite number >= 0, got {value!r}.")
    return float(value)


class LassoTDPath(NamedTuple):
    """Lasso-TD for every strength: θ is linear in α between breakpoints.

    `alphas` are the breakpoints, decreasing; row k of `coefs` is θ at ``alphas[k]``. `status` is
    "complete", "singular" (a block of A could not be inverted) or "not a P-matrix" (the path turns
    back, so that θ is no function of α); the path then ends early.
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
    A, b = _check_system(A, b)
    theta = np.asarray(theta, dtype=np.float64)
    c = b - A @ theta
    off = np.where(theta == 0, np.abs(c) - alpha, np.abs(c - alpha * np.sign(theta)))
    return float(max(off.max(), 0.0))


def _next_event(u, v, p, q, active, inactive, now, just_left):
    """Return (α, variable, whether it joins) of the next breakpoint below `now`.

    A variable that has `just_left` cannot meet the bound that it left from, but the other one.
    """
    below = now * (1 - 1e-12)
    alpha, variable, joins = 0.0, -1, False
    with np.errstate(divide="ignore", invalid="ignore"):
        meets = np.stack([p / (1.0 - q), -p / (1.0 + q)])  # p + αq = α and = −α
        zero = np.where(v != 0, u / v, np.nan)  # θ = u − αv
    for row, sign in zip(meets, (1.0, -1.0)):
        here = (inactive == just_left[0]) & (sign == just_left[1])
        allowed = np.where((row < below) & (row > 0) & ~here, row, 0.0)
        if allowed.size and allowed.max() > alpha:
            alpha, variable, joins = allowed.max(), int(inactive[allowed.argmax()]), True
    allowed = np.where((zero < below) & (zero > 0), zero, 0.0)
    if allowed.size and allowed.max() > alpha:
        alpha, variable, joins = allowed.max(), int(active[allowed.argmax()]), False
    return alpha, variable, joins


def lasso_td_path(A, b, alpha_min=0.0, *, max_steps=None):
    """Follow Lasso-TD from θ = 0 as its strength falls: the LARS-TD homotopy.

    Parameters
    ----------
    A : array-like of shape (n_features, n_features)
        Matrix of LSTD, on-policy or off-policy, with or without traces.
    b : array-like of shape (n_features,)
        Vector of LSTD.
    alpha_min : float, default=0.0
        Where the path ends.
    max_steps : int, default=None
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
    A, b = _check_system(A, b)
    end, p = _check_strength(alpha_min, "alpha_min"), len(b)
    now, theta = float(np.abs(b).max()), np.zeros(p)
    alphas, coefs, status = [now], [theta], "complete"
    active = [int(np.abs(b).argmax())]
    signs, just_left = {active[0]: np.sign(b[active[0]])}, (-1, 0.0)
    limit = 20 * p + 100 if max_steps is None else max_steps
    while now > end and len(alphas) <= limit:
        inactive = np.array([j for j in range(p) if j not in signs], dtype=int)
        index = np.array(active, dtype=int)
        u = v = np.empty(0)
        if active:
            block = A[np.ix_(index, index)]
            s = np.array([signs[i] for i in active])
            try:
                u, v = np.linalg.solve(block, np.column_stack([b[index], s])).T  # θ = u − αv
            except np.linalg.LinAlgError:
                status = "singular"
                break
        # A P-matrix lets a variable leave zero towards its sign; otherwise the path turns back.
        moved = u - now * (1 - 1e-6) * v
        if any(m * signs[i] < -1e-9 * (1 + abs(m)) for i, m in zip(active, moved)):
            status = "not a P-matrix"
            break
        rest = b[inactive] - A[np.ix_(inactive, index)] @ u
        slope = A[np.ix_(inactive, index)] @ v
        reached, variable, joins = _next_event(u, v, rest, slope, index, inactive, now, just_left)
        now, just_left = max(reached, end), (-1, 0.0)
        theta = np.zeros(p)
        theta[index] = u - now * v
        if reached > end and not joins:
            theta[variable] = 0.0
        alphas.append(now)
        coefs.append(theta)
        if reached <= end:
            break
        if joins:
            active.append(variable)
            c = b[variable] - A[variable] @ theta
            signs[variable] = np.sign(c)
        else:
            active.remove(variable)
            just_left = (variable, signs.pop(variable))
    return LassoTDPath(np.array(alphas), np.array(coefs), status)


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
    A, b = _check_system(A, b)
    alpha = _check_strength(alpha)
    if solver not in ("lars", "lcp"):
        raise ValueError(f"solver must be 'lars' or 'lcp', got {solver!r}.")
    if solver == "lars":
        path = lasso_td_path(A, b, alpha)
        theta, status = path.at(max(alpha, path.alphas[-1])), path.status
    else:
        M = np.block([[A, -A], [-A, A]])
        solution = solve_lcp(M, np.concatenate([alpha - b, alpha + b]))
        status = solution.status
        parts = np.nan_to_num(solution.z)
        theta = parts[: len(b)] - parts[len(b) :]
    violation = lasso_td_violation(A, b, theta, alpha)
    if violation > tol * max(np.abs(b).max(), 1e-300):
        warnings.warn(
            f"Lasso-TD was not solved ({status}): its conditions are violated by {violation:.3g}. "
            "A is no P-matrix; add alpha to its diagonal, or use dantzig_td or l1_td.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return theta
