"""What is proved about the mean of SGD's iterates: bounds, tail bounds and sample sizes.

Reference: F. Bach (2014), "Adaptivity of Averaged Stochastic Gradient Descent to Local Strong
Convexity for Logistic Regression", Journal of Machine Learning Research 15: Lemma 1 to
Proposition 10. Corollary 8 prints 4p/√n where Proposition 7 gives 4p/√N.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from octavo.engine.estimators.checked import checked

__all__ = ["asgd_bounds", "asgd_required_samples"]

MOMENTS = (1, 2, 3)
# Section 4.2: E(...)^p <= (D² + constant n γ² R²)^p, better than Proposition 3 for small p.
SMALL_MOMENTS = {1: 1.0, 2: 9.0, 3: 20.0}


def need_number(name: str, value: Any, *, zero: bool = False, below: float = math.inf) -> float:
    """Return a positive, finite number (0 where allowed), or say what was given instead."""
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    low = is_real and (value >= 0 if zero else value > 0)
    if not (low and value < below):
        least = "not negative" if zero else "positive"
        most = "finite" if below == math.inf else f"below {below:g}"
        raise ValueError(f"{name} must be a number that is {least} and {most}; got {value!r}.")
    return float(value)


def _power(base: float, exponent: int) -> float:
    try:
        return base**exponent
    except OverflowError:
        return math.inf


@checked
def asgd_bounds(
    N: int,
    R: float,
    dist: float,
    mu: float | None = None,
    gamma: float | None = None,
    delta: float | None = None,
) -> dict[str, float | bool]:
    """Return every bound of the paper for the mean of N iterates with a constant step.

    Parameters
    ----------
    N : int
        Number of rows, each used once.
    R : float
        Bound on gradients and on third derivatives (A2, A4): the length of the longest row for
        the logistic loss, twice that for log-cosh, √2 of it for softmax.
    dist : float
        ‖θ_0 - θ*‖, how far the start is from the optimum.
    mu : float or None, default=None
        Lowest eigenvalue of the Hessian at the optimum, for Proposition 10.
    gamma : float or None, default=None
        The constant step; 1/(2 R² √N), the one of the corollaries, by default.
    delta : float or None, default=None
        Probability with which a tail bound may fail, for Proposition 5 and Corollary 6: their
        t is log(2/delta).

    Returns
    -------
    bounds : dict of str to float or bool
        ``gamma``, and by the place in the paper: ``lemma_1`` (on E f(θ̄) - f*),
        ``lemma_1_distance`` (on E‖θ_N - θ*‖²), ``proposition_3_p1`` to ``_p3`` and
        ``section_4_2_p1`` to ``_p3`` (on E(2γN[f(θ̄) - f*] + ‖θ_N - θ*‖²)^p, the latter with the
        better constants for small p), ``proposition_7_p1`` to ``_p3`` (on
        (E‖f'(θ̄)‖^2p)^(1/2p)); with ``delta``, ``proposition_5`` and ``proposition_5_distance``
        (on f(θ̄) - f* and ‖θ_N - θ*‖²). For the default step also ``corollary_2`` and
        ``corollary_2_distance``, ``corollary_4_p1`` to ``_p3`` and
        ``corollary_4_distance_p1`` to ``_p3``, ``corollary_8_p1`` to ``_p3``, with ``delta``
        ``corollary_6`` and ``corollary_6_distance``, and with ``mu`` ``proposition_10``,
        ``proposition_10_distance`` (on E‖θ̄ - θ*‖²) and ``vacuous``: whether Proposition 10 says
        no more than that f falls by at most R times the distance, or than Lemma 1.

    See Also
    --------
    self_concordance_certificate : A bound for the model at hand, usually far better.

    Examples
    --------
    >>> from octavo.linear import asgd_bounds
    >>> found = asgd_bounds(10_000, R=1.0, dist=2.5, mu=0.029)
    >>> round(found["corollary_2"], 3), found["vacuous"]
    (0.065, True)
    """
    if isinstance(N, bool) or not hasattr(N, "__index__") or not 1 <= int(N) <= 2**63:
        raise ValueError(f"N must be a whole number from 1 to 2**63, got {N!r}.")
    n, R = float(int(N)), need_number("R", R)
    D = need_number("dist", dist, zero=True)
    root = math.sqrt(n)
    usual = gamma is None
    # Steps are used squared and inverted; numbers beyond doubles become infinite bounds.
    # γ of Corollaries 2, 4, 6 and 8
    step = 1.0 / (2.0 * R * R * root) if usual and R * R > 0.0 else gamma
    step = need_number("gamma", math.inf if step is None else step)
    mu = None if mu is None else need_number("mu", mu)
    # 2 e^-t = delta
    t = None if delta is None else math.log(2.0 / need_number("delta", delta, below=1.0))
    bounds: dict[str, float | bool] = {"gamma": step}
    bounds |= _expectations(n, R, D, step)
    if t is not None:
        bounds["proposition_5"] = 30.0 * step * R * R * t + 3.0 * D * D / (step * n)
        bounds["proposition_5_distance"] = 60.0 * n * step * step * R * R * t + 6.0 * D * D
    if usual:
        bounds |= _corollaries(n, R, D, t)
        bounds |= {} if mu is None else _locally_convex(n, R, D, mu)
    return bounds


def _expectations(n: float, R: float, D: float, step: float) -> dict[str, float]:
    """Return the bounds for any constant step."""
    noise = n * step * step * R * R
    found = {
        "lemma_1": D * D / (2.0 * step * n) + 0.5 * step * R * R,
        "lemma_1_distance": D * D + noise,
    }
    for p in MOMENTS:
        found[f"proposition_3_p{p}"] = _power(3.0 * D * D + 20.0 * p * noise, p)
        found[f"section_4_2_p{p}"] = _power(D * D + SMALL_MOMENTS[p] * noise, p)
        root = math.sqrt(n)
        found[f"proposition_7_p{p}"] = (R / root) * (
            8.0 * math.sqrt(p)
            + 4.0 * p / root
            + 40.0 * R * R * step * p * root
            + 3.0 * D * D / (step * root)
            + 3.0 * D / (step * R * root)
        )
    return found


def _corollaries(n: float, R: float, D: float, t: float | None) -> dict[str, float]:
    """Return the bounds for γ = 1/(2 R² √N)."""
    root, far = math.sqrt(n), R * R * D * D
    found = {
        "corollary_2": far / root + 1.0 / (4.0 * root),
        "corollary_2_distance": D * D + 1.0 / (4.0 * R * R),
    }
    for p in MOMENTS:
        found[f"corollary_4_p{p}"] = _power((3.0 * far + 5.0 * p) / root, p)
        found[f"corollary_4_distance_p{p}"] = _power((3.0 * far + 5.0 * p) / (R * R), p)
        found[f"corollary_8_p{p}"] = (R / root) * (
            8.0 * math.sqrt(p) + 4.0 * p / root + 20.0 * p + 6.0 * far + 6.0 * R * D
        )  # N, where Corollary 8 prints n
    if t is not None:
        found["corollary_6"] = (15.0 * t + 6.0 * far) / root
        found["corollary_6_distance"] = 15.0 * t / (R * R) + 6.0 * D * D
    return found


def _locally_convex(n: float, R: float, D: float, mu: float) -> dict[str, float | bool]:
    """Return Proposition 10, and whether it says anything."""
    excess = R * R / (n * mu) * _power(5.0 * R * D + 15.0, 4)
    # f - f* <= R D by (A4), and Corollary 2
    known = min(R * D, R * R * D * D / math.sqrt(n) + 1.0 / (4.0 * math.sqrt(n)))
    return {
        "proposition_10": excess,
        "proposition_10_distance": R * R / (n * mu * mu) * _power(6.0 * R * D + 21.0, 4),
        "vacuous": excess >= known,
    }


@checked
def asgd_required_samples(eps: float, R: float, dist: float, mu: float | None = None) -> int:
    """Return how many rows make the proved expected excess risk at most eps.

    Parameters
    ----------
    eps : float
        Excess risk, E f(θ̄_N) - f*, that is wanted.
    R : float
        Bound on gradients and third derivatives, as for `asgd_bounds`.
    dist : float
        ‖θ_0 - θ*‖.
    mu : float or None, default=None
        Lowest eigenvalue of the Hessian at the optimum; None leaves Corollary 2 alone.

    Returns
    -------
    n_samples : int
        The smaller of what Corollary 2 and, with ``mu``, Proposition 10 ask for. Both are for
        the step 1/(2 R² √N), and both are far above what is needed in practice: see
        `local_conditioning` for an estimate.

    Examples
    --------
    >>> from octavo.linear import asgd_required_samples
    >>> asgd_required_samples(0.1, R=1.0, dist=1.0)
    157
    >>> asgd_required_samples(1e-9, R=1.0, dist=1.0, mu=0.1) < asgd_required_samples(1e-9, 1.0, 1.0)
    True
    """
    eps, R = need_number("eps", eps), need_number("R", R)
    D = need_number("dist", dist, zero=True)
    slow = _power((R * R * D * D + 0.25) / eps, 2)  # Corollary 2 solved for N
    fast = math.inf
    if mu is not None:
        # Proposition 10 solved for N
        fast = R * R / (need_number("mu", mu) * eps) * _power(5.0 * R * D + 15.0, 4)
    wanted = min(slow, fast)
    if not wanted < 2**63:
        raise ValueError(
            f"The bounds ask for {wanted:.3g} rows, more than can be counted; take a larger eps."
        )
    return max(1, math.ceil(wanted))
