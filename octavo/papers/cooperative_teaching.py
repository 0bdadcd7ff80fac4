"""Zilles and others (2011): models of cooperative teaching and learning."""

from __future__ import annotations

import time
from functools import lru_cache

import numpy as np

from octavo import plot, teaching
from octavo.catalogue import Method, Paper
from octavo.claims import Run, at_least, at_most, holds, stated, within

PAPER = Paper(
    key="cooperative-teaching",
    title="Models of Cooperative Teaching and Learning",
    authors="S. Zilles, S. Lange, R. Holte and M. Zinkevich",
    year=2011,
    venue="Journal of Machine Learning Research 12",
    headlines=("monomials-by-two-examples", "monomials-plainly", "smaller-is-harder"),
    tables={
        "Table 1": "thresholds-mislead",
        "Table 2": "pairs-by-one-example",
        "Table 3": "half-is-hard-for-subsets",
        "Table 4": "monomials-by-two-examples",
        "Table 5": "smaller-is-harder",
        "Table 6": "redundant-instances-go",
        "Table 7": "distinct-rows-are-not-enough",
        "Table 8": "monomials-recursively",
        "Table 9": "subsets-beat-recursion",
    },
    refutations={
        "monomials-have-the-property": (
            'A plan of smallest order that ends in 11, 00 and "false" leaves a rest for which '
            "the property fails."
        ),
        "property-equates": "A class of five concepts has the property as it is defined in print, "
        "and dimensions 1 and 2.",
    },
    methods=(
        Method(
            name="TeachingAnalysis",
            room="teaching",
            family="cooperative",
            task="find the fewest labelled examples that pin down each rule of a finite class",
            summary="Smallest teaching sets of a table of rules by cases, for learners that only "
            "respect the labels and for learners that know how their teacher chooses.",
            use_when="The possible rules are a finite table (faults by tests, stumps by patients, "
            "prompts by cases) and every example, question or test costs something.",
            avoid_when="Rules are too many to list, or labels are noisy: active learning asks "
            "instead of choosing beforehand.",
            instead="scipy's milp, one integer program a rule; there is no package for the rest.",
            peers=("ortools",),
            plots=(
                "plot_concept_matrix",
                "plot_teaching_hierarchy",
                "plot_teaching_dimensions",
                "plot_set_sizes",
            ),
        ),
    ),
)

SEEDS = (0, 1, 2, 3, 4)
EXACT = "whole numbers of a finite class"


@lru_cache(maxsize=32)
def dimension(kind: str, name: str, size: int, **options) -> int:
    concepts = getattr(teaching.ConceptClass, name)(size, **options)
    # One set a concept is enough for a dimension; subset teaching needs all.
    return teaching.TeachingAnalysis(kind, all_sets=kind == "std").fit(concepts).dimension_


def variables(run: Run) -> range:
    return range(2, 6 if run.full else 5)


monomials = PAPER.section(where="Theorems 8, 19 and 33", kind="theorem")


@monomials.claim("Two examples teach any conjunction of literals once none is wasted, for every m")
@stated(2)
@within(0.0, 2.0, because=EXACT)
def monomials_by_two_examples(run: Run) -> float:
    found = [dimension("std", "monomials", m) for m in variables(run)]
    run.note(f"m = 2, ...: {found}")
    return max(found, key=lambda value: abs(value - 2))


@monomials.claim("Recursive teaching needs two examples as well, for every m", 2)
@within(0.0, 2.0, because=EXACT)
def monomials_recursively(run: Run) -> float:
    found = [dimension("rtd", "monomials", m) for m in variables(run)]
    run.note(f"m = 2, ...: {found}")
    return max(found, key=lambda value: abs(value - 2))


@monomials.claim("Any consistent learner needs 2^m examples, one that counts them m + 2")
@stated("2^m and m + 2")
@holds(because=EXACT)
def monomials_plainly(run: Run) -> float:
    plain = [dimension("td", "monomials", m) == 2**m for m in variables(run)]
    counted = [dimension("btd", "monomials", m) == m + 2 for m in variables(run)]
    return all(plain) and all(counted)


separations = PAPER.section(kind="theorem")


@separations.claim(
    "v1 or M: 2^(m-1) examples for any learner, one by subset and by recursive teaching"
)
@stated("2^(m-1), 1 and 1", "Theorems 20 and 34")
@holds(because=EXACT)
def disjunctions(run: Run) -> float:
    return all(
        [dimension(kind, "vdnf", m) for kind in ("td", "std", "rtd")] == [2 ** (m - 1), 1, 1]
        for m in range(2, 7 if run.full else 6)
    )


@separations.claim(
    "A class of pairs is taught by one example in subsets, by u recursively or by counting"
)
@stated("1, u and u", "Theorems 18.1 and 35.1")
@holds(
    because=EXACT + "; from u = 2, since by Proposition 15 the class of u = 1, whose "
    "teaching dimension is 2, cannot have BTD 1"
)
def pairs_by_one_example(run: Run) -> float:
    return all(
        [dimension(kind, "pair", u) for kind in ("std", "rtd", "btd")] == [1, u, u]
        for u in range(2, 6 if run.full else 5)
    )


@separations.claim(
    "Concepts of one or two instances need u examples in subsets, three by counting, two "
    "recursively"
)
@stated("u, 3 and 2", "Theorems 18.2 and 36")
@holds(because=EXACT)
def half_is_hard_for_subsets(run: Run) -> float:
    return all(
        [dimension(kind, "half", u) for kind in ("std", "btd", "rtd")] == [u, 3, 2]
        for u in range(3, 8 if run.full else 6)
    )


@separations.claim(
    "A part of a class can be harder: without the empty concept, u examples instead of two"
)
@stated("2 and u", "Theorem 21")
@holds(because=EXACT)
def smaller_is_harder(run: Run) -> float:
    return all(
        dimension("std", "half", u, empty=True) == 2 < u == dimension("std", "half", u)
        for u in range(3, 8 if run.full else 6)
    )


@separations.claim(
    "Honest examples that somebody adds mislead a learner by subsets, and no recursive learner"
)
@stated("thresholds over three instances", "Section 5.1 and Theorem 30")
@holds(because="all supersets are looked at")
def thresholds_mislead(run: Run) -> float:
    thresholds = teaching.ConceptClass.thresholds(3)
    valid = {
        kind: teaching.is_valid_protocol(
            # A plain function, so that every superset is shown to the learner.
            lambda concepts, kind=kind: teaching.TeachingAnalysis(kind).fit(concepts),
            thresholds,
        )
        for kind in ("td", "btd", "std", "rtd")
    }
    return valid == {"td": True, "btd": True, "std": False, "rtd": True}


SIX = ((0, 0, 0, 0, 0), (1, 0, 0, 0, 0), (0, 0, 1, 1, 1),
       (0, 1, 1, 1, 1), (1, 1, 0, 0, 1), (1, 1, 1, 0, 1))  # fmt: skip


@separations.claim(
    "Of five instances the last two can be exchanged wherever they stand, and can go"
)
@stated("x4 and x5", "Table 6 and Lemma 23")
@holds(because=EXACT)
def redundant_instances_go(run: Run) -> float:
    return teaching.redundant_instances(SIX) == (3, 4)


@separations.claim(
    "To keep all concepts apart is not enough: an instance goes, and the dimension doubles"
)
@stated("1 and 2", "Table 7")
@holds(because=EXACT)
def distinct_rows_are_not_enough(run: Run) -> float:
    whole = teaching.ConceptClass([[1, 1, 1], [0, 1, 0], [0, 0, 1], [0, 0, 0]])
    found = [teaching.subset_teaching_sets(c).dims.max() for c in (whole, whole.without([0]))]
    return found == [1, 2]


@separations.claim(
    "A class of six concepts, and every part of it, is easier in subsets than recursively"
)
@stated("1 against 2", "Theorem 35.2 and Table 9")
@holds(because="all 62 parts are looked at")
def subsets_beat_recursion(run: Run) -> float:
    table = [[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 0, 1], [0, 1, 1, 1]]
    parts = teaching.subclass_dimensions(table, "std", None)
    recursive = int(teaching.recursive_teaching(table).dims.max())
    run.note(f"largest over parts {parts.dims.max()}, recursively {recursive}")
    return bool(max(parts.whole, parts.dims.max()) < recursive)


@separations.claim("The class of all monomials has the Subset Teaching Property")
@stated("has it", "Section 8, after Theorem 38")
@holds(because="all rests that plans of the smallest order leave, m = 2")
def monomials_have_the_property(run: Run) -> float:
    run.note('the plan that ends in 11, 00, "false" teaches "false" by 00 and 11')
    return teaching.subset_teaching_property(teaching.ConceptClass.monomials(2))


@separations.claim(
    "A class with the Subset Teaching Property has equal subset and recursive dimensions"
)
@stated("equal", "Theorem 38")
@holds(because="one class of five concepts; Definition 37 as it is printed")
def property_equates(run: Run) -> float:
    square = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
    if not teaching.subset_teaching_property(square):
        return True
    dims = [teaching.subset_teaching_sets(square).dims, teaching.recursive_teaching(square).dims]
    run.note(f"subset {dims[0].max()}, recursive {dims[1].max()}, and the property holds")
    return bool(dims[0].max() == dims[1].max())


@PAPER.claim(
    "Counting never needs fewer examples than recursion, and a part is never harder for both"
)
@stated("RTD <= BTD", "Theorems 22 and 32, Proposition 26", kind="theorem", seeds=SEEDS)
@at_most(0.0, because=EXACT + "; random classes of 12 concepts over 8 instances")
def recursion_beats_counting(run: Run) -> float:
    rng = np.random.RandomState(run.seed)
    worst = -np.inf
    for _ in range(20 if run.full else 5):
        table = np.unique(rng.randint(0, 2, (12, 8)), axis=0)
        whole = {
            kind: teaching.TeachingAnalysis(kind, all_sets=False).fit(table).dimension_
            for kind in ("btd", "rtd")
        }
        worst = max(worst, whole["rtd"] - whole["btd"])
        for kind, dims in whole.items():
            part = teaching.TeachingAnalysis(kind, all_sets=False).fit(table[1:]).dimension_
            worst = max(worst, part - dims)
    return float(worst)


@PAPER.claim("Branch and bound on bits is faster than an integer program a concept")
@stated("not said", "no place", unit="times", kind="own")
@at_least(5.0, because="what makes the search worth having")
def bits_beat_programs(run: Run) -> float:
    concepts = teaching.ConceptClass.monomials(5 if run.full else 4)
    seconds = []
    for solver in ("bitset", "milp"):
        model = teaching.TeachingAnalysis("td", all_sets=False, solver=solver)
        model.fit(teaching.ConceptClass.monomials(2))
        begin = time.perf_counter()
        model.fit(concepts)
        seconds.append(time.perf_counter() - begin)
    return seconds[1] / seconds[0]


@PAPER.figure("Examples for the hardest conjunction over two, three and four variables")
def dimensions_of_monomials():
    sizes = (2, 3, 4)
    dims = {
        kind.upper(): [dimension(kind, "monomials", m) for m in sizes]
        for kind in ("td", "btd", "std", "rtd")
    }
    return plot.plot_teaching_dimensions(sizes, dims).figure
