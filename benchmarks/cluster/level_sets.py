"""Level-set spectral clustering beside scikit-learn's spectral clustering, HDBSCAN and DBSCAN."""

from __future__ import annotations

from sklearn.cluster import DBSCAN, HDBSCAN, SpectralClustering
from sklearn.metrics import adjusted_rand_score

from benchmarks.harness import Contest
from octavo.cluster import LevelSetSpectralClustering
from octavo.data import make_noisy_moons


def moons(n, n_noise):
    return lambda: make_noisy_moons(n, n_noise, random_state=0)


def level_sets(data):
    model = LevelSetSpectralClustering(2, drop_fraction=0.2, random_state=0)
    return model.fit_predict(data[0])


def defaults(data):
    return LevelSetSpectralClustering(random_state=0).fit_predict(data[0])


def all_pairs(data):
    """A Gaussian affinity of all pairs: what SpectralClustering does by default."""
    return SpectralClustering(2, gamma=50.0, random_state=0).fit_predict(data[0])


def neighbours(data):
    """Ten neighbours of each row: as sparse as ours, without a level."""
    model = SpectralClustering(2, affinity="nearest_neighbors", random_state=0)
    return model.fit_predict(data[0])


def alike(data, answers):
    """Say how well each finds the moons; octavo's must."""
    y = data[1]
    scores = {}
    for name, labels in answers.items():
        kept = (labels >= 0) & (y >= 0)
        scores[name] = adjusted_rand_score(y[kept], labels[kept])
    assert next(iter(scores.values())) > 0.99
    return "Adjusted Rand index of the moons: " + ", ".join(
        f"{name} {score:.3f}" for name, score in scores.items()
    )


CONTESTS = [
    Contest(
        name="ten thousand rows",
        problem="two moons, 9,000 rows, and 1,000 of noise",
        setup=moons(9000, 1000),
        solvers={
            "octavo LevelSetSpectralClustering": level_sets,
            "scikit-learn SpectralClustering": all_pairs,
            "scikit-learn SpectralClustering, neighbours": neighbours,
            "scikit-learn HDBSCAN": lambda data: HDBSCAN(20, copy=True).fit_predict(data[0]),
        },
        agree=alike,
        repeats=1,
        target="Aim: 10 times the speed of SpectralClustering.",
        limit="tree queries: the neighbours of every row",
    ),
    Contest(
        name="a hundred thousand rows",
        problem="two moons, 90,000 rows, and 10,000 of noise, defaults of both",
        setup=moons(90_000, 10_000),
        solvers={
            "octavo LevelSetSpectralClustering": defaults,
            "scikit-learn DBSCAN": lambda data: DBSCAN(0.03, min_samples=20).fit_predict(data[0]),
        },
        agree=alike,
        repeats=2,
        target="Aim: 10 seconds.",
        limit="tree queries: the neighbours of every row",
    ),
]
