"""mirrorVSKL: the weights within groups by mirror descent around the oracle, with a duality gap.

Whatever a machine returns bounds the optimum from both sides. The blocks of its decision function
are those of a feasible point of the primal problem (1); its dual variables are feasible too,

    L(a) - ½ (Σ_j max_k (a'K_jk a)^r)^(1/r) ≤ optimum,    r = q/(2q-1),

which no λ nor γ can lower. So the gap holds at every iterate, however rough the machine.

Reference: J. Aflalo, A. Ben-Tal, C. Bhattacharyya, J. Saketha Nath and S. Raman (2011), "Variable
Sparsity Kernel Learning", Journal of Machine Learning Research 12, Sections 3.4 (Algorithm 3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import reachable_tolerance
from octavo.engine.proximal.mirror_descent import MirrorDescent
from octavo.kernel.mkl.machines import Machine, Solved
from octavo.kernel.vskl.group_norms import GroupNorm
from octavo.kernel.vskl.kernel_groups import KernelGroups
from octavo.kernel.vskl.oracle import GroupOracle, OracleStep, kernel_forms

_INNER = 0.1  # of the outer gap that the oracle may leave
_ALL_BEFORE, _ALL_EVERY = 10, 5  # iterations whose gradient looks at kernels without weight too
LEAST_TOL = 1e-10  # of a gap relative to the objective: rounding of kernel sums leaves about that


class VSKLFit(NamedTuple):
    """A solution: weights within groups and of groups, the machine, and how good they are.

    ``lam`` is in the order of the kernels, as is ``weights``, what each kernel is multiplied by;
    ``gamma`` has one entry a group. ``objective`` is the primal value, ``gap`` bounds its distance
    from the optimum, ``scale`` is the penalty, zero where no kernel has signal. ``history`` has a
    row an iteration: primal objective, dual objective, gap, machines so far.
    """

    lam: Floats
    gamma: Floats
    weights: Floats
    solved: Solved
    objective: float
    gap: float
    scale: float
    n_iter: int
    n_calls: int
    converged: bool
    history: Floats


class GroupBounds:
    """The best solution so far, and the bounds from both sides.

    Parameters
    ----------
    norm : GroupNorm
        The norm across groups.
    """

    def __init__(self, norm: GroupNorm) -> None:
        self.norm = norm
        self.upper, self.lower, self.scale = np.inf, -np.inf, 0.0
        self.best: tuple[Floats, Floats, Solved] | None = None
        self.rows: list[tuple[float, float, float, float]] = []

    def add_primal(self, lam: Floats, step: OracleStep, lengths: Floats) -> float:
        """Take note of a solution whose groups have Σ_k ||w_jk|| = lengths; return its value."""
        value = step.solved.loss + self.norm.penalty(lengths)  # Eq. (1)
        if value < self.upper:
            self.upper, self.best = value, (lam, step.omega, step.solved)
        return value

    def add_dual(self, solved: Solved, largest: Floats) -> None:
        """Take note of a bound from below, from the largest a'K_jk a of every group."""
        self.scale = self.norm.dual(largest)
        self.lower = max(self.lower, solved.linear - self.scale)

    @property
    def gap(self) -> float:
        """The best primal value less the best dual one; rounding below zero is zero."""
        return max(self.upper - self.lower, 0.0)


def solve_vskl(
    K: Floats,
    groups: KernelGroups,
    machine: Machine,
    q: float,
    *,
    step: float = 2.0,
    tol: float = 1e-3,
    oracle_tol: float | None = None,
    svm_tol: float = 1e-4,
    max_iter: int = 500,
    stopping: str = "gap",
    start: VSKLFit | None = None,
    on_step: Callable[[], bool] | None = None,
) -> VSKLFit:
    """Learn the weights of kernels in groups and a machine on them (Algorithm 3).

    Parameters
    ----------
    K : ndarray of shape (n_kernels, n_samples, n_samples)
        Kernel matrices; those in no group get no weight.
    groups : KernelGroups
        Groups of kernels.
    machine : Machine
        The machine on one kernel.
    q : float
        The norm across groups, from 0.5 to infinity.
    step, tol, svm_tol, max_iter, stopping
        As in the estimators.
    oracle_tol : float, default=None
        Gap that the oracle may leave, relative to the objective; a tenth of the outer gap if None.
    start : VSKLFit, default=None
        Where to start: an earlier solution on the same samples, kernels and groups.
    on_step : callable, default=None
        Called after every iteration; returns whether to stop.

    Returns
    -------
    VSKLFit
        The best solution, with its gap.
    """
    merged = groups
    if q == 0.5:  # Σ_j g_j is one l1 norm: groups do not matter
        merged = KernelGroups([0], [groups.order])
    norm = GroupNorm(q)
    oracle = GroupOracle(K, merged, machine, norm)
    order, sizes = oracle.order, merged.sizes
    lam = None if start is None else _restart(start, merged, q)
    descent = MirrorDescent(sizes, step=step, x=lam)
    omega, solved = norm.start(len(sizes)), None
    if start is not None:
        solved = start.solved
    bounds, forms = GroupBounds(norm), np.zeros(len(order))
    tol, svm_tol = (reachable_tolerance(t, floor=LEAST_TOL) for t in (tol, svm_tol))
    n_iter, n_calls, allowed, converged, last = 0, 0, np.inf, False, np.inf
    everything = np.arange(len(order))
    while n_iter < max_iter:
        n_iter += 1
        found = oracle.ask(descent.x, omega, solved, allowed)
        solved, n_calls = found.solved, n_calls + found.n_calls
        is_full = n_iter <= _ALL_BEFORE or n_iter % _ALL_EVERY == 0
        which = everything if is_full else np.flatnonzero(descent.x)
        forms[which] = kernel_forms(K, order[which], solved.a)  # a'K_jk a of every kernel
        lengths = found.omega * descent.sums(descent.x * np.sqrt(forms))  # Σ_k ||w_jk||
        value = bounds.add_primal(descent.x, found, lengths)
        if not is_full and _looks_done(bounds, solved, descent, forms, tol):
            is_full = True
            forms[:] = kernel_forms(K, order, solved.a)  # kernels without weight must agree
        if is_full:
            bounds.add_dual(solved, descent.largest(forms))
        bounds.rows.append((value, bounds.lower, bounds.gap, float(n_calls)))
        small = tol * abs(bounds.upper)
        converged = bounds.gap <= small or not bounds.scale > 0.0
        if stopping == "objective":
            converged = converged or abs(last - value) <= tol * abs(value)
        last = value
        if converged or (on_step is not None and on_step()):
            break
        omega = found.response
        # Danskin: dG/dλ_jk = -½ a'K_jk a / γ_j
        # Algorithm 3's step, with the ½ that its print leaves out
        descent.move(-0.5 * descent.spread(omega) * forms, found.lower)
        if oracle_tol is not None:
            allowed = max(oracle_tol, LEAST_TOL) * abs(bounds.upper)
        else:
            # the oracle as exact as the gap asks for
            allowed = max(_INNER * bounds.gap, min(svm_tol, _INNER * tol) * abs(bounds.upper))
        if max(sizes) == 1:
            allowed = min(allowed, 0.5 * small)
    return result_of(bounds, groups, merged, len(K), n_iter, n_calls, converged)


def _looks_done(
    bounds: GroupBounds, solved: Solved, descent: MirrorDescent, forms: Floats, tol: float
) -> bool:
    """Return whether the kernels with weight alone would end the search."""
    active = np.where(descent.x > 0.0, forms, 0.0)
    scale = bounds.norm.dual(descent.largest(active))
    return bounds.upper - max(bounds.lower, solved.linear - scale) <= tol * abs(bounds.upper)


def _restart(start: VSKLFit, groups: KernelGroups, q: float) -> Floats:
    """Return λ of an earlier fit, group after group, off zero from where nothing returns."""
    values = start.weights if q == 0.5 else start.lam
    lam = values[groups.order]
    starts = np.concatenate([[0], np.cumsum(groups.sizes)[:-1]])
    top = np.repeat(np.maximum.reduceat(lam, starts), groups.sizes)
    lam = np.maximum(lam, 1e-3 * np.where(top > 0.0, top, 1.0))
    return lam / np.repeat(np.add.reduceat(lam, starts), groups.sizes)


def result_of(
    bounds: GroupBounds,
    groups: KernelGroups,
    merged: KernelGroups,
    n_kernels: int,
    n_iter: int,
    n_calls: int,
    converged: bool,
) -> VSKLFit:
    """Return the best solution in the order of the kernels and groups that were asked for."""
    assert bounds.best is not None
    x, omega, solved = bounds.best
    weights, lam = np.zeros(n_kernels), np.zeros(n_kernels)
    weights[merged.order] = np.repeat(omega, merged.sizes) * x
    if merged is groups:
        lam[groups.order] = x
        gamma = bounds.norm.gamma(omega)
    else:
        gamma = np.array([weights[kernels].sum() for kernels in groups.members])
        for kernels, share in zip(groups.members, gamma):
            lam[kernels] = weights[kernels] / share if share > 0.0 else 1.0 / len(kernels)
    return VSKLFit(
        lam,
        gamma,
        weights,
        solved,
        bounds.upper,
        bounds.gap,
        bounds.scale,
        n_iter,
        n_calls,
        bool(converged),
        np.array(bounds.rows),
    )
