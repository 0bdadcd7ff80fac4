"""How a loss on a steered map changes with its hyper-parameters: exact gradients.

A component solves (S − µ)z = b + Lη with zᵀz = R² and Lᵀz = d. Differentiating gives a bordered
system with the symmetric matrix M = [[S − µ, z, L], [zᵀ, 0, 0], [Lᵀ, 0, 0]]; solved once with the
loss's slope on its right (the adjoint), it gives the derivative by every hyper-parameter. Earlier
components enter later ones through orthogonality, so their slopes are carried back from the last
component to the first. With one component and soft constraints these are the formulas of the
reference, in z in place of α; where the reference neglects how earlier components move, these do
not.

Reference: D. Oglic, Constructive approximation and learning by greedy algorithms (thesis), Section
2.7.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.kernel.steered.basis import MapBasis, row_shares, symmetric_graph
from octavo.kernel.steered.components import (
    SteeredMap,
    Steering,
    SteeringSystem,
    label_strengths,
)
from octavo.kernel.steered.constraints import MapConstraints

STRENGTHS = ("lambda_place", "lambda_link", "lambda_label")


class KernelSlope(NamedTuple):
    """∂K/∂γ in the coordinates of the basis, and ∂G/∂γ of its neighbour graph."""

    matrix: Floats
    graph: object


def kernel_slope(basis: MapBasis, gamma: float, n_neighbors: int) -> KernelSlope:
    """Return the slopes of a kernel of the form exp(−γ·distance)."""
    if basis.gram is None:
        raise ValueError("The slope by gamma needs the whole kernel: low_rank must be None.")

    def slope(K: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            # ∂ exp(-γD)/∂γ = -D K = K log K / γ
            return np.where(K > 0.0, K * np.log(K), 0.0) / gamma

    matrix = basis.V.T @ slope(basis.gram) @ basis.V
    columns, weights = basis.neighbours(n_neighbors)
    shares, change = row_shares(weights), slope(weights)
    total = weights.sum(axis=1, keepdims=True)
    # the quotient rule on rows of shares
    values = change / total - shares * change.sum(axis=1, keepdims=True) / total
    return KernelSlope(matrix, symmetric_graph(columns, values))


def map_gradient(
    system: SteeringSystem,
    constraints: MapConstraints,
    steering: Steering,
    solved: SteeredMap,
    slope: Floats,
    kernel: KernelSlope | None = None,
) -> dict[str, Floats | float]:
    """Return the derivatives of a loss by every hyper-parameter of a map.

    Parameters
    ----------
    system : SteeringSystem
        What solved the map.
    constraints, steering : MapConstraints, Steering
        Of the map; the variant is "variance".
    solved : SteeredMap
        The map.
    slope : ndarray of shape (n_samples, n_components)
        Derivative of the loss by the map.
    kernel : KernelSlope, default=None
        Where the derivative by γ is wanted too.

    Returns
    -------
    dict
        A number for each strength and "gamma"; an array, one entry a component, for "radius".
    """
    V, p = system.basis.V, system.basis.p
    z, alpha = solved.coordinates, solved.coordinates / p[:, None]
    bar = V.T @ slope
    out: dict = dict.fromkeys((*STRENGTHS, "lambda_orth", "gamma"), 0.0)
    out["radius"] = np.zeros(z.shape[1])
    for s in reversed(range(z.shape[1])):
        pieces = system.pieces(s, constraints, steering)
        adjoint, by_radius, by_hard, eta = _adjoint(
            system, constraints, steering, solved, s, bar[:, s]
        )
        for name, piece in zip(STRENGTHS, pieces):
            strength = getattr(steering, name)
            if strength > 0.0:
                # ∂(b − Sz)/∂λ of this piece, times λ
                pull = piece.rows.T @ (piece.weights * (piece.targets - piece.rows @ z[:, s]))
                pull += piece.b
                if piece.graph:
                    M = system.graph_matrix(steering.n_neighbors, steering.variant)
                    pull += piece.graph * (M @ z[:, s])
                # ∂S and ∂b by λ are S and b of the piece over λ
                out[name] += float(adjoint @ pull) / strength
        radius = float(solved.radii[s])
        out["radius"][s] = by_radius * radius
        if kernel is not None:
            # ∂S = −K⁻¹K′K⁻¹
            out["gamma"] += float((adjoint / p) @ kernel.matrix @ alpha[:, s])
            out["gamma"] += _by_graph(system, constraints, steering, s, adjoint, z[:, s], kernel)
            if isinstance(steering.radius, str):
                # R = √λ_s moves with γ: ∂λ_s = u_sᵀK′u_s
                grows = kernel.matrix[s, s] / (2.0 * np.sqrt(p[s]))
                out["gamma"] += float(by_radius * radius * grows)
        for t in range(s):
            if steering.orthogonality == "soft":
                inner, other = float(alpha[:, t] @ z[:, s]), float(adjoint @ alpha[:, t])
                out["lambda_orth"] -= inner * other
                to_alpha = -steering.lambda_orth * (inner * adjoint + other * z[:, s])
            else:
                to_alpha = eta[t] * adjoint - by_hard[t] * z[:, s]
            bar[:, t] += to_alpha / p  # α_t = K⁻¹z_t: back to the component before
            if kernel is not None:
                out["gamma"] -= float((to_alpha / p) @ kernel.matrix @ alpha[:, t])
    return out


def _adjoint(
    system: SteeringSystem,
    constraints: MapConstraints,
    steering: Steering,
    solved: SteeredMap,
    s: int,
    slope: Floats,
) -> tuple[Floats, float, Floats, Floats]:
    """Solve the bordered system; return its solution and the multipliers of orthogonality.

    All is scaled by √p, in which S is the identity plus something bounded.
    """
    p = system.basis.p
    root = np.sqrt(p)
    z, mu = solved.coordinates[:, s], float(solved.multipliers[s])
    before = solved.coordinates[:, :s] / p[:, None]
    terms = system.terms(s, constraints, steering)
    W = terms.W * root[:, None]
    S = (W * terms.weights) @ W.T
    if terms.graph:
        M = system.graph_matrix(steering.n_neighbors, steering.variant)
        S -= terms.graph * root[:, None] * M * root  # graph's part of S
    L = terms.L
    if steering.orthogonality == "soft":
        H = before * root[:, None]
        S += steering.lambda_orth * H @ H.T
    else:
        L = np.column_stack([before, L])
    S[np.diag_indices_from(S)] += 1.0 - mu * p  # √p (K⁻¹ - µ) √p = 1 - µp
    sides = np.column_stack([z, L]) * root[:, None]  # the borders of M: zᵀz = R² and Lᵀz = d
    zero = np.zeros((sides.shape[1], sides.shape[1]))
    matrix = np.block([[S, sides], [sides.T, zero]])
    # the adjoint of Section 2.7, solved as one bordered system
    answer = np.linalg.solve(matrix, np.append(root * slope, np.zeros(len(zero))))
    size = len(p)
    linear = root * (terms.W @ (terms.weights * terms.targets) + terms.b)
    held = S @ (z / root) - linear
    eta = np.linalg.lstsq(sides[:, 1:], held)[0]
    return root * answer[:size], float(answer[size]), answer[size + 1 :], eta


def _by_graph(
    system: SteeringSystem,
    constraints: MapConstraints,
    steering: Steering,
    s: int,
    adjoint: Floats,
    z: Floats,
    kernel: KernelSlope,
) -> float:
    """Return what γ does through the weights of the neighbour graph."""
    labels = {i: v[s] for i, v in constraints.labels.items() if v[s]}
    if not labels or steering.lambda_label == 0.0:
        return 0.0
    n, V = system.basis.n, system.basis.V
    y = np.zeros(n)
    y[list(labels)] = list(labels.values())
    free = (y == 0.0).astype(np.float64)
    quadratic, linear = label_strengths(steering, n, len(labels))
    left, right = V @ adjoint, V @ z
    change = kernel.graph @ right  # type: ignore[operator]
    back = kernel.graph @ left  # type: ignore[operator]
    spread = 0.5 * quadratic * float(left @ (free * change) + back @ (free * right))
    return spread + 0.5 * linear * float(back @ y)
