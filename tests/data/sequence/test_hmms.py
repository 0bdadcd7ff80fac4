"""Sequences of the four HMMs have the moments that the HMMs say."""

import numpy as np
import pytest

from octavo.data import make_hmm_sequences


@pytest.mark.parametrize("experiment", ["means", "variances", "transitions"])
def test_late_positions_have_the_stationary_moments(experiment):
    n = 4000
    X, y, models = make_hmm_sequences(
        experiment, n_per_class=n, length=30, noise=0.3, random_state=0, return_models=True
    )
    assert len(X) == len(y)
    assert np.bincount(y).tolist() == [n] * 4 == [n] * len(models)
    for c, (transitions, means, variance) in enumerate(models):
        np.testing.assert_allclose(transitions.sum(axis=1), 1.0)
        state = np.full(3, 1 / 3) @ np.linalg.matrix_power(transitions, 29)
        last = np.array([x[-1, 0] for x, label in zip(X, y) if label == c])
        mean = state @ means
        spread = state @ (means - mean) ** 2 + variance + 0.3
        assert abs(last.mean() - mean) < 4 * np.sqrt(spread / n)
        assert abs(last.var() - spread) < 4 * spread * np.sqrt(2 / n)  # near enough to normal


def test_neighbours_follow_the_transitions():
    """With next to no noise and variance 0.05 the states are read off the values."""
    X, y, models = make_hmm_sequences(
        "variances", n_per_class=50, noise=0.0, random_state=1, return_models=True
    )
    rows = [np.rint(x[:, 0]).clip(1, 3).astype(int) - 1 for x, c in zip(X, y) if c == 3]
    counts = np.zeros((3, 3))
    for states in rows:
        np.add.at(counts, (states[:-1], states[1:]), 1)
    found = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, models[3][0], atol=0.05)


def test_seeds_and_bad_arguments():
    one, other = (make_hmm_sequences(n_per_class=1, random_state=3)[0] for _ in range(2))
    np.testing.assert_array_equal(one[2], other[2])
    with pytest.raises(ValueError, match="experiment must be one of means, variances"):
        make_hmm_sequences("colours")
    with pytest.raises(ValueError, match="noise not negative"):
        make_hmm_sequences(noise=-1.0)
