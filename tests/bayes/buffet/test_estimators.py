"""What the estimators promise: recovery, tables of all kinds, reports, bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from octavo.bayes import IBPCategorical, IBPLinearGaussian, comorbidity_report
from octavo.bayes.buffet.patterns import fit_weights
from octavo.bayes.buffet.recipes import posterior_of_rows
from octavo.data import make_hidden_causes


def agreement(found, truth):
    """Return the smallest share of rows on which each true feature agrees with some found one."""
    table = (found[:, :, None] == truth[:, None, :]).mean(axis=0)
    return np.maximum(table, 1 - table).max(axis=0).min()


def optimum(X, Z, n_levels):
    """Return the agreement of the best guess of each row, were the true features' weights known."""
    levels, codes = np.full(X.shape[1], n_levels), X.astype(float)
    weights, _, _ = fit_weights(Z, codes, levels, 1.0, 1.0)
    patterns, chances, _ = posterior_of_rows(codes, levels, Z, Z.mean(axis=0), weights, 1.0)
    return agreement((chances @ patterns > 0.5).astype(int), Z)


@pytest.fixture(scope="module")
def planted():
    X, Z = make_hidden_causes(200, n_columns=30, n_features=2, n_levels=2, random_state=0)
    return X, Z, IBPCategorical(n_iter=60, burn_in=30, random_state=0).fit(X)


def test_planted_features_are_found(planted):
    X, Z, model = planted
    best = optimum(X, Z, 2)
    assert agreement(model.Z_, Z) > best - 0.05
    assert model.log_evidences_.shape == (60,)
    assert model.k_draws_.shape == (30,)
    assert model.weights_[0].shape == (model.n_features_ + 1, 2)
    assert model.weights_cov_[0].shape == (2 * (model.n_features_ + 1),) * 2
    assert agreement((model.transform(X) > 0.5).astype(int), Z) > best - 0.05


@pytest.mark.slow
def test_a_large_planted_table():
    X, Z = make_hidden_causes(2000, n_columns=20, n_features=4, random_state=0)
    model = IBPCategorical(n_iter=60, burn_in=40, random_state=0).fit(X)
    assert agreement(model.Z_, Z) > optimum(X, Z, 3) - 0.05


@pytest.mark.slow
def test_variational_engine():
    X, Z = make_hidden_causes(300, n_columns=20, n_features=2, random_state=0)
    model = IBPCategorical(engine="variational", max_features=5, tol=1e-5, random_state=0).fit(X)
    assert (np.diff(model.lower_bounds_) > -1e-6).all()
    assert agreement(model.Z_, Z) > optimum(X, Z, 3) - 0.05


def test_equal_seeds_give_equal_fits(planted):
    X, _, model = planted
    again = IBPCategorical(n_iter=60, burn_in=30, random_state=0).fit(X)
    assert (again.Z_ == model.Z_).all()
    assert_allclose(again.log_evidences_, model.log_evidences_)


def test_chains_are_the_same_in_any_number_of_workers():
    X, _ = make_hidden_causes(30, n_columns=4, n_features=1, n_levels=2, random_state=0)
    one, two = (
        IBPCategorical(n_iter=8, burn_in=2, n_chains=2, n_jobs=n, random_state=0).fit(X)
        for n in (None, 2)
    )
    assert_allclose(one.log_evidences_, two.log_evidences_)
    assert (one.Z_ == two.Z_).all()
    assert one.k_draws_.shape == (12,)


def test_report(planted):
    report = comorbidity_report(planted[2])
    Z = planted[2].Z_
    assert_allclose(report.empirical[0, 1], (Z[:, 0] * Z[:, 1]).mean())
    assert_allclose(report.product[0, 1], Z[:, 0].mean() * Z[:, 1].mean())
    assert_allclose(report.conditional[0, 1], Z[Z[:, 0] == 1, 1].mean())
    spread = np.sqrt(report.product[0, 1] * (1 - report.product[0, 1]) / 200)
    assert_allclose(report.z_scores[0, 1] * spread, report.empirical[0, 1] - report.product[0, 1])
    assert report.pattern_counts.sum() == 200
    assert_allclose(report.profiles[0].sum(axis=1), 1.0)
    assert_allclose(report.ratios[0] * report.baseline[0], report.profiles[0])


def test_strings_categories_and_missing_answers():
    pandas = pytest.importorskip("pandas")
    rng = np.random.RandomState(0)
    on = rng.random_sample(80) < 0.4
    frame = pandas.DataFrame(
        {
            "a": pandas.Categorical(np.where(on, "yes", "no"), categories=["no", "yes", "never"]),
            "b": np.where(on ^ (rng.random_sample(80) < 0.1), "x", "y"),
            "c": np.where(on ^ (rng.random_sample(80) < 0.1), 1, 0),
            "d": on + rng.normal(0, 0.3, 80),
        }
    )
    frame.loc[3, "b"] = None
    model = IBPCategorical(n_iter=20, burn_in=10, continuous_features=["d"], random_state=0).fit(
        frame
    )
    assert model.levels_[0] == ["no", "yes", "never"]
    proba = model.predict_proba(frame)
    assert [p.shape[1] for p in proba] == [3, 2, 2, 1]
    filled = model.impute(frame)
    assert filled[3, 1] in ("x", "y")
    assert (filled[:, 2] == frame["c"]).all()
    assert model.sample(7).shape == (7, 4)
    with pytest.raises(ValueError, match="Column 'b' holds 'z' in row 0"):
        model.transform(frame.assign(b="z"))


def test_null_pattern_and_two_stages():
    X, _ = make_hidden_causes(200, n_columns=8, n_features=1, n_levels=2, random_state=1)
    null = X[0]
    for init in ("auto", "two_stage", "gibbs"):
        model = IBPCategorical(
            n_iter=12, burn_in=6, null_pattern=null, init=init, random_state=0
        ).fit(X)
        assert (model.Z_[(null == X).all(axis=1)] == 0).all()


def test_constant_columns():
    X = np.array([[0, 1, 0], [1, 0, 0], [1, 1, 0], [0, 0, 0]])
    with pytest.warns(UserWarning, match="Column 2 is constant"):
        model = IBPCategorical(n_iter=4, burn_in=2, random_state=0).fit(X)
    assert model.pattern_proba(np.zeros((1, model.n_features_)))[2].shape == (1, 2)
    with pytest.raises(ValueError, match="Column 1 has the single level 7"):
        IBPCategorical().fit([[0, 7], [1, 7]])


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([[0, 1]], "two rows"),
        ([[0.5], [1.0]], "not whole"),
        ([[np.inf], [1.0]], "infinity"),
        ([0, 1], "2D array"),
        ([[np.nan, 1], [np.nan, 0]], "no answer"),
    ],
)
def test_bad_tables(X, words):
    with pytest.raises(ValueError, match=words):
        IBPCategorical(n_iter=4, burn_in=2).fit(X)


def test_numbers_both_engines():
    rng = np.random.RandomState(0)
    Z = rng.randint(0, 2, (120, 2))
    X = Z @ rng.normal(0, 3, (2, 8)) + 0.5 * rng.normal(size=(120, 8))
    X[0, 0] = np.nan
    for engine in ("gibbs", "variational"):
        model = IBPLinearGaussian(
            sigma_x=0.5, sigma_a=3.0, n_iter=80, burn_in=40, max_features=6, tol=1e-3,
            engine=engine, random_state=0,
        ).fit(X)  # fmt: skip
        assert agreement(model.Z_, Z) > 0.95
        assert model.loadings_.shape == (model.n_features_, 8)
        assert np.isfinite(model.impute(X)).all()
    assert (np.diff(model.lower_bounds_) > -1e-6).all()


def test_a_null_pattern_names_answers_that_there_are():
    X = np.random.RandomState(0).randint(0, 3, (20, 3))
    with pytest.raises(ValueError, match=r"null_pattern .*Column 1 has the levels .*; got 9"):
        IBPCategorical(null_pattern=[0, 9, 0], n_iter=2, burn_in=1).fit(X)


@pytest.mark.parametrize("engine", ["gibbs", "variational"])
def test_huge_numbers_are_refused(engine):
    X = np.random.RandomState(0).normal(size=(10, 3))
    X[0, 0] = np.nan
    model = IBPLinearGaussian(engine=engine, n_iter=4, burn_in=2, n_init=1)
    with pytest.raises(ValueError, match="X is too large"):
        model.fit(X * 1e200)
