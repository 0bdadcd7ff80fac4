"""Counts of cycles against products of matrices, with the pair's own link taken out."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.data import make_weakly_balanced
from octavo.network import HigherOrderCycleClassifier, cycle_features
from octavo.network.signed.cycles import degree_features, step_kinds


def draw(n=8, seed=0):
    rng = np.random.RandomState(seed)
    A = rng.choice([-1.0, 0.0, 1.0], (n, n), p=[0.2, 0.55, 0.25])
    return A * (1 - np.eye(n))


@pytest.mark.parametrize("order", [3, 4, 5])
def test_directed_counts_are_matrix_products(order):
    A = draw()
    pairs = np.array([(i, j) for i in range(8) for j in range(8) if i != j])
    counts = cycle_features(A, pairs, order)
    assert counts.shape == (56, 4 ** (order - 1))
    for row in range(0, 56, 5):
        i, j = pairs[row]
        B = A.copy()
        B[i, j] = B[j, i] = 0.0
        steps = [(B > 0) * 1.0, (B > 0).T * 1.0, (B < 0) * 1.0, (B < 0).T * 1.0]
        products = [
            np.linalg.multi_dot(factors)[i, j]
            for factors in itertools.product(steps, repeat=order - 1)
        ]
        assert counts[row] == pytest.approx(products)


@pytest.mark.parametrize("order", [3, 4])
def test_undirected_counts_add_a_walk_and_its_reversal(order):
    A = np.sign(draw() + draw().T)
    pairs = np.array([[0, 3], [1, 2], [4, 7]])
    counts = cycle_features(A, pairs, order, directed=False)
    for row, (i, j) in enumerate(pairs):
        B = A.copy()
        B[i, j] = B[j, i] = 0.0
        steps = [(B > 0) * 1.0, (B < 0) * 1.0]
        for column, code in enumerate(itertools.product((0, 1), repeat=order - 1)):
            expected = np.linalg.multi_dot([steps[c] for c in code])[i, j]
            if code != code[::-1]:
                expected += np.linalg.multi_dot([steps[c] for c in code[::-1]])[i, j]
            assert counts[row, column] == expected


def test_degrees_leave_the_own_link_out():
    A = draw(seed=3)
    i, j = np.argwhere(A > 0)[0]
    kinds = step_kinds(sp.csr_array(A), True)
    found = degree_features(sp.csr_array(A), np.array([[i, j]]), kinds)[0]
    B = A.copy()
    B[i, j] = 0.0
    out, into = B[i], B[:, j]
    joined = (A != 0) | (A != 0).T
    common = np.sum(joined[i] & joined[j])
    expected = [sum(out > 0), sum(out < 0), sum(into > 0), sum(into < 0)]
    expected += [sum(out != 0), sum(into != 0), common]
    assert found.tolist() == expected


@pytest.mark.parametrize("directed", [True, False])
def test_the_classifier_finds_two_camps(directed):
    network = make_weakly_balanced([40, 30], 0.3, random_state=1)
    hidden = np.argwhere(np.triu(network.A.toarray() == 0, 1))[:200]
    model = HigherOrderCycleClassifier(order=4, directed=directed).fit(network.A)
    truth = network.truth[tuple(hidden.T)]
    assert (model.predict(hidden) == truth).mean() == 1.0
    chances = model.predict_proba(hidden)
    assert chances.sum(axis=1) == pytest.approx(1.0)
    assert ((chances[:, 1] > 0.5) == (truth > 0)).all()


@pytest.mark.parametrize("degree_features", [True, False])
def test_an_undirected_link_has_no_first_node(degree_features):
    network = make_weakly_balanced([20, 30, 25], 0.25, noise=0.05, random_state=0)
    pairs = np.argwhere(np.triu(np.ones((75, 75)), 1))[::7]
    model = HigherOrderCycleClassifier(directed=False, degree_features=degree_features)
    found = model.fit(network.A).decision_function(pairs)
    turned = model.decision_function(pairs[:, ::-1])
    np.testing.assert_allclose(found, turned, atol=1e-8 * np.abs(found).max())


def test_one_sign_alone_is_predicted():
    model = HigherOrderCycleClassifier().fit([(0, 1, -1), (1, 2, -1)])
    assert model.predict([[0, 2]]).tolist() == [-1]
