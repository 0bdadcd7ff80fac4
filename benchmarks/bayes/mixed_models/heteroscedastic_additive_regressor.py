"""HeteroscedasticAdditiveRegressor beside scikit-learn's quantile gradient boosting."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks.harness import Contest
from octavo.bayes import HeteroscedasticAdditiveRegressor


def data(n=2000):
    rng = np.random.default_rng(0)
    X = rng.random((2 * n, 3))
    mean = np.sin(6 * X[:, 0]) + 2 * X[:, 1] + (3 * X[:, 2] - 1) ** 2
    y = mean + np.exp(1.5 * X[:, 2] - 1.5) * rng.normal(size=2 * n)
    return X[:n], y[:n], X[n:], y[n:]


def ours(d):
    return HeteroscedasticAdditiveRegressor().fit(d[0], d[1]).predict_interval(d[2], 0.9)


def boosted(d):
    ends = []
    for quantile in (0.05, 0.95):
        model = HistGradientBoostingRegressor(loss="quantile", quantile=quantile, random_state=0)
        ends.append(model.fit(d[0], d[1]).predict(d[2]))
    return tuple(ends)


def interval_scores(d, answers):
    words = []
    for name, (low, high) in answers.items():
        y = d[3]
        inside = np.mean((low <= y) & (y <= high))
        score = np.mean(high - low + 20 * np.maximum(low - y, 0) + 20 * np.maximum(y - high, 0))
        words.append(f"{name}: {inside:.1%} inside, interval score {score:.2f}")
    return "90 % intervals on new rows; " + "; ".join(words) + "."


CONTESTS = [
    Contest(
        name="90 % intervals",
        problem="90 % prediction intervals, 2,000 rows, 3 features, variance that changes",
        setup=data,
        solvers={"octavo": ours, "quantile gradient boosting": boosted},
        agree=interval_scores,
        repeats=3,
        target="Another model; compare time and interval scores.",
        limit="BLAS: products of rows and splines, an iteration",
    ),
]
