"""Recursive teaching sets: easy concepts first, each told from those that come after it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.discrete.bitsets import Masks, masks_of_table
from octavo.engine.estimators.arrays import Indices
from octavo.engine.estimators.checked import checked
from octavo.teaching.cooperative.concepts import ConceptClass, Sample, class_of
from octavo.teaching.cooperative.minimal import Families, Members, SetSearch, differences, sizes

__all__ = ["RecursiveTeaching", "recursive_teaching"]

Level = tuple[int, tuple[int, ...]]


class RecursiveTeaching(NamedTuple):
    """The teaching hierarchy of a class.

    ``dims[i]`` and ``sets[i]`` belong to concept i, ``hierarchy`` lists levels (dimension,
    concepts), and ``plan`` is a canonical teaching plan: pairs (concept, sample), each sample
    telling its concept from all later ones.
    """

    dims: Indices
    sets: Families
    hierarchy: list[Level]
    plan: list[tuple[int, Sample]]


def _lonely(table: Any, rest: Indices) -> dict[int, int]:
    """Return the concepts that one example tells from the rest, each with its first instance."""
    ones = table[rest].sum(axis=0)
    found: dict[int, int] = {}
    for label, counts in ((True, ones), (False, len(rest) - ones)):
        for j in np.flatnonzero(counts == 1):
            # the one concept with this label at j: {(x_j, label)} is a teaching set
            concept = int(rest[np.flatnonzero(table[rest, j] == label)[0]])
            found[concept] = min(int(j), found.get(concept, int(j)))
    return found


def _easiest(
    table: Any, packed: Masks, rest: Indices, search: SetSearch, known: dict[int, Members]
) -> dict[int, Members]:
    """Return the remaining concepts with the smallest teaching set, each with one such set.

    With `known`, sets that were found for larger rests, some of them are enough: the sets stay
    teaching sets while concepts go.
    """
    if len(rest) == 1:
        return {int(rest[0]): ()}
    lonely = _lonely(table, rest)
    if lonely:
        return {i: (j,) for i, j in sorted(lonely.items())}
    size = 1
    while True:
        size += 1
        # a set that told a concept from more tells it from fewer, too
        easy = {i: found for i, found in known.items() if len(found) <= size}
        if easy:
            return easy
        for i in rest:
            found = search.one(differences(packed, int(i), rest), table.shape[1], size)
            if found is not None:
                easy[int(i)] = found
        if easy:
            return easy


def hierarchy_of(concepts: ConceptClass, search: SetSearch) -> tuple[list[Level], Families]:
    """Return the teaching hierarchy and the recursive teaching sets, Definition 25."""
    table, packed = concepts.matrix, masks_of_table(concepts.matrix)
    rest, levels = np.arange(len(concepts)), []
    sets: Families = [[] for _ in range(len(concepts))]
    while len(rest):
        easy = _easiest(table, packed, rest, search, {})
        dimension = len(next(iter(easy.values())))  # d_j of Definition 25
        for i, found in easy.items():
            masks = differences(packed, i, rest)
            name = concepts.concept_names[i]
            sets[i] = (
                search.of_size(masks, table.shape[1], dimension, name)
                if search.all_sets
                else [found]
            )
        levels.append((dimension, tuple(sorted(easy))))
        rest = np.setdiff1d(rest, np.array(list(easy)))  # C_{j+1}: the easiest are taken away
        search.step()
    return levels, sets


def canonical_plan(concepts: ConceptClass, search: SetSearch) -> list[tuple[int, Sample]]:
    """Return a canonical teaching plan: at each place a concept that is then easiest, Def. 28."""
    table, packed = concepts.matrix, masks_of_table(concepts.matrix)
    rest, plan = np.arange(len(concepts)), []
    known: dict[int, Members] = {}
    while len(rest):
        easy = _easiest(table, packed, rest, search, known)
        known.update(easy)
        concept = min(easy)  # Definition 28: c_j has the least TD in {c_j, ..., c_z}
        plan.append((concept, concepts.sample_of(concept, easy[concept])))
        known.pop(concept)
        rest = rest[rest != concept]
        search.step()
    return plan


def recursive_sets(concepts: ConceptClass, search: SetSearch) -> RecursiveTeaching:
    """Return hierarchy, sets and plan of a class."""
    if search.solver == "greedy":
        raise ValueError('solver="greedy" cannot say which concepts are easiest.')
    levels, sets = hierarchy_of(concepts, search)
    return RecursiveTeaching(sizes(sets), sets, levels, canonical_plan(concepts, search))


@checked
def recursive_teaching(
    concepts: Any, all_sets: bool = True, max_sets: int = 10000, solver: str = "bitset"
) -> RecursiveTeaching:
    """Return the order in which concepts are easiest to teach, and the samples that then do.

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
    found : RecursiveTeaching
        Sizes, sets, hierarchy and plan.

    References
    ----------
    Zilles, Lange, Holte and Zinkevich (2011), "Models of Cooperative Teaching and Learning",
    Definitions 25 and 28.

    Examples
    --------
    >>> from octavo.teaching import ConceptClass, recursive_teaching
    >>> found = recursive_teaching(ConceptClass.singletons(4))
    >>> found.hierarchy
    [(1, (1, 2, 3, 4)), (0, (0,))]
    """
    return recursive_sets(class_of(concepts), SetSearch(all_sets, max_sets, solver))
