"""Kernel k-means beside tslearn, on the same Gram matrix."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.harness import Contest
from octavo.cluster import DoublyStochasticSpectral, KernelKMeans


def rows():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(8, 5)) * 3
    return centres[rng.integers(8, size=1500)] + rng.normal(size=(1500, 5))


def ours(X):
    model = KernelKMeans(8, gamma=0.05, n_init=5, random_state=0).fit(X)
    return model.labels_


def tslearn(X):
    from tslearn.clustering import KernelKMeans as Theirs

    # a series of one step and five values each, so that the kernel sees the same rows
    model = Theirs(8, kernel="rbf", kernel_params={"gamma": 0.05}, n_init=5, random_state=0)
    return model.fit(X[:, :, None]).labels_


def inertia(K, labels):
    """Return the sum of squared distances to the means in feature space: one formula for both."""
    within = [K[np.ix_(labels == j, labels == j)].sum() / (labels == j).sum() for j in set(labels)]
    return float(np.trace(K) - sum(within))


def not_worse(X, answers):
    K = rbf_kernel(X, gamma=0.05)
    ours, theirs = (inertia(K, answers[name]) for name in ("octavo", "tslearn"))
    assert ours <= theirs * 1.01
    return f"inertia {ours:.2f} and {theirs:.2f}."


def spectral(X):
    return (
        DoublyStochasticSpectral(8, gamma=0.3, normalization="ncut", random_state=0).fit(X).labels_
    )


def scaled(X):
    return DoublyStochasticSpectral(8, gamma=0.3, random_state=0).fit(X).labels_


def sklearn_spectral(X):
    K = rbf_kernel(X, gamma=0.3)
    return SpectralClustering(8, affinity="precomputed", random_state=0).fit(K).labels_


def similar(X, answers):
    found = adjusted_rand_score(answers["octavo, ncut"], answers["scikit-learn"])
    return f"adjusted Rand index of the two normalised cuts {found:.3f}."


CONTESTS = [
    Contest(
        name="kernel-kmeans",
        problem="8 clusters of 1,500 rows, rbf kernel, five starts",
        setup=rows,
        solvers={"octavo": ours, "tslearn": tslearn},
        agree=not_worse,
        repeats=3,
        target="at least five times",
        limit="one product of the Gram matrix with memberships an iteration",
    ),
    Contest(
        name="spectral",
        problem="8 clusters of 1,500 rows from an rbf affinity",
        setup=rows,
        solvers={"octavo, ncut": spectral, "octavo, kl": scaled, "scikit-learn": sklearn_spectral},
        agree=similar,
        repeats=3,
        target="the same",
        limit="leading eigenvectors",
    ),
]
