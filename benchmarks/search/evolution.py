"""XNES and SNES beside CMA-ES: the time that they take themselves, and evaluations needed."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.search import SNES, XNES, minimize_nes

GENERATIONS = 300


def sphere(X):
    return np.sum(np.square(X), axis=1)


def ours(kind, d, generations=GENERATIONS):
    search = kind(np.ones(d), random_state=0)
    for _ in range(generations):
        X = search.ask()
        search.tell(X, sphere(X))
    return search


def theirs(d, generations=GENERATIONS):
    import cma

    search = cma.CMAEvolutionStrategy(np.ones(d), 1.0, {"verbose": -9, "seed": 1})
    for _ in range(generations):
        X = search.ask()
        search.tell(X, list(sphere(X)))
    return search


def overhead(d):
    return Contest(
        name=f"overhead in {d} dimensions",
        problem=f"{GENERATIONS} generations of 4 + 3 ln d points on the sphere, d = {d}",
        setup=lambda: d,
        solvers={
            "octavo XNES": lambda d: ours(XNES, d),
            "octavo SNES": lambda d: ours(SNES, d),
            "cma": theirs,
        },
        work=dict.fromkeys(("octavo XNES", "octavo SNES", "cma"), GENERATIONS),
        unit="generation",
        target="Aim: no more time a generation than cma.",
        no_limit="small matrices: calls of Python",
    )


def rotated_ellipsoid(d=10):
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(d, d)))[0]
    weights = 10 ** (6 * np.arange(d) / (d - 1))
    return lambda X: ((np.asarray(X) @ axes) ** 2) @ weights


def cma_to_target(f):
    import cma

    options = {"ftarget": 1e-8, "verbose": -9, "seed": 1}
    return cma.fmin(lambda x: float(f(x[None])[0]), np.ones(10), 1.0, options)


def nes_to_target(f, **options):
    return minimize_nes(f, np.ones(10), ftarget=1e-8, vectorized=True, random_state=0, **options)


def same_target(f, answers):
    assert answers["octavo xNES"].fun <= 1e-8
    assert answers["octavo xNES-as"].fun <= 1e-8
    assert answers["cma"][1] <= 1e-8
    ours = {name: answer.nfev for name, answer in answers.items() if name != "cma"}
    return f"Evaluations: {ours | {'cma': answers['cma'][3]}}."


CONTESTS = [
    overhead(10),
    overhead(100),
    Contest(
        name="many dimensions",
        problem="10 generations of SNES in 100,000 dimensions, 38 points each",
        setup=lambda: 100_000,
        solvers={
            "octavo SNES": lambda d: ours(SNES, d, 10),
            "drawing the normals alone": lambda d: [
                np.random.RandomState(0).standard_normal((38, d)) for _ in range(10)
            ],
        },
        target="Aim: within 2.5 times the draws.",
        limit="drawing normal numbers; their drawing alone is the peer",
    ),
    Contest(
        name="ellipsoid to 1e-8",
        problem="A rotated ellipsoid of condition 10⁶ in 10 dimensions, to 1e-8",
        setup=rotated_ellipsoid,
        solvers={
            "octavo xNES": nes_to_target,
            "octavo xNES-as": lambda f: nes_to_target(f, adapt=True),
            "cma": cma_to_target,
        },
        agree=same_target,
        no_limit="small matrices: calls of Python",
    ),
]
