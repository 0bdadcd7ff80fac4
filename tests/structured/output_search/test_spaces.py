"""Spaces, joint features and constraints against enumeration and the paper's example."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from octavo.structured import (
    RecurrentClassifier,
    flipbit_successors,
    joint_features,
    limited_discrepancy_successors,
    oracle_search,
    ranking_constraints,
)
from octavo.structured.output_search.cells import read_cells
from octavo.structured.output_search.evaluation import CostField
from octavo.structured.output_search.features import n_joint_features
from octavo.structured.output_search.losses import segment_f1_loss, segment_kinds


def random_task(seed, n=5, T=4, L=3, d=2, grid=False):
    rng = np.random.default_rng(seed)
    shape = (2, T // 2) if grid else (T,)
    X = [rng.normal(size=(*shape, d)) for _ in range(n)]
    y = [rng.integers(0, L, shape) for _ in range(n)]
    y[0].flat[:L] = np.arange(L)
    return X, y


# --- recurrent classifier: a roll-out by hand, Proposition 1 ------------------------------------


def by_hand(model, x, forced, history, L):
    """Roll out with the estimator's own predict, cell after cell."""
    labels = []
    for t in range(len(x)):
        onehot = np.zeros((history, L))
        for h in range(1, history + 1):
            if t - h >= 0:
                onehot[h - 1, labels[t - h]] = 1
        row = np.concatenate([x[t], onehot.ravel()])[None]
        labels.append(forced[t] if t in forced else int(model.estimator_.predict(row)[0]))
    return labels


@pytest.mark.parametrize("estimator", [None, KNeighborsClassifier(3)])
@pytest.mark.parametrize("history", [0, 1, 2])
def test_discrepancies_are_obeyed_and_the_rest_rolled_out(estimator, history):
    X, y = random_task(0, n=8, T=6)
    model = RecurrentClassifier(estimator, history, random_state=0).fit(X, y)
    assert model.predict(X[:1])[0].tolist() == by_hand(model, X[0], {}, history, 3)
    for start in ({}, {1: 2}, {0: 1, 3: 0}):
        found = limited_discrepancy_successors(model, X[0], start)
        current = by_hand(model, X[0], start, history, 3)
        assert len(found) == 6 * 2
        for forced, output in found:
            changed = [i for i in forced if start.get(i) != forced[i]]
            assert len(changed) == 1
            assert forced[changed[0]] != current[changed[0]]
            assert output.tolist() == by_hand(model, X[0], forced, history, 3)


def least_depth(model, x, truth):
    """Fewest forced labels under which the classifier's output is the truth."""
    for size in range(len(truth) + 1):
        for places in itertools.combinations(range(len(truth)), size):
            forced = {i: truth[i] for i in places}
            if by_hand(model, x, forced, model.history, 3) == list(truth):
                return size
    raise AssertionError


@pytest.mark.parametrize("seed", range(4))
def test_proposition_1(seed):
    X, y = random_task(seed, T=5)
    model = RecurrentClassifier(random_state=0).fit(X, y)
    depths = [least_depth(model, x, t.tolist()) for x, t in zip(X, y)]
    assert model.imitation_errors(X, y).tolist() == depths


def test_flipbit_successors_are_all_outputs_at_distance_one():
    y = np.array([0, 2, 1])
    found = {tuple(output) for output in flipbit_successors(y, 3)}
    everything = itertools.product(range(3), repeat=3)
    assert found == {z for z in everything if sum(a != b for a, b in zip(z, y)) == 1}
    assert len(flipbit_successors(y, 3)) == 6
    assert flipbit_successors(np.zeros((2, 2), dtype=int), 2)[3].tolist() == [[0, 0], [0, 1]]


# --- joint features -----------------------------------------------------------------------------


def counted(x, y, L, order):
    """Joint features by loops."""
    parts = [
        np.sum([x[t] for t in range(len(y)) if y[t] == a] or [0 * x[0]], axis=0) for a in range(L)
    ]
    for q in range(1, order + 1):
        table = np.zeros((L,) * (q + 1))
        for t in range(q, len(y)):
            table[tuple(y[t - q : t + 1])] += 1
        parts.append(table.ravel())
    return np.concatenate([np.ravel(p) for p in parts])


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_joint_features_are_counts(order):
    rng = np.random.default_rng(order)
    x, y = rng.normal(size=(6, 2)), rng.integers(0, 3, 6)
    np.testing.assert_allclose(joint_features(x, y, 3, order), counted(x, y, 3, order))


def test_joint_features_of_grids_count_rows_and_columns():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3, 4, 2)), rng.integers(0, 3, (3, 4))
    found = joint_features(x, y, 3, 2)
    across = sum(counted(x[r], y[r], 3, 2) for r in range(3))
    down = sum(counted(x[:, c], y[:, c], 3, 2) for c in range(4))
    np.testing.assert_allclose(found[:6], across[:6])
    np.testing.assert_array_equal(found[6:15], across[6:15])
    np.testing.assert_array_equal(found[15:24], down[6:15])
    np.testing.assert_array_equal(found[24:51], across[15:])
    np.testing.assert_array_equal(found[51:], down[15:])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 3), st.booleans(), st.booleans())
def test_increments_equal_differences_of_features(seed, order, grid, rolls):
    rng = np.random.default_rng(seed)
    X, y = random_task(seed, T=6, grid=grid)
    model = RecurrentClassifier(random_state=0).fit(X, y)
    cells = read_cells(X)
    space = model.space(cells, rolls=rolls, order=order)
    w = rng.normal(size=n_joint_features(2, 3, order, grid))
    field = CostField(cells.values, cells.starts, space.layout, 3)
    evaluation = field.evaluation(1, w)
    labels = rng.integers(0, 3, 6)
    found = space.successors(1, labels, rng.uniform(size=6) < 0.3)
    costs = evaluation.of_successors(labels, evaluation.of(labels), found)
    shape = np.shape(y[1])
    full = [w @ joint_features(X[1], row.reshape(shape), 3, order) for row in found.outputs(labels)]
    np.testing.assert_allclose(costs, full, atol=1e-10)
    assert evaluation.of(labels) == pytest.approx(
        w @ joint_features(X[1], labels.reshape(shape), 3, order), abs=1e-10
    )


# --- constraints --------------------------------------------------------------------------------

TREE = {1: [2, 3, 4], 3: [8, 9, 10], 2: [5], 4: [11]}
# In the order in which Section 4.3 lists them, selection before pruning before anytime.
GREEDY = [(3, 2), (3, 4), (3, 1), (10, 8), (10, 9), (3, 10)]
BEAM = [(3, 2), (4, 2), (3, 1), (3, 4), (4, 8), (4, 9), (10, 8), (10, 9), (3, 10)]


@pytest.mark.parametrize("fourth", [1.5, 3.0])  # node 4 better or worse than node 10
def test_constraints_of_figure_6(fourth):
    losses = {1: 5, 2: 4, 3: 1, 4: fourth, 8: 6, 9: 7, 10: 2, 5: 9, 11: 9}
    rows = ranking_constraints(lambda s: TREE.get(s, []), losses.get, 1, 2)
    assert rows == GREEDY
    rows = ranking_constraints(lambda s: TREE.get(s, []), losses.get, 1, 2, beam_width=2)
    assert rows == BEAM
    # All nodes of the beam are expanded: 11 is a candidate of the second step too.
    rows = ranking_constraints(lambda s: TREE.get(s, []), losses.get, 1, 2, 2, search="breadth")
    assert (10, 11) in rows
    assert (3, 4) not in rows


def test_equal_losses_make_no_constraint():
    assert ranking_constraints(lambda s: [s + 1, s + 2], lambda s: 1.0, 0, 3) == []


class Bits:
    def initial(self, x):
        return (x, ())

    def actions(self, node):
        return (0, 1)

    def step(self, node, action):
        return (node[0], (*node[1], action))

    def is_terminal(self, node):
        return len(node[1]) == len(node[0])


def test_oracle_in_flipbit_takes_as_many_steps_as_there_are_errors():
    truth = (1, 0, 1, 1, 0, 1)
    found = oracle_search(Bits(), "......", truth, space="flipbit")
    assert found.losses == [4.0, 3.0, 2.0, 1.0, 0.0, 0.0, 0.0]
    assert found.output == truth


@pytest.mark.parametrize("search", ["greedy", "beam", "breadth"])
def test_oracle_with_discrepancies_corrects_what_errors_breed(search):
    def copies(node):  # a policy that repeats its last action: one error spoils all that follows
        return node[1][-1] if node[1] else 0

    found = oracle_search(
        Bits(), "." * 5, (1, 1, 1, 0, 0), policy=copies, search=search, beam_width=3
    )
    assert found.losses[:3] == [3.0, 2.0, 0.0]
    assert all(a >= b for a, b in itertools.pairwise(found.losses))


def test_a_visited_output_is_no_candidate_again():
    found = oracle_search(Bits(), "..", (0, 0), space="flipbit", n_steps=3)
    assert found.trajectory[2] == (0, 0)  # back to the start
    found = oracle_search(Bits(), "..", (0, 0), space="flipbit", n_steps=3, skip_visited=True)
    assert len(set(found.trajectory)) == len(found.trajectory) == 4


# --- losses -------------------------------------------------------------------------------------


def f1_by_sets(truth, found, outside):
    def segments(labels):
        ends, spans, t = len(labels), set(), 0
        while t < ends:
            kind = labels[t][2:] if labels[t] != outside else None
            e = t + 1
            while e < ends and kind is not None and labels[e] == f"I-{kind}":
                e += 1
            if kind is not None:
                spans.add((t, e, kind))
            t = e
        return spans

    a, b = segments(truth), segments(found)
    return 0.0 if not a and not b else 1 - 2 * len(a & b) / (len(a) + len(b))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=8))
def test_f1_of_tags_as_sets_of_segments(pairs):
    names = np.array(["B-a", "B-b", "I-a", "I-b", "O"])
    kinds, begins = segment_kinds(names)
    one, two = (np.array(side) for side in zip(*pairs))
    expected = f1_by_sets(names[one].tolist(), names[two].tolist(), "O")
    assert segment_f1_loss(one, two, kinds, begins) == pytest.approx(expected)


def test_f1_of_runs_with_an_outside_label():
    kinds, begins = segment_kinds(np.array([0, 1, 2]), outside=0)
    loss = lambda a, b: segment_f1_loss(np.array(a), np.array(b), kinds, begins)  # noqa: E731
    assert loss([0, 0], [0, 0]) == 0.0  # none there, none found
    assert loss([0, 0], [0, 1]) == 1.0
    assert loss([1, 1, 0, 2], [1, 1, 0, 0]) == pytest.approx(1 - 2 / 3)
    assert loss([1, 1, 2], [1, 2, 2]) == 1.0
    with pytest.raises(ValueError, match="not among the labels"):
        segment_kinds(np.array(["a", "b"]), outside="c")
