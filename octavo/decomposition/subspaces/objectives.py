"""Six objectives that are least when groups of coordinates are independent of each other.

They are sums of entropies or mutual informations, by nearest neighbours or by any object that
estimates them, such as those of `octavo.info`. Terms that several partitions share are computed
once.

Reference: Szabó (2014), "Information theoretical estimators toolbox", JMLR 15:283-287, section 2
(modularity, item 4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.samples import as_blocks, as_sample
from octavo.engine.probability.knn_information import (
    ksg_balls,
    log_enclosed,
    shannon_from_enclosed,
)

__all__ = ["pairwise_dependence", "subspace_objective"]

Group = tuple[int, ...]
Partition = list[Group]

OBJECTIVES = (
    "information",
    "recursive_information",
    "sum_entropy",
    "sum_information",
    "pairwise_information",
    "pairwise_information_1d",
)
N_NULL = 20  # shuffled pairs that tell the level of noise
NULL_DEVIATIONS = 4.0  # a dependence within so many deviations of the noise is none


@dataclass(frozen=True)
class NeighborEntropy:
    """Shannon's entropy by the k-th neighbours (Kozachenko and Leonenko 1987)."""

    n_neighbors: int
    kind: ClassVar[str] = "entropy"

    def estimate(self, X: ArrayLike) -> float:
        """Return the entropy of a sample of shape (N, d)."""
        sample = as_sample(X, density=True)
        log_u = log_enclosed(sample, self.n_neighbors)
        return _finite(shannon_from_enclosed(log_u, len(sample), self.n_neighbors))


@dataclass(frozen=True)
class NeighborDependence:
    """Shannon's mutual information by the k-th neighbours (Kraskov and others 2004, Eq. 22)."""

    n_neighbors: int
    kind: ClassVar[str] = "mutual_info"

    def estimate(
        self, X: ArrayLike, Y: ArrayLike | None = None, *, groups: Sequence[Any] | None = None
    ) -> float:
        """Return the dependence of X and Y, or of groups of the columns of X."""
        return _finite(ksg_balls(as_blocks(X, Y, groups, density=True), self.n_neighbors))


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"Nearest neighbours found {value} for this sample; rescale its columns.")
    return value


def check_kind(estimator: Any, kind: str, asker: str) -> None:
    """Raise unless an object estimates that kind of quantity."""
    right = getattr(estimator, "kind", None) == kind and hasattr(estimator, "estimate")
    if not right or isinstance(estimator, type):
        example = "KnnShannonEntropy()" if kind == "entropy" else "HSIC()"
        raise TypeError(
            f"{asker} needs an estimator with a method estimate and kind={kind!r}, such as "
            f"octavo.info.{example}, got {estimator!r}."
        )


class Objective:
    """One of the six objectives on a sample; terms that return are computed once.

    Parameters
    ----------
    S : ndarray of shape (N, D)
        The sample whose columns are grouped.
    name : str
        One of `OBJECTIVES`.
    estimator : object or None
        What estimates the terms; None for nearest neighbours.
    """

    def __init__(self, S: Floats, name: str, estimator: Any = None) -> None:
        if name not in OBJECTIVES:
            raise ValueError(f"objective must be one of {OBJECTIVES}, got {name!r}.")
        wanted = "entropy" if name == "sum_entropy" else "mutual_info"
        if estimator is None:
            estimator = (
                default_entropy(len(S)) if name == "sum_entropy" else default_dependence(len(S))
            )
        check_kind(estimator, wanted, f"The objective {name!r}")
        self.S, self.name = S, name
        self.estimator: Any = estimator
        self._terms: dict[tuple[Group, ...], float] = {}

    def _term(self, *groups: Group) -> float:
        """Return the entropy of one group, or the mutual information of several; both once."""
        if groups not in self._terms:
            if self.name == "sum_entropy":
                value = self.estimator.estimate(self.S[:, groups[0]])
            else:
                value = self.estimator.estimate(self.S, groups=groups)
            self._terms[groups] = value
        return self._terms[groups]

    def __call__(self, partition: Partition) -> float:
        """Return the objective of a partition; zero dependence between fewer than two groups."""
        if self.name == "sum_entropy":  # Σ H(y^m)
            return math.fsum(self._term(group) for group in partition)
        if self.name == "sum_information":  # -Σ I(y_1^m, ..., y_d^m)
            return -math.fsum(
                self._term(*[(i,) for i in group]) for group in partition if len(group) > 1
            )
        if len(partition) < 2:
            return 0.0
        if self.name == "information":  # I(y^1, ..., y^M)
            return self._term(*sorted(partition))
        if self.name == "recursive_information":  # Σ I(y^m, [y^(m+1), ..., y^M])
            rests = [
                tuple(sorted(i for group in partition[m + 1 :] for i in group))
                for m in range(len(partition) - 1)
            ]
            return math.fsum(self._term(group, rest) for group, rest in zip(partition, rests))
        pairs = combinations(sorted(partition), 2)  # both orders count: twice each pair
        if self.name == "pairwise_information":  # Σ I(y^m, y^n) over m ≠ n
            return 2.0 * math.fsum(self._term(one, other) for one, other in pairs)
        return 2.0 * math.fsum(  # the same of single coordinates
            self._term(*sorted([(i,), (j,)])) for one, other in pairs for i in one for j in other
        )


def default_entropy(n: int) -> NeighborEntropy:
    """Return what measures entropies of n samples."""
    return NeighborEntropy(n_neighbors=max(1, min(3, n // 4)))


def default_dependence(n: int) -> NeighborDependence:
    """Return what measures dependence of n samples: many neighbours, for little variance."""
    return NeighborDependence(n_neighbors=max(1, min(10, n // 4)))


def _as_partition(subspaces: Sequence[Any], d: int) -> Partition:
    partition = [tuple(sorted(int(i) for i in np.atleast_1d(group))) for group in subspaces]
    seen = sorted(i for group in partition for i in group)
    if seen != list(range(d)) or not all(partition):
        raise ValueError(
            f"subspaces must hold each of the columns 0 to {d - 1} once, in groups that are not "
            f"empty, got {[list(group) for group in partition]}."
        )
    return partition


@checked
def subspace_objective(
    S: ArrayLike,
    subspaces: Sequence[Any],
    objective: str = "sum_entropy",
    estimator: Any = None,
) -> float:
    """Return how dependent groups of columns are on each other, by one of six objectives.

    All but the two pairwise ones have the same minimiser in theory, and lie a constant apart;
    they differ in cost and in the errors of their estimates. Pairwise ones can miss dependence
    that no two groups show.

    Parameters
    ----------
    S : array-like of shape (N, D)
        The sample.
    subspaces : sequence of sequence of int
        The columns in each group; every column in one.
    objective : {"information", "recursive_information", "sum_entropy", "sum_information", \
            "pairwise_information", "pairwise_information_1d"}, default="sum_entropy"
        With groups y^1, ..., y^M: I(y^1, ..., y^M); Σ I(y^m, [y^(m+1), ..., y^M]);
        Σ H(y^m); −Σ I of the columns within y^m; Σ I(y^m, y^n) over m ≠ n; and the same over
        all pairs of columns of different groups.
    estimator : object, default=None
        What estimates H (for "sum_entropy") or I (for the others): an estimator of
        `octavo.info`, or any object with ``estimate`` and a ``kind``, "entropy" or
        "mutual_info". None for nearest neighbours: the entropy of Kozachenko and Leonenko with
        three, the information of Kraskov, Stögbauer and Grassberger with ten.

    Returns
    -------
    value : float
        The objective; the less, the better.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> from octavo.data import make_subspace_mixture
    >>> from octavo.decomposition import subspace_objective
    >>> S = make_subspace_mixture("shapes", n_subspaces=2, random_state=0).sources
    >>> right = subspace_objective(S, [[0, 1], [2, 3]])
    >>> right < subspace_objective(S, [[0, 2], [1, 3]])
    True
    """
    sample = as_sample(S, "S", allow_complex=False)
    return Objective(sample, objective, estimator)(_as_partition(subspaces, sample.shape[1]))


@checked
def pairwise_dependence(S: ArrayLike, estimator: Any = None) -> Floats:
    """Return the dependence of every pair of columns.

    Parameters
    ----------
    S : array-like of shape (N, D)
        The sample.
    estimator : object, default=None
        What measures it, as in `subspace_objective`; ten nearest neighbours by default.

    Returns
    -------
    dependence : ndarray of shape (D, D)
        Symmetric, with zeros on the diagonal. Estimates may be slightly negative.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import pairwise_dependence
    >>> x, y, z = np.random.default_rng(0).normal(size=(3, 1000))
    >>> dependence = pairwise_dependence(np.column_stack([x, y, x + z]))  # log(2)/2 = 0.35
    >>> print(np.round(dependence, 1) + 0.0)
    [[0.  0.  0.3]
     [0.  0.  0. ]
     [0.3 0.  0. ]]
    """
    sample = as_sample(S, "S", allow_complex=False)
    measure = default_dependence(len(sample)) if estimator is None else estimator
    check_kind(measure, "mutual_info", "Pairwise dependence")
    d = sample.shape[1]
    dependence = np.zeros((d, d))
    for i, j in combinations(range(d), 2):
        dependence[i, j] = measure.estimate(sample[:, [i]], sample[:, [j]])
    return dependence + dependence.T


def noise_level(S: Floats, estimator: Any, rng: np.random.RandomState) -> float:
    """Return what the dependence of independent columns stays below, from shuffled columns."""
    n, d = S.shape
    values = [
        estimator.estimate(S[:, [rng.randint(d)]], S[rng.permutation(n)][:, [rng.randint(d)]])
        for _ in range(N_NULL)
    ]
    return float(np.mean(values) + NULL_DEVIATIONS * np.std(values, ddof=1))
