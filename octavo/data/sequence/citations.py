"""Simulated references of a bibliography: fields of several words in an order that styles set."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["make_citations"]

Segments = list[tuple[int, int, str]]

# Fields in order, as bibliographies have them. Numbers mean volume, pages or year by their place.
STYLES = (
    ("author", "title", "journal", "volume", "pages", "date"),
    ("author", "date", "title", "journal", "volume", "pages"),
    ("author", "title", "booktitle", "pages", "publisher", "date"),
    ("author", "date", "title", "booktitle", "publisher"),
    ("author", "title", "publisher", "date"),
    ("title", "author", "journal", "volume", "date"),
)
# Mean number of words beyond the first, size of the field's own vocabulary, kind of its words.
FIELDS = {
    "author": (2.0, 60, "capital"),
    "title": (5.0, 120, "lower"),
    "journal": (2.0, 30, "capital"),
    "booktitle": (4.0, 40, "capital"),
    "publisher": (1.0, 20, "capital"),
    "volume": (0.0, 40, "number"),
    "pages": (1.0, 40, "number"),
    "date": (0.3, 25, "number"),
}


@checked
def make_citations(
    n_sequences: int = 300,
    *,
    noise: float = 0.4,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[list[list[dict[str, str]]], list[Segments]]:
    """Simulate references to be cut into author, title, journal and so on.

    A reference follows one of six orders of fields. A word belongs to its field's own vocabulary
    or, as often as ``noise`` says, to one that all fields with words of its kind share.

    Parameters
    ----------
    n_sequences : int, default=300
        How many references.
    noise : float, default=0.4
        The fraction of words that do not tell their field.
    random_state : int, RandomState instance or None, default=None
        Source of randomness.

    Returns
    -------
    X : list of lists of dict
        The words, each with its ``word`` and its ``kind`` (capital, lower or number).
    segments : list of lists of (start, stop, label)
        The fields; neighbours have different labels.

    Examples
    --------
    >>> from octavo.data import make_citations
    >>> X, segments = make_citations(1, random_state=1)
    >>> len(X[0]) == segments[0][-1][1]
    True
    """
    if not 0 <= noise <= 1:
        raise ValueError(f"noise must be between 0 and 1, got {noise}.")
    if n_sequences < 1:
        raise ValueError(f"n_sequences must be at least 1, got {n_sequences}.")
    rng = check_random_state(random_state)
    X, segments = [], []
    for _ in range(n_sequences):
        words: list[dict[str, str]] = []
        fields: Segments = []
        for field in STYLES[rng.randint(len(STYLES))]:
            mean, size, kind = FIELDS[field]
            start = len(words)
            for _ in range(1 + rng.poisson(mean)):
                owner = kind if rng.uniform() < noise else field
                words.append({"word": f"{owner}{rng.randint(size)}", "kind": kind})
            fields.append((start, len(words), field))
        X.append(words)
        segments.append(fields)
    return X, segments
