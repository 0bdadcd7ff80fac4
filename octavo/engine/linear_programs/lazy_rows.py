"""Linear programs whose rows come when they are needed, on HiGHS with warm starts.

    min c'x   such that   lower ≤ x ≤ upper,   l ≤ A x ≤ u

where A has too many rows to write down, or infinitely many: solve with those known, look for rows
that the solution violates, add them, go on from the last basis. `LazyRows` keeps the program,
`solve_lazily` is the loop. A convex set that is known by its supporting hyperplanes, a Benders
decomposition and a semi-infinite program are all of this form.

HiGHS is reached through `highs_door`; where it is missing, `scipy.optimize.linprog` solves the same
programs from scratch in every round, more slowly and to the same answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from octavo.engine.estimators.arrays import Floats
from octavo.engine.linear_programs.highs_door import highs

__all__ = ["LazyOutcome", "LazyRows", "LinearSolution", "Rows", "solve_lazily"]

_TOL = 1e-9  # of feasibility, primal and dual; HiGHS allows 1e-10 at best
_STATUS = {
    "kOptimal": "optimal",
    "kInfeasible": "infeasible",
    "kUnbounded": "unbounded",
    "kUnboundedOrInfeasible": "unbounded",
    "kTimeLimit": "limit",
    "kIterationLimit": "limit",
}
_LINPROG_STATUS = {0: "optimal", 1: "limit", 2: "infeasible", 3: "unbounded"}
_LINPROG_METHOD = {"simplex": "highs-ds", "ipm": "highs-ipm", "choose": "highs"}


class Rows(NamedTuple):
    """Rows lower ≤ A x ≤ upper to be added; A is an array or sparse, and has a row for each."""

    A: Any
    lower: Floats
    upper: Floats


class LinearSolution(NamedTuple):
    """What a solve gives.

    `status` is "optimal", "infeasible", "unbounded" (or infeasible: HiGHS may not tell), "limit" or
    "failed". `row_duals` says how much the optimum changes with the bound of each row, in the order
    in which rows were added. `objective`, `x` and `row_duals` are only to be used if optimal.
    """

    status: str
    objective: float
    x: Floats
    row_duals: Floats
    n_iter: int


class LazyOutcome(NamedTuple):
    """The last solution, whether no row was asked for any more, and how many rounds it took."""

    solution: LinearSolution
    converged: bool
    n_rounds: int


class _Kept:
    """The program inside HiGHS."""

    def __init__(self, cost, lower, upper, method):
        self._n = len(cost)
        self._model = highs._Highs()
        for name, value in (
            ("output_flag", False),
            ("solver", method),
            ("primal_feasibility_tolerance", _TOL),
            ("dual_feasibility_tolerance", _TOL),
        ):
            self._model.setOptionValue(name, value)
        program = highs.HighsLp()
        program.num_col_, program.num_row_ = self._n, 0
        program.col_cost_, program.col_lower_, program.col_upper_ = cost, lower, upper
        program.row_lower_ = program.row_upper_ = np.empty(0)
        matrix = program.a_matrix_
        matrix.format_ = highs.MatrixFormat.kColwise
        matrix.num_col_, matrix.num_row_ = self._n, 0
        matrix.start_ = np.zeros(self._n + 1, dtype=np.int32)
        self._model.passModel(program)
        self._columns = np.arange(self._n, dtype=np.int32)

    def add_rows(self, A, lower, upper):
        self._model.addRows(
            A.shape[0],
            lower,
            upper,
            A.nnz,
            A.indptr[:-1].astype(np.int32),
            A.indices.astype(np.int32),
            A.data,
        )

    def change_bounds(self, lower, upper):
        self._model.changeColsBounds(self._n, self._columns, lower, upper)

    def change_cost(self, cost):
        self._model.changeColsCost(self._n, self._columns, cost)

    def basis(self):
        return self._model.getBasis()

    def start_from(self, basis):
        self._model.setBasis(basis)

    def solve(self):
        self._model.run()
        status = _STATUS.get(self._model.getModelStatus().name, "failed")
        info, found = self._model.getInfo(), self._model.getSolution()
        steps = info.simplex_iteration_count + info.ipm_iteration_count
        return LinearSolution(
            status,
            float(info.objective_function_value),
            np.array(found.col_value),
            np.array(found.row_dual),
            max(int(steps), 0),
        )


class _Anew:
    """The program solved from scratch by `linprog` whenever it is asked."""

    def __init__(self, cost, lower, upper, method):
        self._cost, self._lower, self._upper, self._method = cost, lower, upper, method
        self._rows, self._row_lower, self._row_upper = [], [], []

    def add_rows(self, A, lower, upper):
        self._rows.append(A)
        self._row_lower.append(lower)
        self._row_upper.append(upper)

    def change_bounds(self, lower, upper):
        self._lower, self._upper = lower, upper

    def change_cost(self, cost):
        self._cost = cost

    def basis(self):
        return None

    def start_from(self, basis):
        """There is nothing to start from."""

    def solve(self):
        program: dict[str, Any] = {}
        n_rows, duals = sum(A.shape[0] for A in self._rows), np.zeros(0)
        if n_rows:
            A = sparse.vstack(self._rows).tocsr()
            low, high = np.concatenate(self._row_lower), np.concatenate(self._row_upper)
            equal = low == high
            below, above = ~equal & (high < np.inf), ~equal & (low > -np.inf)
            if equal.any():
                program |= {"A_eq": A[equal], "b_eq": low[equal]}
            if (below | above).any():
                program |= {
                    "A_ub": sparse.vstack([A[below], -A[above]]),
                    "b_ub": np.concatenate([high[below], -low[above]]),
                }
        found = linprog(
            self._cost,
            bounds=np.column_stack([self._lower, self._upper]),
            method=_LINPROG_METHOD[self._method],
            options={
                "primal_feasibility_tolerance": _TOL,
                "dual_feasibility_tolerance": _TOL,
            },
            **program,
        )
        status = _LINPROG_STATUS.get(found.status, "failed")
        if status != "optimal":
            return LinearSolution(status, np.nan, np.zeros(len(self._cost)), np.zeros(n_rows), 0)
        if n_rows:
            duals, split = np.zeros(n_rows), int(below.sum())
            if equal.any():
                duals[equal] = found.eqlin.marginals
            if (below | above).any():
                duals[below] += found.ineqlin.marginals[:split]
                # a row from above was given with its sign turned
                duals[above] -= found.ineqlin.marginals[split:]
        return LinearSolution(status, float(found.fun), found.x, duals, int(found.nit))


class LazyRows:
    """A linear program that is kept, to which rows are added, and whose bounds and cost may change.

    Parameters
    ----------
    cost : ndarray of shape (n_variables,)
        c, to be minimised.
    lower, upper : float or ndarray of shape (n_variables,), default=0.0 and np.inf
        Bounds of the variables.
    method : {"simplex", "ipm", "choose"}, default="simplex"
        HiGHS' solver. Simplex goes on from the last basis; interior points start anew.
    keep : bool, optional
        Keep the program inside HiGHS; by default where the library can be reached.

    Attributes
    ----------
    n_rows : int
        Rows added so far.
    """

    def __init__(self, cost, lower=0.0, upper=np.inf, *, method="simplex", keep=None):
        cost = np.array(cost, dtype=np.float64)
        keep = highs is not None if keep is None else keep
        if keep and highs is None:
            raise ValueError(
                "HiGHS cannot be reached as a library: neither scipy nor highspy has it."
            )
        self._shape = cost.shape
        self._program = (_Kept if keep else _Anew)(
            cost, self._spread(lower), self._spread(upper), method
        )
        self.n_rows = 0

    def _spread(self, bound) -> Floats:
        return np.array(np.broadcast_to(np.asarray(bound, dtype=np.float64), self._shape))

    def add_rows(self, A, lower=-np.inf, upper=np.inf) -> None:
        """Add rows lower ≤ A x ≤ upper; `A` may be sparse."""
        A = sparse.csr_array(A, dtype=np.float64)
        if A.shape[1] != self._shape[0]:
            raise ValueError(f"Rows must have {self._shape[0]} columns, got {A.shape[1]}.")
        size = (A.shape[0],)
        low, high = (
            np.array(np.broadcast_to(np.asarray(b, dtype=np.float64), size)) for b in (lower, upper)
        )
        if A.shape[0]:
            self._program.add_rows(A, low, high)
            self.n_rows += A.shape[0]

    def change_bounds(self, lower, upper) -> None:
        """Give the variables other bounds; the next solve starts from the last basis."""
        self._program.change_bounds(self._spread(lower), self._spread(upper))

    def change_cost(self, cost) -> None:
        """Minimise another cost; the next solve starts from the last basis."""
        self._program.change_cost(self._spread(cost))

    def basis(self) -> Any:
        """Return where the last solve ended, for `start_from`; None where it is not known."""
        return self._program.basis()

    def start_from(self, basis) -> None:
        """Let the next solve begin at a basis of this program; None is no hint."""
        if basis is not None:
            self._program.start_from(basis)

    def solve(self) -> LinearSolution:
        """Solve with the rows so far."""
        return self._program.solve()


def solve_lazily(
    program: LazyRows,
    separate: Callable[[LinearSolution], Rows | None],
    *,
    max_rounds: int = 1000,
    step: Callable[[], bool] | None = None,
) -> LazyOutcome:
    """Solve, ask for rows, add them, and again, until none is asked for.

    Parameters
    ----------
    program : LazyRows
        The program with the rows that are known at first.
    separate : callable
        Takes an optimal `LinearSolution` and returns the `Rows` that it violates, or others that
        are worth having; None or no rows end the loop.
    max_rounds : int, default=1000
        Most solves.
    step : callable, optional
        Called after each round; the loop ends where it returns True.

    Returns
    -------
    LazyOutcome
        The last solution. A status other than "optimal" ends the loop too.
    """
    for n_rounds in range(1, max_rounds + 1):
        solution = program.solve()
        if solution.status != "optimal":
            return LazyOutcome(solution, False, n_rounds)
        rows = separate(solution)
        if rows is None or len(rows.lower) == 0:
            return LazyOutcome(solution, True, n_rounds)
        program.add_rows(*rows)
        if step is not None and step():
            break
    return LazyOutcome(solution, False, n_rounds)
