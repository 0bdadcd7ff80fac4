"""The law of nested partitions, draws from it, and point estimates."""

import numpy as np
import pytest

from octavo.bayes import (
    edp_log_partition_prob,
    nested_crp_sample,
    partition_estimate,
    square_breaking_sample,
)
from octavo.cluster import variation_of_information
from octavo.engine.discrete.set_partitions import set_partitions
from tests.bayes.enriched_dp.enumerated import nested_partitions


@pytest.mark.parametrize(("n", "count"), [(1, 1), (2, 3), (3, 12), (4, 60), (5, 358)])
def test_probabilities_sum_to_one(n, count):
    logs = [edp_log_partition_prob(y, x, 0.7, 1.9) for y, x in nested_partitions(n)]
    assert len(logs) == count
    assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-12)


def test_names_of_labels_do_not_matter():
    one = edp_log_partition_prob([0, 0, 1, 1], [0, 1, 0, 0], 1.0, 2.0)
    assert one == pytest.approx(edp_log_partition_prob([7, 7, 3, 3], [5, 2, 2, 2], 1.0, 2.0))


def test_simulator_has_the_moments_of_the_process():
    draws = [nested_crp_sample(12, 1.5, 0.8, random_state=s) for s in range(3000)]
    k = np.array([y.max() + 1 for y, _ in draws])
    exact = (1.5 / (1.5 + np.arange(12))).sum()
    assert abs(k.mean() - exact) < 5 * k.std() / np.sqrt(k.size)
    same = np.array([y[0] == y[1] and x[0] == x[1] for y, x in draws])
    assert abs(same.mean() - 1 / 2.5 / 1.8) < 5 * np.sqrt(0.25 / same.size)


def test_sticks_have_the_moments_of_the_process():
    pairs = [square_breaking_sample(2.0, 0.5, 60, 60, random_state=s) for s in range(400)]
    ties = np.array([(w**2).sum() for w, _ in pairs])
    nested = np.array([(w**2 * (v**2).sum(axis=1)).sum() for w, v in pairs])
    assert abs(ties.mean() - 1 / 3) < 5 * ties.std() / np.sqrt(ties.size)
    assert abs(nested.mean() - 1 / 3 / 1.5) < 5 * nested.std() / np.sqrt(nested.size)


@pytest.mark.parametrize("n", [5, 8])
def test_estimates_have_the_least_expected_loss(n):
    rng = np.random.default_rng(n)
    draws = np.array([nested_crp_sample(n, 1.0, 1.0, random_state=s)[0] for s in range(12)])
    draws = np.vstack([draws, np.tile(draws[:1], (4, 1))])[rng.permutation(16)]
    states = set_partitions(n)
    vi = [np.mean([variation_of_information(s, d) for d in draws]) for s in states[:400]]
    found = partition_estimate(draws)
    ours = np.mean([variation_of_information(found, d) for d in draws])
    assert ours <= min(vi) + 1e-10
    same = (draws[:, :, None] == draws[:, None, :]).mean(axis=0)
    binder = [np.abs((s[:, None] == s) - same).sum() for s in states]
    found = partition_estimate(draws, loss="binder")
    assert np.abs((found[:, None] == found) - same).sum() <= min(binder) + 1e-10


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: edp_log_partition_prob([0, 1], [0], 1.0, 1.0), "same rows"),
        (lambda: edp_log_partition_prob([0], [0], 0.0, 1.0), "alpha_theta must be positive"),
        (lambda: nested_crp_sample(0), "n must be at least 1"),
        (lambda: square_breaking_sample(1.0, -1.0), "alpha_psi"),
        (lambda: square_breaking_sample(1.0, 1.0, 0), "n_theta"),
        (lambda: partition_estimate([[0, 1]], loss="l2"), "loss"),
        (lambda: partition_estimate([[0, np.nan]]), "labels"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
