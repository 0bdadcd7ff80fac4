"""Transport distances of many pairs of histograms: exact, by POT, or smoothed, behind one form.

Each class holds the histograms and the pairs; ``solve(M, rows)`` returns the values of some pairs
under a ground metric and keeps what their plans are read from, ``plans(rows, weights)`` returns the
weighted sum of the plans that the last ``solve`` of these pairs found.
"""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.kernels.namespaces import to_namespace, to_numpy
from octavo.engine.transport.entropic import entropic_plans, entropic_transport
from octavo.engine.transport.network_simplex import (
    is_semimetric,
    new_trees,
    transport_costs,
    transport_plans,
)
from octavo.metric.ground.histograms import as_ground_metric, as_histograms

__all__ = ["threshold_metric", "transport_distances", "transport_plan"]

OT = ("emd", "pot", "sinkhorn")
ENTROPIC_TOL = 1e-5  # largest residual of a margin while a metric is learned, or without a word
TABLE_TOL = 1e-10  # of a table of distances: rows must not hang on which others are asked for
ENTROPIC_ITER = 1000


class Transports(Protocol):
    """What the criterion needs of a way to compute transport."""

    pairs: Indices
    n_solved: int

    def solve(self, M: Floats, rows: Indices) -> Floats:
        """Return the values of some pairs under M."""

    def plans(self, rows: Indices, weights: Floats) -> Floats:
        """Return the weighted sum of the plans of some pairs."""


class ExactTransports:
    """Optimal plans by the compiled network simplex, each from where it was under the last M."""

    def __init__(self, R, S, pairs, *, shared, n_jobs=None):
        self.R, self.S, self.pairs = R, S, pairs
        self.shared, self.n_jobs = shared, n_jobs
        self.trees = new_trees(len(pairs), R.shape[1], shared)
        self.n_solved = 0
        self._M = np.zeros((0, 0))

    def solve(self, M: Floats, rows: Indices) -> Floats:
        """Return the least costs."""
        self._M = M
        self.n_solved += len(rows)
        trees = None if self.trees is None else self.trees[rows]
        found = transport_costs(
            M,
            self.R,
            self.S,
            self.pairs[rows],
            trees=trees,
            shared=self.shared,
            n_jobs=self.n_jobs,
        )
        if self.trees is not None:
            self.trees[rows] = found.trees
        return found.costs

    def plans(self, rows: Indices, weights: Floats) -> Floats:
        """Return the weighted sum of plans."""
        pairs = self.pairs[rows]
        if self.trees is None:  # too many to keep: these few are solved once more
            trees = new_trees(len(rows), self.R.shape[1], self.shared)
            if trees is None:
                raise MemoryError(f"The plans of {len(rows)} pairs do not fit into memory.")
            transport_costs(self._M, self.R, self.S, pairs, trees=trees, shared=self.shared)
        else:
            trees = self.trees[rows]
        return transport_plans(self.R, self.S, pairs, trees, weights, shared=self.shared)


def need_pot() -> Any:
    """Return POT's module, or say how to get it."""
    try:
        import ot
    except ImportError:
        raise ImportError(
            "ot='pot' needs POT, which is not installed: pip install 'octavo[ot]'. ot='emd' "
            "solves the same problem without it.",
            name="ot",
        ) from None
    return ot


class PotTransports:
    """Optimal plans by POT's network simplex, one pair after another."""

    def __init__(self, R, S, pairs):
        self.ot = need_pot()
        self.R, self.S, self.pairs = R, S, pairs
        self.n_solved = 0
        self.held: dict[int, tuple[Any, Any, Floats]] = {}

    def solve(self, M: Floats, rows: Indices) -> Floats:
        """Return the least costs."""
        values = np.zeros(len(rows))
        self.n_solved += len(rows)
        for t, row in enumerate(rows):
            r, c = self.R[self.pairs[row, 0]], self.S[self.pairs[row, 1]]
            i, j = np.flatnonzero(r), np.flatnonzero(c)
            cost = np.ascontiguousarray(M[np.ix_(i, j)])
            # Problem (4), on the support
            plan = self.ot.emd(r[i] / r[i].sum(), c[j] / c[j].sum(), cost)
            self.held[int(row)] = (i, j, plan)
            values[t] = np.sum(plan * cost)  # G_ij of Section 3
        return values

    def plans(self, rows: Indices, weights: Floats) -> Floats:
        """Return the weighted sum of plans."""
        G = np.zeros((self.R.shape[1], self.R.shape[1]))
        for row, weight in zip(rows, weights, strict=True):
            i, j, plan = self.held[int(row)]
            G[np.ix_(i, j)] += weight * plan  # the supergradient of Section 2.4
        return G


class EntropicTransports:
    """Smoothed plans of all pairs at once, where the arrays of `like` lie."""

    def __init__(self, R, S, pairs, *, reg, like=None, tol=ENTROPIC_TOL):
        self.like = R if like is None else like
        self.R, self.S, self.pairs = R, S, pairs
        self.reg, self.tol, self.n_solved = reg, tol, 0
        self.log_u: Any = None
        self.log_v: Any = None
        self.costs = np.zeros(len(pairs))
        self.residual = 0.0
        self._given: tuple[Any, Any, Any] = (None, None, None)

    def _arrays(self, rows: Indices) -> tuple[Any, Any]:
        """Return the histograms of pairs on the device; the last pairs asked for are kept there."""
        held, one, two = self._given
        if held is None or len(held) != len(rows) or (held != rows).any():
            i, j = self.pairs[rows].T
            one, two = to_namespace(self.R[i], self.like), to_namespace(self.S[j], self.like)
            self._given = (rows, one, two)
        return one, two

    def _epsilon(self, M: Floats) -> float:
        return float(self.reg * M.mean())  # in units of the metric, which is learned

    def solve(self, M: Floats, rows: Indices) -> Floats:
        """Return the smoothed values; `costs` holds what the plans cost without the smoothing."""
        if self.log_v is None:
            shape = (len(self.pairs), M.shape[0])
            self.log_u, self.log_v = np.zeros(shape), np.zeros(shape)
        self.n_solved += len(rows)
        self.M = to_namespace(M, self.like)
        one, two = self._arrays(rows)
        found = entropic_transport(
            self.M,
            one,
            two,
            self._epsilon(M),
            log_v=to_namespace(self.log_v[rows], self.like),
            tol=self.tol,
            max_iter=ENTROPIC_ITER,
        )
        self.log_u[rows], self.log_v[rows] = to_numpy(found.log_u), to_numpy(found.log_v)
        self.costs[rows] = to_numpy(found.costs)
        self.epsilon, self.residual = self._epsilon(M), found.residual
        return to_numpy(found.values).astype(np.float64)

    def plans(self, rows: Indices, weights: Floats) -> Floats:
        """Return the weighted sum of plans."""
        u, v, w = (
            to_namespace(array, self.like)
            for array in (self.log_u[rows], self.log_v[rows], np.asarray(weights))
        )
        return to_numpy(entropic_plans(self.M, self.epsilon, u, v, w)).astype(np.float64)


def make_transports(
    R: Floats,
    S: Floats,
    pairs: Indices,
    ot: str,
    *,
    shared: bool,
    reg: float = 0.05,
    n_jobs: int | None = None,
    like: Any = None,
) -> Any:
    """Return the transports that `ot` names."""
    if ot == "sinkhorn":
        return EntropicTransports(R, S, pairs, reg=reg, like=like)
    if ot == "pot":
        return PotTransports(R, S, pairs)
    return ExactTransports(R, S, pairs, shared=shared, n_jobs=n_jobs)


def distance_table(
    R: Floats,
    S: Floats | None,
    M: Floats,
    ot: str = "emd",
    *,
    reg: float = 0.05,
    n_jobs: int | None = None,
    like: Any = None,
) -> Floats:
    """Return transport distances between all rows; half of them are computed where S is None."""
    if ot == "pot":
        need_pot()
    if S is None:
        pairs = np.column_stack(np.triu_indices(len(R), 1))
        table = np.zeros((len(R), len(R)))
        table[pairs[:, 0], pairs[:, 1]] = _costs(R, R, pairs, M, ot, reg, n_jobs, like)
        return table + table.T
    pairs = np.column_stack([axis.ravel() for axis in np.indices((len(R), len(S)))])
    return _costs(R, S, pairs, M, ot, reg, n_jobs, like).reshape(len(R), len(S))


def _costs(R, S, pairs, M, ot, reg, n_jobs, like):
    if ot == "emd":
        return transport_costs(M, R, S, pairs, n_jobs=n_jobs).costs
    if not M.any() or not len(pairs):
        return np.zeros(len(pairs))
    if ot == "pot":
        return PotTransports(R, S, pairs).solve(M, np.arange(len(pairs)))
    layer = EntropicTransports(R, S, pairs, reg=reg, like=like, tol=TABLE_TOL)
    layer.solve(M, np.arange(len(pairs)))
    if layer.residual > ENTROPIC_TOL:
        warnings.warn(
            f"Smoothed transport stopped after {ENTROPIC_ITER} iterations with margins off by "
            f"{layer.residual:.2g}; a larger reg converges sooner.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return layer.costs


def check_number(value: Any, name: str) -> float:
    """Return a positive, finite number."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0.0 < float(value) < np.inf:
        raise ValueError(f"{name} must be a positive, finite number; got {value!r}.")
    return float(value)


@checked
def threshold_metric(M, threshold):
    """Return min(M, τ), τ being `threshold` times the mean distance of two bins.

    A metric stays one, and what is farther than τ counts as equally far: fewer moves matter, and an
    outlying bin cannot rule a distance (Pele and Werman 2009).

    Parameters
    ----------
    M : array-like of shape (d, d)
        Ground metric.
    threshold : float
        In units of the mean entry off the diagonal.

    Returns
    -------
    M : ndarray of shape (d, d)
        The thresholded metric, not rescaled.

    Examples
    --------
    >>> from octavo.metric import threshold_metric
    >>> threshold_metric([[0, 1, 3], [1, 0, 2], [3, 2, 0]], 1.0).tolist()
    [[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [2.0, 2.0, 0.0]]
    """
    M = as_ground_metric(M)
    threshold = check_number(threshold, "threshold")
    d = len(M)
    top = float(M.max())
    if d < 2 or top == 0.0:
        return M
    mean = float((M / top).sum()) / (d * (d - 1))
    return np.minimum(M, min(threshold * mean, 1.0) * top)


@checked
def transport_distances(R, S=None, *, M, ot="emd", reg=0.05, threshold=None, n_jobs=None):
    """Return optimal transport (earth mover's) distances between histograms.

    Parameters
    ----------
    R : {array-like, sparse matrix} of shape (n, d)
        Histograms, one a row; only bins with mass take part.
    S : {array-like, sparse matrix} of shape (n', d) or None, default=None
        Others; R itself by default, each pair once.
    M : array-like of shape (d, d)
        Ground metric, or any symmetric cost with a zero diagonal and no negative entry.
    ot : {"emd", "pot", "sinkhorn"}, default="emd"
        "emd" is exact, by octavo's network simplex; "pot" exact by that of POT (the extra ``ot``);
        "sinkhorn" the cost of smoothed plans, for many pairs at once.
    reg : float, default=0.05
        Smoothing of "sinkhorn", in units of the mean of all entries of M.
    threshold : float or None, default=None
        As for `threshold_metric`.
    n_jobs : int or None, default=None
        Threads of "emd".

    Returns
    -------
    distances : ndarray of shape (n, n')
        Least costs ⟨M, X⟩.

    Examples
    --------
    >>> from octavo.metric import transport_distances
    >>> R = [[0.6, 0.2, 0.14, 0.06], [0.13, 0.07, 0.56, 0.24]]
    >>> M = [[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]]
    >>> round(float(transport_distances(R, M=M)[0, 1]), 6)
    1.25
    """
    if not isinstance(ot, str) or ot not in OT:
        raise ValueError(f"ot must be one of {', '.join(OT)}; got {ot!r}.")
    R = as_histograms(R, "R")
    other = None if S is None else as_histograms(S, "S")
    if other is not None and other.shape[1] != R.shape[1]:
        raise ValueError(f"R has {R.shape[1]} bins and S has {other.shape[1]}.")
    M = as_ground_metric(M, R.shape[1])
    if threshold is not None:
        M = threshold_metric(M, threshold)
    reg = check_number(reg, "reg")
    return distance_table(R, other, M, ot, reg=reg, n_jobs=n_jobs)


@checked
def transport_plan(r, c, M, *, ot="emd", reg=0.05):
    """Return an optimal plan of moving one histogram onto another.

    Parameters
    ----------
    r : array-like of shape (d,)
        Histogram that is moved.
    c : array-like of shape (d,)
        Where it is moved.
    M : array-like of shape (d, d)
        Ground metric, or any symmetric cost with a zero diagonal and no negative entry.
    ot : {"emd", "pot", "sinkhorn"}, default="emd"
        As for `transport_distances`.
    reg : float, default=0.05
        Smoothing of "sinkhorn", in units of the mean of M.

    Returns
    -------
    plan : ndarray of shape (d, d)
        Rows sum to r and columns to c. One of several, where several cost the same.

    Examples
    --------
    >>> from octavo.metric import transport_plan
    >>> M = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    >>> transport_plan([0.5, 0.5, 0.0], [0.0, 0.5, 0.5], M).tolist()
    [[0.0, 0.0, 0.5], [0.0, 0.5, 0.0], [0.0, 0.0, 0.0]]
    """
    if not isinstance(ot, str) or ot not in OT:
        raise ValueError(f"ot must be one of {', '.join(OT)}; got {ot!r}.")
    one, two = (as_histograms(real_array(h, name)[None], name) for h, name in ((r, "r"), (c, "c")))
    if one.shape != two.shape:
        raise ValueError(f"r has {one.shape[1]} bins and c has {two.shape[1]}.")
    M = as_ground_metric(M, one.shape[1])
    reg = check_number(reg, "reg")
    pair, row = np.zeros((1, 2), dtype=np.int64), np.zeros(1, dtype=np.int64)
    how = "emd" if not M.any() else ot
    layer = make_transports(one, two, pair, how, shared=is_semimetric(M), reg=reg)
    layer.solve(M, row)
    return layer.plans(row, np.ones(1))
