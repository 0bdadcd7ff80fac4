"""Learners of policies take an environment; the world model takes episodes."""

import numpy as np

from octavo.rl import (
    LSPI,
    OLPOMDP,
    DynaQ,
    Episode,
    LinearWorldModel,
    MountainCar,
    QLearningCMAC,
    SoftmaxLinearPolicy,
)
from tests.conformance.discovery import Case

STATES = np.random.default_rng(0).normal(size=(21, 2))
ACTIONS, REWARDS = np.arange(20) % 2, np.linspace(-1, 1, 20)


def run():
    return Episode(STATES, ACTIONS, REWARDS)


def car():
    return MountainCar(horizon=20)


def bad(option):
    name, value = option
    return [
        ("NaN", lambda m: m.fit(car(), np.nan), ValueError, "n_episodes"),
        ("empty", lambda m: m.fit(car(), 0), ValueError, "n_episodes"),
        ("shape", lambda m: m.fit(np.zeros((3, 2)), 1), ValueError, "reset"),
        ("type", lambda m: m.fit("banana", 1), ValueError, "reset"),
        ("option", lambda m: m.set_params(**{name: value}).fit(car(), 1), ValueError, f"'{name}'"),
    ]


CASES = [
    Case(
        make=LinearWorldModel,
        fit=lambda m: m.fit([run()]),
        query=lambda m: m.predict(STATES, np.zeros(21))[0],
        bad=[
            (
                "NaN",
                lambda m: m.fit([Episode(STATES * np.nan, ACTIONS, REWARDS)]),
                ValueError,
                "NaN",
            ),
            ("empty", lambda m: m.fit([]), ValueError, "at least one"),
            (
                "shape",
                lambda m: m.fit([Episode(STATES[:3], ACTIONS, REWARDS)]),
                ValueError,
                "states",
            ),
            ("type", lambda m: m.fit(["a"]), ValueError, "Episode"),
            ("option", lambda m: m.set_params(alpha=-1).fit([run()]), ValueError, "'alpha'"),
        ],
        unfitted=[lambda m: m.predict(STATES, np.zeros(21))],
        iterative=False,
    ),
    Case(
        make=lambda: OLPOMDP(SoftmaxLinearPolicy(2, 2), random_state=0),
        fit=lambda m: m.fit(car(), 2),
        query=lambda m: m.theta_,
        bad=bad(("lam", 2.0)),
        unfitted=[lambda m: m.act(np.zeros(2))],
    ),
    Case(
        make=lambda: QLearningCMAC(random_state=0),
        fit=lambda m: m.fit(car(), 2),
        query=lambda m: m.decision_function(STATES),
        bad=bad(("gamma", 2.0)),
        unfitted=[lambda m: m.predict(STATES)],
    ),
    Case(
        make=lambda: DynaQ(n_planning=50, random_state=0),
        fit=lambda m: m.fit(car(), 2),
        query=lambda m: m.decision_function(STATES),
        bad=bad(("gamma", 2.0)),
        unfitted=[lambda m: m.predict(STATES)],
    ),
    Case(
        make=lambda: LSPI(random_state=0),
        fit=lambda m: m.fit(car(), 2),
        query=lambda m: m.decision_function(STATES),
        bad=bad(("gamma", 2.0)),
        unfitted=[lambda m: m.predict(STATES)],
    ),
]
