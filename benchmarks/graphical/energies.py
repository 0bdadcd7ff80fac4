"""Random energies of Section 7.1 beside alpha-expansion of gco and PyMaxflow."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from benchmarks.harness import Contest
from octavo.data import make_grid_energy
from octavo.engine.graphs.max_flow import FlowGraph, minimum_cut
from octavo.graphical import grid_mrf, minimize_mrf
from octavo.graphical.energies.interval_graphs import forced_move, interval_graph


def random_field(size: int, n_labels: int) -> Any:
    energy = make_grid_energy((size, size), n_labels, random_state=0)
    return grid_mrf(energy.unary, energy.weights, "linear", energy.truncation)


def ours(mrf: Any, method: str = "range_expansion") -> Any:
    return minimize_mrf(mrf, method, bound_max_iter=0).labels


def gco_expansion(mrf: Any) -> Any:
    import gco

    solver = gco.GCO()
    solver.create_general_graph(mrf.n_variables, mrf.n_labels, energy_is_float=True)
    solver.set_data_cost(mrf.unary)
    solver.set_all_neighbors(mrf.edges[:, 0], mrf.edges[:, 1], mrf.weights)
    solver.set_smooth_cost(mrf.pair_costs)
    solver.expansion(-1)
    labels = solver.get_labels()
    solver.destroy_graph()
    return np.asarray(labels).reshape(mrf.shape)


def no_higher(mrf: Any, answers: dict[str, Any]) -> str:
    values = {name: mrf.energy(labels) for name, labels in answers.items()}
    mine = values["octavo range_expansion"]
    assert mine <= min(values.values()) * (1 + 1e-9)
    return "Energies: " + ", ".join(f"{name} {value:.6g}" for name, value in values.items()) + "."


def one_cut(size: int, n_labels: int) -> FlowGraph:
    mrf = random_field(size, n_labels)
    move = forced_move(mrf.costs, mrf.edges, mrf.weights)
    return interval_graph(move, mrf.differences)[0]


def same_value(graph: Any, answers: dict[str, Any]) -> str:
    values = list(answers.values())
    assert np.ptp(values) <= 1e-9 * abs(values[0])
    return f"Cut of {values[0]:.6g} by all."


def cut_by(backend: str, graph: Any) -> float:
    return minimum_cut(graph, backend=backend).value


CONTESTS = [
    Contest(
        name="a random field of 50 x 50",
        problem="Truncated linear energy of Section 7.1, 50 x 50 variables, 20 labels",
        setup=functools.partial(random_field, 50, 20),
        solvers={
            "octavo range_expansion": ours,
            "octavo alpha_expansion": functools.partial(ours, method="alpha_expansion"),
            "gco": gco_expansion,
        },
        agree=no_higher,
        repeats=1,
        target="Aim: lower energy, in at most 10 times gco's time.",
        limit="augmenting paths of cuts with 25,000 nodes, about 60 of them",
    ),
    Contest(
        name="one cut",
        problem="The minimum cut of a convex energy: 40 x 40 variables, 16 labels, linear",
        setup=functools.partial(one_cut, 40, 16),
        solvers={
            "octavo numba": functools.partial(cut_by, "numba"),
            "PyMaxflow": functools.partial(cut_by, "pymaxflow"),
        },
        agree=same_value,
        repeats=3,
        target="Aim: PyMaxflow's time, so that the extra is a choice and no need.",
        limit="memory latency: residual arcs of the graph",
    ),
]
