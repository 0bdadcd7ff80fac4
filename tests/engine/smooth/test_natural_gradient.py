"""Steps of a Gaussian search distribution against finite differences of its log density."""

import numpy as np
import pytest
from scipy.linalg import expm

from octavo.engine.smooth.natural_gradient import (
    SearchGaussian,
    climb_in_box,
    default_rate,
    log_utilities,
    natural_step,
)


@pytest.mark.parametrize("n", [3, 12])
def test_a_step_is_the_matrix_exponential_of_the_natural_gradient(n):
    rng = np.random.default_rng(n)
    d = 5
    S, u = rng.standard_normal((n, d)), log_utilities(n)
    shape = expm(
        0.2 * (lambda A: A + A.T - np.eye(d) * 2 * np.trace(A) / d)(rng.normal(size=(d, d)))
    )
    here = SearchGaussian(rng.normal(size=d), 0.7, shape)
    there = natural_step(here, S, u)
    # Algorithm 5, written out: ∇_M = Σ u (s sᵀ - I), A ← A exp(η/2 ∇_M) with one rate.
    gradient = (S.T * u) @ S - u.sum() * np.eye(d)
    A = here.scale * here.shape @ expm(default_rate(d) / 2 * gradient)
    np.testing.assert_allclose(there.scale * there.shape, A, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(there.mean, here.mean + here.scale * here.shape @ (u @ S))


def test_utilities_sum_to_zero_and_fall():
    u = log_utilities(10)
    assert abs(u.sum()) < 1e-15
    assert np.all(np.diff(u) <= 0)


def test_a_climb_finds_a_peak_inside_and_one_on_the_boundary():
    for peak in (np.array([0.3, 0.8, 0.5]), np.array([1.0, 0.0, 0.4])):
        best = climb_in_box(
            lambda X, peak=peak: -np.sum((X - peak) ** 2, axis=1),
            np.full(3, 0.5),
            0.2,
            n_calls=2400,
            popsize=24,
            rng=np.random.RandomState(0),
        )
        np.testing.assert_allclose(best, peak, atol=1e-3)
