"""What theory says about learning with M kernels under an lp norm, and a change of parameters.

Bounds on the Rademacher complexity and on the risk of lp-norm multiple kernel learning, and the
constants that turn its Ivanov form (||θ|| ≤ 1, one parameter C) into its Tikhonov form
(a penalty μ||θ||², two parameters) and back, with the same classifier.

Reference: M. Kloft, U. Brefeld, S. Sonnenburg and A. Zien (2011), "lp-Norm Multiple Kernel
Learning", Journal of Machine Learning Research 12: Theorem 1 and Corollaries 9 to 11.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import NamedTuple

from scipy.optimize import brentq

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, validate_params

__all__ = [
    "TikhonovForm",
    "ivanov_to_tikhonov",
    "mkl_margin_bound",
    "mkl_rademacher_bound",
    "mkl_risk_bound",
    "tikhonov_to_ivanov",
]

_C = 23.0 / 22.0
_SAMPLE = {
    "n_kernels": [Interval(Integral, 2, None, closed="left")],
    "p": [Interval(Real, 1, math.inf, closed="both")],
    "radius": [Interval(Real, 0, None, closed="left")],
    "n_samples": [Interval(Integral, 1, None, closed="left")],
}
_CHANCE = Interval(Real, 0, 1, closed="neither")


@checked
@validate_params(
    {**_SAMPLE, "block_norm": [Interval(Real, 0, None, closed="neither")]},
    prefer_skip_nested_validation=True,
)
def mkl_rademacher_bound(n_kernels, p, radius, n_samples, *, block_norm=1.0):
    """Bound the Rademacher complexity of lp-norm multiple kernel learning (Corollary 9).

    Parameters
    ----------
    n_kernels : int
        Number M of kernels, at least 2.
    p : float
        Norm of the kernel weights, from 1 to infinity.
    radius : float
        R with k_m(x, x) ≤ R² for all x and m.
    n_samples : int
        Number of samples.
    block_norm : float, default=1.0
        Largest (Σ ||w_m||^q)^(1/q), q = 2p/(p+1), of the hypotheses (Section 5.1).

    Returns
    -------
    float
        The bound.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg and Zien (2011). lp-Norm Multiple Kernel Learning. JMLR 12.

    Examples
    --------
    >>> from octavo.kernel import mkl_rademacher_bound
    >>> round(mkl_rademacher_bound(50, 1.0, 1.0, 1000), 3)
    0.107
    >>> round(mkl_rademacher_bound(50, 2.0, 1.0, 1000), 3)
    0.122
    """
    one_over_dual = 1.0 - 1.0 / p  # 1/p*
    # ⌈p*⌉ is infinite at p = 1, and 1 at p = ∞ where the conversion starts from q = ⌈p*⌉* = 2.
    dual = math.inf if p == 1.0 else max(2.0, float(math.ceil(1.0 / one_over_dual - 1e-12)))
    growth = min(math.e * math.ceil(math.log(n_kernels)), dual)
    inside = _C * n_kernels**one_over_dual * (radius * block_norm) ** 2 * growth / n_samples
    return math.sqrt(inside)


@checked
@validate_params(
    {
        **_SAMPLE,
        "empirical_risk": [Interval(Real, 0, None, closed="left")],
        "lipschitz": [Interval(Real, 0, None, closed="left")],
        "delta": [_CHANCE],
        "block_norm": [Interval(Real, 0, None, closed="neither")],
    },
    prefer_skip_nested_validation=True,
)
def mkl_risk_bound(
    empirical_risk, n_kernels, p, radius, n_samples, *, lipschitz=1.0, delta=0.05, block_norm=1.0
):
    """Bound the error rate from the mean loss on the sample (Corollary 10).

    Parameters
    ----------
    empirical_risk : float
        Mean over the sample of a loss with values in [0, 1] that is at least 1 where the sign is
        wrong.
    n_kernels : int
        Number M of kernels, at least 2.
    p : float
        Norm of the kernel weights, from 1 to infinity.
    radius : float
        R with k_m(x, x) ≤ R² for all x and m.
    n_samples : int
        Number of samples.
    lipschitz : float, default=1.0
        Lipschitz constant of the loss.
    delta : float, default=0.05
        Chance that the bound fails.
    block_norm : float, default=1.0
        Largest (Σ ||w_m||^q)^(1/q), q = 2p/(p+1), of the hypotheses (Section 5.1).

    Returns
    -------
    float
        What the error rate exceeds with probability `delta` at most; often above 1, where it
        says nothing.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg and Zien (2011). lp-Norm Multiple Kernel Learning. JMLR 12.

    Examples
    --------
    >>> from octavo.kernel import mkl_risk_bound
    >>> round(mkl_risk_bound(0.1, 50, 4 / 3, 1.0, 100_000), 3)
    0.146
    """
    complexity = mkl_rademacher_bound(n_kernels, p, radius, n_samples, block_norm=block_norm)
    spread = math.sqrt(math.log(2.0 / delta) / (2.0 * n_samples))
    return empirical_risk + 4.0 * lipschitz * complexity + spread


@checked
@validate_params(
    {
        **_SAMPLE,
        "margin_risk": [Interval(Real, 0, None, closed="left")],
        "margin": [Interval(Real, 0, None, closed="neither")],
        "delta": [_CHANCE],
        "block_norm": [Interval(Real, 0, None, closed="neither")],
    },
    prefer_skip_nested_validation=True,
)
def mkl_margin_bound(
    margin_risk, margin, n_kernels, p, radius, n_samples, *, delta=0.05, block_norm=1.0
):
    """Bound the error rate from the margins on the sample (Corollary 11).

    Parameters
    ----------
    margin_risk : float
        Mean over the sample of min(1, max(0, 1 - y h(x) / margin)).
    margin : float
        The margin γ, fixed before the sample was seen.
    n_kernels : int
        Number M of kernels, at least 2.
    p : float
        Norm of the kernel weights, from 1 to infinity.
    radius : float
        R with k_m(x, x) ≤ R² for all x and m.
    n_samples : int
        Number of samples.
    delta : float, default=0.05
        Chance that the bound fails.
    block_norm : float, default=1.0
        Largest (Σ ||w_m||^q)^(1/q), q = 2p/(p+1), of the hypotheses (Section 5.1).

    Returns
    -------
    float
        What the error rate exceeds with probability `delta` at most.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg and Zien (2011). lp-Norm Multiple Kernel Learning. JMLR 12.

    Examples
    --------
    >>> from octavo.kernel import mkl_margin_bound
    >>> round(mkl_margin_bound(0.1, 0.5, 50, 4 / 3, 1.0, 100_000), 3)
    0.189
    """
    return mkl_risk_bound(
        margin_risk,
        n_kernels,
        p,
        radius,
        n_samples,
        lipschitz=1.0 / margin,
        delta=delta,
        block_norm=block_norm,
    )


class TikhonovForm(NamedTuple):
    """C and μ of the penalised problem, and by how much its weights exceed those of ||θ|| ≤ 1."""

    C: float
    mu: float
    weight_scale: float


@checked
@validate_params(
    {
        "C": [Interval(Real, 0, None, closed="neither")],
        "block_penalty": [Interval(Real, 0, None, closed="neither")],
        "mu": [Interval(Real, 0, None, closed="neither")],
    },
    prefer_skip_nested_validation=True,
)
def ivanov_to_tikhonov(C, block_penalty, mu=1.0):
    """Return the penalised problem that has the same solution as ||θ|| ≤ 1 (Theorem 1).

    The fitted w minimises C Σ loss + ½ Σ ||w_m||²/θ_m subject to ||θ|| ≤ 1. With the weights c θ it
    also minimises C' Σ loss + ½ Σ ||w_m||²/θ_m + μ ||θ||², where c³ = Σ ||w_m||²/θ_m / (4μ) and
    C' = C / c.

    Parameters
    ----------
    C : float
        Of the constrained problem.
    block_penalty : float
        Σ ||w_m||²/θ_m of its solution: ``(kernel_norms_**2 / weights_)[weights_ > 0].sum()``.
    mu : float, default=1.0
        Strength of the penalty μ ||θ||².

    Returns
    -------
    TikhonovForm
        ``C``, ``mu`` and ``weight_scale`` c.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg and Zien (2011). lp-Norm Multiple Kernel Learning. JMLR 12.

    Examples
    --------
    >>> from octavo.kernel import ivanov_to_tikhonov
    >>> ivanov_to_tikhonov(1.0, block_penalty=32.0, mu=1.0)
    TikhonovForm(C=0.5, mu=1.0, weight_scale=2.0)
    """
    scale = (block_penalty / (4.0 * mu)) ** (1.0 / 3.0)
    return TikhonovForm(C / scale, float(mu), scale)


@checked
def tikhonov_to_ivanov(
    block_penalty: Callable[[float], float], C: float, mu: float, *, tol: float = 1e-6
) -> float:
    """Return the C of ||θ|| ≤ 1 that has the solution of the penalised problem (Theorem 1).

    Parameters
    ----------
    block_penalty : callable
        Fits the constrained problem at the C that it is given and returns Σ ||w_m||²/θ_m.
    C : float
        Of the penalised problem C Σ loss + ½ Σ ||w_m||²/θ_m + μ ||θ||².
    mu : float
        Strength of its penalty.
    tol : float, default=1e-6
        Precision of the answer, relative.

    Returns
    -------
    float
        The C of the constrained problem.

    Notes
    -----
    The answer is C' c with c³ = Σ ||w_m||²/θ_m / (4μ) at the answer itself. The penalty grows with
    the C of the constrained problem no faster than C², so that there is exactly one crossing; it
    is bracketed and found by Brent's method, at the cost of some ten fits.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg and Zien (2011). lp-Norm Multiple Kernel Learning. JMLR 12.

    Examples
    --------
    >>> from octavo.kernel import tikhonov_to_ivanov
    >>> round(tikhonov_to_ivanov(lambda C: 32.0 * C, C=0.5, mu=1.0), 4)
    1.0
    """
    if not (C > 0 and mu > 0):
        raise ValueError(f"C and mu must be positive, got C={C!r} and mu={mu!r}.")

    def excess(log_c: float) -> float:
        scale = (block_penalty(C * math.exp(log_c)) / (4.0 * mu)) ** (1.0 / 3.0)
        return log_c - math.log(max(scale, 1e-300))

    low = high = 0.0
    if excess(0.0) < 0:
        while excess(high := high + 1.0) < 0:
            low = high
    else:
        while excess(low := low - 1.0) > 0:
            high = low
    root = brentq(excess, low, high, xtol=tol)
    return C * math.exp(float(root))
