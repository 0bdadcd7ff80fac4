"""The family of a search takes objects of any kind beside tables."""

import numpy as np

from octavo.search import ConditionalExponentialFamily
from tests.conformance.discovery import Case

WORDS = ["aab", "abb", "aaa", "bbb", "bab", "aba"]
LABELS = np.array([0, 1, 0, 1, 1, 0])


ROWS = "the loss is divided by the number of rows, as the thesis has it, not by their weight"


def letters(first, second):
    a, b = (np.array([[w.count(c) for c in "ab"] for w in words]) for words in (first, second))
    return a @ b.T


def broken(first, second):
    return np.full((len(first), len(second)), np.nan)


def scalar(first, second):
    return 1.0


def with_kernel(model, kernel):
    return model.set_params(kernel=kernel).fit(WORDS, LABELS)


CASES = [
    Case(
        make=ConditionalExponentialFamily,
        expected_failures={
            "check_sample_weight_equivalence_on_dense_data": ROWS,
            "check_sample_weight_equivalence_on_sparse_data": ROWS,
        },
    ),
    Case(
        make=lambda: ConditionalExponentialFamily(letters, alpha=0.1),
        fit=lambda m: m.fit(WORDS, LABELS),
        query=lambda m: m.predict_proba(WORDS),
        bad=[
            ("NaN", lambda m: with_kernel(m, broken), ValueError, "finite"),
            ("empty", lambda m: m.fit([], []), ValueError, "At least one"),
            ("shape", lambda m: m.fit(WORDS, LABELS[:4]), ValueError, "One label for each"),
            ("type", lambda m: with_kernel(m, scalar), ValueError, "rows and"),
            ("option", lambda m: with_kernel(m, "x"), ValueError, "'kernel'"),
        ],
        unfitted=[lambda m: m.predict(WORDS)],
        iterative=False,
    ),
]
