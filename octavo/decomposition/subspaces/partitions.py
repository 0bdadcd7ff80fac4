"""Groups of coordinates that belong together: searches over partitions.

A partition of the coordinates of a sample is good when its groups are independent of each other.
Swaps, the cross-entropy method and enumeration minimise an objective that says so when the sizes
of the groups are known; spectral clustering of pairwise dependence finds the sizes when they are
not.

References: Szabó (2014), "Information theoretical estimators toolbox", JMLR 15:283-287, section 2;
Szabó, Póczos and Lőrincz (2012), "Separation theorem for independent subspace analysis and its
consequences", Pattern Recognition 45:1782-1791; Rubinstein and Kroese (2004), "The cross-entropy
method", Springer.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from octavo.decomposition.subspaces.objectives import (
    Group,
    Objective,
    Partition,
    default_dependence,
    noise_level,
    pairwise_dependence,
)
from octavo.decomposition.subspaces.spectral_groups import partition_of_labels, sized_groups
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.samples import as_sample
from octavo.engine.spectral.normalized_affinity import count_clusters, spectral_labels

__all__ = ["SubspacePartition", "find_subspaces"]

OPTIMIZERS = ("greedy", "ce", "exhaustive", "spectral")
MAX_PARTITIONS = 100_000  # enumeration beyond this takes too long
ELITE = 0.1  # share of the draws that the cross-entropy method learns from
SMOOTHING = 0.7  # weight of the new probabilities against the old ones
CE_ROUNDS = 100


class SubspacePartition(NamedTuple):
    """Groups of coordinates and what is known about them.

    ``subspaces`` holds the column numbers of each group, ``objective`` the value that was
    minimised, ``n_iter`` how many rounds the search made, ``converged`` whether it settled, and
    ``dependence`` the pairwise dependence of the columns.
    """

    subspaces: list[np.ndarray]
    objective: float
    n_iter: int
    converged: bool
    dependence: np.ndarray


def swapped(partition: Partition, m: int, n: int, i: int, j: int) -> Partition:
    """Return the partition with i of group m and j of group n exchanged."""
    new = list(partition)
    new[m] = tuple(sorted([j, *(x for x in partition[m] if x != i)]))
    new[n] = tuple(sorted([i, *(x for x in partition[n] if x != j)]))
    return new


def greedy_swaps(
    objective: Callable[[Partition], float],
    start: Partition,
    after_round: Callable[[], Any],
    max_rounds: int = 1000,
) -> tuple[Partition, float, int, bool]:
    """Exchange two coordinates of two groups while that lowers the objective.

    For every pair of groups the best exchange is made; a round goes through all pairs. The end
    is a partition that no single exchange improves.
    """
    best, value = list(start), objective(start)
    for n_rounds in range(1, max_rounds + 1):
        before = value
        for m, n in combinations(range(len(best)), 2):
            if len(best[m]) == len(best[n]) == 1:
                continue  # the same partition again
            trials = [swapped(best, m, n, i, j) for i in best[m] for j in best[n]]
            values = [objective(trial) for trial in trials]
            lowest = int(np.argmin(values))
            if values[lowest] < value:
                best, value = trials[lowest], values[lowest]
        after_round()
        if value >= before:
            return best, value, n_rounds, True
    return best, value, max_rounds, False


def draw_labels(
    probabilities: Floats, dims: Sequence[int], rng: np.random.RandomState
) -> np.ndarray:
    """Draw a group for every coordinate, by their probabilities and the seats still free."""
    free = np.array(dims, dtype=np.float64)
    labels = np.empty(len(probabilities), dtype=np.intp)
    for i in rng.permutation(len(probabilities)):
        weight = probabilities[i] * (free > 0)
        if weight.sum() <= 0.0:
            weight = (free > 0).astype(np.float64)
        labels[i] = np.searchsorted(np.cumsum(weight), rng.uniform() * weight.sum(), side="right")
        free[labels[i]] -= 1
    return labels


def cross_entropy_groups(
    objective: Callable[[Partition], float],
    dims: Sequence[int],
    rng: np.random.RandomState,
    after_round: Callable[[], Any],
) -> tuple[Partition, float, int, bool]:
    """Draw partitions, and draw the next ones near the best of them, until all are alike."""
    d, m = sum(dims), len(dims)
    n_draws = 20 + 5 * d
    probabilities = np.full((d, m), 1.0 / m)
    # Groups of one size can change places: the first coordinate goes to a first group.
    firsts = [dims.index(size) for size in dims]
    probabilities[0] = [float(first == k) for k, first in enumerate(firsts)]
    probabilities[0] /= probabilities[0].sum()
    best: Partition = []
    value = math.inf
    for n_rounds in range(1, CE_ROUNDS + 1):
        draws = np.array([draw_labels(probabilities, dims, rng) for _ in range(n_draws)])
        groups = [[tuple(np.flatnonzero(x == k).tolist()) for k in range(m)] for x in draws]
        values = np.array([objective(group) for group in groups])
        # the elite of the cross-entropy method
        order = np.argsort(values, kind="stable")[: max(3, int(ELITE * n_draws))]
        if values[order[0]] < value:
            best, value = groups[order[0]], float(values[order[0]])
        share = (draws[order][:, :, None] == np.arange(m)).mean(axis=0)
        # smoothed: no chance falls to zero at once
        probabilities = SMOOTHING * share + (1.0 - SMOOTHING) * probabilities
        after_round()
        if probabilities.max(axis=1).min() > 0.99:
            return best, value, n_rounds, True
    return best, value, CE_ROUNDS, False


def n_partitions(dims: Sequence[int]) -> int:
    """Return how many partitions into groups of these sizes there are."""
    # multinomial coefficient, then groups of one size change places
    ways = math.factorial(sum(dims))
    for size in dims:
        ways //= math.factorial(size)
    for size in set(dims):
        ways //= math.factorial(list(dims).count(size))
    return ways


def all_partitions(
    dims: Sequence[int], left: Group, earlier: tuple[Group, ...] = ()
) -> Iterator[Partition]:
    """Yield every partition of `left` into groups of these sizes; equal sizes by first member."""
    if len(earlier) == len(dims):
        yield list(earlier)
        return
    size = dims[len(earlier)]
    floor = max((g[0] for g in earlier if len(g) == size), default=-1)
    for group in combinations(left, size):
        if group[0] > floor:
            rest = tuple(i for i in left if i not in group)
            yield from all_partitions(dims, rest, (*earlier, group))


def best_of_all(
    objective: Callable[[Partition], float], dims: Sequence[int], after_round: Callable[[], Any]
) -> tuple[Partition, float, int, bool]:
    """Try every partition."""
    ways = n_partitions(dims)
    if ways > MAX_PARTITIONS:
        raise ValueError(
            f"optimizer='exhaustive' would try {ways} partitions into groups of {list(dims)}; "
            f"at most {MAX_PARTITIONS} are. Use 'greedy' or 'ce'."
        )
    best: Partition = []
    value = math.inf
    for trial in all_partitions(dims, tuple(range(sum(dims)))):
        new = objective(trial)
        if new < value:
            best, value = trial, new
    after_round()
    return best, value, ways, True


def _check_dims(subspace_dims: Any, n_subspaces: int | None, d: int) -> list[int] | None:
    if isinstance(subspace_dims, str):
        if subspace_dims != "auto":
            raise ValueError(
                f"subspace_dims must be 'auto' or a list of sizes, got {subspace_dims!r}."
            )
        if n_subspaces is not None and not 1 <= n_subspaces <= d:
            raise ValueError(
                f"n_subspaces must be between 1 and the {d} coordinates, got {n_subspaces}."
            )
        return None
    dims = [int(size) for size in subspace_dims]
    if not dims or min(dims) < 1 or sum(dims) != d:
        raise ValueError(
            f"subspace_dims must be positive and add up to the {d} coordinates, got {dims}, "
            f"which add up to {sum(dims)}."
        )
    if n_subspaces not in (None, len(dims)):
        raise ValueError(f"n_subspaces is {n_subspaces}, but subspace_dims has {len(dims)} sizes.")
    return dims


def _groups_from_dependence(
    S: Floats,
    dims: list[int] | None,
    n_subspaces: int | None,
    estimator: Any,
    links: Floats | None,
    rng: np.random.RandomState,
) -> tuple[Partition, Floats]:
    """Return groups by spectral clustering of pairwise dependence, and that dependence."""
    d = S.shape[1]
    dependence = pairwise_dependence(S, estimator)
    if d == 1:
        return [(0,)], dependence
    if dims is not None and len(dims) in (1, d):
        return [tuple(range(d))] if len(dims) == 1 else [(i,) for i in range(d)], dependence
    affinity = np.maximum(dependence - noise_level(S, estimator, rng), 0.0)
    if links is not None:
        affinity = affinity + links
    np.fill_diagonal(affinity, 0.0)
    if dims is not None:
        return sized_groups(affinity, dims, rng), dependence
    m = count_clusters(affinity) if n_subspaces is None else n_subspaces
    if n_subspaces is not None:  # clusters asked for may cut through what is left without edges
        affinity = affinity + 1e-6 * max(float(affinity.max()), 1.0)
        np.fill_diagonal(affinity, 0.0)
    return partition_of_labels(spectral_labels(affinity, m, rng)), dependence


@checked
def find_subspaces(
    S: ArrayLike,
    subspace_dims: Any = "auto",
    objective: str = "sum_entropy",
    estimator: Any = None,
    optimizer: str = "greedy",
    *,
    n_subspaces: int | None = None,
    links: ArrayLike | None = None,
    random_state: Any = None,
    after_round: Callable[[], Any] | None = None,
) -> SubspacePartition:
    """Group the columns of a sample so that the groups are as independent as can be.

    The start is spectral clustering of the pairwise dependence of the columns, above the level of
    noise that shuffled columns show; with ``optimizer="spectral"`` it is also the end.

    Parameters
    ----------
    S : array-like of shape (N, D)
        The sample, such as the coordinates that an independent component analysis found.
    subspace_dims : "auto" or list of int, default="auto"
        The sizes of the groups, which add up to D; found by spectral clustering if "auto".
    objective : str, default="sum_entropy"
        What is minimised; see `subspace_objective`.
    estimator : object, default=None
        What estimates the terms of the objective; see `subspace_objective`. One of mutual
        information also measures pairwise dependence; otherwise ten nearest neighbours do.
    optimizer : {"greedy", "ce", "exhaustive", "spectral"}, default="greedy"
        Exchange coordinates of two groups while that helps; the cross-entropy method; try
        every partition; or leave it at spectral clustering.
    n_subspaces : int, default=None
        The number of groups where sizes are not known; None for the largest gap of the
        eigenvalues of the Laplacian.
    links : array-like of shape (D, D), default=None
        Added to the affinity of spectral clustering, where more is known than dependence.
    random_state : int, RandomState instance or None, default=None
        Seed of shuffles, k-means and the cross-entropy method.
    after_round : callable, default=None
        Called without arguments after every round of the search.

    Returns
    -------
    SubspacePartition
        The groups, the objective and how the search ended.

    Warns
    -----
    ConvergenceWarning
        If the search did not settle within its rounds.

    References
    ----------
    .. [1] Szabó, Póczos and Lőrincz (2012). Separation theorem for independent subspace analysis
       and its consequences. Pattern Recognition 45:1782-1791.

    Examples
    --------
    >>> from octavo.data import make_subspace_mixture
    >>> from octavo.decomposition import find_subspaces
    >>> S = make_subspace_mixture("shapes", n_subspaces=2, random_state=0).sources
    >>> found = find_subspaces(S[:, [0, 2, 1, 3]], random_state=0)
    >>> [group.tolist() for group in found.subspaces]
    [[0, 2], [1, 3]]
    """
    sample = as_sample(S, "S", allow_complex=False)
    if optimizer not in OPTIMIZERS:
        raise ValueError(f"optimizer must be one of {OPTIMIZERS}, got {optimizer!r}.")
    cost, rng = Objective(sample, objective, estimator), check_random_state(random_state)
    dims = _check_dims(subspace_dims, n_subspaces, sample.shape[1])
    step = after_round or (lambda: None)
    measure = cost.estimator if objective != "sum_entropy" else default_dependence(len(sample))
    extra = None if links is None else np.asarray(links, dtype=np.float64)
    start, dependence = _groups_from_dependence(sample, dims, n_subspaces, measure, extra, rng)
    step()
    sizes = [len(group) for group in start]
    if optimizer == "spectral" or len(sizes) == 1 or max(sizes) == 1:
        groups, value, n_iter, converged = start, cost(start), 0, True
    elif optimizer == "greedy":
        groups, value, n_iter, converged = greedy_swaps(cost, start, step)
    elif optimizer == "ce":
        groups, value, n_iter, converged = cross_entropy_groups(cost, sizes, rng, step)
    else:
        groups, value, n_iter, converged = best_of_all(cost, sizes, step)
    if not converged:
        warnings.warn(
            f"optimizer={optimizer!r} did not settle within {n_iter} rounds; the best objective "
            f"is {value:.6g}.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return SubspacePartition(
        [np.array(group) for group in groups], float(value), n_iter, converged, dependence
    )
