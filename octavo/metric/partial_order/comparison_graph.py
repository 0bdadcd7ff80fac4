"""The graph of comparisons: contradictions found, cycles broken, redundant answers dropped.

A vertex is an unordered pair of items, an edge a comparison from the closer pair to the farther
one. A set of comparisons can be satisfied by an embedding exactly where that graph has no cycle.

Reference: B. McFee and G. Lanckriet (2011), "Learning Multi-modal Similarity", Section 2,
Algorithm 1 and footnote 3. The paper writes ordered pairs; (i, j) and (j, i) are one vertex here,
or cycles would be missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.graphs.acyclic import (
    acyclic_subset,
    larger_sides,
    redundant_edges,
    strong_components,
    transitive_closure,
)
from octavo.metric.partial_order.comparisons import check_comparisons, distinct_pairs

__all__ = ["ComparisonGraph", "Contradictions", "GraphStats", "clean_comparisons"]

STEPS = ("pairs", "majority", "acyclic", "reduce")
METHODS = ("random", "berger_shor")


class Contradictions(NamedTuple):
    """What no embedding can satisfy.

    ``opposites`` are pairs of edges in opposite directions, as positions in `to_array`; ``cyclic``
    are the positions of all edges on a cycle; ``components`` are the groups of pairs of items, each
    of shape (size, 2), within which the answers go round.
    """

    opposites: Indices
    cyclic: Indices
    components: list[Indices]


class GraphStats(NamedTuple):
    """Counts: ``n_redundant`` is -1 where the graph has a cycle and redundancy no meaning."""

    n_items: int
    n_pairs: int
    n_answers: int
    n_comparisons: int
    n_opposites: int
    n_cyclic: int
    n_redundant: int


def _weights_of(weights: Any, n: int) -> Floats:
    if weights is None:
        return np.ones(n)
    values = real_array(weights, "weights")
    if values.shape != (n,) or (values < 0).any():
        raise ValueError(
            f"weights must be one number for each of {n} comparisons, none negative; got shape "
            f"{values.shape} with minimum {values.min(initial=np.inf):g}."
        )
    return values


class ComparisonGraph:
    """Comparisons of pairs as a directed graph, with the tools that clean them.

    Methods that clean return a new graph; nothing is changed in place. Repeated answers are one
    edge, whose weight is their number.

    Parameters
    ----------
    comparisons : array-like of shape (n_comparisons, 4) or (n_comparisons, 3)
        Rows (i, j, k, l): i and j are more alike than k and l; or (i, j, k) for (i, j, i, k).
    n_items : int, default=None
        Number of items; one more than the largest position by default.
    weights : array-like of shape (n_comparisons,), default=None
        How much each answer counts in a majority and in the guarantee of ``"berger_shor"``.

    Attributes
    ----------
    n_items : int
        Number of items.
    pairs : ndarray of shape (n_pairs, 2)
        The vertices.
    tails, heads : ndarray of shape (n_edges,)
        Closer and farther pair of each edge, as positions in `pairs`.
    weights : ndarray of shape (n_edges,)
        Weight of the answers behind each edge.
    rows : ndarray of shape (n_edges,)
        First row of `comparisons` that says so; -1 for edges of a closure that no row says.

    References
    ----------
    .. [1] McFee and Lanckriet (2011). Learning Multi-modal Similarity. JMLR 12:491-523.

    Examples
    --------
    >>> from octavo.metric import ComparisonGraph
    >>> graph = ComparisonGraph([[0, 1, 2, 3], [2, 3, 4, 5], [0, 1, 4, 5], [4, 5, 1, 0]])
    >>> graph.stats().n_cyclic
    4
    >>> graph.resolve().reduce().to_array().tolist()
    [[0, 1, 2, 3], [2, 3, 4, 5]]
    """

    def __init__(
        self, comparisons: ArrayLike, n_items: int | None = None, weights: ArrayLike | None = None
    ) -> None:
        if n_items is not None and (
            isinstance(n_items, bool) or not isinstance(n_items, Integral) or n_items < 2
        ):
            raise ValueError(f"n_items must be an integer of at least 2, got {n_items!r}.")
        rows = check_comparisons(comparisons, n_items)
        answers = _weights_of(weights, len(rows))
        self.n_items = int(rows.max()) + 1 if n_items is None else int(n_items)
        self.pairs, closer, farther = distinct_pairs(rows)
        # Vertices are unordered pairs: with ordered ones, cycles through (j, i) would be missed.
        codes, first, answered = np.unique(
            closer * len(self.pairs) + farther, return_index=True, return_inverse=True
        )
        order = np.argsort(first, kind="stable")  # edges stand as their first rows do
        self.rows: Indices = first[order]
        self.tails: Indices = codes[order] // len(self.pairs)
        self.heads: Indices = codes[order] % len(self.pairs)
        self.weights: Floats = np.asarray(
            np.bincount(answered, answers, minlength=len(codes))[order], dtype=np.float64
        )
        self._comparisons = rows[self.rows]
        self._n_answers = len(rows)

    def _subset(self, kept: Any) -> ComparisonGraph:
        smaller = object.__new__(ComparisonGraph)
        smaller.n_items, smaller.pairs = self.n_items, self.pairs
        smaller._n_answers = self._n_answers
        for name in ("rows", "tails", "heads", "weights", "_comparisons"):
            setattr(smaller, name, getattr(self, name)[kept])
        return smaller

    def __len__(self) -> int:
        return len(self.tails)

    def __repr__(self) -> str:
        return f"ComparisonGraph({self.n_items} items, {len(self)} comparisons)"

    def _opposites(self) -> Indices:
        n = len(self.pairs)
        ahead, back = self.tails * n + self.heads, self.heads * n + self.tails
        order = np.argsort(ahead)
        place = np.minimum(np.searchsorted(ahead[order], back), max(len(order) - 1, 0))
        partner = order[place]
        # Both directions, each found once
        found = np.flatnonzero((ahead[partner] == back) & (np.arange(len(ahead)) < partner))
        return np.column_stack([found, partner[found]])

    def contradictions(self) -> Contradictions:
        """Return direct contradictions, and everything that lies on a cycle.

        Returns
        -------
        Contradictions
            Opposite edges, edges on cycles, and the pairs of items that the cycles go through.
        """
        labels = strong_components(len(self.pairs), self.tails, self.heads)
        order = np.argsort(labels, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
        return Contradictions(
            self._opposites(),
            np.flatnonzero(labels[self.tails] == labels[self.heads]),
            [self.pairs[group] for group in groups if len(group) > 1],
        )

    def resolve(self, *, majority: bool = False) -> ComparisonGraph:
        """Remove direct contradictions: both answers, or those of the minority.

        Parameters
        ----------
        majority : bool, default=False
            Whether the heavier of two opposite edges stays (footnote 3 of the paper: for answers
            that were asked for many times); at equal weights both go.

        Returns
        -------
        ComparisonGraph
            Without cycles of two edges.
        """
        kept = np.ones(len(self), dtype=np.bool_)
        one, other = self._opposites().T
        kept[one] = majority & (self.weights[one] > self.weights[other])  # footnote 3
        kept[other] = majority & (self.weights[other] > self.weights[one])
        return self._subset(kept)

    def acyclic(self, method: str = "random", random_state: Any = None) -> ComparisonGraph:
        """Return a maximal subset without cycles: adding any edge back would close one.

        Parameters
        ----------
        method : {"random", "berger_shor"}, default="random"
            ``"random"`` is the paper's Algorithm 1, edges in random order; ``"berger_shor"`` starts
            from a set that surely has half of the weight, and goes on in random order.
        random_state : int, RandomState instance or None, default=None
            Draws the order.

        Returns
        -------
        ComparisonGraph
            Acyclic.
        """
        if method not in METHODS:
            raise ValueError(f"method must be one of {METHODS}, got {method!r}.")
        rng = check_random_state(random_state)
        n = len(self.pairs)
        # Sorted first, so that the draw does not depend on the order of the answers.
        order = np.lexsort((self.heads, self.tails))[rng.permutation(len(self))]
        if method == "berger_shor":
            half = larger_sides(n, self.tails, self.heads, self.weights, rng.permutation(n))
            order = np.concatenate([order[half[order]], order[~half[order]]])
        return self._subset(acyclic_subset(n, self.tails, self.heads, order))  # Algorithm 1

    def _require_acyclic(self, what: str) -> None:
        labels = strong_components(len(self.pairs), self.tails, self.heads)
        cyclic = int((labels[self.tails] == labels[self.heads]).sum())
        if cyclic:
            raise ValueError(
                f"{what} needs comparisons without cycles; {cyclic} of {len(self)} lie on one. "
                "Call acyclic() first."
            )

    def reduce(self) -> ComparisonGraph:
        """Drop comparisons that follow from others: the transitive reduction.

        Returns
        -------
        ComparisonGraph
            The smallest graph with the same closure.
        """
        self._require_acyclic("The transitive reduction")
        # Section 2.2
        return self._subset(~redundant_edges(len(self.pairs), self.tails, self.heads))

    def closure(self) -> ComparisonGraph:
        """Add all comparisons that follow: the transitive closure.

        Returns
        -------
        ComparisonGraph
            Edges that no answer names have weight 0 and row -1.
        """
        self._require_acyclic("The transitive closure")
        n = len(self.pairs)
        closed = object.__new__(ComparisonGraph)
        closed.n_items, closed.pairs, closed._n_answers = self.n_items, self.pairs, self._n_answers
        closed.tails, closed.heads = transitive_closure(n, self.tails, self.heads)
        codes = closed.tails * n + closed.heads
        places = np.searchsorted(codes, self.tails * n + self.heads)
        closed.rows, closed.weights = np.full(len(codes), -1), np.zeros(len(codes))
        closed.rows[places], closed.weights[places] = self.rows, self.weights
        closed._comparisons = np.hstack([self.pairs[closed.tails], self.pairs[closed.heads]])
        closed._comparisons[places] = self._comparisons
        return closed

    def to_array(self) -> Indices:
        """Return the comparisons, each once, as they were first written.

        Returns
        -------
        ndarray of shape (n_edges, 4)
            Rows (i, j, k, l).
        """
        return self._comparisons.copy()

    def stats(self) -> GraphStats:
        """Count vertices, edges, contradictions and redundancies.

        Returns
        -------
        GraphStats
            The counts.
        """
        found = self.contradictions()
        redundant = -1
        if not len(found.cyclic):
            redundant = int(redundant_edges(len(self.pairs), self.tails, self.heads).sum())
        return GraphStats(
            self.n_items,
            len(np.unique(np.concatenate([self.tails, self.heads]))),
            self._n_answers,
            len(self),
            len(found.opposites),
            len(found.cyclic),
            redundant,
        )


def check_steps(steps: Any) -> tuple[str, ...]:
    """Return the steps of a cleaning; refuse what is none."""
    if isinstance(steps, str) or not isinstance(steps, Sequence):
        raise ValueError(f"steps must be a sequence of names from {STEPS}, got {steps!r}.")
    for step in steps:
        if not isinstance(step, str) or step not in STEPS:
            raise ValueError(f"steps must be names from {STEPS}, got {step!r}.")
    return tuple(steps)


def cleaned_graph(
    graph: ComparisonGraph, steps: Sequence[str], method: str, random_state: Any
) -> ComparisonGraph:
    """Take a graph through the steps of a cleaning."""
    for step in steps:
        if step == "acyclic":
            graph = graph.acyclic(method, random_state)
        elif step == "reduce":
            graph = graph.reduce()
        else:
            graph = graph.resolve(majority=step == "majority")
    return graph


@checked
def clean_comparisons(
    C: ArrayLike,
    steps: Sequence[str] = ("pairs", "acyclic", "reduce"),
    random_state: Any = None,
    *,
    method: str = "random",
) -> Indices:
    """Return comparisons that contradict neither each other nor themselves, without redundant ones.

    Parameters
    ----------
    C : array-like of shape (n_comparisons, 4) or (n_comparisons, 3)
        Rows (i, j, k, l): i and j are more alike than k and l; or (i, j, k) for (i, j, i, k).
    steps : sequence of str, default=("pairs", "acyclic", "reduce")
        In this order: ``"pairs"`` removes both of two opposite answers, ``"majority"`` those of
        the minority, ``"acyclic"`` breaks longer cycles, ``"reduce"`` drops what follows from
        others.
    random_state : int, RandomState instance or None, default=None
        Which edges of a cycle go.
    method : {"random", "berger_shor"}, default="random"
        As for `ComparisonGraph.acyclic`.

    Returns
    -------
    ndarray of shape (n_kept, 4) or (n_kept, 3)
        The kept rows, as they were given and in their order; repeated ones once.

    References
    ----------
    .. [1] McFee and Lanckriet (2011). Learning Multi-modal Similarity. JMLR 12:491-523, Section 2.

    Examples
    --------
    >>> from octavo.metric import clean_comparisons
    >>> answers = [[0, 1, 2], [0, 2, 3], [0, 1, 3], [1, 0, 2], [1, 2, 0]]
    >>> clean_comparisons(answers, random_state=0).tolist()
    [[0, 1, 2], [0, 2, 3]]
    """
    graph = cleaned_graph(ComparisonGraph(C), check_steps(steps), method, random_state)
    return np.asarray(C).astype(np.int64)[np.sort(graph.rows)]
