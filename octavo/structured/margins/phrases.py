"""Phrase pairs that agree with a word alignment, and how far phrases jump.

A pair of spans agrees with an alignment when at least one link lies inside both and no link leads
from inside one to outside the other. Spans are half-open, positions count from 0.

References: P. Koehn, F. J. Och and D. Marcu (2003), "Statistical phrase-based translation", NAACL;
Ni, Saunders, Szedmak and Niranjan (2011), JMLR 12: eq. (1), Figures 3 and 4.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.checked import checked

__all__ = [
    "PhrasePair",
    "extract_phrase_pairs",
    "orientation",
    "read_pharaoh",
    "reordering_distances",
]

_LINK = re.compile(r"^(\d+)-(\d+)$")
Span = tuple[int, int]
Alignment = set[tuple[int, int]]


class PhrasePair(NamedTuple):
    """Half-open spans ``source`` and ``target`` of a sentence pair: words start to stop - 1."""

    source: Span
    target: Span


def words_of(sentence: Any, name: str = "A sentence") -> list[str]:
    """Return the words of a sentence, given as a list of words or as text with blanks."""
    if isinstance(sentence, str):
        return sentence.split()
    if not isinstance(sentence, Sequence) and not isinstance(sentence, np.ndarray):
        raise ValueError(f"{name} must be a list of words or a string, got {sentence!r}.")
    return [str(word) for word in sentence]


def checked_alignment(alignment: Any, n_source: int, n_target: int) -> Alignment:
    """Return links as a set of pairs of integers; refuse links beyond the sentences."""
    links: Alignment = set()
    if not isinstance(alignment, Iterable):
        raise ValueError(f"An alignment must be pairs of word positions (i, j), got {alignment!r}.")
    for link in alignment:
        try:
            i, j = (int(k) for k in link)
            whole = (i, j) == tuple(link)
        except (TypeError, ValueError):
            whole = False
        if not whole:
            raise ValueError(f"An alignment must be pairs of word positions (i, j), got {link!r}.")
        if not (0 <= i < n_source and 0 <= j < n_target):
            raise ValueError(
                f"Link {i}-{j} of an alignment lies beyond the sentences, which have {n_source} "
                f"and {n_target} words; positions count from 0."
            )
        links.add((i, j))
    return links


def _lines_of(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8: {error.reason} at {error.start}.") from error


def read_pharaoh(path: Any) -> list[Alignment]:
    """Read word alignments in Pharaoh format, one sentence pair per line: ``0-0 1-2``.

    Parameters
    ----------
    path : path, str or iterable of str
        A file, the text itself, or its lines.

    Returns
    -------
    alignments : list of set of (int, int)
        Links (source position, target position), counted from 0; empty for an empty line.

    Examples
    --------
    >>> from octavo.structured import read_pharaoh
    >>> [sorted(links) for links in read_pharaoh(["0-0 1-2", ""])]
    [[(0, 0), (1, 2)], []]
    """
    lines: Iterable[str]
    if isinstance(path, os.PathLike):
        lines = _lines_of(Path(path))
    elif isinstance(path, str):
        is_text = "\n" in path or not path.strip() or _LINK.match(path.split()[0])
        lines = path.splitlines() if is_text else _lines_of(Path(path))
    elif isinstance(path, Iterable):
        lines = path
    else:
        raise ValueError(f"Alignments are read from a path, a text or lines, got {path!r}.")
    alignments = []
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise ValueError(f"Line {number} of an alignment must be text, got {line!r}.")
        found = [_LINK.match(word) for word in line.split()]
        if not all(found):
            bad = next(word for word, match in zip(line.split(), found) if not match)
            raise ValueError(
                f"Line {number} of an alignment holds {bad!r}, where links such as 0-2 were "
                "expected."
            )
        alignments.append({(int(m[1]), int(m[2])) for m in found if m})
    return alignments


def _reaches(links: Alignment, n: int, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and last position that each word of one side is linked to."""
    first, last = np.full(n, 1 << 30), np.full(n, -1)
    for link in links:
        here, there = link[side], link[1 - side]
        first[here] = min(first[here], there)
        last[here] = max(last[here], there)
    return first, last


@checked
def extract_phrase_pairs(
    source: Any,
    target: Any,
    alignment: Any,
    max_length: int = 8,
    *,
    extend_unaligned: bool = True,
) -> list[PhrasePair]:
    """Return all phrase pairs that agree with a word alignment.

    Parameters
    ----------
    source, target : sequence of str or str
        Words of the two sentences.
    alignment : set of (int, int)
        Links (source position, target position), counted from 0.
    max_length : int, default=8
        Most words of a phrase, on either side.
    extend_unaligned : bool, default=True
        Whether phrases may begin and end with words that have no link, as is usual.

    Returns
    -------
    pairs : list of PhrasePair
        By source span, then target span; none where nothing is linked.

    Examples
    --------
    >>> from octavo.structured import extract_phrase_pairs
    >>> for pair in extract_phrase_pairs("das Haus", "the house", {(0, 0), (1, 1)}):
    ...     print(pair)
    PhrasePair(source=(0, 1), target=(0, 1))
    PhrasePair(source=(0, 2), target=(0, 2))
    PhrasePair(source=(1, 2), target=(1, 2))
    """
    if max_length < 1:
        raise ValueError(f"A phrase has at least one word, got max_length={max_length!r}.")
    n, m = len(words_of(source, "The source")), len(words_of(target, "The target"))
    links = checked_alignment(alignment, n, m)
    first, last = (reach.tolist() for reach in _reaches(links, n, 0))
    back_first, back_last = (reach.tolist() for reach in _reaches(links, m, 1))
    free = [extend_unaligned and reach < 0 for reach in back_last]
    pairs = []
    for i in range(n):
        if not extend_unaligned and last[i] < 0:
            continue
        low, high = first[i], last[i]
        for k in range(i + 1, min(i + max_length, n) + 1):
            low, high = min(low, first[k - 1]), max(high, last[k - 1])
            if high - low >= max_length:
                break  # a longer source span reaches further still
            if high < 0 or (not extend_unaligned and last[k - 1] < 0):
                continue
            # a link leads from the target span to a word outside the source span
            if min(back_first[low : high + 1]) < i or max(back_last[low : high + 1]) >= k:
                continue
            for start, stop in _extensions(low, high + 1, free, m, max_length):
                pairs.append(PhrasePair((i, k), (start, stop)))
    return pairs


def _extensions(low: int, high: int, free: Any, m: int, longest: int) -> list[Span]:
    """Return the span and all that add unlinked words at its ends, in order."""
    starts, stops = [low], [high]
    while starts[-1] > 0 and free[starts[-1] - 1]:
        starts.append(starts[-1] - 1)
    while stops[-1] < m and free[stops[-1]]:
        stops.append(stops[-1] + 1)
    return sorted((a, b) for a in starts for b in stops if b - a <= longest)


@checked
def orientation(distance: Any, n_classes: int = 3, *, threshold: int = 5) -> Any:
    """Return the class of a jump, the smallest distances first.

    Parameters
    ----------
    distance : int or array-like of int
        d, positive for a jump backwards.
    n_classes : {3, 5}, default=3
        d < 0, d = 0, d > 0; or d ≤ -5, -5 < d < 0, d = 0, 0 < d < 5, d ≥ 5 (Figure 4).
    threshold : int, default=5
        Where long jumps begin, with five classes.

    Returns
    -------
    orientation : int or ndarray of int
        Class numbers from 0.

    Examples
    --------
    >>> from octavo.structured import orientation
    >>> orientation(-1), orientation([-7, -1, 0, 2, 5], n_classes=5).tolist()
    (0, [0, 1, 2, 3, 4])
    """
    if n_classes not in (3, 5):
        raise ValueError(f"Jumps have 3 or 5 classes, got n_classes={n_classes!r}.")
    if threshold < 2:
        raise ValueError(f"Long jumps begin at 2 or later, got threshold={threshold!r}.")
    values = np.asarray(distance)
    if values.dtype.kind not in "iu" and not (
        values.dtype.kind == "f" and np.all(values == np.floor(values))
    ):
        raise ValueError(f"Distances are whole numbers of words, got {distance!r}.")
    classes = 1 + np.sign(values).astype(np.int64)
    if n_classes == 5:
        # d ≤ -5, -5 < d < 0, 0, 0 < d < 5, d ≥ 5 (Section 2.1)
        classes = 2 + np.sign(values).astype(np.int64) * (1 + (np.abs(values) >= threshold))
    return int(classes) if classes.ndim == 0 else classes


@checked
def reordering_distances(derivation: Sequence[Any]) -> np.ndarray:
    """Return how far each phrase of a translation jumps from the one before.

    Equation (1) with its sign: the last source position of the phrase before, plus one, less the
    first of this one. Negative jumps go forward, 0 is monotone, positive ones go back.

    Parameters
    ----------
    derivation : sequence of PhrasePair
        Phrases in the order of the target.

    Returns
    -------
    distances : ndarray of int of shape (n_phrases,)
        The first phrase jumps from the beginning of the sentence.

    Examples
    --------
    >>> from octavo.structured import PhrasePair, reordering_distances
    >>> swapped = [PhrasePair((1, 2), (0, 1)), PhrasePair((0, 1), (1, 2))]
    >>> reordering_distances(swapped).tolist()
    [-1, 2]
    """
    before, distances = 0, []
    for pair in derivation:
        start, stop = spans_of(pair).source
        # Eq. (1) without its absolute value: classes need the sign
        distances.append(before - start)
        before = stop
    return np.array(distances, dtype=np.int64)


def spans_of(pair: Any) -> PhrasePair:
    """Return a phrase pair given as such or as two spans; refuse spans that hold no word."""
    try:
        (a, b), (c, d) = pair
        good = all(int(k) == k for k in (a, b, c, d)) and 0 <= a < b and 0 <= c < d
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ValueError(
            f"A phrase pair must be two half-open spans with at least a word each, got {pair!r}."
        )
    return PhrasePair((int(a), int(b)), (int(c), int(d)))
