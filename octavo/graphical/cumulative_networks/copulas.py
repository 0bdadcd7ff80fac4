"""Copulas as factors: Gumbel, Clayton, Frank, Gaussian and independence, with any margins.

The first three are Archimedean, C(u) = ψ(Σ ψ⁻¹(u_k)): a mixed derivative is a derivative of ψ times
one factor a variable, and draws are those of a common frailty whose Laplace transform is ψ.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, gammaln, ndtr, ndtri_exp

from octavo.engine.estimators.arrays import Floats
from octavo.graphical.cumulative_networks.factors import (
    MOST_VARIABLES,
    CDFFactor,
    GaussianCDF,
    corr_from_free,
    log_sum,
)
from octavo.graphical.cumulative_networks.margins import UnivariateCDF

__all__ = ["CopulaCDF"]


class _Generator(ABC):
    """ψ of an Archimedean copula, and what its derivatives and draws need."""

    def __init__(self, theta: float) -> None:
        self.theta = theta

    @abstractmethod
    def derivatives(self, log_u: Floats, most: int) -> list[Floats]:
        """Return log |ψ^(m)(Σ ψ⁻¹(u_k))| for m = 0, ..., most."""

    @abstractmethod
    def inverse_slope(self, log_u: Floats) -> Floats:
        """Return log |(ψ⁻¹)'(u)|."""

    @abstractmethod
    def by_theta(self, log_u: Floats, most: int) -> list[Floats]:
        """Return the slopes of `derivatives` by θ."""

    @abstractmethod
    def inverse_bends(self, log_u: Floats) -> tuple[Any, Any]:
        """Return the slopes of `inverse_slope` by log u and by θ."""

    @abstractmethod
    def draw(self, n: int, k: int, random: np.random.RandomState) -> Floats:
        """Return n draws of the copula."""


class _Gumbel(_Generator):
    def derivatives(self, log_u: Floats, most: int) -> list[Floats]:
        theta = self.theta
        with np.errstate(divide="ignore"):
            log_t = log_sum(np.log(-log_u) / theta)
        y = np.exp(np.minimum(theta * log_t, 700.0))
        # (-1)^m ψ^(m) = e^(-y) t^(-m) P_m(y) with y = t^θ, and P_(m+1) = (θ y + m) P_m - θ y P_m'.
        coef = np.array([1.0])
        found = [-y]
        for m in range(most):
            powers = np.arange(coef.size)
            coef = np.append((m - theta * powers) * coef, 0.0) + np.append(0.0, theta * coef)
            with np.errstate(divide="ignore", invalid="ignore"):
                terms = np.log(np.maximum(coef[1:], 0.0))[:, None] + np.outer(
                    np.arange(1, coef.size), theta * log_t
                )
                found.append(log_sum(terms) - y - (m + 1) * log_t)
        return found

    def inverse_slope(self, log_u: Floats) -> Floats:
        power = 1.0 / self.theta - 1.0
        with np.errstate(divide="ignore"):  # |(ψ⁻¹)'| = (-log u)^(1/θ - 1) / (θ u)
            bend = power * np.log(-log_u) if power > 0 else 0.0
        return bend - math.log(self.theta) - log_u

    def by_theta(self, log_u: Floats, most: int) -> list[Floats]:
        theta = self.theta
        logs = np.log(-log_u)
        log_t = log_sum(logs / theta)
        t_slope = -(np.exp(logs / theta - log_t) * logs).sum(axis=0) / theta**2
        log_y, y_slope = theta * log_t, log_t + theta * t_slope
        y = np.exp(np.minimum(log_y, 700.0))
        coef, moved = np.array([1.0]), np.array([0.0])  # of P_m, and their slopes
        found = [-y * y_slope]
        for m in range(most):
            p = np.arange(coef.size)
            moved = np.append((m - theta * p) * moved - p * coef, 0.0) + np.append(
                0.0, theta * moved + coef
            )
            coef = np.append((m - theta * p) * coef, 0.0) + np.append(0.0, theta * coef)
            p = np.flatnonzero(coef > 0)
            terms = np.log(coef[p])[:, None] + np.outer(p, log_y)
            shares = np.exp(terms - log_sum(terms))
            inner = (moved[p] / coef[p]) @ shares + (p @ shares) * y_slope
            found.append(inner - y * y_slope - (m + 1) * t_slope)
        return found

    def inverse_bends(self, log_u: Floats) -> tuple[Any, Any]:
        theta = self.theta
        by_theta = -np.log(-log_u) / theta**2 - 1.0 / theta
        return (1.0 / theta - 1.0) / log_u - 1.0, by_theta

    def draw(self, n: int, k: int, random: np.random.RandomState) -> Floats:
        theta = self.theta
        frailty = np.ones((n, 1))
        if theta < 1:  # positive stable with index θ, by Kanter
            angle = random.uniform(0, np.pi, size=(n, 1))
            waiting = random.exponential(size=(n, 1))
            frailty = np.sin(theta * angle) / np.sin(angle) ** (1 / theta)
            frailty *= (np.sin((1 - theta) * angle) / waiting) ** ((1 - theta) / theta)
        return np.exp(-((random.exponential(size=(n, k)) / frailty) ** theta))


class _Clayton(_Generator):
    def derivatives(self, log_u: Floats, most: int) -> list[Floats]:
        theta = self.theta
        powers = -theta * log_u  # of u^(-θ), whose sum less k - 1 is 1 + t
        top = powers.max(axis=0)
        inner = np.exp(powers - top).sum(axis=0) - (len(powers) - 1) * np.exp(-top)
        total = top + np.log(np.maximum(inner, 1e-300))
        rise = [gammaln(1 / theta + m) - gammaln(1 / theta) for m in range(most + 1)]
        return [r - (1 / theta + m) * total for m, r in enumerate(rise)]  # ψ = (1 + t)^(-1/θ)

    def inverse_slope(self, log_u: Floats) -> Floats:
        return math.log(self.theta) - (self.theta + 1.0) * log_u  # |(ψ⁻¹)'| = θ u^(-θ - 1)

    def by_theta(self, log_u: Floats, most: int) -> list[Floats]:
        theta = self.theta
        powers = -theta * log_u
        top = powers.max(axis=0)
        raised = np.exp(powers - top)
        inner = np.maximum(raised.sum(axis=0) - (len(powers) - 1) * np.exp(-top), 1e-300)
        total, slope = top + np.log(inner), -(log_u * raised).sum(axis=0) / inner
        rise = [(digamma(1 / theta) - digamma(1 / theta + m)) / theta**2 for m in range(most + 1)]
        return [r + total / theta**2 - (1 / theta + m) * slope for m, r in enumerate(rise)]

    def inverse_bends(self, log_u: Floats) -> tuple[Any, Any]:
        return -(self.theta + 1.0), 1.0 / self.theta - log_u

    def draw(self, n: int, k: int, random: np.random.RandomState) -> Floats:
        # gamma frailty has the Laplace transform ψ
        frailty = random.gamma(1.0 / self.theta, size=(n, 1))
        ratio = random.exponential(size=(n, k)) / np.maximum(frailty, 1e-300)
        return (1.0 + ratio) ** (-1.0 / self.theta)


def _polylog_terms(log_odds: Floats, most: int) -> Iterator[Floats]:
    """Yield logs of the terms of Li_(1-m)(z), m from 1 on: k! S(m, k + 1) (z / (1 - z))^(k + 1).

    (-1)^m ψ^(m) of Frank's generator is that polynomial over θ.
    """
    stirling = np.array([1.0])
    for m in range(1, most + 1):
        if m > 1:
            stirling = np.append(np.arange(1, m) * stirling, 0.0) + np.append(0.0, stirling)
        k = np.arange(m)
        logs = np.log(stirling) + gammaln(k + 1)
        yield logs[:, None] + (k + 1)[:, None] * log_odds


class _Frank(_Generator):
    def _log_shares(self, log_u: Floats) -> Floats:
        """Return log((1 - e^(-θ u)) / (1 - e^(-θ)))."""
        with np.errstate(divide="ignore"):
            part = np.log(-np.expm1(-self.theta * np.exp(log_u)))
        return part - math.log(-math.expm1(-self.theta))

    def derivatives(self, log_u: Floats, most: int) -> list[Floats]:
        theta = self.theta
        log_z = self._log_shares(log_u).sum(axis=0) + math.log(-math.expm1(-theta))
        with np.errstate(divide="ignore"):
            rest = -np.expm1(np.minimum(log_z, -1e-300))
            found = [np.log(-np.log1p(-np.minimum(np.exp(log_z), 1 - 1e-16))) - math.log(theta)]
        log_odds = log_z - np.log(rest)
        found += [log_sum(terms) - math.log(theta) for terms in _polylog_terms(log_odds, most)]
        return found

    def inverse_slope(self, log_u: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return math.log(self.theta) - np.log(np.expm1(self.theta * np.exp(log_u)))

    def by_theta(self, log_u: Floats, most: int) -> list[Floats]:
        theta, u = self.theta, np.exp(log_u)
        end = 1.0 / math.expm1(theta)  # d log(1 - e^(-θ)) / dθ
        log_z = self._log_shares(log_u).sum(axis=0) + math.log(-math.expm1(-theta))
        slope = (u / np.expm1(theta * u)).sum(axis=0) - (len(u) - 1) * end
        z = np.minimum(np.exp(log_z), 1 - 1e-16)
        rest = -np.expm1(np.minimum(log_z, -1e-300))
        found = [z / rest * slope / -np.log1p(-z) - 1.0 / theta]
        log_odds = log_z - np.log(rest)
        for terms in _polylog_terms(log_odds, most):
            powers = np.arange(1, len(terms) + 1) @ np.exp(terms - log_sum(terms))
            found.append(powers * slope / rest - 1.0 / theta)
        return found

    def inverse_bends(self, log_u: Floats) -> tuple[Any, Any]:
        share = np.exp(log_u) / -np.expm1(-self.theta * np.exp(log_u))
        return -self.theta * share, 1.0 / self.theta - share

    def draw(self, n: int, k: int, random: np.random.RandomState) -> Floats:
        # and here a logarithmic series
        frailty = random.logseries(-math.expm1(-self.theta), size=(n, 1))
        inner = np.exp(-random.exponential(size=(n, k)) / frailty)
        return -np.log1p(math.expm1(-self.theta) * inner) / self.theta


_GENERATORS: dict[str, type[_Generator]] = {
    "gumbel": _Gumbel,
    "clayton": _Clayton,
    "frank": _Frank,
}
_RANGES = {"gumbel": (0.0, 1.0), "clayton": (1e-6, 1e3), "frank": (1e-6, 30.0)}


class CopulaCDF(CDFFactor):
    """A copula with margins.

    Parameters
    ----------
    family : {"gumbel", "clayton", "frank", "gaussian", "independence"}
        Which copula.
    theta : float or array-like, optional
        Gumbel: in (0, 1], one is independence. Clayton and Frank: positive (to 1000 and 30), near
        zero is independence. Gaussian: the correlation, or the matrix of correlations. None for
        independence.
    marginals : sequence, optional
        `UnivariateCDF` of each variable, or frozen distributions of scipy. None is two uniform
        variables on [0, 1]; ``[None] * k`` is k of them.

    Examples
    --------
    >>> from octavo.graphical import CopulaCDF
    >>> CopulaCDF("gumbel", 0.5).cdf([[0.5, 0.5]]).round(4)
    array([0.3752])
    """

    def __init__(
        self,
        family: str,
        theta: Any = None,
        marginals: Sequence[Any] | None = None,
    ) -> None:
        if family not in (*_GENERATORS, "gaussian", "independence"):
            raise ValueError(
                "family must be one of gumbel, clayton, frank, gaussian, independence, got "
                f"{family!r}."
            )
        matrix = family == "gaussian" and np.ndim(theta) == 2
        if marginals is None:
            marginals = [None] * (len(theta) if matrix else 2)
        if not 1 <= len(marginals) <= MOST_VARIABLES:
            raise ValueError(
                f"marginals must be of 1 to {MOST_VARIABLES} variables, got {len(marginals)}."
            )
        self.family = family
        self.marginals = [self._margin(m) for m in marginals]
        self.arity = len(self.marginals)
        self.theta = theta
        if family in _GENERATORS:
            low, high = _RANGES[family]
            number = self._number(theta)
            if not low < number <= high:
                raise ValueError(
                    f"theta of {family} must lie in ({low:g}, {high:g}], got {number:g}."
                )
            self._generator = _GENERATORS[family](number)
        elif family == "gaussian":
            k = self.arity
            corr = np.array(theta, dtype=float)
            if not matrix:
                number = self._number(theta)
                corr = np.full((k, k), number)
                np.fill_diagonal(corr, 1.0)
            if corr.shape != (k, k) or not np.allclose(np.diag(corr), 1.0):
                raise ValueError(
                    f"theta of gaussian must be a correlation or a {k} by {k} matrix with a unit "
                    "diagonal."
                )
            self._normal = GaussianCDF(np.zeros(k), corr)
        elif theta is not None:
            raise ValueError(f"Independence has no theta, got {theta!r}.")

    @staticmethod
    def _number(theta: Any) -> float:
        if isinstance(theta, bool) or not isinstance(theta, (int, float, np.number)):
            raise TypeError(f"theta must be a number, got {theta!r}.")
        if not math.isfinite(theta):
            raise ValueError(f"theta must be finite, got {theta!r}.")
        return float(theta)

    @staticmethod
    def _margin(given: Any) -> UnivariateCDF:
        if given is None:
            return UnivariateCDF("uniform")
        return given if isinstance(given, UnivariateCDF) else UnivariateCDF(given)

    def log_jet(self, X: Floats, wanted: Sequence[bool]) -> Floats:
        log_u = np.array([m.log_cdf(X[:, k]) for k, m in enumerate(self.marginals)])
        log_u = np.minimum(log_u, 0.0)
        dead = np.isneginf(log_u).any(axis=0)
        log_u[:, dead] = -1.0
        density = {k: m.log_pdf(X[:, k]) for k, m in enumerate(self.marginals) if wanted[k]}
        shape = [2 if w else 1 for w in wanted]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            table = self._copula_jet(log_u, shape)
            for index in np.ndindex(*shape):
                for k in np.flatnonzero(index).tolist():
                    table[index] = np.where(
                        np.isneginf(density[k]), -np.inf, table[index] + density[k]
                    )
        table[..., dead] = -np.inf
        return np.where(np.isnan(table), -np.inf, table)

    def _copula_jet(self, log_u: Floats, shape: Sequence[int]) -> Floats:
        """Return log ∂_A C(u)."""
        table = np.empty((*shape, log_u.shape[1]))
        if self.family == "independence":
            for index in np.ndindex(*shape):
                table[index] = log_u[np.flatnonzero(np.array(index) == 0)].sum(axis=0)
            return table
        if self.family == "gaussian":
            Z = np.clip(ndtri_exp(log_u), -1e6, 1e6)
            table = self._normal.log_jet(Z.T, [length == 2 for length in shape])
            for index in np.ndindex(*shape):
                for k in np.flatnonzero(index):  # du = φ(z) dz
                    table[index] += 0.5 * Z[k] ** 2 + 0.5 * math.log(2 * math.pi)
            return table
        derivatives = self._generator.derivatives(log_u, sum(length == 2 for length in shape))
        derivatives[0] = np.where((log_u == 0).all(axis=0), 0.0, derivatives[0])
        slopes = self._generator.inverse_slope(log_u)
        for index in np.ndindex(*shape):
            taken = np.flatnonzero(index)
            # |ψ^(m)| Π |(ψ⁻¹)'(u_k)|
            table[index] = derivatives[taken.size] + slopes[taken].sum(axis=0)
        return table

    def log_table_gradient(
        self, X: Floats, wanted: Sequence[bool], steps: Sequence[bool]
    ) -> list[Floats]:
        plain = self.family not in _GENERATORS
        stepped = any(w and s for w, s in zip(wanted, steps))
        if plain or stepped or not np.isfinite(X).all():
            return super().log_table_gradient(X, wanted, steps)
        generator, shape = self._generator, [2 if w else 1 for w in wanted]
        log_u = np.array([m.log_cdf(X[:, k]) for k, m in enumerate(self.marginals)])
        most = sum(length == 2 for length in shape)
        with np.errstate(all="ignore"):
            levels = generator.derivatives(log_u, most + 1)
            slopes, by_theta = generator.inverse_slope(log_u), generator.by_theta(log_u, most)
            bend, bend_theta = generator.inverse_bends(log_u)
            bend = np.broadcast_to(bend, log_u.shape)
            chain = self._theta_slope()
            own = np.empty((*shape, len(X)))
            for index in np.ndindex(*shape):
                taken = np.flatnonzero(index)
                own[index] = chain * (by_theta[taken.size] + bend_theta[taken].sum(axis=0))
            found = [own]
            for k, margin in enumerate(self.marginals):
                for by_cdf, by_pdf in margin.free_slopes(X[:, k]):
                    table = np.empty((*shape, len(X)))
                    for index in np.ndindex(*shape):
                        m = sum(index)
                        # d log |ψ^(m)| / dt = -|ψ^(m+1) / ψ^(m)|, and dt / d log u = -u |(ψ⁻¹)'(u)|
                        at = np.exp(levels[m + 1] - levels[m] + slopes[k] + log_u[k])
                        at = at + bend[k] if index[k] else at
                        table[index] = at * by_cdf + (by_pdf if index[k] else 0.0)
                    found.append(table)
        return [np.where(np.isfinite(table), table, 0.0) for table in found]

    def _theta_slope(self) -> float:
        """Return dθ / d free."""
        theta = self._generator.theta
        return theta * (1.0 - theta) if self.family == "gumbel" else theta

    def draw(self, n: int, random: np.random.RandomState) -> Floats:
        if self.family == "gaussian":
            U = ndtr(self._normal.draw(n, random))
        elif self.family == "independence":
            U = random.uniform(size=(n, self.arity))
        else:
            U = self._generator.draw(n, self.arity, random)
        U = np.clip(U, 1e-300, 1.0 - 1e-16)
        return np.stack([m.quantile(U[:, k]) for k, m in enumerate(self.marginals)], axis=1)

    def marginal(self, kept: Sequence[int]) -> CDFFactor:
        margins = [self.marginals[k] for k in kept]
        if len(margins) == 1:
            return margins[0]
        theta = self.theta
        if self.family == "gaussian":
            theta = self._normal.corr[np.ix_(list(kept), list(kept))]
        return CopulaCDF(self.family, theta, margins)

    def free(self) -> Floats:
        own: ArrayLike
        if self.family == "gumbel":
            theta = min(self._generator.theta, 1 - 1e-9)
            own = [math.log(theta / (1 - theta))]
        elif self.family in _GENERATORS:
            own = [math.log(self._generator.theta)]
        elif self.family == "gaussian" and np.ndim(self.theta) == 0:
            low = -1.0 / (self.arity - 1) if self.arity > 1 else -1.0
            share = (float(self.theta) - low) / (1.0 - low)
            own = [math.log(share / (1 - share))]
        elif self.family == "gaussian":
            chol = np.linalg.cholesky(self._normal.corr)
            own = np.concatenate([chol[i, :i] / chol[i, i] for i in range(1, self.arity)])
        else:
            own = []
        return np.concatenate([own, *(m.free() for m in self.marginals)])

    def freed(self, free: Floats) -> CopulaCDF:
        margins, end = [], free.size
        for margin in reversed(self.marginals):
            size = margin.free().size
            margins.append(margin.freed(free[end - size : end]))
            end -= size
        theta = self.theta
        if self.family == "gumbel":
            theta = max(float(1 / (1 + np.exp(-np.clip(free[0], -30, 30)))), 1e-6)
        elif self.family in _GENERATORS:
            low, high = _RANGES[self.family]
            theta = float(np.clip(np.exp(np.clip(free[0], -50, 50)), 1.01 * low, high))
        elif self.family == "gaussian" and np.ndim(self.theta) == 0:
            low = -1.0 / (self.arity - 1) if self.arity > 1 else -1.0
            share = 1 / (1 + np.exp(-np.clip(free[0], -15, 15)))
            theta = float(low + (1.0 - low) * share)
        elif self.family == "gaussian":
            theta = corr_from_free(free[:end], self.arity)
        return CopulaCDF(self.family, theta, margins[::-1])

    def described(self) -> dict[str, Any]:
        return {"family": self.family, "theta": self.theta, "marginals": self.marginals}
