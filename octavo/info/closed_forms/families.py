"""Normal, uniform and exponential distributions: samples, and the integrals that they know.

All that closed forms of information-theoretic quantities need: log ∫ p^a q^b, Shannon's entropy,
the Kullback-Leibler divergence, powers and entropies of mixtures, mean distances, expected kernels.

Reference: Szabó (2014), "Information theoretical estimators toolbox", JMLR 15:283-287, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, ndtr, rel_entr
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats

__all__ = ["Exponential", "Normal", "Uniform"]


class Normal:
    """Normal distribution whose information-theoretic quantities are known.

    Parameters
    ----------
    mean : float or array-like of shape (d,), default=0.0
        The mean.
    cov : float or array-like of shape (d, d), default=1.0
        The covariance, positive definite.

    Examples
    --------
    >>> from octavo.info import Normal, analytical_value
    >>> print(f"{analytical_value('entropy', 'shannon', Normal(0, 4)):.4f}")
    2.1121
    """

    def __init__(self, mean: ArrayLike = 0.0, cov: ArrayLike = 1.0) -> None:
        self.mean: Floats = np.atleast_1d(np.asarray(mean, dtype=np.float64))
        self.cov: Floats = np.atleast_2d(np.asarray(cov, dtype=np.float64))
        self.d = self.mean.size
        if self.cov.shape != (self.d, self.d):
            raise ValueError(f"cov must have shape {(self.d, self.d)}, got {self.cov.shape}.")
        if not np.allclose(self.cov, self.cov.T) or np.linalg.eigvalsh(self.cov)[0] <= 0:
            raise ValueError("cov must be symmetric and positive definite.")
        self.precision = np.linalg.inv(self.cov)
        self.log_det = float(np.linalg.slogdet(self.cov)[1])

    def __repr__(self) -> str:
        return f"Normal(mean={self.mean.tolist()}, cov={self.cov.tolist()})"

    def log_density(self, X: Floats) -> Floats:
        """Return the logarithm of the density at points.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            The points.

        Returns
        -------
        log_density : ndarray of shape (n,)
            -inf outside of the support.
        """
        white = np.linalg.solve(np.linalg.cholesky(self.cov), (X - self.mean).T)
        constant = self.d * math.log(2 * math.pi) + self.log_det
        return -0.5 * (constant + np.einsum("dn,dn->n", white, white))

    def sample(self, n: int, random_state: Any = None) -> Floats:
        """Draw n points.

        Parameters
        ----------
        n : int
            How many.
        random_state : int, RandomState instance or None, default=None
            The generator.

        Returns
        -------
        X : ndarray of shape (n, d)
            The points.
        """
        rng = check_random_state(random_state)
        return self.mean + rng.standard_normal((n, self.d)) @ np.linalg.cholesky(self.cov).T

    def marginal(self, columns: Sequence[int]) -> Normal:
        """Return the distribution of some of the variables.

        Parameters
        ----------
        columns : sequence of int
            Which.

        Returns
        -------
        marginal : Normal
            Their distribution.
        """
        columns = list(columns)
        return Normal(self.mean[columns], self.cov[np.ix_(columns, columns)])


class Uniform:
    """Uniform distribution on a box whose information-theoretic quantities are known.

    Parameters
    ----------
    low : float or array-like of shape (d,), default=0.0
        The least corner.
    high : float or array-like of shape (d,), default=1.0
        The greatest corner.

    Examples
    --------
    >>> from octavo.info import Uniform, analytical_value
    >>> p, q = Uniform(0, 1), Uniform(0, 2)
    >>> print(f"{analytical_value('divergence', 'kl', p, q):.4f}")
    0.6931
    """

    def __init__(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> None:
        self.low: Floats = np.atleast_1d(np.asarray(low, dtype=np.float64))
        self.high: Floats = np.atleast_1d(np.asarray(high, dtype=np.float64))
        self.d = self.low.size
        if self.low.shape != self.high.shape or not (self.low < self.high).all():
            raise ValueError("low and high must have the same shape, with low < high.")
        self.volume = float(np.prod(self.high - self.low))

    def __repr__(self) -> str:
        return f"Uniform(low={self.low.tolist()}, high={self.high.tolist()})"

    def log_density(self, X: Floats) -> Floats:
        """Return the logarithm of the density at points.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            The points.

        Returns
        -------
        log_density : ndarray of shape (n,)
            -inf outside of the support.
        """
        inside = ((self.low <= X) & (self.high >= X)).all(axis=1)
        return np.where(inside, -math.log(self.volume), -np.inf)

    def sample(self, n: int, random_state: Any = None) -> Floats:
        """Draw n points.

        Parameters
        ----------
        n : int
            How many.
        random_state : int, RandomState instance or None, default=None
            The generator.

        Returns
        -------
        X : ndarray of shape (n, d)
            The points.
        """
        return check_random_state(random_state).uniform(self.low, self.high, (n, self.d))

    def overlap(self, other: Uniform) -> float:
        """Return the volume that two boxes share.

        Parameters
        ----------
        other : Uniform
            The other box.

        Returns
        -------
        volume : float
            Zero where they are apart.
        """
        sides = np.minimum(self.high, other.high) - np.maximum(self.low, other.low)
        return float(np.prod(np.maximum(sides, 0.0)))


class Exponential:
    """Independent exponential variables whose information-theoretic quantities are known.

    Parameters
    ----------
    rate : float or array-like of shape (d,), default=1.0
        The rate of each, one over its mean.

    Examples
    --------
    >>> from octavo.info import Exponential, analytical_value
    >>> print(f"{analytical_value('entropy', 'renyi', Exponential(2.0), alpha=2.0):.4f}")
    -0.0000
    """

    def __init__(self, rate: ArrayLike = 1.0) -> None:
        self.rate: Floats = np.atleast_1d(np.asarray(rate, dtype=np.float64))
        self.d = self.rate.size
        if not (self.rate > 0).all():
            raise ValueError(f"rate must be positive, got {self.rate.tolist()}.")

    def __repr__(self) -> str:
        return f"Exponential(rate={self.rate.tolist()})"

    def log_density(self, X: Floats) -> Floats:
        """Return the logarithm of the density at points.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            The points.

        Returns
        -------
        log_density : ndarray of shape (n,)
            -inf outside of the support.
        """
        inside = (X >= 0).all(axis=1)
        return np.where(inside, np.log(self.rate).sum() - X @ self.rate, -np.inf)

    def sample(self, n: int, random_state: Any = None) -> Floats:
        """Draw n points.

        Parameters
        ----------
        n : int
            How many.
        random_state : int, RandomState instance or None, default=None
            The generator.

        Returns
        -------
        X : ndarray of shape (n, d)
            The points.
        """
        return check_random_state(random_state).exponential(1.0 / self.rate, (n, self.d))


Family = Normal | Uniform | Exponential


# --- what each family knows -----------------------------------------------------------------------


def not_known(p: Any, what: str) -> NotImplementedError:
    return NotImplementedError(f"there is no closed form of {what} for {type(p).__name__}")


@singledispatch
def log_power_integral(p: Any, a: float, q: Any = None, b: float = 0.0) -> float:
    """Return log ∫ p^a q^b, inf where it does not converge; p and q of one family."""
    raise not_known(p, "∫ p^a q^b")


@log_power_integral.register
def _(p: Normal, a: float, q: Normal | None = None, b: float = 0.0) -> float:
    A, h, constant = a * p.precision, a * p.precision @ p.mean, 0.0
    for of, power in ((p, a), (q, b)):
        if of is None:
            continue
        quadratic = float(of.mean @ of.precision @ of.mean)
        constant -= 0.5 * power * (p.d * math.log(2 * math.pi) + of.log_det + quadratic)
    if q is not None:
        A, h = A + b * q.precision, h + b * q.precision @ q.mean
    if np.linalg.eigvalsh(A)[0] <= 0:
        return math.inf
    exponent = 0.5 * float(h @ np.linalg.solve(A, h))
    log_det = float(np.linalg.slogdet(A)[1])
    return constant + exponent + 0.5 * (p.d * math.log(2 * math.pi) - log_det)


@log_power_integral.register
def _(p: Uniform, a: float, q: Uniform | None = None, b: float = 0.0) -> float:
    if q is None or b == 0.0:
        return (1.0 - a) * math.log(p.volume)
    shared = p.overlap(q)
    covered = math.isclose(shared, p.volume), math.isclose(shared, q.volume)
    if (b < 0 and not covered[0]) or (a < 0 and not covered[1]):
        return math.inf
    if shared == 0.0:
        return -math.inf
    return math.log(shared) - a * math.log(p.volume) - b * math.log(q.volume)


@log_power_integral.register
def _(p: Exponential, a: float, q: Exponential | None = None, b: float = 0.0) -> float:
    other = np.ones(p.d) if q is None else q.rate
    power = a * p.rate + b * other
    if not (power > 0).all():
        return math.inf
    return float((a * np.log(p.rate) + b * np.log(other) - np.log(power)).sum())


@singledispatch
def shannon(p: Any) -> float:
    """Return Shannon's entropy."""
    raise not_known(p, "the entropy")


@shannon.register
def _(p: Normal) -> float:
    return 0.5 * (p.d * math.log(2 * math.pi * math.e) + p.log_det)


@shannon.register
def _(p: Uniform) -> float:
    return math.log(p.volume)


@shannon.register
def _(p: Exponential) -> float:
    return float((1.0 - np.log(p.rate)).sum())


@singledispatch
def kl(p: Any, q: Any) -> float:
    """Return the Kullback-Leibler divergence."""
    raise not_known(p, "the Kullback-Leibler divergence")


@kl.register
def _(p: Normal, q: Normal) -> float:
    gap = q.mean - p.mean
    moved = float(gap @ q.precision @ gap) + float(np.trace(q.precision @ p.cov))
    return 0.5 * (moved - p.d + q.log_det - p.log_det)


@kl.register
def _(p: Uniform, q: Uniform) -> float:
    inside = math.isclose(p.overlap(q), p.volume)
    return math.log(q.volume / p.volume) if inside else math.inf


@kl.register
def _(p: Exponential, q: Exponential) -> float:
    return float((np.log(p.rate / q.rate) + q.rate / p.rate - 1.0).sum())


@singledispatch
def mixture_pieces(p: Any, q: Any, alpha: float = 1.0) -> tuple[Floats, Floats, Floats]:
    """Return volumes of cells and p and q in them, for integrals of functions of both.

    Exact for boxes: where both are, where only the first, where only the second. Normals of one or
    two variables are cut into a fine grid, on which the sum of a smooth function that vanishes
    at the borders is its integral to rounding; `alpha` is the least power of a density to come.
    """
    raise not_known(p, "this function of a mixture")


@mixture_pieces.register
def _(p: Uniform, q: Uniform, alpha: float = 1.0) -> tuple[Floats, Floats, Floats]:
    shared, f, g = p.overlap(q), 1.0 / p.volume, 1.0 / q.volume
    volumes = [shared, p.volume - shared, q.volume - shared]
    return np.array(volumes), np.array([f, f, 0.0]), np.array([g, 0.0, g])


@mixture_pieces.register
def _(p: Normal, q: Normal, alpha: float = 1.0) -> tuple[Floats, Floats, Floats]:
    step = 0.15 * math.sqrt(min(np.linalg.eigvalsh(one.cov)[0] for one in (p, q)))
    reach = 12.0 / math.sqrt(min(alpha, 1.0))
    spread = [reach * np.sqrt(np.diagonal(one.cov)) for one in (p, q)]
    low = np.minimum(p.mean - spread[0], q.mean - spread[1])
    high = np.maximum(p.mean + spread[0], q.mean + spread[1])
    if p.d > 2 or ((high - low) / step).prod() > 1e7:
        raise not_known(p, "this function of a mixture, other than in two variables of one scale,")
    axes = [np.arange(a, b, step) for a, b in zip(low, high)]
    points = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, p.d)
    f, g = (np.exp(one.log_density(points)) for one in (p, q))
    return np.full(f.size, step**p.d), f, g


def mixture_shannon(p: Any, q: Any, weight: float) -> float:
    """Return the entropy of weight p + (1 - weight) q."""
    volume, f, g = mixture_pieces(p, q)
    return float(volume @ entr(weight * f + (1.0 - weight) * g))


def mixture_power(p: Any, q: Any, weight: float, alpha: float) -> float:
    """Return log ∫ of weight p + (1 - weight) q to the power α."""
    volume, f, g = mixture_pieces(p, q, alpha)
    return math.log(volume @ (weight * f + (1.0 - weight) * g) ** alpha)


def k_divergence(p: Any, q: Any) -> float:
    """Return the Kullback-Leibler divergence of p from the even mixture of p and q."""
    volume, f, g = mixture_pieces(p, q)
    return float(volume @ rel_entr(f, 0.5 * (f + g)))


@singledispatch
def mean_distance(p: Any, q: Any) -> float:
    """Return E|x - y| for independent x from p and y from q, in one dimension."""
    raise not_known(p, "the mean distance")


@mean_distance.register
def _(p: Normal, q: Normal) -> float:
    if p.d > 1:
        raise not_known(p, "the mean distance in several dimensions")
    s, m = math.sqrt(p.cov[0, 0] + q.cov[0, 0]), float(p.mean[0] - q.mean[0])
    bell = s * math.sqrt(2.0 / math.pi) * math.exp(-0.5 * (m / s) ** 2)
    return bell + m * (1.0 - 2.0 * float(ndtr(-m / s)))


@mean_distance.register
def _(p: Uniform, q: Uniform) -> float:
    if p.d > 1:
        raise not_known(p, "the mean distance in several dimensions")
    ends = [(p.high[0], q.low[0], 1), (p.low[0], q.high[0], 1)]
    ends += [(p.high[0], q.high[0], -1), (p.low[0], q.low[0], -1)]
    cubes = sum(sign * abs(x - y) ** 3 / 6.0 for x, y, sign in ends)
    return float(cubes / (p.volume * q.volume))


@mean_distance.register
def _(p: Exponential, q: Exponential) -> float:
    if p.d > 1:
        raise not_known(p, "the mean distance in several dimensions")
    one, other = float(p.rate[0]), float(q.rate[0])
    return 1.0 / one + 1.0 / other - 2.0 / (one + other)


def expected_rbf(p: Any, q: Any, bandwidth: float) -> float:
    """Return E exp(-|x - y|² / (2 bandwidth²)) for independent x from p and y from q."""
    if not isinstance(p, Normal):
        raise not_known(p, "the expected kernel")
    G = p.cov + q.cov + bandwidth**2 * np.eye(p.d)
    gap = p.mean - q.mean
    exponent = -0.5 * float(gap @ np.linalg.solve(G, gap))
    return bandwidth**p.d * math.exp(exponent) / math.sqrt(float(np.linalg.det(G)))
