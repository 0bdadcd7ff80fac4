"""The reward program beside cvxpy with all rows, and planning beside plain value iteration."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.harness import Contest
from octavo.rl import FSCIRL, FSCPolicy, PBPISolver, make_grid5
from octavo.rl.inverse.deviations import Deviations, new_nodes

_ALPHA = 2000.0


def grid_problem():
    grid = make_grid5()
    return grid, FSCPolicy([3, 1], [[1] * 9, [0] * 9])


def octavo_reward(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FSCIRL("dp", alpha=_ALPHA, solver=_Skip()).fit(*data)
    return model.objective_


class _Skip:
    """No planning after the program, which cvxpy does not do either."""

    def solve(self, pomdp, R):
        return FSCPolicy([0], [[0] * pomdp.n_observations])


def cvxpy_reward(data):
    import cvxpy as cp

    grid, expert = data
    new = new_nodes(grid, expert, "dp")
    deviations = Deviations(grid, expert, new)
    n = len(new.actions)
    rows = np.concatenate(
        [
            deviations.row(np.full(n, k), new.actions, new.successors)
            for k in range(len(deviations.nodes))
        ]
    )
    rows = np.unique(rows.round(12), axis=0)
    R = cp.Variable(rows.shape[1])
    goal = deviations.total() @ R - _ALPHA * cp.norm1(R)
    program = cp.Problem(cp.Maximize(goal), [rows @ R >= 0, cp.abs(R) <= 1])
    program.solve(solver="HIGHS")
    return -program.value


def rewards_agree(data, answers):
    values = list(answers.values())
    gap = max(values) - min(values)
    assert gap < 1e-6 * abs(values[0])
    return f"Objectives differ by {gap:.0e}."


def plan_problem():
    return make_grid5(gamma=0.9, size=7)


def octavo_plan(grid):
    return PBPISolver().solve(grid).value(grid)


def plain_plan(grid):
    """Value iteration over the beliefs of the known start, in plain Python."""
    values = np.zeros(grid.n_states)
    r = grid.rewards()
    for _ in range(400):
        values = np.max([r[:, a] + 0.9 * grid.P[a] @ values for a in range(4)], axis=0)
    return float(values[0])


def plans_agree(data, answers):
    values = list(answers.values())
    assert max(values) - min(values) < 1e-8
    return f"Both earn {values[0]:.6f}."


CONTESTS = [
    Contest(
        name="reward of a controller",
        problem="5 x 5 grid, all 32,256 deviations",
        setup=grid_problem,
        solvers={"octavo": octavo_reward, "cvxpy, all rows, HiGHS": cvxpy_reward},
        agree=rewards_agree,
        repeats=3,
        target="Aim: faster than the program with all rows.",
        limit="rounds of rows, and two more programs for the margin and uniqueness",
    ),
    Contest(
        name="planning",
        problem="7 x 7 grid whose walls are seen, against value iteration with the state seen",
        setup=plan_problem,
        solvers={"octavo": octavo_plan, "numpy, the state seen": plain_plan},
        agree=plans_agree,
        repeats=3,
        limit="sweeps over the vectors of values",
    ),
]
