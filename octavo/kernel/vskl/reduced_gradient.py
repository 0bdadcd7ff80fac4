"""SimpleMKL: sparse multiple kernel learning by a reduced gradient with line searches.

The reference that users still ask for, on the same machine and with the same certificate as
mirror descent, so that the two can be compared. It needs several machines per direction.

Reference: A. Rakotomamonjy, F. Bach, S. Canu and Y. Grandvalet (2008), "SimpleMKL", Journal of
Machine Learning Research 9, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import reachable_tolerance
from octavo.kernel.mkl.machines import Machine
from octavo.kernel.vskl.group_norms import GroupNorm
from octavo.kernel.vskl.kernel_groups import KernelGroups
from octavo.kernel.vskl.mirror import LEAST_TOL, GroupBounds, VSKLFit, result_of
from octavo.kernel.vskl.oracle import GroupOracle, OracleStep, kernel_forms

_LINE = 0.1  # share of the longest step to which the line is searched
_EMPTY = 1e-8  # a smaller weight is zero, or the next step is as short as it
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


def descent_direction(d: Floats, gradient: Floats) -> Floats:
    """Return the reduced gradient's direction on the simplex (Eq. 12 of SimpleMKL)."""
    pivot = int(d.argmax())
    reduced = gradient - gradient[pivot]
    direction = np.where((d <= 0.0) & (reduced > 0.0), 0.0, -reduced)
    direction[pivot] = 0.0
    direction[pivot] = -direction.sum()
    return direction


def longest_step(d: Floats, direction: Floats) -> float:
    """Return how far the weights stay non-negative."""
    falling = direction < 0.0
    return float((-d[falling] / direction[falling]).min()) if falling.any() else 0.0


def golden_section(f: Callable[[float], float], longest: float) -> float:
    """Return the minimiser of f on [0, longest] to a part of it."""
    low, high = 0.0, longest
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = f(left), f(right)
    while high - low > _LINE * longest:
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = f(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = f(right)
    return left if at_left < at_right else right


class SimpleSearch:
    """The objective J(d) of sparse MKL, asked at one point after another.

    Parameters
    ----------
    oracle : GroupOracle
        Of one group.
    svm_tol : float
        Gap of every machine, relative to the objective: line searches compare values.
    """

    def __init__(self, oracle: GroupOracle, svm_tol: float) -> None:
        self.oracle, self.svm_tol = oracle, svm_tol
        self.found: OracleStep | None = None
        self.n_calls = 0

    def value(self, d: Floats) -> float:
        """Return J(d), and keep its solution to start the next from."""
        first = self.found is None
        for _ in range(2 if first else 1):
            allowed = np.inf if self.found is None else self.svm_tol * abs(self.found.upper)
            solved = None if self.found is None else self.found.solved
            self.found = self.oracle.ask(d, np.ones(1), solved, allowed)
        self.n_calls += 1
        assert self.found is not None
        return self.found.lower


def settled(d: Floats) -> Floats:
    """Return weights on the simplex, the smallest of them zero."""
    d = np.where(d < _EMPTY, 0.0, d)
    return d / d.sum()


def solve_simple_mkl(
    K: Floats,
    groups: KernelGroups,
    machine: Machine,
    *,
    tol: float = 1e-3,
    svm_tol: float = 1e-4,
    max_iter: int = 500,
    stopping: str = "gap",
    on_step: Callable[[], bool] | None = None,
) -> VSKLFit:
    """Learn weights on one simplex by SimpleMKL's Algorithm 1.

    Parameters
    ----------
    K : ndarray of shape (n_kernels, n_samples, n_samples)
        Kernel matrices.
    groups : KernelGroups
        One group.
    machine : Machine
        The machine on one kernel.
    tol, svm_tol, max_iter, stopping
        As in the estimator; an iteration is a direction.
    on_step : callable, default=None
        Called after every direction; returns whether to stop.

    Returns
    -------
    VSKLFit
        The best solution, with its gap.
    """
    norm = GroupNorm(1.0)
    bounds, order = GroupBounds(norm), groups.order
    tol, svm_tol = (reachable_tolerance(t, floor=LEAST_TOL) for t in (tol, svm_tol))
    search = SimpleSearch(GroupOracle(K, groups, machine, norm), min(svm_tol, 0.1 * tol))
    d = np.full(len(order), 1.0 / len(order))
    value, n_iter, converged, last = search.value(d), 0, False, np.inf
    while n_iter < max_iter:
        n_iter += 1
        assert search.found is not None
        forms = kernel_forms(K, order, search.found.solved.a)
        primal = bounds.add_primal(d, search.found, np.array([d @ np.sqrt(forms)]))
        bounds.add_dual(search.found.solved, np.array([forms.max()]))
        bounds.rows.append((primal, bounds.lower, bounds.gap, float(search.n_calls)))
        converged = bounds.gap <= tol * abs(bounds.upper) or not bounds.scale > 0.0
        if stopping == "objective":
            converged = converged or abs(last - value) <= tol * abs(value)
        last = value
        if converged or (on_step is not None and on_step()):
            break
        d, value = take_direction(search, d, value, -0.5 * forms)
    return result_of(bounds, groups, groups, len(K), n_iter, search.n_calls, converged)


def take_direction(
    search: SimpleSearch, d: Floats, value: float, gradient: Floats
) -> tuple[Floats, float]:
    """Empty one weight after another while that descends, then search the line."""
    direction = descent_direction(d, gradient)
    longest = longest_step(d, direction)
    while longest > 0.0:
        moved = settled(np.maximum(d + longest * direction, 0.0))
        trial = search.value(moved)
        if trial >= value:
            break
        d, value = moved, trial
        direction = np.where((d <= 0.0) & (direction < 0.0), 0.0, direction)
        pivot = int(d.argmax())
        direction[pivot] -= direction.sum()  # the weights' sum stays one
        longest = longest_step(d, direction)
    if longest > 0.0:
        start, along = d, direction
        step = golden_section(lambda t: search.value(np.maximum(start + t * along, 0.0)), longest)
        d = settled(np.maximum(start + step * along, 0.0))
    return d, search.value(d)
