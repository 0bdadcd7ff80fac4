"""Population values of kernel, distance and copula quantities for Gaussian variables.

Every one is a Gaussian integral, or an arc sine, derived here from the definition of the
quantity and not from its estimator.
"""

import numpy as np
from scipy.integrate import dblquad
from scipy.stats import multivariate_normal, norm


def mean_rbf(mean, covariance, scale):
    """E exp(−|z|²/2s²) for z ~ N(mean, covariance)."""
    mean, covariance = np.atleast_1d(mean), np.atleast_2d(covariance)
    G = covariance + scale**2 * np.eye(len(mean))
    power = -0.5 * mean @ np.linalg.solve(G, mean)
    return scale ** len(mean) * np.exp(power) / np.sqrt(np.linalg.det(G))


def mmd_squared(m1, S1, m2, S2, scale):
    zero = np.zeros(len(m1))
    same = mean_rbf(zero, 2 * S1, scale) + mean_rbf(zero, 2 * S2, scale)
    return same - 2 * mean_rbf(m1 - m2, S1 + S2, scale)


def mean_absolute(mean, sd):
    return sd * np.sqrt(2 / np.pi) * np.exp(-(mean**2) / (2 * sd**2)) + mean * (
        1 - 2 * norm.cdf(-mean / sd)
    )


def energy(m1, s1, m2, s2):
    between = mean_absolute(m1 - m2, np.hypot(s1, s2))
    within = mean_absolute(0, np.sqrt(2) * s1) + mean_absolute(0, np.sqrt(2) * s2)
    return 2 * between - within


def hsic(rho, s, t):
    """HSIC of a standard bivariate normal with Gaussian kernels of scales s and t."""
    D = np.diag([s**-2, t**-2])
    joint = np.array([[1, rho], [rho, 1]])

    def gap(covariance):  # of the differences (x − x', y − y')
        return np.linalg.det(np.eye(2) + covariance @ D) ** -0.5

    return gap(2 * joint) + gap(2 * np.eye(2)) - 2 * gap(joint + np.eye(2))


def squared_distance_covariance(rho):
    """Szekely, Rizzo and Bakirov (2007), Theorem 7."""
    inner = rho * np.arcsin(rho) + np.sqrt(1 - rho**2) - rho * np.arcsin(rho / 2)
    return 4 / np.pi * (inner - np.sqrt(4 - rho**2) + 1)


def spearman(rho):
    return 6 / np.pi * np.arcsin(rho / 2)


def blomqvist(rho):
    return 2 / np.pi * np.arcsin(rho)


def gaussian_copula(u, v, rho):
    joint = multivariate_normal([0, 0], [[1, rho], [rho, 1]])
    return joint.cdf(norm.ppf([u, v]))


def copula_integral(function, low=0.0, high=1.0, n=24):
    """∫∫ of a smooth function over a square, by Gauss-Legendre."""
    x, w = np.polynomial.legendre.leggauss(n)
    x, w = low + (high - low) * (x + 1) / 2, w * (high - low) / 2
    return sum(a * b * function(s, t) for s, a in zip(x, w) for t, b in zip(x, w))


def square_integral(function, low, high):
    return dblquad(function, low, high, low, high, epsabs=1e-9)[0]


def parzen_integrals(S1, m1, S2, m2, bandwidth):
    """∫p², ∫q², ∫pq of two Gaussians after smoothing both by `bandwidth`."""
    smooth = bandwidth**2 * np.eye(len(m1))

    def product(a, A, b, B):
        return multivariate_normal(a - b, A + B + 2 * smooth).pdf(np.zeros(len(a)))

    return product(m1, S1, m1, S1), product(m2, S2, m2, S2), product(m1, S1, m2, S2)
