"""Classical tools against lifelines, scikit-survival, scikit-learn and definitions."""

import numpy as np
import pytest

from octavo.engine.survival.targets import survival_record
from octavo.survival import (
    CoxRegression,
    PLSCox,
    PrincipalComponentCox,
    comparable_pairs,
    concordance_index,
    integrated_brier_score,
    kaplan_meier,
    logrank_test,
    nelson_aalen,
    risk_groups,
    time_dependent_roc,
)
from octavo.survival.classical.components import deviance_residuals, univariate_scores


def sample(n=120, d=3, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    time = rng.exponential(np.exp(-X[:, 0] + 0.5 * X[:, 1]))
    limit = rng.exponential(2.0, n)
    y = survival_record(time <= limit, np.minimum(time, limit))
    if ties:
        y["time"] = np.ceil(5 * y["time"])
    return X, y


@pytest.mark.parametrize("ties", [False, True])
def test_cox_equals_lifelines(ties):
    lifelines = pytest.importorskip("lifelines")
    import pandas as pd

    X, y = sample(ties=ties)
    frame = pd.DataFrame(X, columns=list("abc")).assign(t=y["time"], e=y["event"])
    theirs = lifelines.CoxPHFitter().fit(frame, "t", "e", fit_options={"precision": 1e-12})
    ours = CoxRegression(alpha=0.0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.params_, atol=1e-6)
    table = np.column_stack(
        [theirs.hazard_ratios_, np.exp(theirs.confidence_intervals_.to_numpy())]
    )
    np.testing.assert_allclose(ours.hazard_ratios(), table, rtol=1e-5)
    # lifelines interpolates hazards between events; at events both are Breslow's
    times = np.unique(y["time"][y["event"]])[[1, 4, 7]]
    expected = theirs.predict_survival_function(frame.iloc[:5], times=times).to_numpy().T
    np.testing.assert_allclose(ours.predict_survival_function(X[:5], times), expected, atol=1e-6)


def test_cox_curves_equal_scikit_survival():
    linear = pytest.importorskip("sksurv.linear_model")
    X, y = sample(seed=3)
    theirs = linear.CoxPHSurvivalAnalysis(alpha=2.0, ties="efron", tol=1e-12).fit(X, y)
    ours = CoxRegression(alpha=2.0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    times = np.quantile(y["time"], [0.1, 0.5, 0.9])
    expected = np.array([f(times) for f in theirs.predict_survival_function(X[:4])])
    np.testing.assert_allclose(ours.predict_survival_function(X[:4], times), expected, atol=1e-6)
    np.testing.assert_allclose(
        ours.predict_cumulative_hazard(X[:4], times), -np.log(expected), atol=1e-6
    )


def test_concordance_equals_scikit_survival_and_kendall():
    metrics = pytest.importorskip("sksurv.metrics")
    from scipy.stats import kendalltau

    X, y = sample(seed=4)
    risk = X[:, 0]
    upper = np.where(y["event"], y["time"], np.inf)
    expected = metrics.concordance_index_censored(y["event"], y["time"], risk)[0]
    assert concordance_index(y["time"], upper, -risk) == pytest.approx(expected, abs=1e-12)
    rng = np.random.default_rng(0)
    time, u = rng.uniform(size=50), rng.uniform(size=50)
    tau = kendalltau(time, u).statistic
    assert concordance_index(time, time, u) == pytest.approx((tau + 1) / 2, abs=1e-12)
    assert concordance_index(time, time, np.zeros(50), ties=0.0) == 0
    assert concordance_index(time, time, np.zeros(50)) == 0.5


@pytest.mark.parametrize("n_groups", [2, 3])
def test_logrank_equals_lifelines(n_groups):
    statistics = pytest.importorskip("lifelines.statistics")
    X, y = sample(seed=5, ties=True)
    groups = risk_groups(X[:, 0], n_groups)
    assert np.bincount(groups).tolist() == [120 // n_groups] * n_groups
    theirs = statistics.multivariate_logrank_test(y["time"], groups, y["event"])
    statistic, p = logrank_test(y["time"], y["event"], groups)
    assert statistic == pytest.approx(theirs.test_statistic, rel=1e-8)
    assert p == pytest.approx(theirs.p_value, rel=1e-6)


def test_roc_equals_scikit_survival_and_scikit_learn():
    from sklearn.metrics import roc_auc_score

    X, y = sample(seed=6)
    time = y["time"]
    at = float(np.median(time))
    plain = time_dependent_roc(np.ones(120), time, X[:, 0], at)
    assert plain.auc == pytest.approx(roc_auc_score(time <= at, X[:, 0]), abs=1e-12)
    assert (np.diff(plain.fpr) >= 0).all()
    assert plain.tpr[-1] == plain.fpr[-1] == 1
    metrics = pytest.importorskip("sksurv.metrics")
    theirs = metrics.cumulative_dynamic_auc(y, y, X[:, 0], [at])[0][0]
    assert time_dependent_roc(y["event"], time, X[:, 0], at).auc == pytest.approx(theirs, abs=1e-10)


def test_brier_score_equals_scikit_survival():
    metrics = pytest.importorskip("sksurv.metrics")
    X, y = sample(seed=7)
    model = CoxRegression().fit(X, y)
    times = np.linspace(*np.quantile(y["time"], [0.1, 0.8]), 20)
    survival = model.predict_survival_function(X, times)
    theirs = metrics.integrated_brier_score(y, y, survival, times)
    assert integrated_brier_score(y, y, survival, times) == pytest.approx(theirs, abs=1e-10)


def test_curves_are_those_of_the_engine():
    assert kaplan_meier([1, 1, 0], [1.0, 2.0, 2.0])(2.0) == pytest.approx(1 / 3)
    assert nelson_aalen([1, 1, 0], [1.0, 2.0, 2.0])(2.0) == pytest.approx(1 / 3 + 1 / 2)
    for bad, words in [
        (([1], [-1.0]), "row 0"),
        (([2], [1.0]), "0 or 1"),
        (([1], [np.nan]), "finite"),
        (([], []), "at least one"),
        ((["a"], ["b"]), "numbers"),
    ]:
        with pytest.raises(ValueError, match=words):
            kaplan_meier(*bad)


def test_univariate_scores_are_square_roots_of_the_logrank_statistic():
    """For a feature of two values the score test of Cox's model is the log-rank test."""
    X, y = sample(seed=8)
    group = (X[:, 0] > 0).astype(float)
    score = univariate_scores(group[:, None], y["event"], y["time"])[0]
    assert score**2 == pytest.approx(logrank_test(y["time"], y["event"], group)[0], rel=1e-8)


def test_components_reduce_to_cox_and_to_scikit_learn():
    X, y = sample(seed=9)
    full = CoxRegression(alpha=0.0).fit(X, y)
    for model in (PrincipalComponentCox(3, alpha=0.0), PLSCox(3, alpha=0.0)):
        np.testing.assert_allclose(model.fit(X, y).coef_, full.coef_, atol=1e-5)
    from sklearn.cross_decomposition import PLSRegression

    rng = np.random.default_rng(0)
    wide = rng.normal(size=(120, 30))
    residual = deviance_residuals(y["event"], y["time"])
    theirs = PLSRegression(2).fit(wide, residual).x_rotations_.T
    ours = PLSCox(2).fit(wide, y).components_
    theirs = theirs / np.linalg.norm(theirs, axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs(ours @ theirs.T).diagonal(), 1, atol=1e-8)
    noisy = np.hstack([rng.normal(size=(120, 200)), X])
    chosen = PrincipalComponentCox(1, supervised=0.02).fit(noisy, y).selected_
    assert 200 in chosen


def test_deviance_residuals_equal_the_definition():
    X, y = sample(seed=10)
    hazard = nelson_aalen(y["event"], y["time"])(y["time"])
    m = y["event"] - hazard
    term = np.where(y["event"], np.log(y["event"] - m), 0.0)
    expected = np.sign(m) * np.sqrt(-2 * (m + term))
    np.testing.assert_allclose(deviance_residuals(y["event"], y["time"]), expected, atol=1e-10)


def test_bad_input():
    X, y = sample()
    with pytest.raises(ValueError, match="two groups"):
        logrank_test([1.0, 2.0], [1, 1], [0, 0])
    with pytest.raises(ValueError, match="No pair"):
        concordance_index([1.0, 2.0], [np.inf, np.inf], [0.0, 1.0])
    with pytest.raises(ValueError, match="followed beyond"):
        time_dependent_roc(y["event"], y["time"], X[:, 0], 1e9)
    with pytest.raises(ValueError, match="n_groups"):
        risk_groups([1.0, 2.0], 5)
    with pytest.raises(ValueError, match="no event happened"):
        CoxRegression().fit(X, survival_record(np.zeros(120, bool), y["time"]))
    with pytest.raises(ValueError, match="MinlipSurvival takes intervals"):
        CoxRegression().fit(X[:2], [[1.0, 2.0], [3.0, 3.0]])


@pytest.mark.parametrize("unit", [1e5, 1e-5, 1e-10])
def test_cox_does_not_see_the_units_of_features(unit):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 3))
    y = survival_record(rng.random(80) < 0.7, rng.exponential(np.exp(-X[:, 0])))
    plain, other = CoxRegression(alpha=0.0).fit(X, y), CoxRegression(alpha=0.0).fit(X * unit, y)
    np.testing.assert_allclose(other.coef_ * unit, plain.coef_, rtol=1e-8)
    np.testing.assert_allclose(other.covariance_ * unit**2, plain.covariance_, rtol=1e-6)
    np.testing.assert_allclose(other.predict(X * unit), plain.predict(X), rtol=1e-8)
    ridge = CoxRegression(alpha=2.0 * unit**2).fit(X * unit, y)
    expected = CoxRegression(alpha=2.0).fit(X, y).coef_
    np.testing.assert_allclose(ridge.coef_ * unit, expected, rtol=1e-7)


def test_a_constant_feature_that_is_no_double_has_no_say():
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.normal(size=61), np.full(61, 0.1), np.full(61, 1e8 / 3)])
    y = survival_record(rng.random(61) < 0.7, rng.exponential(np.exp(-X[:, 0])))
    model = CoxRegression(alpha=0.0).fit(X, y)
    assert (model.coef_[1:] == 0.0).all()
    assert model.coef_[0] == pytest.approx(CoxRegression(alpha=0.0).fit(X[:, :1], y).coef_[0])


def test_curves_and_ends_refuse_what_is_no_real_number():
    curve = kaplan_meier([1, 0, 1], [1.0, 2.0, 3.0])
    for when in (np.nan, [1.0, np.nan], "a", 1j):  # NaN was answered by the last value
        with pytest.raises(ValueError, match="times must"):
            curve(when)
    assert curve(np.inf) == 0.0
    for lower in ([1j, 2, 3], ["a", "b", "c"]):  # an imaginary part was dropped
        with pytest.raises(ValueError, match="lower must"):
            concordance_index(lower, [1.0, 2.0, np.inf], [0.1, 0.2, 0.3])
        with pytest.raises(ValueError, match="lower must"):
            comparable_pairs(lower, [1.0, 2.0, np.inf])
    with pytest.raises(ValueError, match="as many rows; got 2 and 3"):
        comparable_pairs([1.0, 2.0], [1.0, 2.0, np.inf])
    X, y = sample()
    assert CoxRegression().fit(X, y).predict_survival_function(X[:2], 1.0).shape == (2, 1)
    with pytest.raises(ValueError, match="times must"):
        CoxRegression().fit(X, y).predict_survival_function(X[:2], [1j])
