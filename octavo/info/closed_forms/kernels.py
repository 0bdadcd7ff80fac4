"""True values of kernel, distance, copula and correntropy quantities of normal variables.

Expected Gaussian kernels are Gaussian integrals; ranks of normal variables give arc sines; what
the normal copula alone decides is integrated numerically, to more digits than any sample gives.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import multivariate_normal, norm

from octavo.engine.estimators.arrays import Floats
from octavo.info.closed_forms.analytical import closed_form, independent_copy
from octavo.info.closed_forms.families import Normal, kl, not_known

NODES = 32  # of Gauss-Legendre an axis


def pair_of_normals(p: Any, what: str) -> float:
    """Return the correlation of a bivariate normal distribution."""
    if not isinstance(p, Normal) or p.d != 2:
        raise not_known(p, what)
    return float(p.cov[0, 1] / math.sqrt(p.cov[0, 0] * p.cov[1, 1]))


def mean_kernel(mean: float, variance: float, bandwidth: float) -> float:
    """Return E exp(−z²/2σ²) for a normal z."""
    total = variance + bandwidth**2
    return bandwidth * math.exp(-0.5 * mean**2 / total) / math.sqrt(total)


def number(bandwidth: Any) -> float:
    """Return the bandwidth; one that depends on the sample has no closed form."""
    if isinstance(bandwidth, str):
        raise NotImplementedError("There is a closed form for a bandwidth given as a number only.")
    return float(bandwidth)


@closed_form("mutual_info", "generalized_variance")
def _generalized_variance(p, *, features="linear", groups=None):
    if features != "linear":
        raise NotImplementedError("There is a closed form for linear features only.")
    return kl(*independent_copy(p, groups))


@closed_form("mutual_info", "hsic")
def _hsic(p, *, bandwidth, kernel="gaussian", groups=None):
    joint, apart = independent_copy(p, groups)
    if kernel != "gaussian":
        raise NotImplementedError("There is a closed form for the Gaussian kernel only.")
    scale = number(bandwidth) ** -2

    def mean_product(cov: Floats) -> float:  # of kernels of a difference with that covariance
        # E exp(−½ scale z'z) of a normal z
        return float(np.linalg.det(np.eye(joint.d) + scale * cov)) ** -0.5

    cross = mean_product(joint.cov + apart.cov)
    return mean_product(2 * joint.cov) + mean_product(2 * apart.cov) - 2 * cross


def _half_distance_covariance(rho: float) -> float:
    # Székely, Rizzo and Bakirov (2007): E over two independent pairs
    inner = rho * math.asin(rho) + math.sqrt(1 - rho**2) - rho * math.asin(rho / 2)
    return inner - math.sqrt(4 - rho**2) + 1


@closed_form("mutual_info", "distance_covariance")
def _distance_covariance(p, *, exponent=1.0, squared=False):
    rho = pair_of_normals(p, "the distance covariance")
    if exponent != 1.0:
        raise not_known(p, f"the distance covariance of exponent {exponent:g}")
    units = math.sqrt(p.cov[0, 0] * p.cov[1, 1])
    square = units * 4.0 / math.pi * _half_distance_covariance(rho)
    return square if squared else math.sqrt(square)


@closed_form("mutual_info", "distance_correlation")
def _distance_correlation(p, *, exponent=1.0, squared=False):
    rho = pair_of_normals(p, "the distance correlation")
    if exponent != 1.0:
        raise not_known(p, f"the distance correlation of exponent {exponent:g}")
    # over its value at ρ = 1
    square = _half_distance_covariance(rho) / (1.0 + math.pi / 3.0 - math.sqrt(3.0))
    return square if squared else math.sqrt(square)


def corner_nodes(low: float, high: float) -> tuple[Floats, Floats]:
    """Return the points and weights of Gauss-Legendre on an interval."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return low + (high - low) * (nodes + 1.0) / 2.0, weights * (high - low) / 2.0


def copula_excess(rho: float, low: float, high: float) -> tuple[Floats, Floats, Floats]:
    """Return C − Π and M − Π of a normal copula at the nodes of a square, and their weights."""
    nodes, weights = corner_nodes(low, high)
    U, V = np.meshgrid(nodes, nodes)
    normal = multivariate_normal([0.0, 0.0], [[1.0, rho], [rho, 1.0]])
    C = normal.cdf(norm.ppf(np.stack([U, V], axis=-1)))
    return C - U * V, np.minimum(U, V) - U * V, np.outer(weights, weights)


@closed_form("mutual_info", "hoeffding_phi")
def _hoeffding_phi(p, *, squared=False):
    gap, _, weights = copula_excess(pair_of_normals(p, "Hoeffding's Φ"), 0.0, 1.0)
    square = 90.0 * float((weights * gap**2).sum())  # h(2) = 90
    return square if squared else math.sqrt(square)


@closed_form("mutual_info", "schweizer_wolff_sigma")
def _schweizer_wolff_sigma(p):
    # A normal copula lies on one side of independence, so its area is Spearman's ρ.
    return 6.0 / math.pi * math.asin(0.5 * abs(pair_of_normals(p, "Schweizer and Wolff's σ")))


@closed_form("mutual_info", "schweizer_wolff_kappa")
def _schweizer_wolff_kappa(p):
    return 2.0 / math.pi * math.asin(abs(pair_of_normals(p, "Schweizer and Wolff's κ")))


@closed_form("association", "conditional_spearman")
def _conditional_spearman(p, *, share, tail="lower"):
    rho = pair_of_normals(p, "the conditional Spearman's ρ")
    # The two tails of a normal copula are alike, and the lower corner is the smoother one.
    gap, _, weights = copula_excess(rho, 0.0, share)
    # over ∫(M − Π) on the corner
    return float((weights * gap).sum()) / (share**3 / 3.0 - share**4 / 4.0)


@closed_form("association", "correntropy")
def _correntropy(p, *, bandwidth):
    pair_of_normals(p, "correntropy")
    spread = p.cov[0, 0] + p.cov[1, 1] - 2.0 * p.cov[0, 1]
    return mean_kernel(p.mean[0] - p.mean[1], spread, bandwidth)


@closed_form("association", "centered_correntropy")
def _centred_correntropy(p, *, bandwidth):
    spread = p.cov[0, 0] + p.cov[1, 1]
    apart = mean_kernel(p.mean[0] - p.mean[1], spread, bandwidth)
    return _correntropy(p, bandwidth=bandwidth) - apart  # of x and an independent y


def own_correntropies(p: Normal, bandwidth: float) -> list[float]:
    """Return the centred correntropy of each variable with itself."""
    return [1.0 - mean_kernel(0.0, 2.0 * p.cov[j, j], bandwidth) for j in range(2)]


@closed_form("association", "correntropy_coefficient")
def _correntropy_coefficient(p, *, bandwidth):
    own = own_correntropies(p, bandwidth)
    return _centred_correntropy(p, bandwidth=bandwidth) / math.sqrt(own[0] * own[1])


@closed_form("association", "correntropy_metric")
def _correntropy_metric(p, *, bandwidth):
    return math.sqrt(1.0 - _correntropy(p, bandwidth=bandwidth))


@closed_form("association", "centered_correntropy_metric")
def _centred_correntropy_metric(p, *, bandwidth):
    own = own_correntropies(p, bandwidth)
    return math.sqrt(sum(own) - 2.0 * _centred_correntropy(p, bandwidth=bandwidth))
