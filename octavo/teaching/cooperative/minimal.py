"""Teaching sets: the smallest samples with which one concept of the class is consistent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.discrete.bitsets import Masks, masks_of_table
from octavo.engine.estimators.arrays import Indices
from octavo.engine.estimators.checked import checked
from octavo.engine.linear_programs.hitting_sets import (
    TooManySets,
    greedy_hitting_set,
    hitting_set_program,
    hitting_sets_of_size,
    minimum_hitting_set,
)
from octavo.teaching.cooperative.concepts import ConceptClass, class_of

__all__ = ["TeachingSets", "teaching_sets"]

Members = tuple[int, ...]
Families = list[list[Members]]  # the sets of every concept

SOLVERS = ("bitset", "milp", "greedy")


class TeachingSets(NamedTuple):
    """Smallest samples of every concept under a model of teaching.

    ``dims[i]`` is their size for concept i, ``sets[i]`` lists them as instances in ascending
    order, and ``history`` holds the sets of every iteration, the last of which are `sets`.
    """

    dims: Indices
    sets: Families
    history: list[Families]


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class SetSearch:
    """How sets are sought, and how many; shared by the four models of teaching.

    `masks` are the instances on which a concept differs from each other one: a sample tells it from
    all of them when its instances hit every mask.
    """

    all_sets: bool = True
    max_sets: int = 10000
    solver: str = "bitset"
    step: Callable[[], Any] = _nothing

    def __post_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {SOLVERS}; got {self.solver!r}.")
        if not isinstance(self.all_sets, (bool, np.bool_)):
            raise ValueError(f"all_sets must be True or False; got {self.all_sets!r}.")
        if not isinstance(self.max_sets, Integral) or self.max_sets < 1:
            raise ValueError(f"max_sets must be a positive integer; got {self.max_sets!r}.")

    def one(self, masks: Masks, n: int, most: int | None = None) -> Members | None:
        """Return one smallest set, or None where it has more than `most` instances."""
        if self.solver == "bitset":
            return minimum_hitting_set(masks, n, most)
        found = (
            hitting_set_program(masks, n)[0]
            if self.solver == "milp"
            else greedy_hitting_set(masks, n)
        )
        return None if most is not None and len(found) > most else found

    def smallest(self, masks: Masks, n: int, name: str) -> list[Members]:
        """Return one smallest set or all of them."""
        found = self.one(masks, n)
        assert found is not None
        if self.solver == "greedy" or not self.all_sets:
            return [found]
        return self.of_size(masks, n, len(found), name)

    def of_size(self, masks: Masks, n: int, size: int, name: str) -> list[Members]:
        """Return one set or all sets of exactly so many instances, superfluous ones among them."""
        if not self.all_sets:
            found = self.one(masks, n, size) or ()
            # any further instance keeps a sample consistent with the concept alone
            others = (j for j in range(n) if j not in found)
            return [tuple(sorted([*found, *(next(others) for _ in range(size - len(found)))]))]
        limit = min(int(self.max_sets), 2**31)
        try:
            if self.solver == "milp":
                return hitting_set_program(masks, n, size=size, everything=True, limit=limit)
            return hitting_sets_of_size(masks, n, size, limit)
        except TooManySets as error:
            raise ValueError(
                f"Concept {name} has more than max_sets={self.max_sets} sets of {size} examples. "
                "Raise max_sets, or set all_sets=False for one set a concept (subset teaching sets "
                "need all of them)."
            ) from error


def differences(packed: Masks, concept: int, others: Indices) -> Masks:
    """Return the instances on which a concept differs from each of the others, as bits."""
    # what a teaching set of Definition 2 must hit
    return packed[others[others != concept]] ^ packed[concept]


def minimal_sets(concepts: ConceptClass, rest: Sequence[int], search: SetSearch) -> Families:
    """Return TS(c, C') for every concept c of a part C' of the class."""
    packed, others = masks_of_table(concepts.matrix), np.asarray(rest)
    found = []
    for i in rest:
        masks = differences(packed, int(i), others)
        # TS(c, C')
        found.append(search.smallest(masks, concepts.n_instances, concepts.concept_names[i]))
        search.step()
    return found


def sizes(families: Families) -> Indices:
    """Return the size of the sets of each concept."""
    return np.array([len(family[0]) for family in families])


def plain_sets(concepts: ConceptClass, search: SetSearch) -> TeachingSets:
    """Return the teaching sets of every concept."""
    found = minimal_sets(concepts, range(len(concepts)), search)
    return TeachingSets(sizes(found), found, [found])


@checked
def teaching_sets(
    concepts: Any, all_sets: bool = True, max_sets: int = 10000, solver: str = "bitset"
) -> TeachingSets:
    """Return the smallest samples that identify each concept to any consistent learner.

    Parameters
    ----------
    concepts : ConceptClass or array-like of shape (n_concepts, n_instances)
        The class, or its table of zeros and ones.
    all_sets : bool, default=True
        Whether all smallest samples are wanted, or one a concept.
    max_sets : int, default=10000
        The most sets of one concept; more are an error, since a part of them would mislead.
    solver : {"bitset", "milp", "greedy"}, default="bitset"
        Branch and bound on bits, integer programs by HiGHS, or one set a concept that is
        chosen greedily and need not be smallest.

    Returns
    -------
    found : TeachingSets
        Sizes, sets and the one iteration.

    References
    ----------
    Goldman and Kearns (1995), "On the complexity of teaching".

    Examples
    --------
    >>> from octavo.teaching import ConceptClass, teaching_sets
    >>> found = teaching_sets(ConceptClass.thresholds(3))
    >>> found.dims
    array([1, 2, 2, 1])
    >>> found.sets[1]
    [(0, 1)]
    """
    return plain_sets(class_of(concepts), SetSearch(all_sets, max_sets, solver))
