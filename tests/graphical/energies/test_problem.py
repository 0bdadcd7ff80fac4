"""Energies by the definition, and what is refused."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from octavo.graphical import PairwiseMRF, grid_mrf
from tests.graphical.energies.oracles import GRID, all_energies, all_labellings, random_mrf

UNARY = np.zeros((3, 4))
EDGES = [[0, 1], [1, 2]]


@pytest.mark.parametrize("d", ["linear", "quadratic", lambda x: abs(x) ** 1.5])
@pytest.mark.parametrize("truncation", [None, 2.5])
def test_energy_is_the_definition(d, truncation):
    mrf = random_mrf(0, d, truncation, n_labels=3)
    labellings = all_labellings(mrf)[::7]
    mine = [mrf.energy(f) for f in labellings]
    np.testing.assert_allclose(mine, all_energies(mrf, labellings), rtol=1e-12)


def test_edges_of_every_kind_are_one_energy():
    rng = np.random.default_rng(0)
    unary, w = rng.uniform(size=(6, 4)), rng.uniform(1, 2, len(GRID))
    matrix = sp.coo_array((w, GRID.T), shape=(6, 6)).tocsr()
    symmetric = sp.csr_array(matrix + matrix.T)
    graph = nx.Graph()
    graph.add_nodes_from(range(6))
    graph.add_weighted_edges_from([(a, b, c) for (a, b), c in zip(GRID.tolist(), w)])
    twice = np.concatenate([GRID, GRID[:, ::-1]])
    f = rng.integers(4, size=6)
    wanted = PairwiseMRF(unary, GRID, w, truncation=2).energy(f)
    for edges, weights in (
        (symmetric, None),
        (symmetric.toarray(), None),
        (graph, None),
        (twice, np.concatenate([w, w]) / 2),
        (GRID.astype(np.int32), w.astype(np.float64)),
    ):
        assert PairwiseMRF(unary, edges, weights, truncation=2).energy(f) == pytest.approx(wanted)
    plain, ones = (
        PairwiseMRF(unary, GRID, *w_, truncation=2) for w_ in ((), (np.ones(len(GRID)),))
    )
    assert plain.energy(f) == ones.energy(f)
    bool_edges = PairwiseMRF(unary, symmetric.toarray() > 0, 1.5)
    assert bool_edges.weights.tolist() == [1.5] * len(GRID)


def test_grid_edges():
    four, eight = (grid_mrf(np.zeros((3, 4, 2)), connectivity=c) for c in (4, 8))
    assert len(four.edges) == 3 * 3 + 2 * 4
    assert len(eight.edges) == 17 + 2 * 6
    joined = {tuple(edge) for edge in eight.edges.tolist()}
    assert {(0, 1), (0, 4), (0, 5), (1, 4)} <= joined
    labels = np.arange(12).reshape(3, 4) % 2
    assert four.energy(labels) == four.energy(labels.ravel())


def test_forbidden_labels():
    unary = np.array([[0.0, np.inf, 5.0], [np.inf, 1.0, np.inf]])
    mrf = PairwiseMRF(unary, [[0, 1]], 3.0)
    assert mrf.energy([0, 1]) == 4.0
    assert mrf.energy([1, 1]) == np.inf
    assert np.isfinite(mrf.costs).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"unary": np.zeros(3)}, "unary must have shape"),
        ({"unary": np.full((3, 4), np.nan)}, "variable 0 has nan for label 0"),
        ({"unary": np.where(np.eye(3, 4) > 0, -np.inf, 0.0)}, "variable 0 has -inf"),
        ({"unary": np.array([[0.0], [np.inf], [1.0]])}, "every label of variable 1"),
        ({"unary": np.full((3, 4), 1e300)}, "too large"),
        ({"edges": [[0, 3]]}, "variables 0 to 2"),
        ({"edges": [[1, 1]]}, "variable 1 to itself"),
        ({"edges": [[0, 0.5]]}, "whole numbers"),
        ({"edges": np.eye(4)}, "nodes"),
        ({"weights": [1.0]}, "each of the 2 edges"),
        ({"weights": [1.0, -1.0]}, "between variables 1 and 2 has -1"),
        ({"weights": [1.0, np.nan]}, "between variables 1 and 2 has nan"),
        ({"d": "cubic"}, "d must be"),
        ({"d": lambda x: -abs(x)}, "convex"),
        ({"d": lambda x: min(abs(x), 2)}, r"d\(3\) - 2 d\(2\) \+ d\(1\)"),
        ({"d": lambda x: x}, r"even; d\(1\) = 1"),
        ({"d": lambda x: abs(x) + 1}, r"d\(0\) = 1"),
        ({"d": lambda x: np.inf}, "finite"),
        ({"d": lambda x: x.shape}, "AttributeError"),
        ({"truncation": 0}, "truncation must be"),
        ({"truncation": -1.0}, "truncation must be"),
        ({"truncation": "much"}, "truncation must be"),
        ({"truncation": np.nan}, "truncation must be"),
    ],
)
def test_bad_input(change, message):
    given = {"unary": UNARY, "edges": EDGES, "weights": 1.0, **change}
    with pytest.raises(ValueError, match=message):
        PairwiseMRF(**given)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], "one entry for each variable"),
        ([0, 1, 4], "variable 2 has 4"),
        ([0, -1, 1], "variable 1 has -1"),
        ([0, 0.5, 1], "variable 1 has 0.5"),
        ([0, np.nan, 1], "finite"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        PairwiseMRF(UNARY, EDGES).energy(labels)
