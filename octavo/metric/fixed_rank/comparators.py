"""Three rivals that learn a positive semidefinite matrix from pairs: LEGO, POLA and LogDet-KL.

All keep the range of what they start from, or a full matrix: O(d²) numbers. `logdet_metric` with
a finite `gamma` is ITML.

References: Jain, Kulis, Dhillon and Grauman (2008), Online metric learning and fast similarity
search. Shalev-Shwartz, Singer and Ng (2004), Online and batch learning of pseudo-metrics. Kulis,
Sustik and Dhillon (2009), Low-rank kernel learning with Bregman matrix divergences; Davis, Kulis,
Jain, Sra and Dhillon (2007), Information-theoretic metric learning.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.sklearn_door import Interval, validate_params
from octavo.engine.projections.positive_semidefinite import project_rank_one_down
from octavo.metric.fixed_rank.constraints import check_pair_targets, check_pairs
from octavo.metric.fixed_rank.losses import check_relation
from octavo.metric.fixed_rank.starts import check_magnitude

__all__ = ["lego", "logdet_kernel", "logdet_metric", "pola"]


def _rows_and_targets(A: Any, y: Any, relation: Any) -> tuple[Floats, Floats, Ints]:
    A = real_array(A, "A")
    if A.ndim != 2 or not A.size:
        raise ValueError(f"A must be a table with at least one row, got shape {A.shape}.")
    check_magnitude(A, "A")
    y = check_pair_targets(y, len(A))
    check_magnitude(y, "y")
    kinds = check_relation(relation, len(A))
    return A, y, np.zeros(len(A), dtype=np.int64) if kinds is None else kinds


def _start(init: Any, d: int) -> Floats:
    if init is None:
        return np.eye(d)
    W = real_array(init, "init")
    if W.shape != (d, d):
        raise ValueError(f"init must have shape {(d, d)}, got {W.shape}.")
    return np.array(W)


@checked
@validate_params(
    {
        "A": ["array-like"],
        "y": ["array-like", Real],
        "relation": ["array-like", None],
        "step": [Interval(Real, 0, None, closed="neither")],
        "init": ["array-like", None],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def lego(A, y, relation=None, *, step=1.0, init=None, n_epochs=1):
    """Learn a metric online by implicit LogDet steps (LEGO).

    Each row a moves W to the minimiser of D_ld(W, W_t) + ½ η (aᵀWa - y)², in closed form.

    Parameters
    ----------
    A : array-like of shape (n, d)
        Differences of pairs.
    y : array-like of shape (n,) or float
        Targets of aᵀWa.
    relation : array-like of shape (n,), default=None
        0 for equal, 1 for at most, -1 for at least; bounds that hold are passed over.
    step : float, default=1.0
        The step η.
    init : array-like of shape (d, d), default=None
        Positive definite; the identity by default.
    n_epochs : int, default=1
        Passes.

    Returns
    -------
    W : ndarray of shape (d, d)
        Positive definite.

    Examples
    --------
    >>> from octavo.metric import lego
    >>> lego([[1.0, 0.0]], [4.0], step=1e6).round(2).tolist()
    [[4.0, 0.0], [0.0, 1.0]]
    """
    A, y, kinds = _rows_and_targets(A, y, relation)
    W = _start(init, A.shape[1])
    for _ in range(n_epochs):
        for a, target, kind in zip(A, y, kinds, strict=True):
            Wa = W @ a
            p = float(a @ Wa)  # ŷ before the step, z after it
            if p <= 0.0 or kind * (p - target) < 0.0:
                continue
            # The positive root of η p z² + (1 - η y p) z - p = 0, in the form without cancellation.
            half = 1.0 - step * target * p
            root = np.sqrt(half * half + 4.0 * step * p * p)
            after = 2.0 * p / (root + half) if half > 0.0 else (root - half) / (2.0 * step * p)
            # W moves along Wa alone, so that aᵀWa becomes the root
            W -= (p - after) / (p * p) * np.outer(Wa, Wa)
        W = 0.5 * (W + W.T)
    return W


@checked
@validate_params(
    {
        "A": ["array-like"],
        "relation": ["array-like"],
        "init": ["array-like", None],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def pola(A, relation, *, init=None, n_epochs=1):
    """Learn a metric and a threshold online by projections (POLA).

    Asks aᵀWa ≤ b - 1 of similar pairs and aᵀWa ≥ b + 1 of others: each row projects (W, b) onto its
    half-space, then onto positive semidefinite matrices and b ≥ 1.

    Parameters
    ----------
    A : array-like of shape (n, d)
        Differences of pairs.
    relation : array-like of shape (n,)
        1 for similar pairs, -1 for others.
    init : array-like of shape (d, d), default=None
        Zeros by default, as in the paper.
    n_epochs : int, default=1
        Passes.

    Returns
    -------
    W : ndarray of shape (d, d)
        Positive semidefinite.
    threshold : float
        The paper's b.

    Examples
    --------
    >>> from octavo.metric import pola
    >>> W, b = pola([[1.0, 0.0], [0.0, 1.0]] * 50, [1, -1] * 50)
    >>> W.round(2).tolist(), round(b, 2)
    ([[0.0, 0.0], [0.0, 2.0]], 1.0)
    """
    A, _, kinds = _rows_and_targets(A, 0.0, relation)
    if (kinds == 0).any():
        raise ValueError("relation must hold 1 (similar) or -1 (other); it holds 0.")
    d = A.shape[1]
    W = np.zeros((d, d)) if init is None else _start(init, d)
    b = 1.0
    for _ in range(n_epochs):
        for a, kind in zip(A, kinds, strict=True):
            loss = float(kind * (a @ W @ a - b) + 1.0)
            if loss <= 0.0:
                continue
            alpha = loss / (float(a @ a) ** 2 + 1.0)  # over ‖(aaᵀ, 1)‖²: onto the half-space
            W = W - alpha * kind * np.outer(a, a)
            b = max(b + alpha * kind, 1.0)
            if kind > 0:  # only a subtraction can leave the cone, by one eigenvalue
                W = project_rank_one_down(W)
    return W, b


@njit(cache=True)
def _logdet_sweeps(
    Z: Floats, bounds: Floats, kinds: Ints, S: Floats, gamma: float, tol: float, max_iter: int
) -> tuple[int, float]:
    """Project onto the constraints in turn; S (r, r) with W = SSᵀ is changed in place."""
    m, r = Z.shape
    multipliers, slack = np.zeros(m), bounds.copy()
    # The share of a step that the slack does not take
    share = 1.0 if np.isinf(gamma) else gamma / (gamma + 1.0)
    v, Sv = np.empty(r), np.empty(r)
    change = np.inf
    for sweep in range(max_iter):
        largest, moved = 0.0, 0.0
        for c in range(m):
            p = 0.0
            for k in range(r):
                v[k] = 0.0
                for i in range(r):
                    v[k] += S[i, k] * Z[c, i]
                p += v[k] * v[k]
            if p <= 0.0:
                continue
            sign = -1.0 if kinds[c] < 0 else 1.0
            # To the bound itself, in LogDet divergence
            alpha = share * sign * (1.0 / p - 1.0 / slack[c])
            if kinds[c] != 0:
                # a multiplier of an inequality stays on its side
                alpha = min(multipliers[c], alpha)
            multipliers[c] -= alpha
            if not np.isinf(gamma):
                slack[c] = 1.0 / (1.0 / slack[c] + sign * alpha / gamma)
            beta = sign * alpha / (1.0 - sign * alpha * p)  # W + β W z zᵀ W
            moved += abs(alpha)
            largest += abs(multipliers[c])  # the sweep's scale: what all multipliers amount to
            # W + β W z zᵀ W = S (I + β v vᵀ) Sᵀ, and I + β v vᵀ = (I + τ v vᵀ)².
            tau = (np.sqrt(1.0 + beta * p) - 1.0) / p
            for i in range(r):
                Sv[i] = 0.0
                for k in range(r):
                    Sv[i] += S[i, k] * v[k]
            for i in range(r):
                for k in range(r):
                    S[i, k] += tau * Sv[i] * v[k]
        change = moved / largest if largest > 0.0 else 0.0
        if change <= tol:
            return sweep + 1, change
    return max_iter, change


def _warmup() -> None:
    """Compile the kernel once."""
    _logdet_sweeps(
        np.ones((1, 1)), np.ones(1), np.zeros(1, dtype=np.int64), np.eye(1), np.inf, 0.1, 1
    )


def _projected(Z: Floats, y: Floats, kinds: Ints, gamma: float, tol: float, max_iter: int):
    if (y <= 0.0).any():
        raise ValueError(
            "LogDet projections need targets above zero; "
            f"entry {int(np.argmin(y))} is {float(y.min()):g}."
        )
    S = np.eye(Z.shape[1])
    n_iter, change = _logdet_sweeps(
        np.ascontiguousarray(Z), y, kinds, S, float(gamma), float(tol), int(max_iter)
    )
    if not np.isfinite(S).all():
        raise ValueError("LogDet projections left the finite numbers: the targets contradict.")
    if change > tol:
        warnings.warn(
            f"LogDet projections stopped after {n_iter} sweeps; multipliers still change by "
            f"{change:.2g} of their sum. Constraints that contradict have no solution: give gamma.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return S


_LOGDET: dict[str, Any] = {
    "relation": ["array-like", None],
    "gamma": [Interval(Real, 0, None, closed="neither"), None],
    "tol": [Interval(Real, 0, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
}


@checked
@validate_params(
    {"A": ["array-like"], "y": ["array-like", Real], "init": ["array-like", None], **_LOGDET},
    prefer_skip_nested_validation=True,
)
def logdet_metric(A, y, relation=None, *, init=None, gamma=None, tol=1e-3, max_iter=1000):
    """Learn the metric nearest to a given one in LogDet divergence under constraints (ITML).

    Parameters
    ----------
    A : array-like of shape (n, d)
        Differences of pairs.
    y : array-like of shape (n,) or float
        Targets of aᵀWa, above zero.
    relation : array-like of shape (n,), default=None
        0 for equal, 1 for at most, -1 for at least.
    init : array-like of shape (d, d), default=None
        Positive definite W0; the identity by default.
    gamma : float, default=None
        Weight of slack: 1 is ITML's usual choice; None allows no slack.
    tol : float, default=1e-3
        Sweeps end when multipliers change by less than this share of their sum.
    max_iter : int, default=1000
        Most sweeps over the constraints.

    Returns
    -------
    W : ndarray of shape (d, d)
        Positive definite.

    Examples
    --------
    >>> from octavo.metric import logdet_metric
    >>> logdet_metric([[1.0, 0.0]], [4.0]).round(3).tolist()
    [[4.0, 0.0], [0.0, 1.0]]
    """
    A, y, kinds = _rows_and_targets(A, y, relation)
    values, vectors = np.linalg.eigh(_start(init, A.shape[1]))
    if values[0] <= 0.0:
        raise ValueError(f"init must be positive definite; an eigenvalue is {values[0]:.3g}.")
    root = vectors * np.sqrt(values)
    G = root @ _projected(A @ root, y, kinds, np.inf if gamma is None else gamma, tol, max_iter)
    return G @ G.T


@checked
@validate_params(
    {
        "G": ["array-like"],
        "pairs": ["array-like"],
        "target": ["array-like", Real],
        **_LOGDET,
    },
    prefer_skip_nested_validation=True,
)
def logdet_kernel(G, pairs, target, relation=None, *, gamma=None, tol=1e-3, max_iter=1000):
    """Learn the kernel of the same range that is nearest in LogDet divergence (LogDet-KL).

    Parameters
    ----------
    G : array-like of shape (n_items, rank)
        Factor of the kernel to start from; its range is kept.
    pairs : array-like of shape (n_pairs, 2)
        Positions of items.
    target : array-like of shape (n_pairs,) or float
        Squared distances, above zero.
    relation : array-like of shape (n_pairs,), default=None
        0 for equal, 1 for at most, -1 for at least.
    gamma : float, default=None
        Weight of slack; None allows none.
    tol : float, default=1e-3
        Sweeps end when multipliers change by less than this share of their sum.
    max_iter : int, default=1000
        Most sweeps over the constraints.

    Returns
    -------
    G : ndarray of shape (n_items, rank)
        Factor of the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.metric import logdet_kernel
    >>> G = logdet_kernel(np.eye(3), [[0, 1]], [0.5])
    >>> round(float(np.sum((G[0] - G[1]) ** 2)), 3)
    0.5
    """
    G = real_array(G, "G")
    if G.ndim != 2 or not G.size:
        raise ValueError(f"G must be a table of n_items rows, got shape {G.shape}.")
    pairs = check_pairs(pairs, len(G))
    Z = G[pairs[:, 0]] - G[pairs[:, 1]]
    Z, y, kinds = _rows_and_targets(Z, target, relation)
    return G @ _projected(Z, y, kinds, np.inf if gamma is None else gamma, tol, max_iter)
