"""Adversaries, validity and coding tricks; redundant instances, parts of classes, capacity."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings

from octavo.engine.discrete.shattering import is_shattered, largest_shattered
from octavo.teaching import (
    ConceptClass,
    TeachingAnalysis,
    best_protocol,
    class_statistics,
    is_collusion_free,
    is_valid_protocol,
    redundant_instances,
    simulate_protocol,
    subclass_dimensions,
    subset_teaching_property,
    subset_teaching_sets,
    teaching_sets,
    vc_dimension,
)
from tests.teaching.cooperative.test_analysis import classes


class Coding:
    """Teach concept i by the i-th instance, whatever it shows: a coding trick."""

    def __init__(self, concepts):
        self.concepts = concepts

    def teach(self, i):
        return self.concepts.sample_of(i, [i % self.concepts.n_instances])

    def learn(self, sample):
        return sample[0][0] if len(sample) == 1 else None


@settings(max_examples=40, deadline=None)
@given(classes())
@pytest.mark.parametrize("kind", ["td", "btd", "std", "rtd"])
def test_validity_is_that_of_all_supersets(kind, table):
    model = TeachingAnalysis(kind).fit(table)
    concepts = model.concepts_
    by_trying = is_valid_protocol(lambda _: model, concepts)
    expected = all(
        model.learn(concepts.sample_of(i, {j for j, _ in model.teach(i)} | set(more))) == i
        for i in range(len(table))
        for k in range(table.shape[1] + 1)
        for more in combinations(range(table.shape[1]), k)
    )
    assert is_valid_protocol(model) == by_trying == expected
    if kind != "std":
        assert expected  # Theorems 9, 10 and 30


def test_thresholds_mislead_subset_learners():
    thresholds = ConceptClass.thresholds(3)
    assert not is_valid_protocol(TeachingAnalysis("std"), thresholds)
    run = simulate_protocol(TeachingAnalysis("std").fit(thresholds), n_rounds=20, random_state=0)
    assert run.success_rate < 1.0
    quiet = simulate_protocol(TeachingAnalysis("std").fit(thresholds), adversary="none")
    assert quiet.answers == quiet.concepts == [0, 1, 2, 3]
    recursive = TeachingAnalysis("rtd").fit(ConceptClass.monomials(3))
    run = simulate_protocol(recursive, n_rounds=10, random_state=0)
    assert run.success_rate == 1.0
    assert len(run.samples) == 280


@pytest.mark.parametrize("kind", ["td", "btd", "std", "rtd"])
def test_the_four_models_are_free_of_collusion(kind):
    for concepts in (ConceptClass.monomials(2), ConceptClass.pair(2), ConceptClass.thresholds(4)):
        assert is_collusion_free(TeachingAnalysis(kind), concepts, 5, random_state=0)


def test_coding_tricks_are_found():
    concepts = ConceptClass.thresholds(4).subclass(range(4))
    assert not is_collusion_free(Coding, concepts, random_state=0)
    assert not is_valid_protocol(Coding, concepts)
    with pytest.raises(ValueError, match="TeachingAnalysis or a function"):
        is_collusion_free(3, concepts)
    with pytest.raises(ValueError, match="fitted TeachingAnalysis"):
        is_valid_protocol(TeachingAnalysis())


def test_the_better_of_both():
    assert best_protocol(ConceptClass.half(3)).dimension_ == 2
    assert best_protocol(ConceptClass.pair(2)).dimension_ == 1


@settings(max_examples=40, deadline=None)
@given(classes())
def test_without_redundant_instances_sets_stay(table):
    concepts = ConceptClass(table)
    gone = redundant_instances(concepts, "td")
    kept = [j for j in range(concepts.n_instances) if j not in gone]
    smaller = teaching_sets(concepts.without(gone)).sets
    for few, many in zip(smaller, teaching_sets(concepts).sets, strict=True):
        left = [s for s in many if not set(s) & set(gone)]
        assert [tuple(kept[j] for j in s) for s in few] == left  # Lemma 23
    gone = redundant_instances(concepts)
    before, after = subset_teaching_sets(concepts), subset_teaching_sets(concepts.without(gone))
    assert (before.dims == after.dims).all()  # Theorem 24


def test_parts_can_be_harder_for_subset_teaching_alone():
    whole = ConceptClass.half(3, empty=True)
    found = subclass_dimensions(whole)
    assert (found.whole, found.dims[found.dropped.index((0,))]) == (2, 3)  # Theorem 21
    assert subclass_dimensions(whole, "rtd", 2).dims.max() <= 2
    table = [[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 0, 1], [0, 1, 1, 1]]
    everything = subclass_dimensions(table, "std", None)
    assert len(everything.dims) == 2**6 - 2
    with pytest.raises(ValueError, match="are looked at"):
        subclass_dimensions(ConceptClass.monomials(3), "std", 20)


def property_by_plans(table):
    """Follow Definition 37 over all orders of the concepts."""
    z = len(table)
    subset = subset_teaching_sets(table)
    order = TeachingAnalysis("rtd").fit(table).dimension_
    for plan in permutations(range(z)):
        places = [teaching_sets(table[list(plan[k:])]).sets[0] for k in range(z)]
        sizes = [len(sets[0]) for sets in places]
        if max(sizes) != order:
            continue
        for c, sets, size in zip(plan, places, sizes, strict=True):
            within = any(set(s) <= set(t) for s in sets for t in subset.sets[c])
            if size == order and subset.dims[c] >= order and not within:
                return False
    return True


@settings(max_examples=10, deadline=None)
@given(classes(max_concepts=4))
def test_the_subset_teaching_property_is_that_of_all_plans(table):
    has_it = subset_teaching_property(table)
    assert has_it == property_by_plans(table)
    if has_it:  # Theorem 38
        dims = [TeachingAnalysis(kind).fit(table).dimension_ for kind in ("std", "rtd")]
        assert dims[0] <= dims[1]


def test_classes_of_section_8():
    assert subset_teaching_property(ConceptClass.thresholds(4))
    # The paper says that monomials have it too. The plan true, v1, not v1, v2, not v2,
    # v1 and not v2, not v1 and v2, false has order 2 and teaches "false" by 00 and 11 alone,
    # which no subset teaching set of "false" holds (Table 4).
    monomials = ConceptClass.monomials(2)
    rest = monomials.subclass([9, 5, 8])
    assert teaching_sets(rest).sets[0] == [(0, 3)]
    assert (0, 3) not in subset_teaching_sets(monomials).sets[9]
    assert not subset_teaching_property(monomials)
    # Theorem 38 says STD = RTD; where no STD reaches the order the property asks nothing.
    square = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert subset_teaching_property(square)
    assert [TeachingAnalysis(kind).fit(square).dimension_ for kind in ("std", "rtd")] == [1, 2]
    with pytest.raises(ValueError, match="small classes only"):
        subset_teaching_property(ConceptClass.singletons(16))


@settings(max_examples=60, deadline=None)
@given(classes(max_concepts=16, n=5))
def test_vc_dimension_is_that_of_all_sets_of_points(table):
    shattered = [
        set(columns)
        for k in range(6)
        for columns in combinations(range(5), k)
        if len({tuple(row) for row in table[:, columns]}) == 2**k
    ]
    assert vc_dimension(table) == max(len(s) for s in shattered)
    assert set(largest_shattered(table.astype(bool)).tolist()) in shattered
    assert is_shattered(table.astype(bool), np.array([0])) == ({0} in shattered)


def test_capacity_of_known_classes():
    assert vc_dimension(ConceptClass.intervals(6)) == 2
    assert vc_dimension(ConceptClass.monomials(3)) == 3
    assert vc_dimension([[0, 1], [0, 1]]) == 0  # hypotheses may repeat
    found = class_statistics(ConceptClass.singletons(4))
    assert (found.n_concepts, found.vc_dimension) == (5, 1)
    assert found.distances.tolist() == [1, 1, 1, 1, 1]
