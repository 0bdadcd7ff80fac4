"""Dependence by the copula: kernel distance to independence, Hoeffding's Φ, Schweizer-Wolff.

Each is a distance of the empirical copula from the independence copula Π(u) = ∏uⱼ, so it
does not change when any variable is transformed monotonically.

References: Poczos, Ghahramani and Schneider (2012), "Copula-based kernel dependency
measures", ICML; Gaisser, Ruppert and Schmid (2010), "A multivariate version of Hoeffding's
Phi-square", Journal of Multivariate Analysis 101:2571-2586; Schweizer and Wolff (1981), "On
nonparametric measures of dependence for random variables", Annals of Statistics 9:879-885;
Wolff (1980), "N-dimensional measures of dependence", Stochastica 4:175-188; Kirshner and
Poczos (2008), "ICA and ISA using Schweizer-Wolff measure of dependence", ICML.
"""

from __future__ import annotations

from math import factorial, prod
from typing import Any, ClassVar

import numpy as np
from scipy.special import erf
from scipy.stats import qmc

from octavo.engine.kernels.pair_sums import PairKernel, self_sum
from octavo.engine.probability.copula import copula_at, grid_copula, pseudo_observations
from octavo.info.estimators import MutualInformationEstimator
from octavo.info.point_kernels import (
    KERNEL_CONSTRAINTS,
    make_kernel,
    not_constant,
    single_columns,
)

__all__ = [
    "CopulaKernelDependence",
    "HoeffdingPhi",
    "SchweizerWolffKappa",
    "SchweizerWolffSigma",
]

GRID_POINTS = 4_000_000  # of the unit cube, whatever its dimension
COARSEST_GRID = 16  # points an axis below which quasi-random points are better
RANDOM_POINTS = 4096


def uniform_embedding(U: np.ndarray, scale: float) -> np.ndarray:
    """Return E k(u, V) of the Gaussian kernel for V uniform on the cube, at the rows of U."""
    root = scale * np.sqrt(2.0)
    ends = erf((1.0 - U) / root) + erf(U / root)  # ∫₀¹ exp(-(u-v)²/2s²) dv
    return (scale * np.sqrt(np.pi / 2.0) * ends).prod(axis=1)


def uniform_norm(d: int, scale: float) -> float:
    """Return E k(V, V') of the Gaussian kernel for V and V' uniform on the d-cube."""
    tail = np.exp(-0.5 / scale**2)
    line = scale * np.sqrt(np.pi / 2.0) * erf(1.0 / (scale * np.sqrt(2.0)))
    # ∫∫ exp(-(u-v)²/2s²), the d-th power
    return float((2.0 * (line - scale**2 * (1.0 - tail))) ** d)


def squared_copula_discrepancy(U: np.ndarray, scale: float) -> float:
    """Return MMD² between the empirical copula and the uniform distribution.

    The uniform side is integrated in closed form instead of sampled.
    """
    n, d = U.shape
    within = self_sum(PairKernel("gaussian", scale), U) / n**2
    # |μ_n - μ|²
    return float(within - 2.0 * uniform_embedding(U, scale).mean() + uniform_norm(d, scale))


def hoeffding_constant(d: int) -> float:
    """Return h(d), which makes Φ² of comonotone variables 1; h(2) = 90."""
    halves = prod(i + 0.5 for i in range(d + 1))
    return 1.0 / (2.0 / ((d + 1) * (d + 2)) - factorial(d) / (2**d * halves) + 3.0**-d)


def corner_volumes(U: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return ∏ⱼ (1 − max(uⱼ, vⱼ)), the volume of the cube above both points."""
    volumes = np.ones((len(U), len(V)))
    for u, v in zip(U.T, V.T):
        volumes *= np.minimum.outer(1.0 - u, 1.0 - v)
    return volumes


def hoeffding_integral(U: np.ndarray) -> float:
    """Return ∫(Cₙ − Π)² over the unit cube for the empirical copula Cₙ, in closed form."""
    n, d = U.shape
    squares = self_sum(PairKernel("corner volumes", function=corner_volumes), U) / n**2  # ∫C_n²
    cross = 2.0 ** (1 - d) * (1.0 - U**2).prod(axis=1).mean()  # 2∫C_n Π
    return float(squares - cross + 3.0**-d)  # ∫Π² = 3^-d


def upper_integral(d: int) -> float:
    """Return ∫(M − Π) for M(u) = min u, the copula of comonotone variables."""
    return 1.0 / (d + 1) - 2.0**-d


def upper_maximum(d: int) -> float:
    """Return max(M − Π) for M(u) = min u; at u = d^(−1/(d−1)) on the diagonal."""
    return (d - 1) * d ** (-d / (d - 1))


def grid_size(n: int, d: int) -> int:
    """Return the points an axis at which n points of the d-cube are compared; 0 for random."""
    size = min(n, int(GRID_POINTS ** (1.0 / d) + 1e-9))
    return size if size >= min(n, COARSEST_GRID) else 0


def grid_products(d: int, size: int) -> np.ndarray:
    """Return Π at the points (i₁, …, i_d) / size."""
    axis = np.arange(1, size + 1) / size
    products = axis
    for _ in range(d - 1):
        products = np.multiply.outer(products, axis)
    return products


def grid_minima(d: int, size: int) -> np.ndarray:
    """Return M at the points (i₁, …, i_d) / size."""
    axis = np.arange(1, size + 1) / size
    minima = axis
    for _ in range(d - 1):
        minima = np.minimum.outer(minima, axis)
    return minima


def schweizer_wolff(U: np.ndarray, norm: str = "l1") -> float:
    """Return the L₁ (σ) or L∞ (κ) distance of the empirical copula from Π, 1 if comonotone.

    Parameters
    ----------
    U : ndarray of shape (n_samples, n_features)
        Pseudo-observations.
    norm : {"l1", "linf"}, default="l1"
        The mean (Schweizer and Wolff's σ) or the largest (κ) absolute difference.

    Returns
    -------
    float
        The distance over that of comonotone variables: on the n × … × n grid where that has
        at most four million points, on a coarser grid, or above five variables at 4096
        quasi-random points.
    """
    n, d = U.shape
    size = grid_size(n, d)
    if size:
        gap = np.abs(grid_copula(U, size) - grid_products(d, size))
        most = grid_minima(d, size) - grid_products(d, size)
    else:
        points = qmc.Sobol(d, scramble=False).random(RANDOM_POINTS)
        gap = np.abs(copula_at(U, points) - points.prod(axis=1))  # |C_n - Π|
        most = points.min(axis=1) - points.prod(axis=1)
    if norm == "l1":
        return float(gap.sum() / most.sum())
    return float(gap.max() / upper_maximum(d))


def block_ranks(blocks: list[np.ndarray], name: str) -> np.ndarray:
    """Return the pseudo-observations of groups of one variable each."""
    return pseudo_observations(not_constant(single_columns(blocks, name), name))


class CopulaKernelDependence(MutualInformationEstimator):
    """Kernel distance (MMD) of the empirical copula from the uniform distribution.

    Zero for independent variables, whatever their distributions, and unchanged by monotone
    transforms. The uniform side is integrated in closed form, so the estimate is not random.
    It is biased up by O(N^(−1/2)) near independence. For groups of several variables use
    `HSIC`.

    Parameters
    ----------
    bandwidth : float or "median", default="median"
        Standard deviation of the Gaussian kernel on the unit cube: a number, or the median
        distance of two points of the empirical copula.
    squared : bool, default=False
        Return MMD² instead of MMD.

    References
    ----------
    .. [1] Póczos, Ghahramani and Schneider (2012). Copula-based kernel dependency measures. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import CopulaKernelDependence
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 1000))
    >>> estimate = CopulaKernelDependence(bandwidth=0.2).estimate
    >>> print(f"{estimate(x, x**2):.3f} {estimate(x, noise):.3f}")
    0.236 0.018
    """

    measure, method = "copula_kernel", "mmd"
    estimates = "MMD(copula, uniform)"
    cost = "O(N² d)"
    assumptions = "i.i.d.; one continuous variable a group"
    dimensions = (1,)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "bandwidth": KERNEL_CONSTRAINTS["bandwidth"],
        "squared": ["boolean"],
    }

    def __init__(self, bandwidth="median", squared=False):
        self.bandwidth = bandwidth
        self.squared = squared

    def _estimate(self, blocks):
        U = block_ranks(blocks, "CopulaKernelDependence")
        scale = make_kernel("gaussian", self.bandwidth, U).scale
        square = max(squared_copula_discrepancy(U, scale), 0.0)  # a norm, up to rounding
        return square if self.squared else np.sqrt(square)


class HoeffdingPhi(MutualInformationEstimator):
    """Hoeffding's Φ for any number of variables: the L₂ distance of copula and independence.

    √(h(d) ∫(C − Π)²): 0 for independent and 1 for comonotone variables, up to O(1/N), and unchanged
    by monotone transforms. Biased up by O(N^(−1/2)) near independence.

    Parameters
    ----------
    squared : bool, default=False
        Return Φ² instead of Φ.
    mult : bool, default=True
        Whether to divide by the value of comonotone variables, which depends on the number of
        variables alone.

    References
    ----------
    .. [1] Gaißer, Ruppert and Schmid (2010). A multivariate version of Hoeffding's Phi-square.
       Journal of Multivariate Analysis 101:2571-2586.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import HoeffdingPhi
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 1000))
    >>> print(f"{HoeffdingPhi().estimate(x, x + noise):.2f}")
    0.64
    """

    measure, method = "hoeffding_phi", "copula"
    estimates = "√(h(d) ∫ (C - Π)²), C the copula, Π independence"
    cost = "O(N² d)"
    assumptions = "i.i.d.; one continuous variable a group"
    dimensions = (1,)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "squared": ["boolean"],
        "mult": ["boolean"],
    }

    def __init__(self, squared=False, mult=True):
        self.squared = squared
        self.mult = mult

    def _estimate(self, blocks):
        U = block_ranks(blocks, "HoeffdingPhi")
        constant = hoeffding_constant(U.shape[1]) if self.mult else 1.0
        square = max(constant * hoeffding_integral(U), 0.0)
        return square if self.squared else np.sqrt(square)


class SchweizerWolffSigma(MutualInformationEstimator):
    """Schweizer and Wolff's σ: the L₁ distance of copula and independence.

    0 for independent and 1 for comonotone variables, unchanged by monotone transforms; for
    variables that are positively dependent everywhere it equals Spearman's ρ. Biased up by
    O(N^(−1/2)) near independence. On a grid up to five variables, at quasi-random points above.

    Parameters
    ----------
    mult : bool, default=True
        Whether to divide by the value of comonotone variables, which depends on the number of
        variables alone.

    References
    ----------
    .. [1] Schweizer and Wolff (1981). On nonparametric measures of dependence for random
       variables. Annals of Statistics 9:879-885.
    .. [2] Kirshner and Póczos (2008). ICA and ISA using Schweizer-Wolff measure of dependence.
       ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import SchweizerWolffSigma
    >>> cov = [[1, 0.5], [0.5, 1]]  # (6/π) asin(1/4) = 0.483
    >>> X = np.random.default_rng(0).multivariate_normal([0, 0], cov, size=1000)
    >>> print(f"{SchweizerWolffSigma().estimate(X):.2f}")
    0.51
    """

    measure, method = "schweizer_wolff_sigma", "copula"
    estimates = "∫ |C - Π| / ∫ (M - Π), M comonotone"
    cost = "O(N²) for two variables, at most 4·10⁶ points for more"
    assumptions = "i.i.d.; one continuous variable a group"
    dimensions = (1,)
    _parameter_constraints: ClassVar[dict[str, Any]] = {"mult": ["boolean"]}

    def __init__(self, mult=True):
        self.mult = mult

    def _estimate(self, blocks):
        U = block_ranks(blocks, "SchweizerWolffSigma")
        return schweizer_wolff(U, "l1") * (1.0 if self.mult else upper_integral(U.shape[1]))


class SchweizerWolffKappa(MutualInformationEstimator):
    """Schweizer and Wolff's κ: the largest difference of copula and independence.

    0 for independent and 1 for comonotone variables, unchanged by monotone transforms. A
    maximum of a noisy function and so biased up, for normal variables by two standard errors at
    N = 1000, and slowly less; prefer σ or Φ where the size counts. On a grid up to five variables,
    at quasi-random points above.

    Parameters
    ----------
    mult : bool, default=True
        Whether to divide by the value of comonotone variables, which depends on the number of
        variables alone.

    References
    ----------
    .. [1] Schweizer and Wolff (1981). On nonparametric measures of dependence for random
       variables. Annals of Statistics 9:879-885.
    .. [2] Kirshner and Póczos (2008). ICA and ISA using Schweizer-Wolff measure of dependence.
       ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import SchweizerWolffKappa
    >>> cov = [[1, 0.5], [0.5, 1]]  # (2/π) asin(1/2) = 0.333
    >>> X = np.random.default_rng(0).multivariate_normal([0, 0], cov, size=1000)
    >>> print(f"{SchweizerWolffKappa().estimate(X):.2f}")
    0.41
    """

    measure, method = "schweizer_wolff_kappa", "copula"
    estimates = "max |C - Π| / max (M - Π), M comonotone"
    cost = "O(N²) for two variables, at most 4·10⁶ points for more"
    assumptions = "i.i.d.; one continuous variable a group"
    dimensions = (1,)
    _parameter_constraints: ClassVar[dict[str, Any]] = {"mult": ["boolean"]}

    def __init__(self, mult=True):
        self.mult = mult

    def bias_order(self, n):
        """Return 4n^(−2/3), what the maximum of a noisy function gains where it is flat.

        Noise that grows with the root of the distance from the top wins against the top's
        parabola within n^(−1/3) of it. The 4 is the constant of two variables.

        Parameters
        ----------
        n : int
            The size of the sample.

        Returns
        -------
        order : float
            The order of the bias.
        """
        return 4.0 * n ** (-2.0 / 3.0)

    def _estimate(self, blocks):
        U = block_ranks(blocks, "SchweizerWolffKappa")
        return schweizer_wolff(U, "linf") * (1.0 if self.mult else upper_maximum(U.shape[1]))
