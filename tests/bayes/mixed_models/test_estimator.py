"""VariationalMixedModel as users meet it: predictions, invariances, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

from octavo.bayes import VariationalMixedModel
from tests.bayes.mixed_models.test_ascent import poisson_data


@pytest.fixture(scope="module")
def fitted():
    x, y, groups = poisson_data(0)
    return VariationalMixedModel(tol=1e-12).fit(x, y, groups=groups), x, y, groups


def test_predictions_are_moments_of_the_posterior(fitted):
    model, x, _, groups = fitted
    mean, std, bands = model.predict(x, groups, return_std=True, quantiles=[0.05, 0.5, 0.95])
    draws = model.sample_posterior(40_000, random_state=0)
    eta = draws["coef"] @ np.column_stack([np.ones(len(x)), x]).T + draws["ranef"][0][:, groups, 0]
    rate = np.exp(eta)
    np.testing.assert_allclose(rate.mean(axis=0), mean, rtol=0.01)
    np.testing.assert_allclose(rate.std(axis=0), std, rtol=0.03)
    np.testing.assert_allclose(np.quantile(rate, [0.05, 0.5, 0.95], axis=0).T, bands, rtol=0.02)
    shape, rate = model.q_sigma2_[:, 0]
    np.testing.assert_allclose(draws["sigma2"][0][:, 0, 0].mean(), rate / (shape - 1), rtol=0.01)


def test_draws_of_crossed_terms_have_the_posterior_covariance():
    rng = np.random.default_rng(1)
    a, b, x = rng.integers(0, 6, 150), rng.integers(0, 4, 150), rng.normal(size=(150, 1))
    y = 1 + x[:, 0] + rng.normal(size=6)[a] + rng.normal(size=4)[b] + rng.normal(size=150)
    model = VariationalMixedModel("gaussian", random_slopes={"a": [0]}, A=5.0)
    model.fit(x, y, groups={"a": a, "b": b})
    draws = model.sample_posterior(60_000, random_state=0)
    joined = np.concatenate(
        [draws["coef"], *(u.reshape(len(u), -1) for u in draws["ranef"])], axis=1
    )
    cov = model.posterior_covariance()
    scale = np.sqrt(np.outer(np.diag(cov), np.diag(cov)))
    assert np.abs((np.cov(joined.T) - cov) / scale).max() < 0.03
    assert draws["noise_variance"].shape == (60_000,)


def test_population_level_and_new_labels(fitted):
    model, x, *_ = fitted
    at_zero = model.predict(x[:3])
    with pytest.warns(UserWarning, match="3 rows have labels of 'group' that fit did not see"):
        new = model.predict(x[:3], groups=[98, 99, 99])
    np.testing.assert_allclose(new, at_zero)
    beta = np.r_[model.intercept_, model.coef_]
    C = np.column_stack([np.ones(3), x[:3]])
    v = np.einsum("ij,jk,ik->i", C, model.coef_cov_, C)
    np.testing.assert_allclose(at_zero, np.exp(C @ beta + v / 2))


def test_summary_and_densities(fitted):
    model, *_ = fitted
    summary = model.posterior_summary()
    assert list(summary["name"]) == ["intercept", "x0", "sigma2[group]"]
    np.testing.assert_allclose(summary["mean"], [model.intercept_, *model.coef_, *model.sigma2_])
    for name in summary["name"]:
        row = summary[summary["name"] == name][0]
        grid = np.linspace(row["mean"] - 12 * row["sd"], row["mean"] + 12 * row["sd"], 20_001)
        density = model.posterior_pdf(name, grid)
        np.testing.assert_allclose(np.trapezoid(density, grid), 1.0, atol=1e-3)
        inside = (grid > row["lower"]) & (grid < row["upper"])
        np.testing.assert_allclose(np.trapezoid(density * inside, grid), 0.95, atol=2e-3)
    np.testing.assert_allclose(
        model.posterior_pdf("sigma2", [0.2, 0.3]), model.posterior_pdf("sigma2[group]", [0.2, 0.3])
    )
    with pytest.raises(ValueError, match="param must be one of"):
        model.posterior_pdf("x9", [0.0])


def test_labels_and_order_of_rows_do_not_matter(fitted):
    model, x, y, groups = fitted
    order = np.random.default_rng(2).permutation(len(y))
    names = np.array([f"g{99 - g:02d}" for g in groups])
    other = VariationalMixedModel(tol=1e-12).fit(x[order], y[order], groups=names[order])
    np.testing.assert_allclose(other.ranef_[0][::-1], model.ranef_[0], atol=1e-6)
    np.testing.assert_allclose(other.lower_bound_, model.lower_bound_, rtol=1e-10)


def test_an_offset_shifts_the_intercept(fitted):
    model, x, y, groups = fitted
    other = VariationalMixedModel(tol=1e-12).fit(x, y, groups=groups, offset=np.full(len(y), 2.0))
    np.testing.assert_allclose(other.intercept_, model.intercept_ - 2.0, atol=1e-6)
    np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-6)
    shifted = other.predict(x, groups, offset=np.full(len(y), 2.0))
    np.testing.assert_allclose(shifted, model.predict(x, groups), rtol=1e-6)


@pytest.mark.parametrize("family", ["poisson", "binomial", "negbinomial", "gaussian"])
def test_weights_count_rows(family):
    x, y, groups = poisson_data(3, 8, 5)
    y = (y > 2).astype(float) if family == "binomial" else y
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    once = VariationalMixedModel(family, tol=1e-13, max_iter=5000)
    again = VariationalMixedModel(family, tol=1e-13, max_iter=5000)
    once.fit(x, y, groups=groups, sample_weight=weight)
    again.fit(np.repeat(x, weight, axis=0), np.repeat(y, weight), groups=np.repeat(groups, weight))
    np.testing.assert_allclose(once.coef_, again.coef_, rtol=1e-4)
    np.testing.assert_allclose(once.lower_bound_, again.lower_bound_, rtol=1e-7)


def test_shares_with_trials_equal_single_trials():
    rng = np.random.default_rng(4)
    groups, x = np.arange(40) % 8, rng.normal(size=(40, 1))
    trials, hits = np.full(40, 6), rng.integers(0, 7, 40)
    shares = VariationalMixedModel("binomial", tol=1e-13)
    shares.fit(x, hits / trials, groups=groups, sample_weight=trials)
    y = np.concatenate([np.r_[np.ones(h), np.zeros(6 - h)] for h in hits])
    single = VariationalMixedModel("binomial", tol=1e-13)
    single.fit(np.repeat(x, 6, axis=0), y, groups=np.repeat(groups, 6))
    np.testing.assert_allclose(shares.coef_, single.coef_, atol=1e-5)
    np.testing.assert_allclose(shares.lower_bound_, single.lower_bound_, rtol=1e-8)


def test_dependent_columns_keep_their_prior_where_data_are_silent():
    x, y, groups = poisson_data(5)
    plain = VariationalMixedModel(sigma_beta=10.0, tol=1e-13).fit(x, y, groups=groups)
    with pytest.warns(UserWarning, match="have rank 2"):
        doubled = VariationalMixedModel(sigma_beta=10.0, tol=1e-13).fit(
            np.column_stack([x, x]), y, groups=groups
        )
    # Two equal columns have one effect, the sum, whose prior variance is twice as large.
    np.testing.assert_allclose(doubled.coef_[0], doubled.coef_[1])
    np.testing.assert_allclose(doubled.coef_.sum(), plain.coef_[0], rtol=1e-2)
    cov = doubled.coef_cov_[1:, 1:]
    difference = cov[0, 0] + cov[1, 1] - 2 * cov[0, 1]
    np.testing.assert_allclose(difference, 200.0)
    predicted = doubled.predict(np.column_stack([x, x]), groups)
    np.testing.assert_allclose(predicted, plain.predict(x, groups), rtol=1e-2)
    assert np.linalg.eigvalsh(doubled.posterior_covariance())[0] > -1e-9


def test_separable_data_warn():
    x = np.linspace(-1, 1, 40)[:, None]
    with pytest.warns(UserWarning, match="separable"):
        VariationalMixedModel("binomial").fit(x, (x[:, 0] > 0).astype(float))


def test_one_level_warns():
    x, y, _ = poisson_data(6)
    with pytest.warns(UserWarning, match="has one level"):
        VariationalMixedModel().fit(x, y, groups=np.zeros(len(y)))


def test_too_few_iterations_warn():
    x, y, groups = poisson_data(7)
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 iterations"):
        VariationalMixedModel(max_iter=2, tol=1e-12).fit(x, y, groups=groups)


FRAME = {"a": np.array(["u", "v"] * 10), "b": np.arange(20) % 5}
BAD = {
    "negative count": ({"y": np.r_[-1.0, np.ones(19)]}, r"y\[0\] is -1"),
    "half a count": ({"y": np.r_[np.ones(19), 1.5]}, r"y\[19\] is 1.5"),
    "missing label": ({"groups": np.r_[np.nan, np.ones(19)]}, "missing label; 'group' has one in"),
    "missing word": ({"groups": ["a"] * 19 + [None]}, "row 19"),
    "too few labels": ({"groups": np.ones(5)}, "one label per row"),
    "mixed kinds": ({"groups": np.array(["a", 1] * 10, dtype=object)}, "labels of one kind"),
    "both": ({"groups": np.ones(20), "Z": np.ones((20, 2))}, "exclude each other"),
    "short Z": ({"Z": np.ones((19, 2))}, "Z must have 20 rows"),
    "offset": ({"offset": np.ones(3)}, r"offset must have shape \(20,\)"),
    "weights": ({"sample_weight": -np.ones(20)}, "(?i)negative"),
}


@pytest.mark.parametrize("label", BAD)
def test_bad_input_is_named(label):
    given, words = BAD[label]
    given = {"X": np.arange(20.0)[:, None] / 20, "y": np.ones(20)} | given
    with pytest.raises(ValueError, match=words):
        VariationalMixedModel().fit(**given)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"random_slopes": [3]}, "places of the 1 columns"),
        ({"random_slopes": ["age"]}, "must name columns"),
        ({"random_slopes": {"c": [0]}}, "keyed by groupings"),
    ],
)
def test_bad_slopes(params, words):
    with pytest.raises(ValueError, match=words):
        VariationalMixedModel(**params).fit(np.ones((20, 1)), np.ones(20), groups=FRAME)


def test_slopes_need_groups():
    with pytest.raises(ValueError, match="needs groups"):
        VariationalMixedModel(random_slopes=[0]).fit(np.ones((20, 1)), np.ones(20))


def test_shares_beyond_one():
    with pytest.raises(ValueError, match=r"between 0 and 1.*y\[1\] is 2"):
        VariationalMixedModel("binomial").fit(np.ones((20, 1)), np.r_[1.0, 2.0, np.ones(18)])


def test_groups_at_prediction_must_match(fitted):
    model, x, *_ = fitted
    with pytest.raises(ValueError, match="must have the columns"):
        model.predict(x, groups={"other": np.ones(len(x))})
    with pytest.raises(ValueError, match="fitted without it"):
        model.predict(x, Z=np.ones((len(x), 2)))
    with pytest.raises(ValueError, match="quantiles must lie"):
        model.predict(x, quantiles=[0.0, 0.5])


def test_frames_and_arrays_of_groups_are_equal():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(20, 1)), rng.poisson(2.0, 20)
    codes = np.column_stack([FRAME["a"] == "u", FRAME["b"]]).astype(int)
    bounds = [
        VariationalMixedModel().fit(x, y, groups=groups).lower_bound_
        for groups in (FRAME, pd.DataFrame(FRAME), codes)
    ]
    np.testing.assert_allclose(bounds, bounds[0], rtol=1e-9)
    named = VariationalMixedModel(random_slopes=["age"])
    named.fit(pd.DataFrame({"age": x[:, 0]}), y, groups=pd.Series(FRAME["b"], name="site"))
    assert named.term_names_ == ["site"]
    assert list(named.posterior_summary()["name"]) == [
        "intercept",
        "age",
        "sigma2[site, intercept]",
        "sigma2[site, age]",
    ]


def test_wide_posterior_of_a_factorised_fit_is_not_ours():
    """100 groups of 10 counts: the intercept's sd is that of the group means, not of the rows."""
    x, y, groups = poisson_data(0, 100, 10)
    model = VariationalMixedModel().fit(x, y, groups=groups)
    sd = np.sqrt(model.coef_cov_[0, 0])
    conditional = 1 / np.sqrt(np.linalg.inv(model.posterior_covariance())[0, 0])
    assert sd > 3 * conditional
    assert 0.04 < sd < 0.12
    assert norm.cdf(abs(model.intercept_ - 0.5) / sd) < 0.999


def test_covariance_beyond_reach(fitted, monkeypatch):
    model, *_ = fitted
    monkeypatch.setattr("octavo.bayes.mixed_models.estimator.LARGEST_COVARIANCE", 10)
    with pytest.raises(ValueError, match="at most 10"):
        model.posterior_covariance()


def test_border_beyond_reach(monkeypatch):
    monkeypatch.setattr("octavo.bayes.mixed_models.designs.LARGEST_DENSE", 2)
    with pytest.raises(ValueError, match="at most 2"):
        VariationalMixedModel().fit(np.ones((20, 1)), np.ones(20), groups=FRAME)
    with pytest.raises(ValueError, match="Z and X"):
        VariationalMixedModel().fit(np.ones((20, 1)), np.ones(20), Z=sp.csr_array(np.ones((20, 4))))
