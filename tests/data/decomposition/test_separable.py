"""Separable samples and corpora are what they say."""

import numpy as np
import pytest

from octavo.data import make_anchor_corpus, make_separable


def test_separable_sample():
    sample = make_separable(50, 8, n_components=3, random_state=0)
    np.testing.assert_allclose(sample.X, sample.weights @ sample.basis, atol=1e-14)
    np.testing.assert_array_equal(sample.X[sample.anchors], sample.basis)
    np.testing.assert_allclose(sample.weights.sum(axis=1), 1.0)
    assert sample.basis.min() >= 0
    assert sample.basis.max() <= 1


def test_noise_alone_differs_and_has_its_size():
    plain = make_separable(200, 50, noise=0.0, random_state=1)
    small, large = (make_separable(200, 50, noise=s, random_state=1).X for s in (0.1, 0.3))
    np.testing.assert_allclose(large - plain.X, 3 * (small - plain.X), atol=1e-12)
    assert np.std(small - plain.X) == pytest.approx(0.1, rel=0.05)  # ten thousand deviates


def test_corpus_has_its_topics():
    corpus = make_anchor_corpus(400, 100, n_topics=4, n_anchors=2, random_state=0)
    np.testing.assert_allclose(corpus.topics.sum(axis=1), 1.0)
    for topic, anchor in enumerate(corpus.anchors):
        assert np.flatnonzero(corpus.topics[:, anchor]).tolist() == [topic]
    lengths = corpus.counts.sum(axis=1)
    assert lengths.min() >= 1
    # Poisson(100), 400 documents: a mean has an error of 10 / 20.
    assert lengths.mean() == pytest.approx(100, abs=4.5 * 0.5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: make_separable(3, 4, n_components=5), "n_components=5 must not exceed"),
        (lambda: make_separable(3, 4, noise=-1.0), "'noise'"),
        (lambda: make_anchor_corpus(5, 10, n_topics=5, n_anchors=2), "n_words=10 must exceed"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
