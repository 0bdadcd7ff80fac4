"""How often the leaderboard of `octavo compare` sees a difference where there is none.

``python tools/compare_false_verdicts.py [TABLES]`` makes tables whose labels have nothing to do
with their features (200 of each kind unless told), predicts them with plain methods, in the order
of time, by five folds, or by five folds of whole patients, and counts the tables in which a method
is called different from the best, and those in which one is called ahead of all others. The figures
are those of ``docs/compare.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from octavo.compare.judging.leaderboard import LEVEL, p_values_beside_the_best
from octavo.compare.judging.paired import holm_beside_the_best

Rng = np.random.Generator
FEW = [
    DummyClassifier(),
    LogisticRegression(C=0.1),
    KNeighborsClassifier(1),
    KNeighborsClassifier(20),
    DecisionTreeClassifier(max_depth=4, random_state=0),
]
MANY = [
    *FEW[:2],
    *(KNeighborsClassifier(k) for k in (1, 2, 3, 5, 9, 20)),
    *(DecisionTreeClassifier(random_state=seed, max_features=1) for seed in range(4)),
    GaussianNB(),
]


def independent(rng: Rng) -> tuple[Any, Any]:
    """Return 600 rows that have nothing to do with one another."""
    return rng.normal(size=(600, 4)), rng.integers(0, 2, 600)


def balanced(rng: Rng) -> tuple[Any, Any]:
    """Return 400 rows, half of each class: no method can do better than another."""
    return rng.normal(size=(400, 5)), rng.permutation(np.arange(400) % 2)


def visits(n_visits: int, even: bool = False) -> Callable[[Rng], tuple[Any, Any]]:
    """Return 600 rows: patient after patient, each with features and a label of his own."""

    def make(rng: Rng) -> tuple[Any, Any]:
        n_patients, day = 600 // n_visits, np.arange(600)
        centres = np.repeat(rng.normal(size=(n_patients, 4)), n_visits, axis=0)
        dates = np.column_stack([day / 600, (day // 30) % 12, day % 7])
        X = np.hstack([centres + 0.1 * rng.normal(size=(600, 4)), dates])
        halves = np.arange(n_patients) % 2
        labels = rng.permutation(halves) if even else rng.integers(0, 2, n_patients)
        return X, np.repeat(labels, n_visits)

    return make


def series(correlation: float) -> Callable[[Rng], tuple[Any, Any]]:
    """Return 600 rows of autoregressive features, and the sign of a series apart from them."""

    def make(rng: Rng) -> tuple[Any, Any]:
        x = rng.normal(size=(800, 5))
        for t in range(1, 800):
            x[t] += correlation * x[t - 1]
        return x[200:, :4], (x[200:, 4] > 0).astype(int)

    return make


def verdicts(X: Any, y: Any, methods: list[Any], ordered: bool, groups: Any = None) -> Any:
    """Return the corrected p-values against the best method, rows right or wrong."""
    right = np.full((len(y), len(methods)), np.nan)
    folds: Any = TimeSeriesSplit(5) if ordered else StratifiedKFold(5, shuffle=True, random_state=0)
    if groups is not None:
        folds = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    for train, test in folds.split(X, y, groups):
        for k, method in enumerate(methods):
            if len(np.unique(y[train])) < 2:
                right[test, k] = y[test] == y[train][0]
            else:
                right[test, k] = method.fit(X[train], y[train]).predict(X[test]) == y[test]
    order = np.argsort(-np.nanmean(right, axis=0), kind="stable")
    scores = [[0.0]] * len(methods)  # unused where rows have values
    values = list(right[:, order].T)
    raw = p_values_beside_the_best(scores, values, groups, 0.25, True, ordered)
    return holm_beside_the_best(raw)


def main() -> None:
    n_tables = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    kinds: dict[str, tuple[Any, list[Any], bool | int]] = {  # at last: in time, or rows a group
        "13 methods, five folds": (balanced, MANY, False),
        "in time, independent rows": (independent, FEW, True),
        **{f"in time, {n} visits a patient": (visits(n), FEW, True) for n in (4, 10, 20)},
        **{f"in time, correlation {r}": (series(r), FEW, True) for r in (0.5, 0.9, 0.97)},
        **{f"in groups of {n} visits": (visits(n), FEW, n) for n in (4, 10)},
        **{f"in groups of {n}, even classes": (visits(n, True), FEW, n) for n in (4, 10)},
    }
    for name, (make, methods, order) in kinds.items():
        different = ahead = 0
        for seed in range(n_tables):
            X, y = make(np.random.default_rng(seed))
            groups = None if isinstance(order, bool) else np.arange(len(y)) // order
            p = verdicts(X, y, methods, order is True, groups)
            different += bool((p <= LEVEL).any())
            ahead += bool((p <= LEVEL).all())
        print(
            f"{name}: a method called different in {different / n_tables:.1%} of {n_tables} "
            f"tables, one ahead of all others in {ahead / n_tables:.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
