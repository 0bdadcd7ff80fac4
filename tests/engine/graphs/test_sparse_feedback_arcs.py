"""Searching along arcs reaches orders that no single move improves, as all-pairs search does."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.engine.graphs.feedback_arcs import feedback_arcs_local, violated_weight
from octavo.engine.graphs.sparse_feedback_arcs import sparse_feedback_arcs_local, violated_arcs


def sparse_weights(n, density, seed):
    rng = np.random.RandomState(seed)
    return np.where(rng.random_sample((n, n)) < density, rng.random_sample((n, n)), 0.0)


def moves(order):
    for here in range(len(order)):
        rest = np.delete(order, here)
        for there in range(len(order)):
            yield np.insert(rest, there, order[here])


@pytest.mark.parametrize("seed", range(5))
def test_no_move_improves_and_never_worse_than_start(seed):
    W = sparse_weights(12, 0.3, seed)
    np.fill_diagonal(W, 0.0)
    start = np.random.RandomState(seed).permutation(12)
    order, weight = sparse_feedback_arcs_local(sp.csr_array(W), start)
    assert weight == pytest.approx(violated_weight(W, order), abs=1e-12)
    assert weight <= violated_weight(W, start) + 1e-12
    assert min(violated_weight(W, other) for other in moves(order)) >= weight - 1e-9


def test_small_problems_are_often_solved():
    hits = 0
    for seed in range(10):
        W = sparse_weights(6, 0.6, seed)
        np.fill_diagonal(W, 0.0)
        best = min(violated_weight(W, np.array(o)) for o in permutations(range(6)))
        found = sparse_feedback_arcs_local(sp.csr_array(W)).weight
        assert found >= best - 1e-12
        hits += found <= best + 1e-9
    assert hits >= 5


def test_scale_and_agreement_with_dense_weights():
    W = sparse_weights(30, 0.2, 0)
    np.fill_diagonal(W, 0.0)
    plain = sparse_feedback_arcs_local(sp.csr_array(W))
    for scale in (1e-8, 1e8):
        assert np.array_equal(
            sparse_feedback_arcs_local(sp.csr_array(W * scale)).order, plain.order
        )
    dense = feedback_arcs_local(W, plain.order)
    assert dense.weight == pytest.approx(plain.weight)  # it is settled for the other search too


def test_no_arcs_keep_the_start():
    order, weight = sparse_feedback_arcs_local(sp.csr_array((4, 4)), np.array([2, 0, 3, 1]))
    assert order.tolist() == [2, 0, 3, 1]
    assert weight == 0.0
    assert violated_arcs(sp.csr_array((4, 4)), order) == 0.0
