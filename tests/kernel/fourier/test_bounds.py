"""Bounds of Fourier features: their formulas, and that they hold where they can be checked."""

import math

import numpy as np
import pytest

from octavo.kernel import (
    greedy_rate_bound,
    greedy_sample_size,
    pointwise_fourier_bound,
    uniform_fourier_bound,
)


def test_greedy_sequences_stay_below_the_rate():
    """A target that is a known convex combination, steps of 1/(m + 1), best feature each time."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, (200, 2))
    features = np.cos(x @ rng.standard_normal((2, 60)) + rng.uniform(-np.pi, np.pi, 60)).T
    features /= np.sqrt(200)  # the norm is then that of L²(ρ) on these rows
    target = rng.dirichlet(np.ones(60)) @ features
    radius = np.linalg.norm(features - target, axis=1).max()
    f = features[0]
    for m in range(1, 300):
        assert np.linalg.norm(f - target) <= greedy_rate_bound(m, radius) + 1e-12
        steps = (m * f + features) / (m + 1)
        f = steps[np.argmin(np.linalg.norm(steps - target, axis=1))]


def test_rate_is_its_formula():
    m, K, eps = 16, 1.5, 0.5
    assert greedy_rate_bound(m, K, eps) == pytest.approx(2.0 / 4 * math.sqrt(2 + 4 / 32))


def test_sample_size_is_its_formula_and_falls_with_epsilon():
    n = greedy_sample_size(
        0.3, 0.1, bound=2.0, amplitude=1.5, frequency=2.0, offset=1.0, radius=3.0, lipschitz=0.5
    )
    inner = 192 * 1.5 * 7.0 * 2.0 * 0.5 / 0.3 * math.log(2) + math.log(
        2 * math.ceil(48 * 2 * 1.5 / 0.3) + 1
    )
    assert n == math.ceil(288 * 4 / 0.3 * (inner + math.log(10)))
    # The covering number of eq. (3.1) makes it grow like 1/ε².
    kinds = {"bound": 1.0, "amplitude": 1.0, "frequency": 1.0, "radius": 1.0}
    ratio = greedy_sample_size(1e-4, 0.1, **kinds) / greedy_sample_size(1e-3, 0.1, **kinds)
    assert ratio == pytest.approx(100, rel=0.01)


def test_probabilities_are_capped_and_fall():
    assert pointwise_fourier_bound(1, 1e-3) == 1.0
    assert pointwise_fourier_bound(400, 0.2) == pytest.approx(2 * math.exp(-4))
    kinds = {"n_features": 3, "diameter": 2.0, "second_moment": 3.0}
    assert uniform_fourier_bound(10, 0.1, **kinds) == 1.0
    value = uniform_fourier_bound(100_000, 0.1, **kinds)
    assert value == pytest.approx(256 * (4 * 3 / 0.01) * math.exp(-1000 / 20))


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: greedy_rate_bound(0, 1.0),
        lambda: greedy_rate_bound(5, -1.0),
        lambda: pointwise_fourier_bound(10, 0.0),
        lambda: greedy_sample_size(0.1, 1.0, bound=1.0, amplitude=1.0, frequency=1.0, radius=1.0),
    ],
)
def test_impossible_values_are_refused(attempt):
    with pytest.raises(ValueError, match="must be"):
        attempt()
