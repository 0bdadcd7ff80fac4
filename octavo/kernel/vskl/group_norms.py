"""The norm across groups of kernels: its penalty, its dual, and the weights that answer it.

With g_j = Σ_k ||w_jk|| the l1 norm within group j, the penalty is ½ (Σ_j g_j^2q)^(1/q), which at
q = ∞ is ½ max_j g_j² (Eq. 1). It is half the square of a norm for every q ≥ ½: above 1 it keeps
all groups alive (variable sparsity kernel learning), below 1 it drops groups (composite kernel
learning), at 1 every group counts by itself, at ½ groups do not matter.

A machine on Σ_j ω_j Σ_k λ_jk K_jk with dual variables a has ||w_jk|| = ω_j λ_jk √s_jk, where
s_jk = a'K_jk a. The weights ω_j of the groups are 1/γ_j for q ≥ 1 and γ_j below.

Reference: J. Aflalo, A. Ben-Tal, C. Bhattacharyya, J. Saketha Nath and S. Raman (2011), "Variable
Sparsity Kernel Learning", Journal of Machine Learning Research 12, Section 2; M. Szafranski, Y.
Grandvalet and A. Rakotomamonjy (2008), "Composite kernel learning", ICML.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.kernel.mkl.weight_norms import power_norm

LEAST = 1e-8  # of a group's form, relative to the largest: 1/γ would spoil the sum of kernels


class GroupNorm:
    """½ (Σ_j g_j^2q)^(1/q), q from ½ to infinity.

    Parameters
    ----------
    q : float
        Half the norm's exponent.
    least : float, default=1e-8
        What forms count as at least, relative to the largest. At q = ∞ a group that is not among
        the longest has γ = 0, an infinite weight; the root of this is where γ ends instead.
    """

    def __init__(self, q: float, least: float = LEAST) -> None:
        self.q, self.least = float(q), least
        # Both exponents are those of Lemma 2.2 with r = q*: r/(r+1) = q/(2q-1), 1/(r+1) its rest.
        self.dual_exponent = 0.5 if q == np.inf else np.inf if q == 0.5 else q / (2.0 * q - 1.0)

    def penalty(self, lengths: Floats) -> float:
        """Return the penalty of groups with Σ_k ||w_jk|| = lengths (Eq. 1)."""
        return 0.5 * power_norm(lengths, 2.0 * self.q) ** 2  # Eq. (1)

    def within(self, squares: Floats) -> float:
        """Return the penalty where λ is fixed and Σ_k ||w_jk||²/λ_jk = squares."""
        return 0.5 * power_norm(squares, self.q)

    def dual(self, forms: Floats) -> float:
        """Return ½ (Σ_j D_j^r)^(1/r), r = q/(2q-1): what forms D_j take from the dual objective.

        With D_j = Σ_k λ_jk s_jk it is the least ½ Σ_j D_j/γ_j of Lemma 2.2; with max_k s_jk, the
        largest that λ can make of it.
        """
        return 0.5 * power_norm(forms, self.dual_exponent)

    def start(self, n_groups: int) -> Floats:
        """Return ω that favours no group: γ_j equal, on the boundary of its set."""
        if self.q == 1.0 or n_groups == 1:
            return np.ones(n_groups)
        # Σ γ^q* = 1 above q = 1, Σ γ^p = 1 with p = q/(1-q) below; γ divides, or multiplies
        share = 1.0 if self.q == np.inf else (self.q - 1.0) / self.q
        return np.full(n_groups, float(n_groups) ** share)

    def respond(self, omega: Floats, forms: Floats) -> Floats:
        """Return the ω that is best for a solution with forms D_j that was found at ω.

        Above q = 1 it depends on D alone and raises the dual objective (Proposition 3.3); below 1
        it is the closed form of composite kernel learning, which lowers the primal one.
        """
        q, top = self.q, float(forms.max(initial=0.0))
        if q == 1.0 or len(forms) == 1 or top <= 0.0:
            return omega
        if q < 1.0:
            # γ_j = g_j^(2/(p+1)) / (Σ g^(2p/(p+1)))^(1/p), p = q/(1-q), g_j² = ω_j² D_j
            squares = omega**2 * forms
            shape = np.maximum(squares / squares.max(), self.least) ** (1.0 - q)
            return shape / power_norm(shape, q / (1.0 - q))
        # Proposition 3.3: γ_j = D_j^(1/(q*+1)) / (Σ D_l^(q*/(q*+1)))^(1/q*)
        inner = 0.5 if q == np.inf else (q - 1.0) / (2.0 * q - 1.0)
        shape = np.maximum(forms / top, self.least) ** inner
        conjugate = 1.0 if q == np.inf else q / (q - 1.0)
        # 1/γ_j, the weight of a group in the effective kernel
        return power_norm(shape, conjugate) / shape

    def gamma(self, omega: Floats) -> Floats:
        """Return γ, which divides above q = 1 and multiplies below."""
        return omega if self.q < 1.0 else 1.0 / omega
