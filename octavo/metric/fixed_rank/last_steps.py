"""Newton's steps on a factor G, for the last digits of a cost that gradients approach slowly.

A step minimises the quadratic model of the cost by conjugate gradients within a trust region
(Steihaug 1983). Its products H[V] = (2/n) Σ a_i (e_i a_iᵀV + 2 (p_iᵀVᵀa_i) p_iᵀ) with p_i = Gᵀa_i
cost two passes over the data each; bounds that hold take no part in them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.metric.fixed_rank.losses import half_mean_square, residuals

_MOST_PRODUCTS = 500  # of one step
_FORCING = 0.1  # of the gradient may be left by a step, less where the gradient is small


class Step(NamedTuple):
    """A direction with its products, and what the model expects of it."""

    V: Floats
    AV: Floats
    fall: float
    inside: bool


def hessian_product(
    rows: Any, P: Floats, e: Floats, relation: Ints | None
) -> Callable[[Floats], tuple[Floats, Floats]]:
    """Return the map from V to H[V] and AV.

    Parameters
    ----------
    rows : TableRows or PairDifferences
        The data A.
    P : ndarray of shape (n, r)
        AG.
    e : ndarray of shape (n,)
        Residuals there.
    relation : ndarray of shape (n,) or None
        A bound that holds bends nothing.

    Returns
    -------
    callable
        Two passes over the data a call.
    """
    active: Any = 1.0 if relation is None else (e != 0.0) | (relation == 0)

    def apply(V: Floats) -> tuple[Floats, Floats]:
        D = rows.dot(V)
        bend = 2.0 * active * np.einsum("ij,ij->i", P, D)  # 2 p·(a v), of a row that counts
        # 2/n Σ (e + 2 P Pᵀ) terms: the Hessian of the half mean square
        HV = (2.0 / len(e)) * rows.transposed_dot(e[:, None] * D + bend[:, None] * P)
        return HV, D

    return apply


def _to_the_edge(V: Floats, D: Floats, radius: float) -> float:
    """Return τ > 0 with ‖V + τD‖ = radius."""
    a, b = float(np.sum(D * D)), float(np.sum(V * D))
    c = min(float(np.sum(V * V)) - radius**2, 0.0)
    return (-b + float(np.sqrt(b * b - a * c))) / a


def trust_region_step(
    product: Callable[[Floats], Any], gradient: Floats, n: int, radius: float, left: float
) -> Step:
    """Return the step of truncated conjugate gradients.

    Parameters
    ----------
    product : callable
        V to H[V] and AV.
    gradient : ndarray of shape (d, r)
        Of the cost.
    n : int
        Rows of A.
    radius : float
        Longest step.
    left : float
        Norm of what may be left of the gradient.

    Returns
    -------
    Step
        Inside the region, or where negative curvature or its edge ended it.
    """
    V, HV = np.zeros_like(gradient), np.zeros_like(gradient)
    AV = np.zeros((n, gradient.shape[1]))
    rest, D = gradient, -gradient
    size, inside = float(np.sum(rest**2)), True
    for _ in range(_MOST_PRODUCTS):
        HD, AD = product(D)
        curvature = float(np.sum(D * HD))
        # Negative curvature: to the edge of the region
        along = size / curvature if curvature > 0.0 else np.inf
        edge = _to_the_edge(V, D, radius)
        inside = along < edge
        along = min(along, edge)
        V, HV, AV = V + along * D, HV + along * HD, AV + along * AD
        rest = rest + along * HD
        before, size = size, float(np.sum(rest**2))
        if not inside or size <= left**2:
            break
        D = (size / before) * D - rest
    # The fall of the quadratic model
    return Step(V, AV, -float(np.sum(V * (gradient + 0.5 * HV))), inside)


def newton_end(
    rows: Any,
    G: Floats,
    y: Floats,
    relation: Ints | None,
    *,
    tol: float,
    enough: float,
    max_iter: int,
    on_step: Callable[[float], bool] = lambda cost: False,
) -> tuple[Floats, list[float], str]:
    """Return the factor where Newton's steps end.

    Parameters
    ----------
    rows : TableRows or PairDifferences
        The data.
    G : ndarray of shape (d, r)
        Where to start: near the end, or the steps are many.
    y, relation : ndarray of shape (n,)
        Targets.
    tol : float
        Ends when a whole step is expected to gain less than this share of the cost.
    enough : float
        Ends at a cost of this.
    max_iter : int
        Most steps.
    on_step : callable
        Is told the cost after each step; ends the walk by True.

    Returns
    -------
    G : ndarray of shape (d, r)
        The factor.
    costs : list of float
        After each step that was taken.
    reason : str
        Why it ended; empty where `max_iter` steps were taken.
    """
    costs: list[float] = []
    P, radius = rows.dot(G), float(np.linalg.norm(G))
    e = residuals(np.einsum("ij,ij->i", P, P), y, relation)
    cost, n, first = half_mean_square(e), len(y), np.inf
    while len(costs) < max_iter:
        gradient = (2.0 / n) * rows.transposed_dot(e[:, None] * P)
        norm = float(np.linalg.norm(gradient))
        if not norm > 0.0:
            return G, costs, "the gradient is zero"
        first = min(first, norm)
        product = hessian_product(rows, P, e, relation)
        left = norm * min(_FORCING, norm / first)  # forcing: quadratic convergence near the end
        step = trust_region_step(product, gradient, n, radius, left)
        moved = P + step.AV
        new = residuals(np.einsum("ij,ij->i", moved, moved), y, relation)
        lower = half_mean_square(new)
        # Real fall over expected fall
        gain = (cost - lower) / step.fall if step.fall > 0.0 else 0.0
        length = float(np.linalg.norm(step.V))
        if lower < cost:
            G = G + step.V
            P, e, cost = rows.dot(G), new, lower
            costs.append(cost)
            if on_step(cost):
                return G, costs, "a callback ended it"
        if cost <= enough:
            return G, costs, "the cost is below tol"
        if step.inside and step.fall <= tol * cost:
            return G, costs, "the change is below tol"
        if gain < 0.25:
            radius = 0.25 * length
        elif gain > 0.75 and not step.inside:
            radius *= 2.0
        if not radius > 1e-12 * float(np.linalg.norm(G)):
            return G, costs, "no step lowers the cost in doubles"
    return G, costs, ""
