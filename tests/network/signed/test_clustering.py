"""Groups from eigenvectors, and what the paper says of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from octavo.data import make_weakly_balanced
from octavo.network import (
    SignedCompletion,
    SignedSpectralClustering,
    correlation_clustering_cost,
    group_imbalance,
    incoherence,
    recovery_scale,
)
from octavo.network.signed.clustering import laplacian_eigenvectors, leading_eigenvectors


def test_eigenvectors_of_factors_are_those_of_the_matrix():
    rng = np.random.RandomState(0)
    W, H = rng.standard_normal((2, 12, 3))
    X = (W @ H.T + H @ W.T) / 2
    values, vectors = leading_eigenvectors(W, H, 4)
    assert X @ vectors == pytest.approx(vectors * values)
    expected = np.linalg.eigvalsh(X)
    assert np.abs(values) == pytest.approx(np.sort(np.abs(expected))[::-1][:4])


@pytest.mark.parametrize("normalized", [True, False])
def test_large_laplacians_have_the_eigenvectors_of_small_ones(normalized, monkeypatch):
    A = make_weakly_balanced([40, 50, 60], 0.3, 0.05, random_state=0).A
    small = laplacian_eigenvectors(A, 3, normalized, np.random.RandomState(0))
    monkeypatch.setattr("octavo.network.signed.clustering.DENSE_NODES", 10)
    large = laplacian_eigenvectors(A, 3, normalized, np.random.RandomState(0))
    assert np.linalg.svd(small.T @ large, compute_uv=False) == pytest.approx(1.0, abs=1e-8)


def test_theorem_19_rows_agree_within_groups():
    network = make_weakly_balanced([6, 8, 10], 1.0, random_state=0)
    values, vectors = np.linalg.eigh(network.truth.astype(float))
    U = vectors[:, np.argsort(-np.abs(values))[:3]]
    for group in range(3):
        assert np.ptp(U[network.groups == group], axis=0) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("method", ["completion", "signed_laplacian", "normalized"])
def test_every_method_finds_clear_groups(method):
    network = make_weakly_balanced([30, 30, 40], 0.5, random_state=0)
    model = SignedSpectralClustering(3, method, random_state=0).fit(network.A)
    assert adjusted_rand_score(network.groups, model.labels_) == 1.0
    assert model.cost_ == 0


def test_a_completion_of_ones_own_is_used():
    network = make_weakly_balanced([30, 30, 40], 0.4, random_state=0)
    svp = SignedCompletion(3, solver="svp", max_iter=300, random_state=0)
    model = SignedSpectralClustering(3, completion=svp, random_state=0).fit(network.A)
    assert model.completion_.solver == "svp"
    assert adjusted_rand_score(network.groups, model.labels_) == 1.0


def test_costs_are_contradictions():
    network = make_weakly_balanced([4, 5], 1.0, random_state=0)
    cost = correlation_clustering_cost(network.A, network.groups)
    assert cost == 0
    moved = network.groups.copy()
    moved[0] = 1
    assert correlation_clustering_cost(network.A, moved) == 8  # all its links are wrong now


@pytest.mark.parametrize("sizes", [[5, 5], [3, 4, 9], [1, 2, 3, 4]])
def test_theorem_17_incoherence_is_at_most_the_group_imbalance(sizes):
    network = make_weakly_balanced(sizes, 1.0, random_state=0)
    values, vectors = np.linalg.eigh(network.truth.astype(float))
    used = vectors[:, np.abs(values) > 1e-9 * np.abs(values).max()]
    nu = incoherence(network.groups)
    if len(set(sizes)) == len(sizes):  # else eigenvectors may turn among themselves
        assert nu == pytest.approx(len(network.groups) * (used**2).max(), rel=1e-9)
    assert nu <= group_imbalance(network.groups) * (1 + 1e-12)
    assert group_imbalance(network.groups) == sum(sizes) / min(sizes)
    n = sum(sizes)
    scale = (n / min(sizes)) ** 4 * n * np.log(n) ** 2  # Theorem 18
    assert recovery_scale(network.groups) == pytest.approx(scale, rel=1e-12)


def test_bad_input_gets_a_sentence():
    with pytest.raises(ValueError, match="an entry for each of the 2 nodes"):
        correlation_clustering_cost([(0, 1, 1)], [0, 1, 2])
    with pytest.raises(ValueError, match="exceeds the 2 nodes"):
        SignedSpectralClustering(3).fit([(0, 1, 1)])
    with pytest.raises(ValueError, match="a group for each node"):
        group_imbalance([])


@pytest.mark.parametrize("method", ["completion", "signed_laplacian", "normalized"])
def test_nodes_without_links_do_not_disturb_the_others(method):
    A, _, groups = make_weakly_balanced([15, 15, 15], 0.5, random_state=0)
    whole = sp.block_diag([A, sp.csr_array((4, 4))], format="csr")
    with pytest.warns(UserWarning, match="4 of 49 nodes have no links"):
        model = SignedSpectralClustering(3, method=method, random_state=0).fit(whole)
    assert adjusted_rand_score(groups, model.labels_[:45]) == 1.0
