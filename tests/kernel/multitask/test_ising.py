"""Edges as switches: against cvxpy, and what they find on exact samples."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from octavo.data import make_ising
from octavo.data.kernel.shared_tasks import ising_states
from octavo.kernel import MEDIsingStructure, NodewiseL1Ising
from tests.kernel.multitask.problems import oracle_dual

UPPER = np.triu_indices(5, 1)


def test_dual_objective_is_cvxpys():
    X = make_ising(n_nodes=4, n_samples=30, random_state=2).X.astype(float)
    pairs = []
    for m in range(4):
        for d in range(m + 1, 4):
            row = [None] * 4
            row[m], row[d] = X[:, d][None, :], X[:, m][None, :]
            pairs.append(row)
    best = oracle_dual(pairs, [2 * X[:, m] - 1 for m in range(4)], 5.0, 0.5)
    model = MEDIsingStructure(5.0, 0.5, tol=1e-8, max_sweeps=500).fit(X)
    assert model.dual_objective_ == pytest.approx(best, abs=1e-6)
    np.testing.assert_array_equal(model.edge_scores_, model.edge_scores_.T)


def test_separate_pairs_are_found_and_a_lone_node_is_not():
    couplings = np.zeros((5, 5))
    couplings[0, 1] = couplings[1, 0] = 2.0
    couplings[2, 3] = couplings[3, 2] = -2.0
    states, p = ising_states(couplings, -0.5 * couplings.sum(axis=1))
    truth = couplings[UPPER] != 0
    for seed in range(3):
        X = states[np.random.default_rng(seed).choice(32, size=500, p=p)]
        scores = MEDIsingStructure(alpha=100.0, C=0.01).fit(X).edge_scores_[UPPER]
        assert roc_auc_score(truth, scores) == 1.0
        nodewise = NodewiseL1Ising(alpha=20.0).fit(X).edge_scores_[UPPER]
        assert roc_auc_score(truth, nodewise) == 1.0


def test_rules_are_the_smaller_and_the_larger():
    data = make_ising(random_state=3)
    both = [NodewiseL1Ising(2.0, rule).fit(data.X) for rule in ("and", "or")]
    size = np.abs(both[0].coef_)
    np.testing.assert_array_equal(both[0].edge_scores_, np.minimum(size, size.T))
    np.testing.assert_array_equal(both[1].edge_scores_, np.maximum(size, size.T))


def test_samples_follow_the_model():
    data = make_ising(n_nodes=4, n_samples=40_000, random_state=0)
    states, p = ising_states(data.couplings, data.fields)
    counts = np.bincount(data.X @ (1 << np.arange(4)), minlength=16)
    # five standard deviations of a proportion
    assert np.all(np.abs(counts / 40_000 - p) < 5 * np.sqrt(p * (1 - p) / 40_000) + 1e-9)
    np.testing.assert_allclose(states.T @ p, 0.5, atol=1e-12)


def test_larger_graphs_are_drawn_by_gibbs_sampling():
    data = make_ising(n_nodes=18, n_samples=500, edge_probability=0.1, random_state=0)
    assert set(np.unique(data.X)) == {0, 1}
    linked = np.corrcoef(data.X.T)[data.couplings > 0]
    assert linked.min() > 0


@pytest.mark.parametrize("cls", [MEDIsingStructure, NodewiseL1Ising])
def test_binary_data_are_demanded(cls):
    X = make_ising(random_state=0).X.astype(float)
    with pytest.raises(ValueError, match="0 and 1 only, got 2"):
        cls().fit(X + (X == 1))
    X[:, 3] = 1.0
    with pytest.raises(ValueError, match="column 3 is always 1"):
        cls().fit(X)
