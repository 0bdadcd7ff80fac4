"""Families of responses: what a variational mixed model asks of a likelihood.

A family holds the response and its weights. `terms` gives expected log-likelihood and derivatives
at the moments of the linear predictor; `refreshed` is the family after its own parameters (a noise
variance, a dispersion) took their best values; `response` maps the moments to the mean of y.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit

from octavo.engine.estimators.arrays import Floats
from octavo.engine.variational.expected_likelihoods import (
    ExpectedTerms,
    binomial_terms,
    gaussian_terms,
    negative_binomial_terms,
    poisson_terms,
    quadrature_terms,
    softplus_moments,
)
from octavo.engine.variational.variance_components import (
    VarianceComponent,
    bound_terms,
    new_component,
    updated,
)

FAMILIES = ("poisson", "binomial", "negbinomial", "gaussian")


@dataclass(frozen=True)
class Family:
    """Poisson counts, and what the other families share."""

    y: Floats
    weight: Floats
    n_nodes: int = 20

    def start(self) -> Floats:
        """Return a linear predictor near the data."""
        return np.log(self.y + 0.5)

    def row_terms(self, m: Floats, v: Floats) -> ExpectedTerms:
        """Return the terms of rows of weight one."""
        return poisson_terms(self.y, m, v)

    def terms(self, m: Floats, v: Floats) -> ExpectedTerms:
        """Return the weighted terms."""
        return ExpectedTerms(*(self.weight * part for part in self.row_terms(m, v)))

    def log_likelihood(self, terms: ExpectedTerms, m: Floats, v: Floats) -> float:
        """Return the expected log-likelihood, with what the family's own parameters add."""
        return float(terms.value.sum())

    def refreshed(self, m: Floats, v: Floats) -> Family:
        """Return the family with the best values of its own parameters."""
        return self

    def response(self, m: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of the mean response, over the posterior."""
        mean = np.exp(m + 0.5 * v)
        return mean, mean * np.sqrt(np.expm1(v))  # moments of exp(N(m, v))

    def inverse_link(self, eta: Floats) -> Floats:
        """Return the mean response at a linear predictor."""
        return np.exp(eta)


@dataclass(frozen=True)
class Binomial(Family):
    """Shares of successes, with the logistic link; weights are numbers of trials."""

    def start(self) -> Floats:
        """Return shrunken log-odds."""
        return logit((self.weight * self.y + 0.5) / (self.weight + 1.0))

    def row_terms(self, m: Floats, v: Floats) -> ExpectedTerms:
        """Return the terms of rows of weight one."""
        return binomial_terms(self.y, m, v, self.n_nodes)

    def response(self, m: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of the chance: E p^2 = E p - E p(1 - p)."""
        _, mean, slope = softplus_moments(m, v, self.n_nodes)
        return mean, np.sqrt(np.maximum(mean - slope - mean**2, 0.0))

    def inverse_link(self, eta: Floats) -> Floats:
        """Return the chance at a linear predictor."""
        return expit(eta)


@dataclass(frozen=True)
class NegativeBinomial(Family):
    """Counts with variance mu + dispersion mu^2; the dispersion is known or maximises the bound."""

    dispersion: float = 1.0
    known: bool = False

    def row_terms(self, m: Floats, v: Floats) -> ExpectedTerms:
        """Return the terms of rows of weight one."""
        return negative_binomial_terms(self.y, m, v, self.dispersion, self.n_nodes)

    def refreshed(self, m: Floats, v: Floats) -> Family:
        """Return the family with a dispersion of higher bound, within a factor e of the old one."""
        if self.known:
            return self

        def loss(log_dispersion: float) -> float:
            other = replace(self, dispersion=float(np.exp(log_dispersion)))
            return -float(other.terms(m, v).value.sum())

        here = float(np.log(self.dispersion))
        # Beyond these the family is Poisson, or a count of zeros, in double precision.
        ends = (max(here - 1.0, -16.0), min(here + 1.0, 16.0))
        best = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-7})
        better = best.fun < loss(here)
        return replace(self, dispersion=float(np.exp(best.x))) if better else self


@dataclass(frozen=True)
class Gaussian(Family):
    """Normal responses whose noise variance has a Half-Cauchy prior on its root."""

    noise: VarianceComponent | None = None

    @property
    def component(self) -> VarianceComponent:
        """The posterior of the noise variance."""
        assert self.noise is not None
        return self.noise

    def start(self) -> Floats:
        """Return the response."""
        return self.y.copy()

    def row_terms(self, m: Floats, v: Floats) -> ExpectedTerms:
        """Return the terms of rows of weight one, but for the log of the noise variance."""
        return gaussian_terms(self.y, m, v, float(self.component.precision[0, 0]))

    def squares(self, m: Floats, v: Floats) -> Floats:
        """Return the expected weighted sum of squared residuals, as a matrix."""
        return np.array([[self.weight @ ((self.y - m) ** 2 + v)]])  # E (y - η)² = (y - m)² + v

    def log_likelihood(self, terms: ExpectedTerms, m: Floats, v: Floats) -> float:
        """Return all that y, its variance and the auxiliary variable add to the bound."""
        return bound_terms(self.component, self.squares(m, v))

    def refreshed(self, m: Floats, v: Floats) -> Family:
        """Return the family after the two updates of the noise."""
        return replace(self, noise=updated(self.component, self.squares(m, v)))

    def response(self, m: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Return the moments themselves."""
        return m, np.sqrt(v)

    def inverse_link(self, eta: Floats) -> Floats:
        """Return the linear predictor."""
        return eta


@dataclass(frozen=True)
class UserFamily(Family):
    """Any family, by its log-likelihood and derivative; predictions are linear predictors."""

    log_density: Callable[[Floats, Floats], Any] | None = None

    def start(self) -> Floats:
        """Return zero."""
        return np.zeros_like(self.y)

    def row_terms(self, m: Floats, v: Floats) -> ExpectedTerms:
        """Return the terms of rows of weight one."""
        assert self.log_density is not None
        return quadrature_terms(self.y, m, v, self.log_density, self.n_nodes)

    def response(self, m: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Return the moments themselves."""
        return m, np.sqrt(v)

    def inverse_link(self, eta: Floats) -> Floats:
        """Return the linear predictor."""
        return eta


def check_response(family: Any, y: Floats) -> None:
    """Refuse responses that the family cannot have, naming the first row."""
    if family in ("poisson", "negbinomial"):
        wrong = np.flatnonzero((y < 0) | (y != np.floor(y)))
        what = "whole numbers that are not negative"
    elif family == "binomial":
        wrong = np.flatnonzero((y < 0) | (y > 1))
        what = "shares of successes between 0 and 1 (numbers of trials go into sample_weight)"
    else:
        return
    if wrong.size:
        i = int(wrong[0])
        raise ValueError(f"y must hold {what} for family={family!r}; y[{i}] is {y[i]:g}.")


def make_family(
    family: Any, y: Floats, weight: Floats, *, n_nodes: int, spread: float, dispersion: Any
) -> Family:
    """Return the family of a name, or of a user's function.

    Parameters
    ----------
    family : str or callable
        One of `FAMILIES`, or (y, eta) -> (log-likelihood, derivative).
    y, weight : ndarray of shape (n,)
        Responses and weights.
    n_nodes : int
        Nodes of quadratures.
    spread : float
        Scale of the Half-Cauchy prior of a noise.
    dispersion : float or None
        Of the negative binomial family; None to choose it.

    Returns
    -------
    family : Family
        Ready for terms.
    """
    check_response(family, y)
    if callable(family):
        return UserFamily(y, weight, n_nodes, family)
    if family == "binomial":
        return Binomial(y, weight, n_nodes)
    if family == "negbinomial":
        known = dispersion is not None
        return NegativeBinomial(y, weight, n_nodes, float(dispersion) if known else 0.5, known)
    if family == "gaussian":
        total = float(weight.sum())
        center = float(weight @ y) / total
        # the noise begins at the spread of the response
        start = float(weight @ (y - center) ** 2) / total
        noise = new_component(total, 1, spread, start if start > 0 else 1.0)
        return Gaussian(y, weight, n_nodes, noise)
    return Family(y, weight, n_nodes)
