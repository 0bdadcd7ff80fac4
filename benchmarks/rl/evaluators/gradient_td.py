"""TDC beside the loop that one writes in numpy, on dense and sparse rows."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import Contest
from octavo.rl import TDC, Transitions

GAMMA, ALPHA = 0.95, 1e-3


def dense(n=20_000, p=200):
    rng = np.random.default_rng(0)
    states = rng.normal(size=(n + 1, p)) / np.sqrt(p)
    return Transitions(states[:-1], rng.normal(size=n), states[1:])


def sparse(n=20_000, p=100_000, nonzeros=32):
    rng = np.random.default_rng(0)
    columns = rng.integers(0, p, size=(n + 1, nonzeros)).ravel()
    rows = np.repeat(np.arange(n + 1), nonzeros)
    states = sp.csr_matrix((np.full(rows.size, 1 / nonzeros**0.5), (rows, columns)), (n + 1, p))
    states.sum_duplicates()
    return Transitions(states[:-1], rng.normal(size=n), states[1:])


def numpy_dense(batch):
    theta, w = np.zeros(batch.n_features), np.zeros(batch.n_features)
    for x, y, r in zip(batch.X, batch.X_next, batch.r):
        seen = x @ w
        theta = theta + ALPHA * ((r + GAMMA * (y @ theta) - x @ theta) * x - GAMMA * seen * y)
        w = w + ALPHA * ((r + GAMMA * (y @ theta) - x @ theta) - seen) * x
    return theta


def numpy_sparse(batch):
    theta, w = np.zeros(batch.n_features), np.zeros(batch.n_features)
    X, Y = batch.X, batch.X_next
    for i in range(len(batch)):
        a, b = slice(X.indptr[i], X.indptr[i + 1]), slice(Y.indptr[i], Y.indptr[i + 1])
        xi, xv, yi, yv = X.indices[a], X.data[a], Y.indices[b], Y.data[b]
        seen = xv @ w[xi]
        delta = batch.r[i] + GAMMA * (yv @ theta[yi]) - xv @ theta[xi]
        theta[xi] += ALPHA * delta * xv
        theta[yi] -= ALPHA * GAMMA * seen * yv
        delta = batch.r[i] + GAMMA * (yv @ theta[yi]) - xv @ theta[xi]
        w[xi] += ALPHA * (delta - seen) * xv
    return theta


def octavo(batch):
    return TDC(GAMMA, learning_rate=ALPHA).fit(batch).coef_


def same(data, answers):
    first = next(iter(answers.values()))
    gap = max(np.abs(other - first).max() for other in answers.values()) / np.abs(first).max()
    assert gap < 1e-10, gap
    return f"Coefficients agree to {gap:.1g}, relatively."


CONTESTS = [
    Contest(
        name="dense rows",
        problem="TDC(0), 20,000 transitions, 200 dense features",
        setup=dense,
        solvers={"octavo": octavo, "numpy": numpy_dense},
        agree=same,
        repeats=3,
        limit="memory bandwidth: three passes over a row's features",
        traffic=20_000 * 200 * 8 * 2,
    ),
    Contest(
        name="sparse rows",
        problem="TDC(0), 20,000 transitions, 100,000 features of which 32 are not zero",
        setup=sparse,
        solvers={"octavo": octavo, "numpy": numpy_sparse},
        agree=same,
        repeats=3,
        limit="memory latency: 32 random weights a transition, read and written",
    ),
]
