"""Clauses: coverage against brute force over all bindings, and known rules learned anew."""

import itertools

import numpy as np
import pytest

from octavo.data import make_family, make_trains
from octavo.search import Clause, ClauseLearner, FactorialDesign, clause_objective, screen
from octavo.search.screening.clauses import Facts, Variable, covers


def brute_covers(clause, example, background):
    """Try every binding of the variables to every constant."""
    known = set(background)
    constants = sorted({str(v) for fact in background for v in fact[1:]} | set(example[1:]))
    names = sorted(
        {t for a in (clause.head, *clause.body) for t in a[1:] if isinstance(t, Variable)}
    )
    for values in itertools.product(constants, repeat=len(names)):
        bound = dict(zip(names, values))

        def ground(atom, bound=bound):
            return (atom[0], *(bound.get(t, t) for t in atom[1:]))

        if ground(clause.head) == example and all(ground(a) in known for a in clause.body):
            return True
    return False


@pytest.mark.parametrize("seed", range(8))
def test_coverage_equals_all_bindings(seed):
    rng = np.random.RandomState(seed)
    people = list("pqrst")
    background = [("likes", *rng.choice(people, 2)) for _ in range(8)]
    background = [tuple(map(str, fact)) for fact in background]
    background += [("tall", str(p)) for p in rng.choice(people, 2)]
    A, B, C = map(Variable, "ABC")
    bodies = [
        (("likes", A, B),),
        (("likes", A, B), ("likes", B, C)),
        (("likes", A, B), ("likes", B, A)),
        (("likes", A, B), ("tall", B)),
        (("likes", B, C), ("likes", C, A), ("tall", C)),
        (("likes", A, A),),
    ]
    facts = Facts(background)
    for body in bodies:
        clause = Clause(("goal", A), body)
        for person in people:
            example = ("goal", person)
            assert covers(clause, example, facts) == brute_covers(clause, example, background)


@pytest.mark.parametrize("seed", range(5))
def test_trains_are_learned_anew(seed):
    trains = make_trains(24, random_state=seed)
    model = ClauseLearner(min_accuracy=1.0).fit(*trains[:3])
    assert model.score(trains.positives, trains.negatives) == 1.0
    assert len(model.clauses_) == 1
    assert {atom[0] for atom in model.clauses_[0].body} == {"has_car", "short", "closed"}
    new = make_trains(100, random_state=100 + seed)
    model._facts = Facts(new.background)
    assert model.score(new.positives, new.negatives) == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_grandmothers_are_learned_anew(seed):
    family = make_family(6, random_state=seed)
    model = ClauseLearner().fit(*family[:3])
    assert model.score(family.positives, family.negatives) == 1.0
    assert len(model.clauses_) == 1
    names = sorted(atom[0] for atom in model.clauses_[0].body)
    assert names == ["female", "parent", "parent"]


def test_parameters_do_what_they_say():
    trains = make_trains(24, flip=0.15, random_state=0)
    short = ClauseLearner(clause_length=2).fit(*trains[:3])
    assert all(len(clause.body) <= 1 for clause in short.clauses_)
    strict = ClauseLearner(min_positives=30).fit(*trains[:3])
    assert strict.clauses_ == []
    assert strict.n_uncovered_ == len(trains.positives)
    few = ClauseLearner(nodes=5).fit(*trains[:3])
    assert few.n_nodes_ <= 5 * len(trains.positives)
    for clause in ClauseLearner(min_accuracy=0.9).fit(*trains[:3]).clauses_:
        facts = Facts(trains.background)
        p = sum(covers(clause, e, facts) for e in trains.positives)
        n = sum(covers(clause, e, facts) for e in trains.negatives)
        assert p / (p + n) >= 0.9


def test_its_parameters_can_be_screened():
    trains = make_trains(40, flip=0.1, random_state=1)
    objective = clause_objective(*trains[:3], n_repeats=2, random_state=0)
    factors = {"clause_length": (2, 4, "int"), "nodes": (50, 500, "int")}
    factors |= {"min_accuracy": (0.6, 0.9), "min_positives": (1, 4, "int")}
    result = screen(objective, FactorialDesign(factors))
    assert result.relevant[0] == "clause_length"
    assert result.model.coef_[0] > 0


def test_bad_input():
    good, bad = [("p", "a")], [("p", "b")]
    for call, match in (
        (lambda: ClauseLearner().fit([("q", "a")], [], bad), "at least one"),
        (lambda: ClauseLearner().fit([("q", "a")], good, [("r", "a")]), "one predicate"),
        (lambda: ClauseLearner().fit([("q",)], good, bad), "background must hold"),
        (lambda: ClauseLearner().fit("facts", good, bad), "list of tuples"),
        (lambda: ClauseLearner().fit([("q", float("nan"))], good, bad), "NaN"),
        (lambda: ClauseLearner(nodes=0).fit([("q", "a")], good, bad), "nodes"),
        (lambda: clause_objective([("q", "a")], good, bad), "two or more"),
        (lambda: make_trains(2), "n_trains"),
        (lambda: make_family(3, flip=0.9), "flip"),
    ):
        with pytest.raises(ValueError, match=match):
            call()
