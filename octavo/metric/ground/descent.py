"""Minimising the criterion over metrics with sum one: convex majorants, projected subgradients.

The distances to unlike histograms enter with a minus, which is convex in M; those to alike ones are
concave and are replaced by a tangent, which lies above them (Section 4.2). Each inner problem is
convex; its best iterate is where the next tangent is taken, so that the criterion never rises.

Reference: Cuturi and Avis (2014), Algorithm 2. Two things are read as they must be meant: the
printed step t₀/√q is t₀/√(q+1), as q starts at 0, and iterates are projected onto the metrics
with sum one exactly, not onto the cone and scaled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.projections.metric_cone import project_metric_cone
from octavo.metric.ground.criterion import Side

LOOK_BACK = 8  # steps over which an inner problem must progress (Section 6.2.2)
# A projection ends when a sweep moves no entry by more than this share of the step that led there.
# What is left of long triangles is cut off, so that every iterate is a metric all the same.
PROJECTION_SHARE = 0.01
PROJECTION_TOL = 1e-6
PROJECTION_SWEEPS = 30


class Schedule(NamedTuple):
    """Steps and when they end: t₀, bounds on inner and outer loops, least relative progress."""

    step: float
    max_outer: int
    max_inner: int
    min_inner: int
    inner_tol: float
    outer_tol: float


class Descent(NamedTuple):
    """The last metric; C_k at every outer metric; (outer, inner, majorant) of every step."""

    M: Floats
    objectives: Floats
    history: Floats
    n_iter: int
    converged: bool


class _Projector:
    """Projections onto the metrics with sum one, each started with the multipliers of the last."""

    def __init__(self, d: int) -> None:
        self.duals = np.zeros((d * (d - 1) * (d - 2) // 6, 3))

    def __call__(self, M: Floats, step: Floats) -> Floats:
        """Return the projection of M + step."""
        H = M + step
        share = float(np.abs(step).max()) / max(float(np.abs(H).max()), 1e-300)
        tol = max(PROJECTION_TOL, PROJECTION_SHARE * share)
        return project_metric_cone(
            H, 1.0, duals=self.duals, tol=tol, max_sweeps=PROJECTION_SWEEPS
        ).M


def minimize_majorant(
    M: Floats,
    unlike: Side,
    z_alike: float,
    g_alike: Floats,
    schedule: Schedule,
    unit: float,
    project: _Projector,
    on_step: Callable[[], bool],
) -> tuple[Floats, list[float], bool]:
    """Descend on S⁻(M) + S⁺(M_p) + ⟨γ₊, M - M_p⟩; return the best iterate and all values."""
    start, best, best_value, values, stop = M, M, np.inf, [], False
    bests: list[float] = []
    for q in range(schedule.max_inner):
        z_unlike, g_unlike = unlike.evaluate(M)  # γ₋ and z₋
        value = z_unlike + z_alike + float(np.sum(g_alike * (M - start)))  # z_q of Algorithm 2
        values.append(value)
        if value < best_value:
            best, best_value = M, value
        bests.append(best_value)
        stop = on_step()
        if stop:
            break
        if q >= max(schedule.min_inner, LOOK_BACK):
            gain = bests[q - LOOK_BACK] - best_value
            if gain <= schedule.inner_tol * abs(best_value):
                break
        # t₀/√(q + 1): print divides by √q, which is zero at first
        length = unit * schedule.step / np.sqrt(q + 1.0)
        M = project(M, -length * 2.0 * (g_alike + g_unlike))  # γ is upper plus lower
    return best, values, stop


def descend(
    M: Floats,
    alike: Side,
    unlike: Side,
    schedule: Schedule,
    unit: float,
    on_step: Callable[[], bool],
) -> Descent:
    """Run Algorithm 2 from M.

    `unit` makes steps the same for any scale of ω: one over the largest 1-norm that γ₊ or γ₋
    can have, which is one with the paper's ω.
    """
    project = _Projector(len(M))
    objectives, history, n_iter, converged = [], [], 0, False
    for p in range(schedule.max_outer):
        z_alike, g_alike = alike.evaluate(M, everything=True)  # z₊ and γ₊ of Algorithm 2
        best, values, stop = minimize_majorant(
            M, unlike, z_alike, g_alike, schedule, unit, project, on_step
        )
        objectives.append(values[0])
        history += [(p, q, value) for q, value in enumerate(values)]
        n_iter += len(values)
        M = best
        if stop:
            break
        # Too little progress of the outer loop
        if p and objectives[-2] - objectives[-1] <= schedule.outer_tol * abs(objectives[-1]):
            converged = True
            break
    final = alike.evaluate(M, everything=True)[0] + unlike.evaluate(M, everything=True)[0]
    objectives.append(final)
    return Descent(M, np.array(objectives), np.array(history), n_iter, converged)
