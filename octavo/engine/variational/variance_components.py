"""Posterior of a variance, or of a covariance matrix, of random effects (Huang and Wand, 2013).

K vectors u_k of length q are N(0, S). The prior S | a ~ Inverse-Wishart(nu + q - 1, 2 nu
diag(1/a)), a_j ~ Inverse-Gamma(1/2, 1/scale^2), gives every standard deviation a half-t law with
nu degrees of freedom, and with nu = 2 every correlation a uniform one. For q = 1 and nu = 1 it is
Half-Cauchy, as S | a ~ Inverse-Gamma(1/2, 1/a): Wand (2014), after Eq. (8).

The mean-field posterior is q(S) = Inverse-Wishart(df, B) and q(a_j) = Inverse-Gamma((nu + q) / 2,
b_j).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, multigammaln

from octavo.engine.estimators.arrays import Floats

LOG_2PI = float(np.log(2.0 * np.pi))


class VarianceComponent(NamedTuple):
    """The posterior of a covariance matrix: ``df`` and ``scale`` of q(S), ``rate`` of each q(a_j).

    ``n_vectors`` is K, ``spread`` the prior's scale of standard deviations, ``nu`` its degrees. A
    component that is ``held`` is a number and not a posterior: S = ``scale`` / ``df``.
    """

    df: float
    scale: Floats
    rate: Floats
    n_vectors: float
    spread: float
    nu: float
    held: bool = False

    @property
    def size(self) -> int:
        """The length q of a vector."""
        return len(self.scale)

    @property
    def precision(self) -> Floats:
        """E(S^-1); for q = 1 the paper's mu_q(1/sigma^2)."""
        return np.asarray(self.df * np.linalg.inv(self.scale), dtype=np.float64)

    @property
    def inverse_auxiliary(self) -> Floats:
        """E(1/a_j), the paper's mu_q(1/a)."""
        return 0.5 * (self.nu + self.size) / self.rate

    @property
    def mean(self) -> Floats:
        """E(S); infinite where the posterior has no mean."""
        room = self.df - self.size - 1.0
        return self.scale / room if room > 0 else np.full_like(self.scale, np.inf)

    @property
    def inverse_gammas(self) -> Floats:
        """Shape and rate, a row each, of the variances' inverse-gamma marginals."""
        shape = 0.5 * (self.df - self.size + 1.0)
        return np.array([np.full(self.size, shape), 0.5 * np.diagonal(self.scale)])


def new_component(n_vectors: float, size: int, spread: float, start: float) -> VarianceComponent:
    """Return a component whose variances start at ``start``."""
    nu = 1.0 if size == 1 else 2.0
    df = nu + size - 1.0 + n_vectors
    rate = nu * np.full(size, 1.0 / start) + spread**-2.0
    return VarianceComponent(df, df * start * np.eye(size), rate, n_vectors, spread, nu)


def held_at(component: VarianceComponent, variance: float) -> VarianceComponent:
    """Return a component of one variance that stays at a number."""
    return component._replace(df=1.0, scale=np.array([[float(variance)]]), held=True)


def log_half_cauchy(variance: Floats, spread: float) -> Floats:
    """Return ln p(S) for one variance, a integrated out: its root is Half-Cauchy(spread)."""
    return np.asarray(
        -np.log(np.pi * spread) - 0.5 * np.log(variance) - np.log1p(variance / spread**2)
    )


def updated(component: VarianceComponent, second_moment: Floats) -> VarianceComponent:
    """Return the component after its own two updates.

    Parameters
    ----------
    component : VarianceComponent
        Where it is.
    second_moment : ndarray of shape (q, q)
        E(sum of u_k u_k').

    Returns
    -------
    component : VarianceComponent
        With the best q(S) for the old q(a), and then the best q(a).
    """
    c = component
    if c.held:
        return c
    prior = 2.0 * c.nu * np.diag(c.inverse_auxiliary)
    moved = c._replace(scale=prior + 0.5 * (second_moment + second_moment.T))
    # For q = 1: mu_q(1/a) <- 1 / (mu_q(1/sigma^2) + A^-2), Algorithm 1's last line.
    return moved._replace(rate=c.nu * np.diagonal(moved.precision) + c.spread**-2.0)


def as_vector(component: VarianceComponent) -> Floats:
    """Return q(S) and q(a) as free numbers: a log-Cholesky factor, and logs of rates."""
    L = np.linalg.cholesky(component.scale)
    L[np.diag_indices_from(L)] = np.log(np.diagonal(L))
    return np.concatenate([L[np.tril_indices_from(L)], np.log(component.rate)])


def from_vector(component: VarianceComponent, vector: Floats) -> VarianceComponent:
    """Return the component with the numbers of `as_vector`."""
    q = component.size
    L = np.zeros((q, q))
    L[np.tril_indices(q)] = vector[: q * (q + 1) // 2]
    L[np.diag_indices(q)] = np.exp(np.diagonal(L))
    return component._replace(scale=L @ L.T, rate=np.exp(vector[q * (q + 1) // 2 :]))


def _log_gamma(x: float, q: int) -> float:
    """Return the log of the multivariate gamma function, without its checks where q is one."""
    return float(gammaln(x)) if q == 1 else float(multigammaln(x, q))


def bound_terms(component: VarianceComponent, second_moment: Floats) -> float:
    """Return what u given S, S and a add to the bound: expected log densities plus entropies.

    Parameters
    ----------
    component : VarianceComponent
        The posterior.
    second_moment : ndarray of shape (q, q)
        E(sum of u_k u_k').

    Returns
    -------
    bound : float
        Right after an update and at any other time; u's own entropy is not in it. Where S is held,
        what u given S adds.
    """
    c, q = component, component.size
    if c.held:
        log_det = float(np.linalg.slogdet(c.scale / c.df)[1])
        return float(
            -0.5 * c.n_vectors * (q * LOG_2PI + log_det) - 0.5 * np.sum(c.precision * second_moment)
        )
    df0 = c.nu + q - 1.0
    log_det_scale = float(np.linalg.slogdet(c.scale)[1])
    log_det = (  # E ln|S|
        log_det_scale - q * np.log(2.0) - digamma(0.5 * (c.df - np.arange(q))).sum()
    )
    shape = 0.5 * (c.nu + q)
    log_a = np.log(c.rate) - digamma(shape)
    precision, inverse_a = c.precision, c.inverse_auxiliary
    u_given_s = -0.5 * c.n_vectors * (q * LOG_2PI + log_det) - 0.5 * np.sum(
        precision * second_moment
    )
    s_given_a = (
        0.5 * df0 * (q * np.log(2.0 * c.nu) - log_a.sum() - q * np.log(2.0))
        - _log_gamma(0.5 * df0, q)
        - 0.5 * (df0 + q + 1.0) * log_det
        - c.nu * np.sum(inverse_a * np.diagonal(precision))
    )
    a_prior = np.sum(-np.log(c.spread) - gammaln(0.5) - 1.5 * log_a - inverse_a * c.spread**-2.0)
    s_entropy = -(
        0.5 * c.df * (log_det_scale - q * np.log(2.0))
        - _log_gamma(0.5 * c.df, q)
        - 0.5 * (c.df + q + 1.0) * log_det
        - 0.5 * c.df * q
    )
    a_entropy = np.sum(shape + np.log(c.rate) + gammaln(shape) - (1.0 + shape) * digamma(shape))
    return float(u_given_s + s_given_a + a_prior + s_entropy + a_entropy)
