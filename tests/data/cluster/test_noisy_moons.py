"""Two moons and their background."""

import numpy as np

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
