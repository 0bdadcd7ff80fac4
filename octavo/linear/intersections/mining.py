"""From rows and classes to verified patterns: grow, gather, count exactly, filter, order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.discrete.draws import word_seeds
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.linear.intersections.patterns import count_patterns, tuples_of
from octavo.linear.intersections.trees import (
    TREES_A_CHUNK,
    Ceiling,
    Shape,
    exact_ceiling,
    grow_trees,
    hashed_ceiling,
    no_ceiling,
    take_sets,
)


class Search(NamedTuple):
    """What a search is told; the words of `RandomIntersectionTrees`."""

    n_trees: int = 1000
    branching: float = 5
    depth: int | None = None
    theta0: float | None = 0.01
    theta1: float = 0.0
    prevalence: str = "minhash"
    n_hashes: int = 200
    min_count: int = 2
    max_size: int | None = None
    root_single_child: bool = False
    max_depth: int = 50
    max_nodes: int = 5000
    n_jobs: int | None = None

    @property
    def shape(self) -> Shape:
        """The shape of the trees."""
        depth = -1 if self.depth is None else self.depth
        return Shape(self.branching, depth, self.root_single_child, self.max_depth, self.max_nodes)

    @property
    def n_chunks(self) -> int:
        """How often a search reports its progress, with one thread."""
        return -(-self.n_trees // TREES_A_CHUNK)


class Found(NamedTuple):
    """Patterns that satisfy (1), the most frequently found first.

    `held` has how many rows of the target class and how many others hold each.
    """

    patterns: list[tuple[int, ...]]
    counts: Ints
    held: Ints
    prevalence: Floats
    lift: Floats
    n_nodes: int
    truncated: int


def make_ceiling(search: Search, others: Any, rng: np.random.RandomState) -> Ceiling:
    """Return the test of branches that a search asks for, over the rows outside the class."""
    if search.theta0 is None:
        return no_ceiling()
    if search.prevalence == "exact":
        return exact_ceiling(others, search.theta0)
    return hashed_ceiling(others, search.theta0, search.n_hashes, rng)  # Algorithm 2, first line


def mine_patterns(
    inside: Any,
    others: Any,
    search: Search,
    random_state: Any,
    *,
    weights: Floats | None = None,
    ceiling: Ceiling | None = None,
    step: Callable[[], bool] | None = None,
) -> Found:
    """Grow trees on the rows of a class and return the patterns that satisfy (1) exactly.

    Parameters
    ----------
    inside, others : csr_array
        The rows of the target class, and the rest.
    search : Search
        Settings.
    random_state : int, RandomState instance or None
        Seeds the trees, then the hashes.
    weights : ndarray, optional
        Rows inside are drawn in proportion to these.
    ceiling : Ceiling, optional
        Another test of branches than `make_ceiling` returns; patterns are then verified against
        `theta1` alone.
    step : callable, optional
        Called after each chunk of trees; returns whether to stop.

    Returns
    -------
    found : Found
        The patterns, ordered by counts, then by size and members.
    """
    rng = check_random_state(random_state)
    seeds = word_seeds(rng, search.n_trees)
    test = make_ceiling(search, others, rng) if ceiling is None else ceiling
    leaves = grow_trees(
        inside, test, seeds, search.shape, weights=weights, n_jobs=search.n_jobs, step=step
    )
    sizes = np.diff(leaves.starts)
    # Section 5.1: patterns that at least two trees have found.
    keep = leaves.counts >= search.min_count
    if search.max_size is not None:
        keep &= sizes <= search.max_size
    starts, members = take_sets(leaves.starts, leaves.members, np.flatnonzero(keep))
    counts = leaves.counts[keep]
    held = np.column_stack([count_patterns(rows, starts, members) for rows in (inside, others)])
    prevalence = held / np.maximum([inside.shape[0], others.shape[0]], 1)
    fits = prevalence[:, 0] >= search.theta1  # Eq. (1)
    if search.theta0 is not None and ceiling is None:
        # The rounding of theta0 n must not lose a pattern that lies exactly on the ceiling.
        fits &= held[:, 1] <= np.floor(search.theta0 * others.shape[0] + 1e-9)
    names = tuples_of(starts, members)
    order = sorted(np.flatnonzero(fits), key=lambda s: (-counts[s], len(names[s]), names[s]))
    held, prevalence = held[order], prevalence[order]
    base = inside.shape[0] / (inside.shape[0] + others.shape[0])
    return Found(
        [names[s] for s in order],
        counts[order],
        held,
        prevalence,
        held[:, 0] / np.maximum(held.sum(axis=1), 1) / base,  # P(target | S ⊆ X) over P(target)
        int(leaves.n_nodes.sum()),
        int(leaves.truncated.sum()),
    )
