"""Smallest teaching sets beside what one writes by hand: an integer program a concept."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from benchmarks.harness import Contest
from octavo.engine.discrete.bitsets import masks_of_table
from octavo.teaching import ConceptClass, TeachingAnalysis
from octavo.teaching.cooperative.minimal import SetSearch, differences


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


def stumps():
    """Return ten thousand rules on a thousand cases, with one in a hundred of them to be taught."""
    concepts = ConceptClass.stumps(np.random.RandomState(0).normal(size=(1000, 5)))
    return concepts, masks_of_table(concepts.matrix), np.arange(0, len(concepts), 100)


def one_each(data, solver):
    concepts, packed, taught = data
    search, everyone = SetSearch(all_sets=False, solver=solver), np.arange(len(concepts))
    masks = (differences(packed, i, everyone) for i in taught)
    return np.array([len(search.smallest(m, concepts.n_instances, "")[0]) for m in masks])


def stumps_by_bits(data):
    return one_each(data, "bitset")


def stumps_by_programs(data):
    return one_each(data, "milp")


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
    Contest(
        name="many rules",
        problem="one smallest teaching set for 100 of 9,990 stumps over 1,000 instances",
        setup=stumps,
        solvers={"octavo": stumps_by_bits, "octavo, milp": stumps_by_programs},
        agree=same_sizes,
        repeats=1,
        target="Aim: all of them in minutes, which is 30 ms a rule",
        limit="comparing a rule with the 9,989 others",
    ),
]
