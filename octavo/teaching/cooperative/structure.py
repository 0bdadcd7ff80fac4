"""What a class keeps when instances or concepts go; subset beside recursive teaching."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.discrete.bitsets import masks_of_table
from octavo.engine.estimators.arrays import Indices
from octavo.engine.estimators.checked import checked
from octavo.teaching.cooperative.analysis import TeachingAnalysis
from octavo.teaching.cooperative.concepts import class_of
from octavo.teaching.cooperative.minimal import Families, SetSearch, differences
from octavo.teaching.cooperative.recursive import recursive_sets
from octavo.teaching.cooperative.subsets import subset_sets

__all__ = [
    "SubclassDimensions",
    "redundant_instances",
    "subclass_dimensions",
    "subset_teaching_property",
]

MOST_SUBCLASSES = 4096
MOST_RESTS = 4000


class SubclassDimensions(NamedTuple):
    """Dimension of a class and of its parts; `dropped` lists the concepts that each part lacks."""

    whole: int
    dropped: list[tuple[int, ...]]
    dims: Indices


def _is_redundant(instance: int, history: list[Families]) -> bool:
    """Whether the instance can be exchanged wherever it stands, the premise of Theorem 24."""
    for families in history:
        for family in families:
            sets = {frozenset(members) for members in family}
            free = [s for s in sets if instance not in s]
            for members in sets:
                rest = members - {instance}
                # Another instance instead: a set of the same size that holds the rest.
                if instance in members and not any(rest < other for other in free):
                    return False  # the premise of Theorem 24, Lemma 23 with one iteration
    return True


@checked
def redundant_instances(concepts: Any, kind: str = "std") -> tuple[int, ...]:
    """Return instances without which every concept keeps its other sets.

    The instances are tried from the last to the first, one at a time: what is redundant is
    decided again after each that goes.

    Parameters
    ----------
    concepts : ConceptClass or array-like of shape (n_concepts, n_instances)
        The class, or its table of zeros and ones.
    kind : {"std", "td"}, default="std"
        Sets that must be kept: subset teaching sets of all iterations (Theorem 24) or teaching
        sets (Lemma 23).

    Returns
    -------
    instances : tuple of int
        Ascending; all of them can go together.

    Examples
    --------
    >>> from octavo.teaching import redundant_instances
    >>> table = [[0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 1, 1, 1],
    ...          [0, 1, 1, 1, 1], [1, 1, 0, 0, 1], [1, 1, 1, 0, 1]]
    >>> redundant_instances(table)
    (3, 4)
    """
    if kind not in ("std", "td"):
        raise ValueError(f'kind must be "std" or "td"; got {kind!r}.')
    left, kept = class_of(concepts), list(range(class_of(concepts).n_instances))
    history = TeachingAnalysis(kind).fit(left).history_
    gone = []
    for instance in reversed(range(left.n_instances)):
        place = kept.index(instance)
        if len(kept) > 1 and _is_redundant(place, history):
            left = left.without([place])
            kept.remove(instance)
            gone.append(instance)
            history = TeachingAnalysis(kind).fit(left).history_
    return tuple(sorted(gone))


@checked
def subclass_dimensions(
    concepts: Any, kind: str = "std", max_dropped: int | None = 1
) -> SubclassDimensions:
    """Return the dimensions of the classes that lack some concepts.

    The dimensions "td", "btd" and "rtd" never grow when concepts go; "std" may (Theorem 21).

    Parameters
    ----------
    concepts : ConceptClass or array-like of shape (n_concepts, n_instances)
        The class, or its table of zeros and ones.
    kind : {"td", "btd", "std", "rtd"}, default="std"
        The dimension.
    max_dropped : int or None, default=1
        How many concepts go at most; None for all parts of the class.

    Returns
    -------
    found : SubclassDimensions
        Dimension of the whole, concepts dropped, dimensions of the rest.

    Examples
    --------
    >>> from octavo.teaching import ConceptClass, subclass_dimensions
    >>> found = subclass_dimensions(ConceptClass.half(4, empty=True))
    >>> found.whole, int(found.dims.max()), found.dropped[found.dims.argmax()]
    (2, 4, (0,))
    """
    concepts = class_of(concepts)
    z = len(concepts)
    most = z - 1 if max_dropped is None else min(max_dropped, z - 1)
    if most < 0 or (count := sum(comb(z, k) for k in range(1, most + 1))) > MOST_SUBCLASSES:
        raise ValueError(
            f"max_dropped={max_dropped} of {z} concepts leaves "
            f"{'nothing' if most < 0 else f'{count:,} classes'}; between 0 and "
            f"{MOST_SUBCLASSES:,} are looked at."
        )
    dropped = [some for k in range(1, most + 1) for some in combinations(range(z), k)]
    model = TeachingAnalysis(kind)
    dims = [
        model.fit(concepts.subclass(i for i in range(z) if i not in some)).dimension_
        for some in dropped
    ]
    return SubclassDimensions(model.fit(concepts).dimension_, dropped, np.array(dims, int))


@checked
def subset_teaching_property(concepts: Any) -> bool:
    """Say whether a class has the Subset Teaching Property, after which STD is at most RTD.

    Definition 37: wherever a teaching plan of the smallest order needs that many examples for a
    concept whose subset teaching sets are no smaller, some teaching set for that place lies
    within a subset teaching set.

    Parameters
    ----------
    concepts : ConceptClass or array-like of shape (n_concepts, n_instances)
        A small class: all rests that plans of the smallest order leave are looked at.

    Returns
    -------
    has_it : bool
        Whether the property holds.

    Notes
    -----
    All teaching sets of a place have one size, and places choose theirs independently: the plan p'
    of the definition exists as soon as the one place has a fitting set.

    Theorem 38 says that STD then equals RTD. Half of that holds: where every STD is below the order
    the definition asks for nothing, and STD can be 1 where RTD is 2.

    Examples
    --------
    >>> from octavo.teaching import ConceptClass, subset_teaching_property
    >>> [subset_teaching_property(c) for c in (ConceptClass.thresholds(4), ConceptClass.half(3))]
    [True, False]
    """
    concepts = class_of(concepts)
    search = SetSearch()
    order = int(recursive_sets(concepts, search).dims.max())
    subset = subset_sets(concepts, search)
    packed, n = masks_of_table(concepts.matrix), concepts.n_instances
    whole = frozenset(range(len(concepts)))
    waiting, seen = [whole], {whole}
    while waiting:
        rest = waiting.pop()
        members = np.array(sorted(rest))
        for i in rest:
            masks = differences(packed, i, members)
            found = search.one(masks, n, order)
            if found is None:
                continue
            if len(found) == order and subset.dims[i] >= order:
                sets = search.of_size(masks, n, order, concepts.concept_names[i])
                # Definition 37: S_j within a set of STS(c_j, C)
                if not any(set(s) <= set(large) for s in sets for large in subset.sets[i]):
                    return False
            smaller = rest - {i}
            if smaller and smaller not in seen:
                if len(seen) >= MOST_RESTS:
                    raise ValueError(
                        f"The plans of a class of {len(concepts)} concepts leave more than "
                        f"{MOST_RESTS:,} different rests; the property is checked for small "
                        "classes only."
                    )
                seen.add(smaller)
                waiting.append(smaller)
    return True
