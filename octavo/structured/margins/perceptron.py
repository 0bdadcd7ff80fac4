"""Perceptron-based structured learning: steps until the held-out price no longer falls.

Reference: Ni, Saunders, Szedmak and Niranjan (2011), JMLR 12: Table 2 and Section 2.2.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.streams.passes import averaged, current, locked, new_clock
from octavo.structured.margins.dual_descent import MarginProblem, margin_problem
from octavo.structured.margins.margin_steps import perceptron_pass

LARGE = 1 << 22  # stored numbers that no longer fit into a cache
BLOCK = 256  # rows that stay together in a large table
PATIENCE = 5  # passes without a fall of the held-out price


class MarginPerceptron(NamedTuple):
    """Weights of all classes with the mean of their past, and the steps they take."""

    vectors: Floats
    drift: Floats
    clock: Floats
    n_classes: int
    eta: float
    shrink: float

    @classmethod
    def new(cls, problem: MarginProblem, eta: float, alpha: float, average: bool) -> Self:
        """Return a learner that has seen nothing."""
        n_classes = len(problem.distance)
        size = problem.X.shape[1] * n_classes
        drift = np.zeros(size if average else 0)
        return cls(np.zeros(size), drift, new_clock(), n_classes, float(eta), float(eta * alpha))

    def visit(self, problem: MarginProblem, order: Indices) -> tuple[float, int]:
        """Visit rows in order; return the mean loss met and the number of steps."""
        total, steps = perceptron_pass(
            problem.rows,
            locked(np.asarray(order, dtype=np.int64)),
            problem.codes,
            problem.row_weights,
            problem.distance,
            self.eta,
            self.shrink,
            self.vectors,
            self.drift,
            self.clock,
        )
        return total / max(float(problem.row_weights[order].sum()), 1e-300), int(steps)

    def weights(self) -> Floats:
        """Return the weights, classes x features: their mean where it is kept."""
        if self.drift.size:  # the mean over all steps of Table 2, which is not in the paper
            found = averaged(self.vectors, self.drift, self.clock)
        else:
            found = current(self.vectors, self.clock)
        return np.ascontiguousarray(found.reshape(-1, self.n_classes).T)


class PerceptronFit(NamedTuple):
    """Weights kept, losses met in each pass, held-out prices, whether the steps ended."""

    weights: Floats
    losses: list[float]
    validation_losses: list[float]
    converged: bool


def held_out_rows(codes: Any, fraction: float, random: Any) -> tuple[Indices, Indices]:
    """Return rows to train on and rows held out, a share of each class; none of tiny classes."""
    order = random.permutation(len(codes))
    held = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes):
        rows = order[codes[order] == code]
        held[rows[: int(fraction * len(rows) + 0.5) if len(rows) > 1 else 0]] = True
        held[rows[-1]] = False  # every class is trained on
    return np.flatnonzero(~held), np.flatnonzero(held)


def mean_price(problem: MarginProblem, rows: Indices, weights: Floats) -> float:
    """Return the mean price of the predictions for some rows."""
    found = np.argmax(np.asarray(problem.X[rows] @ weights.T), axis=1)
    sizes = problem.row_weights[rows]
    return float(sizes @ problem.distance[problem.codes[rows], found]) / max(sizes.sum(), 1e-300)


def _close_rows(
    problem: MarginProblem, train: Indices, random: Any
) -> tuple[MarginProblem, Indices]:
    """Return training rows; those of a large table are copied in random order, once.

    Rows that are visited as they lie in memory are read several times as fast; whole blocks of
    them change places from pass to pass.
    """
    stored = problem.X.nnz if hasattr(problem.X, "nnz") else problem.X.size
    if stored < LARGE:
        return problem, train
    order = random.permutation(train)
    parts = (problem.codes[order], problem.row_weights[order], problem.distance)
    return margin_problem(problem.X[order], *parts), np.arange(len(order))


def _visits(rows: Indices, random: Any) -> Indices:
    """Return rows in random order, large tables in blocks."""
    n_blocks = len(rows) // BLOCK
    if n_blocks < BLOCK:
        return random.permutation(rows)
    blocks = np.array_split(rows, n_blocks)
    return np.concatenate([blocks[k] for k in random.permutation(n_blocks)])


def train_perceptron(
    learner: MarginPerceptron,
    problem: MarginProblem,
    train: Indices,
    held: Indices,
    max_iter: int,
    tol: float,
    random: Any,
    on_pass: Callable[[], bool],
) -> PerceptronFit:
    """Pass over rows in random order, and keep the weights of the best pass.

    Parameters
    ----------
    learner : MarginPerceptron
        Changed in place.
    problem : MarginProblem
        The data.
    train, held : ndarray
        Rows to step along, and rows to judge by (none: the last weights are kept).
    max_iter : int
        Most passes.
    tol : float
        What the held-out price must fall by within five passes.
    random : RandomState
        Orders the rows.
    on_pass : callable
        Called after each pass; ends the search by returning True.

    Returns
    -------
    PerceptronFit
        The weights and how they came about.
    """
    stepped, own = _close_rows(problem, train, random)
    losses: list[float] = []
    prices: list[float] = []
    best, best_weights, waited, converged = np.inf, None, 0, False
    for _ in range(max_iter):
        loss, steps = learner.visit(stepped, _visits(own, random))
        losses.append(loss)
        if held.size:
            weights = learner.weights()
            prices.append(mean_price(problem, held, weights))
            waited = 0 if prices[-1] < best - tol else waited + 1
            if prices[-1] < best:
                best, best_weights = prices[-1], weights
        converged = steps == 0
        if on_pass() or converged or waited >= PATIENCE:
            break
    kept = learner.weights() if best_weights is None else best_weights
    return PerceptronFit(kept, losses, prices, converged)
