"""Edge-based joint graphical lassos: cvxpy, scikit-learn, limits."""

import numpy as np
import pytest
from sklearn.covariance import graphical_lasso

from octavo.graphical import (
    FusedJointGraphicalLasso,
    GroupJointGraphicalLasso,
    PerturbedNodeJointGraphicalLasso,
    SeparateGraphicalLasso,
    make_node_perturbed_networks,
    network_column_norms,
)
from tests.graphical.cvx_networks import covariances, solve_by_cvxpy

SIZES = np.array([30, 20, 25])
TIGHT = {"scale_by_n": False, "tol": 1e-9, "max_iter": 20_000}


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize(
    ("kind", "cls"),
    [("fused", FusedJointGraphicalLasso), ("group", GroupJointGraphicalLasso)],
)
def test_equals_cvxpy(kind, cls, K):
    S, n = covariances(SIZES[:K], 6), SIZES[:K]
    exact, value = solve_by_cvxpy(S, n, 2.0, 2.5, kind)
    model = cls(2.0, 2.5, **TIGHT).fit_covariances(S, n)
    np.testing.assert_allclose(model.precisions_, exact, atol=1e-6)
    assert model.objective_ == pytest.approx(value, abs=1e-6)
    assert model.duality_gap_ <= 1e-6


def test_separate_equals_scikit_learn_without_diagonal_penalty():
    S = covariances([50], 6)
    model = SeparateGraphicalLasso(0.1, penalize_diagonal=False, tol=1e-9)
    model.fit_covariances(S, [50])
    theirs = graphical_lasso(S[0], 0.1, tol=1e-10, enet_tol=1e-12, max_iter=1000)[1]
    np.testing.assert_allclose(model.precisions_[0], theirs, atol=1e-5)


def test_one_group_is_a_graphical_lasso():
    """FGL has nothing to compare; GGL's penalty becomes part of the l1 norm."""
    S = covariances([50], 6)
    alone = SeparateGraphicalLasso(2.0, **TIGHT).fit_covariances(S, [50])
    fused = FusedJointGraphicalLasso(2.0, 5.0, **TIGHT).fit_covariances(S, [50])
    np.testing.assert_allclose(fused.precisions_, alone.precisions_, atol=1e-8)
    assert fused.perturbed_nodes_.size == 0
    group = GroupJointGraphicalLasso(1.0, 1.5, penalize_diagonal=False, **TIGHT)
    plain = SeparateGraphicalLasso(2.5, penalize_diagonal=False, **TIGHT)
    np.testing.assert_allclose(
        group.fit_covariances(S, [50]).precisions_,
        plain.fit_covariances(S, [50]).precisions_,
        atol=1e-7,
    )


@pytest.mark.filterwarnings("ignore:norm=1")
def test_fused_is_perturbed_with_norm_one_but_for_the_diagonals():
    """Off the diagonal the weight is alpha_joint/2; equal diagonals of S make the rest agree."""
    S = covariances([30, 30], 5)
    scale = np.sqrt(np.diagonal(S, axis1=1, axis2=2))
    S = S / scale[:, :, None] / scale[:, None, :]
    perturbed = PerturbedNodeJointGraphicalLasso(2.0, 1e4, norm=1, **TIGHT)
    fused = FusedJointGraphicalLasso(2.0, 1e4, **TIGHT)
    one = perturbed.fit_covariances(S, [30, 30]).precisions_
    other = fused.fit_covariances(S, [30, 30]).precisions_
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(other[0][off], other[1][off], atol=1e-9)
    np.testing.assert_allclose(one[0], one[1], atol=1e-6)


def test_scores_are_column_norms():
    sample = make_node_perturbed_networks(10, 40, random_state=0, n_networks=3)
    fused = FusedJointGraphicalLasso(0.05, 0.02).fit(sample.X, groups=sample.groups)
    np.testing.assert_allclose(fused.column_norms_, network_column_norms(fused.precisions_))
    group = GroupJointGraphicalLasso(0.05, 0.02).fit(sample.X, groups=sample.groups)
    norms = network_column_norms(group.precisions_, of="networks")
    np.testing.assert_allclose(group.node_scores_, np.sqrt((norms**2).sum(axis=0)))


def test_fused_entries_are_exactly_equal():
    sample = make_node_perturbed_networks(15, 30, random_state=0)
    model = FusedJointGraphicalLasso(0.02, 0.1).fit(sample.X, groups=sample.groups)
    one, other = model.precisions_
    both = (one != 0) & (other != 0) & ~np.eye(15, dtype=bool)
    assert both.any()
    assert (one[both] == other[both]).mean() > 0.5


@pytest.mark.parametrize("cls", [FusedJointGraphicalLasso, GroupJointGraphicalLasso])
def test_bad_penalties(cls):
    with pytest.raises(ValueError, match="'alpha_joint'"):
        cls(alpha_joint=-1.0).fit(np.eye(4))


def test_unbounded_likelihoods():
    X = np.random.default_rng(0).standard_normal((8, 12))
    groups = np.repeat([0, 1], 4)
    for model in (SeparateGraphicalLasso(0.0), FusedJointGraphicalLasso(0.0, 1.0)):
        with pytest.raises(ValueError, match="singular"):
            model.fit(X, groups=groups)
    assert np.isfinite(GroupJointGraphicalLasso(0.0, 1.0).fit(X, groups=groups).objective_)
