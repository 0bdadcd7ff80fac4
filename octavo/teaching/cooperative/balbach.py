"""Balbach teaching sets: learners that also eliminate concepts by the size of the sample."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from octavo.engine.discrete.bitsets import Masks, masks_of_table
from octavo.engine.estimators.arrays import Indices
from octavo.engine.estimators.checked import checked
from octavo.teaching.cooperative.concepts import ConceptClass, class_of
from octavo.teaching.cooperative.minimal import (
    SetSearch,
    TeachingSets,
    differences,
    plain_sets,
)

__all__ = ["balbach_teaching_sets"]


def _masks_left(packed: Masks, concept: int, dims: Indices, size: int) -> Masks:
    """Return what a sample of that size must still hit: Cons_size drops smaller dimensions."""
    # Cons_size of Definition 5 keeps those with BTD^k ≥ |S|
    return differences(packed, concept, np.flatnonzero(dims >= size))


def _next_dims(packed: Masks, n: int, dims: Indices, search: SetSearch) -> Indices:
    """Return BTD^(k+1) from BTD^k, Definition 5.

    A sample of exactly m examples is met by the concepts of dimension m or more; fewer than m
    that hit their masks can be padded to m, since m never exceeds the teaching dimension.
    """
    reduced = dims.copy()
    for i, size in enumerate(dims):
        for m in range(1, size):  # BTD^{k+1}(c) ≤ BTD^k(c): only smaller samples are looked for
            if search.one(_masks_left(packed, i, dims, m), n, m) is not None:
                reduced[i] = m
                break
    return reduced


def balbach_sets(concepts: ConceptClass, search: SetSearch) -> TeachingSets:
    """Return the Balbach teaching sets of every concept, and those of every iteration."""
    if search.solver == "greedy":
        raise ValueError('solver="greedy" gives no dimensions that an iteration could use.')
    packed, n = masks_of_table(concepts.matrix), concepts.n_instances
    steps = [plain_sets(concepts, replace(search, all_sets=False)).dims]  # BTD^0 = TD
    while True:
        steps.append(_next_dims(packed, n, steps[-1], search))
        search.step()
        if (steps[-1] == steps[-2]).all():  # a fixed point: BTD^{k+1} = BTD^k
            break
    last = len(steps) - 2
    history = [plain_sets(concepts, search).sets] if last else []
    for before, dims in [*pairwise(steps[:last]), (steps[last], steps[last])]:
        history.append(
            [
                search.of_size(_masks_left(packed, i, before, m), n, m, concepts.concept_names[i])
                for i, m in enumerate(dims)
            ]
        )
    return TeachingSets(steps[last], history[-1], history)


@checked
def balbach_teaching_sets(
    concepts: Any, all_sets: bool = True, max_sets: int = 10000, solver: str = "bitset"
) -> TeachingSets:
    """Return the smallest samples for learners that know how many examples each concept needs.

    Parameters
    ----------
    concepts : ConceptClass or array-like of shape (n_concepts, n_instances)
        The class, or its table of zeros and ones.
    all_sets : bool, default=True
        Whether all smallest samples are wanted, or one a concept.
    max_sets : int, default=10000
        The most sets of one concept; more are an error.
    solver : {"bitset", "milp"}, default="bitset"
        Branch and bound on bits, or integer programs by HiGHS.

    Returns
    -------
    found : TeachingSets
        Sizes, sets, and the sets of every iteration.

    Notes
    -----
    A sample of m examples rules out every concept that needs fewer than m; sets of that size may
    hold examples that rule out nothing, so there can be very many. The history begins with
    the teaching sets; iteration k holds the samples by which BTD^k is reached, and the last
    one all of BTS, those with Cons_size(S, C) = {c}.

    References
    ----------
    Balbach (2008), "Measuring teachability using variants of the teaching dimension"; Zilles
    and others (2011), Definition 5.

    Examples
    --------
    >>> from octavo.teaching import ConceptClass, balbach_teaching_sets
    >>> balbach_teaching_sets(ConceptClass.singletons(5)).dims
    array([2, 1, 1, 1, 1, 1])
    """
    return balbach_sets(class_of(concepts), SetSearch(all_sets, max_sets, solver))
