"""Six objectives that are least when groups of coordinates are independent of each other.

They are sums of entropies or mutual informations, by any estimator of this room. Terms that several
partitions share are computed once.

Reference: Szabó (2014), "Information theoretical estimators toolbox", JMLR 15:283-287, section 2
(modularity, item 4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.estimators.checked import checked
from octavo.info.dependence.knn import KSGMutualInformation
from octavo.info.entropies.knn import KnnShannonEntropy
from octavo.info.estimators import EntropyEstimator, MutualInformationEstimator
from octavo.info.input_checks import Floats, as_sample

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


class Objective:
    """One of the six objectives on a sample; terms that return are computed once.

    Parameters
    ----------
    S : ndarray of shape (N, D)
        The sample whose columns are grouped.
    name : str
        One of `OBJECTIVES`.
    estimator : EntropyEstimator, MutualInformationEstimator or None
        What estimates the terms; None for nearest neighbours.
    """

    def __init__(self, S: Floats, name: str, estimator: Any = None) -> None:
        if name not in OBJECTIVES:
            raise ValueError(f"objective must be one of {OBJECTIVES}, got {name!r}.")
        wanted = EntropyEstimator if name == "sum_entropy" else MutualInformationEstimator
        if estimator is None:
            estimator = (
                default_entropy(len(S)) if name == "sum_entropy" else default_dependence(len(S))
            )
        if not isinstance(estimator, wanted):
            raise TypeError(
                f"the objective {name!r} needs an estimator that is an instance of "
                f"{wanted.__name__}, got {estimator!r}."
            )
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


def default_entropy(n: int) -> EntropyEstimator:
    """Return what measures entropies of n samples."""
    return KnnShannonEntropy(n_neighbors=max(1, min(3, n // 4)))


def default_dependence(n: int) -> MutualInformationEstimator:
    """Return what measures dependence of n samples: many neighbours, for little variance."""
    return KSGMutualInformation(n_neighbors=max(1, min(10, n // 4)))


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
    estimator : EntropyEstimator or MutualInformationEstimator, default=None
        What estimates H (for "sum_entropy") or I (for the others); None for
        `KnnShannonEntropy` and `KSGMutualInformation` with ten neighbours.

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
    >>> from octavo.info import subspace_objective
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
    estimator : MutualInformationEstimator, default=None
        What measures it; None for `KSGMutualInformation` with ten neighbours.

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
    >>> from octavo.info import pairwise_dependence
    >>> x, y, z = np.random.default_rng(0).normal(size=(3, 1000))
    >>> dependence = pairwise_dependence(np.column_stack([x, y, x + z]))  # log(2)/2 = 0.35
    >>> print(np.round(dependence, 1) + 0.0)
    [[0.  0.  0.3]
     [0.  0.  0. ]
     [0.3 0.  0. ]]
    """
    sample = as_sample(S, "S", allow_complex=False)
    measure = default_dependence(len(sample)) if estimator is None else estimator
    if not isinstance(measure, MutualInformationEstimator):
        raise TypeError(
            "estimator must be an instance of MutualInformationEstimator, such as HSIC(), got "
            f"{measure!r}."
        )
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
