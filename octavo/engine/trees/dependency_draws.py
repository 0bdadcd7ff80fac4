"""Draws from a dependency grammar with valences, from the root down.

A head decides on each side whether to stop, or to go on and which dependent to take; the first
dependent taken is the outermost. What it decides depends on how many dependents it has there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats

__all__ = ["draw_dependency_tree"]


def draw_dependency_tree(
    root: Floats, stop: Floats, child: Floats, random: np.random.RandomState, max_length: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return one sentence with its heads, or None where it grew beyond the largest length.

    Parameters
    ----------
    root : ndarray of shape (n_tags,)
        Chance of each tag to be the root.
    stop : ndarray of shape (n_tags, 2, n_stop_classes)
        Chance to stop, on the left and on the right, by the number of dependents taken.
    child : ndarray of shape (n_tags, 2, n_child_classes, n_tags)
        Chance of each dependent.
    random : RandomState
        Source of randomness.
    max_length : int
        Tokens of the longest sentence.

    Returns
    -------
    tags, heads : ndarray of int of shape (length,)
        Tag numbers, and heads: 0 for the root, 1-based else.
    """
    tags = [_choice(root, random)]
    parents = [-1]
    sides: list[tuple[list[int], list[int]]] = []
    while len(sides) < len(tags):
        me = len(sides)
        both: tuple[list[int], list[int]] = ([], [])
        for d in (0, 1):
            while True:
                taken = len(both[d])
                # stop after `taken` dependents, in the valence class of that number
                if random.random_sample() < stop[tags[me], d, min(taken, stop.shape[2] - 1)]:
                    break
                chance = child[tags[me], d, min(taken, child.shape[2] - 1)]
                both[d].append(len(tags))
                tags.append(_choice(chance, random))
                parents.append(me)
                if len(tags) > max_length:
                    return None
        sides.append(both)
    place = np.empty(len(tags), dtype=np.int64)
    for position, token in enumerate(_in_order(sides)):
        place[token] = position
    heads, found = np.empty_like(place), np.empty_like(place)
    found[place] = tags
    heads[place] = [0 if p < 0 else place[p] + 1 for p in parents]
    return found, heads


def _choice(chance: Floats, random: np.random.RandomState) -> int:
    sums = np.cumsum(chance)
    return int(np.searchsorted(sums, random.random_sample() * sums[-1], side="right"))


def _in_order(sides: list[tuple[list[int], list[int]]]) -> list[int]:
    """Return the tokens as they stand in the sentence: outermost dependents were taken first."""
    order: list[int] = []
    todo: list[tuple[int, bool]] = [(0, False)]
    while todo:
        token, open_ = todo.pop()
        if open_:
            order.append(token)
            continue
        left, right = sides[token]
        # the last pushed comes first: left dependents in order, the token, right ones reversed
        todo.extend((c, False) for c in right)
        todo.append((token, True))
        todo.extend((c, False) for c in reversed(left))
    return order
