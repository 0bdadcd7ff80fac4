"""Regularised LSTD: nine ways to keep a least-squares value function small or sparse.

LSTD solves Aθ = b with A = E[φ(φ − γφ')'] and b = E[φr]. With many features and few transitions
it overfits; each function here, and `lasso_td`, adds a penalty: in the projection, in the fixed
point, or to the equations themselves. Weights are importance ratios where data are off-policy.

Reference: Dann, Neumann and Peters (2014), "Policy evaluation with temporal differences: a survey
and comparison", JMLR 15:809-883, section 2.3.2 and Table 2, and the papers named there.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import check_finite_result
from octavo.rl.evaluators.lasso_homotopy import check_strength, check_system
from octavo.rl.processes.objectives import solve_or_least_squares

__all__ = [
    "dantzig_td",
    "l1_td",
    "laplacian_td",
    "nested_td",
    "random_projection_td",
    "ridge_td",
    "td_statistics",
]


class Moments(NamedTuple):
    """Weighted means of products of features: φφ', φφ'', φr."""

    gram: np.ndarray
    cross: np.ndarray
    reward: np.ndarray


def _moments(X, X_next, r, gamma, weights):
    X, X_next = np.asarray(X, dtype=np.float64), np.asarray(X_next, dtype=np.float64)
    r = np.asarray(r, dtype=np.float64)
    if X.ndim != 2 or X.shape != X_next.shape or r.shape != (len(X),) or not len(X):
        raise ValueError(
            "X and X_next must have one shape (n_transitions, n_features) and r one entry a "
            f"transition, got {X.shape}, {X_next.shape} and {r.shape}."
        )
    if not (np.isfinite(X).all() and np.isfinite(X_next).all() and np.isfinite(r).all()):
        raise ValueError("X, X_next and r must be finite, got NaN or infinity.")
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma must lie in [0, 1], got {gamma!r}.")
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != r.shape or not np.isfinite(w).all() or w.min() < 0:
        raise ValueError("weights must be finite, non-negative and one a transition.")
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = X.T * (w / len(X))
        moments = Moments(scaled @ X, scaled @ X_next, scaled @ r)
    # LAPACK's iterations may never end on a matrix with infinite entries.
    check_finite_result(np.concatenate([part.ravel() for part in moments]), "The moments of X")
    return moments


@checked
def td_statistics(X, X_next, r, gamma=0.95, weights=None):
    """Return A = E[φ(φ − γφ')'] and b = E[φr] as means over transitions.

    Parameters
    ----------
    X, X_next : array-like of shape (n_transitions, n_features)
        Features of states and of their successors; zeros after the last state of an episode.
    r : array-like of shape (n_transitions,)
        Rewards.
    gamma : float, default=0.95
        Discount factor.
    weights : array-like of shape (n_transitions,), default=None
        Importance ratios, which weigh whole transitions; None stands for ones.

    Returns
    -------
    A : ndarray of shape (n_features, n_features)
        The matrix.
    b : ndarray of shape (n_features,)
        The vector.

    Examples
    --------
    >>> from octavo.rl import td_statistics
    >>> td_statistics([[1.0], [2.0]], [[2.0], [0.0]], [1.0, 1.0], gamma=0.5)
    (array([[2.]]), array([1.5]))
    """
    moments = _moments(X, X_next, r, gamma, weights)
    return moments.gram - gamma * moments.cross, moments.reward  # Eqs. (25) and (26), as means


@checked
def ridge_td(A, b, alpha):
    """Return (A + αI)⁻¹b: LSTD with a penalty on the squared length in the projection.

    Parameters
    ----------
    A : array-like of shape (n_features, n_features)
        Matrix of LSTD, with or without traces.
    b : array-like of shape (n_features,)
        Vector of LSTD.
    alpha : float
        Strength, on the scale of A.

    Returns
    -------
    ndarray of shape (n_features,)
        Coefficients.

    Examples
    --------
    >>> from octavo.rl import ridge_td
    >>> ridge_td([[1.0, 0.0], [0.0, 3.0]], [2.0, 4.0], 1.0)
    array([1., 1.])
    """
    A, b = check_system(A, b)
    shifted = A + check_strength(alpha) * np.eye(len(A))  # Table 2, LSTD with l2
    return solve_or_least_squares(shifted, b, "A + αI")


@checked
def laplacian_td(A, b, features, laplacian, alpha, weights=None):
    """Return (A + α(LΦ)'D(LΦ))⁻¹b: LSTD whose value varies little along the edges of a graph.

    Parameters
    ----------
    A : array-like of shape (n_features, n_features)
        Matrix of LSTD.
    b : array-like of shape (n_features,)
        Vector of LSTD.
    features : array-like of shape (n_states, n_features)
        Features Φ of the nodes of the graph.
    laplacian : array-like or sparse matrix of shape (n_states, n_states)
        Laplacian L of the graph, as by `scipy.sparse.csgraph.laplacian`.
    alpha : float
        Strength.
    weights : array-like of shape (n_states,), default=None
        Diagonal of D, how the states count; None stands for ones.

    Returns
    -------
    ndarray of shape (n_features,)
        Coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.rl import laplacian_td
    >>> laplacian_td(np.eye(2), [0.0, 2.0], np.eye(2), [[1.0, -1.0], [-1.0, 1.0]], 1e9).round(6)
    array([1., 1.])
    """
    A, b = check_system(A, b)
    features = np.asarray(features, dtype=np.float64)
    if features.ndim != 2 or features.shape[1] != len(A):
        raise ValueError(f"features must have {len(A)} columns, got shape {features.shape}.")
    laplacian = laplacian if hasattr(laplacian, "shape") else np.asarray(laplacian, dtype=float)
    if laplacian.shape != (len(features),) * 2:
        raise ValueError(
            f"laplacian must have shape {(len(features),) * 2}, got {laplacian.shape}."
        )
    rough = laplacian @ features
    w = np.ones(len(features)) if weights is None else np.asarray(weights, dtype=np.float64)
    penalty = (rough.T * w) @ rough  # f = ||LΦθ||² of Table 2
    return solve_or_least_squares(A + check_strength(alpha) * penalty, b, "A + α(LΦ)'D(LΦ)")


def _lasso(design, target, alpha):
    """Minimise ½||target − design θ||² + α||θ||₁ to a duality gap near rounding error."""
    if alpha == 0:
        return np.linalg.lstsq(design, target, rcond=None)[0]
    n = len(target)
    scale = max(float(np.abs(target).max()), 1e-300)  # scikit-learn's tolerance is relative to it
    model = Lasso(alpha=alpha / n / scale, fit_intercept=False, tol=1e-14, max_iter=100_000)
    with warnings.catch_warnings():
        # Its gap cannot always reach 1e-14 times the target; the caller's conditions can.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(design, target / scale)
    theta = model.coef_ * scale
    c = design.T @ (target - design @ theta)
    off = np.where(theta == 0, np.abs(c) - alpha, np.abs(c - alpha * np.sign(theta))).max()
    if off > 1e-5 * max(alpha, np.abs(design.T @ target).max()):
        warnings.warn(
            f"The lasso stopped early: its conditions are violated by {off:.3g}.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return theta


@checked
def l1_td(A, b, alpha):
    """Minimise ½||Aθ − b||² + α||θ||₁: LSTD-l1, a lasso on the equations of LSTD.

    Parameters
    ----------
    A : array-like of shape (n_features, n_features)
        Matrix of LSTD; any, off-policy too.
    b : array-like of shape (n_features,)
        Vector of LSTD.
    alpha : float
        Strength.

    Returns
    -------
    ndarray of shape (n_features,)
        Coefficients.

    References
    ----------
    .. [1] Pires (2011). Statistical analysis of L1-penalized linear estimation with applications.
       Master's thesis, University of Alberta.

    Examples
    --------
    >>> from octavo.rl import l1_td
    >>> l1_td([[2.0, 0.0], [0.0, 1.0]], [4.0, 1.0], 1.0)
    array([1.75, 0.  ])
    """
    A, b = check_system(A, b)
    return _lasso(A, b, check_strength(alpha))  # Table 2, LSTD-l1


@checked
def dantzig_td(A, b, alpha, *, tol=1e-7):
    """Minimise ||θ||₁ subject to ||Aθ − b||∞ ≤ α: D-LSTD, by a linear program.

    Parameters
    ----------
    A : array-like of shape (n_features, n_features)
        Matrix of LSTD; any, off-policy too.
    b : array-like of shape (n_features,)
        Vector of LSTD.
    alpha : float
        How far each equation may be off.
    tol : float, default=1e-7
        Duality gap, relative to max(1, ||θ||₁), above which a `ConvergenceWarning` is given.

    Returns
    -------
    ndarray of shape (n_features,)
        Coefficients.

    References
    ----------
    .. [1] Geist, Scherrer, Lazaric and Ghavamzadeh (2012). A Dantzig selector approach to temporal
       difference learning. ICML 29.

    Examples
    --------
    >>> from octavo.rl import dantzig_td
    >>> dantzig_td([[2.0, 0.0], [0.0, 1.0]], [4.0, 1.0], 1.0).tolist()
    [1.5, 0.0]
    """
    A, b = check_system(A, b)
    alpha, p = check_strength(alpha), len(b)
    # -α <= Aθ - b <= α, Table 2's D-LSTD with θ = θ+ - θ-
    limits = np.concatenate([alpha + b, alpha - b])
    solution = linprog(
        np.ones(2 * p), A_ub=np.block([[A, -A], [-A, A]]), b_ub=limits, method="highs"
    )
    if solution.x is None:
        raise ValueError(
            f"No theta meets the equations within alpha={alpha:.6g} ({solution.message}); A is "
            "singular and alpha too small."
        )
    theta = solution.x[:p] - solution.x[p:] + 0.0  # no negative zeros
    gap = solution.fun - float(solution.ineqlin.marginals @ limits)
    if solution.status != 0 or abs(gap) > tol * max(1.0, solution.fun):
        warnings.warn(
            f"D-LSTD was not solved: the duality gap is {gap:.3g} ({solution.message}).",
            ConvergenceWarning,
            stacklevel=2,
        )
    return theta


@checked
def nested_td(X, X_next, r, gamma=0.95, *, alpha=0.0, alpha_fixed=0.0, penalty="l2", weights=None):
    """Penalise both the projection and the fixed point: l2,l2-LSTD, l2,l1-LSTD and l1-PBR.

    The backup is projected with a ridge of strength `alpha`, and the distance from its own
    projected backup, ½||Φθ − Π_α(r + γΦ'θ)||² in means, is minimised with a penalty on θ.

    Parameters
    ----------
    X, X_next : array-like of shape (n_transitions, n_features)
        Features of states and of their successors.
    r : array-like of shape (n_transitions,)
        Rewards.
    gamma : float, default=0.95
        Discount factor.
    alpha : float, default=0.0
        Strength of the ridge α||θ||² in the projection; 0, or next to it, for l1-PBR.
    alpha_fixed : float, default=0.0
        Strength of the penalty on the fixed point: ½α||θ||² or α||θ||₁.
    penalty : {"l2", "l1"}, default="l2"
        The penalty on the fixed point.
    weights : array-like of shape (n_transitions,), default=None
        Importance ratios; None stands for ones.

    Returns
    -------
    ndarray of shape (n_features,)
        Coefficients.

    References
    ----------
    .. [1] Farahmand, Ghavamzadeh, Szepesvari and Mannor (2008). Regularized policy iteration.
       NIPS 21.
    .. [2] Hoffman, Lazaric, Ghavamzadeh and Munos (2011). Regularized least squares temporal
       difference learning with nested l2 and l1 penalization. EWRL 9.
    .. [3] Geist and Scherrer (2011). l1-penalized projected Bellman residual. EWRL 9.

    Examples
    --------
    >>> from octavo.rl import nested_td
    >>> X, X_next, r = [[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]], [1.0, 2.0]
    >>> nested_td(X, X_next, r, gamma=0.5).round(12), nested_td(X, X_next, r, 0.5, alpha_fixed=9.0,
    ...     penalty="l1")
    (array([2., 2.]), array([0., 0.]))
    """
    if penalty not in ("l2", "l1"):
        raise ValueError(f"penalty must be 'l2' or 'l1', got {penalty!r}.")
    alpha, alpha_fixed = check_strength(alpha), check_strength(alpha_fixed, "alpha_fixed")
    return nested_solution(
        _moments(X, X_next, r, gamma, weights), gamma, alpha, alpha_fixed, penalty
    )


def nested_solution(moments, gamma, alpha, alpha_fixed, penalty):
    p = len(moments.reward)
    ridge = moments.gram + alpha * np.eye(p)  # f of Table 2: the ridge of the projection
    right = np.column_stack([moments.cross, moments.reward])
    projected = np.linalg.lstsq(ridge, right, rcond=None)[0]  # M Φ' and M r
    # X = Φ − γΦMΦ' and y = ΦMr in the coordinates of a root of the Gram matrix: p rows, not n.
    values, vectors = np.linalg.eigh(moments.gram)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    design, target = root @ (np.eye(p) - gamma * projected[:, :p]), root @ projected[:, p]
    if penalty == "l1":
        return _lasso(design, target, alpha_fixed)
    # g of Table 2: the ridge of the fixed point
    normal = design.T @ design + alpha_fixed * np.eye(p)
    return np.linalg.lstsq(normal, design.T @ target, rcond=None)[0]


@checked
def random_projection_td(
    X, X_next, r, gamma=0.95, *, n_components=50, alpha=0.0, weights=None, random_state=None
):
    """Solve LSTD in a random subspace: LSTD-RP, for more features than transitions.

    Parameters
    ----------
    X, X_next : array-like or sparse matrix of shape (n_transitions, n_features)
        Features of states and of their successors.
    r : array-like of shape (n_transitions,)
        Rewards.
    gamma : float, default=0.95
        Discount factor.
    n_components : int, default=50
        Dimension of the subspace; of the order of the root of n_transitions.
    alpha : float, default=0.0
        Strength of a ridge in the subspace.
    weights : array-like of shape (n_transitions,), default=None
        Importance ratios; None stands for ones.
    random_state : int, RandomState instance or None, default=None
        Seeds the projection.

    Returns
    -------
    ndarray of shape (n_features,)
        Coefficients of the features themselves.

    References
    ----------
    .. [1] Ghavamzadeh, Lazaric, Maillard and Munos (2010). LSTD with random projections. NIPS 23.

    Examples
    --------
    >>> from octavo.rl import random_projection_td
    >>> X, X_next = [[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]
    >>> random_projection_td(X, X_next, [1.0, 2.0], 0.5, n_components=2, random_state=0).round(9)
    array([2., 2.])
    """
    if n_components < 1:
        raise ValueError(f"n_components must be at least 1, got {n_components!r}.")
    X = X if hasattr(X, "shape") else np.asarray(X, dtype=np.float64)
    X_next = X_next if hasattr(X_next, "shape") else np.asarray(X_next, dtype=np.float64)
    rng = check_random_state(random_state)
    # entries of variance 1/k keep lengths on average
    H = rng.normal(scale=1.0 / np.sqrt(n_components), size=(X.shape[1], n_components))
    A, b = td_statistics(X @ H, X_next @ H, r, gamma, weights)
    return H @ ridge_td(A, b, alpha)
