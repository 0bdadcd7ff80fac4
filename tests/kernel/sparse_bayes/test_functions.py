import numpy as np
import pytest
from scipy.stats import binom

from octavo.engine.mcmc.enumeration import all_subsets, exact_law, frequencies, total_variation
from octavo.kernel import cusum_hairiness, reversible_jump_subset


@pytest.mark.parametrize("method", ["reversible-jump", "stochastic-search"])
def test_subsets_follow_the_law_that_is_given(method):
    """40,000 moves are worth some 4,000 draws of 16 states: a total variation of about 0.015."""
    pull = np.array([0.5, -1.0, 0.3, 0.0])

    def log_post(mask):
        return float(pull @ mask - 1.0 * (mask[0] and mask[1]))

    masks = reversible_jump_subset(log_post, 4, 4, 40_000, random_state=0, method=method)
    assert masks.dtype == bool
    states = all_subsets(4)
    assert total_variation(frequencies(masks, states), exact_law(log_post, states)) < 0.03


def test_impossible_subsets_are_never_drawn():
    def log_post(mask):
        return 0.0 if mask.sum() == 2 else -np.inf

    masks = reversible_jump_subset(log_post, 5, 3, 2_000, random_state=1)
    assert np.all(masks[10:].sum(axis=1) <= 2)


def test_seeds():
    one, two = (reversible_jump_subset(lambda m: 0.0, 5, 5, 100, 3) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_k_max_above_n_is_n():
    with pytest.warns(UserWarning, match="k_max=9 is more than there is"):
        masks = reversible_jump_subset(lambda m: 5.0 * m.sum(), 3, 9, 200, random_state=0)
    assert masks.shape == (200, 3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n": 0}, "n must be a positive"),
        ({"k_max": 0}, "k_max must be a positive"),
        ({"n_iter": 0}, "n_iter must be a positive"),
        ({"method": "gibbs"}, "method must be one of"),
        ({"log_post": lambda m: np.nan}, "NaN"),
    ],
)
def test_bad_values_are_refused(changes, words):
    settings = {"log_post": lambda m: 0.0, "n": 3, "k_max": 2, "n_iter": 10}
    with pytest.raises(ValueError, match=words):
        reversible_jump_subset(**settings | changes)


def test_hairiness_counts_turns_of_the_sums():
    x = np.random.default_rng(0).normal(size=50)
    sums = np.cumsum(x - x.mean())
    steps = np.diff(np.concatenate([[0.0], sums]))
    turns = [steps[i] * steps[i + 1] < 0 for i in range(49)]
    path, bounds = cusum_hairiness(x)
    np.testing.assert_allclose(path, np.cumsum(turns) / np.arange(1, 50))
    assert path.shape == (49,)
    assert bounds.shape == (49, 2)


def test_bounds_hold_nine_times_in_ten():
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(1000):
        path, bounds = cusum_hairiness(rng.normal(size=400))
        inside += bounds[-1, 0] < path[-1] < bounds[-1, 1]
    assert binom.sf(inside - 1, 1000, 0.9) > 1e-5
    assert binom.cdf(inside, 1000, 0.9) > 1e-5


@pytest.mark.parametrize("x", [[1.0, 2.0], [[1.0, 2.0, 3.0]], [1.0, np.nan, 2.0]])
def test_what_is_no_chain_is_refused(x):
    with pytest.raises(ValueError, match="x must"):
        cusum_hairiness(x)
