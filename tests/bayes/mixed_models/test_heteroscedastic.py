"""The heteroscedastic additive model: updates, bound, curves, bad input."""

import numpy as np
import pytest
from scipy.stats import invgamma, multivariate_normal, norm

from octavo.bayes import HeteroscedasticAdditiveRegressor
from octavo.bayes.mixed_models import mean_and_variance as mv


def curve(seed=0, n=300):
    rng = np.random.default_rng(seed)
    x = rng.random((n, 1))
    y = np.sin(6 * x[:, 0]) + np.exp(2 * x[:, 0] - 2.5) * rng.normal(size=n)
    return x, y


def test_the_bound_never_falls_and_ends_where_its_gradient_vanishes():
    x, y = curve()
    model = HeteroscedasticAdditiveRegressor(n_basis=6, tol=1e-15, max_iter=3000).fit(x, y)
    assert (np.diff(model.lower_bounds_) >= 0).all()
    S = (x - x.mean()) / x.std()
    s = (y - y.mean()) / y.std()
    C = model._columns(S, [0])
    halves = dict(model._halves)

    def value(which, mean, cov):
        """S + ln|Sigma| / 2 of one half, everything else as it ended."""
        moved = {}
        for name, half in halves.items():
            solution = (mean, cov) if name == which else half.solution
            m = C.matrix @ solution[0]
            v = np.einsum("ij,jk,ik->i", C.matrix, solution[1], C.matrix)
            moved[name] = (m, v)
        w = np.exp(-moved["sd"][0] + 0.5 * moved["sd"][1])
        r = (s - moved["mean"][0]) ** 2 + moved["mean"][1]
        prior = mv.prior_precision(C, halves[which].components, 1e5)
        total = -0.5 * (moved["sd"][0] + r * w).sum()
        total -= 0.5 * (prior * (mean**2 + np.diag(cov))).sum()
        return total + 0.5 * np.linalg.slogdet(cov)[1]

    rng = np.random.default_rng(1)
    for which, half in halves.items():
        mean, cov = half.solution
        scale = np.sqrt(np.diag(cov))
        for _ in range(5):
            step = rng.normal(size=len(mean)) * scale
            h = 1e-3
            slope = (value(which, mean + h * step, cov) - value(which, mean - h * step, cov)) / (
                2 * h
            )
            assert abs(slope) < 1e-3
            half_step = rng.normal(size=cov.shape) * 0.1
            turn = np.linalg.cholesky(cov) @ (half_step + half_step.T)
            turn = turn @ np.linalg.cholesky(cov).T
            slope = (value(which, mean, cov + h * turn) - value(which, mean, cov - h * turn)) / (
                2 * h
            )
            assert abs(slope) < 1e-3


def test_the_bound_is_what_monte_carlo_says():
    x, y = curve(2, 120)
    model = HeteroscedasticAdditiveRegressor(n_basis=5, A=10.0, sigma_beta=10.0, tol=1e-12)
    model.fit(x, y)
    S, s = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    C = model._columns(S, [0]).matrix
    n = 6000
    total = np.zeros(n)
    eta = {}
    for seed, (name, half) in enumerate(model._halves.items()):
        q = multivariate_normal(half.solution.mean, half.solution.cov)
        theta = q.rvs(n, random_state=seed)
        (component,) = half.components
        shape, rate = component.inverse_gammas[:, 0]
        s2 = invgamma(shape, scale=rate).rvs(n, random_state=10 + seed)
        a = invgamma(1, scale=component.rate[0]).rvs(n, random_state=20 + seed)
        total += norm(0, 10).logpdf(theta[:, :2]).sum(axis=1)
        total += norm.logpdf(theta[:, 2:], 0, np.sqrt(s2)[:, None]).sum(axis=1)
        total += invgamma.logpdf(s2, 0.5, scale=1 / a) + invgamma.logpdf(a, 0.5, scale=0.01)
        total -= q.logpdf(theta) + invgamma.logpdf(s2, shape, scale=rate)
        total -= invgamma.logpdf(a, 1, scale=component.rate[0])
        eta[name] = theta @ C.T
    total += norm.logpdf(s, eta["mean"], np.exp(0.5 * eta["sd"])).sum(axis=1)
    error = total.std() / np.sqrt(n)
    assert error < 0.1
    assert abs(total.mean() - model.lower_bound_) < 4 * error


def test_curves_and_intervals_find_the_truth():
    x, y = curve(3, 2000)
    model = HeteroscedasticAdditiveRegressor().fit(x, y)
    grid = np.linspace(0.05, 0.95, 50)
    _, mean, low, high = model.partial_effect(0, grid=grid)
    truth = np.sin(6 * grid)
    assert ((low < truth) & (truth < high)).mean() > 0.7
    assert np.abs(mean - truth).max() < 0.25
    _, sd, low, high = model.partial_effect(0, "sd", grid)
    truth = np.exp(2 * grid - 2.5)
    assert ((low < truth) & (truth < high)).mean() > 0.7
    x, y = curve(4, 5000)
    low, high = model.predict_interval(x, 0.9)
    assert abs(((low < y) & (y < high)).mean() - 0.9) < 0.02
    predicted, std = model.predict(x, return_std=True)
    np.testing.assert_allclose(0.5 * (low + high), predicted, atol=1e-9)
    assert (0.5 * (high - low) < 1.645 * std * 1.05).all()


def test_units_do_not_matter():
    x, y = curve(5)
    one = HeteroscedasticAdditiveRegressor(n_basis=8).fit(x, y)
    other = HeteroscedasticAdditiveRegressor(n_basis=8).fit(1e4 * x - 7, 300 * y + 5)
    mean, std = one.predict(x, return_std=True)
    mean_other, std_other = other.predict(1e4 * x - 7, return_std=True)
    np.testing.assert_allclose(mean_other, 300 * mean + 5, rtol=1e-5)
    np.testing.assert_allclose(std_other, 300 * std, rtol=1e-5)


def test_lines_only():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(500, 2))
    y = X @ [1.0, -2.0] + np.exp(0.5 * X[:, 0]) * rng.normal(size=500)
    model = HeteroscedasticAdditiveRegressor(smooth=[], smooth_variance=[]).fit(X, y)
    assert model.mean_.shape == (3,)
    slope = model.variance_mean_[1] / X[:, 0].std()
    assert abs(slope - 1.0) < 0.2


@pytest.mark.parametrize("wrong", [[3], ["a"], [-1], [None]])
def test_unknown_features(wrong):
    x, y = curve(7, 30)
    with pytest.raises(ValueError, match="smooth must hold names or places"):
        HeteroscedasticAdditiveRegressor(smooth=wrong).fit(x, y)


def test_bad_words():
    x, y = curve(8, 60)
    model = HeteroscedasticAdditiveRegressor(n_basis=4).fit(x, y)
    with pytest.raises(ValueError, match="which must be"):
        model.partial_effect(0, "variance")
    with pytest.raises(ValueError, match="level must lie"):
        model.predict_interval(x, 1.5)
    with pytest.raises(ValueError, match="level must lie"):
        model.partial_effect(0, level=0)
