"""Samples for the machines of an ensemble: which rows each of them is trained on.

Stratified samples keep the ratio of the classes, as Claesen, De Smet, Suykens and De Moor (2014,
section 2.2) recommend; balanced ones hold as many rows of each class; a partition deals every row
to one machine, so that p machines on n/p rows cost n²/p where one costs n² (section 1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

AUTO_SAMPLES = 2000
MAX_REDRAWS = 100


class SamplingPlan(NamedTuple):
    """What is asked of samples: kind, rows in each, with replacement or not, sizes by class."""

    sampling: str = "stratified"
    max_samples: Any = "auto"
    replace: bool = True
    n_neg: int | None = None
    n_pos: int | None = None


def draw_samples(
    y: np.ndarray,
    rows: np.ndarray,
    n_samples: int,
    plan: SamplingPlan,
    rng: np.random.RandomState,
) -> list[np.ndarray]:
    """Draw the rows of every machine.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Class of every row, 0 to n_classes − 1.
    rows : ndarray
        The rows that may be drawn.
    n_samples : int
        How many samples.
    plan : SamplingPlan
        What each of them is.
    rng : RandomState
        Source of chance.

    Returns
    -------
    list of ndarray
        Row numbers, sorted; a row drawn twice stands there twice.
    """
    groups = [rows[y[rows] == k] for k in range(int(y.max()) + 1)]
    if plan.sampling in ("bootstrap", "partition") and (plan.n_neg, plan.n_pos) != (None, None):
        raise ValueError(
            f"n_pos and n_neg set how many rows of each class a sample holds, which "
            f"sampling={plan.sampling!r} leaves to chance or to the partition: use 'stratified'."
        )
    if plan.sampling == "bootstrap":
        return [_plain_sample(y, rows, len(groups), plan, rng) for _ in range(n_samples)]
    if plan.sampling == "partition":
        return _partition(groups, n_samples, plan, rng)
    counts = sample_composition([len(group) for group in groups], plan)
    return [
        np.sort(
            np.concatenate([rng.choice(g, k, replace=plan.replace) for g, k in zip(groups, counts)])
        )
        for _ in range(n_samples)
    ]


def sample_size(max_samples: Any, n: int, *, replace: bool) -> int:
    """Return how many of n rows a sample takes."""
    if isinstance(max_samples, str):
        return min(n, AUTO_SAMPLES)
    if isinstance(max_samples, float):
        return max(1, round(max_samples * n))
    if max_samples > n and not replace:
        raise ValueError(
            f"max_samples={max_samples} rows cannot be drawn without replacement from the {n} "
            "rows there are."
        )
    return int(max_samples)


def sample_composition(available: list[int], plan: SamplingPlan) -> list[int]:
    """Return how many rows of each class a stratified or balanced sample holds."""
    K, n = len(available), sum(available)
    size = sample_size(plan.max_samples, n, replace=plan.replace)
    if plan.sampling == "balanced" and isinstance(plan.max_samples, str):
        size = min(size, K * min(available))
    if size < K:
        raise ValueError(
            f"A sample must hold a row of each of the {K} classes, and max_samples="
            f"{plan.max_samples!r} gives it {size}."
        )
    if plan.sampling == "balanced":
        # equal, the first classes one more where it must be
        counts = [size // K + (k < size % K) for k in range(K)]
    else:
        counts = keep_ratio(size, available)
    if (plan.n_neg, plan.n_pos) != (None, None):
        if K != 2:
            raise ValueError(f"n_pos and n_neg are for two classes; y has {K}.")
        counts = [
            own if asked is None else asked for own, asked in zip(counts, (plan.n_neg, plan.n_pos))
        ]
    if not plan.replace:
        for k in range(K):
            if counts[k] > available[k]:
                raise ValueError(
                    f"Without replacement a sample cannot hold {counts[k]} rows of class number "
                    f"{k}: there are {available[k]}. Ask for fewer, or set replace=True."
                )
    return counts


def keep_ratio(size: int, available: list[int]) -> list[int]:
    """Share `size` rows among classes by their frequency, within one row, at least one each."""
    exact = size * np.asarray(available) / sum(available)
    counts = np.floor(exact).astype(int)
    # the largest remainders round up
    short = np.argsort(counts - exact, kind="stable")[: size - counts.sum()]
    counts[short] += 1
    for k in np.flatnonzero(counts == 0):
        counts[np.argmax(counts)] -= 1
        counts[k] = 1
    return counts.tolist()


def _plain_sample(
    y: np.ndarray, rows: np.ndarray, K: int, plan: SamplingPlan, rng: np.random.RandomState
) -> np.ndarray:
    """Return rows drawn alike whatever their class, again where a class is missing."""
    size = sample_size(plan.max_samples, len(rows), replace=plan.replace)
    for _ in range(MAX_REDRAWS):
        drawn = np.sort(rng.choice(rows, size, replace=plan.replace))
        if len(np.unique(y[drawn])) == K:
            return drawn
    raise ValueError(
        f"{MAX_REDRAWS} bootstrap samples of {size} rows in a row missed one of the {K} classes: "
        "draw more rows with max_samples, or use sampling='stratified'."
    )


def _partition(
    groups: list[np.ndarray], n_parts: int, plan: SamplingPlan, rng: np.random.RandomState
) -> list[np.ndarray]:
    """Deal the rows of every class to disjoint samples."""
    n = sum(len(group) for group in groups)
    if isinstance(plan.max_samples, str):
        parts = [np.array_split(rng.permutation(group), n_parts) for group in groups]
        # The larger shares of one class go where those of another class do not.
        parts = [part if k % 2 == 0 else part[::-1] for k, part in enumerate(parts)]
    else:
        size = sample_size(plan.max_samples, n, replace=False)
        counts = keep_ratio(max(size, len(groups)), [len(group) for group in groups])
        parts = [
            np.split(rng.permutation(group)[: k * n_parts], n_parts)
            if k * n_parts <= len(group)
            else []
            for group, k in zip(groups, counts)
        ]
    for k, part in enumerate(parts):
        if not part or min(map(len, part)) == 0:
            raise ValueError(
                f"A partition into {n_parts} samples needs rows of every class for each; class "
                f"number {k} has {len(groups[k])} rows. Use fewer machines, smaller max_samples "
                "or sampling='stratified'."
            )
    return [np.sort(np.concatenate([part[b] for part in parts])) for b in range(n_parts)]
