"""How far any logistic-type fit is from its optimum, from a gradient and a lowest eigenvalue.

A function with |third| ≤ R ‖direction‖ second (A2) cannot flatten faster than exp(-R distance).
Where R ‖f'(θ)‖ is less than the lowest eigenvalue μ of the Hessian at θ, an optimum exists
within a known distance. The same proof, centred at the optimum, is Lemma 9 of the paper.

Reference: F. Bach (2014), "Adaptivity of Averaged Stochastic Gradient Descent to Local Strong
Convexity for Logistic Regression", Journal of Machine Learning Research 15: Lemmas 9 and 13.
Appendix F.2 prints ≥ 3μ/(4R) where Lemma 9 needs ≤.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.linear.averaged_sgd.bounds import need_number

__all__ = ["OptimalityCertificate", "local_convexity_bounds", "self_concordance_certificate"]


class OptimalityCertificate(NamedTuple):
    """What is certain about a point: ``excess`` bounds f(θ) - f*, ``distance`` bounds ‖θ - θ*‖.

    Both are infinite where nothing is certain.
    """

    excess: float
    distance: float


def gradient_norm(grad: Any) -> float:
    """Return the norm of a gradient, given as a vector or as its norm."""
    values = real_array(grad, "grad").reshape(-1)
    if not values.size:
        raise ValueError("grad must hold a gradient or its norm; it is empty.")
    largest = float(np.abs(values).max())
    return largest * float(np.linalg.norm(values / largest)) if largest > 0.0 else 0.0


def lowest_eigenvalue(mu: Any) -> float:
    """Return μ, given as a number or as the Hessian; below 0 by rounding is 0."""
    values = real_array(mu, "mu")
    if values.ndim == 2:
        if values.shape[0] != values.shape[1] or not values.size:
            raise ValueError(f"A Hessian given as mu must be square, got shape {values.shape}.")
        if not np.allclose(values, values.T, rtol=1e-8, atol=1e-12 * np.abs(values).max()):
            raise ValueError("A Hessian given as mu must be symmetric; it is not.")
        return max(0.0, float(np.linalg.eigvalsh(values)[0]))
    if values.size != 1:
        raise ValueError(
            f"mu must be the lowest eigenvalue of the Hessian, or the Hessian; got an array of "
            f"shape {values.shape}."
        )
    value = float(values.reshape(-1)[0])
    if value < 0.0:
        raise ValueError(f"mu must not be negative: f is convex; got {value!r}.")
    return value


@checked
def self_concordance_certificate(
    grad: Any, mu: Any, R: float, *, sharp: bool = False
) -> OptimalityCertificate:
    """Return how far a point can be from the optimum of a self-concordant convex function.

    With a = R ‖f'(θ)‖ / μ < 1, ‖θ - θ*‖ ≤ -log(1 - a)/R and f(θ) - f* ≤ ‖f'(θ)‖ (-log(1 - a))/R.

    Parameters
    ----------
    grad : array-like of shape (n_parameters,), or float
        The gradient f'(θ), or its norm.
    mu : float or array-like of shape (n_parameters, n_parameters)
        The lowest eigenvalue of the Hessian f''(θ), or that Hessian. Add the strength of an
        L2 penalty to both the gradient and the eigenvalue for a penalised objective. With μ and
        the Hessian at the optimum instead of at θ the two bounds hold as well (Lemma 13).
    R : float
        The constant of (A2): the length of the longest row for the logistic loss, √2 of it for
        softmax, twice that length for log-cosh, 1.5 times for -yu + √(1 + u²).
    sharp : bool, default=False
        Bound the excess by (μ/R²)(a + (1 - a) log(1 - a)), half as large near the optimum. It
        needs μ at θ itself.

    Returns
    -------
    certificate : OptimalityCertificate
        ``excess`` and ``distance``; infinite when a ≥ 1, as on separable classes or where the
        Hessian is singular, which says that nothing is known, not that the fit is bad.

    See Also
    --------
    local_conditioning : Computes gradient and eigenvalue of a fitted model.

    Examples
    --------
    >>> from octavo.linear import self_concordance_certificate
    >>> excess, distance = self_concordance_certificate([0.003, 0.004], 0.05, R=2.0)
    >>> round(excess, 6), round(distance, 4)
    (0.000558, 0.1116)
    >>> self_concordance_certificate(0.1, 0.05, R=2.0).excess
    inf
    """
    norm, mu = gradient_norm(grad), lowest_eigenvalue(mu)
    R = need_number("R", R, zero=True)
    if norm == 0.0:
        return OptimalityCertificate(0.0, 0.0)
    a = math.inf if mu == 0.0 else R * (norm / mu)  # α of Lemma 13, seen from θ and not from θ*
    if not a < 1.0:
        return OptimalityCertificate(math.inf, math.inf)
    # a / R = ‖f'‖ / μ; for small a, -log(1 - a) = a + a²/2 + ... keeps its digits in log1p
    distance = norm / mu if a < 1e-300 else -math.log1p(-a) / R
    if not sharp:
        return OptimalityCertificate(norm * distance, distance)
    if a < 1e-4:  # the two terms cancel: Σ a^k / (k (k - 1)) from k = 2
        share = 0.5 + a / 6.0 + a * a / 12.0 + a**3 / 20.0
        return OptimalityCertificate(norm * (norm / mu) * share, distance)
    # max over r of ‖f'‖ r - μ (e^{-Rr} + Rr - 1)/R², attained at r = distance
    share = (a + (1.0 - a) * math.log1p(-a)) / (a * a)
    return OptimalityCertificate(norm * (norm / mu) * share, distance)


@checked
def local_convexity_bounds(
    grad: Any, mu: Any, R: float, dist: float | None = None
) -> dict[str, float]:
    """Return the bounds of Lemmas 9 and 13, which know the Hessian at the optimum.

    Parameters
    ----------
    grad : array-like of shape (n_parameters,), or float
        The gradient f'(θ), or its norm.
    mu : float or array-like of shape (n_parameters, n_parameters)
        Lowest eigenvalue of the Hessian at the optimum, or that Hessian.
    R : float
        The constant of (A2).
    dist : float or None, default=None
        ‖θ - θ*‖, where it is known.

    Returns
    -------
    bounds : dict of str to float
        ``lemma_9`` = 2‖f'‖²/μ and ``lemma_9_distance`` = 2‖f'‖/μ where R‖f'‖/μ ≤ 3/4, else
        infinite; ``lemma_13`` = ‖f'‖²/μ · log(1/(1 - a))/a where a = R‖f'‖/μ < 1, else infinite;
        with ``dist``, ``lemma_13_always`` = (1 + R dist) ‖f'‖²/μ, whatever a is.

    Examples
    --------
    >>> from octavo.linear import local_convexity_bounds
    >>> bounds = local_convexity_bounds(0.01, 0.1, R=1.0, dist=0.2)
    >>> {name: round(value, 5) for name, value in bounds.items()}
    {'lemma_9': 0.002, 'lemma_9_distance': 0.2, 'lemma_13': 0.00105, 'lemma_13_always': 0.0012}
    """
    norm, mu = gradient_norm(grad), lowest_eigenvalue(mu)
    R = need_number("R", R, zero=True)
    ratio = norm / mu if mu > 0.0 else (0.0 if norm == 0.0 else math.inf)
    near = R * ratio <= 0.75  # Lemma 9; Appendix F.2 prints the converse
    bounds = {
        "lemma_9": 2.0 * norm * ratio if near else math.inf,
        "lemma_9_distance": 2.0 * ratio if near else math.inf,
        "lemma_13": self_concordance_certificate(norm, mu, R).excess,
    }
    if dist is not None:
        dist = need_number("dist", dist, zero=True)
        # End of Appendix B.1
        bounds["lemma_13_always"] = (1.0 + R * dist) * (norm * ratio if norm > 0.0 else 0.0)
    return bounds
