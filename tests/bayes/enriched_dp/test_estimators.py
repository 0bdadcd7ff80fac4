"""Predictions against closed forms and limits, missing entries, kinds of columns, bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from octavo.bayes import (
    DPMixtureClassifier,
    DPMixtureRegressor,
    EnrichedDPClassifier,
    EnrichedDPRegressor,
)
from octavo.data import make_two_regimes, two_regimes_density, two_regimes_mean
from octavo.engine.conjugate.normal_inverse_gamma import (
    NormalInverseGamma,
    nig_predictive,
    nig_update,
)

X, Y = make_two_regimes(60, 2, random_state=3)
SHORT = {"n_iter": 300, "burn_in": 100, "random_state": 0}


def test_one_cluster_is_a_conjugate_regression():
    """α_θ -> 0: a t density, up to the Monte Carlo error of drawn coefficients."""
    prior = {"beta0": [1.0, 0.5, 0.0], "C": [0.1, 0.5, 0.5], "a_y": 2.0, "b_y": 0.4}
    model = EnrichedDPRegressor(
        n_iter=8000, burn_in=100, alpha_theta=1e-9, random_state=0, **prior
    ).fit(X, Y)
    assert (model.k_trace_ == 1).all()
    design = np.column_stack([np.ones(60), X])
    law = nig_update(
        NormalInverseGamma(np.array(prior["beta0"]), np.diag(prior["C"]), 2.0, 0.4), design, Y
    )
    exact = nig_predictive(law, design[:5])
    mean, std = model.predict(X[:5], return_std=True)
    spread = np.sqrt(exact.scale2 * exact.dof / (exact.dof - 2))
    assert np.allclose(mean, exact.location, atol=0.01)
    assert np.allclose(std, spread, rtol=0.02)
    grid = np.linspace(0, 8, 50)
    truth = student(exact.dof, exact.location[0], np.sqrt(exact.scale2[0])).pdf(grid)
    assert np.abs(model.predict_density(X[:1], grid)[0] - truth).max() < 0.01


@pytest.mark.parametrize("kind", [EnrichedDPRegressor, DPMixtureRegressor])
def test_density_cdf_quantiles_and_draws_are_of_one_law(kind):
    model = kind(**SHORT).fit(X, Y)
    grid = np.linspace(-60, 70, 13_001)
    density = model.predict_density(X[:3], grid)
    step = grid[1] - grid[0]
    assert density.shape == (3, grid.size)
    assert np.allclose(density.sum(axis=1) * step, 1.0, atol=2e-3)
    assert np.allclose((density * grid).sum(axis=1) * step, model.predict(X[:3]), atol=0.02)
    median = model.predict_quantile(X[:3])
    assert np.allclose([model.predict_cdf(X[i : i + 1], [median[i]])[0, 0] for i in range(3)], 0.5)
    lower, upper = model.predict_interval(X[:3], 0.9)
    assert np.allclose(model.predict_quantile(X[:3], [0.05, 0.95]), np.column_stack([lower, upper]))
    draws = model.sample_posterior_predictive(X[:1], 4000, random_state=0)[0]
    assert abs((draws < median[0]).mean() - 0.5) < 5 * 0.5 / np.sqrt(4000)
    logs = model.log_predictive_density(X[:3], Y[:3])
    at = [model.predict_density(X[i : i + 1], [Y[i]])[0, 0] for i in range(3)]
    assert np.allclose(np.exp(logs), at)
    density, low, high = model.predict_density(X[:2], [4.0, 5.0], band=0.9)
    assert (low <= high).all()
    assert density.shape == low.shape == (2, 2)


def test_truth_lies_where_the_data_say():
    model = EnrichedDPRegressor(**SHORT).fit(X, Y)
    error = np.abs(model.predict(X) - two_regimes_mean(X)).mean()
    assert error < 0.5 * np.abs(Y.mean() - two_regimes_mean(X)).mean()
    grid = np.linspace(0, 10, 200)
    truth = two_regimes_density(X[:20], grid)
    ours = model.predict_density(X[:20], grid)
    flat = np.tile(truth.mean(axis=0), (20, 1))
    assert np.abs(ours - truth).sum() < np.abs(flat - truth).sum()


@pytest.mark.parametrize("factor", [1e-5, 1e5])
def test_units_do_not_matter(factor):
    one = EnrichedDPRegressor(**SHORT).fit(X, Y)
    two = EnrichedDPRegressor(**SHORT).fit(X * factor, Y * factor)
    assert np.allclose(two.predict(X * factor) / factor, one.predict(X), rtol=1e-6)


def test_a_column_without_values_is_no_column():
    holes = np.column_stack([X[:, 0], np.full(60, np.nan), X[:, 1]])
    one = EnrichedDPRegressor(**SHORT).fit(X, Y)
    two = EnrichedDPRegressor(**SHORT).fit(holes, Y)
    assert np.allclose(one.predict(X), two.predict(holes))


def test_missing_entries_keep_most_of_the_answer():
    rng = np.random.default_rng(0)
    X, Y = make_two_regimes(150, 3, random_state=5)
    holes = np.where(rng.random(X.shape) < 0.15, np.nan, X)
    model = EnrichedDPRegressor(n_iter=800, burn_in=200, random_state=0).fit(holes, Y)
    assert np.corrcoef(model.predict(X), two_regimes_mean(X))[0, 1] > 0.9
    assert np.corrcoef(model.predict(holes), two_regimes_mean(X))[0, 1] > 0.8


def test_kinds_of_columns():
    rng = np.random.default_rng(1)
    n = 150
    group, count = rng.integers(0, 3, n), rng.poisson(3.0, n)
    number = rng.normal(size=n)
    y = np.array([0.0, 3.0, -3.0])[group] + 0.3 * count + 0.2 * rng.normal(size=n)
    frame = pd.DataFrame({"g": pd.Categorical.from_codes(group, ["a", "b", "c"])})
    frame["c"], frame["x"] = count, number
    model = EnrichedDPRegressor(column_kinds={"c": "poisson"}, **SHORT).fit(frame, y)
    assert model.score(frame, y) > 0.9
    holes = frame.copy()
    holes.loc[:4, "g"] = None
    assert np.isfinite(model.predict(holes)).all()
    with pytest.raises(ValueError, match="Column 0 holds 'z'"):
        model.predict(frame.assign(g="z"))
    codes = np.column_stack([group, count, number])
    other = EnrichedDPRegressor(
        column_kinds=["categorical", "poisson", "gaussian"], collapsed=True, **SHORT
    ).fit(codes, y)
    assert other.score(codes, y) > 0.9


@pytest.mark.parametrize("kind", [EnrichedDPClassifier, DPMixtureClassifier])
def test_classes(kind):
    model = kind(**SHORT).fit(X, np.where(Y > 4.5, "high", "low"))
    proba = model.predict_proba(X)
    assert np.allclose(proba.sum(axis=1), 1.0)
    assert model.score(X, np.where(Y > 4.5, "high", "low")) > 0.8
    lower, upper = model.predict_interval(X)
    assert (lower <= upper + 1e-12).all()
    three = kind(**SHORT).fit(X, np.digitize(Y, [3.5, 5.0]))
    assert three.predict_proba(X).shape == (60, 3)
    assert three.score(X, np.digitize(Y, [3.5, 5.0])) > 0.6
    assert three.predict_interval(X[:4])[0].shape == (4, 3)


def test_counts():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(150, 1))
    y = rng.poisson(np.exp(1.0 + 0.8 * x[:, 0]))
    model = EnrichedDPRegressor(response="poisson", **SHORT).fit(x, y)
    assert np.corrcoef(model.predict(x), np.exp(1.0 + 0.8 * x[:, 0]))[0, 1] > 0.9
    total = np.exp([model.log_predictive_density(x[:1], [float(v)])[0] for v in range(60)]).sum()
    assert total == pytest.approx(1.0, abs=1e-3)


def test_summaries_and_diagnostics():
    model = EnrichedDPRegressor(n_chains=2, **SHORT).fit(X, Y)
    assert model.k_trace_.shape == (400,)
    assert model.rhat_.shape == (3,)
    assert model.alpha_psi_trace_.shape == (400, model.k_trace_.max())
    assert model.y_partition_.shape == model.most_frequent_partition_.shape == (60,)
    assert np.allclose(np.diag(model.co_clustering_y_), 1.0)
    assert (model.co_clustering_x_ <= model.co_clustering_y_ + 1e-12).all()
    assert model.geweke_z().shape == (4,)
    same = EnrichedDPRegressor(n_chains=2, **SHORT).fit(X, Y)
    assert np.array_equal(same.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("options", "change", "words"),
    [
        ({}, lambda X, y: (X, np.ones(len(y))), "constant"),
        ({}, lambda X, y: (np.where(X > 5, np.inf, X), y), "infinity"),
        ({"C": np.diag([1.0, -1.0, 1.0])}, lambda X, y: (X, y), "positive definite"),
        ({"C": [1.0, 1.0]}, lambda X, y: (X, y), "C must be a matrix"),
        ({"beta0": [1.0]}, lambda X, y: (X, y), "beta0 must hold 3"),
        ({"a_y": 1.0}, lambda X, y: (X, y), "a_y"),
        ({"alpha_psi": ("beta", 1, 1)}, lambda X, y: (X, y), "alpha_psi must be"),
        ({"alpha_theta": 0.0}, lambda X, y: (X, y), "alpha_theta"),
        ({"column_kinds": ["gaussian"]}, lambda X, y: (X, y), "column_kinds"),
        ({"column_kinds": "poisson"}, lambda X, y: (X, y), "whole numbers"),
        ({"burn_in": 300}, lambda X, y: (X, y), "n_iter must be larger"),
        ({"response": "poisson"}, lambda X, y: (X, y), "whole numbers"),
        ({}, lambda X, y: (X[:1], y[:1]), "minimum of 2"),
    ],
)
def test_bad_input(options, change, words):
    with pytest.raises(ValueError, match=words):
        EnrichedDPRegressor(**SHORT | options).fit(*change(X, Y))


def test_unscaled_columns_are_warned_of():
    with pytest.warns(UserWarning, match="b_x is far"):
        EnrichedDPRegressor(b_x=1.0, **SHORT).fit(X * 1e5, Y)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="two classes"):
        EnrichedDPClassifier(**SHORT).fit(X, np.zeros(60))
