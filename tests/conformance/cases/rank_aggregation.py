"""Rank aggregators take tables of ranks with gaps, and lists of them."""

import numpy as np

from octavo.ranking import (
    CRFRankAggregator,
    MultinomialPreferenceModel,
    SupervisedPreferenceModel,
    SVDRankAggregator,
)
from tests.conformance.discovery import Case

NAN = float("nan")
RANKS = [
    np.array([[1, 3, 2], [2, 1, NAN], [3, 2, 1], [4, NAN, 3.0]]),
    np.array([[2, 1, NAN], [1, 2, 1], [NAN, 3, 2.0]]),
    np.array([[1, NAN, 2], [3, 1, 1], [2, 2, 3.0]]),
]
GRADES = [np.array([2.0, 1, 0, 0]), np.array([0.0, 1, 0]), np.array([2.0, 0, 1])]


def fit(model):
    return model.fit(RANKS)


def fit_labelled(model):
    return model.fit(RANKS, GRADES)


def bad(fit_one, option):
    return [
        ("NaN", lambda m: fit_one(m, [RANKS[0], np.full((2, 2), NAN)]), ValueError, "experts"),
        ("empty", lambda m: fit_one(m, [RANKS[0], np.zeros((0, 3))]), ValueError, "Instance 1"),
        ("shape", lambda m: fit_one(m, [RANKS[0], np.ones((2, 5))]), ValueError, "share their"),
        ("type", lambda m: fit_one(m, [np.array([["a", "b"]])] * 2), ValueError, "numbers"),
        ("option", lambda m: fit_one(m.set_params(**option), RANKS), ValueError, "parameter"),
        ("zero", lambda m: fit_one(m, [RANKS[0], RANKS[1] - 1]), ValueError, "Ranks begin at 1"),
    ]


def plain(model, X):
    return model.fit(X)


def labelled(model, X):
    return model.fit(X, [np.arange(len(one)) for one in X])


CASES = [
    Case(
        make=MultinomialPreferenceModel,
        fit=fit,
        query=lambda m: np.concatenate([*m.scores_, m.aggregate(RANKS[0])]),
        bad=bad(plain, {"transform": "cubic"}),
        unfitted=[lambda m: m.pair_proba(0, 1), lambda m: m.aggregate(RANKS[0])],
    ),
    Case(
        make=SupervisedPreferenceModel,
        fit=fit_labelled,
        query=lambda m: np.concatenate([m.adherence_, m.predict(RANKS[0]), m.rank(RANKS[1])]),
        bad=bad(labelled, {"transform": "cubic"}),
        unfitted=[lambda m: m.predict(RANKS[0]), lambda m: m.rank(RANKS[0])],
    ),
    Case(
        make=lambda: CRFRankAggregator(n_epochs=3, random_state=0),
        fit=fit_labelled,
        query=lambda m: np.concatenate([m.expert_weights_.ravel(), m.predict(RANKS[0])]),
        bad=bad(labelled, {"n_subsample": 20}),
        unfitted=[lambda m: m.predict(RANKS[0]), lambda m: m.rank(RANKS[0])],
    ),
    Case(
        make=lambda: SVDRankAggregator(n_epochs=3, random_state=0),
        fit=fit_labelled,
        query=lambda m: np.concatenate([m.expert_weights_.ravel(), m.predict(RANKS[0])]),
        bad=bad(labelled, {"n_components": 0}),
        unfitted=[lambda m: m.predict(RANKS[0]), lambda m: m.rank(RANKS[0])],
    ),
]
