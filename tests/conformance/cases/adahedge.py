"""Strategies take games, matrices of losses; the ensembles take tables."""

import numpy as np
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB

from octavo.online import (
    CBMS,
    AdaHedge,
    DoublingAdaHedge,
    ExpertEnsembleClassifier,
    ExpertEnsembleRegressor,
    FlipFlop,
    FollowTheLeader,
    Hedge,
    NormalHedge,
    VariationMW,
)
from tests.conformance.discovery import Case

LOSSES = np.random.default_rng(0).random((30, 3))
BROKEN = np.where(np.arange(3) == 1, np.nan, LOSSES)


def play(strategy):
    strategy.run(LOSSES)
    return strategy


def game_case(make, option):
    name, value = option
    return Case(
        make=make,
        fit=play,
        query=lambda strategy: strategy.weights(),
        bad=[
            ("NaN", lambda s: s.run(BROKEN), ValueError, "NaN"),
            ("empty", lambda s: s.run(np.empty((0, 3))), ValueError, "empty"),
            ("shape", lambda s: s.run(LOSSES[0]), ValueError, "shape"),
            ("type", lambda s: s.run([["a", "b"]]), ValueError, "dtype"),
            ("option", lambda s: play(s.set_params(**{name: value})), ValueError, f"'{name}'"),
        ],
        unfitted=[lambda s: s.weights(), lambda s: s.get_state(), lambda s: s.predict([1.0])],
    )


def regressor():
    rates = [("slow", 1e-3), ("fast", 1e-1)]
    experts = [(name, SGDRegressor(eta0=eta0, random_state=0)) for name, eta0 in rates]
    return ExpertEnsembleRegressor(experts, batch_size=10)


def classifier():
    experts = [("sgd", SGDClassifier(random_state=0)), ("bayes", GaussianNB())]
    return ExpertEnsembleClassifier(experts, batch_size=10)


CASES = [
    game_case(lambda: Hedge(0.5), ("eta", 0.0)),
    game_case(FollowTheLeader, ("tie_tol", -1.0)),
    game_case(AdaHedge, ("gains", "yes")),
    game_case(DoublingAdaHedge, ("eta", 0.0)),
    game_case(FlipFlop, ("phi", 1.0)),
    game_case(NormalHedge, ("gains", "yes")),
    game_case(CBMS, ("drop_infinite", "yes")),
    game_case(VariationMW, ("eta", -1.0)),
    Case(make=regressor),
    Case(make=ExpertEnsembleRegressor),
    Case(make=classifier),
]
