"""Messages on forests against enumeration of all labellings."""

import itertools

import numpy as np
import pytest

from octavo.engine.graphs.spanning import random_tree, rooted_forest
from octavo.engine.trees.messages import max_product, sum_product


def forest(n, seed, cut=None):
    edges = random_tree(n, np.random.RandomState(seed))
    return rooted_forest(n, edges if cut is None else np.delete(edges, cut, axis=0))


def all_labellings(parent, scores):
    n, n_labels = scores.shape[0], scores.shape[-1]
    for labels in itertools.product(range(n_labels), repeat=n):
        yield (
            labels,
            sum(scores[v, labels[parent[v]] if parent[v] >= 0 else 0, labels[v]] for v in range(n)),
        )


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("cut", [None, 1])
@pytest.mark.parametrize("seed", range(4))
def test_sums_and_maxima_are_those_of_all_labellings(n_labels, cut, seed):
    n = 5
    parent, order = forest(n, seed, cut)
    scores = np.random.default_rng(seed).standard_normal((2, n, n_labels, n_labels))
    scores[1, 2, :, 0] = -np.inf  # a forbidden label
    log_partition, pairs = sum_product(parent, order, scores)
    value, labels = max_product(parent, order, scores)
    for problem in range(2):
        every = list(all_labellings(parent, scores[problem]))
        weights = np.exp([score for _, score in every])
        assert log_partition[problem] == pytest.approx(np.log(weights.sum()), abs=1e-12)
        expected = np.zeros((n, n_labels, n_labels))
        for (chosen, _), weight in zip(every, weights / weights.sum(), strict=True):
            for v in range(n):
                above = chosen[parent[v]] if parent[v] >= 0 else 0
                expected[v, above, chosen[v]] += weight
        np.testing.assert_allclose(pairs[problem], expected, atol=1e-12)
        best, score = max(every, key=lambda one: one[1])
        assert value[problem] == pytest.approx(score, abs=1e-12)
        assert tuple(labels[problem]) == best


def test_large_scores_do_not_overflow():
    parent, order = forest(4, 0)
    scores = 1e4 * np.random.default_rng(0).standard_normal((4, 2, 2))
    log_partition, pairs = sum_product(parent, order, scores)
    value, _ = max_product(parent, order, scores)
    assert log_partition == pytest.approx(float(value))
    assert np.isfinite(pairs).all()


def test_nothing_allowed_is_said_by_minus_infinity():
    parent, order = forest(3, 1)
    scores = np.zeros((3, 2, 2))
    scores[1] = -np.inf
    assert sum_product(parent, order, scores)[0] == -np.inf
