"""Where the rows of a kernel come from, and how its parameters are proposed.

`FixedKernel` holds a matrix. `WidthKernel` is exp(-Σ_l (x_l - x'_l)² / θ_l²) whose widths are
drawn, one for all features or one per feature, uniform between bounds. `WeightedKernels` is
Σ_l g_l² K_l whose g_l are exactly zero with some prior probability.

Reference: Sections 3.2 (θ) and 6.1 (g_l) of Z. Zhang, G. Dai and M. I. Jordan (2011), "Bayesian
Generalized Kernel Mixed Models", Journal of Machine Learning Research 12.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.kernels.gram import Kernel
from octavo.engine.mcmc.metropolis import AdaptiveScale

NOTHING = np.empty((0, 0))
IN_MEMORY = 5_000  # rows up to which a whole kernel matrix is kept
WITH_PRODUCTS = 3_000  # rows up to which its square is kept too
WIDTH_BOUNDS = (0.01, 10.0)  # of the prior, in multiples of the first width
FIRST_STEP = math.sqrt(0.2)  # Section 3.2: a proposal of variance 0.2
PER_SWEEP = 5  # with one width per feature, a fifth of them is proposed in a sweep


class Proposal(NamedTuple):
    """Other parameters of a kernel.

    Attributes
    ----------
    parameters : ndarray
        All of them, the changed one included.
    log_ratio : float
        Log of prior ratio times proposal ratio.
    scale : AdaptiveScale or None
        What has to be told whether it was accepted.
    """

    parameters: Floats
    log_ratio: float
    scale: AdaptiveScale | None


def rbf_block(A: Floats, B: Floats, widths: Floats) -> Floats:
    """Return exp(-Σ_l (a_l - b_l)² / θ_l²) for rows of A and of B."""
    if A is B:
        A = B = A / widths
    else:
        A, B = A / widths, B / widths
    return Kernel("rbf", gamma=1.0).block(A, B)  # θ² alone below the square: no factor 2


def mean_distance(X: Floats) -> float:
    """Return the mean Euclidean distance of distinct rows (Section 5.1), one where all are equal.

    Above 5,000 rows it is taken over 5,000 of them, evenly spaced.
    """
    from scipy.spatial.distance import pdist

    n = X.shape[0]
    rows = X if n <= IN_MEMORY else X[np.linspace(0, n - 1, IN_MEMORY).astype(np.intp)]
    distance = float(pdist(rows).mean()) if n > 1 else 0.0
    return distance if distance > 0.0 and math.isfinite(distance) else 1.0


class FixedKernel:
    """A kernel matrix that never changes.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        The matrix.
    """

    def __init__(self, K: Floats) -> None:
        self.K = np.ascontiguousarray(K)
        self.n_samples = K.shape[0]
        self.products = self.K @ self.K if len(K) <= WITH_PRODUCTS else NOTHING
        self.parameters = np.empty(0)
        self.mean_diagonal = float(np.diagonal(K).mean())

    def rows(self, which: Indices, parameters: Any = None) -> Floats:
        """Return rows of the kernel matrix."""
        return self.K[which]

    def row(self, j: int) -> Floats:
        """Return one row, with the parameters as they are."""
        return self.K[j]

    def proposals(self, rng: np.random.Generator) -> int:
        """Return how many proposals a sweep makes."""
        return 0

    def propose(self, rng: np.random.Generator) -> Proposal | None:
        """Return nothing: there is nothing to draw."""
        return None

    def accept(self, parameters: Floats) -> None:
        """Do nothing."""

    def freeze(self) -> None:
        """Do nothing."""

    def acceptance(self) -> dict[str, float]:
        """Return no rates."""
        return {}


class WidthKernel(FixedKernel):
    """The Gaussian kernel with widths that are drawn.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Samples.
    width : float
        The first width, of all features.
    ard : bool
        Whether every feature has its own.
    fixed : bool
        Whether widths stay; then the kernel is computed when it is needed, and never kept.
    """

    def __init__(self, X: Floats, width: float, *, ard: bool, fixed: bool = False) -> None:
        self.X = np.ascontiguousarray(X)
        self.n_samples = X.shape[0]
        self.K = self.products = NOTHING
        self.mean_diagonal = 1.0
        self.fixed = fixed
        self.low, self.high = (factor * width for factor in WIDTH_BOUNDS)
        first = np.full(X.shape[1] if ard else 1, width)
        # A step of the paper's size on standardised inputs, and of that share of other widths.
        self.scales = [AdaptiveScale(FIRST_STEP * min(1.0, width)) for _ in first]
        self.accept(first)

    def rows(self, which: Indices, parameters: Any = None) -> Floats:
        """Return rows of the kernel matrix, with other widths if they are given."""
        widths = self.parameters if parameters is None else parameters
        return rbf_block(self.X[which], self.X, widths)

    def row(self, j: int) -> Floats:
        """Return one row, with the widths as they are."""
        gaps = self.scaled - self.scaled[j]
        return np.exp(-np.einsum("il,il->i", gaps, gaps))

    def proposals(self, rng: np.random.Generator) -> int:
        """Return how many widths a sweep proposes."""
        return 0 if self.fixed else -(-len(self.parameters) // PER_SWEEP)

    def propose(self, rng: np.random.Generator) -> Proposal | None:
        """Propose another width of one feature; None where it lies outside the prior."""
        l = int(rng.integers(len(self.parameters)))
        other = self.parameters.copy()
        other[l] += self.scales[l].scale * rng.standard_normal()  # Section 3.2: a normal step
        if not self.low <= other[l] <= self.high:
            self.scales[l].record(False)
            return None
        return Proposal(other, 0.0, self.scales[l])

    def accept(self, parameters: Floats) -> None:
        """Take other widths."""
        self.parameters = parameters
        self.scaled = self.X / parameters

    def freeze(self) -> None:
        """End the adaptation of the steps."""
        for scale in self.scales:
            scale.freeze()

    def acceptance(self) -> dict[str, float]:
        """Return the rate of acceptance of widths."""
        seen = sum(scale.n_seen for scale in self.scales)
        done = sum(scale.n_accepted for scale in self.scales)
        return {} if self.fixed else {"width": done / seen if seen else math.nan}


class WeightedKernels(FixedKernel):
    """A sum of kernels whose weights are drawn from a spike at zero and a slab.

    The kernel is Σ_l g_l² K_l, which is the covariance of Σ_l g_l K_l β_l with β_l ~ N(0, K_l⁻¹).
    The slab of g_l is Ga(a/2, b/2) and its spike has probability ρ; one weight is positive.

    Parameters
    ----------
    kernels : ndarray of shape (n_kernels, n_samples, n_samples)
        The matrices.
    spike : float
        The paper's ρ.
    a, b : float
        Of the slab.
    """

    def __init__(self, kernels: Floats, spike: float, a: float, b: float) -> None:
        self.kernels, self.spike, self.a, self.b = kernels, spike, a, b
        self.n_samples = kernels.shape[1]
        self.products = NOTHING
        self.mean_diagonal = float(np.mean(np.diagonal(kernels, axis1=1, axis2=2)))
        self.scales = [AdaptiveScale(0.5) for _ in kernels]
        self.accept(np.full(len(kernels), a / b))

    def combine(self, weights: Floats) -> Floats:
        """Return Σ_l g_l² K_l."""
        return np.tensordot(np.square(weights), self.kernels, 1)

    def rows(self, which: Indices, parameters: Any = None) -> Floats:
        """Return rows of the combined kernel, with other weights if they are given."""
        if parameters is None:
            return self.K[which]
        return np.tensordot(np.square(parameters), self.kernels[:, which], 1)

    def proposals(self, rng: np.random.Generator) -> int:
        """Return how many weights a sweep proposes."""
        return len(self.parameters)

    def propose(self, rng: np.random.Generator) -> Proposal | None:
        """Propose to switch a kernel on or off, or another weight of one that is on."""
        l = int(rng.integers(len(self.parameters)))
        other, now = self.parameters.copy(), self.parameters[l]
        if rng.random() < 0.5:  # a switch; a weight that is switched on comes from the slab itself
            if now > 0.0:
                if np.count_nonzero(other) == 1:
                    return None
                other[l] = 0.0
                # prior odds of off and on; the slab's density cancels with the proposal's
                return Proposal(other, math.log(self.spike / (1.0 - self.spike)), None)
            other[l] = rng.gamma(0.5 * self.a, 2.0 / self.b)
            if not other[l] > 0.0:
                return None
            return Proposal(other, math.log((1.0 - self.spike) / self.spike), None)
        if now == 0.0:
            return None
        step = self.scales[l].scale * rng.standard_normal()  # of log g_l: Jacobian g*/g
        other[l] = now * math.exp(step)
        # the slab's gamma law, times the Jacobian
        return Proposal(
            other, 0.5 * self.a * step - 0.5 * self.b * (other[l] - now), self.scales[l]
        )

    def accept(self, parameters: Floats) -> None:
        """Take other weights."""
        self.parameters = parameters
        self.K = self.combine(parameters)

    def freeze(self) -> None:
        """End the adaptation of the steps."""
        for scale in self.scales:
            scale.freeze()

    def acceptance(self) -> dict[str, float]:
        """Return the rate of acceptance of walks of positive weights."""
        seen = sum(scale.n_seen for scale in self.scales)
        done = sum(scale.n_accepted for scale in self.scales)
        return {"weight": done / seen if seen else math.nan}
