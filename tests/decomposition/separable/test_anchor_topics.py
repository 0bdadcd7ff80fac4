"""Topics by anchor words: the recipe step by step, planted topics, empty documents."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import nnls
from sklearn.feature_extraction.text import CountVectorizer

from octavo.data import make_anchor_corpus
from octavo.decomposition import AnchorTopics, EllipsoidalRoundingNMF, SuccessiveProjection


@pytest.fixture(scope="module")
def corpus():
    return make_anchor_corpus(300, 200, n_topics=3, random_state=0)


def by_hand(counts):
    """Return tf-idf weights of section 6.2 with unit l1 norm a document."""
    df = (counts > 0).sum(axis=0)
    A = counts * np.where(df > 0, np.log(len(counts) / np.maximum(df, 1)), 0.0)
    return A / np.abs(A).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("contributions", ["low-rank", "original"])
@pytest.mark.filterwarnings("ignore:.*hold nothing:UserWarning")
def test_the_recipe_step_by_step(corpus, contributions):
    counts = corpus.counts.toarray()
    A = by_hand(counts)
    model = AnchorTopics(3, contributions=contributions).fit(corpus.counts)
    assert set(model.anchor_indices_) == set(
        EllipsoidalRoundingNMF(3, axis="features").fit(A).anchor_indices_
    )
    u, s, v = np.linalg.svd(A, full_matrices=False)
    low = u[:, :3] * s[:3] @ v[:3]
    F = (low if contributions == "low-rank" else A)[:, model.anchor_indices_]
    np.testing.assert_allclose(model.contributions_, F, atol=1e-10)
    labels = np.where((F > 0).any(axis=1), F.argmax(axis=1), -1)
    np.testing.assert_array_equal(model.labels_, labels)
    # The topics fit the approximation of low rank as well as the matrix: F lies in its span.
    for word in range(0, 200, 17):
        expected = nnls(F, (low if contributions == "low-rank" else A)[:, word])[0]
        np.testing.assert_allclose(model.topics_[:, word], expected, atol=1e-8)


@pytest.mark.parametrize("method", ["er-spa", "spa", "er-xray-max", "er-xray-dist", "er-xray-rand"])
def test_planted_topics_are_found(method):
    """Documents of one topic each, from topics without a word in common but for noise."""
    corpus = make_anchor_corpus(300, 60, n_topics=3, concentration=1e-3, random_state=1)
    model = AnchorTopics(3, method=method, random_state=0).fit(corpus.counts)
    heaviest = corpus.topics[:, model.anchor_indices_].argmax(axis=0)
    assert sorted(heaviest) == [0, 1, 2]
    share = np.mean(heaviest[model.labels_] == corpus.labels)
    assert share > 0.95


def test_dense_sparse_and_frames_agree(corpus):
    counts = corpus.counts.toarray()
    names = [f"word{i}" for i in range(200)]
    frame = AnchorTopics(3).fit(pd.DataFrame(counts, columns=names))
    for X in (counts, corpus.counts, corpus.counts.tocsc()):
        model = AnchorTopics(3).fit(X)
        np.testing.assert_array_equal(model.labels_, frame.labels_)
        np.testing.assert_allclose(model.topics_, frame.topics_, atol=1e-9)
        assert [f"word{i}" for i in model.anchor_words_] == frame.anchor_words_.tolist()


def test_new_documents_are_labelled_as_old_ones(corpus):
    model = AnchorTopics(3).fit(corpus.counts)
    np.testing.assert_array_equal(model.predict(corpus.counts), model.labels_)
    np.testing.assert_allclose(model.transform(corpus.counts), model.contributions_, atol=1e-12)
    np.testing.assert_array_equal(AnchorTopics(3).fit_predict(corpus.counts), model.labels_)


def test_top_words_are_the_heaviest_without_the_anchor(corpus):
    model = AnchorTopics(3).fit(corpus.counts)
    for anchor, topic, words in zip(model.anchor_indices_, model.topics_, model.top_words(4)):
        assert len(words) == 4
        assert anchor not in words
        rest = np.delete(topic, [anchor, *words])
        assert topic[words].min() >= rest.max()


def test_texts():
    texts = ["goal match team goal", "team match score", "vote party law", "law vote election"] * 5
    vectorizer = CountVectorizer().fit(texts)
    model = AnchorTopics(2).fit(vectorizer.transform(texts))
    assert model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3]


def test_documents_without_words_are_told(corpus):
    X = sparse.vstack([corpus.counts[:50], sparse.csr_array((2, 200))], format="csr")
    with pytest.warns(UserWarning, match="2 of 52 documents hold nothing of any topic"):
        model = AnchorTopics(3).fit(X)
    assert model.labels_[-2:].tolist() == [-1, -1]
    assert np.isfinite(model.topics_).all()


@pytest.mark.parametrize(
    ("X", "n_topics", "words"),
    [
        (np.ones((6, 4)), 2, "Every word stands in every document"),
        (
            np.repeat(np.eye(3), 4, axis=0),
            4,
            "exceeds the rank of X weighted by tf-idf, which is 3",
        ),
        (-np.eye(4), 2, "Negative values"),
        (np.zeros((4, 4)), 2, "rank of X, which is 0"),
        (np.full((4, 4), np.nan), 2, "NaN"),
    ],
    ids=range(5),
)
def test_bad_input(X, n_topics, words):
    with pytest.raises(ValueError, match=words):
        AnchorTopics(n_topics).fit(X)


def test_spa_is_plain_spa(corpus):
    A = by_hand(corpus.counts.toarray())
    model = AnchorTopics(3, method="spa").fit(corpus.counts)
    plain = SuccessiveProjection(3, axis="features").fit(A)
    np.testing.assert_array_equal(model.anchor_indices_, plain.anchor_indices_)


def test_words_that_stand_everywhere_are_told_apart_from_no_words():
    X = np.random.default_rng(0).integers(1, 9, size=(20, 6)).astype(float)
    assert np.linalg.matrix_rank(X) == 6
    with pytest.raises(ValueError, match=r"Every word stands in every document.*tfidf=False"):
        AnchorTopics(2).fit(X)
    AnchorTopics(2, tfidf=False).fit(X)
    with pytest.raises(ValueError, match="exceeds the rank of X, which is 0"):
        AnchorTopics(2).fit(0 * X)
