"""The sets that the paper prints, Tables 1 to 9."""

import pytest

from octavo.teaching import ConceptClass, TeachingAnalysis, redundant_instances, teaching_sets


def fitted(kind, concepts):
    return TeachingAnalysis(kind).fit(concepts)


def samples(concepts, families):
    """Write sets as the paper does: x1+ x3-."""
    return [
        {" ".join(f"{j + 1}{'-+'[int(concepts.matrix[i, j])]}" for j in s) for s in family}
        for i, family in enumerate(families)
    ]


def test_table_1_thresholds():
    concepts = ConceptClass.thresholds(3)
    model = fitted("std", concepts)
    first, second = (samples(concepts, sets) for sets in model.history_)
    assert first == [{"1+"}, {"1- 2+"}, {"2- 3+"}, {"3-"}]
    assert second == [{"1+"}, {"1-", "2+"}, {"2-", "3+"}, {"3-"}]
    assert model.learn([(0, 0), (2, 1)]) is None  # sets of two concepts (Section 5.1)


def test_table_2_pairs():
    concepts = ConceptClass.pair(2)
    model = fitted("std", concepts)
    first, second = (samples(concepts, sets) for sets in model.history_)
    assert first == [
        {"1- 2- 3-"}, {"3+"}, {"1- 2+ 4-"}, {"4+"}, {"1+ 2- 5-"}, {"5+"}, {"1+ 2+ 6-"}, {"6+"},
    ]  # fmt: skip
    assert second == [{"3-"}, {"3+"}, {"4-"}, {"4+"}, {"5-"}, {"5+"}, {"6-"}, {"6+"}]


PAIRS = ["1+ 2+", "1+ 3+", "1+ 4+", "1+ 5+", "2+ 3+", "2+ 4+", "2+ 5+", "3+ 4+", "3+ 5+", "4+ 5+"]


def test_table_3_half():
    concepts = ConceptClass.half(4)
    model = fitted("std", concepts)
    singles = ["2- 3- 4- 5-", "1- 3- 4- 5-", "1- 2- 4- 5-", "1- 2- 3- 5-", "1- 2- 3- 4-"]
    assert model.iterations_ == 0
    assert samples(concepts, model.sets_) == [{s} for s in singles + PAIRS]


V1, NOT_V1, V2, NOT_V2 = {"3+ 4+"}, {"1+ 2+"}, {"2+ 4+"}, {"1+ 3+"}
TRUE = {"1+ 4+", "2+ 3+"}
FALSE = {"1- 2-", "1- 3-", "2- 4-", "3- 4-"}


def test_table_4_monomials():
    concepts = ConceptClass.monomials(2)
    model = fitted("std", concepts)
    history = [samples(concepts, sets) for sets in model.history_]
    assert len(history) == 3
    fulls = [{"2- 3- 4+"}, {"1- 3+ 4-"}, {"1- 2+ 4-"}, {"1+ 2- 3-"}]
    assert history[0] == [
        TRUE,
        {"1- 3+ 4+", "2- 3+ 4+"},
        {"1+ 2+ 3-", "1+ 2+ 4-"},
        {"1- 2+ 4+", "2+ 3- 4+"},
        {"1+ 2- 3+", "1+ 3+ 4-"},
        *fulls,
        {"1- 2- 3- 4-"},
    ]
    assert history[1] == [TRUE, V1, NOT_V1, V2, NOT_V2, *fulls, FALSE]
    pairs = [{"2- 4+", "3- 4+"}, {"1- 3+", "3+ 4-"}, {"1- 2+", "2+ 4-"}, {"1+ 2-", "1+ 3-"}]
    assert history[2] == [TRUE, V1, NOT_V1, V2, NOT_V2, *pairs, FALSE]


def test_table_5_half_with_the_empty_concept():
    concepts = ConceptClass.half(4, empty=True)
    model = fitted("std", concepts)
    history = [samples(concepts, sets) for sets in model.history_]
    pairs = [{s} for s in PAIRS]
    everything = [{" ".join(f"{j}{'+' if j == i else '-'}" for j in range(1, 6))} for i in range(6)]
    assert history[0] == everything + pairs
    mixed = [
        {f"{min(i, j)}{'+' if i < j else '-'} {max(i, j)}{'-' if i < j else '+'}"
         for j in range(1, 6) if j != i}
        for i in range(1, 6)
    ]  # fmt: skip
    assert history[1] == [everything[0], *mixed, *pairs]
    negatives = {f"{i}- {j}-" for i in range(1, 6) for j in range(i + 1, 6)}
    assert history[2] == [negatives, *mixed, *pairs]
    assert model.dimension_ == 2


SIX = [[0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 1, 1, 1],
       [0, 1, 1, 1, 1], [1, 1, 0, 0, 1], [1, 1, 1, 0, 1]]  # fmt: skip


def test_table_6_redundant_instances():
    concepts = ConceptClass(SIX)
    # The paper's row for {x1, x2, x5} and {x2, x3, x4, x5} among them.
    assert samples(concepts, teaching_sets(concepts).sets) == [
        {"1- 3-", "1- 4-", "1- 5-"},
        {"1+ 2-", "1+ 5-"},
        {"2- 3+", "2- 4+", "2- 5+"},
        {"1- 2+", "2+ 4+"},
        {"2+ 3-", "3- 5+"},
        {"1+ 3+", "3+ 4-"},
    ]
    assert redundant_instances(concepts) == redundant_instances(concepts, "td") == (3, 4)
    smaller = concepts.without((3, 4))
    assert samples(smaller, teaching_sets(smaller).sets) == [
        {"1- 3-"}, {"1+ 2-"}, {"2- 3+"}, {"1- 2+"}, {"2+ 3-"}, {"1+ 3+"},
    ]  # fmt: skip


def test_table_7_distinct_rows_are_not_enough():
    concepts = ConceptClass([[1, 1, 1], [0, 1, 0], [0, 0, 1], [0, 0, 0]])
    assert samples(concepts, teaching_sets(concepts).sets) == [
        {"1+"}, {"2+ 3-", "1- 2+"}, {"2- 3+", "1- 3+"}, {"2- 3-"},
    ]  # fmt: skip
    smaller = concepts.without([0])
    assert samples(smaller, teaching_sets(smaller).sets) == [
        {"1+ 2+"}, {"1+ 2-"}, {"1- 2+"}, {"1- 2-"},
    ]  # fmt: skip
    assert 0 not in redundant_instances(concepts)
    assert [fitted("std", c).dimension_ for c in (concepts, smaller)] == [1, 2]


def test_table_8_recursive_sets():
    concepts = ConceptClass.monomials(2)
    model = fitted("rtd", concepts)
    # Of the two teaching sets of the empty monomial the table prints one.
    assert samples(concepts, model.sets_) == [
        TRUE, V1, NOT_V1, V2, NOT_V2, {"4+"}, {"3+"}, {"2+"}, {"1+"}, {""},
    ]  # fmt: skip
    assert model.hierarchy_ == [(2, (0,)), (2, (1, 2, 3, 4)), (1, (5, 6, 7, 8)), (0, (9,))]


def test_table_9_subset_beats_recursive():
    table = [[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 0, 1], [0, 1, 1, 1]]
    concepts = ConceptClass(table)
    model = fitted("std", concepts)
    history = [samples(concepts, sets) for sets in model.history_]
    assert history == [
        [{"1- 2-"}, {"1+ 2-"}, {"1+ 2+"}, {"3+ 4-"}, {"3- 4+"}, {"3+ 4+"}],
        [{"1-"}, {"1+ 2-"}, {"2+"}, {"4-"}, {"3-"}, {"3+ 4+"}],
        [{"1-"}, {"1+", "2-"}, {"2+"}, {"4-"}, {"3-"}, {"3+", "4+"}],
    ]
    assert fitted("rtd", concepts).dimension_ == 2


DIMENSIONS = {  # td, btd, std, rtd
    "monomials 2": (ConceptClass.monomials(2), (4, 4, 2, 2)),
    "monomials 3": (ConceptClass.monomials(3), (8, 5, 2, 2)),
    "monomials 4": (ConceptClass.monomials(4), (16, 6, 2, 2)),
    "half 4": (ConceptClass.half(4), (4, 3, 4, 2)),
    "half 3": (ConceptClass.half(3), (3, 3, 3, 2)),
    "half 4 and empty": (ConceptClass.half(4, empty=True), (5, 4, 2, 2)),
    "pair 2": (ConceptClass.pair(2), (3, 2, 1, 2)),
    "singletons": (ConceptClass.singletons(5), (5, 2, 1, 1)),
    "vdnf 4": (ConceptClass.vdnf(4), (8, 2, 1, 1)),
}


@pytest.mark.parametrize("name", DIMENSIONS)
def test_dimensions_of_the_theorems(name):
    concepts, expected = DIMENSIONS[name]
    found = tuple(fitted(kind, concepts).dimension_ for kind in ("td", "btd", "std", "rtd"))
    assert found == expected
