"""Every estimator by name: what there is, and one call for each kind of quantity.

`list_estimators` tells what there is. `entropy`, `mutual_info`, `divergence`, `association`,
`cross_entropy` and `distribution_kernel` find the class by measure and method, make it with the
parameters given, and return its estimate. There is no list to keep: the classes themselves are the
registry, those of this package and those that a user has derived from the same templates.

Reference: Szabó (2014), "Information theoretical estimators toolbox", JMLR 15:283-287.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike

from octavo._lazy import modules_below
from octavo._names import UnknownNameError
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.samples import as_sample
from octavo.info.estimators import SampleEstimator

__all__ = [
    "EstimatorRecord",
    "EstimatorTable",
    "association",
    "cross_entropy",
    "distribution_gram",
    "distribution_kernel",
    "divergence",
    "entropy",
    "find_estimator",
    "list_estimators",
    "mutual_info",
]

KINDS = ("entropy", "mutual_info", "divergence", "association", "cross_entropy", "kernel")


class EstimatorRecord(NamedTuple):
    """One estimator: its class and kind, the names that find it, what it does and needs.

    ``mult`` tells whether constants may be skipped, ``params`` names the parameters.
    """

    name: str
    kind: str
    measure: str
    method: str
    estimates: str
    cost: str
    assumptions: str
    meta: bool
    mult: bool
    preferred: bool
    params: tuple[str, ...]


class EstimatorTable(tuple[EstimatorRecord, ...]):
    """Records of estimators, a tuple that prints as a table; see `list_estimators`.

    ``pandas.DataFrame(table)`` gives a data frame.
    """

    _SHOWN = (("name", 28), ("measure", 15), ("method", 15), ("estimates", 36), ("cost", 18))

    def __repr__(self) -> str:
        columns = [*self._SHOWN, ("assumptions", 40)]
        header = [name for name, _ in columns]
        lines = ["  ".join(name.ljust(width) for name, width in columns).rstrip()]
        lines.append("  ".join("-" * width for _, width in columns))
        for record in self:
            cells = [
                textwrap.wrap(str(getattr(record, name)), width) or [""]
                for name, (_, width) in zip(header, columns)
            ]
            for i in range(max(map(len, cells))):
                parts = [
                    (cell[i] if i < len(cell) else "").ljust(width)
                    for cell, (_, width) in zip(cells, columns)
                ]
                lines.append("  ".join(parts).rstrip())
        return "\n".join(lines)


def _leaves(cls: type) -> Iterator[type]:
    derived: type
    for derived in cls.__subclasses__():
        yield from _leaves(derived)
        if vars(derived).get("measure") and not inspect.isabstract(derived):
            yield derived


@functools.cache
def _import_room() -> None:
    for name in modules_below("octavo.info"):
        importlib.import_module(name)


def _registry() -> dict[tuple[str, str, str], type[Any]]:
    """Return the classes by kind, measure and method; a user's class goes before ours."""
    _import_room()
    ours: dict[tuple[str, str, str], type] = {}
    theirs: dict[tuple[str, str, str], type] = {}
    for cls in _leaves(SampleEstimator):
        home = ours if cls.__module__.startswith("octavo.info.") else theirs
        home[cls.kind, cls.measure, cls.method] = cls  # type: ignore[attr-defined]
    return {**ours, **theirs}


def _parameters(cls: type) -> tuple[str, ...]:
    return tuple(cls._get_param_names())  # type: ignore[attr-defined]


@checked
def list_estimators(kind: str | None = None) -> EstimatorTable:
    """Tell which estimators there are, what they estimate, at what cost, assuming what.

    Parameters
    ----------
    kind : {"entropy", "mutual_info", "divergence", "association", "cross_entropy", "kernel"}, \
            default=None
        The kind of quantity; None for all.

    Returns
    -------
    table : EstimatorTable
        One `EstimatorRecord` each, by kind, measure and method; prints as a table.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> from octavo.info import list_estimators
    >>> for record in list_estimators("cross_entropy"):
    ...     print(record.name, "|", record.estimates, "|", record.cost)
    KnnCrossEntropy | -∫ p log q | O((N + M) log M)
    """
    if kind is not None and kind not in KINDS:
        raise UnknownNameError("kind of estimator", str(kind), list(KINDS))
    records = [
        EstimatorRecord(
            name=cls.__name__,
            kind=cls.kind,
            measure=cls.measure,
            method=cls.method,
            estimates=cls.estimates,
            cost=cls.cost,
            assumptions=cls.assumptions,
            meta=cls.meta,
            mult="mult" in _parameters(cls),
            preferred=cls.preferred,
            params=_parameters(cls),
        )
        for cls in _registry().values()
        if kind in (None, cls.kind)
    ]
    order = {name: i for i, name in enumerate(KINDS)}
    return EstimatorTable(sorted(records, key=lambda r: (order[r.kind], r.measure, r.method)))


@checked
def find_estimator(kind: str, measure: str, method: str | None = None) -> type[Any]:
    """Return the class that estimates a measure by a method.

    Parameters
    ----------
    kind : str
        As in `list_estimators`.
    measure : str
        What is estimated, such as "shannon".
    method : str, default=None
        How, such as "knn". None stands for the preferred method of the measure.

    Returns
    -------
    cls : type
        A subclass of `SampleEstimator`.

    Examples
    --------
    >>> from octavo.info import find_estimator
    >>> find_estimator("entropy", "shannon", "vasicek").__name__
    'VasicekEntropy'
    """
    if kind not in KINDS:
        raise UnknownNameError("kind of estimator", str(kind), list(KINDS))
    classes = [cls for (k, _, _), cls in _registry().items() if k == kind]
    of_measure = {cls.method: cls for cls in classes if cls.measure == measure}
    if not of_measure:
        raise UnknownNameError(
            f"{kind} measure", str(measure), sorted({cls.measure for cls in classes})
        )
    if method is None:
        chosen = [cls for cls in of_measure.values() if cls.preferred or len(of_measure) == 1]
        if len(chosen) != 1:
            raise ValueError(
                f"{kind} measure {measure!r} has several methods; choose one of "
                f"{', '.join(sorted(of_measure))}."
            )
        return chosen[0]
    if method not in of_measure:
        raise UnknownNameError(
            f"method for the {kind} measure {measure!r}", str(method), sorted(of_measure)
        )
    return of_measure[method]


def _make(kind: str, measure: str, method: str | None, params: dict[str, Any]) -> Any:
    cls = find_estimator(kind, measure, method)
    for name in params:
        if name not in _parameters(cls):
            raise UnknownNameError(f"parameter of {cls.__name__}", name, list(_parameters(cls)))
    return cls(**params)


@checked
def entropy(
    X: ArrayLike, measure: str = "shannon", method: str | None = None, **params: Any
) -> float:
    """Estimate an entropy from a sample.

    Parameters
    ----------
    X : array-like of shape (N, d)
        The sample; a vector is one column, complex numbers are pairs of reals.
    measure : str, default="shannon"
        Which entropy: "shannon", "renyi", "tsallis", "sharma_mittal", "phi"; see
        ``list_estimators("entropy")``.
    method : str, default=None
        How it is estimated; None for the preferred method, "knn" for Shannon.
    **params : dict
        Parameters of the estimator, such as ``k`` or ``alpha``.

    Returns
    -------
    value : float
        The estimate in nats.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import entropy
    >>> X = np.random.default_rng(0).uniform(size=(2000, 2))  # entropy 0
    >>> print(f"{entropy(X, n_neighbors=5):.2f}")
    0.03
    """
    return _make("entropy", measure, method, params).estimate(X)


@checked
def mutual_info(
    X: ArrayLike,
    Y: ArrayLike | None = None,
    *,
    groups: Sequence[Any] | None = None,
    measure: str = "shannon",
    method: str | None = None,
    **params: Any,
) -> float:
    """Estimate the dependence between X and Y, or between groups of the columns of X.

    Parameters
    ----------
    X : array-like of shape (N, d)
        The sample; a vector is one column, complex numbers are pairs of reals.
    Y : array-like of shape (N, e), default=None
        The other variables, drawn together with X.
    groups : sequence of (int or sequence of int), default=None
        The columns of X in each group, when `Y` is not given. None makes every column of X a
        group of its own.
    measure : str, default="shannon"
        Which dependence; see ``list_estimators("mutual_info")``.
    method : str, default=None
        How it is estimated; None for the preferred method, "ksg" for Shannon.
    **params : dict
        Parameters of the estimator, such as ``k``.

    Returns
    -------
    value : float
        The estimate, in nats where that applies.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import mutual_info
    >>> cov = [[1, 0.9], [0.9, 1]]  # mutual information 0.830
    >>> X = np.random.default_rng(0).multivariate_normal([0, 0], cov, size=2000)
    >>> print(f"{mutual_info(X):.2f}")
    0.85
    """
    return _make("mutual_info", measure, method, params).estimate(X, Y, groups=groups)


@checked
def divergence(
    X: ArrayLike, Y: ArrayLike, measure: str = "kl", method: str | None = None, **params: Any
) -> float:
    """Estimate a divergence of p from q, from a sample of each.

    Parameters
    ----------
    X : array-like of shape (N, d)
        Draws from p.
    Y : array-like of shape (M, d)
        Draws from q.
    measure : str, default="kl"
        Which divergence; see ``list_estimators("divergence")``.
    method : str, default=None
        How it is estimated; None for the preferred method, "knn" for "kl".
    **params : dict
        Parameters of the estimator, such as ``k``.

    Returns
    -------
    value : float
        The estimate. Most estimators may fall below zero where the divergence is small.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import divergence
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(5000, 1)), rng.normal(1, 1, size=(5000, 1))  # 1/2
    >>> print(f"{divergence(X, Y, n_neighbors=5):.2f}")
    0.51
    """
    return _make("divergence", measure, method, params).estimate(X, Y)


@checked
def association(
    X: ArrayLike,
    Y: ArrayLike | None = None,
    *,
    measure: str = "spearman1",
    method: str | None = None,
    **params: Any,
) -> float:
    """Estimate the association of the columns of X, or of X and Y.

    Parameters
    ----------
    X : array-like of shape (N, d)
        The sample; real.
    Y : array-like of shape (N, e), default=None
        Further variables, drawn together with X.
    measure : str, default="spearman1"
        Which association; see ``list_estimators("association")``.
    method : str, default=None
        How it is estimated; None for the preferred method.
    **params : dict
        Parameters of the estimator.

    Returns
    -------
    value : float
        The estimate.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> from octavo.info import association
    >>> try:
    ...     association([[0, 1], [1, 2]], measure="no such measure")
    ... except ValueError as error:
    ...     print(str(error)[:52])
    No association measure is called 'no such measure';
    """
    return _make("association", measure, method, params).estimate(X, Y)


@checked
def cross_entropy(
    X: ArrayLike, Y: ArrayLike, measure: str = "shannon", method: str | None = None, **params: Any
) -> float:
    """Estimate the cross-entropy of p relative to q, from a sample of each.

    Parameters
    ----------
    X : array-like of shape (N, d)
        Draws from p.
    Y : array-like of shape (M, d)
        Draws from q, whose density is the one inside the logarithm.
    measure : str, default="shannon"
        Which cross-entropy; see ``list_estimators("cross_entropy")``.
    method : str, default=None
        How it is estimated; None for the preferred method.
    **params : dict
        Parameters of the estimator, such as ``k``.

    Returns
    -------
    value : float
        The estimate in nats.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import cross_entropy
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(5000, 1)), rng.normal(1, 1, size=(5000, 1))  # 1.919
    >>> print(f"{cross_entropy(X, Y, n_neighbors=5):.2f}")
    1.92
    """
    return _make("cross_entropy", measure, method, params).estimate(X, Y)


@checked
def distribution_kernel(
    X: ArrayLike,
    Y: ArrayLike,
    measure: str = "bhattacharyya",
    method: str | None = None,
    **params: Any,
) -> float:
    """Estimate a kernel between two distributions, from a sample of each.

    Parameters
    ----------
    X : array-like of shape (N, d)
        Draws from p.
    Y : array-like of shape (M, d)
        Draws from q.
    measure : str, default="bhattacharyya"
        Which kernel; see ``list_estimators("kernel")``.
    method : str, default=None
        How it is estimated; None for the preferred method.
    **params : dict
        Parameters of the estimator, such as ``k``.

    Returns
    -------
    value : float
        The estimate.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import distribution_kernel
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(5000, 1)), rng.normal(1, 1, size=(5000, 1))  # exp(-1/8) = 0.882
    >>> print(f"{distribution_kernel(X, Y):.2f}")
    0.87
    """
    return _make("kernel", measure, method, params).estimate(X, Y)


def _pairwise(kernel: str | Any, method: str | None, params: dict[str, Any]) -> Callable:
    if isinstance(kernel, str):
        return _make("kernel", kernel, method, params).estimate
    if params or method is not None:
        raise ValueError("method and parameters are for a kernel given by name.")
    estimate = getattr(kernel, "estimate", kernel)
    if isinstance(kernel, type) or not callable(estimate):
        raise TypeError(
            "kernel must be a measure's name, an estimator of two samples or a function of two "
            f"samples, got {kernel!r}."
        )
    return estimate


@checked
def distribution_gram(
    samples: Sequence[ArrayLike],
    kernel: str | Any = "bhattacharyya",
    *,
    method: str | None = None,
    n_jobs: int | None = None,
    **params: Any,
) -> Floats:
    """Return the Gram matrix of a kernel between distributions, each known by a sample.

    Parameters
    ----------
    samples : sequence of array-like of shape (N_i, d)
        One sample for each distribution.
    kernel : str, DistributionKernel or callable, default="bhattacharyya"
        The measure of a kernel; or an estimator of two samples; or a function of two samples.
        It is taken as symmetric: pairs above the diagonal are computed.
    method : str, default=None
        As in `distribution_kernel`.
    n_jobs : int, default=None
        Threads over pairs; the searches for neighbours, which take the time, run side by side.
    **params : dict
        Parameters of a kernel given by name.

    Returns
    -------
    gram : ndarray of shape (n_samples, n_samples)
        Symmetric; positive semi-definite up to the errors of estimation where the kernel is.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import distribution_gram
    >>> rng = np.random.default_rng(0)
    >>> samples = [rng.normal(m, 1, size=(1000, 1)) for m in (0, 1, 4)]
    >>> print(np.round(distribution_gram(samples), 1))
    [[1.  0.9 0.1]
     [0.9 1.  0.3]
     [0.1 0.3 1. ]]
    """
    estimate = _pairwise(kernel, method, params)
    checked = [as_sample(sample, f"samples[{i}]") for i, sample in enumerate(samples)]
    if not checked:
        raise ValueError("samples is empty; a Gram matrix needs at least one sample.")
    rows, columns = np.triu_indices(len(checked))
    values = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(estimate)(checked[i], checked[j]) for i, j in zip(rows, columns)
    )
    gram = np.empty((len(checked), len(checked)))
    gram[rows, columns] = gram[columns, rows] = values
    return gram
