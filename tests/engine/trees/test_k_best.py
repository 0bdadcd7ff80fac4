"""K-best lists of a tree are those of all labellings, sorted."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from octavo.engine.graphs.spanning import random_tree, rooted_forest
from octavo.engine.trees.k_best import k_best_labellings
from octavo.engine.trees.messages import max_product


def totals_of(parent, scores, labels):
    return np.array(
        [sum(scores[v, y[p] if p >= 0 else 0, y[v]] for v, p in enumerate(parent)) for y in labels]
    )


@pytest.mark.parametrize("seed", range(60))
def test_lists_are_those_of_enumeration(seed):
    random = np.random.RandomState(seed)
    n, L, K = random.randint(1, 8), random.randint(1, 4), random.randint(1, 40)
    parent, order = rooted_forest(n, random_tree(n, random))
    # rounded scores: ties must neither lose nor repeat a labelling
    scores = random.standard_normal((n, L, L)).round(random.randint(0, 3))
    labels, totals = k_best_labellings(parent, order, scores, K)
    everything = np.array(list(itertools.product(range(L), repeat=n)))
    expected = np.sort(totals_of(parent, scores, everything))[::-1][:K]
    assert_allclose(totals, expected, atol=1e-12)
    assert_allclose(totals_of(parent, scores, labels), totals, atol=1e-12)
    assert len(np.unique(labels, axis=0)) == len(labels)


def test_the_first_is_that_of_max_product():
    random = np.random.RandomState(0)
    parent, order = rooted_forest(50, random_tree(50, random))
    scores = random.standard_normal((50, 3, 3))
    labels, totals = k_best_labellings(parent, order, scores, 5)
    value, best = max_product(parent, order, scores)
    assert_allclose(totals[0], value)
    assert (labels[0] == best).all()
