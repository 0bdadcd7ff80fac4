"""KnowledgeKernelPCA beside scikit-learn's KernelPCA, generic optimisers and refits."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.kernel import (
    InteractiveSession,
    KnowledgeKernelPCA,
    minimize_quadratic_on_sphere,
    rank_one_eigh,
)

RANK = 300


def clusters(n, d=30):
    rng = np.random.default_rng(0)
    centres = 4.0 * rng.standard_normal((5, d))
    return rng.standard_normal((n, d)) * 3.0 + centres[rng.integers(0, 5, n)]


def kernel_pca(X):
    from sklearn.decomposition import KernelPCA

    return KernelPCA(2, kernel="rbf", gamma=1e-3, eigen_solver="dense").fit_transform(X)


def same_map(_, answers):
    ours, theirs = answers.values()
    gap = max(min(np.abs(a - b).max(), np.abs(a + b).max()) for a, b in zip(ours.T, theirs.T))
    assert gap < 1e-8
    return f"The maps differ by {gap:.1e} at most, up to sign."


def quadratic():
    rng = np.random.default_rng(0)
    S = rng.standard_normal((100, 100))
    return (S + S.T) / 2.0, rng.standard_normal(100), 3.0


def slsqp(problem):
    """Minimise from twenty starts, as one must who does not know which minimum is global."""
    from scipy.optimize import minimize

    S, b, radius = problem
    sphere = {"type": "eq", "fun": lambda z: z @ z - radius**2, "jac": lambda z: 2 * z}
    starts = np.random.default_rng(0).standard_normal((20, len(b)))
    found = [
        minimize(
            lambda z: z @ S @ z - 2 * b @ z,
            radius * z / np.linalg.norm(z),
            jac=lambda z: 2 * (S @ z - b),
            constraints=[sphere],
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-12},
        )
        for z in starts
    ]
    return min(found, key=lambda r: r.fun).x


def objective(problem, z):
    S, b, _ = problem
    return float(z @ S @ z - 2 * b @ z)


def same_minimum(problem, answers):
    values = [objective(problem, z) for z in answers.values()]
    assert max(values) - min(values) < 1e-6 * abs(values[0])
    return f"The objectives differ by {max(values) - min(values):.1e}."


def steered():
    X = clusters(2000)
    model = KnowledgeKernelPCA(gamma=1e-3, low_rank=RANK, average=False, anchor=1.0, random_state=0)
    session = InteractiveSession(model, X)
    rng = np.random.default_rng(1)
    for i in rng.permutation(2000)[:10]:
        session.place(int(i), session.baseline[i] + 0.1 * rng.standard_normal(2))
    return X, model, session, sorted(p["point"] for p in session.constraints["placements"])


def drag(task):
    _, _, session, points = task
    for t in range(20):
        session.move(points[0], (0.01 * t, 0.0))
    return session.embedding


def pin(task):
    _, _, session, points = task
    for t in range(10):
        session.release(points[1]).place(points[1], (0.01 * t, 0.1))
    return session.embedding


def refit(task):
    X, model, session, points = task
    session.move(points[0], (0.19, 0.0))
    placements = {p["point"]: p["at"] for p in session.constraints["placements"]}
    return model.fit_transform(X, placements=placements)


def same_drag(_, answers):
    gap = np.abs(answers["octavo session"] - answers["octavo refit"]).max()
    assert gap < 1e-8
    return f"The maps differ by {gap:.1e} at most."


def updates():
    rng = np.random.default_rng(0)
    return np.sort(rng.random(RANK)), rng.standard_normal(RANK)


def same_values(_, answers):
    ours, theirs = (np.asarray(answer) for answer in answers.values())
    assert np.abs(ours - theirs).max() < 1e-10
    return f"Eigenvalues differ by {np.abs(ours - theirs).max():.1e} at most."


CONTESTS = [
    Contest(
        name="no constraints",
        problem="Two components of 1,000 points, rbf kernel, nothing said",
        setup=lambda: clusters(1000),
        solvers={
            "octavo": lambda X: KnowledgeKernelPCA(gamma=1e-3).fit_transform(X),
            "scikit-learn KernelPCA": kernel_pca,
        },
        agree=same_map,
        target="Aim: the time of KernelPCA, whose eigendecomposition is all that is needed.",
        limit="LAPACK: two eigenvectors of 1,000 x 1,000",
    ),
    Contest(
        name="one component",
        problem="Global minimum of an indefinite quadratic on a sphere in 100 dimensions",
        setup=quadratic,
        solvers={
            "octavo": lambda p: minimize_quadratic_on_sphere(*p).z,
            "scipy SLSQP, 20 starts": slsqp,
        },
        agree=same_minimum,
        repeats=3,
        target="SLSQP does not know which of its minima is global; twenty starts found it here.",
        limit="LAPACK: one eigendecomposition of 100 x 100",
    ),
    Contest(
        name="drag a point",
        problem="Move one of 10 pins on a map of 2,000 points, rank-300 factor, two components",
        setup=steered,
        solvers={"octavo session": drag, "octavo refit": refit},
        agree=same_drag,
        work={"octavo session": 20},
        unit="action",
        target="Aim: below 30 ms an action.",
        limit="BLAS: products with a factor of rank 300",
        traffic=2000 * 300 * 8,
    ),
    Contest(
        name="pin a point",
        problem="Release a pin and place it anew on the same map",
        setup=steered,
        solvers={"octavo session": pin, "octavo refit": refit},
        work={"octavo session": 20},
        unit="action",
        target="Aim: below 30 ms an action.",
        limit="BLAS: products with a factor of rank 300",
        traffic=2000 * 300 * 8,
    ),
    Contest(
        name="rank-one change",
        problem="Eigenvalues and vectors of a diagonal matrix of size 300 after a rank-one change",
        setup=updates,
        solvers={
            "octavo rank_one_eigh": lambda p: rank_one_eigh(p[0], None, p[1]).eigenvalues,
            "numpy eigh": lambda p: np.linalg.eigh(np.diag(p[0]) + np.outer(p[1], p[1]))[0],
        },
        agree=same_values,
        limit="BLAS: the product of eigenvectors",
        flops=2 * 300**3,
    ),
]
