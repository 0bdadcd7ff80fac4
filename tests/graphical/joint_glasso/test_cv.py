"""Penalties chosen from the data: the criteria are recomputed from plain fits."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from octavo.graphical import (
    CohubNodeJointGraphicalLasso,
    NodeJointGraphicalLassoCV,
    PerturbedNodeJointGraphicalLasso,
    make_node_perturbed_networks,
)

GRID = {"alphas_l1": [0.3, 0.1], "alphas_joint": [0.8, 0.2], "tol": 1e-7, "max_iter": 5000}


@pytest.fixture(scope="module")
def sample():
    return make_node_perturbed_networks(8, [40, 60], random_state=0, n_perturbed=1, n_cohubs=1)


def test_cv_scores_are_held_out_likelihoods(sample):
    model = NodeJointGraphicalLassoCV(cv=3, **GRID).fit(sample.X, groups=sample.groups)
    scores = np.zeros((3, 2, 2))
    splits = StratifiedKFold(3).split(sample.X, sample.groups)
    for number, (train, test) in enumerate(splits):
        for i, alpha_l1 in enumerate((0.3, 0.1)):
            for j, alpha_joint in enumerate((0.8, 0.2)):
                fit = PerturbedNodeJointGraphicalLasso(
                    alpha_l1, alpha_joint, tol=1e-7, max_iter=5000
                )
                fit.fit(sample.X[train], groups=sample.groups[train])
                for k in (0, 1):
                    rows = sample.X[test][sample.groups[test] == k] - fit.locations_[k]
                    S, Theta = rows.T @ rows / len(rows), fit.precisions_[k]
                    scores[number, i, j] += np.linalg.slogdet(Theta)[1] - (S * Theta).sum()
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], scores.mean(0), atol=1e-4)
    np.testing.assert_allclose(model.cv_results_["split1_test_score"], scores[1], atol=1e-4)
    i, j = np.unravel_index(np.argmax(scores.mean(0)), (2, 2))
    assert (model.alpha_l1_, model.alpha_joint_) == ((0.3, 0.1)[i], (0.8, 0.2)[j])


def test_the_final_fit_is_the_plain_one(sample):
    model = NodeJointGraphicalLassoCV("cohub", cv=3, **GRID).fit(sample.X, groups=sample.groups)
    plain = CohubNodeJointGraphicalLasso(
        model.alpha_l1_, model.alpha_joint_, tol=1e-7, max_iter=5000
    )
    plain.fit(sample.X, groups=sample.groups)
    np.testing.assert_array_equal(model.precisions_, plain.precisions_)
    np.testing.assert_array_equal(model.node_scores_, plain.node_scores_)
    assert model.duality_gap_ == plain.duality_gap_


def test_ebic_by_hand(sample):
    model = NodeJointGraphicalLassoCV(selection="ebic", ebic_gamma=0.25, **GRID)
    model.fit(sample.X, groups=sample.groups)
    plain = PerturbedNodeJointGraphicalLasso(0.1, 0.2, tol=1e-7, max_iter=5000)
    plain.fit(sample.X, groups=sample.groups)
    total, n_edges = 0.0, 0
    for k, n in enumerate((40, 60)):
        S, Theta = plain.sample_covariances_[k], plain.precisions_[k]
        edges = plain.adjacencies_[k].sum() / 2
        total += n * ((S * Theta).sum() - np.linalg.slogdet(Theta)[1])
        total += edges * (np.log(n) + 4 * 0.25 * np.log(8))
        n_edges += edges
    assert model.cv_results_["ebic"][1, 1] == pytest.approx(total, abs=1e-3)
    assert model.cv_results_["n_edges"][1, 1] == n_edges
    assert (
        model.cv_results_["ebic"].min()
        == model.cv_results_["ebic"][
            np.flatnonzero(model.alphas_l1_ == model.alpha_l1_)[0],
            np.flatnonzero(model.alphas_joint_ == model.alpha_joint_)[0],
        ]
    )


def test_stability_counts_edges_of_halves(sample):
    model = NodeJointGraphicalLassoCV(
        selection="stability", n_subsamples=6, stability_threshold=0.5, random_state=0, **GRID
    ).fit(sample.X, groups=sample.groups)
    share = model.edge_frequencies_
    assert share.shape == (2, 8, 8)
    np.testing.assert_allclose(share * 6, np.round(share * 6), atol=1e-12)
    upper = share[:, *np.triu_indices(8, 1)]
    i = np.flatnonzero(model.alphas_l1_ == model.alpha_l1_)[0]
    j = np.flatnonzero(model.alphas_joint_ == model.alpha_joint_)[0]
    instability = model.cv_results_["instability"]
    assert instability[i, j] == pytest.approx((2 * upper * (1 - upper)).mean())
    # Everything is stable enough at 0.5, so that the densest networks are taken.
    assert model.cv_results_["n_edges"].max() == pytest.approx(upper.sum())


def test_impossible_stability_says_what_is_possible(sample):
    model = NodeJointGraphicalLassoCV(
        selection="stability",
        n_subsamples=5,
        stability_threshold=0.0,
        random_state=0,
        alphas_l1=[0.05],
        alphas_joint=[0.05],
    )
    with pytest.raises(ValueError, match="the smallest is"):
        model.fit(sample.X, groups=sample.groups)


@pytest.mark.parametrize("penalty", ["perturbed", "cohub", "fused", "group"])
def test_default_grids_reach_from_nothing_to_something(penalty, sample):
    model = NodeJointGraphicalLassoCV(penalty, selection="ebic", alphas_l1=3, alphas_joint=3)
    model.fit(sample.X, groups=sample.groups)
    n_edges = model.cv_results_["n_edges"]
    assert n_edges[0, 0] == 0
    assert n_edges[-1, -1] > 0
    assert (np.diff(model.alphas_l1_) < 0).all()
    assert (np.diff(model.alphas_joint_) < 0).all()
    assert model.precisions_.shape == (2, 8, 8)


def test_it_finds_the_node_that_changed():
    sample = make_node_perturbed_networks(15, 150, random_state=3, n_perturbed=1, n_cohubs=0)
    model = NodeJointGraphicalLassoCV(selection="ebic").fit(sample.X, groups=sample.groups)
    assert np.argmax(model.node_scores_) == sample.perturbed_nodes[0]


def test_bad_input(sample):
    with pytest.raises(ValueError, match="at least 2 groups, got 1"):
        NodeJointGraphicalLassoCV().fit(sample.X)
    with pytest.raises(ValueError, match="alphas_l1 must hold values >= 0"):
        NodeJointGraphicalLassoCV(alphas_l1=[0.1, -1.0]).fit(sample.X, groups=sample.groups)
    halves = [(np.arange(40), np.arange(40, 100))]
    with pytest.raises(ValueError, match="lacks rows of some group"):
        NodeJointGraphicalLassoCV(cv=halves).fit(sample.X, groups=sample.groups)
    with pytest.raises(NotImplementedError, match="needs rows"):
        NodeJointGraphicalLassoCV().fit_covariances([np.eye(2)] * 2, [5, 5])


@pytest.mark.parametrize("penalty", ["perturbed", "cohub", "fused", "group"])
def test_default_grids_have_the_units_of_the_data(penalty):
    sample = make_node_perturbed_networks(6, 30, n_cohubs=0, n_perturbed=1, random_state=0)
    grids = []
    for factor in (1.0, 1e-4):
        model = NodeJointGraphicalLassoCV(penalty, alphas_l1=2, alphas_joint=2, selection="ebic")
        model.fit(factor * sample.X, groups=sample.groups)
        grids.append((model.alphas_l1_ / factor**2, model.alphas_joint_ / factor**2))
    np.testing.assert_allclose(grids[0], grids[1], rtol=1e-8)
