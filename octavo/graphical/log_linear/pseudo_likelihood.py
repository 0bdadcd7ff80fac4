"""The pseudo-log-likelihood (2) of a table and its gradient, from a list of changes.

For variable k of row i and another value v, the margin log P(v | rest) - log P(x_ik | rest) is the
sum of what features gain when x_ik becomes v. Which features those are does not depend on the
weights, so that they are listed once: a *change* is a cell (k, v) of a row, the slot whose value is
gained and the slot whose value is lost. A slot is a feature (slot 0 is nothing), or a leaf of a
tree with a value of its target; the value of such a slot is the sum of the weights of all
features on the way to the leaf, so that a row and a tree have as many changes as the path has
tests, however many features the tree has. Values of slots are linear in the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.discrete.contingency import distinct_rows
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.kernels.exponential import exp_nonpositive
from octavo.engine.smooth.penalized_likelihood import PenalizedFit, maximize_penalized
from octavo.graphical.log_linear.conjunctions import (
    Feature,
    Parts,
    as_parts,
    canonical_set,
    cell_offsets,
)
from octavo.graphical.log_linear.state_codes import Codes
from octavo.graphical.log_linear.trees import SplitTree, node_features

__all__: list[str] = []

BLOCKS = 8  # of rows; their sums are added in one order, whoever computes them
_LARGE = 1e250
MOST_CHANGES = 2**28  # a list of more would not fit into 4 GB


class WeightedRows(NamedTuple):
    """Distinct rows and how often each is there."""

    codes: Codes
    weights: Ints
    cardinalities: Ints

    @property
    def n_samples(self) -> int:
        """Number of rows, repeated ones included."""
        return int(self.weights.sum())


def weighted_rows(codes: Codes, cardinalities: Ints) -> WeightedRows:
    """Merge equal rows of a table."""
    rows = distinct_rows(codes, cardinalities.tolist())
    kept = np.ascontiguousarray(rows.codes.T.astype(np.int32))
    return WeightedRows(kept, rows.weights.astype(np.int64), np.asarray(cardinalities))


# --- features, and the trees that they hang on ---------------------------------------------------


class FeaturePlan(NamedTuple):
    """Features, their slots, and how values of slots add up from weights.

    Attributes
    ----------
    features : list of Feature
        Distinct; weights stand in this order.
    trees : list of SplitTree
        Trees whose leaves are slots.
    bases : list of ndarray
        The slot of each node of a tree and the first value of its target.
    loose : ndarray of int
        Features that are slots of their own.
    sums : csr_matrix of shape (n_slots, n_features)
        Which weights make up the value of a slot.
    """

    features: list[Feature]
    trees: list[SplitTree]
    bases: list[NDArray[np.int32]]
    loose: Ints
    sums: Any


def plan_features(
    trees: Sequence[SplitTree], method: str, loose: Sequence[Feature], cardinalities: Ints
) -> FeaturePlan:
    """Lay out the features of trees, and others, without saying any twice.

    Parameters
    ----------
    trees : sequence of SplitTree
        For "prune-k" closed at k - 1 tests already.
    method : {"default", "prune", "prune-k"}
        Which nodes of a tree are features.
    loose : sequence of Feature
        Features beside them, in canonical form.
    cardinalities : ndarray of int
        States of each variable.

    Returns
    -------
    plan : FeaturePlan
        Features of trees first.
    """
    number: dict[Feature, int] = {}
    row: list[int] = []
    column: list[int] = []
    bases = []
    n_slots = 1
    for tree in trees:
        n_states = int(cardinalities[tree.target])
        own: dict[tuple[int, int], int] = {}
        for node, v, feature in node_features(tree, method, cardinalities):
            if feature not in number:
                own[node, v] = number[feature] = len(number)
        above: dict[int, list[int]] = {0: [0]}
        base = np.full(tree.variable.size, -1, np.int32)
        for node, k in enumerate(tree.variable.tolist()):
            if k >= 0:
                for child in (int(tree.yes[node]), int(tree.no[node])):
                    above[child] = [*above[node], child]
                continue
            base[node] = n_slots
            for v in range(n_states):
                listed = [own[at, v] for at in above[node] if (at, v) in own]
                row += [n_slots + v] * len(listed)
                column += listed
            n_slots += n_states
        bases.append(base)
    beside = []
    for feature in loose:
        if feature not in number:
            number[feature] = len(number)
            beside.append(number[feature])
            row.append(n_slots)
            column.append(number[feature])
            n_slots += 1
    sums = sp.csr_matrix((np.ones(len(row)), (row, column)), shape=(n_slots, len(number)))
    return FeaturePlan(list(number), list(trees), bases, np.array(beside, np.int64), sums)


# --- the list of changes -------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _feature_changes(codes, indptr, variable, allowed, slots, offsets, cursor, out, fill):
    """Count, or write, the changes of features at each row."""
    for i in range(codes.shape[0]):
        at = cursor[i]
        for f in range(indptr.size - 1):
            violated, where = 0, -1
            for part in range(indptr[f], indptr[f + 1]):
                # more than one part fails: no single value can change the feature
                if not allowed[part, codes[i, variable[part]]]:
                    violated += 1
                    where = part
                    if violated > 1:
                        break
            if violated > 1:
                continue
            first = indptr[f] if violated == 0 else where
            last = indptr[f + 1] if violated == 0 else where + 1
            for part in range(first, last):
                k = variable[part]
                for v in range(offsets[k + 1] - offsets[k]):
                    # A row that matches loses the feature; one that misses a part gains it.
                    if allowed[part, v] == (violated == 1):
                        if fill:
                            out[at, 0] = offsets[k] + v
                            out[at, 1] = slots[f] if violated == 1 else 0
                            out[at, 2] = 0 if violated == 1 else slots[f]
                        at += 1
        cursor[i] = at


@njit(cache=True, nogil=True)
def _tree_changes(codes, roots, targets, nodes, offsets, cursor, out, fill):
    """Count, or write, the changes of trees: other values of the target, other ways down."""
    path = np.empty(nodes.shape[0], np.int64)
    for i in range(codes.shape[0]):
        at = cursor[i]
        for t in range(roots.size):
            node, length = roots[t], 0
            while nodes[node, 0] >= 0:
                path[length] = node
                length += 1
                passes = codes[i, nodes[node, 0]] == nodes[node, 1]
                node = nodes[node, 2] if passes else nodes[node, 3]
            target = targets[t]
            y = codes[i, target]
            lost = nodes[node, 4] + y
            for v in range(offsets[target + 1] - offsets[target]):
                if v != y:
                    if fill:
                        out[at, 0] = offsets[target] + v
                        out[at, 1] = nodes[node, 4] + v
                        out[at, 2] = lost
                    at += 1
            for step in range(length):
                k = nodes[path[step], 0]
                n_values = offsets[k + 1] - offsets[k]
                seen = False
                if n_values > 2:
                    for before in range(step):
                        seen = seen or nodes[path[before], 0] == k
                if seen:
                    continue
                for v in range(n_values):
                    if v == codes[i, k]:
                        continue
                    other = path[step]
                    while nodes[other, 0] >= 0:
                        value = v if nodes[other, 0] == k else codes[i, nodes[other, 0]]
                        passes = value == nodes[other, 1]
                        other = nodes[other, 2] if passes else nodes[other, 3]
                    if other != node:
                        if fill:
                            out[at, 0] = offsets[k] + v
                            out[at, 1] = nodes[other, 4] + y
                            out[at, 2] = lost
                        at += 1
        cursor[i] = at


@njit(cache=True, nogil=True)
def _pass(codes, weights, offsets, indptr, changes, values, slopes):
    """Return the log-likelihood of a block of rows, and add its slopes with respect to slots."""
    n_cells, n_variables = offsets[-1], offsets.size - 1
    two, many = np.empty(n_variables, np.int64), np.empty(n_variables, np.int64)
    n_two, n_many = 0, 0
    for k in range(n_variables):
        if offsets[k + 1] - offsets[k] == 2:
            two[n_two] = k
            n_two += 1
        else:
            many[n_many] = k
            n_many += 1
    margins = np.empty(n_cells)
    margin, mass_of = np.empty(n_two), np.empty(n_two)
    total = 0.0
    for i in range(codes.shape[0]):
        for cell in range(n_cells):
            margins[cell] = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            # log P(v | rest) - log P(x_ik | rest), Eq. (1) divided by itself
            margins[changes[at, 0]] += values[changes[at, 1]] - values[changes[at, 2]]
        for j in range(n_two):  # the margin of the other value is all there is
            margin[j] = margins[offsets[two[j]] + 1 - codes[i, two[j]]]
        for j in range(n_two):  # on its own, for vector instructions
            mass_of[j] = exp_nonpositive(-abs(margin[j]))
        above, product = 0.0, 1.0
        for j in range(n_two):
            above += max(margin[j], 0.0)
            product *= 1.0 + mass_of[j]
            if product > _LARGE:  # one logarithm for hundreds of variables
                above += np.log(product)
                product = 1.0
            share = (1.0 if margin[j] > 0 else mass_of[j]) / (1.0 + mass_of[j])
            margins[offsets[two[j]] + 1 - codes[i, two[j]]] = weights[i] * share
        # Eq. (2): -log(1 + e^margin) of all variables of two values
        total -= weights[i] * (above + np.log(product))
        for q in range(n_many):
            k, top = many[q], 0.0
            for cell in range(offsets[k], offsets[k + 1]):
                top = max(top, margins[cell])
            mass = 0.0
            for cell in range(offsets[k], offsets[k + 1]):
                margins[cell] = np.exp(margins[cell] - top)
                mass += margins[cell]
            total -= weights[i] * (np.log(mass) + top)  # Eq. (2) for more values
            for cell in range(offsets[k], offsets[k + 1]):
                margins[cell] *= weights[i] / mass
        for at in range(indptr[i], indptr[i + 1]):
            # ∂ of Eq. (2): expected less observed
            slopes[changes[at, 1]] -= margins[changes[at, 0]]
            slopes[changes[at, 2]] += margins[changes[at, 0]]
    return total


class PseudoLikelihood:
    """The pseudo-log-likelihood of rows under given features, as a function of their weights.

    Parameters
    ----------
    rows : WeightedRows
        The table.
    plan : FeaturePlan
        The features.
    n_jobs : int or None
        Threads; they change no digit.
    """

    def __init__(self, rows: WeightedRows, plan: FeaturePlan, n_jobs: int | None = None) -> None:
        self.rows, self.plan = rows, plan
        self._offsets = cell_offsets(rows.cardinalities)
        self._threads = min(effective_n_jobs(n_jobs), BLOCKS)
        cuts = np.unique(np.linspace(0, len(rows.codes), BLOCKS + 1).astype(int))
        trees, parts = _joined_trees(plan), as_parts(
            [plan.features[f] for f in plan.loose], rows.cardinalities
        )  # fmt: skip
        slots = np.arange(plan.sums.shape[0] - plan.loose.size, plan.sums.shape[0], dtype=np.int32)
        self._blocks = []
        self.n_changes = 0
        for start, stop in pairwise(cuts):
            codes = rows.codes[start:stop]
            indptr, changes = self._listed(codes, trees, parts, slots)
            self._blocks.append((codes, rows.weights[start:stop].astype(float), indptr, changes))

    def _listed(
        self, codes: Codes, trees: Any, parts: Parts, slots: NDArray[np.int32]
    ) -> tuple[Ints, NDArray[np.int32]]:
        cursor = np.zeros(len(codes), np.int64)
        nothing = np.empty((0, 3), np.int32)
        _tree_changes(codes, *trees, self._offsets, cursor, nothing, False)
        _feature_changes(codes, *parts, slots, self._offsets, cursor, nothing, False)
        indptr = np.concatenate([[0], np.cumsum(cursor)])
        self.n_changes += int(indptr[-1])
        if self.n_changes > MOST_CHANGES:
            raise ValueError(
                f"The features have more than {MOST_CHANGES} chances to change a row, too many to "
                "list in memory. Use shorter features, such as prune-5 or nonzero, or fewer rows."
            )
        changes = np.empty((int(indptr[-1]), 3), np.int32)
        cursor = indptr[:-1].copy()
        _tree_changes(codes, *trees, self._offsets, cursor, changes, True)
        _feature_changes(codes, *parts, slots, self._offsets, cursor, changes, True)
        return indptr, changes

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Return the pseudo-log-likelihood, and its gradient."""
        values = self.plan.sums @ weights

        def one(block: Any) -> tuple[float, Floats]:
            codes, counts, indptr, changes = block
            slopes = np.zeros(values.size)
            return _pass(codes, counts, self._offsets, indptr, changes, values, slopes), slopes

        if self._threads > 1:
            with ThreadPoolExecutor(self._threads) as pool:
                found = list(pool.map(one, self._blocks))
        else:
            found = [one(block) for block in self._blocks]
        slopes = sum((s for _, s in found), np.zeros(values.size))
        return sum(value for value, _ in found), self.plan.sums.T @ slopes


def _joined_trees(plan: FeaturePlan) -> tuple[Ints, Ints, NDArray[np.int32]]:
    """Return roots, targets and the nodes of all trees in one table, slots in its last column."""
    roots, tables, start = [], [], 0
    for tree, base in zip(plan.trees, plan.bases):
        shift = np.where(tree.variable >= 0, start, 0).astype(np.int32)
        columns = (tree.variable, tree.value, tree.yes + shift, tree.no + shift, base)
        tables.append(np.column_stack(columns).astype(np.int32))
        roots.append(start)
        start += tree.variable.size
    nodes = np.concatenate(tables) if tables else np.empty((0, 5), np.int32)
    targets = np.array([tree.target for tree in plan.trees], np.int64)
    return np.array(roots, np.int64), targets, nodes


def fit_weights(
    likelihood: PseudoLikelihood,
    weight_sd: float,
    *,
    start: Floats | None = None,
    tol: float = 1e-6,
    max_iter: int = 500,
    step: Callable[[], bool] | None = None,
) -> PenalizedFit:
    """Maximise the pseudo-log-likelihood less Σ w²/(2σ²) by L-BFGS.

    Parameters
    ----------
    likelihood : PseudoLikelihood
        Rows and features.
    weight_sd : float
        Standard deviation σ of the Gaussian prior of every weight.
    start : ndarray or None
        Where to begin; None for zero.
    tol : float
        Largest entry of the gradient a row at which to stop.
    max_iter : int
        Most iterations.
    step : callable or None
        Called after each iteration; returns whether to stop.

    Returns
    -------
    fit : PenalizedFit
        Weights and how good they are.
    """
    n = likelihood.plan.sums.shape[1]
    if n == 0:
        value, _ = likelihood(np.zeros(0))
        return PenalizedFit(np.zeros(0), value, 0.0, 0.0, 0, True, np.array([value]))
    return maximize_penalized(  # Section 2.3: Eq. (2) with a Gaussian prior on the weights
        likelihood,
        np.zeros(n) if start is None else start,
        np.full(n, float(weight_sd)),
        size=likelihood.rows.n_samples,
        tol=tol,
        max_iter=max_iter,
        step=step,
    )


def flat_plan(features: Sequence[Any], cardinalities: Ints) -> FeaturePlan:
    """Return the plan of features that hang on no tree."""
    return plan_features([], "default", canonical_set(features, cardinalities), cardinalities)


def _warmup() -> None:
    """Compile the kernels."""
    cards = np.array([2, 2])
    rows = weighted_rows(np.array([[0, 1], [1, 1]], np.int32), cards)
    PseudoLikelihood(rows, flat_plan([[(0, "==", 1)]], cards))(np.zeros(1))
