"""Simulated documents have the law that the docstring tells."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from octavo.data import make_labelled_topics


def test_shares_and_lengths():
    X, y, theta = make_labelled_topics(
        2000, n_classes=3, n_topics=8, n_words=50, doc_length=30, return_shares=True, random_state=0
    )
    assert_array_equal(X.sum(axis=1), 30)
    assert_allclose(theta.sum(axis=1), 1.0)
    own = theta[np.arange(2000), y]
    assert own.min() >= 0.12 / 1.12  # of a sum of at most 1.12
    assert_allclose(np.bincount(y) / 2000, 1 / 3, atol=4 * 0.011)


def test_seeds_and_bad_sizes():
    one, two = (make_labelled_topics(20, random_state=3)[0] for _ in "ab")
    assert (one != two).nnz == 0
    with pytest.raises(ValueError, match="n_topics must be at least 3"):
        make_labelled_topics(10, n_topics=2)
