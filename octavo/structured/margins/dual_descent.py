"""The penalised margin with class distances by dual coordinate steps, with a duality gap.

Minimises (1/N) Σ_n max_o [Δ(y_n, o) + (w_o - w_{y_n}).φ_n] + (λ/2) Σ_o ‖w_o‖². The K dual
variables of a row are solved for exactly, by sorting.

References: Ni, Saunders, Szedmak and Niranjan (2011), JMLR 12, eq. (4); Keerthi et al. (2008), KDD.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.streams.passes import Rows, as_rows, locked
from octavo.structured.margins.margin_steps import dual_pass, dual_weights, loss_sum, row_norms

PASSES = 5  # over the rows between two looks at the gap


class MarginProblem(NamedTuple):
    """Rows as compiled code reads them, classes by number, weights of rows, prices."""

    X: Any
    rows: Rows
    codes: np.ndarray
    row_weights: Floats
    distance: Floats

    @property
    def start(self) -> float:
        """The sum of losses of zero weights."""
        return float(self.row_weights @ self.distance.max(axis=1)[self.codes])


class MarginSolution(NamedTuple):
    """Weights (classes x features), objective, gap, trace of objectives, whether tol was met."""

    weights: Floats
    objective: float
    gap: float
    losses: list[float]
    gaps: list[float]
    converged: bool


def margin_problem(X: Any, codes: Any, row_weights: Any, distance: Any) -> MarginProblem:
    """Return a problem in the layout that compiled code takes: doubles, in C order or CSR."""
    table = X.astype(np.float64, copy=False)
    if isinstance(table, np.ndarray):
        table = np.ascontiguousarray(table)
    return MarginProblem(
        table,
        as_rows(table),
        locked(np.asarray(codes, dtype=np.int64)),
        locked(np.asarray(row_weights, dtype=np.float64)),
        locked(np.ascontiguousarray(distance, dtype=np.float64)),
    )


def close_enough(objective: float, gap: float, start: float, tol: float) -> bool:
    """Tell whether a gap is within tol of the objective, or of a thousandth of the start's."""
    return gap <= tol * max(objective, 1e-3 * start)


def penalized_margin(
    problem: MarginProblem,
    alpha: float,
    *,
    max_iter: int,
    tol: float,
    random: np.random.RandomState,
    on_pass: Callable[[], bool],
) -> MarginSolution:
    """Take rounds of five passes over the rows until the duality gap is closed.

    Parameters
    ----------
    problem : MarginProblem
        The data.
    alpha : float
        λ, positive.
    max_iter : int
        Most rounds.
    tol : float
        Gap to stop at, relative to the objective.
    random : RandomState
        Orders the visits.
    on_pass : callable
        Called after each round; ends the search by returning True.

    Returns
    -------
    MarginSolution
        The best weights met.
    """
    n, n_classes = len(problem.codes), len(problem.distance)
    total = float(problem.row_weights.sum())
    strength = alpha * total
    norms = np.empty(n)
    row_norms(problem.rows, norms)
    mu = np.zeros((n, n_classes))
    mu[np.arange(n), problem.codes] = problem.row_weights
    empty = norms == 0.0  # a row of zeros costs its dearest class whatever the weights are
    mu[empty] = 0.0
    dearest = problem.distance.argmax(axis=1)[problem.codes[empty]]
    mu[empty, dearest] = problem.row_weights[empty]
    weights = np.zeros(problem.X.shape[1] * n_classes)
    best, best_weights, losses, gaps = np.inf, weights.copy(), [], []
    bound = 0.0  # of the dual variables that say nothing
    prices, start = problem.distance[problem.codes], problem.start / total
    for _ in range(max_iter):
        for _ in range(PASSES):
            order = locked(random.permutation(n))
            dual_pass(
                problem.rows,
                order,
                problem.codes,
                problem.row_weights,
                norms,
                problem.distance,
                strength,
                weights,
                mu,
            )
        dual_weights(problem.rows, problem.codes, problem.row_weights, strength, mu, weights)
        penalty = 0.5 * alpha * float(weights @ weights)  # (λ/2) Σ ‖w_o‖² of Eq. (4)
        hinge = loss_sum(
            problem.rows, problem.codes, problem.row_weights, problem.distance, weights
        )
        objective = hinge / total + penalty  # Eq. (4)
        # the dual value: Σ μ Δ / N less the same penalty
        bound = max(bound, float(np.vdot(prices, mu)) / total - penalty)
        if objective < best:
            best, best_weights = objective, weights.copy()
        losses.append(objective)
        gaps.append(max(best - bound, 0.0))
        if on_pass() or close_enough(best, gaps[-1], start, tol):
            break
    met = close_enough(best, gaps[-1], start, tol)
    coef = np.ascontiguousarray(best_weights.reshape(-1, n_classes).T)
    return MarginSolution(coef, best, gaps[-1], losses, gaps, met)
