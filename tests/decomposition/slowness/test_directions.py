"""Directions against scipy's generalised eigenproblem, and against the rows themselves."""

import numpy as np
import pytest
from scipy.linalg import eigh

from octavo.decomposition.slowness.directions import slow_directions, slow_directions_svd


def series(seed, n=3000, d=6):
    """Return mixtures of autoregressive signals of different speeds."""
    rng = np.random.default_rng(seed)
    S = np.zeros((n, d))
    keep = np.linspace(0.99, 0.1, d)
    for t in range(1, n):
        S[t] = keep * S[t - 1] + rng.normal(size=d)
    return S @ rng.normal(size=(d, d)) + rng.normal(size=d)


def moments(X):
    centred, steps = X - X.mean(axis=0), np.diff(X, axis=0)
    return centred.T @ centred / len(X), steps.T @ steps / len(steps)


@pytest.mark.parametrize("seed", range(5))
def test_deltas_are_those_of_the_generalised_eigenproblem(seed):
    X = series(seed)
    C, D = moments(X)
    values, vectors = eigh(D, C)  # vectors have unit variance: Vᵀ C V = I
    found = slow_directions(C, D, 1e-7)
    assert found.rank == 6
    np.testing.assert_allclose(found.delta_values, values, rtol=1e-10)
    signs = np.sign(np.einsum("kj,jk->k", found.components @ C, vectors))
    np.testing.assert_allclose(found.components, signs[:, None] * vectors.T, rtol=1e-6, atol=1e-8)
    other = slow_directions_svd(X, np.array([len(X)]), 1e-7)
    np.testing.assert_allclose(other.delta_values, values, rtol=1e-10)


def test_dependent_signals_are_left_out():
    X = series(0)
    twice = np.column_stack([X, X @ np.ones(6), np.full(len(X), 7.0)])
    found = slow_directions(*moments(twice), 1e-7)
    assert found.rank == 6
    np.testing.assert_allclose(
        found.delta_values, slow_directions(*moments(X), 1e-7).delta_values, rtol=1e-6
    )


def test_singular_values_see_what_moments_cannot():
    # The difference of two columns is 1e-8 of them and slower than both: a variance of 1e-16.
    rng = np.random.default_rng(0)
    slow = np.sin(np.arange(5000) * 0.01)
    fast = rng.normal(size=5000)
    X = np.column_stack([fast, fast + 1e-8 * slow])
    found = slow_directions_svd(X, np.array([5000]), 1e-20)
    assert found.rank == 2
    assert found.delta_values[0] < 1e-3  # that of the sine is 2e-4
    assert slow_directions(*moments(X), 1e-20).rank == 1
