"""Divergences of two samples take pairs of tables."""

import numpy as np

from octavo.info import CostCurveDivergence, VariationalDivergence
from tests.conformance.discovery import Case

rng = np.random.default_rng(0)
XP, XQ = rng.normal(0.7, 1.0, size=(30, 2)), rng.normal(size=(25, 2))
SPOILT = XP.copy()
SPOILT[3, 1] = np.nan


def fit(model):
    return model.fit(XP, XQ)


def bad(option):
    return [
        ("NaN", lambda m: m.fit(SPOILT, XQ), ValueError, "NaN"),
        ("empty", lambda m: m.fit(XP[:0], XQ), ValueError, "0 sample"),
        ("shape", lambda m: m.fit(XP, XQ[:, :1]), ValueError, "number of columns"),
        ("type", lambda m: m.fit(XP, [["a", "b"]] * 9), ValueError, "convert"),
        ("option", lambda m: fit(m.set_params(**option)), ValueError, next(iter(option))),
    ]


CASES = [
    Case(
        make=lambda: CostCurveDivergence(random_state=0),
        fit=fit,
        query=lambda m: np.append(m.scores_, [m.divergence_, m.lower_bound_]),
        bad=bad({"eps": 0.7}),
        unfitted=[lambda m: m.value("hellinger")],
    ),
    Case(
        make=lambda: VariationalDivergence(n_components=10, random_state=0),
        fit=fit,
        query=lambda m: np.append(m.log_ratio(XP), m.divergence_),
        bad=bad({"divergence": "banana"}),
        unfitted=[lambda m: m.log_ratio(XP)],
    ),
]
