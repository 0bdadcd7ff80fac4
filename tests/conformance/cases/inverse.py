"""Inverse methods take a model and an expert."""

import numpy as np

from octavo.rl import FSCIRL, MDPIRL, FiniteMDP, FSCPolicy, TrajectoryIRL, make_maze1d
from tests.conformance.discovery import Case

MAZE = make_maze1d()
EXPERT = FSCPolicy([0, 1, 1], [[2, 0], [0, 0], [1, 0]], start=2)
LOGS = MAZE.sample(EXPERT, 20, 15, random_state=0)
P = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]])


def mdp():
    return FiniteMDP(P, [[0, 0], [1, 0]], gamma=0.5)


def bad(option, good, model=MAZE):
    name, value = option
    return [
        ("NaN", lambda m: m.fit(model, np.nan), ValueError, "xpected|list|policy"),
        ("empty", lambda m: m.fit(model, []), ValueError, "xpected|at least one|shape"),
        ("shape", lambda m: m.fit(model, np.zeros((3, 7))), ValueError, "xpected|pair|shape"),
        ("type", lambda m: m.fit("banana", good), ValueError, "xpected"),
        (
            "option",
            lambda m: m.set_params(**{name: value}).fit(model, good),
            ValueError,
            f"'{name}'",
        ),
    ]


CASES = [
    Case(
        make=FSCIRL,
        fit=lambda m: m.fit(MAZE, EXPERT),
        query=lambda m: m.reward_,
        bad=bad(("r_max", -1.0), EXPERT),
        unfitted=[lambda m: m.plan(MAZE)],
    ),
    Case(
        make=lambda: TrajectoryIRL(max_iter=5, random_state=0),
        fit=lambda m: m.fit(MAZE, LOGS),
        query=lambda m: m.reward_,
        bad=bad(("tol", -1.0), LOGS),
        unfitted=[lambda m: m.plan(MAZE)],
    ),
    Case(
        make=lambda: MDPIRL(random_state=0),
        fit=lambda m: m.fit(mdp(), [1, 0]),
        query=lambda m: m.reward_,
        bad=bad(("alpha", -1.0), [1, 0], mdp()),
        unfitted=[lambda m: m.plan(mdp())],
    ),
]
