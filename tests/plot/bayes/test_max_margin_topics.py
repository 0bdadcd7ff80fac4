"""Pictures of topics show the fitted numbers."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from octavo.bayes import GibbsLDA, GibbsMedLDAClassifier
from octavo.data import make_labelled_topics
from octavo.plot import (
    plot_class_topics,
    plot_document_topics,
    plot_topic_sweeps,
    plot_topic_weights,
    plot_topic_words,
)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    X, y = make_labelled_topics(60, n_classes=3, n_words=40, doc_length=20, random_state=0)
    return GibbsMedLDAClassifier(4, n_iter=5, random_state=0).fit(X, y), X


def test_weights(fitted):
    ax = plot_topic_weights(fitted[0], n=2)
    assert_allclose(ax.images[0].get_array(), fitted[0].coef_)
    assert len(ax.get_xticklabels()) == 4
    with pytest.raises(ValueError, match="know no label"):
        plot_topic_weights(GibbsLDA(2, n_iter=2).fit(fitted[1]))


def test_bars_of_classes(fitted):
    heights = [bar.get_height() for bar in plot_class_topics(fitted[0]).patches]
    assert_allclose(heights, fitted[0].class_topic_profile_.ravel())


def test_words_of_a_topic(fitted):
    ax = plot_topic_words(fitted[0], 1, n=5)
    widths = sorted((bar.get_width() for bar in ax.patches), reverse=True)
    assert_allclose(widths, np.sort(fitted[0].components_[1])[::-1][:5])


def test_sweeps(fitted):
    ax = plot_topic_sweeps(fitted[0])
    assert_allclose(ax.lines[0].get_ydata(), fitted[0].log_likelihoods_)


def test_a_document(fitted):
    ax = plot_document_topics(fitted[0], fitted[1][:1], n=6)
    assert len(ax.texts) == min(6, fitted[1][:1].nnz)
