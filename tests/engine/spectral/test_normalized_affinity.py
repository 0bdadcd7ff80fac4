"""Spectra of graphs whose clusters are known."""

import numpy as np

from octavo.engine.spectral.normalized_affinity import (
    count_clusters,
    normalized_affinity,
    spectral_embedding,
    spectral_labels,
)


def cliques(*groups):
    """Return the affinity of cliques, of weight one."""
    affinity = np.zeros((sum(map(len, groups)),) * 2)
    for group in groups:
        affinity[np.ix_(group, group)] = 1.0
    np.fill_diagonal(affinity, 0.0)
    return affinity


def test_normalized_affinity_is_similar_to_a_random_walk():
    """D^(-1/2) A D^(-1/2) has the eigenvalues of D^(-1) A, whose rows sum to one."""
    A = np.random.default_rng(0).uniform(size=(6, 6))
    A = np.triu(A, 1) + np.triu(A, 1).T
    A[2], A[:, 2] = 0.0, 0.0  # a node on its own keeps one edge to itself
    walk = A / np.where(A.sum(axis=1) > 0, A.sum(axis=1), 1.0)[:, None]
    walk[2, 2] = 1.0
    np.testing.assert_allclose(walk.sum(axis=1), 1.0)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(normalized_affinity(A)),
        np.sort(np.linalg.eigvals(walk).real),
        atol=1e-12,
    )


def test_embedding_of_parts_is_one_point_a_part():
    rows = spectral_embedding(cliques([0, 3, 4], [1, 2], [5]), 3)
    same = np.array([0, 1, 1, 0, 0, 2])
    expected = (same[:, None] == same[None]).astype(float)
    np.testing.assert_allclose(np.abs(rows @ rows.T), expected, atol=1e-8)


def test_laplacian_of_cliques_counts_them():
    blocks = cliques([0, 1, 2], [3, 4], [5], [6])
    assert count_clusters(blocks) == 4
    labels = spectral_labels(blocks, 4, np.random.RandomState(0))
    assert len(set(labels)) == 4
    assert count_clusters(np.zeros((5, 5))) == 5
    assert count_clusters(np.ones((5, 5)) - np.eye(5)) == 1
    weak = blocks + 0.01  # weak links between all: the gap stays where it was for the cliques
    np.fill_diagonal(weak, 0.0)
    assert count_clusters(weak[:5, :5]) == 2


def test_labels_cut_the_weakest_links():
    affinity = cliques([0, 1, 2, 3], [4, 5, 6])
    affinity[3, 4] = affinity[4, 3] = 0.1
    labels = spectral_labels(affinity, 2, np.random.RandomState(0))
    assert len(set(labels[:4])) == len(set(labels[4:])) == 1
    assert labels[0] != labels[-1]
