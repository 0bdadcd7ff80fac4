"""How well segments were found, and whether one system beats another by more than chance.

Reference for the test: E. W. Noreen (1989), "Computer Intensive Methods for Testing Hypotheses";
A. Yeh (2000), "More accurate tests for the statistical significance of result differences". Used
in Section 3.2 of Cuong, Ye, Lee and Chieu (2014).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = ["RandomizationTest", "approximate_randomization", "segment_f1"]

Segments = Sequence[Sequence[tuple[int, int, Hashable]]]


@checked
def segment_f1(
    y_true: Segments,
    y_pred: Segments,
    *,
    average: str | None = "micro",
    outside: Hashable = None,
) -> Any:
    """Return the F1 score of predicted segments; one counts if both ends and label are right.

    Parameters
    ----------
    y_true, y_pred : list of segmentations
        Lists of (start, stop, label), one a sequence.
    average : {"micro", "macro", None}, default="micro"
        F1 of all segments together, the mean over labels, or a dictionary of labels.
    outside : hashable, optional
        The label of what is no segment; it is not counted.

    Returns
    -------
    f1 : float, or dict of label to float
        Zero where a label is neither there nor predicted rightly.

    Examples
    --------
    >>> from octavo.sequence import segment_f1
    >>> truth = [[(0, 2, "loc"), (2, 3, "O")], [(0, 1, "per")]]
    >>> found = [[(0, 2, "loc"), (2, 3, "O")], [(0, 1, "loc")]]
    >>> segment_f1(truth, found, outside="O")
    0.5
    """
    if average not in ("micro", "macro", None):
        raise ValueError(f"average must be 'micro', 'macro' or None, got {average!r}.")
    labels, counts = _segment_counts(y_true, y_pred, outside)
    total = counts.sum(axis=0)
    if average == "micro":
        return _f1(total.sum(axis=0))
    by_label = {label: _f1(row) for label, row in zip(labels, total)}
    if average is None:
        return by_label
    return float(np.mean(list(by_label.values()))) if by_label else 0.0


def _segment_counts(
    y_true: Segments, y_pred: Segments, outside: Hashable
) -> tuple[list[Hashable], Floats]:
    """Return labels, and by sequence and label: how many are right, there and predicted."""
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true has {len(y_true)} sequences, but y_pred has {len(y_pred)}.")
    pairs = [
        ({tuple(s) for s in truth}, {tuple(s) for s in found})
        for truth, found in zip(y_true, y_pred)
    ]
    labels = sorted(
        {s[2] for pair in pairs for side in pair for s in side if s[2] != outside}, key=repr
    )
    place = {label: i for i, label in enumerate(labels)}
    counts = np.zeros((len(pairs), len(labels), 3))
    for q, (truth, found) in enumerate(pairs):
        for column, side in enumerate((truth & found, truth, found)):
            for segment in side:
                if segment[2] in place:
                    counts[q, place[segment[2]], column] += 1
    return labels, counts


def _f1(counts: Floats) -> Any:
    """Return 2 right / (there + predicted) along the last axis."""
    right, there, predicted = np.moveaxis(counts, -1, 0)
    f1 = 2 * right / np.maximum(there + predicted, 1)
    return float(f1) if f1.ndim == 0 else f1


def _accuracy(counts: Floats) -> Any:
    return counts[..., 0] / np.maximum(counts[..., 1], 1)


class RandomizationTest(NamedTuple):
    """Result of `approximate_randomization`.

    ``difference`` is the metric of A less that of B; ``pvalue`` bounds the chance of one as large
    (either way) if the systems were exchangeable; ``n_as_large`` of ``n_shuffles`` shuffles were.
    """

    difference: float
    pvalue: float
    n_as_large: int
    n_shuffles: int


@checked
def approximate_randomization(
    metric: str | Callable[[Any, Any], float],
    y_true: Sequence[Any],
    y_a: Sequence[Any],
    y_b: Sequence[Any],
    n_shuffles: int = 9999,
    *,
    outside: Hashable = None,
    random_state: Any = None,
) -> RandomizationTest:
    """Test whether two systems differ by more than chance.

    The outputs of the systems are swapped at random, sequence by sequence; if that yields as
    large a difference as the one observed often enough, the difference means nothing.

    Parameters
    ----------
    metric : {"segment_f1", "accuracy"} or callable
        What is compared. A function takes (y_true, y_pred) and is called for every shuffle; the
        two named ones are computed for all shuffles at once.
    y_true, y_a, y_b : lists, one entry a sequence
        The truth and the outputs: segmentations for "segment_f1", label sequences for "accuracy".
    n_shuffles : int, default=9999
        How many shuffles.
    outside : hashable, optional
        The label that "segment_f1" does not count.
    random_state : int, RandomState instance or None, default=None
        Source of randomness.

    Returns
    -------
    test : RandomizationTest
        Named tuple (difference, pvalue, n_as_large, n_shuffles); the p-value is (n_as_large + 1) /
        (n_shuffles + 1), so that it is 1 for two equal systems and never 0.

    Examples
    --------
    >>> from octavo.sequence import approximate_randomization
    >>> truth = [["a", "b"]] * 12
    >>> half = [["a", "a"]] * 12
    >>> test = approximate_randomization("accuracy", truth, truth, half, random_state=0)
    >>> test.difference, round(test.pvalue, 4)
    (0.5, 0.0003)
    """
    if not len(y_true) == len(y_a) == len(y_b) or len(y_true) == 0:
        raise ValueError(
            "y_true, y_a and y_b must have the same number of sequences, at least one, got "
            f"{len(y_true)}, {len(y_a)} and {len(y_b)}."
        )
    if n_shuffles < 1:
        raise ValueError(f"n_shuffles must be at least 1, got {n_shuffles}.")
    rng = check_random_state(random_state)
    if isinstance(metric, str):
        observed, differences = _shuffled_counts(metric, y_true, y_a, y_b, n_shuffles, outside, rng)
    else:
        observed = float(metric(y_true, y_a)) - float(metric(y_true, y_b))
        differences = np.empty(n_shuffles)
        for s in range(n_shuffles):
            # under the null hypothesis outputs of a sequence may change sides
            swap = rng.uniform(size=len(y_true)) < 0.5
            one = [b if w else a for a, b, w in zip(y_a, y_b, swap)]
            two = [a if w else b for a, b, w in zip(y_a, y_b, swap)]
            differences[s] = metric(y_true, one) - metric(y_true, two)
    # A tolerance of rounding: a shuffle that undoes itself must count as large as the observed.
    as_large = int(np.sum(np.abs(differences) >= abs(observed) - 1e-12))
    # the observed assignment counts as one of the shuffles
    return RandomizationTest(observed, (as_large + 1) / (n_shuffles + 1), as_large, n_shuffles)


def _shuffled_counts(
    metric: str, y_true: Any, y_a: Any, y_b: Any, n_shuffles: int, outside: Hashable, rng: Any
) -> tuple[float, Floats]:
    """Return the observed difference and those of all shuffles from counts by sequence."""
    if metric == "segment_f1":
        a, b = (_segment_counts(y_true, y, outside)[1].sum(axis=1) for y in (y_a, y_b))
        value = _f1
    elif metric == "accuracy":
        a, b = (_label_counts(y_true, y) for y in (y_a, y_b))
        value = _accuracy
    else:
        raise ValueError(f"metric must be 'segment_f1', 'accuracy' or callable, got {metric!r}.")
    total_a, total_b, change = a.sum(axis=0), b.sum(axis=0), b - a
    differences = np.empty(n_shuffles)
    for first in range(0, n_shuffles, 1000):
        size = min(1000, n_shuffles - first)
        # counts add up over sequences: a shuffle is a product with coins
        moved = (rng.uniform(size=(size, len(a))) < 0.5).astype(np.float64) @ change
        differences[first : first + size] = value(total_a + moved) - value(total_b - moved)
    return float(value(total_a) - value(total_b)), differences


def _label_counts(y_true: Any, y_pred: Any) -> Floats:
    """Return by sequence how many labels are right and how many there are."""
    counts = np.empty((len(y_true), 2))
    for q, (truth, found) in enumerate(zip(y_true, y_pred)):
        if len(truth) != len(found):
            raise ValueError(
                f"Sequence {q} has {len(truth)} labels in truth, but {len(found)} predicted."
            )
        counts[q] = sum(a == b for a, b in zip(truth, found)), len(truth)
    return counts
