"""Teachers and learners at work: with an adversary, and judged for coding tricks."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.teaching.cooperative.analysis import TeachingAnalysis
from octavo.teaching.cooperative.concepts import ConceptClass, InconsistentSample, class_of

__all__ = [
    "ProtocolRun",
    "best_protocol",
    "is_collusion_free",
    "is_valid_protocol",
    "simulate_protocol",
]

MOST_SUPERSETS = 4096


class ProtocolRun(NamedTuple):
    """What teacher and learner did: concepts, samples that arrived, answers, share of right ones.

    An answer is None where the learner could not decide.
    """

    concepts: list[int]
    samples: list[list[tuple[int, int]]]
    answers: list[int | None]
    success_rate: float


def _pair(protocol: Any, concepts: ConceptClass) -> Any:
    """Return the teacher and learner that a protocol has for a class."""
    if isinstance(protocol, TeachingAnalysis):
        return clone(protocol).fit(concepts)
    if not callable(protocol):
        raise ValueError(
            "protocol must be a TeachingAnalysis or a function that takes a ConceptClass and "
            f"returns an object with teach and learn; got {protocol!r}."
        )
    pair = protocol(concepts)
    if not hasattr(pair, "teach") or not hasattr(pair, "learn"):
        raise ValueError(f"protocol must return an object with teach and learn; got {pair!r}.")
    return pair


def _fitted(analysis: Any) -> ConceptClass:
    if not hasattr(analysis, "concepts_"):
        raise ValueError(f"analysis must be a fitted TeachingAnalysis; got {analysis!r}.")
    return analysis.concepts_


@checked
def simulate_protocol(
    analysis: TeachingAnalysis,
    adversary: str = "superset",
    n_rounds: int = 1,
    random_state: Any = None,
) -> ProtocolRun:
    """Teach every concept, let an adversary add examples, and ask the learner.

    Parameters
    ----------
    analysis : TeachingAnalysis
        Fitted.
    adversary : {"superset", "none"}, default="superset"
        Whether further examples, labelled by the concept, are put into the sample: each with a
        probability that is itself drawn for every round.
    n_rounds : int, default=1
        How often every concept is taught.
    random_state : int, RandomState instance or None, default=None
        Of the adversary.

    Returns
    -------
    run : ProtocolRun
        Concepts, samples, answers and the share of right ones.

    Examples
    --------
    >>> from octavo.teaching import ConceptClass, TeachingAnalysis, simulate_protocol
    >>> thresholds = ConceptClass.thresholds(6)
    >>> for kind in ("std", "rtd"):
    ...     model = TeachingAnalysis(kind).fit(thresholds)
    ...     print(kind, round(simulate_protocol(model, random_state=0).success_rate, 2))
    std 0.86
    rtd 1.0
    """
    concepts, rng = _fitted(analysis), check_random_state(random_state)
    if adversary not in ("superset", "none"):
        raise ValueError(f'adversary must be "superset" or "none"; got {adversary!r}.')
    if not 1 <= n_rounds <= 1e7 / len(concepts):
        raise ValueError(
            f"n_rounds must lie between 1 and {int(1e7 / len(concepts))}; got {n_rounds!r}."
        )
    taught, samples, answers = [], [], []
    for _ in range(n_rounds):
        for i in range(len(concepts)):
            sample = analysis.teach(i)
            if adversary == "superset":
                # an honest adversary adds labelled instances of the concept
                added = rng.uniform(size=concepts.n_instances) < rng.uniform()
                added[[instance for instance, _ in sample]] = True
                sample = concepts.sample_of(i, np.flatnonzero(added))
            taught.append(i)
            samples.append(sample)
            answers.append(analysis.learn(sample))
    right = [answer == i for i, answer in zip(taught, answers, strict=True)]
    return ProtocolRun(taught, samples, answers, float(np.mean(right)))


def _rules_conflict(analysis: TeachingAnalysis) -> bool:
    """Whether some superset of a taught sample holds a set of a second consistent concept."""
    if analysis.kind == "td":
        return False
    concepts = analysis.concepts_
    for i in range(len(concepts)):
        taught = list(analysis.sets_[i][0])
        apart = concepts.matrix != concepts.matrix[i]
        for other in np.flatnonzero(~apart[:, taught].any(axis=1)):
            if other != i and any(  # a learner would have two answers to that superset
                not apart[other, list(members)].any() for members in analysis.sets_[other]
            ):
                return True
    return False


def _answer(pair: Any, sample: Any) -> Any:
    try:
        return pair.learn(sample)
    except InconsistentSample:
        return None


@checked
def is_valid_protocol(
    protocol: Any, concepts: Any = None, n_trials: int = 1000, random_state: Any = None
) -> bool:
    """Say whether the learner stands up to every honest example that somebody adds.

    Goldman and Mathias (1996): the teacher's sample is consistent with the concept, and the
    learner returns the concept for every superset that is.

    Parameters
    ----------
    protocol : TeachingAnalysis or callable
        A fitted analysis; or an analysis or a function of a class that returns an object with
        `teach` and `learn`, together with `concepts`.
    concepts : ConceptClass or array-like of shape (n_concepts, n_instances), default=None
        The class; that of a fitted analysis by default.
    n_trials : int, default=1000
        For functions: supersets that are drawn for a concept where there are more than 4096 of
        them; where there are fewer, and for analyses, the answer is exact.
    random_state : int, RandomState instance or None, default=None
        Of those draws.

    Returns
    -------
    valid : bool
        Whether no superset misled the learner.

    Examples
    --------
    >>> from octavo.teaching import ConceptClass, TeachingAnalysis, is_valid_protocol
    >>> thresholds = ConceptClass.thresholds(3)
    >>> [is_valid_protocol(TeachingAnalysis(kind), thresholds) for kind in ("std", "rtd")]
    [False, True]
    """
    if concepts is None:
        concepts, pair = _fitted(protocol), protocol
    else:
        concepts = class_of(concepts)
        pair = _pair(protocol, concepts)
    if isinstance(pair, TeachingAnalysis):
        return not _rules_conflict(pair)
    rng, n = check_random_state(random_state), concepts.n_instances
    if not 1 <= n_trials <= 10_000_000:
        raise ValueError(f"n_trials must lie between 1 and 10,000,000; got {n_trials!r}.")
    for i in range(len(concepts)):
        taught = concepts.checked_sample(pair.teach(i))
        if i not in concepts.consistent(taught):
            return False
        base = [instance for instance, _ in taught]
        others = [j for j in range(n) if j not in base]
        if 2 ** len(others) <= MOST_SUPERSETS:
            # every superset of the taught sample that an adversary may send
            added = (some for k in range(len(others) + 1) for some in combinations(others, k))
        else:
            added = (
                tuple(j for j in others if rng.uniform() < share)
                for share in rng.uniform(size=n_trials)
            )
        for some in added:
            if _answer(pair, concepts.sample_of(i, sorted([*base, *some]))) != i:
                return False
    return True


def _image(sample: Any, places: Any, flips: Any) -> frozenset[tuple[int, int]]:
    return frozenset((int(places[j]), int(label) ^ int(flips[j])) for j, label in sample)


def _offered(pair: Any, concepts: ConceptClass, i: int) -> set[frozenset[tuple[int, int]]]:
    """Return the samples from which a teacher may choose for a concept."""
    if isinstance(pair, TeachingAnalysis) and pair.all_sets:
        return {frozenset(concepts.sample_of(i, members)) for members in pair.sets_[i]}
    return {frozenset(concepts.checked_sample(pair.teach(i)))}


@checked
def is_collusion_free(
    protocol: Any, concepts: Any, n_trials: int = 10, random_state: Any = None
) -> bool:
    """Say whether a protocol ignores the order of instances and concepts and the names of labels.

    Definition 13: the class is shuffled and labels of instances are exchanged; the teacher's
    samples and the learner's answers must be shuffled and exchanged alike.

    Parameters
    ----------
    protocol : TeachingAnalysis or callable
        An analysis (fitted or not), or a function of a class that returns an object with `teach`
        and `learn`.
    concepts : ConceptClass or array-like of shape (n_concepts, n_instances)
        The class.
    n_trials : int, default=10
        Shufflings that are tried.
    random_state : int, RandomState instance or None, default=None
        Of the shufflings.

    Returns
    -------
    free : bool
        Whether no shuffling changed anything. True for the class at hand, and not a proof.

    Notes
    -----
    Of an analysis with all sets, the sets from which the teacher may choose are compared. No
    teacher that names one sample can obey the definition in a class with symmetries: for the
    empty concept among singletons, every negative example is as good as any other.

    Examples
    --------
    >>> from octavo.teaching import ConceptClass, TeachingAnalysis, is_collusion_free
    >>> is_collusion_free(TeachingAnalysis("std"), ConceptClass.monomials(2), random_state=0)
    True
    """
    concepts, rng = class_of(concepts), check_random_state(random_state)
    if not 1 <= n_trials <= 10_000:
        raise ValueError(f"n_trials must lie between 1 and 10,000; got {n_trials!r}.")
    pair = _pair(protocol, concepts)
    z, n = concepts.matrix.shape
    for _ in range(n_trials):
        rows, columns = rng.permutation(z), rng.permutation(n)
        flips = rng.randint(0, 2, n).astype(bool)
        table = np.empty_like(concepts.matrix)
        # labels flip on some instances: instances, concepts and labels lose their names
        table[np.ix_(rows, columns)] = concepts.matrix ^ flips
        shuffled = ConceptClass(table)
        other = _pair(protocol, shuffled)
        for i in range(z):
            # Definition 13, part 1: the teacher
            offered = {_image(s, columns, flips) for s in _offered(pair, concepts, i)}
            if offered != _offered(other, shuffled, int(rows[i])):
                return False
            chosen = np.flatnonzero(rng.uniform(size=n) < rng.uniform())
            # Definition 13, part 2: the learner
            for sample in (pair.teach(i), concepts.sample_of(i, chosen)):
                answer = _answer(pair, sample)
                image = None if answer is None else int(rows[answer])
                if _answer(other, sorted(_image(sample, columns, flips))) != image:
                    return False
    return True


@checked
def best_protocol(concepts: Any, max_sets: int = 10000, solver: str = "bitset") -> TeachingAnalysis:
    """Return subset teaching where it needs no more examples than recursive teaching, else that.

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
    analysis : TeachingAnalysis
        Fitted, with ``kind="std"`` or ``kind="rtd"``.

    Examples
    --------
    >>> from octavo.teaching import ConceptClass, best_protocol
    >>> [best_protocol(c).kind for c in (ConceptClass.pair(2), ConceptClass.half(4))]
    ['std', 'rtd']
    """
    concepts = class_of(concepts)
    options = {"max_sets": max_sets, "solver": solver}
    subset = TeachingAnalysis("std", **options).fit(concepts)
    recursive = TeachingAnalysis("rtd", **options).fit(concepts)
    return subset if subset.dimension_ <= recursive.dimension_ else recursive
