"""Mixed derivatives of a product of functions on a tree of their variables.

The derivative-sum-product messages: instead of a sum over the values of a variable, each variable
is differentiated where its subtree ends. A function of k variables at a point is a table with an
axis of length two for each variable, (value, derivative), and rows on the last axis; an axis of
length one means that nothing is differentiated there, or that the function does not depend on the
variable. For a variable with values in steps the derivative is the difference to the step below.
Both obey one rule, with c = 1 for steps and c = 0 otherwise,

    (f g)' = f' g + (f - c f') g'.

On a tree of factors the separators are single variables and the messages are the pairs (mu, lambda)
of the paper; loops are met by the clusters of a junction tree, whose separators hold more.

Reference: J. C. Huang and B. J. Frey (2011), "Cumulative Distribution Networks and the
Derivative-sum-product Algorithm", Journal of Machine Learning Research 12, Tables 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats
from octavo.engine.graphs.junction_trees import junction_forest
from octavo.engine.graphs.spanning import rooted_forest

__all__ = ["DerivativeTree", "Logs", "Numbers", "absorbed", "is_tree_of", "table_product"]

Bools = NDArray[np.bool_]
MOST = 12  # variables of a cluster: its table has two to that power entries a row
_ROWS = 16384  # at a time: the tables of a cluster then stay in the cache


class Numbers:
    """Plain arithmetic on tables."""

    zero = 0.0
    times: Callable[..., Any] = np.multiply
    plus: Callable[..., Any] = np.add

    @staticmethod
    def minus(a: Floats, b: Floats) -> Floats:
        return np.maximum(a - b, 0.0)


class Logs:
    """The same on logarithms of numbers that are not negative."""

    zero = -np.inf
    times: Callable[..., Any] = np.add
    plus: Callable[..., Any] = np.logaddexp

    @staticmethod
    def minus(a: Floats, b: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            # log(e^a - e^b), b not above a but for rounding
            gap = np.where(np.isneginf(b), -np.inf, np.minimum(b - a, 0.0))
            return a + np.log(-np.expm1(gap))


def absorbed(scopes: Sequence[Sequence[int]]) -> list[int]:
    """Return for each scope the first scope that holds it; itself where none other does.

    Parameters
    ----------
    scopes : sequence of sequences of int
        Variables of the factors.

    Returns
    -------
    list of int
        Positions. Equal scopes go to the first of them.
    """
    sets = [frozenset(scope) for scope in scopes]
    order = sorted(range(len(sets)), key=lambda s: (-len(sets[s]), s))
    holders: dict[int, list[int]] = {}  # of each variable, the scopes kept so far
    home = list(range(len(sets)))
    for s in order:
        rarest = min(sets[s], key=lambda v: len(holders.get(v, ())), default=-1)
        found = [k for k in holders.get(rarest, ()) if sets[s] <= sets[k]] if sets[s] else []
        if found:
            home[s] = found[0]
        else:
            for v in sets[s]:
                holders.setdefault(v, []).append(s)
    return home


def is_tree_of(n_variables: int, scopes: Sequence[Sequence[int]]) -> bool:
    """Tell whether variables and factors form a forest, nested factors being put together.

    Parameters
    ----------
    n_variables : int
        How many variables there are.
    scopes : sequence of sequences of int
        Variables of the factors.

    Returns
    -------
    bool
        False where some cycle passes through two variables or more.
    """
    root = list(range(n_variables))

    def find(v: int) -> int:
        while root[v] != v:
            root[v] = root[root[v]]
            v = root[v]
        return v

    for s, home in enumerate(absorbed(scopes)):
        if home != s or not scopes[s]:
            continue
        first, *others = scopes[s]
        for v in others:
            a, b = find(first), find(v)
            if a == b:
                return False
            root[b] = a
    return True


def table_product(
    a: Floats,
    b: Floats,
    steps: Sequence[bool],
    ring: type[Any] = Numbers,
    ends: Sequence[bool] | None = None,
) -> Floats:
    """Multiply two functions given by their tables of derivatives.

    Parameters
    ----------
    a, b : ndarray of shape (1 or 2, ..., n)
        Tables over the same variables, rows last.
    steps : sequence of bool
        Which variables have values in steps.
    ring : type
        Plain numbers or logarithms.
    ends : sequence of bool, optional
        Variables of whose axis the last entry alone is needed.

    Returns
    -------
    ndarray
        The table of the product; an axis has length two where one of the two has.
    """
    if a.ndim == 1:
        return ring.times(a, b)
    rest, end = steps[1:], ends is not None and ends[0]
    later = None if ends is None else ends[1:]
    if len(a) == 1 or len(b) == 1:
        length = max(len(a), len(b))
        pairs = [
            (a[min(i, len(a) - 1)], b[min(i, len(b) - 1)])
            for i in range(length - 1 if end else 0, length)
        ]
        return np.stack([table_product(f, g, rest, ring, later) for f, g in pairs])
    # of a step function the derivative is a difference: the value before the step
    before = ring.minus(a[0], a[1]) if steps[0] else a[0]
    slope = ring.plus(  # (f g)' = f' g + f g'
        table_product(a[1], b[0], rest, ring, later), table_product(before, b[1], rest, ring, later)
    )
    if end:
        return slope[None]
    return np.stack([table_product(a[0], b[0], rest, ring, later), slope])


class DerivativeTree:
    """A junction tree of factors on which mixed derivatives of their product are computed.

    Parameters
    ----------
    n_variables : int
        How many variables there are.
    scopes : sequence of sequences of int
        Variables of the factors, without repetition; tables have their axes in this order.
    root : int, default=0
        A variable; its cluster is where the messages of its tree end.
    """

    def __init__(self, n_variables: int, scopes: Sequence[Sequence[int]], root: int = 0) -> None:
        adjacency = np.zeros((n_variables, n_variables), dtype=bool)
        for scope in scopes:
            adjacency[np.ix_(scope, scope)] = True
        tree = junction_forest(adjacency)
        if tree.width + 1 > MOST:
            raise ValueError(
                f"Exact derivatives need a cluster of {tree.width + 1} variables, more than "
                f"{MOST}: each row costs two to that power. Use the composite likelihood."
            )
        # The cluster of the root comes first, because `rooted_forest` hangs trees from there.
        first = [k for k, held in enumerate(tree.clusters) if root in held][:1]
        turn = first + [k for k in range(len(tree.clusters)) if k not in first]
        place = {old: new for new, old in enumerate(turn)}
        self.scopes = [tuple(sorted(tree.clusters[k])) for k in turn]
        pairs = [(place[a], place[b]) for a, b in tree.edges]
        edges = np.array(pairs, dtype=np.intp).reshape(-1, 2)
        self.parent, self.order = rooted_forest(len(turn), edges)
        self.n_variables = n_variables
        self.children: list[list[int]] = [[] for _ in turn]
        for k, above in enumerate(self.parent):
            if above >= 0:
                self.children[above].append(k)
        by_variable: dict[int, list[int]] = {}
        for k, held in enumerate(self.scopes):
            for v in held:
                by_variable.setdefault(v, []).append(k)
        sets = [set(held) for held in self.scopes]
        self.factors: list[list[int]] = [[] for _ in turn]
        self._axes = []  # where the axes of each factor's table go in its cluster
        for s, scope in enumerate(scopes):
            home = next(k for k in by_variable[scope[0]] if sets[k].issuperset(scope))
            self.factors[home].append(s)
            self._axes.append([self.scopes[home].index(v) for v in scope])

    def log_derivative(
        self, tables: Sequence[Floats], wanted: Bools, steps: Bools, *, logs: bool = False
    ) -> Floats:
        """Return the logarithm of the derivative by the wanted variables, row by row.

        Parameters
        ----------
        tables : sequence of ndarray of shape (1 or 2, ..., n)
            Of each factor, axes in the order of its scope.
        wanted : ndarray of bool of shape (n_variables,)
            Variables by which is differentiated: the tables of factors that depend on them have
            length two there, and length one for all others.
        steps : ndarray of bool of shape (n_variables,)
            Variables with values in steps.
        logs : bool, default=False
            Whether the tables hold logarithms: slower, and nothing underflows.

        Returns
        -------
        ndarray of shape (n,)
            -inf where the derivative is zero.
        """
        n = tables[0].shape[-1]
        if n > _ROWS and not logs:
            parts = [slice(i, i + _ROWS) for i in range(0, n, _ROWS)]
            return np.concatenate(
                [self.log_derivative([t[..., p] for t in tables], wanted, steps) for p in parts]
            )
        total = np.zeros(n)
        with np.errstate(divide="ignore", invalid="ignore", under="ignore", over="ignore"):
            self._upward(self._clustered(tables, logs), wanted, steps, logs, total)
        return total

    def weights(
        self, tables: Sequence[Floats], wanted: Bools, steps: Bools
    ) -> tuple[Floats, list[Floats]]:
        """Return the log derivative, and what each entry of each factor's table adds to it.

        The derivative is linear in the table of every factor; the shares of the terms of one
        factor sum to one, and the gradient of the log derivative by a parameter of the factor is
        the mean of the gradients of its table's logarithms under these shares.

        Parameters
        ----------
        tables : sequence of ndarray of shape (1 or 2, ..., n)
            Logarithms, of each factor.
        wanted, steps : ndarray of bool of shape (n_variables,)
            As in `log_derivative`.

        Returns
        -------
        log_value : ndarray of shape (n,)
            As `log_derivative`.
        shares : list of ndarray
            Like the tables.
        """
        total = np.zeros(tables[0].shape[-1])
        with np.errstate(divide="ignore", invalid="ignore", under="ignore", over="ignore"):
            parts = self._clustered(tables, True)
            up = self._upward(parts, wanted, steps, True, total)
            down: list[Floats | None] = [None] * len(self.scopes)
            shares: list[Floats] = [np.empty(0)] * len(tables)
            for k in self.order:
                around = [up[j] for j in self.children[k]]
                if down[k] is not None:
                    around.append(down[k])
                own = self._steps(k, steps)
                for i, s in enumerate(self.factors[k]):
                    others = [p for j, p in enumerate(parts[k]) if j != i] + around
                    outside = self._fold(k, others, own, wanted, len(total))
                    # each entry's share of the derivative
                    terms = self._terms(parts[k][i], outside, own, wanted[list(self.scopes[k])])
                    top = terms.max(axis=tuple(range(terms.ndim - 1)))
                    share = np.exp(terms - np.where(np.isfinite(top), top, 0.0))
                    axes = tuple(range(share.ndim - 1))
                    share /= np.maximum(share.sum(axis=axes), 1e-300)
                    shares[s] = share.transpose(*self._axes[s], *self._absent(k, s), -1).reshape(
                        tables[s].shape
                    )
                for i, j in enumerate(self.children[k]):
                    others = [*parts[k], *(m for a, m in enumerate(around) if a != i)]
                    table = self._fold(k, others, own, wanted, len(total))
                    down[j] = self._leave(k, self.scopes[j], table, wanted)[0]
        return total, shares

    # --- pieces -------------------------------------------------------------------------------

    def _steps(self, k: int, steps: Bools) -> list[bool]:
        return [bool(steps[v]) for v in self.scopes[k]]

    def _absent(self, k: int, s: int) -> list[int]:
        return [a for a in range(len(self.scopes[k])) if a not in self._axes[s]]

    def _clustered(self, tables: Sequence[Floats], logs: bool) -> list[list[Floats]]:
        """Give the factors' tables the axes of their clusters."""
        parts: list[list[Floats]] = []
        for k, held in enumerate(self.factors):
            mine = []
            for s in held:
                table, axes = tables[s], self._axes[s]
                sorted_axes = np.argsort(axes)
                shape = [1] * len(self.scopes[k])
                for a, length in zip(axes, table.shape):
                    shape[a] = length
                mine.append(table.transpose(*sorted_axes, -1).reshape(*shape, table.shape[-1]))
            parts.append(mine)
        return parts

    def _fold(
        self, k: int, parts: Sequence[Floats], own: Sequence[bool], wanted: Bools, n: int
    ) -> Floats:
        """Multiply log tables over one cluster; every wanted axis gets length two."""
        one = parts[0] if parts else np.zeros((*[1] * len(self.scopes[k]), n))
        for part in parts[1:]:
            one = table_product(one, part, own, Logs)
        for a, v in enumerate(self.scopes[k]):
            if wanted[v] and one.shape[a] == 1:  # depends on v nowhere: its derivative is zero
                one = np.concatenate([one, np.full_like(one, -np.inf)], axis=a)
        return one

    def _terms(self, part: Floats, outside: Floats, own: Sequence[bool], wanted: Bools) -> Floats:
        """Return the log terms of the derivative, one for each entry of a factor's table.

        Along an axis D(f g) = f g' + f' (g - c g'): the value meets the slope, and the other way.
        """
        for a, differentiate in enumerate(wanted):
            g = np.moveaxis(outside, a, 0)
            if not differentiate:
                g = g[:1]
            elif part.shape[a] == 1:
                g = g[1:]
            else:
                g = np.stack([g[1], Logs.minus(g[0], g[1]) if own[a] else g[0]])
            outside = np.moveaxis(g, 0, a)
        return part + outside

    def _leave(
        self, k: int, onto: Sequence[int], table: Floats, wanted: Bools
    ) -> tuple[Floats, list[int]]:
        """Differentiate by the variables that end here; keep those of the separator."""
        index: list[Any] = []
        kept = []
        for v, length in zip(self.scopes[k], table.shape):
            if v in onto:
                index.append(slice(None))
                kept.append(v)
            else:
                # a variable that ends here is differentiated where it is wanted
                index.append(length - 1 if wanted[v] else 0)
        return self._spread(table[tuple(index)], kept, onto), kept

    @staticmethod
    def _spread(message: Floats, kept: Sequence[int], onto: Sequence[int]) -> Floats:
        """Give a message the axes of the cluster that receives it."""
        sizes = dict(zip(kept, message.shape))
        return message.reshape(*[sizes.get(v, 1) for v in onto], message.shape[-1])

    def _upward(
        self,
        parts: Sequence[Sequence[Floats]],
        wanted: Bools,
        steps: Bools,
        logs: bool,
        total: Floats,
    ) -> list[Floats]:
        """Send the messages to the roots; return each, spread over the receiving cluster."""
        ring = Logs if logs else Numbers
        sent: list[Floats] = [np.empty(0)] * len(self.scopes)
        for k in self.order[::-1]:
            own, scope = self._steps(k, steps), self.scopes[k]
            messages = [sent[j] for j in self.children[k]]
            incoming = [*parts[k][1:], *messages] if parts[k] else messages
            table = parts[k][0] if parts[k] else incoming.pop(0)
            onto = () if self.parent[k] < 0 else self.scopes[self.parent[k]]
            ends = [bool(wanted[v]) and v not in onto for v in scope]
            for i, part in enumerate(incoming, 1):
                last = ends if i == len(incoming) else None
                table = table_product(table, part, own, ring, last)
            message, _ = self._leave(k, onto, table, wanted)
            if not logs:
                flat = message.reshape(-1, message.shape[-1])
                top = flat[0] if len(flat) == 1 else np.maximum.reduce(list(flat))
                # numbers are scaled by their largest, whose log is kept
                message = message / np.where(top > 0, top, 1.0)
                total += np.log(top)
            elif self.parent[k] < 0:
                total += message.reshape(-1)
            sent[k] = message
        return sent
