"""Cuts of interval graphs against Lemma 1 and Properties 5 to 9, for every labelling of a pair."""

import itertools

import numpy as np
import pytest

from octavo.engine.graphs.max_flow import cut_value
from octavo.graphical.energies.interval_graphs import IntervalMove, best_labels, interval_graph

D = {
    "linear": lambda x: abs(x),
    "quadratic": lambda x: x * x,
    "other": lambda x: abs(x) ** 1.5 + 0.25 * abs(x),
}


def side_of(labels, forced, length):
    """Nodes on the source's side: chains up to their label, none for -1."""
    side = np.arange(length) <= np.asarray(labels)[:, None]
    side[forced, 0] = True
    return side.ravel()


@pytest.mark.parametrize("d", D)
@pytest.mark.parametrize("length", [1, 2, 4])
@pytest.mark.parametrize("forced", [(1, 1), (1, 0), (0, 1), (0, 0)])
def test_cuts_cost_what_the_paper_says(d, length, forced):
    rng = np.random.default_rng(length)
    table = np.array([D[d](x) for x in range(length + 4)], dtype=float)
    forced = np.array(forced, dtype=bool)
    w, M, kept = 1.7, 3.0, 2.3
    costs, keep = rng.uniform(0, 10, (2, length)), rng.uniform(0, 10, 2)
    move = IntervalMove(costs, np.array([[0, 1]]), np.array([w]), forced, keep, np.array([kept]), M)
    graph, constant = interval_graph(move, table)
    kappa = w * table[length]
    hat = np.diff(table) - table[1]  # Eq. (10)
    choices = [range(length) if f else range(-1, length) for f in forced]
    for a, b in itertools.product(*choices):
        wanted = sum(
            keep[i] if k < 0 else costs[i, k] for i, k in enumerate((a, b))
        )  # Properties 1 and 5
        if a >= 0 and b >= 0:
            wanted += w * table[abs(a - b)] + kappa  # Lemma 1, Properties 3, 4, 7 and 8
        elif a < 0 and b < 0:
            wanted += kept + kappa  # Property 6
        else:
            x = max(a, b)
            wanted += w * table[x] + w * hat[x] + w * M + kappa  # Property 9, Eq. (9)
        value = cut_value(graph, side_of((a, b), forced, length)) + constant
        assert value == pytest.approx(wanted, rel=1e-12), (a, b)


@pytest.mark.parametrize("backend", ["numba", "auto"])
def test_the_best_cut_is_the_least_of_all_labellings(backend):
    rng = np.random.default_rng(0)
    pairs = np.array([[0, 1], [1, 2], [0, 2]])
    for _ in range(20):
        length, forced = 3, rng.random(3) < 0.5
        table = np.arange(8.0) ** 2
        move = IntervalMove(
            rng.uniform(0, 10, (3, length)),
            pairs,
            rng.uniform(0, 3, 3),
            forced,
            rng.uniform(0, 10, 3),
            rng.uniform(0, 3, 3),
            4.0,
        )
        graph, _ = interval_graph(move, table)
        choices = [range(length) if f else range(-1, length) for f in forced]
        values = {
            f: cut_value(graph, side_of(f, forced, length)) for f in itertools.product(*choices)
        }
        found = best_labels(move, table, backend)
        assert values[tuple(found.tolist())] == pytest.approx(min(values.values()))
