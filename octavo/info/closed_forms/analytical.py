"""Closed forms: what the estimators should find on normal, uniform and exponential samples.

`analytical_value` returns the true value of a measure between distributions, `quick_test` holds an
estimator against it. Most values follow from one integral, ∫ p^a q^b, which each family knows; a
measure that no closed form gives for a family raises NotImplementedError.

Reference: Szabó (2014), "Information theoretical estimators toolbox", JMLR 15:283-287, section 2,
"quick tests".
"""

from __future__ import annotations

import importlib
import inspect
import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo._names import UnknownNameError
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.info.closed_forms.families import (
    Family,
    Normal,
    Uniform,
    expected_rbf,
    k_divergence,
    kl,
    log_power_integral,
    mean_distance,
    mixture_power,
    mixture_shannon,
    not_known,
    shannon,
)
from octavo.info.entropies.knn import renyi_from_power, sharma_mittal_from_power, tsallis_from_power

__all__ = ["QuickTest", "analytical_value", "quick_test"]


_FORMS: dict[tuple[str, str], Callable[..., float]] = {}


def closed_form(kind: str, measure: str) -> Callable[[Callable[..., float]], Callable[..., float]]:
    """Register the true value of a measure: a function of p (and q) and of named parameters."""

    def register(form: Callable[..., float]) -> Callable[..., float]:
        _FORMS[kind, measure] = form
        return form

    return register


@closed_form("entropy", "shannon")
def _shannon(p):
    return shannon(p)


@closed_form("entropy", "renyi")
def _renyi(p, *, alpha):
    return renyi_from_power(log_power_integral(p, alpha), alpha)


@closed_form("entropy", "tsallis")
def _tsallis(p, *, alpha):
    return tsallis_from_power(log_power_integral(p, alpha), alpha)


@closed_form("entropy", "sharma_mittal")
def _sharma_mittal(p, *, alpha, beta):
    return sharma_mittal_from_power(log_power_integral(p, alpha), alpha, beta)


@closed_form("entropy", "phi")
def _phi(p, *, phi=None):
    if phi is None:
        return shannon(p)
    if not isinstance(p, Uniform):
        raise not_known(p, "the Φ-entropy")
    return float(phi(np.array([1.0 / p.volume]))[0])


@closed_form("cross_entropy", "shannon")
def _cross_entropy(p, q):
    return shannon(p) + kl(p, q)


@closed_form("divergence", "kl")
def _kl(p, q):
    return kl(p, q)


@closed_form("divergence", "renyi")
def _renyi_divergence(p, q, *, alpha):
    return log_power_integral(p, alpha, q, 1.0 - alpha) / (alpha - 1.0)


@closed_form("divergence", "tsallis")
def _tsallis_divergence(p, q, *, alpha):
    # expm1 keeps the digits near α = 1
    return math.expm1(log_power_integral(p, alpha, q, 1.0 - alpha)) / (alpha - 1.0)


@closed_form("divergence", "sharma_mittal")
def _sharma_mittal_divergence(p, q, *, alpha, beta):
    log_integral = log_power_integral(p, alpha, q, 1.0 - alpha)
    return math.expm1(log_integral * (1.0 - beta) / (1.0 - alpha)) / (beta - 1.0)


@closed_form("divergence", "bhattacharyya")
def _bhattacharyya(p, q):
    return -log_power_integral(p, 0.5, q, 0.5)


@closed_form("divergence", "hellinger")
def _hellinger(p, q, *, squared=False):
    square = -math.expm1(log_power_integral(p, 0.5, q, 0.5))
    return square if squared else math.sqrt(square)


@closed_form("divergence", "chi2")
def _chi2(p, q):
    return math.expm1(log_power_integral(p, 2.0, q, -1.0))


@closed_form("divergence", "f")
def _f(p, q, *, curvature):
    return 0.5 * curvature * _chi2(p, q)


def _products(p, q):
    """Return ∫p², ∫pq and ∫q²."""
    logs = (
        log_power_integral(p, 2.0),
        log_power_integral(p, 1.0, q, 1.0),
        log_power_integral(q, 2.0),
    )
    return tuple(map(math.exp, logs))


@closed_form("divergence", "l2")
def _l2(p, q, *, squared=False):
    pp, pq, qq = _products(p, q)
    square = max(0.0, pp - 2.0 * pq + qq)
    return square if squared else math.sqrt(square)


@closed_form("divergence", "euclidean")
def _euclidean(p, q):
    return _l2(p, q, squared=True)


@closed_form("divergence", "cauchy_schwarz")
def _cauchy_schwarz(p, q):
    pp, pq, qq = _products(p, q)
    return math.log(pp * qq / pq**2)  # log ∫p² ∫q² / (∫pq)²


@closed_form("divergence", "bregman")
def _bregman(p, q, *, alpha):
    a = alpha - 1.0
    own, other = math.exp(log_power_integral(p, alpha)), math.exp(log_power_integral(q, alpha))
    # ∫q^α + ∫p^α/(α−1) − α/(α−1) ∫p q^(α−1)
    return other + own / a - alpha / a * math.exp(log_power_integral(p, 1.0, q, a))


@closed_form("divergence", "bregman_symmetric")
def _bregman_symmetric(p, q, *, alpha):
    return _bregman(p, q, alpha=alpha) + _bregman(q, p, alpha=alpha)


@closed_form("divergence", "j")
def _j(p, q):
    return kl(p, q) + kl(q, p)


@closed_form("divergence", "k")
def _k(p, q):
    return k_divergence(p, q)


@closed_form("divergence", "l")
def _l(p, q):
    return k_divergence(p, q) + k_divergence(q, p)


@closed_form("divergence", "jensen_shannon")
def _jensen_shannon(p, q, *, weight=0.5):
    parts = weight * shannon(p) + (1.0 - weight) * shannon(q)
    return mixture_shannon(p, q, weight) - parts


@closed_form("divergence", "jensen_renyi")
def _jensen_renyi(p, q, *, alpha, weight=0.5):
    parts = weight * _renyi(p, alpha=alpha) + (1.0 - weight) * _renyi(q, alpha=alpha)
    return renyi_from_power(mixture_power(p, q, weight, alpha), alpha) - parts


@closed_form("divergence", "jensen_tsallis")
def _jensen_tsallis(p, q, *, alpha, weight=0.5):
    shares = weight**alpha, (1.0 - weight) ** alpha
    # w^α: Tsallis' entropies do not add up
    parts = shares[0] * _tsallis(p, alpha=alpha) + shares[1] * _tsallis(q, alpha=alpha)
    return tsallis_from_power(mixture_power(p, q, weight, alpha), alpha) - parts


@closed_form("divergence", "energy")
def _energy(p, q):
    return 2.0 * mean_distance(p, q) - mean_distance(p, p) - mean_distance(q, q)


@closed_form("divergence", "mmd")
def _mmd(p, q, *, bandwidth):
    own = expected_rbf(p, p, bandwidth) + expected_rbf(q, q, bandwidth)
    return own - 2.0 * expected_rbf(p, q, bandwidth)  # squared: what can be unbiased


@closed_form("kernel", "expected")
def _expected(p, q, *, bandwidth):
    return expected_rbf(p, q, bandwidth)


@closed_form("kernel", "bhattacharyya")
def _bhattacharyya_kernel(p, q):
    return math.exp(log_power_integral(p, 0.5, q, 0.5))


@closed_form("kernel", "probability_product")
def _probability_product(p, q, *, rho):
    return math.exp(log_power_integral(p, rho, q, rho))


@closed_form("kernel", "jensen_shannon")
def _jensen_shannon_kernel(p, q):
    return math.log(2.0) - _jensen_shannon(p, q)


@closed_form("kernel", "exp_jensen_shannon")
def _exp_jensen_shannon(p, q, *, scale):
    return math.exp(-scale * _jensen_shannon(p, q))


@closed_form("kernel", "jensen_tsallis")
def _jensen_tsallis_kernel(p, q, *, alpha):
    # log_α 2 of Tsallis' logarithm
    log_two = math.expm1((1.0 - alpha) * math.log(2.0)) / (1.0 - alpha)
    return log_two - _jensen_tsallis(p, q, alpha=alpha)


@closed_form("kernel", "exp_jensen_tsallis")
def _exp_jensen_tsallis(p, q, *, alpha, scale):
    return math.exp(-scale * _jensen_tsallis(p, q, alpha=alpha))


@closed_form("kernel", "exp_jensen_renyi")
def _exp_jensen_renyi(p, q, *, alpha, scale):
    return math.exp(-scale * _jensen_renyi(p, q, alpha=alpha))


def _blocks(p, groups):
    chosen = range(p.d) if groups is None else groups
    return [[g] if isinstance(g, (int, np.integer)) else list(g) for g in chosen]


def independent_copy(p: Any, groups: Sequence[Any] | None = None) -> tuple[Any, Any]:
    """Return the normal distribution of the groups, and the product of their marginals."""
    if not isinstance(p, Normal):
        raise not_known(p, "dependence")
    blocks = _blocks(p, groups)
    joint = p.marginal([c for block in blocks for c in block])
    cov = np.zeros_like(joint.cov)  # the product of marginals: no covariance between groups
    start = 0
    for block in blocks:
        rows = slice(start, start + len(block))
        cov[rows, rows] = joint.cov[rows, rows]
        start += len(block)
    return joint, Normal(joint.mean, cov)


@closed_form("mutual_info", "shannon")
def _shannon_mi(p, *, groups=None):
    return kl(*independent_copy(p, groups))


@closed_form("mutual_info", "renyi")
def _renyi_mi(p, *, alpha, groups=None):
    return _renyi_divergence(*independent_copy(p, groups), alpha=alpha)


@closed_form("mutual_info", "tsallis")
def _tsallis_mi(p, *, alpha, groups=None):
    return _tsallis_divergence(*independent_copy(p, groups), alpha=alpha)


@closed_form("mutual_info", "chi2")
def _chi2_mi(p, *, groups=None):
    return _chi2(*independent_copy(p, groups))


@closed_form("mutual_info", "l2")
def _l2_mi(p, *, groups=None):
    return _l2(*independent_copy(p, groups))


@closed_form("mutual_info", "euclidean")
def _euclidean_mi(p, *, groups=None):
    return _l2(*independent_copy(p, groups), squared=True)


@closed_form("mutual_info", "cauchy_schwarz")
def _cauchy_schwarz_mi(p, *, groups=None):
    return _cauchy_schwarz(*independent_copy(p, groups))


def _correlations(p):
    if not isinstance(p, Normal):
        raise not_known(p, "association")
    spread = np.sqrt(np.diagonal(p.cov))
    return p.cov / np.outer(spread, spread)


def _bivariate(p, what):
    if p.d != 2:
        raise not_known(p, f"{what} of {p.d} variables")
    return float(_correlations(p)[0, 1])


@closed_form("association", "blomqvist")
def _blomqvist(p):
    # of a normal copula: the chance of one quadrant is ¼ + asin(ρ)/2π
    return 2.0 / math.pi * math.asin(_bivariate(p, "Blomqvist's β"))


def _spearman(p):
    # the correlation of normal ranks
    return 6.0 / math.pi * math.asin(0.5 * _bivariate(p, "Spearman's ρ"))


for _variant in ("spearman1", "spearman2", "spearman3"):
    closed_form("association", _variant)(_spearman)


@closed_form("association", "spearman4")
def _mean_spearman(p):
    pairs = combinations(range(p.d), 2)
    return float(np.mean([_spearman(p.marginal(pair)) for pair in pairs]))


def known_forms() -> dict[tuple[str, str], Callable[..., float]]:
    """Return all closed forms by kind and measure, those of other modules too."""
    importlib.import_module("octavo.info.closed_forms.kernels")
    return _FORMS


@checked
def analytical_value(kind: str, measure: str, p: Family, q: Family | None = None, **params: Any):
    """Return the true value of a measure for known distributions.

    Parameters
    ----------
    kind : str
        The kind of quantity, as in `list_estimators`.
    measure : str
        The measure, as in `list_estimators`.
    p : Normal, Uniform or Exponential
        The distribution of X.
    q : Normal, Uniform or Exponential, default=None
        The distribution of Y, of the same family, for quantities of two.
    **params : dict
        Parameters of the measure, such as ``alpha``; ``groups`` for dependence.

    Returns
    -------
    value : float
        inf where the quantity does not exist. NotImplementedError is raised where there is no
        closed form.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> from octavo.info import Normal, analytical_value
    >>> p, q = Normal([0, 0], [[1, 0.5], [0.5, 1]]), Normal([1, 0], [[1, 0], [0, 1]])
    >>> print(f"{analytical_value('divergence', 'renyi', p, q, alpha=0.8):.4f}")
    0.5228
    >>> print(f"{analytical_value('mutual_info', 'shannon', p):.4f}")
    0.1438
    """
    forms = known_forms()
    if (kind, measure) not in forms:
        known = sorted(m for k, m in forms if k == kind) or sorted({k for k, _ in forms})
        raise UnknownNameError(f"closed form of {kind}", str(measure), known)
    if q is not None and type(q) is not type(p):
        raise not_known(p, f"{measure} with {type(q).__name__}")
    if q is not None and q.d != p.d:
        raise ValueError(f"p and q must have the same dimension, got {p.d} and {q.d}.")
    form = forms[kind, measure]
    return form(p, **params) if q is None else form(p, q, **params)


class QuickTest(NamedTuple):
    """An estimator against the truth: ``truth``, and over repetitions ``mean``, ``deviation``.

    ``bias`` is mean - truth and ``deviation`` the standard deviation of one estimate from ``n``
    samples; ``estimates`` holds them all.
    """

    name: str
    n: int
    truth: float
    mean: float
    bias: float
    deviation: float
    estimates: Floats


@checked
def quick_test(
    estimator: Any,
    p: Family,
    q: Family | None = None,
    *,
    n: int = 1000,
    n_repeats: int = 10,
    groups: Sequence[Any] | None = None,
    random_state: Any = 0,
) -> QuickTest:
    """Estimate a quantity of known distributions again and again, and compare with the truth.

    Parameters
    ----------
    estimator : SampleEstimator
        What is tested; the truth is taken with its parameters.
    p : Normal, Uniform or Exponential
        Where X is drawn from.
    q : Normal, Uniform or Exponential, default=None
        Where Y is drawn from, for quantities of two distributions.
    n : int, default=1000
        The size of each sample.
    n_repeats : int, default=10
        How many times; 2 or more.
    groups : sequence of (int or sequence of int), default=None
        The groups of variables, for dependence.
    random_state : int, RandomState instance or None, default=0
        The generator of samples.

    Returns
    -------
    result : QuickTest
        Truth, mean, bias, deviation and all estimates.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> from octavo.info import KnnShannonEntropy, Normal, quick_test
    >>> result = quick_test(KnnShannonEntropy(), Normal([0, 0], [[1, 0], [0, 1]]))
    >>> print(f"truth {result.truth:.3f}, bias {result.bias:.3f}, sd {result.deviation:.3f}")
    truth 2.838, bias -0.043, sd 0.028
    """
    rng = check_random_state(random_state)
    form = known_forms().get((estimator.kind, estimator.measure))
    wanted = {} if form is None else inspect.signature(form).parameters
    params = {k: v for k, v in estimator.get_params(deep=False).items() if k in wanted}
    extra = {} if groups is None else {"groups": groups}
    truth = analytical_value(estimator.kind, estimator.measure, p, q, **params, **extra)
    estimates = np.empty(n_repeats)
    for i in range(n_repeats):
        samples = [family.sample(n, rng) for family in (p, q) if family is not None]
        estimates[i] = estimator.estimate(*samples, **extra)
    mean = float(estimates.mean())
    deviation = float(estimates.std(ddof=1))
    return QuickTest(type(estimator).__name__, n, truth, mean, mean - truth, deviation, estimates)
