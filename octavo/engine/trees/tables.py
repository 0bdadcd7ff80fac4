"""Exact sums over discrete variables by tables on a junction tree.

A factor is a scope (variables in ascending order) and a table of log potentials with one axis for
each. Every factor is put into one cluster; messages go to the root and back; then each cluster
holds the logarithm of its unnormalised marginal. A size guard says what exact inference would cost
before it is paid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.graphs.junction_trees import JunctionTree, junction_forest
from octavo.engine.graphs.spanning import rooted_forest

__all__ = ["Factor", "TableTree"]

Factor = tuple[Sequence[int], Floats]
MOST = 2**24  # entries of the largest table


def _aligned(table: Floats, scope: Sequence[int], onto: Sequence[int]) -> Floats:
    """Give a table the axes of a larger scope, both in ascending order."""
    have = set(scope)
    sizes = iter(table.shape)
    return table.reshape([next(sizes) if v in have else 1 for v in onto])


def _log_sum_over(table: Floats, axes: tuple[int, ...]) -> Floats:
    if not axes:
        return table
    top = table.max(axis=axes, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return (np.log(np.exp(table - safe).sum(axis=axes, keepdims=True)) + safe).squeeze(axes)


@dataclass
class TableTree:
    """A junction tree whose clusters hold tables.

    Parameters
    ----------
    cardinalities : ndarray of shape (n,)
        Values of each variable.
    tree : JunctionTree
        Over the numbers of the variables.
    """

    cardinalities: Ints
    tree: JunctionTree

    def __post_init__(self) -> None:
        """Order the clusters from the roots."""
        self.scopes = [tuple(sorted(cluster)) for cluster in self.tree.clusters]
        pairs = np.array(self.tree.edges, dtype=np.intp).reshape(-1, 2)
        self.parent, self.order = rooted_forest(len(self.scopes), pairs)

    @classmethod
    def of(cls, cardinalities: Ints, scopes: Sequence[Sequence[int]]) -> TableTree:
        """Build the tree for factors over the given scopes, or say that a cluster is too large.

        Parameters
        ----------
        cardinalities : ndarray of shape (n,)
            Values of each variable.
        scopes : sequence of sequences of int
            Variables that meet in a factor.

        Returns
        -------
        TableTree
            Without tables yet.
        """
        adjacency = np.zeros((len(cardinalities), len(cardinalities)), dtype=bool)
        for scope in scopes:
            adjacency[np.ix_(scope, scope)] = True
        made = cls(np.asarray(cardinalities, dtype=np.int64), junction_forest(adjacency))
        largest = max((made.entries(scope) for scope in made.scopes), default=1.0)
        if largest > MOST:
            raise ValueError(
                f"Exact inference needs a table of {largest:.3g} entries, more than {MOST}; the "
                "variables hang together too closely for it."
            )
        return made

    def entries(self, scope: Sequence[int]) -> float:
        """Return how many entries a table over these variables has (a float: it may be huge)."""
        return float(np.prod([float(self.cardinalities[v]) for v in scope]))

    def calibrate(self, factors: Sequence[Factor]) -> tuple[float, list[Floats]]:
        """Send the messages of all factors.

        Parameters
        ----------
        factors : sequence of (scope, table)
            Log potentials; each scope lies in some cluster.

        Returns
        -------
        log_partition : float
            Logarithm of the sum over all assignments.
        beliefs : list of ndarray
            Probabilities of each cluster's assignments.
        """
        tables = [np.zeros([int(self.cardinalities[v]) for v in scope]) for scope in self.scopes]
        sets = [set(scope) for scope in self.scopes]
        for scope, table in factors:
            home = next(c for c, held in enumerate(sets) if held.issuperset(scope))
            tables[home] = tables[home] + _aligned(table, scope, self.scopes[home])
        sent: list[Floats] = [np.empty(0)] * len(tables)
        log_partition = 0.0
        for c in self.order[::-1]:
            above = self.parent[c]
            if above < 0:
                log_partition += float(_log_sum_over(tables[c], tuple(range(tables[c].ndim))))
                continue
            sent[c], shared = self._message(tables[c], c, sets[above])
            tables[above] = tables[above] + _aligned(sent[c], shared, self.scopes[above])
        for c in self.order:
            above = self.parent[c]
            if above >= 0:
                back, shared = self._message(tables[above], above, sets[c])
                with np.errstate(invalid="ignore"):
                    # Hugin: what came up is divided out; nothing is divided by zero
                    ratio = np.where(np.isneginf(back), -np.inf, back - sent[c])
                tables[c] = tables[c] + _aligned(ratio, shared, self.scopes[c])
        beliefs = []
        for table in tables:
            mass = np.exp(table - table.max()) if np.isfinite(table.max()) else np.exp(table)
            with np.errstate(invalid="ignore"):
                beliefs.append(mass / mass.sum())
        return log_partition, beliefs

    def marginal(self, beliefs: Sequence[Floats], variables: Sequence[int]) -> Floats:
        """Return the joint distribution of variables that share a cluster.

        Parameters
        ----------
        beliefs : sequence of ndarray
            From `calibrate`.
        variables : sequence of int
            In ascending order.

        Returns
        -------
        ndarray
            One axis for each variable.
        """
        home = next(c for c, scope in enumerate(self.scopes) if set(scope) >= set(variables))
        gone = tuple(k for k, v in enumerate(self.scopes[home]) if v not in variables)
        return beliefs[home].sum(axis=gone)

    def _message(self, table: Floats, c: int, onto: set[int]) -> tuple[Floats, list[int]]:
        scope = self.scopes[c]
        gone = tuple(k for k, v in enumerate(scope) if v not in onto)
        return _log_sum_over(table, gone), [v for v in scope if v in onto]
