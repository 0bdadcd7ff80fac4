"""The averaged perceptron against its definition, written without sparse rows or lazy sums."""

import numpy as np
import pytest
from sklearn.utils import check_random_state

from octavo.engine.streams.perceptron_passes import fit_perceptron


def by_definition(X, codes, n_labels, n_passes, seed):
    """Return the mean of the weights after every visit, the start counted as one."""
    rng, w = check_random_state(seed), np.zeros((n_labels, X.shape[1] + 1))
    rows, total, visits = np.hstack([X, np.ones((len(X), 1))]), w.copy(), 1
    for _ in range(n_passes):
        for i in rng.permutation(len(X)):
            scores = w @ rows[i]
            best = int(np.argmax(np.where(np.arange(n_labels) == codes[i], -np.inf, scores)))
            if scores[best] >= scores[codes[i]]:
                w[codes[i]] += rows[i]
                w[best] -= rows[i]
            total += w
            visits += 1
    return total / visits


@pytest.mark.parametrize("n_labels", [2, 5])
@pytest.mark.parametrize("n_passes", [1, 60])  # not compiled, and compiled
@pytest.mark.parametrize("whole", [True, False])
def test_weights_are_those_of_the_definition(n_labels, n_passes, whole):
    rng = np.random.default_rng(n_labels)
    X = (rng.uniform(size=(200, 20)) < 0.4) * (1.0 if whole else rng.normal(size=(200, 20)))
    y = rng.integers(0, n_labels, 200)
    model = fit_perceptron(X, 3 * y + 1, n_passes=n_passes, seed=7)
    mean = by_definition(X, y, n_labels, n_passes, 7)
    if n_labels == 2:
        mean = mean[1:] - mean[:1]
    np.testing.assert_allclose(model.coef_, mean[:, :-1], atol=1e-9)
    np.testing.assert_allclose(model.intercept_, mean[:, -1], atol=1e-9)
    assert set(model.predict(X)) <= {3 * k + 1 for k in range(n_labels)}


def test_steps_end_with_the_first_pass_without_an_error():
    X, y = np.eye(6), np.arange(6) % 3
    model = fit_perceptron(X, y, n_passes=100, seed=0)
    assert model.n_iter_ < 10
    np.testing.assert_array_equal(model.predict(X), y)
    mean = by_definition(X, y, 3, 100, 0)  # makes all the passes
    np.testing.assert_allclose(model.coef_, mean[:, :-1], atol=1e-12)


def test_the_mean_forgets_the_last_rows():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(4, 10))
    y = rng.integers(0, 4, 4000)
    X = centres[y] + 1.5 * rng.normal(size=(4000, 10))
    model = fit_perceptron(X[:2000], y[:2000], n_passes=20, seed=0)
    best = np.argmin(((X[2000:, None] - centres) ** 2).sum(axis=2), axis=1)  # knows the centres
    assert np.mean(model.predict(X[2000:]) == y[2000:]) > np.mean(best == y[2000:]) - 0.03
