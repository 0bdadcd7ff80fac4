"""Moments of classes: bad rows are refused before they become moments."""

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.svm import class_moments

X, y = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((X * np.nan, y), "NaN"),
        ((sp.csr_array(X * 1e155), y), "squared lengths"),
        ((X * 1e155, y), "squared lengths"),
        ((X * 1j, y), "[Cc]omplex"),
        ((X, [0, 1, np.nan, 1]), "y must hold"),
        ((X, y[:3]), "inconsistent"),
        ((X, y, [1, 1, np.nan, 1]), "NaN"),
        ((X, y, [1, 1, -1, 1]), "[Nn]egative"),
    ],
)
def test_bad_rows(arguments, words):
    with pytest.raises(ValueError, match=words):
        class_moments(*arguments)


def test_lists_of_weights_count_rows():
    zero, _ = class_moments(X, y, [2, 1, 1, 1])
    again, _ = class_moments(np.vstack([X, X[:1]]), [*y, 0])
    np.testing.assert_allclose(zero.mean, again.mean)
    np.testing.assert_allclose(zero.cov, again.cov)
    assert zero.n == again.n
