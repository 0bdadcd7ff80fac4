"""Compartments beside PyTCI, and training beside a loop in Python."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.rl import PropofolEnv, SchniderPK, WatkinsQLambda

_STEPS = 2880  # four hours of five seconds
_EPISODES, _PART = 2000, 4


def infusion():
    return np.random.RandomState(0).uniform(0, 30, _STEPS)


def octavo_compartments(u):
    return SchniderPK(40, 75, 175, "male", ke0=0.456, constants="rates").simulate(u, 5.0)[:, [0, 3]]


def pytci_compartments(u):
    from PyTCI.models.propofol import Schnider

    peer, out = Schnider(40, 75, 175, "m"), np.empty((len(u), 2))
    peer.set_integrator("exact")
    for t, rate in enumerate(u):
        peer.giveoverseconds(rate / 60, 5)
        out[t] = peer.x1, peer.xeo
    return out


def same_concentrations(data, answers):
    ours = answers["octavo"]
    gap = max(np.abs(other - ours).max() for other in answers.values())
    assert gap < 1e-10
    return f"Concentrations differ by {gap:.0e} µg/ml at most."


class Plain(PropofolEnv):
    """The same environment, which the compiled loop does not recognise."""


def octavo_training(_):
    return WatkinsQLambda(random_state=0).fit(PropofolEnv(exploring=True), _EPISODES)


def python_training(_):
    return WatkinsQLambda(random_state=0).fit(Plain(exploring=True), _PART)


def both_trained(_, answers):
    steps = {name: model.n_steps_ for name, model in answers.items()}
    assert all(model.q_table_.shape == (361, 15) for model in answers.values())
    return f"Steps: {steps}."


CONTESTS = [
    Contest(
        name="compartments",
        problem="four hours in steps of five seconds, one patient",
        setup=infusion,
        solvers={"octavo": octavo_compartments, "PyTCI": pytci_compartments},
        agree=same_concentrations,
        repeats=3,
        target="Aim: equal to 1e-10, no slower.",
        no_limit="a few numbers a step: calls of Python",
    ),
    Contest(
        name="training",
        problem="Watkins' Q(λ) on 361 cells, 15 actions, episodes of 1,000 steps",
        setup=lambda: None,
        solvers={"octavo": octavo_training, "Python loop": python_training},
        agree=both_trained,
        work={"octavo": _EPISODES, "Python loop": _PART},
        unit="episode",
        repeats=3,
        target="Aim: 100 times a loop in Python, five million steps a second.",
        limit="traces: some thirty cells a step",
    ),
]
