"""Counts of words in documents, checked, and laid out token by token for the sampler."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.sparse_rows import validate_rows

# One token is 8 bytes in the sampler; above this a table is no bag of words.
MOST_TOKENS = 2**31 - 1


class Corpus(NamedTuple):
    """Documents as runs of word numbers.

    Attributes
    ----------
    words : ndarray of shape (n_tokens,), int32
        The word of each token, document by document.
    starts : ndarray of shape (n_documents + 1,), int64
        Where each document begins.
    n_words : int
        Size of the vocabulary.
    """

    words: NDArray[np.int32]
    starts: Ints
    n_words: int

    @property
    def lengths(self) -> Floats:
        """Number of tokens of each document."""
        return np.diff(self.starts).astype(np.float64)


def _first_place(X: Any, wrong: Any) -> tuple[int, int]:
    """Return row and column of the first stored entry that is wrong."""
    at = int(np.flatnonzero(wrong)[0])
    return int(np.searchsorted(X.indptr, at, side="right") - 1), int(X.indices[at])


def check_counts(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return a table of counts as CSR in canonical form; refuse anything that does not count.

    Parameters
    ----------
    estimator : estimator
        Whose data these are.
    X : {array-like, sparse matrix} of shape (n_documents, n_words)
        How often each word stands in each document.
    reset : bool
        Whether the number of words is learned from X, or must be the one seen in fit.

    Returns
    -------
    counts : csr_array
        Float64.
    """
    X = validate_rows(estimator, X, accept_sparse="csr", dtype=np.float64, reset=reset)
    X = sp.csr_array(X)
    for wrong, what in (
        (X.data < 0.0, "negative"),
        (X.data != np.floor(X.data), "not a whole number"),
    ):
        if wrong.any():
            row, column = _first_place(X, wrong)
            raise ValueError(
                f"X must hold counts, whole numbers of at least 0; the entry in row {row}, column "
                f"{column} is {X.data[np.flatnonzero(wrong)[0]]:g}, {what}."
            )
    if (total := X.data.sum()) > MOST_TOKENS:
        raise ValueError(
            f"X must hold at most {MOST_TOKENS} words in all, each of which is drawn a topic; "
            f"got {total:g}."
        )
    return X


def as_corpus(X: Any) -> Corpus:
    """Lay counts out token by token.

    Parameters
    ----------
    X : csr_array of shape (n_documents, n_words)
        As `check_counts` returns it.

    Returns
    -------
    corpus : Corpus
        Equal words of a document stand side by side.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from octavo.bayes.max_margin_topics.corpora import as_corpus
    >>> corpus = as_corpus(sp.csr_array([[2, 0, 1], [0, 1, 0]]))
    >>> corpus.words.tolist(), corpus.starts.tolist()
    ([0, 0, 2, 1], [0, 3, 4])
    """
    counts = X.data.astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(counts)])[X.indptr]
    words = np.repeat(X.indices.astype(np.int32), counts)
    return Corpus(words, ends.astype(np.int64), int(X.shape[1]))


def appended(one: Corpus, other: Corpus) -> Corpus:
    """Return the documents of one corpus and then those of another, over the same words."""
    words = np.concatenate([one.words, other.words])
    return Corpus(words, np.append(one.starts, other.starts[1:] + one.starts[-1]), one.n_words)


def refuse_empty(corpus: Corpus) -> None:
    """Raise where a document has no words, and name it."""
    empty = np.flatnonzero(np.diff(corpus.starts) == 0)
    if empty.size:
        raise ValueError(
            f"Row {empty[0]} of X has no words, and {empty.size} of {corpus.starts.size - 1} rows "
            "are so: leave such documents out of fit."
        )
