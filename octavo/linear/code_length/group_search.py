"""Greedy search over features in groups: forward, or past the stop and back.

Reference: Dhillon, Foster and Ungar (2011), Algorithm 2, with the comparison against zero that its
text means (as printed it compares with the gain of the step before), and section 4.3.1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.linalg.forward_selection import ForwardSelection
from octavo.engine.linalg.unit_columns import UnitColumns
from octavo.linear.code_length.data_bits import gaussian_bits, saved_bits
from octavo.linear.code_length.groups import GroupCode

ALL = 1 << 62


class GroupPath(NamedTuple):
    """A selection of features: the chosen ones in their order, and every set on the way."""

    order: list[int]
    bits: Floats  # data and model bits of each set on the way, (steps + 1, 2)
    chosen: int  # the row of `bits` that belongs to `order`
    saturated: bool


class _Way:
    """The sets that a search has passed, and the shortest description among them."""

    def __init__(self, data_bits: float) -> None:
        self.bits = [(data_bits, 0.0)]
        self.order: list[int] = []
        self.best, self.best_order, self.past = 0, list[int](), 0

    @property
    def data_bits(self) -> float:
        return self.bits[-1][0]

    def go(self, order: list[int], data_bits: float, model_bits: float, n_features: int) -> None:
        self.order = order
        self.bits.append((data_bits, model_bits))
        self.past += n_features
        if sum(self.bits[-1]) < sum(self.bits[self.best]):
            self.best, self.best_order, self.past = len(self.bits) - 1, list(order), 0

    def path(self, saturated: bool) -> GroupPath:
        return GroupPath(self.best_order, np.array(self.bits), self.best, saturated)


def search_groups(
    columns: UnitColumns,
    y: Floats,
    code: GroupCode,
    *,
    variance: str = "profile",
    overshoot: int = 0,
    max_features: int | None = None,
) -> GroupPath:
    """Select features of one response under a code; an overshoot adds a backward pass.

    The forward pass goes on until `overshoot` features past its shortest description.
    """
    state = ForwardSelection(columns, y[:, None])
    way = _Way(gaussian_bits(state.length, columns.n))
    most = ALL if max_features is None else max_features
    by_feature = code.scheme in ("switch", "ric")
    forward = _features_forward if by_feature else _groups_forward
    forward(state, code, way, variance, overshoot, most)
    if overshoot:
        _backward(state, code, way, variance)
    return way.path(bool(state.saturated.size))


def _features_forward(
    state: ForwardSelection, code: GroupCode, way: _Way, variance: str, overshoot: int, most: int
) -> None:
    used, n = np.zeros(code.K, dtype=bool), state.columns.n
    model = 0.0
    while state.open[0] and len(way.order) < most:
        # ΔS_E of Algorithm 2, line 6
        saved = saved_bits(state.falls([0])[0], state.rss[0], n, variance)
        costs = code.costs(used)
        shorter = np.where(state.free([0])[0], saved - costs, -np.inf)  # line 8
        j = int(shorter.argmax())
        # Of the increment, not of Algorithm 2's last maximum: print would stop almost at once.
        if shorter[j] == -np.inf or (not shorter[j] > 0.0 and way.past >= overshoot):
            break
        model += float(costs[j])
        state.add([j], [0])
        used[code.group_of[j]] = True
        way.go([*way.order, j], way.data_bits - float(saved[j]), model, 1)


def _groups_forward(
    state: ForwardSelection, code: GroupCode, way: _Way, variance: str, overshoot: int, most: int
) -> None:
    tables = [state.columns.table(group) for group in code.members]
    left, model = set(range(code.K)), 0.0
    while state.open[0] and left and len(way.order) < most:
        # Of the rows that are left: the best of many features fit noise exactly before long, and
        # two bits each do not pay for that.
        part = 2 if code.scheme == "full" else 4
        room = min(most - len(way.order), (state.columns.n - 1 - int(state.n_terms[0])) // part)
        found = max(
            (_best_in_group(state, tables[g], code, g, room, variance) for g in sorted(left)),
            key=lambda step: step[0],
        )
        shorter, g, features, saved = found
        if not features or (not shorter > 0.0 and way.past >= overshoot):
            break
        for j in features:
            state.add([j], [0])
        left.discard(g)
        model += saved - shorter
        way.go([*way.order, *features], way.data_bits - saved, model, len(features))


def _best_in_group(
    state: ForwardSelection, table: UnitColumns, code: GroupCode, g: int, room: int, variance: str
) -> tuple[float, int, list[int], float]:
    """Return ΔS of the best subset of a group, the group, that subset in order, and ΔS_E."""
    members, n = code.members[g], state.columns.n
    nothing = (-np.inf, g, list[int](), 0.0)
    if code.scheme == "full" and members.size > room:
        return nothing
    part, sums = state.branch(members, table), list[float]()
    while len(sums) < room and part.open[0]:
        falls = np.where(part.free([0])[0], part.falls([0])[0], -1.0)
        j = int(falls.argmax())
        if falls[j] < 0.0:
            break
        part.add([j], [0])
        sums.append(float(part.rss[0]))
    if not sums:
        return nothing
    # Within the group as within the tasks: Section 4.2.1
    saved = saved_bits(state.rss[0] - np.array(sums), state.rss[0], n, variance)
    if code.scheme == "full":
        best, shorter = len(sums) - 1, float(saved[-1]) - code.full_cost(g)
    else:
        by_count = saved - code.subset_costs(g, len(sums))
        best = int(by_count.argmax())
        shorter = float(by_count[best])
    return shorter, g, members[part.supports[0][: best + 1]].tolist(), float(saved[best])


def _backward(state: ForwardSelection, code: GroupCode, way: _Way, variance: str) -> None:
    """Delete what lengthens the description least, until nothing is left; the way keeps the best.

    A deletion updates the inverse of the Gram matrix by one sweep.
    """
    n, order = state.columns.n, list(way.order)
    Z = state.columns.columns(order)
    inverse: Floats = np.asarray(np.linalg.inv(Z @ Z.T), dtype=np.float64)
    weights, rss = inverse @ (Z @ state.units[0]), float(state.rss[0])
    while order:
        units = _units(order, code)
        rises = np.array([_rise(unit, weights, inverse) for unit in units])
        lost = saved_bits(rises, rss + rises, n, variance)
        removals = code.removals(order)
        gained = np.array([removals[unit[0]] for unit in units])
        u = int(np.argmax(gained - lost))
        rss += float(rises[u])  # the sum of squares rises by w_u (G⁻¹_uu)⁻¹ w_u
        for i in sorted(units[u], reverse=True):
            weights = weights - inverse[:, i] * (weights[i] / inverse[i, i])
            # G⁻¹ without row and column i
            inverse = inverse - np.outer(inverse[:, i], inverse[i]) / inverse[i, i]
            keep = np.arange(len(order)) != i
            weights, inverse = weights[keep], inverse[np.ix_(keep, keep)]
            del order[i]
        way.go(list(order), way.data_bits + float(lost[u]), code.total(order), 0)


def _units(order: list[int], code: GroupCode) -> list[list[int]]:
    """Return what can be deleted: positions of single features, or of whole groups."""
    if code.scheme != "full":
        return [[i] for i in range(len(order))]
    groups: dict[int, list[int]] = {}
    for i, j in enumerate(order):
        groups.setdefault(int(code.group_of[j]), []).append(i)
    return list(groups.values())


def _rise(unit: list[int], weights: Floats, inverse: Floats) -> float:
    """Return by how much the residual sum of squares rises without some features."""
    part = inverse[np.ix_(unit, unit)]
    return float(weights[unit] @ np.linalg.solve(part, weights[unit]))
