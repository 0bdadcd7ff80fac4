"""Scores of folds."""

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from octavo.compare.running.scores import silhouette_with_noise


def test_noise_is_no_cluster_and_counts_as_nothing():
    points = np.array([[0.0], [0.1], [10.0], [10.1], [4.0], [6.0]])
    labels = np.array([0, 0, 1, 1, -1, -1])
    alone = silhouette_score(points[:4], labels[:4])
    assert silhouette_with_noise(points, labels) == pytest.approx(alone * 4 / 6)
    assert silhouette_with_noise(points[:4], labels[:4]) == pytest.approx(alone)
    assert silhouette_with_noise(points, np.full(6, -1)) == 0.0
    assert silhouette_with_noise(points, np.array([0, 0, 0, 0, -1, -1])) == 0.0
