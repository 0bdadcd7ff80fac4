"""Centring of Gram matrices is that of explicit features."""

import numpy as np
import pytest

from octavo.engine.kernels.gram import Kernel
from octavo.engine.kernels.whole_gram import CentredGram, cross_gram, gram_of


def test_centring_is_that_of_the_features():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(20, 3)), rng.normal(size=(7, 3))
    mean = X.mean(axis=0)
    kernel = Kernel("linear")
    K, means = CentredGram.of(gram_of(kernel, X))
    np.testing.assert_allclose(K, (X - mean) @ (X - mean).T, atol=1e-12)
    rows = cross_gram(kernel, new, X)
    np.testing.assert_allclose(means.rows(rows), (new - mean) @ (X - mean).T, atol=1e-12)
    squares = means.squares(kernel.diagonal(new), rows)
    np.testing.assert_allclose(squares, ((new - mean) ** 2).sum(axis=1), atol=1e-12)


def test_a_function_of_the_wrong_shape_is_refused():
    kernel = Kernel("callable", function=lambda A, B: np.ones(3))
    with pytest.raises(ValueError, match="each pair of rows"):
        cross_gram(kernel, np.ones((4, 2)), np.ones((4, 2)))
