"""Feedback arc sets beside all permutations."""

from itertools import permutations

import numpy as np
import pytest

from octavo.engine.graphs import feedback_arcs
from octavo.engine.graphs.feedback_arcs import (
    feedback_arcs_exact,
    feedback_arcs_local,
    majority_components,
    violated_weight,
)


def least_weight(weights):
    n = len(weights)
    return min(
        sum(weights[p[b], p[a]] for a in range(n) for b in range(a + 1, n))
        for p in permutations(range(n))
    )


def votes(seed, n=6, voters=5):
    rng = np.random.default_rng(seed)
    weights = np.zeros((n, n))
    for _ in range(voters):
        ranks = rng.permutation(n).astype(float)
        ranks[rng.random(n) < 0.3] = np.nan
        weights += ranks[:, None] < ranks[None, :]
    return weights


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("subsets", [2, 13])  # the integer program, and dynamic programming
def test_exact_is_the_best_of_all_permutations(seed, subsets, monkeypatch):
    monkeypatch.setattr(feedback_arcs, "SUBSETS", subsets)
    weights = votes(seed)
    order, weight = feedback_arcs_exact(weights)
    assert sorted(order) == list(range(6))
    assert weight == violated_weight(weights, order) == least_weight(weights)


def test_real_weights_and_a_tournament_that_is_one_cycle(monkeypatch):
    rng = np.random.default_rng(3)
    weights = rng.random((7, 7))
    for i in range(7):  # everyone beats the next, so that nothing decomposes
        weights[i, (i + 1) % 7] += 2
    assert len(majority_components(weights)) == 1
    expected = least_weight(weights)
    assert feedback_arcs_exact(weights).weight == pytest.approx(expected, abs=1e-12)
    monkeypatch.setattr(feedback_arcs, "SUBSETS", 2)
    assert feedback_arcs_exact(weights).weight == pytest.approx(expected, abs=1e-12)


def test_components_keep_the_majority():
    weights = votes(11, n=9)
    place = np.empty(9)
    for position, members in enumerate(majority_components(weights)):
        place[members] = position
    winner, loser = np.nonzero(weights > weights.T)
    assert (place[winner] <= place[loser]).all()


@pytest.mark.parametrize("seed", range(5))
def test_local_search_ends_where_no_insertion_helps(seed):
    weights = np.random.default_rng(seed).random((9, 9))
    order, weight = feedback_arcs_local(weights)
    assert weight >= feedback_arcs_exact(weights).weight - 1e-12
    for here in range(9):
        rest = np.delete(order, here)
        for there in range(9):
            other = np.insert(rest, there, order[here])
            assert violated_weight(weights, other) >= weight - 1e-10


def test_a_consistent_order_is_found_by_both():
    truth = np.array([3, 0, 4, 1, 2])
    ranks = np.argsort(truth)
    weights = (ranks[:, None] < ranks[None, :]).astype(float)
    for solve in (feedback_arcs_exact, feedback_arcs_local):
        order, weight = solve(weights)
        assert order.tolist() == truth.tolist()
        assert weight == 0
