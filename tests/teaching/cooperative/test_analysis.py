"""The four models equal their definitions, followed word by word; invariants; bad input."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from octavo.teaching import ConceptClass, InconsistentSample, TeachingAnalysis, teaching_sets
from octavo.teaching.cooperative.concepts import table_of

KINDS = ("td", "btd", "std", "rtd")


def classes(max_concepts=6, n=4):
    rows = st.sets(st.integers(0, 2**n - 1), min_size=1, max_size=max_concepts)
    return rows.map(lambda codes: np.array([[c >> j & 1 for j in range(n)] for c in sorted(codes)]))


def all_samples(table, i):
    """Yield every sample that is consistent with a concept, by size."""
    n = table.shape[1]
    for size in range(n + 1):
        for chosen in combinations(range(n), size):
            yield frozenset((j, table[i, j]) for j in chosen)


def consistent(table, sample):
    return {i for i, row in enumerate(table) if all(row[j] == label for j, label in sample)}


def first_size(table, i, fits):
    found = [s for s in all_samples(table, i) if fits(s)]
    size = min(len(s) for s in found)
    return {s for s in found if len(s) == size}


def td(table):
    return [first_size(table, i, lambda s, i=i: consistent(table, s) == {i})
            for i in range(len(table))]  # fmt: skip


def size_of(sets):
    return len(next(iter(sets)))


def btd(table):  # Definition 5
    sets = td(table)
    dims = [size_of(s) for s in sets]
    while True:

        def cons_size(s, dims=dims):
            return {o for o in consistent(table, s) if dims[o] >= len(s)}

        new = [first_size(table, i, lambda s, i=i: cons_size(s) == {i}) for i in range(len(table))]
        sizes = [size_of(s) for s in new]
        if sizes == dims:
            return new
        dims = sizes


def std(table):  # Definition 16
    sets = td(table)
    while True:

        def cons_sub(s, sets=sets):
            return {c for c, family in enumerate(sets) if any(s <= large for large in family)}

        new = [first_size(table, i, lambda s, i=i: cons_sub(s) == {i}) for i in range(len(table))]
        if new == sets:
            return sets
        sets = new


def rtd(table):  # Definition 25
    rest, sets = list(range(len(table))), [None] * len(table)
    while rest:
        found = td(table[rest])
        least = min(size_of(s) for s in found)
        easy = [k for k in range(len(rest)) if size_of(found[k]) == least]
        for k in easy:
            sets[rest[k]] = found[k]
        rest = [c for k, c in enumerate(rest) if k not in easy]
    return sets


@settings(max_examples=60, deadline=None)
@given(classes())
@pytest.mark.parametrize("kind", KINDS)
def test_sets_equal_the_definition(kind, table):
    expected = {"td": td, "btd": btd, "std": std, "rtd": rtd}[kind](table)
    model = TeachingAnalysis(kind).fit(table)
    found = [
        {frozenset((j, table[i, j]) for j in members) for members in family}
        for i, family in enumerate(model.sets_)
    ]
    assert found == expected
    assert model.dims_.tolist() == [size_of(s) for s in expected]
    assert model.history_[-1] == model.sets_
    for i in range(len(table)):
        assert model.learn(model.teach(i)) == i


@settings(max_examples=15, deadline=None)
@given(classes())
@pytest.mark.parametrize("kind", KINDS)
def test_both_solvers_agree(kind, table):
    exact = TeachingAnalysis(kind).fit(table)
    program = TeachingAnalysis(kind, solver="milp").fit(table)
    assert program.sets_ == exact.sets_
    if kind != "std":
        one = TeachingAnalysis(kind, all_sets=False, solver="milp").fit(table)
        for few, many in zip(one.sets_, exact.sets_, strict=True):
            assert len(few) == 1
            assert few[0] in many


@settings(max_examples=40, deadline=None)
@given(classes(max_concepts=10, n=5), st.integers(0, 2**31 - 1))
def test_invariants(table, seed):
    rng = np.random.RandomState(seed)
    dims = {kind: TeachingAnalysis(kind).fit(table).dimension_ for kind in KINDS}
    assert dims["rtd"] <= dims["btd"] <= dims["td"]
    assert dims["std"] <= dims["td"]
    order, places = rng.permutation(len(table)), rng.permutation(5)
    turned = (table ^ rng.randint(0, 2, 5))[order][:, places]
    assert dims == {kind: TeachingAnalysis(kind).fit(turned).dimension_ for kind in KINDS}
    if len(table) > 1:
        part = table[order[1:]]
        for kind in ("td", "btd", "rtd"):
            assert TeachingAnalysis(kind).fit(part).dimension_ <= dims[kind]
    greedy = TeachingAnalysis("td", solver="greedy").fit(table)
    assert (greedy.dims_ >= teaching_sets(table).dims).all()
    assert all(greedy.learn(greedy.teach(i)) == i for i in range(len(table)))


@settings(max_examples=30, deadline=None)
@given(classes(max_concepts=6))
def test_the_plan_is_canonical_and_of_the_smallest_order(table):
    model = TeachingAnalysis("rtd").fit(table)
    order = [concept for concept, _ in model.plan_]
    assert sorted(order) == list(range(len(table)))
    for k, (concept, sample) in enumerate(model.plan_):
        rest = order[k:]
        dims = teaching_sets(table[rest]).dims
        assert len(sample) == dims[0] == dims.min()  # Definition 28
        assert consistent(table[rest], sample) == {0}
        assert table[concept, [j for j, _ in sample]].tolist() == [label for _, label in sample]
    plans = list(permutations(range(len(table))))[:: max(1, len(table) ** 2)]
    orders = [max(teaching_sets(table[list(p[k:])]).dims[0] for k in range(len(p))) for p in plans]
    assert min(orders) >= model.dimension_ == max(len(s) for _, s in model.plan_)  # Theorem 29


def test_one_concept_needs_nothing():
    for kind in KINDS:
        model = TeachingAnalysis(kind).fit([[1, 0, 1]])
        assert (model.dimension_, model.sets_, model.learn([])) == (0, [[()]], 0)


def test_learners_say_when_they_cannot_decide():
    model = TeachingAnalysis("rtd").fit(ConceptClass.thresholds(3))
    singletons = TeachingAnalysis("rtd").fit(ConceptClass.singletons(3))
    assert singletons.learn([]) == 0  # the last concept of the hierarchy has the empty set
    assert TeachingAnalysis("td").fit(ConceptClass.thresholds(3)).learn([]) is None
    assert model.learn([("x2", 1), ("x1", 0)]) == 1
    with pytest.raises(InconsistentSample, match="No concept"):
        model.learn([(0, 1), (1, 0)])
    for bad in ([(0, 2)], [(9, 1)], [0, 1], 3, [("x9", 1)]):
        with pytest.raises(ValueError, match=r"A label|An instance|A sample"):
            model.learn(bad)
    with pytest.raises(ValueError, match="A concept is a number below 4"):
        model.teach(4)
    with pytest.raises(NotFittedError):
        TeachingAnalysis().teach(0)


def test_truncated_lists_are_refused():
    concepts = ConceptClass.monomials(3)
    with pytest.raises(ValueError, match="more than max_sets=3"):
        TeachingAnalysis("std", max_sets=3).fit(concepts)
    with pytest.raises(ValueError, match="all_sets=True"):
        TeachingAnalysis("std", all_sets=False).fit(concepts)
    assert TeachingAnalysis("td", all_sets=False, max_sets=1).fit(concepts).dimension_ == 8
    for kind in ("btd", "rtd"):
        with pytest.raises(ValueError, match="greedy"):
            TeachingAnalysis(kind, solver="greedy").fit(concepts)


def test_classes_refuse_what_they_cannot_hold():
    with pytest.raises(ValueError, match=r"Concepts 0 \(a\) and 2 \(c\) are equal"):
        ConceptClass([[0, 1], [1, 1], [0, 1]], concept_names=["a", "b", "c"])
    for table in ([[0, 2]], [[0.5, 1.0]], [["a", "b"]]):
        with pytest.raises(ValueError, match="zeros and ones"):
            ConceptClass(table)
    with pytest.raises(ValueError, match="NaN"):
        ConceptClass([[0.0, np.nan]])
    with pytest.raises(ValueError, match="0 in its shape"):
        ConceptClass(np.zeros((0, 3)))
    with pytest.raises(ValueError, match="instance_names must hold 2"):
        ConceptClass([[0, 1]], instance_names=["a", "a"])
    with pytest.raises(ValueError, match="m must be an integer"):
        ConceptClass.monomials(2.5)
    with pytest.raises(ValueError, match="at most 50,000,000 cells"):
        ConceptClass.monomials(40)
    assert table_of(np.eye(2, dtype=np.float32)).dtype == bool


def test_generators():
    assert ConceptClass.intervals(4).n_concepts == 11
    assert ConceptClass.rectangles(2, 3).n_concepts == 3 * 6 + 1
    assert len(ConceptClass.singletons(4, empty=False)) == 4
    stumps = ConceptClass.stumps([[0.0, 5.0], [1.0, 5.0], [2.0, 3.0]])
    assert stumps.concept_names == ("x0 > 0.5", "x0 <= 0.5", "x0 > 1.5", "x0 <= 1.5")
    with pytest.raises(ValueError, match="no stump"):
        ConceptClass.stumps(np.ones((3, 2)))


def test_classes_from_estimators():
    from sklearn.tree import DecisionTreeClassifier

    X = np.arange(12.0).reshape(-1, 1)
    models = [DecisionTreeClassifier().fit(X, np.where(X[:, 0] > t, "b", "a")) for t in (2, 5, 8)]
    concepts = ConceptClass.from_estimators(models, X)
    assert (concepts.matrix == (X.T > [[2], [5], [8]])).all()
    with pytest.raises(ValueError, match="Concepts 0"):
        ConceptClass.from_estimators([models[0], models[0]], X)
    with pytest.raises(ValueError, match="two classes"):
        ConceptClass.from_estimators([DecisionTreeClassifier().fit(X, X[:, 0])], X)


@pytest.mark.slow
def test_monomials_of_five_and_six_variables():
    for kind, expected in zip(KINDS, (32, 7, 2, 2), strict=True):
        model = TeachingAnalysis(kind, all_sets=kind != "btd").fit(ConceptClass.monomials(5))
        assert model.dimension_ == expected
    assert TeachingAnalysis("rtd").fit(ConceptClass.monomials(6)).dimension_ == 2
