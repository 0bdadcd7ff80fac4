"""Smallest teaching sets beside what one writes by hand: an integer program a concept."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from benchmarks.harness import Contest
from octavo.teaching import ConceptClass, TeachingAnalysis


def monomials():
    return ConceptClass.monomials(5)


def ours(concepts):
    return TeachingAnalysis("td", all_sets=False).fit(concepts).dims_


def programs(concepts):
    return TeachingAnalysis("td", all_sets=False, solver="milp").fit(concepts).dims_


def by_hand(concepts):
    """Show HiGHS all rows at once, as scipy's documentation would have it."""
    table, n = concepts.matrix, concepts.n_instances
    dims = []
    for i, row in enumerate(table):
        apart = np.delete(table != row, i, axis=0).astype(float)
        answer = milp(
            np.ones(n),
            integrality=np.ones(n),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(apart, lb=1),
        )
        dims.append(round(answer.fun))
    return np.array(dims)


def same_sizes(concepts, answers):
    first, *others = answers.values()
    assert all((first == other).all() for other in others)
    return "sizes are equal for all concepts."


CONTESTS = [
    Contest(
        name="teaching-sets",
        problem="one smallest teaching set for each of 244 monomials over 32 instances",
        setup=monomials,
        solvers={"octavo": ours, "octavo, milp": programs, "scipy milp, all rows": by_hand},
        agree=same_sizes,
        repeats=3,
        target="at least five times",
        limit="branches: the search is exponential in the size of the sets",
    ),
]
