"""What the estimators find, the units they answer in, and what they refuse."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.decomposition import FactorAnalysis

from octavo.graphical import (
    SLIM,
    SLIMDAG,
    SLIMOrderSearch,
    SparseFactorModel,
    SpikeSlabRegression,
    deterministic_order,
    is_causal_order,
    make_confounded_dag,
    make_linear_dag,
    predictive_log_density,
)
from octavo.graphical.causal_orders.posterior import match_factors


def short(**more):
    return {"n_samples": (800, 200), "burn_in": (800, 100), "random_state": 0} | more


def test_known_order_gives_least_squares_on_the_true_parents():
    data = make_linear_dag(4, 4000, density="sparse", random_state=2)
    dag = SLIMDAG(data.order, random_state=0, n_samples=600, burn_in=300).fit(data.X)
    true = data.B != 0
    place = np.argsort(data.order)
    possible = place[:, None] > place[None, :]
    assert dag.edge_prob_[true].min() > 0.99
    assert dag.edge_prob_[possible & ~true].max() < 0.5
    assert not dag.edge_prob_[~possible].any()
    assert np.abs(dag.B_median_ - data.B)[true].max() < 0.1
    assert np.all(dag.B_interval_[0] <= dag.B_median_)
    assert np.all(dag.B_median_ <= dag.B_interval_[1])


def test_a_prior_of_less_noise_fits_mixtures_without_noise_better():
    """The paper's prior holds the noise of a column above 1 / (20 + n/2) of its variance."""
    rng = np.random.default_rng(0)
    D = np.array([[1.0, 0.9], [0.9, 1.0]])  # the smaller eigenvalue of correlations is 0.006
    X, new = (rng.laplace(size=(n, 2)) @ D.T for n in (400, 1000))
    settings = {"n_samples": 500, "burn_in": 500, "random_state": 0}
    held, free = (
        SparseFactorModel(2, noise_prior=pair, **settings).fit(X)
        for pair in ((20.0, 1.0), (2.0, 0.01))
    )
    assert (held.noise_variance_ / held.scale_**2).min() > 1 / 230
    assert free.score(new) > held.score(new) + 0.1


def test_effects_are_in_the_units_of_the_data():
    data = make_linear_dag(3, 200, density="dense", random_state=0)
    units = np.array([1e5, 1e-5, 3.0])
    settings = {"n_samples": 300, "burn_in": 100, "random_state": 0}
    one = SLIMDAG(data.order, **settings).fit(data.X)
    two = SLIMDAG(data.order, **settings).fit(data.X * units + 7.0)
    ratio = np.outer(units, 1 / units)
    assert np.allclose(two.B_median_ / ratio, one.B_median_, rtol=1e-6)
    gap = one.score(data.X) - two.score(data.X * units + 7.0)
    assert np.isclose(gap, np.log(units).sum(), atol=1e-6)


def test_slim_finds_the_order_and_says_dag():
    data = make_linear_dag(4, 400, density="dense", random_state=1)
    model = SLIM(**short()).fit(data.X)
    assert is_causal_order(model.causal_order_, data.B)
    assert model.selected_ == "dag"
    assert model.test_loglik_["dag"] == max(model.test_loglik_["dags"])
    assert 0.0 < model.test_loglik_["standard_error"] < 0.1
    assert len(model.dags_) == len(model.ordering_candidates_) <= 10
    assert np.isclose(sum(c.frequency for c in model.ordering_candidates_), 1.0, atol=0.2)
    edges = model.edge_table()
    assert [e.probability for e in edges] == sorted((e.probability for e in edges), reverse=True)
    assert set(model.graph_.edges) == {
        (int(j), int(i)) for i, j in zip(*np.nonzero(model.adjacency_), strict=True)
    }


@pytest.mark.slow
def test_processes_do_not_change_the_draws():
    few = short(n_samples=(40, 20), burn_in=(20, 10), n_candidates=2)
    one, two = (SLIM(**few, n_jobs=n).fit(GOOD) for n in (1, 2))
    assert np.array_equal(one.B_median_, two.B_median_)


def test_slim_says_factor_where_no_dag_fits():
    # A rotation by 45 degrees is as far from a triangle as two variables can be.
    X = np.random.default_rng(0).laplace(size=(500, 2)) @ [[1.0, 1.0], [1.0, -1.0]]
    model = SLIM(**short()).fit(X)
    assert model.selected_ == "factor"
    assert np.isclose(model.score(X[:50]), model.factor_model_.score(X[:50]))


def test_latent_causes_have_loadings():
    data = make_confounded_dag(4, 300, random_state=0)
    dag = SLIMDAG(data.order, n_latent=1, n_samples=300, burn_in=200, n_rep=50, random_state=0)
    dag.fit(data.X)
    assert dag.CL_.shape == dag.CL_prob_.shape == (4, 1)
    assert np.isfinite(dag.score(data.X[:10]))


def test_deterministic_and_dense_ablations():
    data = make_linear_dag(4, 1000, density="dense", random_state=4)
    settings = {"n_samples": 600, "burn_in": 600, "random_state": 0}
    dense = SLIMOrderSearch(sparse=False, **settings).fit(data.X)
    assert np.all(dense.inclusion_prob_ == 1.0)
    fixed = SLIMOrderSearch(search="deterministic", sparse=False, **settings).fit(data.X)
    assert is_causal_order(dense.causal_order_, data.B)
    # One order, from medians of loadings; the paper's Fig. 6 has it behind the search as well.
    assert len(fixed.ordering_candidates_) == 1
    assert sorted(fixed.causal_order_) == [0, 1, 2, 3]


@pytest.mark.parametrize("seed", range(5))
def test_deterministic_order_of_an_exact_mixing_matrix(seed):
    rng = np.random.default_rng(seed)
    B = np.tril(rng.uniform(0.5, 2, (6, 6)) * rng.choice([-1, 1], (6, 6)), -1)
    permutation = rng.permutation(6)
    B = B[np.ix_(permutation, permutation)]
    D = np.linalg.inv(np.eye(6) - B)[:, rng.permutation(6)] * rng.uniform(-3, 3, 6)
    assert is_causal_order(deterministic_order(D), B)


def test_gaussian_factors_have_the_span_of_factor_analysis():
    rng = np.random.default_rng(0)
    C = rng.standard_normal((6, 2))
    X = rng.standard_normal((1500, 2)) @ C.T + 0.3 * rng.standard_normal((1500, 6))
    model = SparseFactorModel(
        2, factor="gaussian", sparse=False, n_samples=400, burn_in=400, random_state=0
    ).fit(X)
    scale = X.std(axis=0)
    peer = FactorAnalysis(2).fit((X - X.mean(axis=0)) / scale)
    # Rotations wander within the span: compare the spans of the last draw.
    found = model._W[-1]
    assert np.degrees(subspace_angles(found, peer.components_.T)).max() < 3


def test_sparse_loadings_and_missing_entries():
    rng = np.random.default_rng(1)
    C = np.array([[1.0, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]])
    full = rng.laplace(size=(300, 2)) @ C.T + 0.2 * rng.standard_normal((300, 6))
    X = full.copy()
    X[rng.random(X.shape) < 0.05] = np.nan
    model = SparseFactorModel(2, missing="sample", n_samples=500, burn_in=400, random_state=0)
    model.fit(X)
    assert sorted(map(tuple, (model.inclusion_prob_ > 0.5).tolist())) == sorted(
        map(tuple, (C.T != 0).tolist())
    )
    gone = np.isnan(X)
    assert np.mean((model.imputed_ - full)[gone] ** 2) < 0.2 * full.var()
    assert model.transform(X).shape == (300, 2)
    with pytest.raises(ValueError, match="NaN"):
        SparseFactorModel(2).fit(X)


def test_matching_undoes_exchanges_and_signs():
    rng = np.random.default_rng(0)
    C = rng.standard_normal((5, 3))
    draws = np.array([C[:, rng.permutation(3)] * rng.choice([-1, 1], 3) for _ in range(9)] + [C])
    assert np.allclose(match_factors(draws)[0], C)


def test_regression_predicts_and_is_repeatable():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 5))
    y = X[:, 0] - 0.7 * X[:, 3] + 0.2 * rng.standard_normal(100)
    model = SpikeSlabRegression(n_samples=800, n_chains=2, random_state=0).fit(X, y)
    assert (model.inclusion_prob_ > 0.5).tolist() == [True, False, False, True, False]
    assert model.score(X, y) > 0.9
    assert model.coef_draws_.shape == (1600, 5)
    again = SpikeSlabRegression(n_samples=800, n_chains=2, random_state=0).fit(X, y)
    assert np.array_equal(again.coef_, model.coef_)


def test_score_is_the_predictive_density_of_the_draws():
    data = make_linear_dag(3, 100, random_state=0)
    dag = SLIMDAG(data.order, n_samples=50, burn_in=50, random_state=0).fit(data.X)
    Z = (data.X - dag.mean_) / dag.scale_
    W = dag._W
    value = predictive_log_density(Z, W[:, :, 3:], dag._psi, B=W[:, :, :3])
    assert np.allclose(dag.score_samples(data.X), value - np.log(dag.scale_).sum())


def test_gaussian_sources_are_warned_of():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 2)) @ [[1.0, 0.8], [0.0, 1.0]]
    with pytest.warns(UserWarning, match="look Gaussian"):
        SLIMDAG(n_samples=50, burn_in=20, random_state=0).fit(x)


RNG = np.random.default_rng(0)
GOOD = RNG.laplace(size=(40, 3))


@pytest.mark.parametrize(
    ("model", "X", "words"),
    [
        (SLIM(), GOOD[:19], "20 rows"),
        (SLIM(), GOOD[:, :1], "n_features=1"),
        (SLIM(), np.column_stack([GOOD, GOOD[:, 0] + GOOD[:, 1]]), "collinear"),
        (SLIM(), np.column_stack([GOOD, np.ones(40)]), "Column 3 is constant"),
        (SLIM(n_samples=(10,)), GOOD, "two whole numbers"),
        (SLIM(burn_in=(10, -1)), GOOD, "two whole numbers"),
        (SLIM(noise_prior=(20.0,)), GOOD, "noise_prior must be two numbers above 0"),
        (SLIMDAG(noise_prior=(2.0, 0.0)), GOOD, "noise_prior must be two numbers above 0"),
        (SparseFactorModel(noise_prior=("a", 1.0)), GOOD, "noise_prior must be two numbers"),
        (SLIMDAG([0, 1]), GOOD, "each of the columns"),
        (SLIMDAG([0, 1, 1]), GOOD, "each of the columns"),
        (SLIMOrderSearch(search="deterministic", n_latent=1), GOOD, "n_latent=0"),
    ],
)
def test_bad_input(model, X, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X)


def test_more_latent_causes_than_variables_are_warned_of():
    model = SLIM(n_latent=4, n_candidates=1, n_samples=(20, 20), burn_in=(5, 5), random_state=0)
    with pytest.warns(UserWarning, match="more than the 3 variables"):
        model.fit(GOOD)
