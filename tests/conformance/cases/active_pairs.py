"""Rankers and clusterers of pairs take a number of items and somebody who answers."""

import numpy as np

from octavo.search import SRRAClusterer, SRRAFinite, SRRALinearRanker, SRRARanker
from tests.conformance.discovery import Case

TABLE = np.tri(8, 8, -1)
LABELS = (np.arange(8)[:, None] % 2 == np.arange(8) % 2).astype(float)
RULES = np.tri(7, 6, -1, dtype=int)
X = np.random.RandomState(0).standard_normal((8, 2))


def of_pairs(fit, option):
    return [
        ("NaN", lambda m: fit(m, np.full((8, 8), np.nan)), ValueError, "1, 0 or 0.5"),
        ("empty", lambda m: fit(m, np.zeros((0, 0))), ValueError, "0 items"),
        ("shape", lambda m: fit(m, np.ones((8, 7))), ValueError, "square matrix"),
        ("type", lambda m: fit(m, "banana"), ValueError, "function of two items"),
        ("option", lambda m: fit(m.set_params(**{option: "x"}), TABLE), ValueError, f"'{option}'"),
        ("answer", lambda m: fit(m, lambda u, v: 2), ValueError, "about items"),
    ]


def count_fit(m, oracle):
    return m.fit(8, oracle)


def table_fit(m, oracle):
    return m.fit(X, oracle)


CASES = [
    Case(
        make=lambda: SRRARanker(random_state=0),
        fit=lambda m: m.fit(8, TABLE),
        query=lambda m: m.ranking_,
        bad=of_pairs(count_fit, "sampling"),
        unfitted=[lambda m: m.predict([[0, 1]])],
    ),
    Case(
        make=lambda: SRRAClusterer(2, random_state=0),
        fit=lambda m: m.fit(8, LABELS),
        query=lambda m: m.labels_,
        bad=of_pairs(count_fit, "reuse"),
        unfitted=[lambda m: m.predict([[0, 1]])],
    ),
    Case(
        make=lambda: SRRALinearRanker(random_state=0),
        fit=lambda m: m.fit(X, TABLE),
        query=lambda m: m.decision_function(X),
        bad=[
            *of_pairs(table_fit, "sampling"),
            ("rows", lambda m: m.fit(X * np.nan, TABLE), ValueError, "NaN"),
        ],
        unfitted=[lambda m: m.decision_function(X)],
    ),
    Case(
        make=lambda: SRRAFinite(RULES, random_state=0),
        fit=lambda m: m.fit(RULES[3]),
        query=lambda m: m.labels_,
        bad=[
            ("NaN", lambda m: m.fit(np.full(6, np.nan)), ValueError, "1, 0 or 0.5"),
            ("empty", lambda m: m.fit([]), ValueError, "vector of 6 labels"),
            ("shape", lambda m: m.fit(np.ones(5)), ValueError, "vector of 6 labels"),
            ("type", lambda m: m.fit("banana"), ValueError, "vector of 6 labels"),
            ("option", lambda m: m.set_params(reuse="x").fit(RULES[3]), ValueError, "'reuse'"),
        ],
        unfitted=[lambda m: m.predict([0])],
    ),
]
