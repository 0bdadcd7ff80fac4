"""Ask and tell: the interface of optimisers that see a function only through its values.

An optimiser proposes points with ``ask`` and learns of their values with ``tell``; who
evaluates them, and where, is not its concern. Subclasses of `AskTell` write `_draw` and
`_learn`; `run` drives one against a function with a budget, bounds, workers and stops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import check_random_state

FLAT_GENERATIONS = 10  # generations without any difference in value before a run is given up
DIVERGED = 1e50  # a standard deviation from which no search returns
REDRAWS = 20  # times that a point outside the bounds is drawn again before it is clipped


class AskTell:
    """Base class of optimisers: checks what is told, and remembers the best.

    Parameters
    ----------
    x0 : array-like of shape (d,)
        Where the search begins.
    random_state : int, RandomState instance or None
        Source of the proposals.
    """

    def __init__(self, x0: Any, random_state: Any = None) -> None:
        x0 = np.array(x0, dtype=float, ndmin=1)
        if x0.ndim != 1 or x0.size == 0:
            raise ValueError(f"x0 must be a vector; got an array of shape {x0.shape}.")
        if not np.isfinite(x0).all():
            raise ValueError(f"x0 must be finite; got {x0}.")
        self.n_dims = x0.size
        self.n_evals_, self.n_iter_ = 0, 0
        self.best_x_, self.best_f_ = x0.copy(), np.inf
        self._rng = check_random_state(random_state)

    def ask(self, n: int | None = None) -> np.ndarray:
        """Return `n` points to evaluate, by default a whole generation."""
        raise NotImplementedError

    def _learn(self, X: np.ndarray, ranks: np.ndarray) -> None:
        """Learn from points and their ranks: 0 is the best, ties share a mean rank."""
        raise NotImplementedError

    def tell(self, X: Any, f: Any, *, ranks: Any = None) -> Self:
        """Learn the values of points.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The points, usually those of `ask`.
        f : array-like of shape (n,)
            Their values, smaller is better. A value that is not a number ranks last.
        ranks : array-like of shape (n,), optional
            The order of the points where it differs from that of their values.

        Returns
        -------
        self : object
            The optimiser.
        """
        X, f = np.asarray(X, dtype=float), np.asarray(f, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.n_dims:
            raise ValueError(f"X must have shape (n, {self.n_dims}); got {X.shape}.")
        if f.shape != X.shape[:1]:
            raise ValueError(f"f must hold one value for each of {len(X)} points; got {f.shape}.")
        if len(f) < 2:
            raise ValueError("At least 2 points must be told at once; got 1.")
        if np.isnan(f).all():
            raise ValueError(f"Every one of the {len(f)} values is NaN: nothing can be ranked.")
        self.n_evals_ += len(f)
        best = int(np.nanargmin(f))
        if f[best] < self.best_f_:
            self.best_x_, self.best_f_ = X[best].copy(), float(f[best])
        self._learn(X, fitness_ranks(f) if ranks is None else np.asarray(ranks, dtype=float))
        self.n_iter_ += 1
        return self

    @property
    def sigma2_(self) -> float:
        """The squared scale of the proposals: below a threshold the search is over."""
        raise NotImplementedError

    @property
    def spread_(self) -> float:
        """The largest standard deviation of any coordinate of the proposals."""
        raise NotImplementedError


def fitness_ranks(f: np.ndarray) -> np.ndarray:
    """Return ranks from 0, the best; ties share their mean rank, NaN and infinity come last."""
    f = np.where(np.isnan(f), np.inf, f)
    order = np.argsort(f, kind="stable")
    ranks = np.empty(len(f))
    ranks[order] = np.arange(len(f))
    ordered = f[order]
    if (ordered[1:] == ordered[:-1]).any():
        _, groups, counts = np.unique(f, return_inverse=True, return_counts=True)
        ranks = (np.bincount(groups, ranks) / counts)[groups]
    return ranks


class Bounds(NamedTuple):
    """A box, and what to do with proposals outside: draw them again, or project them."""

    low: np.ndarray
    high: np.ndarray
    handling: str

    def clip(self, X: np.ndarray) -> np.ndarray:
        """Return the nearest points of the box."""
        return np.clip(X, self.low, self.high)


def check_bounds(bounds: Any, handling: str, x0: np.ndarray) -> Bounds | None:
    """Return validated bounds, or None."""
    if bounds is None:
        return None
    if hasattr(bounds, "lb"):  # scipy.optimize.Bounds
        bounds = np.column_stack(np.broadcast_arrays(bounds.lb, bounds.ub, x0)[:2])
    low, high = np.broadcast_to(np.asarray(bounds, dtype=float), (len(x0), 2)).T
    if not (low < high).all():
        raise ValueError("Every lower bound must lie below its upper bound.")
    outside = np.flatnonzero((x0 < low) | (x0 > high))
    if outside.size:
        raise ValueError(
            f"x0 lies outside the bounds in coordinate {outside[0]}: {x0[outside[0]]}."
        )
    return Bounds(low, high, handling)


def propose(optimizer: AskTell, n: int | None, bounds: Bounds | None) -> np.ndarray:
    """Ask for points; those outside the box are drawn again, at most `REDRAWS` times."""
    X = optimizer.ask(n)
    if bounds is None or bounds.handling == "project":
        return X
    for _ in range(REDRAWS):
        outside = ((bounds.low > X) | (bounds.high < X)).any(axis=1)
        if not outside.any():
            return X
        # clipped at last, where the box holds little of the distribution
        X[outside] = optimizer.ask(int(outside.sum()))
    return bounds.clip(X)


def projected_ranks(f: np.ndarray, X: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Rank by value at the projection; among equals, by the distance to the box.

    The distance alone decides only between equal values, so that no weight of a penalty
    has to be chosen and increasing transformations of f change nothing.
    """
    away = np.linalg.norm(X - inside, axis=1)
    order = np.lexsort((away, np.where(np.isnan(f), np.inf, f)))
    ranks = np.empty(len(f))
    ranks[order] = np.arange(len(f))
    tied = fitness_ranks(f)
    return np.where(away > 0, ranks, tied) if (away > 0).any() else tied


@contextmanager
def evaluator(f: Callable, vectorized: bool, workers: Any) -> Iterator[Callable]:
    """Yield a function from points to values: one call, a loop, a pool or the user's map."""

    def as_values(values: Iterable, n: int) -> np.ndarray:
        array = np.asarray(list(values) if not hasattr(values, "__array__") else values, float)
        if array.size != n:
            raise ValueError(f"The function returned {array.size} values for {n} points.")
        return array.reshape(n)

    if vectorized:
        yield lambda X: as_values(f(X), len(X))
    elif callable(workers):
        yield lambda X: as_values(workers(f, X), len(X))
    elif workers == 1:
        yield lambda X: as_values([f(x) for x in X], len(X))
    else:
        with Parallel(n_jobs=workers) as pool:
            yield lambda X: as_values(pool(delayed(f)(x) for x in X), len(X))


class Limits(NamedTuple):
    """When a run ends."""

    max_evals: int
    ftarget: float
    tol_sigma: float
    xtol: float


def run(
    optimizer: AskTell,
    evaluate: Callable[[np.ndarray], np.ndarray],
    limits: Limits,
    bounds: Bounds | None = None,
    each: Callable[[AskTell, np.ndarray], bool] | None = None,
) -> str:
    """Drive an optimiser until a limit is met.

    Parameters
    ----------
    optimizer : AskTell
        The one to drive.
    evaluate : callable
        From an array of points to an array of values.
    limits : Limits
        When to stop.
    bounds : Bounds, optional
        The box in which points are evaluated.
    each : callable, optional
        Called with the optimiser and the values after every generation; true stops.

    Returns
    -------
    message : str
        Why it stopped.
    """
    flat = 0
    while True:
        X = propose(optimizer, None, bounds)
        inside = X if bounds is None else bounds.clip(X)
        values = evaluate(inside)
        ranks = None if bounds is None else projected_ranks(values, X, inside)
        before = optimizer.best_f_
        optimizer.tell(X, values, ranks=ranks)
        if bounds is not None and optimizer.best_f_ < before:
            optimizer.best_x_ = bounds.clip(optimizer.best_x_)
        equal = len(values) > 1 and np.ptp(np.nan_to_num(values)) == 0
        flat = flat + 1 if equal else 0
        if each is not None and each(optimizer, values):
            return "stopped by the callback"
        if optimizer.best_f_ <= limits.ftarget:
            return "the target value was reached"
        if optimizer.n_evals_ >= limits.max_evals:
            return "the budget of evaluations is spent"
        if optimizer.sigma2_ < limits.tol_sigma:
            return "the search distribution has contracted"
        if not optimizer.spread_ < DIVERGED:
            return "the search distribution has grown beyond all bounds"
        if optimizer.spread_ < limits.xtol:
            return "the proposals are closer together than xtol"
        if flat >= FLAT_GENERATIONS:
            return f"all values were equal in {FLAT_GENERATIONS} generations"
