"""Two moons and their background."""

import numpy as np
import pytest
from scipy.stats import kstest

from octavo.data import make_noisy_moons


def test_moons_without_blur_lie_on_their_circles():
    X, y = make_noisy_moons(200, 50, noise=0.0, random_state=0)
    upper, lower = X[y == 0], X[y == 1]
    np.testing.assert_allclose(np.linalg.norm(upper, axis=1), 1.0)
    np.testing.assert_allclose(np.linalg.norm(lower - [1.0, 0.5], axis=1), 1.0)
    assert (upper[:, 1] >= 0).all()
    assert (lower[:, 1] <= 0.5).all()
    box = X[y == -1]
    assert len(box) == 50
    assert (box >= [-1.5, -1.0]).all()
    assert (box <= [2.5, 1.5]).all()


def test_the_blur_has_its_size_and_halves_are_whole():
    X, y = make_noisy_moons(2000, 100, noise=0.0, random_state=1)
    blurred, same = make_noisy_moons(2000, 100, noise=0.1, random_state=1)
    np.testing.assert_array_equal(y, same)
    assert np.bincount(y + 1).tolist() == [100, 1000, 1000]
    np.testing.assert_array_equal(blurred[y == -1], X[y == -1])
    off = (blurred - X)[y >= 0]
    # 4000 deviates: relative error 1 / √8000
    assert off.std() == pytest.approx(0.1, rel=4.5 / np.sqrt(8000))
    for k, angle in enumerate(
        (np.arctan2(X[:, 1], X[:, 0]), np.arctan2(0.5 - X[:, 1], 1 - X[:, 0]))
    ):
        assert kstest(angle[y == k], "uniform", (0, np.pi)).pvalue > 1e-4
