"""Losses of one structure: wrong labels, F1 of segments, or a function of the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Ints
from octavo.structured.output_search.evaluation import HammingEvaluation, LossEvaluation
from octavo.structured.output_search.procedures import Evaluation


@njit(cache=True, nogil=True)
def _segment_starts(labels, kinds, begins, starts):
    """Mark where segments start and return how many there are."""
    count, before = 0, -1
    for t in range(labels.size):
        kind = kinds[labels[t]]
        starts[t] = kind >= 0 and (begins[labels[t]] or kind != before)
        count += starts[t]
        before = kind
    return count


@njit(cache=True, nogil=True)
def segment_f1_loss(truth, found, kinds, begins):
    """Return 1 - F1 of the segments of one sequence: 0 if there are none on both sides."""
    n = truth.size
    in_truth, in_found = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    total = _segment_starts(truth, kinds, begins, in_truth)
    total += _segment_starts(found, kinds, begins, in_found)
    if total == 0:
        return 0.0
    right = 0
    for t in range(n):
        kind = kinds[truth[t]]
        if not (in_truth[t] and in_found[t] and kind == kinds[found[t]]):
            continue
        e = t + 1
        while e < n and not (in_truth[e] or in_found[e]):
            if kinds[truth[e]] != kind or kinds[found[e]] != kind:
                break
            e += 1
        ends = e == n or (in_truth[e] or kinds[truth[e]] != kind)
        ends = ends and (e == n or (in_found[e] or kinds[found[e]] != kind))
        right += 1 if ends else 0
    return 1.0 - 2.0 * right / total  # 1 - 2 · right / (true + found)


def segment_kinds(classes: NDArray[Any], outside: Any = None) -> tuple[Ints, np.ndarray]:
    """Return the kind of segment that each label belongs to (-1: none), and which begin one.

    Labels are BIO tags if all of them are "O", "B-..." or "I-..."; else a segment is a run of one
    label. ``outside`` is the label of what is no segment; None takes "O" or "outside".
    """
    names = classes.tolist()
    if outside is None:
        outside = next((label for label in ("O", "outside") if label in names), None)
    elif outside not in names:
        raise ValueError(
            f"outside={outside!r} is not among the labels of y, which are {names[:10]}."
        )
    others = [label for label in names if label != outside]
    tagged = bool(others) and all(
        isinstance(a, str) and a[:1] in ("B", "I") and a[1:2] in ("", "-") for a in others
    )
    place: dict[Any, int] = {}
    kinds = np.full(len(names), -1, dtype=np.int64)
    begins = np.zeros(len(names), dtype=np.bool_)
    for code, label in enumerate(names):
        if label == outside:
            continue
        kinds[code] = place.setdefault(label[2:] if tagged else label, len(place))
        begins[code] = tagged and label[0] == "B"
    return kinds, begins


class StructureLoss:
    """The loss of complete outputs, by name or as a function of two label arrays."""

    def __init__(self, loss: str | Callable[..., float], classes: NDArray[Any], outside: Any):
        self.loss, self.classes = loss, classes
        if loss == "f1":
            self.kinds, self.begins = segment_kinds(classes, outside)

    def value(self, truth: Ints, found: Ints, shape: tuple[int, int] | None = None) -> float:
        """Return the loss of one output, both given as label numbers."""
        if callable(self.loss):
            one, two = self.classes[truth], self.classes[found]
            if shape is not None:
                one, two = one.reshape(shape), two.reshape(shape)
            value = float(self.loss(one, two))
            if not np.isfinite(value):
                raise ValueError(
                    f"The loss must be a finite number, got {value} for an output of "
                    f"{truth.size} labels; check the function given as loss."
                )
            return value
        if self.loss == "f1":
            return float(segment_f1_loss(truth, found, self.kinds, self.begins))
        # wrong labels counted, not their share: √Δ is then at least one
        return float(np.count_nonzero(truth != found))

    def evaluation(self, truth: Ints, shape: tuple[int, int] | None = None) -> Evaluation:
        """Return what guides the expert's search in one structure."""
        if self.loss == "hamming":
            return HammingEvaluation(truth)
        return LossEvaluation(lambda labels: self.value(truth, labels, shape))


def _warmup() -> None:
    one = np.array([0, 1], dtype=np.int64)
    segment_f1_loss(one, one, one, np.array([False, True]))
