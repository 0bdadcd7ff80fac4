"""MIC-Multi with a variance for each task: features, and the tasks that take each of them.

Reference: Dhillon, Foster and Ungar (2011), Algorithm 1 and section 4.3.2. With a diagonal
covariance the best k tasks of a feature are those with the k largest gains, so each step is exact:
no subset of tasks of any feature would shorten the description more.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices, Numbers
from octavo.engine.linalg.forward_selection import ForwardSelection
from octavo.engine.linalg.unit_columns import UnitColumns
from octavo.linear.code_length.codes import coefficient_bits, subset_bits, zscore_bits
from octavo.linear.code_length.data_bits import CodePath, gaussian_bits, saved_bits

FIRST, BLOCK = 32, 256  # features whose tasks are looked at together
SLACK = 1e-9  # bits by which sums in another order may differ


class NetBits:
    """What each coefficient would save less what it costs, kept up as models grow: (h, p)."""

    def __init__(self, state: ForwardSelection, variance: str, coef_bits: float | str) -> None:
        self.state, self.variance, self.coef_bits = state, variance, coef_bits
        h, p = state.products.shape
        self.saved, self.net = np.empty((h, p)), np.empty((h, p))
        self.update(np.arange(h))

    def update(self, tasks: Indices) -> None:
        """Compute the rows of tasks whose models have changed."""
        state, n = self.state, self.state.columns.n
        falls, rss = state.falls(tasks), state.rss[tasks][:, None]
        self.saved[tasks] = saved_bits(falls, rss, n, self.variance)
        bits: Any = (
            zscore_bits(np.sqrt(n * falls / np.where(rss > 0.0, rss, 1.0)))
            if self.coef_bits == "zscore"
            else coefficient_bits(self.coef_bits, n)
        )
        # A task that cannot take the feature must not: it would make some subsets shorter.
        # ΔS_E less 2 bits, task by task
        self.net[tasks] = np.where(state.free(tasks), self.saved[tasks] - bits, -np.inf)


def best_partial(
    net: Floats, index_bits: float, subsets: Floats, available: Numbers, *, cut: bool
) -> tuple[int, int, float]:
    """Return the feature and number of tasks that shorten the description most, and by how much.

    The feature is -1 where none shortens it. With `cut`, features are looked at in the order of an
    upper bound, and not at all below the best so far.
    """
    # Section 4.3.2, first bound
    bound = np.where(available, np.maximum(net, 0.0).sum(axis=0) - index_bits, -np.inf)
    found = (-1, 0, 0.0)
    if not cut:
        return _best_of(net, np.flatnonzero(available), index_bits, subsets, found)
    hopeful = np.flatnonzero(bound > 0.0)
    first = hopeful
    if hopeful.size > FIRST:
        first = hopeful[np.argpartition(-bound[hopeful], FIRST)[:FIRST]]
    found = _best_of(net, first, index_bits, subsets, found)
    rest = np.setdiff1d(hopeful[bound[hopeful] >= found[2] - SLACK], first)
    rest = rest[np.argsort(-bound[rest], kind="stable")]
    for start in range(0, rest.size, BLOCK):
        block = rest[start : start + BLOCK]
        if bound[block[0]] < found[2] - SLACK:
            break
        found = _best_of(net, block, index_bits, subsets, found)
    return found


def _best_of(
    net: Floats, features: Indices, index_bits: float, subsets: Floats, best: tuple[int, int, float]
) -> tuple[int, int, float]:
    """Return the best of some features, or what was best before; equal ones by their number."""
    if not features.size:
        return best
    ordered = -np.sort(-net[:, features], axis=0)
    with np.errstate(invalid="ignore"):
        # Algorithm 1, lines 9 to 12
        shorter = np.cumsum(ordered, axis=0) - subsets[:, None] - index_bits  # ΔS by k
    counts = shorter.argmax(axis=0)  # Algorithm 1, line 11: all k, for costs are not monotone
    values = shorter[counts, np.arange(features.size)]
    top = values.max()
    j = int(features[values == top].min())
    if top > best[2] or (top == best[2] > 0.0 and j < best[0]):
        return j, int(counts[np.flatnonzero(features == j)[0]]) + 1, float(top)
    return best


class _Recorder:
    """Collects the steps of a selection."""

    def __init__(self, state: ForwardSelection) -> None:
        self.data = [gaussian_bits(state.length, state.columns.n)]
        self.model, self.order = [0.0], list[int]()
        self.tasks: list[Indices] = []
        self.support = np.zeros(state.products.shape[::-1], dtype=bool)

    def step(self, feature: int, tasks: Indices, saved: float, cost: float) -> None:
        self.order.append(feature)
        self.tasks.append(tasks)
        self.support[feature, tasks] = True
        self.data.append(self.data[-1] - saved)
        self.model.append(self.model[-1] + cost)

    def path(self, saturated: Indices) -> CodePath:
        order = np.array(self.order, dtype=np.intp)
        data, model = np.array(self.data), np.array(self.model)
        return CodePath(order, self.tasks, data, model, self.support, saturated)


def select_for_responses(
    X: Any,
    Y: Floats,
    *,
    mode: str = "partial",
    coef_bits: float | str = 2.0,
    variance: str = "profile",
    max_features: int | None = None,
    cut: bool = True,
) -> tuple[CodePath, UnitColumns]:
    """Select features and their tasks until no step shortens the description (Algorithm 1)."""
    columns = X if isinstance(X, UnitColumns) else UnitColumns(X)
    state = ForwardSelection(columns, Y, shared=mode == "full")
    bits = NetBits(state, variance, coef_bits)
    most = columns.p if max_features is None else max_features
    steps = {"partial": _partial, "full": _full, "independent": _independent}[mode]
    return steps(state, bits, most, cut), columns


def _partial(state: ForwardSelection, bits: NetBits, most: int, cut: bool) -> CodePath:
    h, p = bits.net.shape
    # Eq. (5) but for the 2 k.
    index_bits, subsets = float(np.log2(p)), subset_bits(np.arange(1.0, h + 1.0), h)
    available, record = np.ones(p, dtype=bool), _Recorder(state)
    for _ in range(most):
        j, k, shorter = best_partial(bits.net, index_bits, subsets, available, cut=cut)  # line 14
        if j < 0:
            break
        # Line 8: the best k tasks, with a diagonal Σ
        tasks = np.sort(np.argsort(-bits.net[:, j], kind="stable")[:k])
        saved = float(bits.saved[tasks, j].sum())
        record.step(j, tasks, saved, saved - shorter)
        state.add([j] * k, tasks.tolist())
        available[j] = False
        bits.update(tasks)
    return record.path(state.saturated)


def _full(state: ForwardSelection, bits: NetBits, most: int, cut: bool) -> CodePath:
    # FULL of Section 4.1.1
    index_bits, record = float(np.log2(bits.net.shape[1])), _Recorder(state)
    tasks = np.flatnonzero(~state.constant)
    for _ in range(most):
        if not state.open[tasks].any():
            break
        # Tasks whose model is closed take the feature and gain nothing by it.
        gains = np.where(state.left[0] > 0.0, _full_net(bits, tasks), -np.inf)
        j = int(gains.argmax())
        shorter = float(gains[j]) - index_bits
        if not shorter > 0.0:
            break
        saved = float(bits.saved[tasks, j][state.open[tasks]].sum())
        record.step(j, tasks, saved, saved - shorter)
        state.add([j] * tasks.size, tasks.tolist())
        bits.update(tasks)
    return record.path(state.saturated)


def _full_net(bits: NetBits, tasks: Indices) -> Floats:
    """Return what a feature saves in all tasks together, less its coefficients."""
    state, open_tasks = bits.state, tasks[bits.state.open[tasks]]
    net = bits.net[open_tasks].sum(axis=0)
    if bits.coef_bits == "zscore":
        return net - (tasks.size - open_tasks.size) * zscore_bits(np.ones(1))[0]
    each = coefficient_bits(bits.coef_bits, state.columns.n)
    return net - each * (tasks.size - open_tasks.size)


def _independent(state: ForwardSelection, bits: NetBits, most: int, cut: bool) -> CodePath:
    """Give every task its own greedy selection, all in step, and list coefficients best first."""
    h, p = bits.net.shape
    index_bits = float(np.log2(p))  # Eq. (4)
    found: list[list[tuple[int, float, float]]] = [[] for _ in range(h)]
    active = np.flatnonzero(state.open)
    while active.size:
        features = bits.net[active].argmax(axis=1)
        shorter = bits.net[active, features] - index_bits  # lg p + 2 a coefficient
        goes_on = shorter > 0.0
        active, features, shorter = active[goes_on], features[goes_on], shorter[goes_on]
        if not active.size:
            break
        for t, j, less in zip(active.tolist(), features.tolist(), shorter.tolist()):
            found[t].append((j, less, float(bits.saved[t, j])))
        state.add(features.tolist(), active.tolist())
        bits.update(active)
        active = active[state.open[active] & (state.n_terms[active] < most)]
    return _merged(found, _Recorder(state), most, state.saturated)


def _merged(
    found: list[list[tuple[int, float, float]]], record: _Recorder, most: int, saturated: Indices
) -> CodePath:
    """Return the steps of all tasks in the order in which one greedy search would take them."""
    heads = [(-steps[0][1], t, 0) for t, steps in enumerate(found) if steps]
    heapq.heapify(heads)
    used: set[int] = set()
    while heads:
        _, t, i = heapq.heappop(heads)
        j, shorter, saved = found[t][i]
        if len(used | {j}) > most:
            break
        used.add(j)
        record.step(j, np.array([t]), saved, saved - shorter)
        if i + 1 < len(found[t]):
            heapq.heappush(heads, (-found[t][i + 1][1], t, i + 1))
    return record.path(saturated)
