"""Clusterings, finite classes and regions of disagreement against brute force."""

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.search import (
    SRRAClusterer,
    SRRAFinite,
    correlation_cluster_exact,
    correlation_cluster_local,
    disagreement_coefficient,
    disagreement_region_linear,
    noisy_cluster_oracle,
    pair_error,
    query_complexity,
)
from octavo.search.active_pairs.correlation import _by_program


def signed(n, seed):
    W = np.triu(np.random.RandomState(seed).standard_normal((n, n)), 1)
    return W + W.T


def cost(W, labels):
    u, v = np.triu_indices(len(W), 1)
    same = labels[u] == labels[v]
    return np.where(same, np.maximum(-W[u, v], 0.0), np.maximum(W[u, v], 0.0)).sum()


@pytest.mark.parametrize(("n", "k"), [(5, 2), (6, 3), (6, None)])
def test_enumeration_program_and_brute_force_agree(n, k):
    W = signed(n, n)
    names = n if k is None else k
    grids = np.stack(np.meshgrid(*[range(names)] * n), axis=-1).reshape(-1, n)
    best = min(cost(W, g) for g in grids) if len(grids) < 4000 else None
    labels, weight = correlation_cluster_exact(W, k)
    assert weight == pytest.approx(cost(W, labels))
    if best is not None:
        assert weight == pytest.approx(best)
    assert cost(W, _by_program(W, names)) == pytest.approx(weight)
    assert len(np.unique(_by_program(W, names))) <= names
    found, near = correlation_cluster_local(sp.csr_array(W), k, random_state=0)
    assert near == pytest.approx(cost(W, found))
    assert near >= weight - 1e-9


def test_no_move_and_no_merger_improves():
    W = signed(20, 0)
    start = np.random.RandomState(0).randint(0, 4, 20)
    labels, weight = correlation_cluster_local(W, 4, start=start, n_init=0)
    assert weight <= cost(W, start)
    for u in range(20):
        for c in range(4):
            other = labels.copy()
            other[u] = c
            assert cost(W, other) >= weight - 1e-9


@pytest.mark.parametrize("reuse", ["pool", "fresh"])
@pytest.mark.parametrize("init", ["pivot", "random"])
def test_noise_free_clusters_are_found(reuse, init):
    truth = np.random.RandomState(0).randint(0, 3, 60)
    oracle = noisy_cluster_oracle(truth, 0.0)
    model = SRRAClusterer(3, 8, 3, reuse, init, random_state=0).fit(60, oracle)
    assert pair_error(model.labels_, oracle, "clustering") == 0.0
    assert model.n_queries_ < 60 * 59 // 2


def test_noise_is_survived_and_budget_said():
    truth = np.arange(90) % 3
    oracle = noisy_cluster_oracle(truth, 0.15, random_state=1, budget=1200)
    model = SRRAClusterer(3, random_state=0).fit(90, oracle)
    assert model.budget_exhausted_
    assert model.n_queries_ == 1200
    assert np.array_equal(model.labels_, truth)
    exact = SRRAClusterer(2, minimizer="exact", random_state=0).fit(
        8, noisy_cluster_oracle([0] * 4 + [1] * 4, 0.0)
    )
    assert exact.labels_.tolist() == [0] * 4 + [1] * 4
    with pytest.raises(ValueError, match="exceeds the 2 items"):
        SRRAClusterer(3).fit(2, lambda u, v: 1)
    with pytest.raises(ValueError, match="one of 2 clusters"):
        SRRAClusterer(2, init=[0, 1, 2]).fit(3, lambda u, v: 1)
    with pytest.raises(ValueError, match="symmetric"):
        correlation_cluster_local([[0, 1], [2, 0]])
    with pytest.raises(ValueError, match="at most 25"):
        correlation_cluster_exact(np.zeros((26, 26)))


# --- finite classes ---------------------------------------------------------------------------


def coefficient_by_definition(H, mu):
    best = 0.0
    for h in H:
        distance = (h != H).mean(axis=1)
        for r in {*distance, mu}:
            if r > 0 and r >= mu:
                ball = H[distance <= r]
                best = max(best, (ball != h).any(axis=0).mean() / r)
    return best


@pytest.mark.parametrize("mu", [0.0, 0.2, 0.7])
@pytest.mark.parametrize("seed", range(3))
def test_coefficient_equals_its_definition(seed, mu):
    H = np.random.RandomState(seed).randint(0, 2, (12, 9))
    assert disagreement_coefficient(H, mu) == pytest.approx(coefficient_by_definition(H, mu))


def test_coefficients_that_are_known():
    assert disagreement_coefficient(np.eye(10, dtype=int)) == pytest.approx(5.0)  # 1 / (2 / 10)
    assert disagreement_coefficient(np.vstack([np.eye(10, dtype=int), np.zeros(10)])) == 10.0
    assert disagreement_coefficient([[0, 1]]) == 0.0


@pytest.mark.parametrize("reuse", ["pool", "fresh"])
def test_the_best_threshold_is_found_by_few_labels(reuse):
    H = np.tri(301, 300, -1, dtype=int)
    errors = []
    for seed in range(5):
        labels = H[170].copy()
        wrong = np.random.RandomState(seed).permutation(300)[:15]
        labels[wrong] = 1 - labels[wrong]
        model = SRRAFinite(H, 15, reuse=reuse, random_state=seed).fit(labels)
        assert model.n_queries_ < 220
        assert np.array_equal(model.predict(np.arange(300)), H[model.hypothesis_])
        errors.append((model.labels_ != labels).mean() - np.abs(H - labels).mean(axis=1).min())
    assert np.mean(errors) < 0.03
    spent = SRRAFinite(H, budget=3, random_state=0).fit(lambda j: H[170, j])
    assert spent.budget_exhausted_
    assert spent.n_queries_ == 3
    with pytest.raises(ValueError, match="0 or 1 about every point"):
        SRRAFinite([[0, 2]]).fit([0, 1])
    with pytest.raises(ValueError, match="for point"):
        SRRAFinite(H).fit(lambda j: 2)
    with pytest.raises(ValueError, match="no row"):
        SRRAFinite(H, init=301).fit(H[0])


# --- linear classes ---------------------------------------------------------------------------


def region_by_sweep(X, w, r):
    """Return DIS(B(w, r)) of the plane: every cell is a range of angles between hyperplanes."""
    u, v = np.triu_indices(len(X), 1)
    D = X[u] - X[v]
    normal = np.arctan2(D[:, 1], D[:, 0])
    ends = np.sort(np.concatenate([normal + np.pi / 2, normal - np.pi / 2]) % (2 * np.pi))
    middle = (ends + np.append(ends[1:], ends[0] + 2 * np.pi)) / 2
    own = D @ w > 0
    found = np.zeros(len(u), dtype=bool)
    for angle in middle:
        differs = (D @ [np.cos(angle), np.sin(angle)] > 0) != own
        if differs.mean() <= r:
            found |= differs
    return {(a, b) for a, b in zip(u[found], v[found])}


@pytest.mark.parametrize("r", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_peeling_covers_the_region_of_the_plane(seed, r):
    rng = np.random.RandomState(seed)
    X, w = rng.standard_normal((12, 2)), rng.standard_normal(2)
    peeled = set(map(tuple, disagreement_region_linear(X, w, r)))
    assert peeled >= region_by_sweep(X, w, r)
    assert peeled == set(map(tuple, disagreement_region_linear(1e5 * X, 1e-5 * w, r)))
    assert len(disagreement_region_linear(X, w, 0.0)) == 0
    assert len(disagreement_region_linear(X, w, 1.0)) == 66


def test_first_layer_is_what_a_small_turn_can_change():
    X = np.array([[0.0, 0.0], [1.0, 0.2], [2.0, 1.0]])
    w = np.array([1.0, 0.1])
    r = 2.0 / 6.0  # one inversion
    assert set(map(tuple, disagreement_region_linear(X, w, r))) >= region_by_sweep(X, w, r)
    with pytest.raises(ValueError, match="items 0 and 1 alike"):
        disagreement_region_linear([[0.0, 1.0], [0.0, 2.0]], [1.0, 0.0], 0.5)
    with pytest.raises(ValueError, match="At most 60"):
        disagreement_region_linear(np.ones((61, 2)), [1.0, 0.0], 0.5)
    with pytest.raises(ValueError, match="between 0 and 1"):
        disagreement_region_linear(X, w, 1.5)


def test_bounds_are_the_corollaries():
    log = np.log(100)
    assert query_complexity("ranking", 100, 0.1) == pytest.approx(1e3 * 100 * log**5)
    expected = 100 * max(1e2 * 27, 1e3 * 9) * log**2
    assert query_complexity("clustering", 100, 0.1, n_clusters=3) == pytest.approx(expected)
    expected = 1e2 * 100 * 4 * log**3 + 100 * 1e2 * log**2 * np.log(log / 0.05)
    assert query_complexity("linear", 100, 0.1, n_features=4) == pytest.approx(expected)
    shells = np.log(100)
    expected = 2.0 * 1e2 * shells * (3 * np.log(2) + np.log(shells / 0.05))
    found = query_complexity("disagreement", eps=0.1, theta=2.0, vc_dimension=3, mu=0.01)
    assert found == pytest.approx(expected)
    with pytest.raises(ValueError, match="eps must lie"):
        query_complexity("ranking", 10, 0.2)
    with pytest.raises(ValueError, match="n_clusters must be"):
        query_complexity("clustering", 10)
