"""Cuts of range expansion that begin with a flow of earlier ones.

Intervals overlap, and labels change little between two cuts. Whatever flows between the chains of
two neighbours may flow in another graph too, up to its capacities there; the flows along the chains
follow, since they have no limit backwards: each chain carries the most that its capacities allow.
Every such flow is a beginning, and a cut has only to mend what differs. An interval begins with its
own last flow, the first time with that of the cut before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices, Ints
from octavo.engine.graphs.max_flow import arc_lists, augment
from octavo.graphical.energies.interval_graphs import second_differences
from octavo.graphical.energies.problem import PairwiseMRF

ROUNDING = 1e-12  # capacities below this share of the largest cost are what rounding leaves
FLOWS_KEPT, ARCS_KEPT = 60_000_000, 20_000_000  # numbers of 8 bytes, and arcs of about 20


class IntervalFlow(NamedTuple):
    """What flows from first to second ends: a row for each pair of labels of the interval."""

    low: int
    levels: Ints
    flows: Floats


class WarmCuts:
    """Solves the cuts of range expansion of one energy; see `interval_graph` for the graphs.

    Parameters
    ----------
    mrf : PairwiseMRF
        The energy.
    """

    def __init__(self, mrf: PairwiseMRF) -> None:
        self.mrf = mrf
        self.bend = second_differences(mrf.differences)
        highest = float(mrf.weights.max(initial=0.0)) * min(mrf.truncation, mrf.differences[-1])
        self.tiny = ROUNDING * (float(np.abs(mrf.costs).max()) + highest)
        self.graphs: dict[int, Any] = {}
        self.own: dict[tuple[int, int], IntervalFlow] = {}
        self.last: IntervalFlow | None = None

    def best_labels(self, interval: tuple[int, int], labels: Indices) -> Indices:
        """Return for each variable a label counted from the interval's first, or -1 to keep.

        Parameters
        ----------
        interval : tuple of int
            Its first and last label.
        labels : ndarray of int of shape (n_variables,)
            Labels now.

        Returns
        -------
        taken : ndarray of int of shape (n_variables,)
            Eq. (8).
        """
        mrf, (low, high) = self.mrf, interval
        levels, (start, head, sister, place) = self._graph(high - low + 1)
        flows = self._beginning(interval, levels)
        inside = (labels >= low) & (labels <= high)
        a, b = mrf.edges.T
        residual, rest = _residual_graph(
            mrf.costs[:, low : high + 1],
            np.where(inside, np.inf, mrf.costs[np.arange(mrf.n_variables), labels]),
            mrf.edges,
            mrf.weights,
            mrf.weights * mrf.pair_costs[labels[a], labels[b]],
            mrf.differences,
            self.bend,
            mrf.truncation,
            levels,
            flows,
            place,
            sister,
        )
        _, side = augment(start, head, sister, residual, rest, self.tiny)
        self._remember(interval, levels, flows, residual, place, sister)
        return _last_levels(side.reshape(mrf.n_variables, -1), inside)

    def _graph(self, length: int) -> Any:
        """Return pairs of labels whose nodes are joined, and the arcs of an interval's graph."""
        if length not in self.graphs:
            n, m = self.mrf.n_variables, len(self.mrf.edges)
            x, y = (part.ravel() for part in np.indices((length, length)))
            joined = (self.bend[np.abs(x - y)] > 0) | (x + y == 0)
            levels = np.column_stack([x, y])[joined].astype(np.int64)
            if (len(self.graphs) + 1) * (n * length + m * len(levels)) > ARCS_KEPT:
                self.graphs.clear()
            nodes = np.arange(n * length, dtype=np.int32).reshape(n, length)
            a, b = self.mrf.edges.T
            tails = np.concatenate([nodes[:, :-1].ravel(), nodes[a].T[levels[:, 0]].ravel()])
            heads = np.concatenate([nodes[:, 1:].ravel(), nodes[b].T[levels[:, 1]].ravel()])
            self.graphs[length] = levels, arc_lists(n * length, tails, heads)
        return self.graphs[length]

    def _beginning(self, interval: tuple[int, int], levels: Ints) -> Floats:
        """Return the flow to begin with: the interval's own, or that of another where they meet."""
        known = self.own.get(interval, self.last)
        flows = np.zeros((len(levels), len(self.mrf.edges)))
        if known is not None:
            rows = {
                tuple(pair): row for row, pair in enumerate((known.levels + known.low).tolist())
            }
            for row, pair in enumerate((levels + interval[0]).tolist()):
                if tuple(pair) in rows:
                    flows[row] = known.flows[rows[tuple(pair)]]
        return flows

    def _remember(self, interval: tuple[int, int], levels: Ints, flows: Any, *graph: Any) -> None:
        """Keep the flow that a cut ended with."""
        _pair_flows(self.mrf.n_variables * (interval[1] - interval[0]), flows, *graph)
        self.last = IntervalFlow(interval[0], levels, flows)
        if interval in self.own or (len(self.own) + 1) * flows.size <= FLOWS_KEPT:
            self.own[interval] = self.last


@njit(cache=True)
def _residual_graph(costs, keep, edges, weights, kept, d, bend, M, levels, flows, place, sister):
    """Return residual capacities, and what is left from the source and to the sink.

    The graph is that of `interval_graph`, with the first nodes of those who must take a label of
    the interval (`keep` is infinite) beside the source instead of in it.
    """
    n, length = costs.shape
    m = edges.shape[0]
    residual, rest = np.empty(sister.shape[0]), np.zeros(n * length)
    degree, stay, sent = np.zeros(n), keep.copy(), np.zeros((n, length))
    for e in range(m):
        a, b, w = edges[e, 0], edges[e, 1], weights[e]
        degree[a] += 0.5 * w
        degree[b] += 0.5 * w
        kappa = w * d[length]  # κ_ab = w d(L)
        # w M + κ/2 of Fig. 5(a, b), and T/2 of Fig. 5(c)
        alone, together = w * M + 0.5 * kappa, 0.5 * (kept[e] + kappa)
        stay[a] += alone if keep[b] == np.inf else together
        stay[b] += alone if keep[a] == np.inf else together
    arc = n * (length - 1)
    for row in range(levels.shape[0]):
        x, y = levels[row, 0], levels[row, 1]
        for e in range(m):
            a, b = edges[e, 0], edges[e, 1]
            if x + y > 0:
                capacity = 0.5 * weights[e] * bend[abs(x - y)]  # Eq. (4)
            elif keep[a] == np.inf or keep[b] == np.inf:
                capacity = 0.0
            else:
                capacity = weights[e] * M - 0.5 * kept[e]  # c - T/2 of Fig. 5(c)
            # an earlier flow, cut to what fits here
            flow = min(max(flows[row, e], -capacity), capacity)
            residual[place[arc]], residual[sister[place[arc]]] = capacity - flow, capacity + flow
            arc += 1
            sent[a, x] += flow
            sent[b, y] -= flow
    arc = 0
    for i in range(n):
        least, total = stay[i], 0.0
        for k in range(length):
            total += sent[i, k]
            sent[i, k] = costs[i, k] + degree[i] * (d[length - 1 - k] + d[k + 1]) + total  # Eq. (5)
            least = min(least, sent[i, k])
        for k in range(length - 1):
            residual[place[arc]], residual[sister[place[arc]]] = sent[i, k] - least, np.inf
            arc += 1
        rest[i * length + length - 1] -= sent[i, length - 1] - least  # a_jm -> t of Eq. (5)
        rest[i * length] += stay[i] - least  # s -> a_im+1 of Eq. (7)
    return residual, rest


@njit(cache=True)
def _pair_flows(first, flows, residual, place, sister):
    """Write the flow of each joined pair of nodes: half the difference of its two arcs."""
    arc = first
    for row in range(flows.shape[0]):
        for e in range(flows.shape[1]):
            back = residual[sister[place[arc]]] - residual[place[arc]]
            flows[row, e] = 0.5 * back
            arc += 1


def _last_levels(side: NDArray[np.bool_], inside: NDArray[np.bool_]) -> Indices:
    """Return the last level of each chain on the source's side, -1 where none is (Eq. 3)."""
    side[inside, 0] = True
    return np.minimum.accumulate(side, axis=1).sum(axis=1) - 1


def _warmup() -> None:
    mrf = PairwiseMRF([[0.0, 1.0], [1.0, 0.0]], [[0, 1]], 1.0, "linear", 1.0)
    WarmCuts(mrf).best_labels((0, 0), np.array([0, 1]))
