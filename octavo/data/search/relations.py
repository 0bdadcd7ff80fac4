"""Problems of relations for learners of clauses: trains that go east, and families."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["RelationalProblem", "make_family", "make_trains"]

SHAPES = ("circle", "hexagon", "rectangle", "triangle")
MAX_SIZE = 10_000


class RelationalProblem(NamedTuple):
    """Facts, examples that hold, examples that do not, and the rule behind them."""

    background: list[tuple[Any, ...]]
    positives: list[tuple[Any, ...]]
    negatives: list[tuple[Any, ...]]
    rule: str


def _check(value: Any, name: str, least: int) -> int:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not least <= value <= MAX_SIZE:
        raise ValueError(f"{name} must be an integer from {least} to {MAX_SIZE}; got {value!r}.")
    return int(value)


def _check_share(flip: Any) -> float:
    if isinstance(flip, bool) or not isinstance(flip, (int, float)) or not 0.0 <= flip <= 0.5:
        raise ValueError(f"flip must lie between 0 and 0.5; got {flip!r}.")
    return float(flip)


@checked
def make_trains(
    n_trains: int = 20, flip: float = 0.0, random_state: Any = None
) -> RelationalProblem:
    """Draw trains in Michalski's manner; those with a short, closed car go east.

    Parameters
    ----------
    n_trains : int, default=20
        Number of trains, at least 4; half of them go east.
    flip : float, default=0.0
        Probability that a train's direction is turned.
    random_state : int, RandomState instance or None, default=None
        Source of the trains.

    Returns
    -------
    problem : RelationalProblem
        Facts on cars and loads, and examples of ``eastbound``.

    Examples
    --------
    >>> from octavo.data import make_trains
    >>> trains = make_trains(10, random_state=0)
    >>> print(len(trains.positives), len(trains.negatives), trains.rule)
    5 5 eastbound(A) :- has_car(A, B), short(B), closed(B).
    """
    n_trains, flip = _check(n_trains, "n_trains", 4), _check_share(flip)
    rng = check_random_state(random_state)
    quota = {True: n_trains // 2, False: n_trains - n_trains // 2}
    background: list[tuple[Any, ...]] = []
    examples: dict[bool, list[tuple[Any, ...]]] = {True: [], False: []}
    number = 0
    while any(quota.values()):
        cars = [(rng.rand() < 0.5, rng.rand() < 0.4) for _ in range(rng.randint(2, 5))]
        east = any(short and closed for short, closed in cars)
        if not quota[east]:
            continue
        quota[east] -= 1
        number += 1
        train = f"t{number}"
        for c, (short, closed) in enumerate(cars, 1):
            car = f"{train}_c{c}"
            background += [("has_car", train, car), ("short" if short else "long", car)]
            background += [("closed" if closed else "open", car)]
            background += [("wheels", car, int(rng.randint(2, 4)))]
            background += [("load", car, SHAPES[rng.randint(4)], int(rng.randint(1, 4)))]
        examples[east ^ (rng.rand() < flip)].append(("eastbound", train))
    rule = "eastbound(A) :- has_car(A, B), short(B), closed(B)."
    return RelationalProblem(background, examples[True], examples[False], rule)


@checked
def make_family(
    n_couples: int = 6, flip: float = 0.0, random_state: Any = None
) -> RelationalProblem:
    """Draw families of three generations, with examples of ``grandmother``.

    Parameters
    ----------
    n_couples : int, default=6
        Couples of the first generation.
    flip : float, default=0.0
        Probability that an example's label is turned.
    random_state : int, RandomState instance or None, default=None
        Source of the families.

    Returns
    -------
    problem : RelationalProblem
        Facts ``parent``, ``male`` and ``female``, and pairs that are grandmothers or are not.

    Examples
    --------
    >>> from octavo.data import make_family
    >>> family = make_family(random_state=0)
    >>> print(family.rule)
    grandmother(A, B) :- female(A), parent(A, C), parent(C, B).
    """
    n_couples, flip = _check(n_couples, "n_couples", 1), _check_share(flip)
    rng = check_random_state(random_state)
    background: list[tuple[Any, ...]] = []
    truth: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    for c in range(n_couples):
        wife, husband = f"w{c}", f"h{c}"
        background += [("female", wife), ("male", husband)]
        for i in range(2):
            child, grandchild = f"k{c}_{i}", f"g{c}_{i}"
            for person in (child, grandchild):
                background.append(("female" if rng.rand() < 0.5 else "male", person))
            background += [("parent", wife, child), ("parent", husband, child)]
            background.append(("parent", child, grandchild))
            truth.append((wife, grandchild))
            others += [(husband, grandchild), (wife, child), (child, grandchild)]
    examples: dict[bool, list[tuple[Any, ...]]] = {True: [], False: []}
    for pairs, label in ((truth, True), (others, False)):
        for pair in pairs:
            examples[label ^ (rng.rand() < flip)].append(("grandmother", *pair))
    rule = "grandmother(A, B) :- female(A), parent(A, C), parent(C, B)."
    return RelationalProblem(background, examples[True], examples[False], rule)
