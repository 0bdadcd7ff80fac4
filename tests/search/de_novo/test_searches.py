"""Searches against what they must do: exact posteriors, brute force, published forms."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import softmax

from octavo.data import is_connected_planar
from octavo.engine.mcmc.enumeration import total_variation
from octavo.search import (
    ArgmaxSearch,
    DeNovoSearch,
    KNNActiveSearch,
    MonteCarloSearch,
    UnlabeledGraphSampler,
    construction_curve,
    dispersion_curve,
    lift_curve,
    random_walk_kernel,
)
from octavo.search.de_novo.baselines import NeighborModel, nearest_neighbors
from octavo.search.de_novo.evidence import Evidence
from octavo.search.de_novo.search import importance_weights

SEARCHES = [DeNovoSearch, ArgmaxSearch, KNNActiveSearch, MonteCarloSearch]


def inside(states):
    return [int(x[0] > 0.8) for x in states]


def point(state, rng):
    return rng.random(2)


def make(cls, oracle=inside, proposal=point, **options):
    small = {ArgmaxSearch: {"pool_size": 40}, KNNActiveSearch: {"k": 5, "pool_size": 200}}
    options = small.get(cls, {}) | {"random_state": 0} | options
    return cls(oracle, proposal, "rbf", **options)


@pytest.mark.parametrize("cls", SEARCHES)
def test_the_books_are_kept(cls):
    search = make(cls).run(33)
    assert len(search.states_) == len(search.labels_) == 33
    assert search.labels_ == inside(search.states_)
    assert len(search.found_) == sum(search.labels_) == search.history_[-1].n_found
    assert search.history_[-1].n_queries == 33
    assert [x for row in search.history_ for x in row.labels] == search.labels_
    again = make(cls).run(33)
    np.testing.assert_array_equal(np.array(search.states_), np.array(again.states_))
    np.testing.assert_array_equal(np.array(search.run(33).states_), np.array(again.states_))


@pytest.mark.parametrize("cls", [DeNovoSearch, ArgmaxSearch, KNNActiveSearch])
def test_searches_beat_chance(cls):
    # 40 proposals hold 8 targets, standard deviation 2.5
    assert len(make(cls).run(40).found_) > 8 + 3 * 2.6


def test_rounds_draw_from_the_surrogates_posterior():
    """On eight states, the last round's draws follow ρ p(y* | x) of the surrogate before it."""
    states = np.linspace(0.0, 1.0, 8)[:, None]

    def draw(state, rng):
        return states[rng.integers(8)]

    seen = []
    for seed in range(3):
        search = DeNovoSearch(
            lambda found: [int(x[0] > 0.6) for x in found],
            draw,
            "rbf",
            batch=1000,
            alpha=0.01,
            random_state=seed,
        ).run(2000)
        evidence = Evidence("rbf", 1, 0.01)
        first, last = search.history_
        evidence.add(first.states, first.labels, first.weights)
        evidence.fit(0)
        law = softmax(evidence.log_probability(list(states)))
        drawn = np.bincount(np.rint(7 * np.array(last.states)[:, 0]).astype(int), minlength=8)
        seen.append(drawn / 1000 - law)
        p = np.exp(evidence.log_probability(last.states))
        np.testing.assert_allclose(last.probabilities, p, rtol=1e-6)
        np.testing.assert_allclose(last.weights, 1 / np.maximum(p, 1 / 20))
    # 3,000 draws of eight states: expected TV 0.5 Σ √(2 p / (π n)) ≈ 0.019
    assert total_variation(np.mean(seen, axis=0) + law, law) < 0.045


def test_weights_are_capped():
    np.testing.assert_allclose(importance_weights(np.log([1.0, 0.5, 0.01]), 20.0), [1, 2, 20])


def test_a_warm_start_is_used_and_not_counted():
    rng = np.random.default_rng(0)
    start = [point(None, rng) for _ in range(20)]
    for cls in SEARCHES:
        search = make(cls).run(15, start=(start, inside(start)))
        assert len(search.states_) == 15
    cold, warm = make(DeNovoSearch).run(10), make(DeNovoSearch).run(10, (start, inside(start)))
    assert np.isnan(cold.history_[0].alpha)
    assert warm.history_[0].alpha > 0
    assert cold.history_[0].burn_in == 0 < warm.history_[0].burn_in


def test_words_and_sets_are_labels():
    def words(states):
        return [("low", "middle", "high")[int(3 * x[0])] for x in states]

    found = make(DeNovoSearch, words, target="high").run(40).found_
    assert all(x[0] >= 2 / 3 for x in found)
    assert len(found) > 16

    def sets(states):
        return [{name for name, hit in zip("ab", x > 0.6) if hit} for x in states]

    search = make(DeNovoSearch, sets, target=frozenset("ab")).run(60)
    assert all((x > 0.6).all() for x in search.found_)
    assert len(search.found_) > 15


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize("answer", [2, np.nan, "x", 0.5, None])
def test_labels_outside_the_targets_set_are_refused(cls, answer):
    with pytest.raises(ValueError, match="The oracle"):
        make(cls, lambda states: [answer] * len(states)).run(10)


@pytest.mark.parametrize("cls", SEARCHES)
def test_other_bad_input(cls):
    with pytest.raises(ValueError, match="list of"):
        make(cls, lambda states: 1).run(10)
    with pytest.raises(ValueError, match="oracle must be a function"):
        make(cls, "banana").run(10)
    with pytest.raises(ValueError, match="proposal must be a function"):
        make(cls, proposal=None).run(10)
    for budget in (0, -1, 2.5, "x", None):
        with pytest.raises(ValueError, match="budget"):
            make(cls).run(budget)
    with pytest.raises(ValueError, match="target must be"):
        make(cls, target=np.nan).run(10)
    with pytest.raises(ValueError, match="start"):
        make(DeNovoSearch).run(10, start=3)


@pytest.mark.parametrize(
    "options",
    [{"batch": 0}, {"burn_in": -1}, {"burn_in": "x"}, {"weight_cap": 0.5}, {"alpha": 0}],
)
def test_bad_options(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        make(DeNovoSearch, **options).run(10)


def test_labels_of_both_signs_and_both_at_once():
    signs = make(DeNovoSearch, lambda states: [2 * y - 1 for y in inside(states)]).run(20)
    assert signs.labels_ == [2 * y - 1 for y in inside(signs.states_)]
    assert set(signs.labels_) == {-1, 1}
    assert len(signs.found_) == signs.labels_.count(1)
    with pytest.raises(ValueError, match="0 and 1, or -1 and 1"):
        make(DeNovoSearch, lambda states: [0, -1] * (len(states) // 2)).run(10)


def test_neighbours_by_brute_force():
    pool = [np.random.default_rng(i).random(2) for i in range(30)]
    table = np.array(pool)

    def linear(a, b):
        return np.array(a) @ np.array(b).T

    found = nearest_neighbors(linear, pool, 4)
    apart = ((table[:, None] - table[None]) ** 2).sum(axis=2) + np.diag(np.full(30, np.inf))
    for i in range(30):
        assert set(found[i].indices) == set(np.argsort(apart[i])[:4])


def brute_two_steps(model, neighbors):
    """Expected targets of a state and the best one after it, by trying both labels."""
    n = len(model.open)
    values = np.full(n, -1.0)
    for x in np.flatnonzero(model.open):
        p, value = model.probability()[x], 0.0
        for y, chance in ((1, p), (0, 1 - p)):
            other = NeighborModel(neighbors, model.prior)
            other.open[:] = model.open
            other.targets[:], other.labels[:] = model.targets, model.labels
            other.add(x, y == 1)
            value += chance * other.probability()[other.open].max()
        values[x] = p + value
    return values


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("share", [0.2, 0.8])
def test_two_steps_ahead_by_trying_both_labels(seed, share):
    rng = np.random.default_rng(seed)
    pool = [rng.random(2) for _ in range(25)]
    neighbors = nearest_neighbors(lambda a, b: np.array(a) @ np.array(b).T, pool, 4)
    model = NeighborModel(neighbors, 0.1)
    for i in rng.permutation(25)[:15]:
        model.add(i, bool(rng.random() < share))
        values = brute_two_steps(model, neighbors)
        assert values[model.two_steps()] == pytest.approx(values.max(), abs=1e-12)
        p = np.where(model.open, model.probability(), -1)
        assert p[model.one_step()] == p.max()


def test_pools_that_are_too_small():
    with pytest.raises(ValueError, match="pool"):
        make(KNNActiveSearch, pool_size=20).run(30)
    with pytest.raises(ValueError, match="pool_size"):
        make(KNNActiveSearch, k=50, pool_size=20).run(10)
    with pytest.raises(ValueError, match="looked ahead"):
        make(KNNActiveSearch, lookahead=3).run(10)
    assert (KNNActiveSearch().k, KNNActiveSearch().lookahead) == (50, 1)
    assert len(make(KNNActiveSearch, lookahead=2).run(20).found_) > 8


def test_construction_counts_each_target_once():
    states = [np.array([0.5, 0.5]), np.array([0.2, 0.8]), np.array([0.5, 0.5]), np.array([1.0, 0])]
    assert construction_curve(states, [1, 1, 1, 0]).tolist() == [1, 2, 2, 2]
    key = construction_curve(states, [1, 1, 1, 1], key=lambda x: tuple(np.flatnonzero(x)))
    assert key.tolist() == [1, 1, 1, 2]
    graphs = [nx.path_graph(4), nx.relabel_nodes(nx.path_graph(4), {0: "z"}), nx.star_graph(3)]
    assert construction_curve(graphs, [1, 1, 1]).tolist() == [1, 1, 2]
    with pytest.raises(ValueError, match="do not match"):
        construction_curve(graphs, [1])


def test_equal_states_are_counted_once_whatever_they_are():
    assert construction_curve([{"a": 1}, {"a": 1.0}, {"a": 2}], [1, 1, 1]).tolist() == [1, 1, 2]
    assert construction_curve([{1, 2}, {2, 1}, {1}], [1, 1, 1]).tolist() == [1, 1, 2]
    rows = [np.array([0, 1]), [0.0, 1.0], np.array([-0.0, 1.0]), sp.csr_matrix([[0.0, 1.0]])]
    assert construction_curve(rows, [1, 1, 1, 1]).tolist() == [1, 1, 1, 2]
    pairs = [(np.array([1, 2]), "x"), (np.array([1, 2]), "x"), (np.array([1, 2]), "y")]
    assert construction_curve(pairs, [1, 1, 1]).tolist() == [1, 1, 2]
    with pytest.raises(ValueError, match="of type bytearray cannot be told apart: give a key"):
        construction_curve([bytearray(b"a")], [1])


def test_molecules_with_other_atoms_are_other_molecules():
    def chain(*atoms):
        graph = nx.path_graph(len(atoms))
        nx.set_node_attributes(graph, dict(enumerate(atoms)), "label")
        return graph

    graphs = [chain("C", "C", "O"), chain("C", "O", "C"), chain("O", "C", "C"), nx.path_graph(3)]
    assert construction_curve(graphs, [1, 1, 1, 1]).tolist() == [1, 2, 2, 3]


def test_lift():
    np.testing.assert_allclose(lift_curve([1, 2, 4], [0, 1, 2]), [np.nan, 2, 2])
    np.testing.assert_allclose(lift_curve([0, 1], 0.5), [0, 1])
    with pytest.raises(ValueError, match="as long as"):
        lift_curve([1, 2], [1, 2, 3])


def test_dispersion_by_hand():
    targets = [np.array([x]) for x in (0.0, 1.0, 2.0, 10.0)]
    found = [np.array([0.5]), np.array([5.0]), np.array([9.5])]
    curve = dispersion_curve(found, [1, 0, 1], targets, "linear", radius=0.6, random_state=0)
    # 0.5 covers 0 and 1; 9.5 covers 10; an ideal question covers its own target alone
    np.testing.assert_allclose(curve, [2 / 1, 2 / 2, 3 / 3])
    every = dispersion_curve(targets, [1] * 4, targets, "linear", random_state=0)
    assert every[-1] == 1.0
    assert dispersion_curve(found, [0, 0, 0], targets, "linear", random_state=0).tolist() == [0] * 3
    for wrong in ([], targets[:1], "x"):
        with pytest.raises(ValueError, match="target"):
            dispersion_curve(found, [1, 0, 1], wrong, "linear")


def test_planar_graphs_are_found_twice_as_often_as_proposed():
    search = DeNovoSearch(
        lambda graphs: [int(is_connected_planar(g)) for g in graphs],
        UnlabeledGraphSampler(10),
        random_walk_kernel,
        random_state=0,
    ).run(150)
    # 8.77 % of the graphs are targets: 13 of 150, standard deviation 3.5
    assert len(search.found_) >= 2 * 0.0877 * 150
    assert 0 < search.acceptance_ < 1
