"""Spectral clustering by representatives beside spectral clustering of all rows."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score

from benchmarks.harness import Contest
from octavo.cluster import fast_spectral_clusters


def rings(n=3000):
    rng = np.random.default_rng(0)
    inner, t = np.arange(n) % 2 == 0, rng.uniform(0, 2 * np.pi, size=n)
    X = np.column_stack([np.cos(t), np.sin(t)]) * np.where(inner, 1.0, 4.0)[:, None]
    return X + 0.05 * rng.normal(size=X.shape), inner


def all_rows(data):
    model = SpectralClustering(2, affinity="rbf", gamma=2.0, random_state=0)
    return model.fit_predict(data[0])


def alike(data, answers):
    scores = [adjusted_rand_score(data[1], labels) for labels in answers.values()]
    assert min(scores) > 0.99
    return "Both find the two rings."


CONTESTS = [
    Contest(
        name="many rows",
        problem="two rings, 3,000 rows, Gaussian affinity",
        setup=rings,
        solvers={
            "octavo, 100 representatives": lambda data: fast_spectral_clusters(
                data[0], 2, n_representatives=100, bandwidth=0.5, random_state=0
            ),
            "scikit-learn SpectralClustering": all_rows,
        },
        agree=alike,
        repeats=3,
        limit="exponentials: rows by representatives",
    ),
]
