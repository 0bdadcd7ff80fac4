"""Landmark selection and Nyström features beside scikit-learn."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.kernel import NystroemLandmarks, nystroem_report, select_landmarks

K = 1_000


def million():
    X = np.random.default_rng(0).standard_normal((1_000_000, 50), dtype=np.float32)
    select_landmarks(X[:2_000], 5, gamma=0.01, n_local=1)
    return X


def numpy_kmeanspp(X, k=20, gamma=0.01):
    """Algorithm 4.1 in plain NumPy: a pass over all rows a landmark."""
    rng = np.random.default_rng(0)
    norms = np.einsum("ij,ij->i", X, X)
    chosen = [int(rng.integers(len(X)))]
    nearest = np.full(len(X), np.inf, dtype=X.dtype)
    while len(chosen) < k:
        c = X[chosen[-1]]
        apart = norms + norms[chosen[-1]] - 2.0 * (X @ c)
        nearest = np.minimum(nearest, 2.0 - 2.0 * np.exp(-gamma * np.maximum(apart, 0.0)))
        cumulative = np.cumsum(nearest, dtype=np.float64)
        chosen.append(int(np.searchsorted(cumulative, rng.uniform() * cumulative[-1])))
    return chosen


def sklearn_kmeanspp(X, k=20):
    """The nearest thing in scikit-learn: K-means++ in the space of the rows."""
    from sklearn.cluster import kmeans_plusplus

    return kmeans_plusplus(X, k, random_state=0)[1]


def blobs():
    from sklearn.datasets import make_blobs

    X, _ = make_blobs(40_000, 20, centers=60, cluster_std=2.0, random_state=0)
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float64)


def sklearn_nystroem(X, n_components=500):
    from sklearn.kernel_approximation import Nystroem

    return Nystroem(gamma=0.05, n_components=n_components, random_state=0).fit_transform(X)


def ours(n_local):
    def solve(X):
        model = NystroemLandmarks(n_components=500, gamma=0.05, n_local=n_local, random_state=0)
        return model.fit_transform(X)

    return solve


def same_kernel(X, answers):
    """Both approximate one kernel matrix; its error on a sample of rows is compared."""
    sample = np.random.default_rng(0).permutation(len(X))[:2_000]
    from sklearn.metrics.pairwise import rbf_kernel

    exact = rbf_kernel(X[sample], gamma=0.05)
    errors = {
        name: float(np.linalg.norm(exact - Z[sample] @ Z[sample].T)) for name, Z in answers.items()
    }
    uniform = errors["scikit-learn Nystroem"]
    assert all(error <= 1.05 * uniform for error in errors.values())
    lifts = ", ".join(f"{name} {uniform / e:.2f}" for name, e in errors.items())
    return f"Lift over uniform landmarks in the Frobenius error: {lifts}."


def digits():
    from sklearn.datasets import load_digits

    X = load_digits().data
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def digits_lift(X, answers):
    from sklearn.metrics import pairwise_distances

    apart = pairwise_distances(X, metric="sqeuclidean")
    gamma = 0.25 / float(np.median(apart[np.triu_indices(len(X), 1)]))
    texts = []
    for name, options in (
        ("K-means++", {"n_local": 1}),
        ("restarts", {}),
        ("Lloyd", {"lloyd": True}),
        ("K-means", {"method": "kmeans"}),
    ):
        found = [
            nystroem_report(
                X,
                select_landmarks(X, 100, gamma=gamma, random_state=seed, **options),
                gamma=gamma,
                n_uniform=5,
                random_state=seed,
            ).lift
            for seed in range(10)
        ]
        texts.append(f"{name} {np.mean(found):.2f} ± {np.std(found):.2f}")
    return "Lift at γ = 1/(4 median²) over ten seeds: " + ", ".join(texts) + "."


CONTESTS = [
    Contest(
        name="a million rows",
        problem="Landmarks of 1,000,000 x 50 float32 rows, Gaussian kernel",
        setup=million,
        solvers={
            "octavo n_local=1": lambda X: select_landmarks(
                X, K, gamma=0.01, n_local=1, random_state=0
            ),
            "octavo restarts": lambda X: select_landmarks(X, 100, gamma=0.01, random_state=0),
            "NumPy, a pass a landmark": numpy_kmeanspp,
            "scikit-learn kmeans_plusplus": sklearn_kmeanspp,
        },
        work={
            "octavo n_local=1": K,
            "octavo restarts": 100,
            "NumPy, a pass a landmark": 20,
            "scikit-learn kmeans_plusplus": 20,
        },
        unit="landmark",
        repeats=2,
        warm=False,
        target="Aim: 1,000 landmarks in two minutes on two cores: 120 ms a landmark. "
        "scikit-learn's works on the rows themselves, with restarts.",
        limit="memory bandwidth: a pass over the rows a landmark, less what bounds leave out",
    ),
    Contest(
        name="features",
        problem="fit_transform of 40,000 x 20 rows, 500 components, Gaussian kernel",
        setup=blobs,
        solvers={
            "octavo n_local=1": ours(1),
            "octavo restarts": ours("auto"),
            "scikit-learn Nystroem": sklearn_nystroem,
        },
        agree=same_kernel,
        repeats=3,
        target="Aim: at most five times scikit-learn at equal size.",
        limit="BLAS: the kernel's block, and its product with the inverse root",
        flops=2 * 40_000 * 500 * (20 + 500),
    ),
    Contest(
        name="digits",
        problem="100 landmarks of the 1,797 digits",
        setup=digits,
        solvers={
            "octavo n_local=1": lambda X: select_landmarks(X, 100, n_local=1, random_state=0),
            "octavo restarts": lambda X: select_landmarks(X, 100, random_state=0),
            "scikit-learn kmeans_plusplus": lambda X: sklearn_kmeanspp(X, 100),
        },
        agree=digits_lift,
        repeats=3,
        limit="memory bandwidth: a pass over the rows a landmark",
    ),
]
