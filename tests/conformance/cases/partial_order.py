"""Partial order embedding takes views with comparisons."""

import numpy as np

from octavo.metric import KernelPOE, LinearPOE, MultipleKernelPOE, MultipleKernelPOECV
from tests.conformance.discovery import Case

POINTS = np.random.default_rng(0).standard_normal((8, 2))
NOISE = np.random.default_rng(1).standard_normal((8, 3))
COMPARISONS = np.array([[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6], [5, 6, 7]])


def table_case(make):
    def fit(model):
        return model.fit(POINTS, COMPARISONS)

    return Case(
        make=make,
        fit=fit,
        query=lambda m: m.transform(POINTS[:3]),
        bad=[
            ("NaN", lambda m: m.fit(POINTS * np.nan, COMPARISONS), ValueError, "NaN"),
            ("empty", lambda m: m.fit(POINTS, np.zeros((0, 4))), ValueError, "at least one"),
            ("shape", lambda m: m.fit(POINTS, COMPARISONS[:, :2]), ValueError, "four columns"),
            ("type", lambda m: m.fit(POINTS, [["a", "b", "c"]]), ValueError, "real numbers"),
            ("option", lambda m: fit(m.set_params(solver="best")), ValueError, "'solver'"),
        ],
        unfitted=[lambda m: m.transform(POINTS), lambda m: m.score(COMPARISONS)],
    )


def views_case(make):
    def fit(model):
        return model.fit([POINTS, NOISE], COMPARISONS)

    return Case(
        make=make,
        fit=fit,
        query=lambda m: m.transform([POINTS[:3], NOISE[:3]]),
        bad=[
            ("NaN", lambda m: m.fit([POINTS * np.nan, NOISE], COMPARISONS), ValueError, "NaN"),
            ("empty", lambda m: m.fit([], COMPARISONS), ValueError, "at least one view"),
            ("shape", lambda m: m.fit([POINTS, NOISE[:4]], COMPARISONS), ValueError, "same items"),
            ("type", lambda m: m.fit("views", COMPARISONS), ValueError, "list of views"),
            ("option", lambda m: fit(m.set_params(structure="band")), ValueError, "'structure'"),
        ],
        unfitted=[
            lambda m: m.transform([POINTS, NOISE]),
            lambda m: m.predict_comparisons(COMPARISONS),
        ],
    )


CASES = [
    table_case(lambda: LinearPOE(beta=10.0, random_state=0)),
    table_case(lambda: KernelPOE(beta=10.0, random_state=0)),
    views_case(lambda: MultipleKernelPOE(beta=10.0, random_state=0)),
    views_case(lambda: MultipleKernelPOECV(betas=(1.0, 10.0), random_state=0)),
]
