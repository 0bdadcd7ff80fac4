"""What theory promises about Fourier features: how many, from how many rows, how close.

Reference: thesis on kernel-based greedy algorithms (D. Oglic), Chapter 3: Corollary 3.3,
Eq. (3.2), Proposition 3.13 and Theorem 3.14.
"""

from __future__ import annotations

import math
from numbers import Integral, Real

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, validate_params

__all__ = [
    "greedy_rate_bound",
    "greedy_sample_size",
    "pointwise_fourier_bound",
    "uniform_fourier_bound",
]

_POSITIVE = [Interval(Real, 0, None, closed="neither")]
_NONNEGATIVE = [Interval(Real, 0, None, closed="left")]
_COUNT = [Interval(Integral, 1, None, closed="left")]


@checked
@validate_params(
    {"n_features": _COUNT, "radius": _POSITIVE, "slack": _NONNEGATIVE},
    prefer_skip_nested_validation=True,
)
def greedy_rate_bound(n_features, radius, slack=0.0):
    """Bound the distance of a greedy sequence from its target (Corollary 3.3).

    ‖f_m − f‖ ≤ (K + ε)/√m · √(2 + log₂ m / 2m) for steps f_{m+1} = (m f_m + g_m)/(m + 1).

    Parameters
    ----------
    n_features : int
        Number m of features.
    radius : float
        K: no feature is farther from the target than this.
    slack : float, default=0.0
        ε, by how much a step may miss the best feature; see Theorem 3.2.

    Returns
    -------
    bound : float
        On the distance in L²(ρ), if the target is in the closed convex hull of the features.

    References
    ----------
    .. [1] D. Oglic (2018). "Constructive Approximation and Learning by Greedy Algorithms".
       PhD thesis, University of Bonn. Corollary 3.3.

    Examples
    --------
    >>> from octavo.kernel import greedy_rate_bound
    >>> round(greedy_rate_bound(100, 2.0), 4)
    0.2852
    """
    m = n_features
    return (radius + slack) / math.sqrt(m) * math.sqrt(2.0 + math.log2(m) / (2.0 * m))


@checked
@validate_params(
    {
        "epsilon": _POSITIVE,
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "bound": _POSITIVE,
        "amplitude": _POSITIVE,
        "frequency": _POSITIVE,
        "offset": _NONNEGATIVE,
        "radius": _POSITIVE,
        "lipschitz": _POSITIVE,
    },
    prefer_skip_nested_validation=True,
)
def greedy_sample_size(
    epsilon, delta, *, bound, amplitude, frequency, offset=math.pi, radius, lipschitz=1.0
):
    """Return how many rows make fitting residuals consistent, Eq. (3.2).

    n ≥ 288M²/ε · [192 r (Rs + t) M L_φ/ε · ln 2 + ln(2⌈48Mr/ε⌉ + 1) + ln(1/δ)].

    Parameters
    ----------
    epsilon : float
        Excess squared error ε that is allowed.
    delta : float
        Chance δ that it is exceeded.
    bound : float
        M: no hypothesis errs by more than this, almost surely.
    amplitude : float
        r, largest amplitude of a ridge-wave function.
    frequency : float
        s, largest norm of a frequency.
    offset : float, default=π
        t, largest phase.
    radius : float
        R, radius of a ball that holds the rows.
    lipschitz : float, default=1.0
        L_φ, Lipschitz constant of the ridge function; 1 for the cosine.

    Returns
    -------
    n : int
        Number of rows.

    References
    ----------
    .. [1] D. Oglic (2018). "Constructive Approximation and Learning by Greedy Algorithms".
       PhD thesis, University of Bonn. Eq. (3.2).

    Examples
    --------
    >>> from octavo.kernel import greedy_sample_size
    >>> greedy_sample_size(0.5, 0.05, bound=1.0, amplitude=1.0, frequency=1.0, radius=1.0)
    639718
    """
    M, r = bound, amplitude
    covering = 192.0 * r * (radius * frequency + offset) * M * lipschitz / epsilon * math.log(2.0)
    levels = math.log(2.0 * math.ceil(48.0 * M * r / epsilon) + 1.0)
    return math.ceil(288.0 * M**2 / epsilon * (covering + levels + math.log(1.0 / delta)))


@checked
@validate_params({"n_components": _COUNT, "epsilon": _POSITIVE}, prefer_skip_nested_validation=True)
def pointwise_fourier_bound(n_components, epsilon):
    """Bound the chance that random Fourier features miss one kernel value (Prop. 3.13).

    P(\\|ζ(x)·ζ(x′) − k(x, x′)\\| ≥ ε) ≤ 2 exp(−mε²/4).

    Parameters
    ----------
    n_components : int
        Number m of features √2 cos(w·x + b).
    epsilon : float
        ε.

    Returns
    -------
    probability : float
        At most 1.

    Notes
    -----
    The products of two features lie in [−2, 2], for which Hoeffding's inequality gives the
    exponent −mε²/8; the printed constant is that of Rahimi and Recht.

    References
    ----------
    .. [1] A. Rahimi and B. Recht (2008). "Random features for large-scale kernel machines".
       NIPS 20.

    Examples
    --------
    >>> from octavo.kernel import pointwise_fourier_bound
    >>> round(pointwise_fourier_bound(2000, 0.1), 4)
    0.0135
    """
    return min(1.0, 2.0 * math.exp(-n_components * epsilon**2 / 4.0))


@checked
@validate_params(
    {
        "n_components": _COUNT,
        "epsilon": _POSITIVE,
        "n_features": _COUNT,
        "diameter": _POSITIVE,
        "second_moment": _POSITIVE,
    },
    prefer_skip_nested_validation=True,
)
def uniform_fourier_bound(n_components, epsilon, *, n_features, diameter, second_moment):
    """Bound the chance that random Fourier features miss any kernel value (Theorem 3.14).

    P(sup ≥ ε) ≤ 256 (Rγ/ε)² exp(−mε²/(4(d + 2))), with γ² = E|w|².

    Parameters
    ----------
    n_components : int
        Number m of features.
    epsilon : float
        ε.
    n_features : int
        Dimension d of the rows.
    diameter : float
        R, diameter of a set that holds the rows.
    second_moment : float
        γ² = E|w|²; d/θ² for the Gaussian kernel. (The text calls γ itself the second moment,
        and then computes its square.)

    Returns
    -------
    probability : float
        At most 1.

    References
    ----------
    .. [1] A. Rahimi and B. Recht (2008). "Random features for large-scale kernel machines".
       NIPS 20.

    Examples
    --------
    >>> from octavo.kernel import uniform_fourier_bound
    >>> p = uniform_fourier_bound(30_000, 0.1, n_features=2, diameter=4.0, second_moment=2.0)
    >>> f"{p:.1g}"
    '0.006'
    """
    decay = math.exp(-n_components * epsilon**2 / (4.0 * (n_features + 2)))
    return min(1.0, 256.0 * diameter**2 * second_moment / epsilon**2 * decay)
