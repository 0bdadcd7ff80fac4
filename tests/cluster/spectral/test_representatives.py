"""Clusters of rows by representatives: limiting cases and shapes that k-means cannot find."""

import numpy as np
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score

from octavo.cluster import fast_spectral_clusters
from octavo.engine.spectral.normalized_affinity import spectral_labels


def as_set(groups):
    return {frozenset(np.ravel(group).tolist()) for group in groups}


def test_fast_spectral_clusters_with_all_rows_is_spectral_clustering():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(m, 0.3, size=(30, 2)) for m in ([0, 0], [3, 0], [0, 3])])
    labels = fast_spectral_clusters(X, 3, n_representatives=90, bandwidth=0.5, random_state=0)
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    affinity = np.exp(-distances / 0.5)
    np.fill_diagonal(affinity, 0.0)
    plain = spectral_labels(affinity, 3, np.random.RandomState(0))
    assert as_set([np.flatnonzero(labels == m) for m in range(3)]) == as_set(
        [np.flatnonzero(plain == m) for m in range(3)]
    )


def test_fast_spectral_clusters_separate_rings():
    rng = np.random.default_rng(0)
    t, inner = rng.uniform(0, 2 * np.pi, size=2000), np.arange(2000) < 1000
    X = np.column_stack([np.cos(t), np.sin(t)]) * np.where(inner, 1, 4)[:, None]
    labels = fast_spectral_clusters(X, 2, n_representatives=60, random_state=0)
    assert len(set(labels[inner])) == len(set(labels[~inner])) == 1
    assert labels[0] != labels[-1]


def test_labels_are_those_of_scikit_learn_where_clusters_are_clear():
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(m, 0.4, size=(40, 3)) for m in (0.0, 3.0, 6.0)])
    peer = SpectralClustering(3, affinity="rbf", gamma=0.5, random_state=0).fit_predict(X)
    ours = fast_spectral_clusters(X, 3, bandwidth=1.0, random_state=0)
    assert adjusted_rand_score(peer, ours) == 1.0


def test_one_seed_gives_one_answer_and_labels_do_not_depend_on_scale():
    X = np.random.default_rng(2).normal(size=(300, 2))
    X[150:] += 4.0
    first = fast_spectral_clusters(X, 2, n_representatives=40, random_state=3)
    np.testing.assert_array_equal(
        first, fast_spectral_clusters(X, 2, n_representatives=40, random_state=3)
    )
    scaled = fast_spectral_clusters(8.0 * X, 2, n_representatives=40, random_state=3)
    np.testing.assert_array_equal(first, scaled)


def test_bad_numbers_of_clusters_are_refused():
    X = np.random.default_rng(0).normal(size=(50, 4))
    with pytest.raises(ValueError, match="between 1 and the 50 representatives, got 60"):
        fast_spectral_clusters(X, 60)
    with pytest.raises(ValueError, match="between 1 and the 10 representatives, got 0"):
        fast_spectral_clusters(X, 0, n_representatives=10)
