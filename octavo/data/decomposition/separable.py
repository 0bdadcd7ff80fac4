"""Separable matrices with noise, and corpora whose topics have anchor words.

`make_separable` follows section 6.1 of Mizutani (2014), "Ellipsoidal rounding for nonnegative
matrix factorization under noisy separability", JMLR 15:1011-1039, with points as rows.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, validate_params

__all__ = ["AnchorCorpus", "SeparableSample", "make_anchor_corpus", "make_separable"]

_COUNT = Interval(Integral, 1, None, closed="left")
_POSITIVE = Interval(Real, 0, None, closed="neither")
_AMOUNT = Interval(Real, 0, None, closed="left")


class SeparableSample(NamedTuple):
    """A noisy separable matrix X = weights @ basis + noise; rows `anchors` are those of `basis`."""

    X: np.ndarray
    anchors: np.ndarray
    basis: np.ndarray
    weights: np.ndarray


class AnchorCorpus(NamedTuple):
    """Word counts of documents (CSR), the main topic of each, the topics, and an anchor of each."""

    counts: sparse.csr_array
    labels: np.ndarray
    topics: np.ndarray
    anchors: np.ndarray


def _generator(random_state) -> np.random.Generator:
    """Return a Generator, whose normal deviates come three times as fast as RandomState's."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31))


@checked
@validate_params(
    {
        "n_samples": [_COUNT],
        "n_features": [_COUNT],
        "n_components": [_COUNT],
        "noise": [_AMOUNT],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_separable(
    n_samples=5_000, n_features=250, *, n_components=10, noise=0.0, random_state=None
):
    """Draw a separable matrix with Gaussian noise.

    The basis is uniform on [0, 1], the weights of the other rows are Dirichlet with parameters
    uniform on [0, 1], and the rows are in random order. Samples that differ in `noise` alone have
    the same basis, weights, order and direction of the noise.

    Parameters
    ----------
    n_samples : int, default=5_000
        Number of rows.
    n_features : int, default=250
        Number of columns.
    n_components : int, default=10
        Number of anchors.
    noise : float, default=0.0
        Standard deviation of the noise of each entry.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    SeparableSample
        X, the indices of its anchors, the basis and the weights.

    Examples
    --------
    >>> from octavo.data import make_separable
    >>> sample = make_separable(100, 20, n_components=3, random_state=0)
    >>> float(abs(sample.X[sample.anchors] - sample.basis).max())
    0.0
    """
    if n_components > n_samples:
        raise ValueError(
            f"n_components={n_components} must not exceed n_samples={n_samples}: each component "
            "is a row of X."
        )
    rng = _generator(random_state)
    basis = rng.uniform(size=(n_components, n_features))
    concentration = 1.0 - rng.uniform(size=n_components)  # in (0, 1]
    mixed = rng.dirichlet(concentration, size=n_samples - n_components)
    places = rng.permutation(n_samples)
    weights = np.empty((n_samples, n_components))
    weights[places] = np.vstack([np.eye(n_components), mixed])
    X = weights @ basis
    anchors = places[:n_components]
    X[anchors] = basis
    if noise > 0:
        X += noise * rng.standard_normal(X.shape)
    return SeparableSample(X, anchors, basis, weights)


@checked
@validate_params(
    {
        "n_documents": [_COUNT],
        "n_words": [_COUNT],
        "n_topics": [_COUNT],
        "n_anchors": [_COUNT],
        "length": [_POSITIVE],
        "concentration": [_POSITIVE],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_anchor_corpus(
    n_documents=1_000,
    n_words=2_000,
    *,
    n_topics=6,
    n_anchors=3,
    length=100.0,
    concentration=0.1,
    random_state=None,
):
    """Draw a corpus from latent Dirichlet allocation with words that only one topic uses.

    Parameters
    ----------
    n_documents : int, default=1_000
        Number of documents.
    n_words : int, default=2_000
        Size of the vocabulary; the first words are the anchors.
    n_topics : int, default=6
        Number of topics.
    n_anchors : int, default=3
        Anchor words of each topic. Each has one hundredth of the topic's probability.
    length : float, default=100.0
        Mean number of words of a document.
    concentration : float, default=0.1
        Parameter of the Dirichlet distributions of topics over documents; small values give
        documents of one topic.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    AnchorCorpus
        Counts, main topic of each document, topics, and the first anchor word of each topic.

    Examples
    --------
    >>> from octavo.data import make_anchor_corpus
    >>> corpus = make_anchor_corpus(50, 200, n_topics=3, random_state=0)
    >>> corpus.counts.shape, corpus.topics.shape
    ((50, 200), (3, 200))
    """
    n_reserved = n_topics * n_anchors
    if n_words <= n_reserved:
        raise ValueError(
            f"n_words={n_words} must exceed n_topics * n_anchors={n_reserved}, the words that "
            "only one topic uses."
        )
    rng = _generator(random_state)
    topics = np.zeros((n_topics, n_words))
    common = rng.dirichlet(np.full(n_words - n_reserved, 0.05), size=n_topics)
    topics[:, n_reserved:] = (1.0 - 0.01 * n_anchors) * common
    for k in range(n_topics):
        topics[k, k * n_anchors : (k + 1) * n_anchors] = 0.01
    topics /= topics.sum(axis=1, keepdims=True)
    shares = rng.dirichlet(np.full(n_topics, concentration), size=n_documents)
    lengths = np.maximum(rng.poisson(length, size=n_documents), 1)
    counts = sparse.vstack(
        [
            sparse.csr_array(rng.multinomial(n, share @ topics)[None, :].astype(float))
            for n, share in zip(lengths, shares)
        ],
        format="csr",
    )
    return AnchorCorpus(counts, shares.argmax(axis=1), topics, np.arange(n_topics) * n_anchors)
