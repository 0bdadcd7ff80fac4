"""Block steps rise monotonically to the optimum of a quadratic program solved by others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from octavo.engine.duals.block_frank_wolfe import (
    add_vertices,
    marginal_pass,
    new_store,
    vertex_passes,
)

M, P, V, C = 6, 5, 4, 1.7


@pytest.fixture
def problem():
    random = np.random.default_rng(0)
    A = random.normal(size=(M, 3))
    vertices = random.choice([-1, 1], size=(M, V, P)).astype(np.int8)
    losses = random.uniform(0.2, 1.0, size=(M, V))
    losses[:, 0] = 0.0  # the true vertex
    return A @ A.T + 0.1 * np.eye(M), random.uniform(0.1, 1.0, P), vertices, losses


def dual(K, weights, D, total_loss):
    return total_loss - 0.5 * sum(w * d @ K @ d for w, d in zip(weights, D.T))


def optimum(K, weights, vertices, losses):
    cp = pytest.importorskip("cvxpy")
    alpha = cp.Variable((M, V), nonneg=True)
    root = np.linalg.cholesky(K).T
    square = 0
    for f in range(P):
        d = C * vertices[:, 0, f] - cp.sum(cp.multiply(alpha, vertices[:, :, f]), axis=1)
        square += weights[f] * cp.sum_squares(root @ d)
    target = cp.Maximize(cp.sum(cp.multiply(alpha, losses)) - 0.5 * square)
    return cp.Problem(target, [cp.sum(alpha, axis=1) == C]).solve(solver="CLARABEL")


def gap_of(K, weights, D, mean_losses, vertices, losses):
    G = K @ D
    scores = np.einsum("f,kf,kvf->kv", weights, G, vertices) + losses
    means = np.einsum("f,kf,kf->k", weights, G, C * vertices[:, 0] - D) + mean_losses
    return float(np.sum(C * scores.max(axis=1) - means))


def test_vertex_passes_reach_the_optimum(problem):
    K, weights, vertices, losses = problem
    store, D = new_store(vertices[:, 0], C), np.zeros((M, P))
    for v in range(1, V):
        store = add_vertices(store, np.arange(M), vertices[:, v], losses[:, v])
    seen = [0.0]
    for _ in range(400):
        vertex_passes(K, weights, D, store, np.arange(M), 0.0)
        seen.append(dual(K, weights, D, float((store.alpha * store.losses).sum())))
    # every step is a line search: the dual may fall by rounding only
    assert (np.diff(seen) > -1e-12).all()
    assert_allclose(store.alpha.sum(axis=1), C)
    mean = np.einsum("kv,kvf->kf", store.alpha, store.vertices.astype(float))
    assert_allclose(D, C * vertices[:, 0] - mean, atol=1e-10)
    # Clarabel's own tolerance is 1e-8
    assert_allclose(seen[-1], optimum(K, weights, vertices, losses), rtol=1e-6)


def test_marginal_steps_rise_and_their_gap_bounds_what_is_left(problem):
    K, weights, vertices, losses = problem
    D, means, best = np.zeros((M, P)), np.zeros(M), optimum(K, weights, vertices, losses)
    last = 0.0
    for _ in range(300):
        scores = np.einsum("f,kf,kvf->kv", weights, K @ D, vertices) + losses
        top = scores.argmax(axis=1)
        rows = np.arange(M)
        chosen = vertices[rows, top]
        marginal_pass(K, weights, D, means, C, vertices[:, 0], rows, chosen, losses[rows, top])
        value = dual(K, weights, D, float(means.sum()))
        assert value >= last - 1e-12
        last = value
        gap = gap_of(K, weights, D, means, vertices, losses)
        assert best - value <= gap + 1e-6
    assert best - last < 0.02 * best  # Frank-Wolfe's own rate is 1 / rounds


def test_a_full_block_grows_and_a_known_vertex_is_not_added_twice(problem):
    _, _, vertices, losses = problem
    store = new_store(vertices[:, 0], C, capacity=1)
    for v in (1, 1, 2):
        store = add_vertices(store, np.arange(M), vertices[:, v], losses[:, v])
        store.alpha[store.alpha == 0.0] = 1e-3  # with mass, so that no place is given away
    for k in range(M):
        held = {tuple(row) for row in store.vertices[k, : store.n_held[k]]}
        assert held == {tuple(row) for row in vertices[k, :3]}
        assert store.n_held[k] == len(held)
