"""Low rank plus sparse: principal component pursuit and outlier pursuit.

A matrix is split into L of low rank and a rest S. In principal component pursuit S has few
entries that are not zero; in outlier pursuit, few rows. Both are convex, solved here by the
alternating direction method of multipliers until the duality gap is small.

References: Candès, Li, Ma and Wright (2011), "Robust principal component analysis?", JACM
58(3):11; Xu, Caramanis and Sanghavi (2012), "Robust PCA via outlier pursuit", IEEE Transactions
on Information Theory 58:3047-3064 (McCoy and Tropp 2011 call it low-leverage decomposition); Lin,
Chen and Ma (2010), "The augmented Lagrange multiplier method for exact recovery of corrupted
low-rank matrices", arXiv:1009.5055, for where the steps begin.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, validate_params
from octavo.engine.proximal.matrices import shrink_rows, soft_threshold
from octavo.engine.proximal.nuclear_l1 import SingularShrinker

__all__ = ["Pursuit", "outlier_pursuit", "principal_component_pursuit"]


LOOK = 5  # steps between two looks at the duality gap, which costs as much as a step
FULL_SIDE = 200  # below, all singular values cost less than those above the threshold


class Pursuit(NamedTuple):
    """A matrix split in two.

    ``low_rank`` and ``sparse`` of the shape of X, whose sum is X; the ``rank`` of the former; the
    ``objective``; ``duality_gap``, the objective less a lower bound on it; ``n_iter``; and whether
    it ``converged``.
    """

    low_rank: Floats
    sparse: Floats
    rank: int
    objective: float
    duality_gap: float
    n_iter: int
    converged: bool


def _split(
    X: Floats,
    alpha: float,
    shrink: Callable[[Floats, float], Floats],
    sizes: Callable[[Floats], Floats],
    tol: float,
    max_iter: int,
) -> Pursuit:
    """Minimise ‖L‖_* + λ‖S‖, where ‖S‖ is the sum of `sizes`, subject to L + S = X.

    The multiplier Y after a step has dual norm at most λ; divided by its spectral norm where that
    exceeds one it is feasible, and ⟨X, Y⟩ bounds the objective from below. Steps begin at the
    multiplier and the penalty of Lin, Chen and Ma, where L has low rank at once; the penalty
    grows until the residuals are balanced. One of them is in units of X, the other has none:
    entries are brought to a size of about one first, by a power of two, which rounds nothing.
    """
    largest = float(np.abs(X).max())
    if largest == 0.0:
        return Pursuit(X.copy(), X.copy(), 0, 0.0, 0.0, 0, True)
    unit = 2.0 ** np.rint(np.log2(largest) + np.log2(np.mean((X / largest) ** 2)) / 2)
    X = X / unit
    top = spectral_norm(X)
    Y, mu = X / max(top, float(sizes(X).max()) / alpha), 1.25 / top
    S, growing = np.zeros_like(X), True
    best: Pursuit | None = None
    shrunk = SingularShrinker("full" if min(X.shape) < FULL_SIDE else "randomized")
    for iteration in range(1, max_iter + 1):
        shifted = X + Y / mu
        L, values = shrunk(shifted - S, 1.0 / mu)  # the map of ‖L‖_* at X − S + Y/μ
        previous = S
        shifted -= L
        S = shrink(shifted, alpha / mu)  # and of λ‖S‖
        Y = mu * (shifted - S)  # the multiplier's step, at once dual feasible for S
        look = iteration % LOOK == 0 or iteration == max_iter
        if look:
            # L + S = X is met by giving the rest to S: the objective is that of a feasible pair
            objective = float(values.sum() + alpha * sizes(X - L).sum())
            # ⟨X, Y⟩ bounds the optimum where ‖Y‖ ≤ 1
            bound = float(np.einsum("ij,ij->", X, Y)) / max(1.0, spectral_norm(Y))
            gap = max(objective - bound, 0.0)
            if best is None or gap < best.duality_gap:
                done = gap <= tol * objective
                best = Pursuit(L, X - L, len(values), objective, gap, iteration, done)
            if best.converged:
                break
        if growing or look:
            before = mu
            off, change = np.linalg.norm(X - L - S), np.linalg.norm(S - previous)
            mu = _balanced(mu, float(off), mu * float(change))
            growing &= mu > before
    assert best is not None
    return best._replace(
        low_rank=best.low_rank * unit,
        sparse=best.sparse * unit,
        objective=best.objective * unit,
        duality_gap=best.duality_gap * unit,
        n_iter=iteration,
    )


def spectral_norm(Y: Floats) -> float:
    """Return the largest singular value."""
    gram = Y.T @ Y if Y.shape[0] >= Y.shape[1] else Y @ Y.T
    return float(np.sqrt(np.linalg.eigvalsh(gram)[-1]))


def _balanced(mu: float, primal: float, dual: float) -> float:
    """Return a penalty that brings the two residuals of the method closer together."""
    if primal > 5.0 * dual:
        return 1.5 * mu
    return mu / 1.5 if dual > 5.0 * primal else mu


def _told(found: Pursuit, tol: float) -> Pursuit:
    if not found.converged:
        warnings.warn(
            f"Not converged after {found.n_iter} iterations: the duality gap is "
            f"{found.duality_gap / found.objective:.3g} of the objective instead of {tol:.3g}.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return found


CONSTRAINTS = {
    "X": ["array-like"],
    "alpha": [None, Interval(Real, 0, None, closed="neither")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
}


@checked
@validate_params(CONSTRAINTS, prefer_skip_nested_validation=True)
def principal_component_pursuit(X, alpha=None, *, tol=1e-6, max_iter=2000):
    """Split X into low rank and sparse: min ‖L‖_* + λ Σ|S|, L + S = X.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The matrix.
    alpha : float, default=None
        Weight λ of the sparse part; None stands for 1 / √max(n_samples, n_features).
    tol : float, default=1e-6
        Stop when the duality gap is at most this share of the objective.
    max_iter : int, default=2000
        The largest number of iterations.

    Returns
    -------
    Pursuit
        A named tuple: `low_rank`, `sparse`, `rank`, `objective`, `duality_gap`, `n_iter` and
        `converged`.

    References
    ----------
    .. [1] Candès, Li, Ma and Wright (2011). Robust principal component analysis? JACM 58(3):11.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import principal_component_pursuit
    >>> rng = np.random.default_rng(0)
    >>> true = np.outer(rng.standard_normal(40), rng.standard_normal(30))
    >>> wrong = np.where(rng.uniform(size=true.shape) < 0.05, 10.0, 0.0)
    >>> found = principal_component_pursuit(true + wrong)
    >>> found.rank, bool(np.abs(found.low_rank - true).max() < 1e-3)
    (1, True)
    """
    X = check_array(X, dtype=np.float64)
    alpha = 1.0 / np.sqrt(max(X.shape)) if alpha is None else alpha
    return _told(_split(X, alpha, soft_threshold, np.abs, tol, max_iter), tol)


@checked
@validate_params(CONSTRAINTS, prefer_skip_nested_validation=True)
def outlier_pursuit(X, alpha=None, *, tol=1e-6, max_iter=2000):
    """Split X into low rank and few outlying rows: min ‖L‖_* + λ Σ‖S_i‖, L + S = X.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The matrix; samples are rows.
    alpha : float, default=None
        Weight λ of the outlying rows; None stands for 0.8 √(n_features / n_samples).
    tol : float, default=1e-6
        Stop when the duality gap is at most this share of the objective.
    max_iter : int, default=2000
        The largest number of iterations.

    Returns
    -------
    Pursuit
        A named tuple: `low_rank`, `sparse`, `rank`, `objective`, `duality_gap`, `n_iter` and
        `converged`.

    References
    ----------
    .. [1] Xu, Caramanis and Sanghavi (2012). Robust PCA via outlier pursuit. IEEE Transactions
       on Information Theory 58:3047-3064.
    .. [2] McCoy and Tropp (2011). Two proposals for robust PCA using semidefinite programming.
       Electronic Journal of Statistics 5:1123-1160.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import outlier_pursuit, make_outlier_subspace
    >>> sample = make_outlier_subspace(95, 5, 20, 1, inlier_scale=4.0, random_state=0)
    >>> found = outlier_pursuit(sample.X)
    >>> outlying = np.linalg.norm(found.sparse, axis=1) > 0.1
    >>> bool((outlying == ~sample.is_inlier).all())
    True
    """
    X = check_array(X, dtype=np.float64)
    alpha = 0.8 * np.sqrt(X.shape[1] / X.shape[0]) if alpha is None else alpha

    def norms(S: Floats) -> Floats:
        return np.linalg.norm(S, axis=1)

    return _told(_split(X, alpha, shrink_rows, norms, tol, max_iter), tol)
