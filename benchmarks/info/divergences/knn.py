"""Divergences beside a plug-in of kernel densities and infomeasure."""

from __future__ import annotations

from benchmarks.harness import Contest
from octavo.engine.probability.neighbours import forget_neighbours
from octavo.info import (
    KnnHellingerDistance,
    KnnKLDivergence,
    KnnL2Divergence,
    KnnRenyiDivergence,
    Normal,
    analytical_value,
)

P = Normal([0, 0], [[1, 0.3], [0.3, 1]])
Q = Normal([0.5, 0], [[1.2, 0], [0, 1.2]])
TRUTH = analytical_value("divergence", "kl", P, Q)


def samples():
    return P.sample(10_000, 0), Q.sample(10_000, 1)


def ours(problem):
    forget_neighbours()
    return KnnKLDivergence(n_neighbors=3).estimate(*problem)


def kernel_densities(problem):
    """The plug-in by hand: two kernel densities by Scott's rule and the mean log ratio."""
    from sklearn.neighbors import KernelDensity

    X, Y = problem
    width = len(X) ** (-1 / 6)
    p, q = (KernelDensity(bandwidth=width, rtol=1e-4).fit(Z) for Z in (X, Y))
    return float((p.score_samples(X) - q.score_samples(X)).mean())


def theirs(problem):
    import infomeasure

    settings = {"approach": "metric", "k": 3, "base": "e", "minkowski_p": 2, "noise_level": 0}
    return float(infomeasure.kld(*problem, **settings))


def errors(problem, answers):
    assert abs(answers["octavo KnnKLDivergence"] - TRUTH) < 0.05
    told = ", ".join(f"{name} {value - TRUTH:+.3f}" for name, value in answers.items())
    return f"Errors against {TRUTH:.3f}: {told}."


FAMILY = [
    KnnKLDivergence(n_neighbors=5),
    KnnRenyiDivergence(n_neighbors=5),
    KnnHellingerDistance(),
    KnnL2Divergence(),
]


def shared(problem):
    forget_neighbours()
    return [estimator.estimate(*problem) for estimator in FAMILY]


def apart(problem):
    values = []
    for estimator in FAMILY:
        forget_neighbours()
        values.append(estimator.estimate(*problem))
    return values


def equal(problem, answers):
    first, second = answers.values()
    assert first == second
    return "The same four numbers."


CONTESTS = [
    Contest(
        name="kl",
        problem="Kullback-Leibler divergence of two normal samples of 10,000 points in the plane",
        setup=samples,
        solvers={
            "octavo KnnKLDivergence": ours,
            "infomeasure": theirs,
            "kernel densities by hand": kernel_densities,
        },
        agree=errors,
        repeats=5,
        target="Nine tenths of the time of both octavo and infomeasure are scipy's trees.",
        limit="tree queries",
    ),
    Contest(
        name="shared",
        problem="Four divergences of the same two samples",
        setup=samples,
        solvers={"octavo, neighbours shared": shared, "octavo, searched four times": apart},
        agree=equal,
        limit="tree queries",
    ),
]
