"""AdaHedge and Hedge beside a numpy loop, poold and river."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.online import AdaHedge, FlipFlop, Hedge, NormalHedge

FEW = 2_000


def random_game(n_rounds=1_000_000, n_experts=10):
    return np.random.default_rng(0).random((n_rounds, n_experts))


def mix(eta, totals):
    low = totals.min()
    weights = (totals == low).astype(float) if np.isinf(eta) else np.exp(-eta * (totals - low))
    total = weights.sum()
    return weights / total, low - np.log(total / totals.size) / eta


def adahedge_by_numpy(losses):
    """The algorithm of the paper's Figure 1, a few array operations a round."""
    n_rounds, n_experts = losses.shape
    h, totals, gap = np.empty(n_rounds), np.zeros(n_experts), 0.0
    for t in range(n_rounds):
        eta = np.log(n_experts) / gap if gap > 0 else np.inf
        weights, before = mix(eta, totals)
        h[t] = weights @ losses[t]
        totals = totals + losses[t]
        gap += max(0.0, h[t] - (mix(eta, totals)[1] - before))
    return h


def adahedge_by_poold(losses):
    """Its AdaHedgeD with neither delay nor hints."""
    from poold.learners import AdaHedgeD

    learner = AdaHedgeD([str(k) for k in range(losses.shape[1])], T=len(losses))
    learner.history.low_memory = True
    feedback = []
    for t, row in enumerate(losses):
        learner.update_and_play(feedback, None)
        feedback = [(t, {"grad": lambda w, row=row: row, "fun": lambda w, row=row: w @ row})]
    return learner.w


def same_losses(losses, answers):
    ours = answers["octavo AdaHedge.run"].loss_[:FEW]
    gap = float(np.abs(ours - answers["numpy loop"]).max())
    assert gap < 1e-12
    return f"Losses differ from the numpy loop's by {gap:.1e} at most in {FEW:,} rounds."


def hedge_stream(losses):
    strategy = Hedge(0.3).reset(losses.shape[1])
    for row in losses:
        strategy.weights()
        strategy.update(row)
    return strategy.weights()


def river_stream(losses):
    from river import base, ensemble, optim

    class Column(base.Regressor):
        def __init__(self, name):
            self.name = name

        def learn_one(self, x, y):
            pass

        def predict_one(self, x):
            return x[self.name]

    columns = range(losses.shape[1])
    model = ensemble.EWARegressor(
        [Column(k) for k in columns], loss=optim.losses.Absolute(), learning_rate=0.3
    )
    for row in losses:
        x = dict(zip(columns, row))
        model.predict_one(x)
        model.learn_one(x, 0.0)  # the absolute loss of predicting a loss of the game is that loss
    return np.array(model.weights)


def same_weights(losses, answers):
    gap = float(np.abs(answers["octavo Hedge.update"] - answers["river EWARegressor"]).max())
    assert gap < 1e-12
    return f"Final weights differ by {gap:.1e} at most."


def same_many(losses, answers):
    gap = float(np.abs(answers["octavo AdaHedge.run"].loss_ - answers["numpy loop"]).max())
    assert gap < 1e-12
    return f"Losses differ by {gap:.1e} at most."


CONTESTS = [
    Contest(
        name="long game",
        problem="1,000,000 rounds with 10 experts, trace with all weights",
        setup=random_game,
        solvers={
            "octavo AdaHedge.run": lambda losses: AdaHedge().run(losses),
            "octavo FlipFlop.run": lambda losses: FlipFlop().run(losses),
            "octavo NormalHedge.run": lambda losses: NormalHedge().run(losses),
            "numpy loop": lambda losses: adahedge_by_numpy(losses[:FEW]),
            "poold AdaHedgeD": lambda losses: adahedge_by_poold(losses[:FEW]),
        },
        agree=same_losses,
        work={
            "octavo AdaHedge.run": 1_000_000,
            "octavo FlipFlop.run": 1_000_000,
            "octavo NormalHedge.run": 1_000_000,
            "numpy loop": FEW,
            "poold AdaHedgeD": FEW,
        },
        unit="round",
        target="Aim: 0.3 µs a round, and 50 times the numpy loop. poold bounds the gap otherwise "
        "and keeps a history; it is timed for scale.",
        limit="exponentials: one an expert and round, in order",
    ),
    Contest(
        name="stream",
        problem="2,000 rounds with 10 experts, weights and losses one call a round, fixed rate",
        setup=lambda: random_game(FEW),
        solvers={"octavo Hedge.update": hedge_stream, "river EWARegressor": river_stream},
        agree=same_weights,
        work={"octavo Hedge.update": FEW, "river EWARegressor": FEW},
        unit="round",
        no_limit="one call of Python a round",
    ),
    Contest(
        name="many experts",
        problem="5 rounds with 1,000,000 experts",
        setup=lambda: random_game(5, 1_000_000),
        solvers={
            "octavo AdaHedge.run": lambda losses: AdaHedge().run(losses, keep_weights=False),
            "numpy loop": adahedge_by_numpy,
        },
        agree=same_many,
        work={"octavo AdaHedge.run": 5, "numpy loop": 5},
        unit="round",
        limit="memory bandwidth and exponentials: losses and weights of a round",
        traffic=5 * 1_000_000 * 8 * 3,
    ),
]
