"""Segments as labels of positions, and back: runs, BIO tags, and marks of where a segment ends.

A segmentation is a list of (start, stop, label), half-open, without gaps or overlaps.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from octavo.engine.chains.label_sequences import (
    LabelStack,
    classes_of,
    encode_labels,
    object_array,
    stack_labels,
)
from octavo.engine.estimators.arrays import Ints
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = [
    "EndMarkEncoder",
    "bio_to_segments",
    "labels_to_segments",
    "segments_to_bio",
    "segments_to_labels",
]

Segment = tuple[int, int, Hashable]


class SegmentStack(NamedTuple):
    """Segments of all sequences one after the other; ``counts`` is how many each sequence has."""

    counts: Ints
    start: Ints
    stop: Ints
    labels: list[Hashable]


def stack_segments(segments: Any, lengths: Ints, *, name: str = "segments") -> SegmentStack:
    """Return segmentations as flat arrays, after checking that they cover every sequence once."""
    if segments is None:
        raise ValueError(f"{name} is missing: this model learns from segmented sequences.")
    if isinstance(segments, str) or not hasattr(segments, "__len__"):
        raise ValueError(f"{name} must be a list of segmentations, got {segments!r}.")
    if len(segments) != lengths.size:
        raise ValueError(f"X has {lengths.size} sequences, but {name} has {len(segments)}.")
    starts, stops, labels, counts = [], [], [], []
    for q, (parts, length) in enumerate(zip(segments, lengths.tolist())):
        at = 0
        for i, part in enumerate(parts):
            start, stop, label = _checked_segment(part, f"{name}: sequence {q}, segment {i}")
            if start != at or stop <= start:
                raise ValueError(
                    f"{name}: sequence {q}, segment {i} is ({start}, {stop}), but must begin at "
                    f"{at} and have at least one position."
                )
            starts.append(start)
            stops.append(stop)
            labels.append(label)
            at = stop
        if at != length:
            raise ValueError(
                f"{name}: sequence {q} is covered up to position {at}, but has {length} positions."
            )
        counts.append(len(parts))
    sizes = np.array(counts, dtype=np.int64)
    flat = stack_labels(labels, sizes, name=name).labels
    return SegmentStack(sizes, np.array(starts), np.array(stops), flat)


def _checked_segment(part: Any, where: str) -> tuple[int, int, Any]:
    try:
        start, stop, label = part
    except (TypeError, ValueError):
        raise ValueError(f"{where} must be (start, stop, label), got {part!r}.") from None
    for end in (start, stop):
        if not isinstance(end, (int, np.integer)) or isinstance(end, bool):
            raise ValueError(f"{where}: ends must be integers, got {part!r}.")
    return int(start), int(stop), label


def encode_segments(stack: SegmentStack, classes: NDArray[Any], *, name: str = "segments") -> Ints:
    """Return the codes of the labels of segments; unknown labels are errors that say where."""
    place = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.array([place.get(label, -1) for label in stack.labels], dtype=np.int64)
    if codes.size and codes.min() < 0:
        row = int(np.argmin(codes))
        q = int(np.searchsorted(np.cumsum(stack.counts), row, side="right"))
        raise ValueError(
            f"{name}: sequence {q}, position {stack.start[row]}: label {stack.labels[row]!r} was "
            f"never seen in training, which has {classes.size} labels."
        )
    return codes


# --- runs ---------------------------------------------------------------------------------------


@checked
def labels_to_segments(labels: Sequence[Hashable]) -> list[Segment]:
    """Return the runs of equal labels as segments.

    Parameters
    ----------
    labels : sequence of hashable
        The labels of one sequence.

    Returns
    -------
    segments : list of (start, stop, label)
        Maximal runs.

    Examples
    --------
    >>> from octavo.sequence import labels_to_segments
    >>> labels_to_segments(["a", "a", "b"])
    [(0, 2, 'a'), (2, 3, 'b')]
    """
    values = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    segments: list[Segment] = []
    start = 0
    for t in range(1, len(values) + 1):
        if t == len(values) or values[t] != values[start]:
            segments.append((start, t, values[start]))
            start = t
    return segments


@checked
def segments_to_labels(segments: Sequence[Segment]) -> list[Hashable]:
    """Return the label of every position.

    Parameters
    ----------
    segments : list of (start, stop, label)
        A segmentation of one sequence.

    Returns
    -------
    labels : list
        One a position.

    Examples
    --------
    >>> from octavo.sequence import segments_to_labels
    >>> segments_to_labels([(0, 2, "a"), (2, 3, "b")])
    ['a', 'a', 'b']
    """
    labels: list[Hashable] = []
    for start, stop, label in segments:
        if start != len(labels) or stop <= start:
            raise ValueError(f"Segment ({start}, {stop}) does not begin at {len(labels)}.")
        labels += [label] * (stop - start)
    return labels


# --- BIO ----------------------------------------------------------------------------------------


@checked
def segments_to_bio(segments: Sequence[Segment], outside: str = "O") -> list[str]:
    """Return tags that tell the first position of a segment (B-) from the others (I-).

    Parameters
    ----------
    segments : list of (start, stop, label)
        A segmentation of one sequence.
    outside : str, default="O"
        The label of what is no segment; it is its own tag.

    Returns
    -------
    tags : list of str
        One a position.

    Examples
    --------
    >>> from octavo.sequence import segments_to_bio
    >>> segments_to_bio([(0, 2, "loc"), (2, 3, "O"), (3, 4, "loc")])
    ['B-loc', 'I-loc', 'O', 'B-loc']
    """
    segments_to_labels(segments)  # checks them
    tags: list[str] = []
    for start, stop, label in segments:
        if label == outside:
            tags += [outside] * (stop - start)
        else:
            tags += [f"B-{label}"] + [f"I-{label}"] * (stop - start - 1)
    return tags


@checked
def bio_to_segments(tags: Sequence[str], outside: str = "O") -> list[Segment]:
    """Return the segments that BIO tags tell; an I- tag without its beginning begins one.

    Parameters
    ----------
    tags : sequence of str
        Tags of one sequence.
    outside : str, default="O"
        The tag of what is no segment; runs of it are segments with that label.

    Returns
    -------
    segments : list of (start, stop, label)
        A segmentation without gaps.

    Examples
    --------
    >>> from octavo.sequence import bio_to_segments
    >>> bio_to_segments(["B-loc", "I-loc", "O", "B-loc", "B-loc"])
    [(0, 2, 'loc'), (2, 3, 'O'), (3, 4, 'loc'), (4, 5, 'loc')]
    """
    segments: list[Segment] = []
    for t, tag in enumerate(tags):
        if tag != outside and tag[:2] not in ("B-", "I-"):
            raise ValueError(
                f"Position {t}: expected {outside!r}, 'B-...' or 'I-...', got {tag!r}."
            )
        label = outside if tag == outside else str(tag[2:])
        goes_on = bool(segments) and segments[-1][2] == label and tag[:2] != "B-"
        if goes_on:
            segments[-1] = (segments[-1][0], t + 1, label)
        else:
            segments.append((t, t + 1, label))
    return segments


# --- marks of what is to come -------------------------------------------------------------------


class EndMarkEncoder(SoundEstimator):
    """Tell at its first position how a stretch of a sequence will end.

    In punctuation prediction a word's label is the mark that follows it, or none. A stretch of
    words ends with a mark; the label of its first word is extended by that mark, so that the
    beginning ("is", "what") and the end ("?") of a question meet in one pattern of labels.

    Parameters
    ----------
    outside : str, default="None"
        The label that ends no stretch.
    separator : str, default="-"
        What stands between the two parts of an extended label.

    Attributes
    ----------
    classes_ : ndarray
        The labels before they were extended.
    marked_classes_ : ndarray
        All labels that `transform` can return.

    Notes
    -----
    Do not use it where labels do not end stretches: it only multiplies the labels. There is
    nothing like it in scikit-learn.

    References
    ----------
    .. [1] N. V. Cuong, N. Ye, W. S. Lee and H. L. Chieu (2014). "Conditional Random Field with
       High-order Dependencies for Sequence Labeling and Segmentation". Journal of Machine
       Learning Research 15, Section 3.2.2.

    Examples
    --------
    >>> from octavo.sequence import EndMarkEncoder
    >>> encoder = EndMarkEncoder()
    >>> marked = encoder.fit_transform([["Comma", "None", "None", "Period"]])
    >>> marked[0].tolist()
    ['Comma-Comma', 'None-Period', 'None', 'Period']
    >>> encoder.inverse_transform(marked)[0].tolist()
    ['Comma', 'None', 'None', 'Period']
    """

    _parameter_constraints: dict[str, Any] = {"outside": [str], "separator": [str]}

    def __init__(self, outside: str = "None", separator: str = "-") -> None:
        self.outside = outside
        self.separator = separator

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, y: Any, lengths: Any = None) -> Self:
        """Learn the labels.

        Parameters
        ----------
        y : list of label sequences, or flat sequence of labels with ``lengths``
            Labels are strings.
        lengths : array-like of int, optional
            Lengths of the sequences of a flat y.

        Returns
        -------
        self : EndMarkEncoder
            Fitted.
        """
        stack = stack_labels(y, lengths)
        for row, label in enumerate(stack.labels):
            if not isinstance(label, str):
                raise ValueError(f"labels must be strings, got {label!r} as label {row}.")
        self.classes_ = classes_of(stack.labels)
        ends = [label for label in self.classes_.tolist() if label != self.outside]
        self._marked = {label: (label, None) for label in self.classes_.tolist()}
        for label in self.classes_.tolist():
            for end in ends if label == self.outside else [label]:
                self._marked[f"{label}{self.separator}{end}"] = (label, end)
        self.marked_classes_ = classes_of(self._marked)
        return self

    def fit_transform(self, y: Any, lengths: Any = None) -> Any:
        """Learn the labels and extend them.

        Parameters
        ----------
        y, lengths : sequences
            As in `fit`.

        Returns
        -------
        marked : list of ndarray, or ndarray
            As from `transform`.
        """
        return self.fit(y, lengths).transform(y, lengths)

    def transform(self, y: Any, lengths: Any = None) -> Any:
        """Extend the first label of every stretch by the mark that ends it.

        Parameters
        ----------
        y, lengths : sequences
            As in `fit`.

        Returns
        -------
        marked : list of ndarray, or ndarray
            A stretch that the sequence cuts off before its end is not extended.
        """
        check_is_fitted(self)
        stack = stack_labels(y, lengths)
        codes = encode_labels(stack, self.classes_)
        names = self.classes_.tolist()
        marked: list[Hashable] = []
        row = 0
        for length in stack.lengths.tolist():
            labels = [names[code] for code in codes[row : row + length]]
            ends = [t for t, label in enumerate(labels) if label != self.outside]
            begins = [0, *(t + 1 for t in ends)]
            for begin, end in zip(begins, ends):
                # Section 3.2.2: the mark at the end, told at the beginning
                labels[begin] = f"{labels[begin]}{self.separator}{names[codes[row + end]]}"
            marked += labels
            row += length
        return self._as_given(marked, stack, y, lengths)

    def inverse_transform(self, y: Any, lengths: Any = None) -> Any:
        """Take the marks off again.

        Parameters
        ----------
        y, lengths : sequences
            Labels as from `transform`.

        Returns
        -------
        labels : list of ndarray, or ndarray
            Labels as given to `fit`.
        """
        check_is_fitted(self)
        stack = stack_labels(y, lengths)
        encode_labels(stack, self.marked_classes_)
        plain = [self._marked[str(label)][0] for label in stack.labels]
        return self._as_given(plain, stack, y, lengths)

    def _as_given(self, labels: list[Any], stack: LabelStack, y: Any, lengths: Any) -> Any:
        array = np.array(labels) if labels else object_array([])
        nested = lengths is None and all(isinstance(part, (list, np.ndarray)) for part in y)
        return np.split(array, np.cumsum(stack.lengths)[:-1]) if nested else array
