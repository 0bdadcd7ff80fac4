"""Penalised maximum likelihood by L-BFGS, with a certificate.

Maximises a concave log-likelihood L less a Gaussian and, if asked, a Laplace prior:

    F(x) = L(x) - Σ_k x_k²/(2 σ_k²) - l1 Σ_k |x_k|.

The Gaussian part makes F strongly concave, so that any supergradient g at x bounds how far x is
from the optimum: F* - F(x) ≤ ½ Σ_k σ_k² g_k². With l1 > 0 the problem is solved in the positive
and negative parts of x, which makes it smooth with bounds. Where the σ_k differ, x is measured
in units of them, so that a tight prior on some weights does not slow the others down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from octavo.engine.estimators.arrays import Floats

_HISTORY = 2_000_000  # numbers that may be kept of past steps: more cost more than they save
Likelihood = Callable[[Floats], tuple[float, Floats]]


class PenalizedFit(NamedTuple):
    """The maximiser and how good it is.

    ``gradient_norm`` is the largest entry of the smallest supergradient, each in units of its
    σ_k relative to the largest, divided by the size of the problem; ``gap_bound`` bounds
    F* - F(x); ``trace`` has F after every iteration.
    """

    x: Floats
    objective: float
    gradient_norm: float
    gap_bound: float
    n_iter: int
    converged: bool
    trace: Floats


def maximize_penalized(
    likelihood: Likelihood,
    start: Floats,
    sigma: Floats,
    *,
    l1: float = 0.0,
    size: float = 1.0,
    tol: float = 1e-5,
    max_iter: int = 200,
    step: Callable[[], bool] | None = None,
) -> PenalizedFit:
    """Maximise F; see the module.

    Parameters
    ----------
    likelihood : callable
        Takes x, returns L(x) and its gradient.
    start : ndarray
        Where to begin.
    sigma : ndarray
        Standard deviations of the Gaussian prior, of the shape of x; inf for none.
    l1 : float
        Strength of the Laplace prior.
    size : float
        What the gradient is divided by before it is compared with tol, such as the number of
        observations.
    tol, max_iter : float, int
        When to stop.
    step : callable, optional
        Called after every iteration; returns whether to stop.

    Returns
    -------
    fit : PenalizedFit
        The maximiser with its certificate.
    """
    precision, unit = 1.0 / sigma**2, _units(sigma)
    lasso = l1 * unit / size

    def smooth(x: Floats) -> tuple[float, Floats]:
        value, gradient = likelihood(x)
        return value - 0.5 * float(precision @ (x * x)), gradient - precision * x

    def cost(z: Floats) -> tuple[float, Floats]:
        value, gradient = smooth(unit * z)
        return -value / size, -unit * gradient / size

    def split_cost(parts: Floats) -> tuple[float, Floats]:
        plus, minus = parts.reshape(2, -1)
        value, gradient = cost(plus - minus)
        # x = plus - minus, both >= 0, makes the l1 term linear
        slopes = np.concatenate([gradient + lasso, lasso - gradient])
        return value + float(lasso @ (plus + minus)), slopes

    trace: list[float] = []

    def after(intermediate_result: Any) -> None:
        trace.append(-float(intermediate_result.fun) * size)
        if step is not None and step():
            raise StopIteration

    first = start / unit
    if l1 > 0:
        first = np.concatenate([np.maximum(first, 0), np.maximum(-first, 0)])
    found = minimize(
        split_cost if l1 > 0 else cost,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * first.size if l1 > 0 else None,
        callback=after,
        options={
            "maxiter": max_iter,
            "maxfun": 20 * max_iter,
            "maxcor": int(np.clip(_HISTORY // first.size, 5, 20)),
            "gtol": tol,
            "ftol": 0.0,
        },
    )
    x = unit * (found.x[: start.size] - found.x[start.size :] if l1 > 0 else found.x)
    value, gradient = smooth(x)
    slope = smallest_supergradient(x, gradient, l1)
    norm = float(np.abs(unit * slope).max(initial=0.0)) / size
    with np.errstate(invalid="ignore"):
        # F* - F(x) <= ½ Σ σ² g², from strong concavity
        gap = 0.5 * float(np.sum(np.where(slope == 0, 0.0, sigma**2 * slope**2)))
    objective = value - l1 * float(np.abs(x).sum())
    return PenalizedFit(x, objective, norm, gap, int(found.nit), norm <= tol, np.array(trace))


def _units(sigma: Floats) -> Floats:
    """Return σ relative to the largest finite one; 1 where there is no prior."""
    finite = np.isfinite(sigma)
    largest = sigma[finite].max() if finite.any() else 1.0
    return np.where(finite, np.where(finite, sigma, 0.0) / largest, 1.0)


def smallest_supergradient(x: Floats, gradient: Floats, l1: float) -> Floats:
    """Return the supergradient of F nearest to zero, from the gradient of its smooth part."""
    # 0 lies among the supergradients where |gradient| <= l1
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)
    return np.where(x != 0, gradient - l1 * np.sign(x), at_zero)
