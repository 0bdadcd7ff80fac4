"""Lazy rows: the same answers as the whole program, with and without HiGHS as a library."""

import numpy as np
import pytest
from scipy.optimize import linprog

from octavo.engine.linear_programs.highs_door import find_highs, highs
from octavo.engine.linear_programs.lazy_rows import LazyRows, Rows, solve_lazily

KEEP = pytest.mark.parametrize(
    "keep",
    [pytest.param(True, marks=pytest.mark.skipif(highs is None, reason="no HiGHS")), False],
)


def polyhedron(seed, n=6, m=200):
    """A cost and rows A x ≥ b that no x violates at a large multiple of e."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 1.0, n), rng.uniform(0.0, 1.0, (m, n)), rng.uniform(0.5, 1.5, m)


@KEEP
@pytest.mark.parametrize("seed", range(5))
def test_lazy_rows_reach_the_optimum_of_all_rows(keep, seed):
    cost, A, b = polyhedron(seed)

    def separate(solution):
        worst = np.argsort(A @ solution.x - b)[:3]
        worst = worst[(A @ solution.x - b)[worst] < -1e-9]
        return Rows(A[worst], b[worst], np.full(len(worst), np.inf))

    program = LazyRows(cost, keep=keep)
    outcome = solve_lazily(program, separate)
    whole = linprog(cost, A_ub=-A, b_ub=-b)
    assert outcome.converged
    assert program.n_rows < 100 < len(A)
    assert outcome.solution.objective == pytest.approx(whole.fun, abs=1e-8)


@KEEP
def test_a_disc_by_its_tangents(keep):
    """max x + 2y over the unit disc is √5; every round adds one tangent.

    The solver allows rows 1e-9, so that a tangent is asked for from 1e-8 on.
    """

    def separate(solution):
        length = np.linalg.norm(solution.x)
        if length <= 1 + 1e-8:
            return None
        return Rows(solution.x[None] / length, np.array([-np.inf]), np.array([1.0]))

    outcome = solve_lazily(LazyRows([-1.0, -2.0], -2.0, 2.0, keep=keep), separate)
    assert outcome.converged
    assert -outcome.solution.objective == pytest.approx(np.sqrt(5), abs=1e-7)


@KEEP
def test_duals_are_the_change_of_the_optimum(keep):
    """Of an equality, a lower, an upper and a two-sided row: by moving each bound."""
    rng = np.random.default_rng(3)
    cost, A = rng.uniform(0.5, 1.5, 6), rng.uniform(0.1, 1.0, (4, 6))
    center = A @ rng.uniform(0.2, 0.8, 6)
    lower = np.array([center[0], center[1], -np.inf, center[3]])
    upper = np.array([center[0], np.inf, 0.97 * center[2], center[3] + 1.0])

    def optimum(shift):
        program = LazyRows(cost, 0.0, 1.0, keep=keep)
        program.add_rows(A[:2], (lower + shift)[:2], (upper + shift)[:2])
        program.add_rows(A[2:], (lower + shift)[2:], (upper + shift)[2:])
        return program.solve()

    base = optimum(np.zeros(4))
    assert base.status == "optimal"
    for row in range(4):
        change = optimum(1e-6 * np.eye(4)[row]).objective - base.objective
        assert base.row_duals[row] == pytest.approx(change / 1e-6, abs=1e-4)


@KEEP
def test_bounds_and_cost_may_change(keep):
    program = LazyRows([1.0, 2.0], 0.0, 1.0, keep=keep)
    program.add_rows([[1.0, 1.0]], lower=1.5)
    assert program.solve().objective == pytest.approx(2.0)
    program.change_bounds(0.0, [0.5, 5.0])
    assert program.solve().objective == pytest.approx(2.5)
    program.change_cost([5.0, 1.0])
    assert program.solve().objective == pytest.approx(1.5)


@KEEP
def test_states_other_than_optimal_end_the_loop(keep):
    program = LazyRows([1.0], 0.0, 1.0, keep=keep)
    program.add_rows([[1.0]], lower=2.0)
    assert solve_lazily(program, pytest.fail).solution.status == "infeasible"
    assert LazyRows([-1.0], keep=keep).solve().status == "unbounded"


@pytest.mark.skipif(highs is None, reason="no HiGHS")
def test_a_kept_program_starts_warm():
    cost, A, b = polyhedron(0, n=30, m=300)
    program = LazyRows(cost)
    program.add_rows(A, lower=b)
    cold, start = program.solve(), program.basis()
    assert cold.n_iter > 5
    program.change_cost(np.ones(30))
    program.solve()
    program.change_cost(cost)
    program.start_from(start)
    again = program.solve()
    assert again.n_iter == 0
    assert again.objective == pytest.approx(cold.objective, abs=1e-10)


def test_the_door_says_none_where_nothing_is_behind_it():
    assert find_highs(("no.such.module", "scipy.optimize")) is None


def test_rows_of_another_width_are_refused():
    with pytest.raises(ValueError, match="3 columns, got 2"):
        LazyRows(np.ones(3)).add_rows(np.ones((1, 2)))
