"""What group ARD, PARD and the group lasso minimise over the variances of groups; their conditions.

    ½ log det Σ(λ) + ½ yᵀΣ(λ)⁻¹y + Σ_i c_i λ_i  over λ ≥ 0                    Eq. (4)

with c_i = γ is PARD, with γ = 0 ARD (6), and without log det the group lasso (12), which is
convex. The noise variance is one more variance, of K_0 = I, and may be estimated along with them.

Reference: Aravkin, Burke, Chiuso and Pillonetto (2014), JMLR 15, Section 3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.engine.smooth.nonnegative_newton import kkt_violations
from octavo.kernel.group_ard.evidence import (
    Evidence,
    Factored,
    GramEvidence,
    Slopes,
    WideEvidence,
)
from octavo.kernel.group_ard.grouping import as_groups

__all__ = ["group_lasso_kkt", "pard_kkt"]

_EPS = float(np.finfo(np.float64).eps)


class Point:
    """A factorisation, and the slopes once somebody has asked for them."""

    def __init__(self, factored: Factored) -> None:
        self.factored = factored
        self.slopes: Slopes | None = None


class VarianceObjective:
    """Eq. (4), or (12) without log det, as a function of x ≥ 0.

    x holds λ; where the noise variance is estimated, its excess over a floor stands last.
    """

    def __init__(
        self,
        evidence: Evidence,
        costs: Floats | float,
        sigma2: float,
        *,
        logdet: bool = True,
        free_noise: bool = False,
    ) -> None:
        self.evidence, self.logdet = evidence, logdet
        self.costs = np.broadcast_to(np.asarray(costs, dtype=np.float64), (evidence.n_groups,))
        self.sigma2, self.free_noise = sigma2, free_noise  # the floor, where noise is free

    def split(self, x: Floats) -> tuple[Floats, float]:
        """Return λ and σ²."""
        if not self.free_noise:
            return x, self.sigma2
        return x[:-1], self.sigma2 + float(x[-1])

    def joined(self, lam: Floats, sigma2: float) -> Floats:
        """Return x of λ and σ²."""
        return np.append(lam, max(sigma2 - self.sigma2, 0.0)) if self.free_noise else lam

    def value(self, x: Floats) -> tuple[float, float, Point]:
        """Return the objective, a bound on its rounding error, and what derivatives need."""
        lam, sigma2 = self.split(x)
        at = self.evidence.factored(lam, sigma2)
        half_logdet = at.half_logdet if self.logdet else 0.0
        penalty = float(self.costs @ lam)
        size = abs(half_logdet) + 0.5 * self.evidence.energy / sigma2 + penalty
        return half_logdet + 0.5 * at.fit + penalty, 8.0 * _EPS * size, Point(at)  # Eq. (4)

    def parts(self, point: Point) -> tuple[Floats, Floats]:
        """Return tr(W K_i) and yᵀW K_i W y, the noise's K_0 = I last where it is free."""
        if point.slopes is None:
            point.slopes = self.evidence.slopes(point.factored)
        traces, energies, _ = point.slopes
        if not self.free_noise:
            return traces, energies
        at = point.factored
        # σ²W = I - Σ λ_i W K_i turns sums over groups into those of the identity.
        trace = (self.evidence.n - float(at.lam @ traces)) / at.sigma2
        energy = (at.fit - float(at.lam @ energies)) / at.sigma2
        return np.append(traces, max(trace, 0.0)), np.append(energies, max(energy, 0.0))

    def slopes(self, point: Point) -> tuple[Floats, Floats]:
        """Return the gradient, and the size of its terms."""
        traces, energies = self.parts(point)
        costs = np.append(self.costs, 0.0) if self.free_noise else self.costs
        growth = 0.5 * traces * self.logdet + costs
        return growth - 0.5 * energies, growth + 0.5 * energies  # Eq. (8), Eq. (14)

    def curvature(self, point: Point, which: Indices) -> tuple[Floats, Floats]:
        """Return the Hessian, and that of the convex bound that has log det's tangent instead."""
        self.parts(point)
        assert point.slopes is not None
        groups = which[which < self.evidence.n_groups]
        # tr(WK_iWK_j) and aᵀK_iWK_ja
        T, C = self.evidence.curvature(point.factored, point.slopes, groups)
        if len(groups) < len(which):
            T, C = self._with_noise(point, groups, T, C)
        # Hessian of Eq. (4): log det is concave in λ, so its own part is negative
        return (C - 0.5 * T, C) if self.logdet else (C, C)

    def _with_noise(
        self, point: Point, groups: Indices, T: Floats, C: Floats
    ) -> tuple[Floats, Floats]:
        """Add the row and column of K_0 = I; every group in use is among `groups`."""
        at, (traces, energies) = point.factored, self.parts(point)
        lam = at.lam[groups]
        return (
            _bordered(T, traces[groups], traces[-1], lam, at.sigma2),
            _bordered(C, energies[groups], energies[-1], lam, at.sigma2),
        )


def _bordered(block: Floats, first: Floats, last: float, lam: Floats, sigma2: float) -> Floats:
    border = (first - block @ lam) / sigma2
    corner = (last - float(lam @ border)) / sigma2
    return np.block([[block, border[:, None]], [border, np.array([[corner]])]])


def duality_gap(objective: VarianceObjective, point: Point, value: float) -> float:
    """Return the gap of the group lasso at λ.

    The dual is max yᵀu - σ²‖u‖²/2 over uᵀK_i u ≤ 2 c_i; u is a multiple of Wy.
    """
    at = point.factored
    _, energies = objective.parts(point)
    square = max((at.fit - float(at.lam @ energies)) / at.sigma2, 0.0)  # ‖Wy‖²
    held = energies > 0.0
    largest = float(np.sqrt((2.0 * objective.costs[held] / energies[held]).min(initial=np.inf)))
    # the multiple of Wy that is best, or the longest that is feasible
    best = at.fit / (at.sigma2 * square) if square > 0.0 else 0.0
    scale = min(largest, best)
    return max(value - (scale * at.fit - 0.5 * at.sigma2 * scale**2 * square), 0.0)


def linear_evidence(X: Any, y: Floats, groups: list[Indices]) -> Evidence:
    """Return the form that suits the shape; sparse tables always go through XᵀX."""
    n, m = X.shape
    if sp.issparse(X):
        return GramEvidence((X.T @ X).toarray(), X.T @ y, float(y @ y), n, groups)
    if m > n:
        return WideEvidence(X, y, groups)
    return GramEvidence(X.T @ X, X.T @ y, float(y @ y), n, groups)


def _violation(
    lam: Any, X: Any, y: Any, groups: Any, sigma2: float, gamma: float, *, logdet: bool
) -> float:
    X = check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X")
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    lam = check_array(lam, ensure_2d=False, dtype=np.float64, input_name="lam")
    if y.shape != (X.shape[0],):
        raise ValueError(f"y must hold one value per row of X, {X.shape[0]}; got shape {y.shape}.")
    columns = as_groups(groups, X.shape[1])
    if lam.shape != (len(columns),):
        raise ValueError(
            f"lam must hold one variance per group, {len(columns)}; got shape {lam.shape}."
        )
    if (lam < 0.0).any():
        raise ValueError(f"lam must not be negative; lam[{np.argmin(lam)}] is {lam.min():g}.")
    if not (np.isfinite(sigma2) and sigma2 > 0.0):
        raise ValueError(f"sigma2 must be a positive number, got {sigma2!r}.")
    if not (np.isfinite(gamma) and gamma >= 0.0):
        raise ValueError(f"gamma must be a number of at least 0, got {gamma!r}.")
    evidence = linear_evidence(X, y, columns)
    objective = VarianceObjective(evidence, float(gamma), float(sigma2), logdet=logdet)
    with np.errstate(over="ignore", invalid="ignore"):
        gradient, _ = objective.slopes(objective.value(lam)[2])
    violation = float(kkt_violations(lam, gradient).max())
    if not np.isfinite(violation):
        raise ValueError("The conditions cannot be computed: numbers of X, y or lam are too large.")
    return violation


@checked
def pard_kkt(lam, X, y, groups, sigma2, gamma):
    """Return the largest violation of PARD's conditions of optimality, Eq. (8).

    The slope d_i = ½ tr(G_iᵀWG_i) - ½ ‖G_iᵀWy‖² + γ must be zero where λ_i > 0 and must not be
    negative where λ_i = 0. The problem is not convex: the conditions are necessary.

    Parameters
    ----------
    lam : array-like of shape (n_groups,)
        Variances of the groups.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Regressors, the paper's G; used as they are, so centre them if the model had an intercept.
    y : array-like of shape (n_samples,)
        Targets, likewise.
    groups : array-like of int of shape (n_features,), list of array-like of int or None
        Label of each column, or the columns of each group; None for a group per column.
    sigma2 : float
        Variance of the noise.
    gamma : float
        Rate of the exponential prior of variances; 0 is ARD.

    Returns
    -------
    float
        The violation, in units of 1/λ.

    References
    ----------
    .. [1] Aravkin, Burke, Chiuso and Pillonetto (2014). Convex vs Non-Convex Estimators for
       Regression and Sparse Estimation. JMLR 15, Proposition 2.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import ard_orthogonal, pard_kkt
    >>> X, y = np.eye(4), np.array([3.0, 1.0, 0.1, 0.2])
    >>> groups = [[0, 1], [2, 3]]
    >>> lam = ard_orthogonal([np.hypot(3.0, 1.0), np.hypot(0.1, 0.2)], 2, 1, 0.5, 0.1)
    >>> lam.round(3).tolist(), round(pard_kkt(lam, X, y, groups, 0.5, 0.1), 6)
    ([3.16, 0.0], 0.0)
    """
    return _violation(lam, X, y, groups, sigma2, gamma, logdet=True)


@checked
def group_lasso_kkt(lam, X, y, groups, sigma2, gamma):
    """Return the largest violation of the group lasso's conditions of optimality, Eq. (14).

    The slope γ - ½ ‖G_iᵀWy‖² must be zero where λ_i > 0 and must not be negative where λ_i = 0.
    The problem is convex: the conditions are sufficient.

    Parameters
    ----------
    lam : array-like of shape (n_groups,)
        Variances of the groups: ‖θ_i‖ / √(2γ) at the solution.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Regressors, the paper's G; used as they are, so centre them if the model had an intercept.
    y : array-like of shape (n_samples,)
        Targets, likewise.
    groups : array-like of int of shape (n_features,), list of array-like of int or None
        Label of each column, or the columns of each group; None for a group per column.
    sigma2 : float
        Variance of the noise.
    gamma : float
        Rate of the exponential prior of variances.

    Returns
    -------
    float
        The violation, in units of 1/λ.

    References
    ----------
    .. [1] Aravkin, Burke, Chiuso and Pillonetto (2014). Convex vs Non-Convex Estimators for
       Regression and Sparse Estimation. JMLR 15, Proposition 4.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import ard_orthogonal, group_lasso_kkt
    >>> X, y = np.eye(4), np.array([3.0, 1.0, 0.1, 0.2])
    >>> groups = [[0, 1], [2, 3]]
    >>> sizes = [np.hypot(3.0, 1.0), np.hypot(0.1, 0.2)]
    >>> lam = ard_orthogonal(sizes, 2, 1, 0.5, 0.5, method="group-lasso")
    >>> lam.round(3).tolist(), round(group_lasso_kkt(lam, X, y, groups, 0.5, 0.5), 6)
    ([2.662, 0.0], 0.0)
    """
    return _violation(lam, X, y, groups, sigma2, gamma, logdet=False)
