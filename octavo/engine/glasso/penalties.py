"""Penalties that tie K networks together, as `joint` needs them.

Edge penalties act on one entry of the K matrices at a time and have a proximal map that takes
the l1 penalty in: `SeparateEdges`, `FusedEdges`, `GroupedEdges`. Node penalties are row-column
overlap norms Ω_q, the least Σ_j ‖V_j‖_q with V + Vᵀ the matrix penalised: `PerturbedNodes` (of the
differences of each pair) and `CohubNodes` (of all matrices together, without their diagonals).

Reference: Mohan, London, Fazel, Witten and Lee (2014), "Node-based learning of multiple Gaussian
graphical models", JMLR 15:445-488, sections 2.2 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import ClassVar, Self

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.proximal.groups import (
    column_norms,
    dual_exponent,
    fuse,
    scale_into_balls,
    shrink_columns,
    shrink_scaled_columns,
    shrink_together,
    soft_threshold,
    soft_threshold_tied,
)


def transposed(A: Floats) -> Floats:
    """Return the transposes of stacked matrices."""
    return A.swapaxes(-1, -2)


def without_diagonals(A: Floats) -> Floats:
    """Return a copy of stacked matrices with zero diagonals."""
    A = A.copy()
    i = np.arange(A.shape[-1])
    A[..., i, i] = 0.0
    return A


# --- penalties on edges ---------------------------------------------------------------------------


@dataclass(frozen=True)
class SeparateEdges:
    """No tie between the networks: K graphical lassos."""

    def prox(self, A: Floats, weights: Floats, step: float) -> Floats:
        """Return the proximal map of step times the l1 penalty and this one."""
        return soft_threshold(A, weights * step)

    def value(self, Theta: Floats) -> float:
        """Return the penalty, without the l1 part."""
        return 0.0

    def restrict(self, block: Indices) -> Self:
        """Return the penalty on some of the variables."""
        return self

    def scaled(self, factor: float) -> Self:
        """Return a multiple of the penalty."""
        return self

    def in_units(self, units: Floats) -> Self:
        """Return the penalty as a function of Φ = DΘD, D the diagonal of `units`."""
        return self

    def ties_diagonals(self) -> bool:
        """Tell whether the diagonals of different networks are tied."""
        return False


@dataclass(frozen=True)
class FusedEdges:
    """Σ_ij f_ij Σ_{k<l} |Θ^k_ij − Θ^l_ij|, equation (3); `lam` holds the f_ij."""

    lam: Floats

    def prox(self, A: Floats, weights: Floats, step: float) -> Floats:
        """Return the proximal map of step times the l1 penalty and this one."""
        return fuse(A, weights * step, self.lam * step)

    def value(self, Theta: Floats) -> float:
        """Return the penalty, without the l1 part."""
        pairs = combinations(range(len(Theta)), 2)
        return float(sum((self.lam * np.abs(Theta[k] - Theta[l])).sum() for k, l in pairs))

    def restrict(self, block: Indices) -> Self:
        """Return the penalty on some of the variables."""
        return replace(self, lam=self.lam[np.ix_(block, block)])

    def scaled(self, factor: float) -> Self:
        """Return a multiple of the penalty."""
        return replace(self, lam=self.lam * factor)

    def in_units(self, units: Floats) -> Self:
        """Return the penalty as a function of Φ = DΘD, D the diagonal of `units`."""
        return replace(self, lam=self.lam / units[:, None] / units)

    def ties_diagonals(self) -> bool:
        """Tell whether the diagonals of different networks are tied."""
        return bool(np.diagonal(self.lam).any())


@dataclass(frozen=True)
class GroupedEdges:
    """Σ_ij g_ij ‖(Θ^1_ij, …, Θ^K_ij)‖₂, equation (4); `lam` holds the g_ij."""

    lam: Floats

    def prox(self, A: Floats, weights: Floats, step: float) -> Floats:
        """Return the proximal map of step times the l1 penalty and this one."""
        return shrink_together(A, weights * step, self.lam * step)

    def value(self, Theta: Floats) -> float:
        """Return the penalty, without the l1 part."""
        return float((self.lam * np.sqrt((Theta**2).sum(axis=0))).sum())

    def restrict(self, block: Indices) -> Self:
        """Return the penalty on some of the variables."""
        return replace(self, lam=self.lam[np.ix_(block, block)])

    def scaled(self, factor: float) -> Self:
        """Return a multiple of the penalty."""
        return replace(self, lam=self.lam * factor)

    def in_units(self, units: Floats) -> Self:
        """Return the penalty as a function of Φ = DΘD, D the diagonal of `units`."""
        return replace(self, lam=self.lam / units[:, None] / units)

    def ties_diagonals(self) -> bool:
        """Tell whether the diagonals of different networks are tied."""
        return bool(np.diagonal(self.lam).any())


# --- penalties on nodes ---------------------------------------------------------------------------


@lru_cache(maxsize=64)
def pair_indices(n_networks: int) -> tuple[Indices, Indices]:
    """Return the first and the second of each pair k < l, in lexicographic order."""
    first, second = np.triu_indices(n_networks, 1)
    return first, second


@dataclass(frozen=True)
class OverlapNodes:
    """What penalties lam Ω_q on nodes share; subclasses say which matrices are penalised.

    ``units``, None for ones, are the d of variables in whose units Φ = DΘD the solver works: V is
    then DVD of the V that is penalised, whose columns are V_j / (d d_j).
    """

    lam: float
    q: float
    units: Floats | None = None
    stiffness: ClassVar[float]
    joins_networks: ClassVar[bool]  # whether a group spans the columns of all networks

    def targets(self, Theta: Floats) -> Floats:
        """Return the matrices whose overlap norms are penalised."""
        raise NotImplementedError

    def groups(self, V: Floats) -> Floats:
        """Return V so that axis -2 runs over the members of each group."""
        raise NotImplementedError

    def shrink(self, A: Floats, step: float) -> Floats:
        """Return T_q of the groups, in the units of the solver."""
        if self.units is None:
            return shrink_columns(A, self.lam * step, self.q)
        rows = np.tile(self.units, A.shape[-2] // len(self.units))
        return shrink_scaled_columns(A, self.lam * step / self.units, rows, self.q)

    def in_own_units(self, V: Floats) -> Floats:
        """Return V as it is penalised, from the V of the solver."""
        return V if self.units is None else V / self.units[:, None] / self.units

    def into_dual_ball(self, G: Floats) -> Floats:
        """Return symmetric G, multipliers of Φ, reduced so that those of Θ, DGD, are feasible.

        In the units of the solver a column is projected, which reduces most what matters least
        there. Of an entry that two columns reduce the smaller result is kept.
        """
        if self.units is None:
            s = dual_exponent(self.q)
            own = G if self.joins_networks else G[:, None]
            return scale_into_balls(own, self.lam, s).reshape(G.shape)
        # what is left lies in the ball of the dual norm
        projected = G - self.shrink(self.groups(G), 1.0).reshape(G.shape)  # Moreau
        return np.sign(G) * np.minimum(np.abs(projected), np.abs(transposed(projected)))

    def value(self, Theta: Floats, V: Floats) -> float:
        """Return the penalty of the decomposition of Θ nearest to V: an upper bound."""
        V = self.in_own_units(self.decompose(Theta, V))
        return self.lam * float(column_norms(self.groups(V), self.q).sum())

    def decompose(self, Theta: Floats, V: Floats) -> Floats:
        """Return the V nearest to the one given with V + Vᵀ exactly what is penalised."""
        # symmetric part from the target, skew part from V
        return V + (self.targets(Theta) - V - transposed(V)) / 2.0

    def restrict(self, block: Indices) -> Self:
        """Return the penalty on some of the variables."""
        return self if self.units is None else replace(self, units=self.units[block])

    def scaled(self, factor: float) -> Self:
        """Return a multiple of the penalty."""
        return replace(self, lam=self.lam * factor)

    def in_units(self, units: Floats) -> Self:
        """Return the penalty as a function of Φ = DΘD, D the diagonal of `units`."""
        common = float(np.median(units))  # V_j / (d d_j) has it squared: it goes to lam
        own = units / common if self.units is None else self.units * (units / common)
        kept = None if (own == 1.0).all() else own
        return replace(self, lam=self.lam / common / common, units=kept)


@dataclass(frozen=True)
class PerturbedNodes(OverlapNodes):
    """lam Σ_{k<l} Ω_q(Θ^k − Θ^l), equation (6). One V a pair, its columns are the groups.

    ``stiffness`` is the penalty parameter of V = U relative to that of Θ = T; 1 took the fewest
    iterations among 0.1, 0.3, 1, 3 and 10 on simulated networks.
    """

    stiffness: ClassVar[float] = 1.0
    joins_networks: ClassVar[bool] = False

    def targets(self, Theta: Floats) -> Floats:
        """Return the matrices whose overlap norms are penalised."""
        first, second = pair_indices(len(Theta))
        return Theta[first] - Theta[second]  # the arguments of Ω_q in Eq. (6)

    def spread(self, G: Floats, n_networks: int) -> Floats:
        """Return the adjoint of `targets`."""
        out = np.zeros((n_networks, *G.shape[1:]))
        for part, k, other in zip(G, *pair_indices(n_networks)):
            out[k] += part
            out[other] -= part
        return out

    def column_prox(self, A: Floats, step: float) -> Floats:
        """Return T_q of every V."""
        return self.shrink(A, step)

    def meet(self, A: Floats, C: Floats, thresholds: Floats) -> tuple[Floats, Floats]:
        """Return (T, U), T^k − T^l = U + Uᵀ, that minimise ½‖T − A‖² + (g/2)‖U − C‖² + Σ w |T|.

        U = (T^k − T^l)/2 + (C − Cᵀ)/2, and with it each entry of the T has the quadratic
        ½ tᵀMt − rᵀt, M = (1 + gK/4) I − (g/4) 11ᵀ and r = A ± (g/4)(C + Cᵀ), g the stiffness.
        """
        K, quarter = len(A), self.stiffness / 4.0
        # U is gone: ‖U - C‖² leaves ‖T^k - T^l - C - Cᵀ‖² / 4.
        R = A + self.spread(quarter * (C + transposed(C)), K)
        T = soft_threshold_tied(R, thresholds, 1.0 + K * quarter, quarter)
        # what U + Uᵀ leaves free is the skew part
        return T, self.targets(T) / 2.0 + (C - transposed(C)) / 2.0

    def groups(self, V: Floats) -> Floats:
        """Return V so that axis -2 runs over the members of each group."""
        return V

    def feasible(self, G: Floats) -> Floats:
        """Return symmetric G scaled so that ‖G_j‖_s ≤ lam for every column."""
        return self.into_dual_ball(G)

    def ties_diagonals(self) -> bool:
        """Tell whether the diagonals of different networks are tied."""
        return self.lam > 0


@dataclass(frozen=True)
class CohubNodes(OverlapNodes):
    """lam Ω_q(offdiag Θ^1, …, offdiag Θ^K), equation (7). One V a network, stacked columns.

    ``stiffness`` is as in `PerturbedNodes`; 3 took the fewest iterations here.
    """

    stiffness: ClassVar[float] = 3.0
    joins_networks: ClassVar[bool] = True

    def targets(self, Theta: Floats) -> Floats:
        """Return the matrices whose joint overlap norm is penalised."""
        return without_diagonals(Theta)  # the arguments of Ω_q in Eq. (7)

    def spread(self, G: Floats, n_networks: int) -> Floats:
        """Return the adjoint of `targets`."""
        return without_diagonals(G)

    def column_prox(self, A: Floats, step: float) -> Floats:
        """Return T_q of the stacked V, whose diagonals are zero."""
        A = without_diagonals(A)
        return self.shrink(self.groups(A), step).reshape(A.shape)

    def meet(self, A: Floats, C: Floats, thresholds: Floats) -> tuple[Floats, Floats]:
        """Return (T, U), offdiag T = U + Uᵀ, that minimise ½‖T − A‖² + (g/2)‖U − C‖² + Σ w |T|.

        Off the diagonal (1 + g/4) T = soft(A + (g/4)(C + Cᵀ), w); on it T = soft(A, w).
        """
        quarter = self.stiffness / 4.0
        T = soft_threshold(A + quarter * (C + transposed(C)), thresholds) / (1.0 + quarter)
        i = np.arange(T.shape[-1])
        T[:, i, i] = soft_threshold(A[:, i, i], thresholds[:, i, i])
        return T, without_diagonals(T / 2.0 + (C - transposed(C)) / 2.0)

    def groups(self, V: Floats) -> Floats:
        """Return V so that axis -2 runs over the members of each group."""
        return V.reshape(-1, V.shape[-1])

    def feasible(self, G: Floats) -> Floats:
        """Return symmetric G scaled so that the stacked columns have ‖G_j‖_s ≤ lam."""
        return self.into_dual_ball(without_diagonals(G))

    def ties_diagonals(self) -> bool:
        """Tell whether the diagonals of different networks are tied."""
        return False


EdgePenalty = SeparateEdges | FusedEdges | GroupedEdges
NodePenalty = PerturbedNodes | CohubNodes
NetworkPenalty = EdgePenalty | NodePenalty
