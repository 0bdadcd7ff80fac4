"""Subset teaching sets: learners that know the teacher wastes no example."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any

from octavo.engine.estimators.checked import checked
from octavo.teaching.cooperative.concepts import ConceptClass, class_of
from octavo.teaching.cooperative.minimal import (
    Families,
    Members,
    SetSearch,
    TeachingSets,
    plain_sets,
    sizes,
)

__all__ = ["subset_teaching_sets"]

MOST_SUBSETS = 20_000_000
_SHARED = -1


def _owners(samples: list[list[Members]], size: int) -> dict[Members, int]:
    """Map every subset of that size to the one concept that has it in a set, or to _SHARED."""
    owners: dict[Members, int] = {}
    for concept, family in enumerate(samples):
        for sample in family:
            for subset in combinations(sample, size):
                # a sample of a second concept has it: no subset teaching set
                if owners.setdefault(subset, concept) != concept:
                    owners[subset] = _SHARED
    return owners


def reduced_sets(concepts: ConceptClass, families: Families) -> Families:
    """Return STS^(k+1) from STS^k, Definition 16.

    An example is coded as 2 instance + label, so that samples of two concepts are equal only where
    their labels are.
    """
    # instance and label in one number, so that a subset is a labelled sample
    samples = [
        [tuple(2 * j + int(row[j]) for j in members) for members in family]
        for row, family in zip(concepts.matrix, families, strict=True)
    ]
    found: Families = [list(family) for family in families]
    open_ = {i for i, family in enumerate(families) if len(family[0]) > 1}
    size = 1
    while open_:
        work = sum(
            len(family) * comb(len(family[0]), size)
            for family in families
            if len(family[0]) >= size
        )
        if work > MOST_SUBSETS:
            raise ValueError(
                f"The teaching sets have {work:.2g} subsets of {size} examples; at most "
                f"{MOST_SUBSETS:,} are compared. Subset teaching is out of reach for this class; "
                'kind="rtd" is not.'
            )
        own: dict[int, list[Members]] = {}
        for subset, concept in _owners(samples, size).items():
            if concept in open_:
                own.setdefault(concept, []).append(tuple(code // 2 for code in subset))
        for concept, subsets in own.items():
            # Definition 16: the smallest subsets that no other concept's sets contain
            found[concept] = sorted(subsets)
        size += 1
        open_ = {i for i in open_ if i not in own and len(families[i][0]) > size}
    return found


def subset_sets(concepts: ConceptClass, search: SetSearch) -> TeachingSets:
    """Return the subset teaching sets of every concept, and those of every iteration."""
    if not search.all_sets or search.solver == "greedy":
        raise ValueError(
            "Subset teaching sets are defined by all minimal teaching sets: they need "
            'all_sets=True and solver="bitset" or "milp".'
        )
    history = [plain_sets(concepts, search).sets]
    # STS^{k+1} = STS^k ends it
    while (found := reduced_sets(concepts, history[-1])) != history[-1]:
        history.append(found)
        search.step()
    return TeachingSets(sizes(found), found, history)


@checked
def subset_teaching_sets(
    concepts: Any, max_sets: int = 10000, solver: str = "bitset"
) -> TeachingSets:
    """Return the smallest parts of teaching sets that no other concept's teaching set contains.

    Parameters
    ----------
    concepts : ConceptClass or array-like of shape (n_concepts, n_instances)
        The class, or its table of zeros and ones.
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
    A smaller class can need more examples, and the sets do not survive examples that somebody
    adds: see `is_valid_protocol`.

    References
    ----------
    Zilles, Lange, Holte and Zinkevich (2011), "Models of Cooperative Teaching and Learning",
    Definition 16.

    Examples
    --------
    >>> from octavo.teaching import ConceptClass, subset_teaching_sets
    >>> found = subset_teaching_sets(ConceptClass.thresholds(3))
    >>> found.sets[1], len(found.history)
    ([(0,), (1,)], 2)
    """
    return subset_sets(class_of(concepts), SetSearch(True, max_sets, solver))
