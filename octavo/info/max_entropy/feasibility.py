"""Which moments a distribution on given points can have, and what forbids the others.

Moments b are attained by a distribution that is positive on every point if and only if b lies in
the relative interior of the convex hull of the rows of F. Otherwise a direction d separates:
F_i·d ≤ b·d for all points, and not with equality throughout. HiGHS finds it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.estimators.arrays import Floats
from octavo.engine.linear_programs.lazy_rows import LazyRows, LinearSolution, Rows, solve_lazily

__all__ = ["InfeasibleConstraints"]

AT_ONCE = 200  # rows that the linear program sees at first, and takes in a round
ROUNDING = 1e-9  # HiGHS' tolerance, in units of a column's range


class InfeasibleConstraints(ValueError):
    """Moments that no distribution with full support has.

    Parameters
    ----------
    message : str
        A sentence.
    direction : array-like of shape (n_constraints,)
        d with F_i·d ≤ b·d for every point i of the support and < for at least one: no point lies
        beyond b that way. For `ipf`, the cells of the margins, one after another, stand for
        constraints.

    Examples
    --------
    >>> from octavo.info import InfeasibleConstraints, i_projection
    >>> try:
    ...     i_projection([0.5, 0.5], [[1.0], [2.0]], [2.5])
    ... except InfeasibleConstraints as error:
    ...     print(error.direction)
    [1.]
    """

    def __init__(self, message: str, direction: ArrayLike = ()) -> None:
        super().__init__(message)
        self.direction = np.asarray(direction, dtype=np.float64)

    def __reduce__(self) -> Any:
        """Pickle the direction too."""
        return type(self), (str(self), self.direction)


def separating_direction(G: Floats) -> Floats | None:
    """Return d with G_i·d ≤ 0 for all rows and < 0 for some, largest entry 1; None if none is.

    Parameters
    ----------
    G : ndarray of shape (n_points, n_constraints)
        Points less the moments, with columns of comparable size.
    """
    mean = G.mean(axis=0)
    program = LazyRows(mean, lower=-1.0, upper=1.0)
    program.add_rows(G[np.argsort(-(G @ -mean), kind="stable")[:AT_ONCE]], upper=0.0)

    def violated(solution: LinearSolution) -> Rows | None:
        height = G @ solution.x
        worst = np.argsort(-height, kind="stable")[:AT_ONCE]
        worst = worst[height[worst] > ROUNDING]
        if not worst.size:
            return None
        return Rows(G[worst], np.full(worst.size, -np.inf), np.zeros(worst.size))

    outcome = solve_lazily(program, violated)
    direction = outcome.solution.x
    if outcome.solution.status != "optimal" or outcome.solution.objective >= -10.0 * ROUNDING:
        return None
    return direction / np.abs(direction).max()


def infeasible(
    direction: Floats, F: Floats, b: Floats, slack: float = 0.0
) -> InfeasibleConstraints:
    """Return the error that names a separating direction of points F and moments b."""
    direction = direction / np.abs(direction).max()
    direction = np.where(np.abs(direction) < ROUNDING, 0.0, direction)
    top, asked = float((F @ direction).max()), float(b @ direction)
    allowed = f" less the slack {slack:g}" if slack else ""
    shown = np.array2string(direction[:8], precision=4, separator=", ")
    return InfeasibleConstraints(
        "No distribution that is positive on the whole support has these moments: along the "
        f"direction {shown} they are at {asked:.6g}{allowed}, and the features reach "
        f"{top:.6g} at most. Move b strictly inside the range of the features, or allow slack.",
        direction,
    )
