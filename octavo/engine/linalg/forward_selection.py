"""Forward selection for many responses at once, each with a support of its own.

Every response keeps an orthonormal basis of its chosen columns, its residual, the products of that
residual with all columns, and the squared length of what is left of each column outside the basis.
A new column costs one product with the table, shared by all responses that take it on the same
basis; what any column would take from any residual sum of squares is then known without a refit.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices, Numbers
from octavo.engine.linalg.unit_columns import UnitColumns

COLLINEAR = 1e-10  # squared length that is left of a unit column which others explain
EXACT = 1e-12  # share of the total sum of squares below which a fit is exact
REFRESH = 1e-4  # fall of a residual sum of squares after which products are taken afresh


class ForwardSelection:
    """The state of a forward selection on centred data, and its one move.

    Parameters
    ----------
    columns : UnitColumns
        The candidates.
    Y : ndarray of shape (n, h)
        Responses; each is centred and scaled to length one.
    shared : bool, default=False
        Whether all responses take every column, so that one basis serves them.

    Attributes
    ----------
    units : ndarray of shape (h, n)
        The responses, centred and of length one.
    length : ndarray of shape (h,)
        The lengths that they had; 0 for a constant one.
    rss : ndarray of shape (h,)
        Residual sums of squares of the scaled responses; 0 for a constant one.
    n_terms : ndarray of shape (h,)
        Columns in each model.
    supports : list of list of int
        Those columns, in the order of their entry.
    constant, open : ndarray of shape (h,)
        Whether a response is constant, and whether its model may still grow: one whose residual is
        below 1e-12 of the total, or that has n - 2 columns, may not.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.linalg.forward_selection import ForwardSelection
    >>> from octavo.engine.linalg.unit_columns import UnitColumns
    >>> X = np.array([[1.0, 0], [2, 1], [3, 0], [4, 1]])
    >>> state = ForwardSelection(UnitColumns(X), np.array([[1.0], [2], [3], [5]]))
    >>> state.add([0], [0])
    >>> round(float(state.rss[0] * state.length[0] ** 2), 6)
    0.3
    """

    def __init__(self, columns: UnitColumns, Y: Floats, *, shared: bool = False) -> None:
        self.columns, self.shared = columns, shared
        units = UnitColumns(Y)
        self.constant = ~units.usable
        self.length = np.where(units.usable, units.scale, 0.0)
        self.units = units.columns(range(units.p))  # (h, n)
        self.residual = self.units.copy()
        self.rss = np.where(self.constant, 0.0, 1.0)
        self._fresh = self.rss.copy()
        self.products = columns.dot(self.residual)
        self.left = np.ones((1 if shared else units.p, columns.p)) * columns.usable
        self.n_terms = np.zeros(units.p, dtype=np.intp)
        self.supports: list[list[int]] = [[] for _ in range(units.p)]
        self._bases: list[Floats] = [np.empty((0, columns.n)) for _ in range(units.p)]
        self.open = ~self.constant & (columns.n > 2)

    def basis(self, task: int) -> Floats:
        """Return the orthonormal basis of a response's columns, as rows in the order of entry."""
        return self._bases[task]

    def falls(self, tasks: Sequence[int] | Indices) -> Floats:
        """Return what each column would take from the residual sum of squares: (k, p), of TSS 1."""
        left = self.left if self.shared else self.left[tasks]
        free = left > COLLINEAR
        # (rᵀx)² over what is left of |x|²
        taken = np.where(free, self.products[tasks] ** 2 / np.where(free, left, 1.0), 0.0)
        return np.minimum(taken, self.rss[tasks][:, None])

    def free(self, tasks: Sequence[int] | Indices) -> Numbers:
        """Return which columns the models of some responses may still take: (k, p)."""
        left = self.left if self.shared else self.left[tasks]
        return (left > COLLINEAR) & self.open[tasks][:, None]

    def add(self, features: Sequence[int], tasks: Sequence[int]) -> None:
        """Add column features[i] to the model of response tasks[i], for all i at once."""
        directions: dict[tuple[int, ...], int] = {}
        fresh: list[Floats] = []
        of_task = []
        for j, t in zip(features, tasks):
            # Responses with one support in one order have one basis, and so one new direction.
            key = (j, *self.supports[t])
            if key not in directions:
                directions[key] = len(fresh)
                fresh.append(_orthogonal_part(self.columns.column(j), self._bases[t]))
            of_task.append(directions[key])
        along = np.array(fresh)
        products = self.columns.dot(along)
        for j, t, u in zip(features, tasks, of_task):
            amount = float(along[u] @ self.residual[t])
            self.residual[t] -= amount * along[u]
            self.rss[t] = float(self.residual[t] @ self.residual[t])
            self.products[t] -= amount * products[u]
            self._bases[t] = np.vstack([self._bases[t], along[u]])
            self.supports[t].append(int(j))
            if not self.shared:
                self._shrink(t, j, products[u])
        if self.shared:
            self._shrink(0, features[0], products[0])
        self._after(np.asarray(tasks))

    def _shrink(self, row: int, feature: int, products: Floats) -> None:
        self.left[row] -= products**2  # Pythagoras, as columns lose what the basis explains
        np.maximum(self.left[row], 0.0, out=self.left[row])
        self.left[row, feature] = 0.0

    def _after(self, tasks: Indices) -> None:
        self.n_terms[tasks] += 1
        stale = tasks[self.rss[tasks] < REFRESH * self._fresh[tasks]]
        if stale.size:  # differences of products have lost digits
            self.products[stale] = self.columns.dot(self.residual[stale])
            self._fresh[stale] = self.rss[stale]
        self.open[tasks] &= (self.rss[tasks] > EXACT) & (self.n_terms[tasks] < self.columns.n - 2)

    def branch(self, features: Indices, table: UnitColumns) -> ForwardSelection:
        """Return a state that goes on from here with some columns only (`table` holds them).

        Its features are numbered within the table; its supports list those alone.
        """
        part = copy.copy(self)
        part.columns, part.supports = table, [[] for _ in self.supports]
        part.products, part.left = self.products[:, features], self.left[:, features]
        for name in ("residual", "rss", "_fresh", "n_terms", "open"):
            setattr(part, name, getattr(self, name).copy())
        part._bases = list(self._bases)
        return part

    @property
    def saturated(self) -> Indices:
        """Responses whose model was closed because it fits exactly or has no rows left."""
        return np.flatnonzero(~self.open & ~self.constant & (self.n_terms > 0))


def _orthogonal_part(column: Floats, basis: Floats) -> Floats:
    """Return the unit vector of what is left of a column outside a basis; twice is enough."""
    left = column - (basis @ column) @ basis
    left -= (basis @ left) @ basis
    return left / np.sqrt(left @ left)


class QuadraticSearch(NamedTuple):
    """What a greedy maximisation of many quadratics found, one row a quadratic."""

    order: Indices
    falls: Floats


def greedy_quadratics(
    matrices: Floats,
    vectors: Floats,
    usable: Numbers,
    *,
    stop: Callable[[int, Floats], bool] | None = None,
) -> QuadraticSearch:
    """Enter coordinates of max 2 v'b - b'Mb one at a time, each time the one that adds most.

    Parameters
    ----------
    matrices : ndarray of shape (c, h, h)
        Positive semi-definite; overwritten.
    vectors : ndarray of shape (c, h)
        Overwritten.
    usable : ndarray of shape (c, h)
        Which coordinates may enter.
    stop : callable, optional
        Called with the number of entries and their falls so far; the search ends if it is true.

    Returns
    -------
    order : ndarray of shape (c, k)
        Coordinates in the order of entry; -1 where none was left.
    falls : ndarray of shape (c, k)
        The maximum with the first 1, ..., k of them.
    """
    c, h = vectors.shape
    usable, rows = usable.copy(), np.arange(c)
    floor = COLLINEAR * np.maximum(np.einsum("cii->ci", matrices), 0.0)
    total = np.zeros(c)
    order, falls = [], []
    for k in range(h):
        pivots = np.einsum("cii->ci", matrices)
        usable &= pivots > floor
        # v²/M of one coordinate
        gains = np.where(usable, vectors**2 / np.where(usable, pivots, 1.0), -1.0)
        best = gains.argmax(axis=1)
        found = gains[rows, best] >= 0.0
        total = total + np.where(found, gains[rows, best], 0.0)
        order.append(np.where(found, best, -1))
        falls.append(total)
        if stop is not None and stop(k + 1, np.array(falls).T):
            break
        pivot = np.where(found, pivots[rows, best], 1.0)
        line = matrices[rows, best] * found[:, None]
        vectors -= line * (vectors[rows, best] / pivot)[:, None]
        # a step of Cholesky's: Schur complements of M
        matrices -= line[:, :, None] * (line / pivot[:, None])[:, None, :]
        usable[rows, best] = False
    return QuadraticSearch(np.array(order).T, np.array(falls).T)


def coefficients(
    columns: UnitColumns, Y: Floats, supports: Sequence[Sequence[int]]
) -> tuple[Floats, Floats]:
    """Refit every response on its support by least squares, in the units of the table.

    Parameters
    ----------
    columns : UnitColumns
        The table.
    Y : ndarray of shape (n, h)
        Responses.
    supports : sequence of sequence of int
        The columns of each.

    Returns
    -------
    coef : ndarray of shape (h, p)
        Zero outside the supports.
    intercept : ndarray of shape (h,)
        Intercepts.
    """
    coef = np.zeros((Y.shape[1], columns.p))
    mean = Y.mean(axis=0)
    alike: dict[tuple[int, ...], list[int]] = {}
    for t, support in enumerate(supports):
        alike.setdefault(tuple(support), []).append(t)
    for support, tasks in alike.items():
        if support:
            Z = columns.columns(support).T
            found = np.linalg.lstsq(Z, Y[:, tasks] - mean[tasks], rcond=None)[0]
            coef[np.ix_(tasks, support)] = (found / columns.scale[list(support), None]).T
    return coef, mean - coef @ columns.mean
