"""Shattering by half-spaces beside one call of scipy's linprog for each labeling."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import linprog

from benchmarks.harness import Contest
from octavo.teaching import shatters


def points():
    return np.random.default_rng(0).normal(size=(9, 8))


def ours(X):
    return shatters(X, "linear")


def by_hand(X):
    m, d = X.shape
    rows = np.hstack([X, np.ones((m, 1))])
    for signs in product((-1.0, 1.0), repeat=m - 1):
        y = np.array([*signs, 1.0])
        found = linprog(np.zeros(d + 1), -y[:, None] * rows, -np.ones(m), bounds=(None, None))
        if found.status == 2:
            return False
    return True


def same(X, answers):
    assert len(set(answers.values())) == 1
    return "both say that all 512 labelings occur."


CONTESTS = [
    Contest(
        name="half-spaces",
        problem="whether half-spaces shatter 9 points in 8 dimensions",
        setup=points,
        solvers={"octavo": ours, "scipy linprog, one by one": by_hand},
        agree=same,
        repeats=3,
        target="at least five times",
        limit="256 linear programs, each from the basis of the one before",
    ),
]
