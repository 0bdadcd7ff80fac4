"""The generator of modalities: means, noise, flips."""

import numpy as np
import pytest

from octavo.data import make_modalities


def test_class_means_are_as_far_apart_as_asked():
    X, y, groups = make_modalities(40_000, (3.0, 0.0), n_informative=2, random_state=0)
    apart = X[y == 1].mean(axis=0) - X[y == -1].mean(axis=0)
    # standard error of a difference of means: 2 / sqrt(n) = 0.01
    assert abs(np.linalg.norm(apart[groups == 0]) - 3.0) < 0.05
    assert np.abs(apart[groups == 1]).max() < 0.05
    assert abs(y.mean()) < 1e-9


def test_flips_change_a_share_of_labels():
    plain = make_modalities(5000, random_state=1)
    noisy = make_modalities(5000, flip=0.2, random_state=1)
    np.testing.assert_array_equal(plain.X, noisy.X)
    assert abs((plain.y != noisy.y).mean() - 0.2) < 0.025  # four standard errors


def test_bad_strengths():
    with pytest.raises(ValueError, match="finite"):
        make_modalities(10, (np.nan, 1.0))
