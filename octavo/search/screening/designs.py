"""Two-level fractions, full factorials, fold-overs and central composite designs.

A fraction of k two-level factors runs the full factorial of k - p of them; each of the other p is a
product of some of those. Sets of columns are bit masks here, and the words of the defining relation
(products that are 1 in every row) a group under exclusive or.

References
----------
A. Srinivasan and G. Ramakrishnan (2011). Parameter Screening and Optimisation for ILP using
Designed Experiments. Journal of Machine Learning Research 12, Appendix B.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = ["Fraction", "central_composite", "fold_over", "fractional_factorial", "full_factorial"]

MAX_ENTRIES = 2**24  # numbers in a design: more is a mistake, not an experiment
MAX_CHOICES = 3000  # sets of generators that are all compared
MAX_NODES = 20_000  # sets of generators that are tried one after another
ALIAS_COLUMNS = 10  # with more columns, only sets of up to ALIAS_SIZE are grouped
ALIAS_SIZE = 3

Sets = tuple[tuple[int, ...], ...]


class Fraction(NamedTuple):
    """A two-level design.

    `coded` has a row a run and a column a factor, entries -1 and +1; `generators` the base columns
    whose product is each added column; `resolution` the length of the shortest word of the defining
    relation (k + 1 for a full design, in which nothing is confounded); `aliases` groups of sets
    of columns whose products are one and the same column. The words themselves are a group too.
    """

    coded: Floats
    generators: Sets
    resolution: int
    aliases: tuple[Sets, ...]


def _columns(mask: int) -> tuple[int, ...]:
    return tuple(j for j in range(mask.bit_length()) if mask >> j & 1)


def _mask(columns: Any) -> int:
    return sum(1 << int(j) for j in columns)


def _words(masks: list[int]) -> list[int]:
    """Return all products of the words, without the empty one."""
    words = [0]
    for mask in masks:
        words += [mask ^ word for word in words]
    return words[1:]


def _lengths(words: list[int], k: int) -> tuple[int, ...]:
    """Return how many words have each length: smaller is better, short words first."""
    counts = [0] * (k + 1)
    for word in words:
        counts[word.bit_count()] += 1
    return tuple(counts)


def _deep_choice(products: list[int], base: int, p: int, resolution: int) -> list[int] | None:
    """Return the first p products all of whose words are long enough, or None within the limit."""
    nodes = 0

    def extend(first: int, masks: list[int], words: list[int]) -> list[int] | None:
        nonlocal nodes
        if len(masks) == p:
            return masks
        for i in range(first, len(products)):
            nodes += 1
            if nodes > MAX_NODES:
                return None
            word = products[i] | 1 << (base + len(masks))
            fresh = [word, *(word ^ other for other in words)]
            if min(w.bit_count() for w in fresh) >= resolution:
                found = extend(i + 1, [*masks, products[i]], words + fresh)
                if found is not None or nodes > MAX_NODES:
                    return found
        return None

    return extend(0, [], [])


@lru_cache(maxsize=256)
def _best_generators(base: int, p: int) -> Sets:
    """Return p products of base columns with the fewest short words, largest products first."""
    k = base + p
    products = [
        m for size in range(base, 1, -1) for m in map(_mask, combinations(range(base), size))
    ]
    if math.comb(len(products), p) <= MAX_CHOICES:
        # The fewest short words is minimum aberration, of which maximum resolution is a part.
        best = min(
            combinations(products, p),
            key=lambda c: _lengths(_words([m | 1 << (base + i) for i, m in enumerate(c)]), k),
        )
        return tuple(map(_columns, best))
    for resolution in range(base + 1, 3, -1):
        if resolution == 4:  # odd products have even words only
            odd = [m for m in products if m.bit_count() % 2]
            chosen = odd[:p] if len(odd) >= p else None
        else:
            chosen = _deep_choice(products, base, p, resolution) if p <= 8 else None
        if chosen is not None:
            return tuple(map(_columns, chosen))
    return tuple(map(_columns, products[:p]))


def _factorial(k: int) -> Floats:
    rows = np.arange(2**k)
    bits = rows[:, None] >> np.arange(k - 1, -1, -1) & 1
    return np.asarray(2.0 * bits - 1.0, dtype=np.float64)


def _alias_groups(words: list[int], k: int) -> tuple[Sets, ...]:
    """Return the cosets of the words, every set of columns in one of them."""
    largest = k if k <= ALIAS_COLUMNS else min(k, ALIAS_SIZE)
    group = [0, *words]
    seen: set[int] = set()
    found = []
    for size in range(1, largest + 1):
        for columns in combinations(range(k), size):
            mask = _mask(columns)
            if mask in seen:
                continue
            members = [mask ^ w for w in group if 0 < (mask ^ w).bit_count() <= largest]
            seen.update(members)
            found.append(tuple(sorted(map(_columns, members), key=lambda s: (len(s), s))))
    return tuple(found)


def _fraction(coded: Floats, generators: Sets, words: list[int]) -> Fraction:
    k = coded.shape[1]
    resolution = min((w.bit_count() for w in words), default=k + 1)
    return Fraction(coded, generators, resolution, _alias_groups(words, k))


def _check_count(k: Any, name: str, least: int) -> int:
    if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)) or k < least:
        raise ValueError(f"{name} must be an integer of at least {least}; got {k!r}.")
    return int(k)


def _check_size(base: int, k: int) -> None:
    if base > 24 or 2**base * k > MAX_ENTRIES:
        raise ValueError(
            f"A design of {k} factors in 2^{base} runs has more than {MAX_ENTRIES} entries; "
            "screen fewer factors or take a larger p."
        )


def _check_generators(generators: Any, k: int) -> Sets:
    if isinstance(generators, str) or not hasattr(generators, "__len__"):
        raise ValueError("generators must be a sequence of tuples of base columns.")
    base = k - len(generators)
    sets = []
    for given in generators:
        columns = tuple(sorted(_check_count(j, "A column of a generator", 0) for j in given))
        if len(columns) < 2 or len(set(columns)) < len(columns) or columns[-1] >= base:
            raise ValueError(
                f"A generator must hold two or more different base columns, from 0 to {base - 1}; "
                f"got {given!r}."
            )
        sets.append(columns)
    if len(set(sets)) < len(sets):
        raise ValueError("Two generators are the same: their factors could not be told apart.")
    return tuple(sets)


@checked
def fractional_factorial(k: int, p: int | None = None, generators: Any = None) -> Fraction:
    """Build a 2^(k-p) design for k factors.

    The rows stand in the paper's order: -1 first, the last base column fastest. Without `p` the
    design is the smallest that has more runs than factors. Without `generators` those are taken
    that give the highest resolution and then the fewest short words, large products first.

    Parameters
    ----------
    k : int
        Number of factors.
    p : int, optional
        Number of factors that are products of others: 2^p times fewer runs.
    generators : sequence of tuple of int, optional
        For each of the last factors, the base columns whose product it is.

    Returns
    -------
    fraction : Fraction
        Runs, generators, resolution and aliases.

    Examples
    --------
    >>> from octavo.search import fractional_factorial
    >>> design = fractional_factorial(4)
    >>> print(design.coded.shape, design.generators, design.resolution)
    (8, 4) ((0, 1, 2),) 4
    """
    k = _check_count(k, "k", 1)
    if generators is not None:
        generators = _check_generators(generators, k)
        if p is not None and p != len(generators):
            raise ValueError(f"p is {p!r}, but there are {len(generators)} generators.")
        p = len(generators)
    elif p is None:
        p = k - (k).bit_length()  # App. B.1: the largest p with 2^(k-p) >= k + 1
        if 2 ** (k - p) < k + 1:
            p -= 1
    p = _check_count(p, "p", 0)
    base = k - p
    if base < 1 or k > 2**base - 1:
        raise ValueError(
            f"A fraction with p = {p} of {k} factors has too few runs: main effects would be "
            "confounded with one another. Take a smaller p."
        )
    _check_size(base, k)
    if generators is None:
        generators = _best_generators(base, p)
    full = _factorial(base)
    # App. B.1: products of the first k - p columns
    added = [full[:, list(columns)].prod(axis=1, keepdims=True) for columns in generators]
    masks = [_mask(c) | 1 << (base + i) for i, c in enumerate(generators)]
    if p > 20:
        raise ValueError(
            f"p = {p} gives 2^{p} words in the defining relation: screen fewer factors."
        )
    return _fraction(np.hstack([full, *added]), generators, _words(masks))


@checked
def fold_over(fraction: Fraction, column: int | None = None) -> Fraction:
    """Append the same runs with turned signs, which undoes aliases.

    Turning all columns removes every word of odd length: a design of resolution III becomes one of
    resolution IV. Turning one column frees it, and all interactions with it, from other effects.

    Parameters
    ----------
    fraction : Fraction
        A design of `fractional_factorial`.
    column : int, optional
        The column to turn; all by default.

    Returns
    -------
    fraction : Fraction
        Twice the runs. Its `generators` are those of the first half.

    Examples
    --------
    >>> from octavo.search import fold_over, fractional_factorial
    >>> design = fractional_factorial(7)
    >>> print(design.resolution, fold_over(design).resolution, fold_over(design).coded.shape)
    3 4 (16, 7)
    """
    if not isinstance(fraction, Fraction):
        raise ValueError("fraction must be a Fraction, as fractional_factorial returns it.")
    k = fraction.coded.shape[1]
    base = k - len(fraction.generators)
    signs = -np.ones(k)
    if column is not None:
        j = _check_count(column, "column", 0)
        if j >= k:
            raise ValueError(f"column must be one of 0 to {k - 1}; got {column!r}.")
        signs = np.where(np.arange(k) == j, -1.0, 1.0)
    words = _words([_mask(c) | 1 << (base + i) for i, c in enumerate(fraction.generators)])
    turned = _mask(np.flatnonzero(signs < 0))
    # a word of an odd number of turned columns is no longer 1 in every row
    kept = [w for w in words if (w & turned).bit_count() % 2 == 0]
    return _fraction(np.vstack([fraction.coded, fraction.coded * signs]), fraction.generators, kept)


@checked
def full_factorial(levels: Any) -> np.ndarray:
    """Return all combinations of levels, the last factor fastest.

    Parameters
    ----------
    levels : array-like of int
        Number of levels of each factor.

    Returns
    -------
    design : ndarray of shape (n_runs, n_factors)
        Level numbers, from 0.

    Examples
    --------
    >>> from octavo.search import full_factorial
    >>> print(full_factorial([2, 3]).tolist())
    [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    """
    counts = [_check_count(n, "An entry of levels", 1) for n in np.atleast_1d(levels).tolist()]
    if not counts or math.prod(counts) * len(counts) > MAX_ENTRIES:
        raise ValueError(
            f"levels must name at least one factor and at most {MAX_ENTRIES} entries in all; "
            f"got {len(counts)} factors."
        )
    return np.indices(counts).reshape(len(counts), -1).T


@checked
def central_composite(k: int, alpha: float | str = "rotatable", center_points: int = 1) -> Floats:
    """Build a central composite design, for a second-order model.

    Parameters
    ----------
    k : int
        Number of factors.
    alpha : float or {"rotatable", "face", "spherical"}, default="rotatable"
        Distance of the axial runs: a number, 2^(k/4) (equal precision at equal distance), 1
        or √k.
    center_points : int, default=1
        Runs in the middle.

    Returns
    -------
    coded : ndarray of shape (2^k + 2 k + center_points, k)
        The factorial, then the axial runs (low before high), then the middle.

    Examples
    --------
    >>> from octavo.search import central_composite
    >>> print(central_composite(2).round(2)[4:].tolist())
    [[-1.41, 0.0], [1.41, 0.0], [0.0, -1.41], [0.0, 1.41], [0.0, 0.0]]
    """
    k = _check_count(k, "k", 1)
    center_points = _check_count(center_points, "center_points", 0)
    _check_size(k, k)
    if center_points * k > MAX_ENTRIES:
        raise ValueError(f"center_points = {center_points} is too many for a design.")
    named = {"rotatable": 2.0 ** (k / 4), "face": 1.0, "spherical": math.sqrt(k)}
    if isinstance(alpha, str):
        if alpha not in named:
            raise ValueError(f"alpha must be a number or one of {sorted(named)}; got {alpha!r}.")
        distance = named[alpha]
    else:
        distance = float(alpha)
    if not 0.0 < distance < math.inf:
        raise ValueError(f"alpha must be positive and finite; got {alpha!r}.")
    axial = np.zeros((2 * k, k))
    axial[np.arange(0, 2 * k, 2), np.arange(k)] = -distance
    axial[np.arange(1, 2 * k, 2), np.arange(k)] = distance
    return np.vstack([_factorial(k), axial, np.zeros((center_points, k))])
