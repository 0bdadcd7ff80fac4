"""A small learner of clauses, in the manner of Aleph: saturate an example, search its subsets.

Facts and examples are tuples (predicate, argument, ...). A constant that is never the first
argument of a fact nor an argument of an example is a value and stays as it is; any other is a
thing, and becomes a variable.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Ints
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["Clause", "ClauseLearner", "clause_objective"]

DEPTH = 2  # links from the example to the facts in its most specific clause
BOTTOM = 200  # literals of that clause

Atom = tuple[Any, ...]


class Variable(str):
    """A variable of a clause."""


class Clause(NamedTuple):
    """A rule: `head` holds for what satisfies all of `body`; terms are variables or values."""

    head: Atom
    body: tuple[Atom, ...]

    def __str__(self) -> str:
        def text(atom: Atom) -> str:
            return f"{atom[0]}({', '.join(map(str, atom[1:]))})"

        return f"{text(self.head)} :- {', '.join(map(text, self.body)) or 'true'}."


def check_atoms(atoms: Any, what: str) -> list[Atom]:
    """Return facts or examples as tuples, or say what is wrong with them."""
    if isinstance(atoms, (str, bytes)) or not isinstance(atoms, Iterable):
        raise ValueError(f"{what} must be a list of tuples (predicate, argument, ...).")
    found: list[Atom] = []
    for atom in atoms:
        if not isinstance(atom, (tuple, list)) or len(atom) < 2 or not isinstance(atom[0], str):
            raise ValueError(
                f"{what} must hold tuples of a predicate's name and one or more arguments; got "
                f"{atom!r}."
            )
        if any(isinstance(term, float) and term != term for term in atom):
            raise ValueError(f"{what} must not hold NaN; got {atom!r}.")
        found.append(tuple(atom))
    return found


class Facts:
    """Facts indexed by predicate, and by the value of each argument."""

    def __init__(self, background: Sequence[Atom]) -> None:
        self.by_name: dict[Any, list[Atom]] = defaultdict(list)
        self.by_value: dict[Any, list[Atom]] = defaultdict(list)
        self.by_constant: dict[Any, list[Atom]] = defaultdict(list)
        for fact in dict.fromkeys(background):
            key = (fact[0], len(fact))
            self.by_name[key].append(fact)
            for place, value in enumerate(fact[1:], 1):
                self.by_value[(*key, place, value)].append(fact)
            for value in dict.fromkeys(fact[1:]):
                self.by_constant[value].append(fact)
        self.things = {fact[1] for fact in background}

    def matching(self, atom: Atom, bound: dict[Variable, Any]) -> list[Atom]:
        """Return the shortest list of facts that an index gives for a partly bound atom."""
        key = (atom[0], len(atom))
        best = self.by_name.get(key, [])
        for place, term in enumerate(atom[1:], 1):
            value = bound.get(term, term) if isinstance(term, Variable) else term
            if not isinstance(value, Variable):
                found = self.by_value.get((*key, place, value), [])
                if len(found) < len(best):
                    best = found
        return best

    def satisfies(self, body: Sequence[Atom], bound: dict[Variable, Any]) -> bool:
        """Whether some binding of the other variables makes all atoms facts."""
        if not body:
            return True
        atom = body[0]
        for fact in self.matching(atom, bound):
            extended = _unify(atom, fact, bound)
            if extended is not None and self.satisfies(body[1:], extended):
                return True
        return False


def _unify(atom: Atom, fact: Atom, bound: dict[Variable, Any]) -> dict[Variable, Any] | None:
    extended = bound
    for term, value in zip(atom[1:], fact[1:]):
        if not isinstance(term, Variable):
            if term != value:
                return None
        elif term in extended:
            if extended[term] != value:
                return None
        else:
            if extended is bound:
                extended = dict(bound)
            extended[term] = value
    return extended


def covers(clause: Clause, example: Atom, facts: Facts) -> bool:
    """Whether a clause and the facts entail an example."""
    if (clause.head[0], len(clause.head)) != (example[0], len(example)):
        return False
    bound = _unify(clause.head, example, {})
    return bound is not None and facts.satisfies(clause.body, bound)


def bottom_clause(example: Atom, facts: Facts, things: set[Any]) -> tuple[Atom, list[Atom]]:
    """Return head and body of the most specific clause: all facts near an example."""
    names: dict[Any, Variable] = {}

    def variable(value: Any) -> Variable:
        return names.setdefault(value, Variable(_letters(len(names))))

    head = (example[0], *map(variable, example[1:]))
    body: dict[Atom, None] = {}
    edge = list(dict.fromkeys(example[1:]))
    for _ in range(DEPTH):
        known, fresh = set(names), []
        for value in edge:
            for fact in facts.by_constant.get(value, []):
                if len(body) >= BOTTOM:
                    break
                fresh += [v for v in fact[1:] if v in things and v not in known]
                terms = [variable(v) if v in things else v for v in fact[1:]]
                body[(fact[0], *terms)] = None
        edge = list(dict.fromkeys(fresh))
    return head, list(body)


def _letters(i: int) -> str:
    return chr(ord("A") + i % 26) + (str(i // 26) if i >= 26 else "")


def _variables(atom: Atom) -> set[Variable]:
    return {term for term in atom[1:] if isinstance(term, Variable)}


def search_clause(
    seed: Atom,
    positives: list[Atom],
    negatives: list[Atom],
    facts: Facts,
    things: set[Any],
    *,
    clause_length: int,
    nodes: int,
    min_accuracy: float,
    min_positives: int,
) -> tuple[Clause | None, list[Atom], int]:
    """Return the best acceptable clause over a seed, the positives it covers, and nodes visited.

    Best first by positives minus negatives. A clause covers no more than what it refines, so that
    its score is at most the positives of that one.
    """
    head, bottom = bottom_clause(seed, facts, things)
    best: Clause | None = None
    taken: list[Atom] = []
    top, visited, counter = -np.inf, 0, 0
    seen: set[frozenset[int]] = set()
    queue: list[Any] = [(0, 0, 0, (), positives, negatives)]
    while queue and visited < nodes:
        _, _, _, chosen, some, others = heapq.heappop(queue)
        if len(some) <= top or len(chosen) >= clause_length - 1:
            continue
        linked = _variables(head).union(*(_variables(bottom[i]) for i in chosen))
        for i, atom in enumerate(bottom):
            subset = frozenset((*chosen, i))
            if i in chosen or subset in seen or not linked & _variables(atom):
                continue
            seen.add(subset)
            visited += 1
            clause = Clause(head, (*(bottom[j] for j in chosen), atom))
            p = [e for e in some if covers(clause, e, facts)]
            if len(p) >= min_positives and len(p) > top:
                n = [e for e in others if covers(clause, e, facts)]
                value = len(p) - len(n)
                if len(p) / (len(p) + len(n)) >= min_accuracy and value > top:
                    best, taken, top = clause, p, value
                counter += 1
                if n:
                    item = (-value, len(clause.body), counter, (*chosen, i), p, n)
                    heapq.heappush(queue, item)
            if visited >= nodes:
                break
    return best, taken, visited


class ClauseLearner(SoundEstimator):
    """Learn rules from facts and examples by sequential covering.

    Take a positive example, collect the facts around it into its most specific clause, search the
    subsets of that for the best rule, drop what it covers, and go on.

    Parameters
    ----------
    clause_length : int, default=4
        Most literals of a clause, its head included (Aleph's and the paper's C).
    nodes : int, default=5000
        Most clauses that one search looks at.
    min_accuracy : float, default=0.75
        Least share of positives among the training examples that a clause covers (Minacc).
    min_positives : int, default=2
        Fewest positives that it covers (Minpos).

    Attributes
    ----------
    clauses_ : list of Clause
        The rules, in the order in which they were found.
    n_nodes_ : int
        Clauses looked at in all.
    n_uncovered_ : int
        Positive examples that no rule covers.

    Notes
    -----
    No recursion, no negation, no arithmetic on numbers: it is there so that settings of a
    relational learner can be screened, not to replace Aleph or Popper.

    References
    ----------
    A. Srinivasan and G. Ramakrishnan (2011). Parameter Screening and Optimisation for ILP using
    Designed Experiments. Journal of Machine Learning Research 12.

    Examples
    --------
    >>> from octavo.search import ClauseLearner
    >>> facts = [("parent", "ann", "mary"), ("parent", "ann", "tom"), ("parent", "tom", "eve")]
    >>> facts += [("female", "ann"), ("female", "mary"), ("female", "eve"), ("male", "tom")]
    >>> positives = [("daughter", "mary", "ann"), ("daughter", "eve", "tom")]
    >>> negatives = [("daughter", "tom", "ann"), ("daughter", "eve", "ann")]
    >>> model = ClauseLearner().fit(facts, positives, negatives)
    >>> print(model.clauses_[0], model.score(positives, negatives))
    daughter(A, B) :- parent(B, A), female(A). 1.0
    """

    _parameter_constraints: dict = {
        "clause_length": [Interval(Integral, 1, None, closed="left")],
        "nodes": [Interval(Integral, 1, None, closed="left")],
        "min_accuracy": [Interval(Real, 0, 1, closed="both")],
        "min_positives": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        clause_length: int = 4,
        nodes: int = 5000,
        min_accuracy: float = 0.75,
        min_positives: int = 2,
    ) -> None:
        self.clause_length = clause_length
        self.nodes = nodes
        self.min_accuracy = min_accuracy
        self.min_positives = min_positives

    def fit(self, background: Any, positives: Any, negatives: Any = ()) -> ClauseLearner:
        """Learn rules.

        Parameters
        ----------
        background : list of tuple
            Facts (predicate, argument, ...).
        positives : list of tuple
            Examples that hold, all of one predicate.
        negatives : list of tuple, default=()
            Examples that do not.

        Returns
        -------
        self : ClauseLearner
            The fitted learner.
        """
        self._validate_params()
        known = check_atoms(background, "background")
        good, bad = check_atoms(positives, "positives"), check_atoms(negatives, "negatives")
        if not good:
            raise ValueError("positives must hold at least one example.")
        kinds = {(atom[0], len(atom)) for atom in good + bad}
        if len(kinds) > 1:
            raise ValueError(
                f"All examples must be of one predicate and arity; got {sorted(kinds)}."
            )
        facts = Facts(known)
        things = facts.things.union(*(atom[1:] for atom in good + bad))
        left = list(dict.fromkeys(good))
        self.clauses_, self.n_nodes_, self.n_uncovered_ = [], 0, 0
        while left:
            clause, taken, visited = search_clause(
                left[0], left, bad, facts, things, **self.get_params()
            )
            self.n_nodes_ += visited
            if clause is None:
                self.n_uncovered_ += 1
                taken = left[:1]
            else:
                self.clauses_.append(clause)
            gone = set(taken)
            left = [example for example in left if example not in gone]
        self._facts = facts
        return self

    def predict(self, examples: Any) -> Ints:
        """Say which examples follow.

        Parameters
        ----------
        examples : list of tuple
            Examples of the learned predicate.

        Returns
        -------
        labels : ndarray of int
            1 where a rule covers the example, else 0.
        """
        check_is_fitted(self)
        return np.array(
            [
                int(any(covers(clause, example, self._facts) for clause in self.clauses_))
                for example in check_atoms(examples, "examples")
            ],
            dtype=np.intp,
        )

    def score(self, positives: Any, negatives: Any) -> float:
        """Return the share of examples that are judged rightly.

        Parameters
        ----------
        positives, negatives : list of tuple
            Examples that hold and that do not.

        Returns
        -------
        accuracy : float
            From 0 to 1.
        """
        good, bad = self.predict(positives), self.predict(negatives)
        if not len(good) + len(bad):
            raise ValueError("An accuracy needs at least one example.")
        return float((good.sum() + (1 - bad).sum()) / (len(good) + len(bad)))


@checked
def clause_objective(
    background: Any,
    positives: Any,
    negatives: Any,
    *,
    validation: float = 0.3,
    n_repeats: int = 1,
    estimator: Any = None,
    random_state: Any = None,
) -> Any:
    """Return an objective for `screen`: validation accuracy of a clause learner with parameters.

    Parameters
    ----------
    background : list of tuple
        Facts.
    positives, negatives : list of tuple
        Examples that hold and that do not, two or more of each.
    validation : float, default=0.3
        Share of the examples on which rules are scored.
    n_repeats : int, default=1
        Splits over which the accuracy is averaged.
    estimator : object, optional
        Any learner with ``fit(background, positives, negatives)``, ``score`` and ``set_params``,
        such as an adapter to another system; `ClauseLearner` by default.
    random_state : int, RandomState instance or None, default=None
        Source of the splits, which are the same for all parameters.

    Returns
    -------
    objective : callable
        Takes a dict of parameters and returns an accuracy.

    Examples
    --------
    >>> from octavo.data import make_trains
    >>> from octavo.search import clause_objective
    >>> trains = make_trains(20, random_state=0)
    >>> objective = clause_objective(*trains[:3], random_state=0)
    >>> print(objective({"clause_length": 4, "min_accuracy": 0.9}))
    1.0
    """
    good, bad = check_atoms(positives, "positives"), check_atoms(negatives, "negatives")
    if len(good) < 2 or len(bad) < 2:
        raise ValueError("A validation needs two or more positives and as many negatives.")
    if isinstance(validation, bool) or not 0.0 < validation < 1.0:
        raise ValueError(f"validation must lie between 0 and 1; got {validation!r}.")
    if isinstance(n_repeats, bool) or not isinstance(n_repeats, (int, np.integer)) or n_repeats < 1:
        raise ValueError(f"n_repeats must be a positive integer; got {n_repeats!r}.")
    facts = check_atoms(background, "background")
    rng = np.random.RandomState(random_state) if isinstance(random_state, int) else random_state
    learner = ClauseLearner() if estimator is None else estimator
    if not all(hasattr(learner, name) for name in ("fit", "score", "set_params")):
        raise ValueError(f"estimator must have fit, score and set_params; got {learner!r}.")
    splits = [
        [
            train_test_split(
                examples,
                test_size=min(max(round(validation * len(examples)), 1), len(examples) - 1),
                random_state=rng,
            )
            for examples in (good, bad)
        ]
        for _ in range(n_repeats)
    ]

    def objective(params: dict[str, Any]) -> float:
        from sklearn.base import clone

        accuracies = []
        for (p_train, p_test), (n_train, n_test) in splits:
            fitted = clone(learner).set_params(**params).fit(facts, p_train, n_train)
            accuracies.append(fitted.score(p_test, n_test))
        return float(np.mean(accuracies))

    return objective
