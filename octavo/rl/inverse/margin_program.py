"""The linear program of inverse methods: reward the expert by the sum of its margins.

    max  c'R − α ‖R‖₁   such that   g_i'R ≥ 0 for all deviations i,   |R| ≤ r_max

There may be a million deviations, so that rows come when a solution violates them. Many rewards
are optimal, and the simplex method likes to stop where a deviation ties with the expert: among the
optima the one with the largest smallest margin is taken, and where deviations tie in all of them,
the largest smallest margin of the others. Variables are R⁺, R⁻ and the margin t.

Reference: Choi and Kim (2011), Tables 1 to 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from octavo.engine.linear_programs.lazy_rows import LazyRows, Rows, solve_lazily

_TOL = 1e-7  # of rows, in units of r_max; HiGHS keeps rows to 1e-9
_MOST_TIES = 30  # rounds in which tied deviations are put aside

# margins(R, t, most) -> rows g_i (m, n), the smallest g_i'R below t, and the smallest of all
Margins = Callable[[np.ndarray, float, int], tuple[np.ndarray, float]]


class Solved(NamedTuple):
    """A reward, the objective, and the smallest margin."""

    reward: np.ndarray
    objective: float
    margin: float


def dense_margins(G: np.ndarray) -> Margins:
    """Return the door to rows that are all written down."""

    def margins(R, below, most):
        values = G @ R
        order = np.argsort(values, kind="stable")[:most]
        return G[order[values[order] < below]], float(values.min(initial=np.inf))

    return margins


class MarginProgram:
    """The program for one expert; solutions for several penalties share the rows found.

    `c` is the sum of the margins' rows, `margins` the door to the rows.
    """

    def __init__(self, c: np.ndarray, margins: Margins, r_max: float, most: int = 200) -> None:
        self.scale = max(float(np.abs(c).max(initial=0.0)), 1e-300)
        self.c, self.margins, self.r_max, self.most = c / self.scale, margins, r_max, most
        self.n, self.floor = len(c), 0.0  # the least margin that is asked for
        self.rows = np.zeros((0, self.n))

    def _program(self, cost: np.ndarray, margin: float) -> LazyRows:
        """Return the program with a cost over (R⁺, R⁻, t) in units of r_max; t up to `margin`."""
        lower = np.append(np.zeros(2 * self.n), self.floor)
        upper = np.append(np.ones(2 * self.n), max(self.floor, margin))
        program = LazyRows(cost, lower, upper)
        self._add(program, self.rows)
        return program

    def _add(self, program: LazyRows, rows: np.ndarray) -> None:
        if len(rows):
            program.add_rows(np.column_stack([rows, -rows, -np.ones(len(rows))]), 0.0, np.inf)

    def _run(self, program: LazyRows) -> np.ndarray:
        """Solve with all rows, which keep the margin t."""

        def separate(solution):
            R, t = self._reward(solution.x), solution.x[-1]
            found, smallest = self.margins(R, t - _TOL, self.most)
            if smallest >= t - _TOL or not len(found):
                return None
            self.rows = np.concatenate([self.rows, found])
            A = np.column_stack([found, -found, -np.ones(len(found))])
            return Rows(A, np.zeros(len(A)), np.full(len(A), np.inf))

        outcome = solve_lazily(program, separate, max_rounds=500)
        if outcome.solution.status != "optimal":
            raise ValueError(
                "The linear program of the reward has no solution in numbers: HiGHS says "
                f"{outcome.solution.status}. Look for tables that are huge or tiny."
            )
        return outcome.solution.x

    def _reward(self, x: np.ndarray) -> np.ndarray:
        return x[: self.n] - x[self.n : 2 * self.n]

    def _cost(self, alpha: float) -> np.ndarray:
        a = alpha / self.scale  # -c'R + α||R||₁ over R+ and R-
        return np.concatenate([a - self.c, a + self.c, [0.0]])

    def largest_alpha(self) -> float:
        """Return the penalty from which on the reward is zero: max c'R with ‖R‖₁ ≤ 1."""
        program = self._program(self._cost(0.0), 0.0)
        ball = np.append(np.ones((1, 2 * self.n)), 0.0)[None]
        program.add_rows(ball, -np.inf, 1.0)
        x = self._run(program)
        return self.scale * float(self.c @ self._reward(x))

    def best(self, alpha: float) -> tuple[np.ndarray, float]:
        """Return an optimum in units of r_max and minus its objective in units of the scale."""
        cost = self._cost(alpha)
        x = self._run(self._program(cost, 0.0))
        return self._reward(x), float(cost @ x)

    def _face(self, cost: np.ndarray, value: float, goal: np.ndarray, margin: float) -> LazyRows:
        program = self._program(goal, margin)
        program.add_rows(cost[None], -np.inf, value + 1e-9 * max(1.0, abs(value)))
        return program

    def widest(self, alpha: float) -> Solved:
        """Return the optimum with the largest smallest margin."""
        start, value = self.best(alpha)
        cost = self._cost(alpha)
        if not np.abs(start).max(initial=0.0) > _TOL:
            return Solved(np.zeros(self.n), 0.0, 0.0)
        goal = np.append(np.zeros(2 * self.n), -1.0)
        x = self._run(self._face(cost, value, goal, 1e6))
        R, margin = self._reward(x), float(x[-1])
        if margin <= _TOL:
            R = self._beyond_ties(cost, value, goal, R)
            margin = 0.0
        R[np.abs(R) < 1e-9] = 0.0  # what HiGHS leaves of zeros
        return Solved(R * self.r_max, -value * self.scale * self.r_max, margin * self.r_max)

    def _beyond_ties(self, cost, value, goal, R):
        """Widen the margins of the deviations that can differ, the others kept at no loss.

        A row with a positive price holds the smallest margin at zero in every optimum, so that
        rows are put aside by their prices until the rest has a positive margin.
        """
        strict = self.rows.copy()
        aside = np.zeros((0, self.n))
        for _ in range(_MOST_TIES):
            program = LazyRows(goal, 0.0, np.append(np.ones(2 * self.n), 1e6))
            program.add_rows(cost[None], -np.inf, value + 1e-9 * max(1.0, abs(value)))
            for rows, t in ((strict, -1.0), (aside, 0.0)):
                if len(rows):
                    A = np.column_stack([rows, -rows, np.full(len(rows), t)])
                    program.add_rows(A, 0.0, np.inf)
            solution = program.solve()
            if solution.status != "optimal":
                return R
            R_new, t = self._reward(solution.x), solution.x[-1]
            found, smallest = self.margins(R_new, -_TOL, self.most)
            if smallest < -_TOL:
                aside = np.concatenate([aside, found])
                self.rows = np.concatenate([self.rows, found])
                continue
            R = R_new
            if t > _TOL or not len(strict):
                return R
            priced = np.abs(solution.row_duals[1 : 1 + len(strict)]) > 1e-9
            if not priced.any():
                return R
            aside, strict = np.concatenate([aside, strict[priced]]), strict[~priced]
        return R

    def most_decisive(self) -> tuple[np.ndarray, float]:
        """Return a reward under which as few rows tie as can be, whatever its sum; its margin."""
        cost, goal = np.zeros(2 * self.n + 1), np.append(np.zeros(2 * self.n), -1.0)
        x = self._run(self._program(goal, 1e6))
        R = self._reward(x)
        if x[-1] > _TOL:
            return R, float(x[-1])
        return self._beyond_ties(cost, 0.0, goal, R), 0.0

    def is_unique(self, alpha: float) -> bool:
        """Whether the program has one optimum: a direction drawn at random has one value there."""
        _, value = self.best(alpha)
        cost = self._cost(alpha)
        w = np.random.RandomState(0).normal(size=self.n)
        ends = []
        for sign in (1.0, -1.0):
            goal = np.concatenate([sign * w, -sign * w, [0.0]])
            ends.append(float(w @ self._reward(self._run(self._face(cost, value, goal, 0.0)))))
        return bool(abs(ends[1] - ends[0]) <= 1e-5 * np.abs(w).sum())
