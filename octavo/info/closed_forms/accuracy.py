"""How accurate the estimators are: a table of bias and deviation against closed forms.

`accuracy_table` runs every estimator that a closed form exists for and tells its bias, its
deviation and the standard error that theory gives. That is the efficient one, of the best estimator
that knows nothing of the densities: the standard deviation of the influence function over √n.
Distances to neighbours add noise of their own to it, the less the larger k.

References: Szabó (2014), "Information theoretical estimators toolbox", JMLR 15:283-287, section 2,
"quick tests"; Kandasamy, Krishnamurthy, Póczos, Wasserman and Robins (2015), "Nonparametric von
Mises estimators for entropies, divergences and mutual informations", NIPS 28.
"""

from __future__ import annotations

import inspect
import math
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from octavo._names import UnknownNameError
from octavo.engine.estimators.checked import checked
from octavo.info.closed_forms.analytical import independent_copy, quick_test
from octavo.info.closed_forms.families import Family, Normal, Uniform, log_power_integral
from octavo.info.registry import KINDS, find_estimator, list_estimators

__all__ = ["AccuracyRow", "AccuracyTable", "accuracy_table", "standard_error"]

LINE = Normal(0.0, 2.0)
PLANE = Normal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]])
NEAR = Normal([0.0, 0.0], [[1.0, 0.3], [0.3, 1.0]]), Normal([0.5, 0.0], [[1.2, 0.0], [0.0, 1.2]])
BOXES = Uniform([0.0, 0.0], [1.0, 1.0]), Uniform([0.5, 0.0], [1.5, 1.0])

Influence = Callable[..., tuple[Any, Any]]
_INFLUENCES: dict[tuple[str, str], Influence] = {}


def influence(kind: str, *measures: str) -> Callable[[Influence], Influence]:
    """Register the influence functions of measures, as functions of log p and log q.

    They return the values at points of X and, as a function of log p and log q at points of Y
    where there is one, a callable or None.
    """

    def register(form: Influence) -> Influence:
        for measure in measures:
            _INFLUENCES[kind, measure] = form
        return form

    return register


@influence("entropy", "shannon")
def _shannon(p, q):
    return (lambda f, g: -f), None


@influence("entropy", "renyi", "tsallis", "sharma_mittal")
def _power(p, q, *, alpha, beta=None, measure):
    log_power = log_power_integral(p, alpha)
    slope = {"renyi": math.exp(-log_power) / (1 - alpha), "tsallis": 1 / (1 - alpha)}
    if beta is not None:
        slope["sharma_mittal"] = math.exp(log_power * ((1 - beta) / (1 - alpha) - 1)) / (1 - alpha)
    # the influence of ∫p^α is α p^(α−1), times the slope of what it is put into
    return (lambda f, g: slope[measure] * alpha * np.exp((alpha - 1) * f)), None


@influence("divergence", "kl")
def _kl(p, q):
    return (lambda f, g: f - g), (lambda f, g: -np.exp(f - g))  # by p and by q, up to constants


@influence("cross_entropy", "shannon")
def _cross(p, q):
    return (lambda f, g: -g), (lambda f, g: -np.exp(f - g))


@influence("divergence", "j")
def _j(p, q):
    return (lambda f, g: f - g - np.exp(g - f)), (lambda f, g: g - f - np.exp(f - g))


def _alpha_slopes(p, q, measure, alpha, beta, curvature, squared):
    """Return α and the slope of a divergence as a function of ∫ p^α q^(1-α)."""
    alpha = {"bhattacharyya": 0.5, "hellinger": 0.5, "chi2": 2.0, "f": 2.0}.get(measure, alpha)
    integral = math.exp(log_power_integral(p, alpha, q, 1 - alpha))
    slopes = {
        "renyi": lambda: 1 / ((alpha - 1) * integral),
        "tsallis": lambda: 1 / (alpha - 1),
        "bhattacharyya": lambda: -1 / integral,
        "hellinger": lambda: -1.0 if squared else -0.5 / math.sqrt(1 - integral),
        "chi2": lambda: 1.0,
        "f": lambda: 0.5 * curvature,
        "sharma_mittal": lambda: integral ** ((1 - beta) / (1 - alpha) - 1) / (alpha - 1),
    }
    return alpha, slopes[measure]()


@influence(
    "divergence", "renyi", "tsallis", "sharma_mittal", "bhattacharyya", "hellinger", "chi2", "f"
)
def _alpha(p, q, *, measure, alpha=None, beta=None, curvature=None, squared=False):
    a, slope = _alpha_slopes(p, q, measure, alpha, beta, curvature, squared)
    at_x = lambda f, g: slope * a * np.exp((a - 1) * (f - g))  # noqa: E731
    # of ∫p^α q^(1−α): α (p/q)^(α−1) and (1 − α)(p/q)^α
    return at_x, lambda f, g: slope * (1 - a) * np.exp(a * (f - g))


@influence("divergence", "l2")
def _l2(p, q, *, squared=False):
    square = sum(
        c * math.exp(log_power_integral(one, a, other, b))
        for c, one, a, other, b in ((1, p, 2, q, 0), (-2, p, 1, q, 1), (1, q, 2, p, 0))
    )
    slope = 1.0 if squared else 0.5 / math.sqrt(square)
    at_x = lambda f, g: slope * 2 * (np.exp(f) - np.exp(g))  # noqa: E731
    return at_x, lambda f, g: -at_x(f, g)


@influence("divergence", "bregman")
def _bregman(p, q, *, alpha):
    a = alpha - 1
    at_x = lambda f, g: alpha / a * (np.exp(a * f) - np.exp(a * g))  # noqa: E731
    # α q^(α−1) − α p q^(α−2)
    return at_x, lambda f, g: alpha * (np.exp(a * g) - np.exp(f + (a - 1) * g))


@influence("divergence", "bregman_symmetric")
def _bregman_symmetric(p, q, *, alpha):
    (one_x, one_y), (two_y, two_x) = (_bregman(*pair, alpha=alpha) for pair in ((p, q), (q, p)))
    return (lambda f, g: one_x(f, g) + two_x(g, f)), (lambda f, g: one_y(f, g) + two_y(g, f))


@influence("mutual_info", "shannon")
def _mutual(p, q):
    return (lambda f, g: f - g), None


@checked
def standard_error(estimator: Any, p: Family, q: Family | None = None, n: int = 1000) -> float:
    """Return the efficient standard error of what an estimator estimates, from n points each.

    Parameters
    ----------
    estimator : SampleEstimator
        What tells the quantity and its parameters.
    p : Normal, Uniform or Exponential
        The distribution of X.
    q : Normal, Uniform or Exponential, default=None
        The distribution of Y, for quantities of two.
    n : int, default=1000
        The size of each sample.

    Returns
    -------
    error : float
        nan where the influence function is not known here.

    References
    ----------
    .. [1] Kandasamy, Krishnamurthy, Póczos, Wasserman and Robins (2015). Nonparametric von Mises
       estimators for entropies, divergences and mutual informations. NIPS 28.

    Examples
    --------
    >>> from octavo.info import KnnShannonEntropy, Normal, standard_error
    >>> print(f"{standard_error(KnnShannonEntropy(), Normal(), n=5000):.3f}")  # √(1/2/n)
    0.010
    """
    form = _INFLUENCES.get((estimator.kind, estimator.measure))
    if form is None:
        return math.nan
    wanted = inspect.signature(form).parameters
    params = {k: v for k, v in estimator.get_params(deep=False).items() if k in wanted}
    if "measure" in wanted:
        params["measure"] = estimator.measure
    if estimator.kind == "mutual_info":
        p, q = independent_copy(p)
    at_x, at_y = form(p, q, **params)
    variance = 0.0
    for family, at in ((p, at_x), (q, at_y)):
        if at is None or family is None:
            continue
        points = family.sample(100_000, 0)
        f, g = p.log_density(points), points[:, 0] if q is None else q.log_density(points)
        # the variance of an influence function is n times the least variance
        variance += float(np.var(at(f, g)))
    return math.sqrt(variance / n)


class AccuracyRow(NamedTuple):
    """One estimator against the truth: what it is, ``n``, ``truth``, ``bias``, ``deviation``.

    ``theory`` is the efficient standard error (nan where it is not known), ``bias_order`` the order
    of the bias that is known and not removed, ``family`` what the samples were drawn from,
    ``n_repeats`` how many estimates there were.
    """

    kind: str
    measure: str
    method: str
    name: str
    family: str
    n: int
    truth: float
    bias: float
    deviation: float
    theory: float
    bias_order: float
    n_repeats: int

    @property
    def within(self) -> bool:
        """Whether the bias is no larger than expected: its order, the deviation, its own error."""
        noise = self.deviation * (1.0 + 2.0 / math.sqrt(self.n_repeats))
        return abs(self.bias) <= noise + self.bias_order


class AccuracyTable(tuple[AccuracyRow, ...]):
    """Rows of `accuracy_table`, a tuple that prints as a table."""

    def __repr__(self) -> str:
        head = f"{'estimator':<27} {'method':<17} {'family':<11} {'n':>6} {'truth':>8}"
        lines = [f"{head} {'bias':>8} {'deviation':>9} {'theory':>7}"]
        for row in self:
            start = f"{row.name:<27} {row.method:<17} {row.family:<11} {row.n:>6} {row.truth:>8.4f}"
            theory = "" if math.isnan(row.theory) else f"{row.theory:.4f}"
            lines.append(f"{start} {row.bias:>8.4f} {row.deviation:>9.4f} {theory:>7}")
        return "\n".join(lines)


def _problems(cls: type[Any]) -> list[tuple[str, tuple[Family, ...]]]:
    """Return the distributions that an estimator is tried on, in order."""
    if cls.kind in ("divergence", "cross_entropy", "kernel"):
        line = (Normal(0.0, 1.0), Normal(0.5, 1.3))
        return [("normal 2-d", NEAR), ("boxes 2-d", BOXES), ("normal 1-d", line)]
    if cls.bounded_support:
        return [("boxes 2-d", BOXES[1:])]
    if cls.dimensions == (1,) and cls.kind == "entropy":  # elsewhere it is that of a group
        return [("normal 1-d", (LINE,))]
    return [("normal 2-d", (PLANE,))]


def _row(cls: type[Any], n: int, n_repeats: int, random_state: int) -> AccuracyRow | None:
    own = np.random.RandomState([random_state, zlib.crc32(cls.__name__.encode())])
    estimator = cls()
    if "random_state" in estimator.get_params(deep=False):
        estimator.set_params(random_state=0)
    if getattr(estimator, "bandwidth", None) == "median":  # the truth depends on it: fix it
        estimator.set_params(bandwidth=1.0)
    for family, pair in _problems(cls):
        try:
            result = quick_test(
                estimator,
                pair[0],
                pair[-1] if len(pair) > 1 else None,
                n=n,
                n_repeats=n_repeats,
                random_state=own,
            )
        except (NotImplementedError, UnknownNameError, TypeError):
            continue  # no closed form for this family, or none with these parameters
        error = standard_error(estimator, pair[0], pair[-1] if len(pair) > 1 else None, n)
        return AccuracyRow(
            cls.kind,
            cls.measure,
            cls.method,
            cls.__name__,
            family,
            n,
            result.truth,
            result.bias,
            result.deviation,
            error,
            estimator.bias_order(n),
            n_repeats,
        )
    return None


@checked
def accuracy_table(
    kind: str | None = None, *, n: int = 2000, n_repeats: int = 10, random_state: int = 0
) -> AccuracyTable:
    """Hold all estimators against their true values on normal samples.

    Entropies and dependence are tried on a normal distribution of two variables (one, where an
    estimator asks for it; a box, where it assumes a bounded support), divergences on two of them.
    Each estimator has samples of its own; kernels whose bandwidth would be taken from the sample
    have the bandwidth 1.

    Parameters
    ----------
    kind : str, default=None
        The kind of quantity, as in `list_estimators`; None for all.
    n : int, default=2000
        The size of each sample.
    n_repeats : int, default=10
        Estimates for each row; 2 or more.
    random_state : int, default=0
        The seed of the samples.

    Returns
    -------
    table : AccuracyTable
        One `AccuracyRow` for each estimator whose true value is known; prints as a table.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> from octavo.info import accuracy_table
    >>> row = accuracy_table("cross_entropy", n=500, n_repeats=5)[0]
    >>> row.name, row.within
    ('KnnCrossEntropy', True)
    """
    if kind is not None and kind not in KINDS:
        raise UnknownNameError("kind of estimator", str(kind), list(KINDS))
    classes = [find_estimator(r.kind, r.measure, r.method) for r in list_estimators(kind)]
    ours = [cls for cls in classes if cls.__module__.startswith("octavo.")]
    rows = [_row(cls, n, n_repeats, random_state) for cls in ours]
    return AccuracyTable(row for row in rows if row is not None)
