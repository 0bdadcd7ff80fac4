"""Sparse regressions of many tasks, of grouped features, of expression levels and of word senses.

The first two are the generators of Tables 2 and 3 of Dhillon, Foster and Ungar (2011), "Minimum
Description Length Penalization for Group and Multi-Task Sparse Learning", JMLR 12; the other two
imitate data of that paper which cannot be had.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params

__all__ = [
    "GroupedFeatures",
    "SharedFeatures",
    "WordSenses",
    "make_expression_endpoints",
    "make_grouped_features",
    "make_shared_features",
    "make_word_senses",
]

CELLS = 10**8  # numbers in a table; more are refused
LAYOUTS = {"unequal": (12, 100, 300, 588), "equal": (10,) * 100}
POSITIVE = Interval(Integral, 1, None, closed="left")


class SharedFeatures(NamedTuple):
    """Features X, responses Y, 0/1 labels (above the mean or not), coefficients (tasks first)."""

    X: np.ndarray
    Y: np.ndarray
    labels: np.ndarray
    coef: np.ndarray


class GroupedFeatures(NamedTuple):
    """Features X, the response y, the group of each feature, true coefficients."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    coef: np.ndarray


class WordSenses(NamedTuple):
    """Tasks (X, y) to learn from, rows to test on, groups of features, meanings of classes."""

    tasks: list
    tests: list
    groups: np.ndarray
    meanings: np.ndarray


def _check_size(rows, columns):
    if rows * columns > CELLS:
        raise ValueError(f"{rows} x {columns} numbers are too many; at most {CELLS} are drawn.")


def _above_mean(Y):
    return (Y.mean(axis=0) <= Y).astype(np.int64)


@checked
@validate_params(
    {
        "scenario": [StrOptions({"partial", "full", "independent"})],
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "n_features": [POSITIVE],
        "n_tasks": [POSITIVE],
        "n_informative": [POSITIVE],
        "noise": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_shared_features(
    scenario="partial",
    n_samples=100,
    n_features=2000,
    *,
    n_tasks=20,
    n_informative=4,
    noise=0.1,
    random_state=None,
):
    """Draw the multi-task regressions of Table 2: which features do tasks share?

    Features are standard normal, each task has `n_informative` standard normal coefficients, noise
    is normal. In "partial" the first feature serves all tasks, the second three quarters of them,
    and so on in equal steps; what a task lacks is drawn from the other features. In "full" all
    tasks have the first features; in "independent" each draws its own.

    Parameters
    ----------
    scenario : {"partial", "full", "independent"}, default="partial"
        Which features are shared.
    n_samples : int, default=100
        Rows; draw more to test on.
    n_features : int, default=2000
        Features.
    n_tasks : int, default=20
        Responses.
    n_informative : int, default=4
        Features of each task.
    noise : float, default=0.1
        Variance of the noise.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    SharedFeatures
        ``X``, ``Y``, ``labels`` (1 at or above the mean of a column of Y) and ``coef`` of shape
        (n_tasks, n_features).

    Examples
    --------
    >>> from octavo.data import make_shared_features
    >>> sample = make_shared_features("partial", random_state=0)
    >>> (sample.coef[:, :5] != 0).sum(axis=0).tolist()
    [20, 15, 10, 5, 0]
    """
    if n_informative > n_features:
        raise ValueError(
            f"n_informative must be at most n_features={n_features}, got {n_informative}."
        )
    _check_size(n_samples, n_features)
    _check_size(n_tasks, max(n_features, n_samples))
    rng = check_random_state(random_state)
    coef = np.zeros((n_tasks, n_features))
    for t in range(n_tasks):
        if scenario == "full":
            mine = np.arange(n_informative)
        elif scenario == "independent":
            mine = rng.choice(n_features, n_informative, replace=False)
        else:
            shared = [
                j
                for j in range(n_informative)
                if t < n_tasks * (n_informative - j) // n_informative
            ]
            others = np.arange(n_informative, n_features)
            lacking = min(n_informative - len(shared), others.size)
            mine = np.concatenate([shared, rng.choice(others, lacking, replace=False)]).astype(int)
        coef[t, mine] = rng.standard_normal(mine.size)
    X = rng.standard_normal((n_samples, n_features))
    Y = X @ coef.T + np.sqrt(noise) * rng.standard_normal((n_samples, n_tasks))
    return SharedFeatures(X, Y, _above_mean(Y), coef)


@checked
@validate_params(
    {
        "sizes": [StrOptions(set(LAYOUTS)), "array-like"],
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "n_informative": [POSITIVE],
        "noise": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_grouped_features(
    sizes="unequal", n_samples=100, *, n_informative=7, noise=1.7, random_state=None
):
    """Draw the grouped regressions of Table 3: all good features stand in the first group.

    Features are standard normal, coefficients one, noise normal.

    Parameters
    ----------
    sizes : {"unequal", "equal"} or array-like of int, default="unequal"
        Features of each group: (12, 100, 300, 588), of which the paper gives the first; 100
        groups of 10 (it prints 100 of 100 for its 1,000 features); or numbers of one's own.
    n_samples : int, default=100
        Rows.
    n_informative : int, default=7
        Features with an effect.
    noise : float, default=1.7
        Standard deviation of the noise.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    GroupedFeatures
        ``X``, ``y``, ``groups`` and ``coef``.

    Examples
    --------
    >>> from octavo.data import make_grouped_features
    >>> sample = make_grouped_features("equal", random_state=0)
    >>> sample.X.shape, int(sample.groups.max()) + 1
    ((100, 1000), 100)
    """
    counts = np.atleast_1d(np.asarray(LAYOUTS[sizes] if isinstance(sizes, str) else sizes))
    if counts.dtype.kind not in "iu" or counts.ndim != 1 or not counts.size or (counts < 1).any():
        raise ValueError(f"sizes must hold numbers of features, 1 or more each, got {sizes!r:.60}.")
    if n_informative > counts[0]:
        raise ValueError(
            f"n_informative must be at most the size {counts[0]} of the first group, "
            f"got {n_informative}."
        )
    p = int(counts.sum())
    _check_size(n_samples, p)
    rng = check_random_state(random_state)
    coef = np.zeros(p)
    coef[:n_informative] = 1.0
    X = rng.standard_normal((n_samples, p))
    y = X @ coef + noise * rng.standard_normal(n_samples)
    return GroupedFeatures(X, y, np.repeat(np.arange(counts.size), counts), coef)


@checked
@validate_params(
    {
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "n_features": [POSITIVE],
        "n_tasks": [POSITIVE],
        "block_size": [POSITIVE],
        "correlation": [Interval(Real, 0, 1, closed="left")],
        "noise": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_expression_endpoints(
    n_samples=100,
    n_features=5000,
    *,
    n_tasks=5,
    block_size=25,
    correlation=0.5,
    noise=0.5,
    random_state=None,
):
    """Draw expression levels in correlated blocks and a few clinical endpoints that share genes.

    Levels of a block have a common factor, so that any two of them have the same correlation. Three
    genes of different blocks act on all endpoints, and each endpoint has two more of its own.

    Parameters
    ----------
    n_samples : int, default=100
        Rows.
    n_features : int, default=5000
        Genes, at least one block for each gene with an effect.
    n_tasks : int, default=5
        Endpoints.
    block_size : int, default=25
        Genes of a block.
    correlation : float, default=0.5
        Correlation within a block.
    noise : float, default=0.5
        Variance of the noise.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    SharedFeatures
        ``X``, ``Y``, ``labels`` (1 at or above the mean of a column of Y) and ``coef``.

    Examples
    --------
    >>> from octavo.data import make_expression_endpoints
    >>> sample = make_expression_endpoints(random_state=0)
    >>> sample.X.shape, (sample.coef != 0).sum(axis=1).tolist()
    ((100, 5000), [5, 5, 5, 5, 5])
    """
    _check_size(n_samples, n_features)
    n_blocks = n_features // block_size
    if n_blocks < 3 + 2 * n_tasks:
        raise ValueError(
            f"n_features must hold {3 + 2 * n_tasks} blocks of {block_size}; {n_features} is less."
        )
    rng = check_random_state(random_state)
    block_of = np.minimum(np.arange(n_features) // block_size, n_blocks - 1)
    factors = rng.standard_normal((n_samples, n_blocks))
    own = rng.standard_normal((n_samples, n_features))
    X = np.sqrt(correlation) * factors[:, block_of] + np.sqrt(1.0 - correlation) * own
    blocks = rng.permutation(n_blocks)[: 3 + 2 * n_tasks]
    genes = blocks * block_size + rng.randint(block_size, size=blocks.size)
    coef = np.zeros((n_tasks, n_features))
    coef[:, genes[:3]] = rng.standard_normal((n_tasks, 3))
    for t in range(n_tasks):
        coef[t, genes[3 + 2 * t : 5 + 2 * t]] = rng.standard_normal(2)
    Y = X @ coef.T + np.sqrt(noise) * rng.standard_normal((n_samples, n_tasks))
    return SharedFeatures(X, Y, _above_mean(Y), coef)


@checked
@validate_params(
    {
        "n_words": [POSITIVE],
        "n_meanings": [Interval(Integral, 2, None, closed="left")],
        "n_rich": [Interval(Integral, 0, None, closed="left")],
        "rows_rich": [Interval(Integral, 4, None, closed="left")],
        "rows_poor": [Interval(Integral, 4, None, closed="left")],
        "rows_test": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_word_senses(
    n_words=12,
    *,
    n_meanings=6,
    n_rich=3,
    rows_rich=400,
    rows_poor=40,
    rows_test=200,
    random_state=None,
):
    """Draw words with two senses each, of which some mean the same as senses of other words.

    Features say whether something stands near the word, in groups of kinds of context (two of 10,
    two of 40, two of 200). A meaning has four features of one of the smaller groups and two of
    another, which stand near half of its uses and near 5 % of others. The first words have many
    rows, the others few.

    Parameters
    ----------
    n_words : int, default=12
        Words: tasks.
    n_meanings : int, default=6
        Meanings that senses are taken from.
    n_rich : int, default=3
        Words with many rows.
    rows_rich, rows_poor : int, default=400, 40
        Rows of those words, and of the others.
    rows_test : int, default=200
        Rows to test on, for each word.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    WordSenses
        ``tasks`` and ``tests``, lists of (X, y); ``groups``; ``meanings`` of shape (n_words, 2).

    Examples
    --------
    >>> from octavo.data import make_word_senses
    >>> words = make_word_senses(random_state=0)
    >>> words.tasks[0][0].shape, words.tasks[-1][0].shape
    ((400, 500), (40, 500))
    """
    _check_size(n_words * (max(rows_rich, rows_poor) + rows_test), 500)
    _check_size(n_meanings, 500)
    rng = check_random_state(random_state)
    sizes = np.array([10, 10, 40, 40, 200, 200])
    groups = np.repeat(np.arange(sizes.size), sizes)
    starts = np.r_[0, np.cumsum(sizes)[:-1]]
    rates = np.full((n_meanings, groups.size), 0.05)
    for m in range(n_meanings):
        small, other = rng.choice(4, 2, replace=False)
        for g, count in ((small, 4), (other, 2)):
            rates[m, starts[g] + rng.choice(sizes[g], count, replace=False)] = 0.5
    meanings = np.array([rng.choice(n_meanings, 2, replace=False) for _ in range(n_words)])
    tasks: list[tuple[np.ndarray, np.ndarray]] = []
    tests: list[tuple[np.ndarray, np.ndarray]] = []
    for w in range(n_words):
        rows = rows_rich if w < n_rich else rows_poor
        for found, n in ((tasks, rows), (tests, rows_test)):
            y = rng.permutation(n) % 2
            X = (rng.uniform(size=(n, groups.size)) < rates[meanings[w]][y]).astype(np.float64)
            found.append((X, y))
    return WordSenses(tasks, tests, groups, meanings)
