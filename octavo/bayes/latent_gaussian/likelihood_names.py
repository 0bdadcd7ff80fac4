"""Likelihoods by name, or from a function of one's own."""

from __future__ import annotations

import inspect
from typing import Any

from octavo.engine.estimators.checked import checked
from octavo.engine.sparse_gaussian.likelihoods import FAMILIES, Likelihood, UserLikelihood

__all__ = ["make_likelihood"]


@checked
def make_likelihood(name: Any, **params: Any) -> Likelihood:
    """Return a likelihood for `LatentGaussianModel`.

    Parameters
    ----------
    name : str or callable
        "gaussian" (`variance`), "probit", "logit", "step", "poisson", "binomial",
        "negative-binomial" (`dispersion`: the variance is μ + dispersion μ²), "student-t" (`df`,
        `scale`), "laplace" (`scale`), "stochastic-volatility", "exponential" or "weibull"
        (`shape`); or a function log t(y, x) of arrays that broadcast, the last axis over
        observations. Then `derivatives`, a function (y, x) -> (first, second), saves differences.
    **params : dict
        Parameters of the family.

    Returns
    -------
    likelihood : Likelihood
        The family; ``bind(y)`` gives its terms.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import make_likelihood
    >>> terms = make_likelihood("student-t", df=4.0, scale=0.5).bind(np.array([1.0]))
    >>> round(float(terms.log_density(np.array([0.8]))[0]), 4)
    -0.3857
    """
    if isinstance(name, Likelihood):
        return name
    if callable(name):
        return UserLikelihood(name, **params)
    if name not in FAMILIES:
        raise ValueError(f"likelihood should be one of {sorted(FAMILIES)}, got {name!r}.")
    family = FAMILIES[name]
    known = [p for p in inspect.signature(family).parameters if p not in ("args", "kwargs")]
    unknown = sorted(set(params) - set(known))
    if unknown:
        raise ValueError(
            f"The likelihood {name!r} takes {known or 'no parameters'}, got {unknown[0]!r}."
        )
    return family(**params)
