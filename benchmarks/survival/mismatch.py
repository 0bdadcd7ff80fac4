"""Time warping and symbols beside dtaidistance's compiled code and plain numpy."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.engine.event_logs import dtw as engine
from octavo.survival import MaxMinSymbolizer, dtw_one_to_many


def shapes(n: int, length: int = 64, seed: int = 0):
    """Return beats of a few morphologies with noise, of one length."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 1.0, length)
    kinds = [
        a * np.exp(-(((t - c) / w) ** 2)) + 0.2 * np.exp(-(((t - 0.75) / 0.08) ** 2))
        for a, c, w in ((1.0, 0.4, 0.02), (0.8, 0.42, 0.03), (1.3, 0.35, 0.06), (-0.7, 0.4, 0.05))
    ]
    pick = rng.choice(4, n, p=(0.7, 0.2, 0.07, 0.03))
    scale = rng.normal(1.0, 0.08, n)
    return np.array(kinds)[pick] * scale[:, None] + 0.02 * rng.standard_normal((n, length))


def pairs():
    engine._warmup()
    beats = shapes(2000)
    dtw_one_to_many(beats[0], beats[:2], band=0.1, cost="squared")
    return beats


def ours(beats):
    return np.sqrt(dtw_one_to_many(beats[0], list(beats), band=0.1, cost="squared"))


def dtaidistance(beats):
    from dtaidistance import dtw

    # one row of its matrix, in one call of its compiled code; a beat and itself are left out
    row = dtw.distance_matrix_fast(
        beats, window=8, block=((0, 1), (0, len(beats))), compact=True, parallel=False
    )
    return np.concatenate([[0.0], row])


def plain(beats):
    """The recursion in numpy, a row of all series at a time, for the first fifty."""
    some = beats[:50]
    n, reach = len(beats[0]), int(np.ceil(0.1 * len(beats[0])))
    D = np.full((n + 1, n + 1, len(some)), np.inf)
    D[0, 0] = 0.0
    for i in range(n):
        for j in range(max(0, i - reach), min(n, i + reach + 1)):
            step = np.minimum(np.minimum(D[i, j], D[i, j + 1]), D[i + 1, j])
            D[i + 1, j + 1] = (beats[0][i] - some[:, j]) ** 2 + step
    return np.sqrt(D[n, n])


def same(_, answers):
    first = answers["octavo"]
    worst = max(float(np.abs(a - first[: len(a)]).max()) for a in answers.values())
    assert worst < 1e-10
    return f"Largest difference of a distance: {worst:.1g}."


def day():
    engine._warmup()
    return shapes(100_000)


def symbols(**options):
    def solve(beats):
        model = MaxMinSymbolizer(threshold=0.0, max_symbols=66, n_jobs=2, **options)
        return model.fit(list(beats)).prototype_indices_

    return solve


def without_bounds(beats):
    """The same clustering without leaving any pair early, for a twentieth of the beats."""
    many = engine.ragged(list(beats[:5000]))
    how = engine.Warping(0.1, False, True)
    nearest, new, taken = np.full(5000, np.inf), 0, []
    for _ in range(66):
        nearest = np.minimum(nearest, engine.one_to_many(many.series(new), many, how, None, 2))
        taken.append(new)
        new = int(np.argmax(nearest))
    return np.array(taken)


def counted(_, answers):
    return "Symbols: " + ", ".join(f"{name} {len(found)}" for name, found in answers.items())


CONTESTS = [
    Contest(
        name="pairs",
        problem="one beat of 64 samples against 2,000, squared costs, band of a tenth",
        setup=pairs,
        solvers={"octavo": ours, "dtaidistance, C": dtaidistance, "numpy, 50 beats": plain},
        agree=same,
        work={"octavo": 2000, "dtaidistance, C": 2000, "numpy, 50 beats": 50},
        unit="pair",
        repeats=3,
        target="Aim: at most 1.5 times the time of dtaidistance.",
        limit="arithmetic: cells of the band, each after its neighbours",
    ),
    Contest(
        name="day",
        problem="66 symbols of 100,000 beats of 64 samples, path-normalised, band of a tenth",
        setup=day,
        solvers={"octavo": symbols(), "octavo without bounds, 5,000 beats": without_bounds},
        agree=counted,
        work={"octavo": 100_000, "octavo without bounds, 5,000 beats": 5000},
        unit="beat",
        repeats=1,
        warm=False,
        target="Aim: a day of heart beats within a minute on two cores.",
        limit="arithmetic: cells of the band, each after its neighbours",
    ),
]
