"""Algorithm 1 and its extensions against dense references, optimisers and Monte Carlo."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit, gammaln
from scipy.stats import invgamma, invwishart, multivariate_normal, nbinom, norm, poisson
from sklearn.exceptions import ConvergenceWarning

from octavo.bayes import VariationalMixedModel
from tests.bayes.mixed_models.dense_reference import algorithm_1


def poisson_data(seed, n_groups=30, n_each=6, slope=1.0):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), n_each)
    x = rng.random((len(groups), 1))
    u = rng.normal(0, 0.5, n_groups)
    y = rng.poisson(np.exp(0.5 + slope * x[:, 0] + u[groups]))
    return x, y.astype(float), groups


def indicator(groups):
    return np.eye(groups.max() + 1)[groups]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_equal_to_the_printed_algorithm(seed):
    x, y, groups = poisson_data(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    X = np.column_stack([np.ones(len(y)), x])
    mu, Sigma, rate, bounds = algorithm_1(y, X, indicator(groups))
    model = VariationalMixedModel(tol=1e-14).fit(x[order], y[order], groups=groups[order])
    np.testing.assert_allclose(np.r_[model.intercept_, model.coef_], mu[:2], rtol=1e-6)
    np.testing.assert_allclose(model.coef_cov_, Sigma[:2, :2], rtol=1e-6)
    np.testing.assert_allclose(model.ranef_[0], mu[2:], atol=1e-6)
    np.testing.assert_allclose(model.ranef_cov_[0][:, 0, 0], np.diag(Sigma)[2:], rtol=1e-6)
    np.testing.assert_allclose(model.q_sigma2_[:, 0], [0.5 * (30 + 1), rate], rtol=1e-6)
    np.testing.assert_allclose(model.lower_bound_, bounds[-1], rtol=1e-9)
    np.testing.assert_allclose(model.posterior_covariance(), Sigma, rtol=1e-6, atol=1e-8)
    assert (np.diff(model.lower_bounds_) >= 0).all()
    assert model.converged_


def test_short_steps_end_where_long_ones_do():
    x, y, groups = poisson_data(4)
    long, short = (
        VariationalMixedModel(tol=1e-13, max_iter=2000, damping=d).fit(x, y, groups=groups)
        for d in ("auto", 0.2)
    )
    np.testing.assert_allclose(short.lower_bound_, long.lower_bound_, rtol=1e-10)
    np.testing.assert_allclose(short.coef_, long.coef_, rtol=1e-5)
    first = []
    for d in (0.01, 0.1, 0.5):
        with pytest.warns(ConvergenceWarning):
            model = VariationalMixedModel(max_iter=1, damping=d).fit(x, y, groups=groups)
        first.append(model.lower_bounds_[1])
    assert first[0] < first[1] < first[2]


def test_dense_design_equals_the_arrow():
    x, y, groups = poisson_data(3)
    by_group = VariationalMixedModel(tol=1e-13).fit(x, y, groups=groups)
    Z = indicator(groups)
    by_levels = VariationalMixedModel(tol=1e-13).fit(x, y, Z=sp.csr_matrix(Z))
    # A rotation keeps u ~ N(0, sigma^2 I), and makes every row meet every column.
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 30)))[0]
    dense = VariationalMixedModel(tol=1e-13).fit(x, y, Z=Z @ turn)
    for other in (by_levels, dense):
        np.testing.assert_allclose(other.lower_bound_, by_group.lower_bound_, rtol=1e-10)
        np.testing.assert_allclose(other.coef_cov_, by_group.coef_cov_, rtol=1e-5)
    np.testing.assert_allclose(turn @ dense.ranef_[0], by_group.ranef_[0], atol=1e-6)
    np.testing.assert_allclose(
        dense.predict(x, Z=Z @ turn), by_group.predict(x, groups=groups), rtol=1e-6
    )


def monte_carlo_bound(model, x, y, groups, log_lik, n_draws=4000, A=1e5, sigma_beta=1e5):
    """E_q[log p - log q] by draws, for one random intercept; q(a) is integrated exactly."""
    X = np.column_stack([np.ones(len(y)), x])
    K = len(model.levels_[0])
    d = 2 + K
    rng = np.random.default_rng(0)
    cov = model.posterior_covariance()
    mean = np.r_[model.intercept_, model.coef_, model.ranef_[0]]
    q = multivariate_normal(mean, cov, allow_singular=True)
    theta = q.rvs(n_draws, random_state=1)
    shape, rate = model.q_sigma2_[:, 0]
    s2 = invgamma(shape, scale=rate).rvs(n_draws, random_state=2)
    rate_a = shape / rate + A**-2.0
    a = invgamma(1, scale=rate_a).rvs(n_draws, random_state=rng)
    eta = theta[:, :2] @ X.T + theta[:, 2:][:, groups]
    total = log_lik(y, eta).sum(axis=1)
    total += norm(0, sigma_beta).logpdf(theta[:, :2]).sum(axis=1)
    total += -0.5 * K * np.log(2 * np.pi * s2) - 0.5 * (theta[:, 2:] ** 2).sum(axis=1) / s2
    total += invgamma.logpdf(s2, 0.5, scale=1 / a) + invgamma.logpdf(a, 0.5, scale=A**-2.0)
    total -= q.logpdf(theta) + invgamma.logpdf(s2, shape, scale=rate)
    total -= invgamma.logpdf(a, 1, scale=rate_a)
    assert theta.shape[1] == d
    return total.mean(), total.std() / np.sqrt(n_draws)


FAMILIES = {
    "poisson": lambda y, eta: poisson.logpmf(y, np.exp(eta)),
    "binomial": lambda y, eta: y * eta - np.logaddexp(0, eta),
    "negbinomial": lambda y, eta: nbinom.logpmf(y, 2.0, 2.0 / (2.0 + np.exp(eta))),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_bound_is_what_monte_carlo_says(family):
    x, y, groups = poisson_data(4)
    if family == "binomial":
        y = (y > 3).astype(float)
    model = VariationalMixedModel(family, dispersion=0.5, tol=1e-12).fit(x, y, groups=groups)
    mean, error = monte_carlo_bound(model, x, y, groups, FAMILIES[family])
    assert error < 0.15
    assert abs(model.lower_bound_ - mean) < 4 * error


def test_correlated_slopes_bound_is_what_monte_carlo_says():
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(25), 8)
    x = rng.normal(size=(200, 1))
    u = rng.multivariate_normal([0, 0], [[0.3, 0.1], [0.1, 0.2]], 25)
    y = rng.poisson(np.exp(0.3 + 0.5 * x[:, 0] + u[groups, 0] + x[:, 0] * u[groups, 1]))
    model = VariationalMixedModel(random_slopes=[0], A=10.0, tol=1e-13)
    model.fit(x, y, groups=groups)
    state = model._run.state
    component = state.components[0]
    n = 4000
    q = multivariate_normal(
        np.r_[model.intercept_, model.coef_, model.ranef_[0].ravel()], model.posterior_covariance()
    )
    theta = q.rvs(n, random_state=1)
    law = invwishart(component.df, component.scale)
    S = law.rvs(n, random_state=2)
    a = invgamma(2.0, scale=1.0).rvs((n, 2), random_state=3) * component.rate
    eta = theta[:, [0]] + theta[:, [1]] * x[:, 0]
    v = theta[:, 2:].reshape(n, 25, 2)
    eta = eta + v[:, groups, 0] + v[:, groups, 1] * x[:, 0]
    total = poisson.logpmf(y, np.exp(eta)).sum(axis=1)
    total += norm(0, 1e5).logpdf(theta[:, :2]).sum(axis=1)
    P = np.linalg.inv(S)
    total += 0.5 * 25 * (np.linalg.slogdet(P)[1] - 2 * np.log(2 * np.pi))
    total -= 0.5 * np.einsum("nka,nab,nkb->n", v, P, v)
    nu, df0 = 2.0, 3.0  # Huang and Wand: IW(nu + q - 1, 2 nu diag(1/a))
    for i in range(n):
        total[i] += invwishart.logpdf(S[i], df0, 2 * nu * np.diag(1 / a[i]))
        total[i] -= law.logpdf(S[i])
    total += invgamma.logpdf(a, 0.5, scale=10.0**-2).sum(axis=1)
    total -= (invgamma.logpdf(a / component.rate, 2.0) - np.log(component.rate)).sum(axis=1)
    total -= q.logpdf(theta)
    assert total.std() / np.sqrt(n) < 0.15
    assert abs(total.mean() - model.lower_bound_) < 4 * total.std() / np.sqrt(n)
    assert (np.diff(model.lower_bounds_) >= 0).all()


def test_crossed_terms_equal_a_dense_reference():
    """Two crossed terms: the same fixed point as dense matrices give."""
    rng = np.random.default_rng(6)
    n, K, L = 300, 20, 12
    first, second = rng.integers(0, K, n), rng.integers(0, L, n)
    x = rng.normal(size=(n, 2))
    u, v = rng.normal(0, 0.6, K), rng.normal(0, 0.3, L)
    y = rng.poisson(np.exp(0.4 + x @ [0.3, -0.2] + u[first] + v[second])).astype(float)
    labels = {"first": first, "second": second}
    model = VariationalMixedModel(tol=1e-15, max_iter=5000).fit(x, y, groups=labels)
    Z = [np.eye(K)[first], np.eye(L)[second]]
    C = np.column_stack([np.ones(n), x, *Z])
    mu, Sigma = np.zeros(C.shape[1]), 0.01 * np.eye(C.shape[1])
    mu[0] = np.log(y.mean())
    tau, inv_a = [1.0, 1.0], [1.0, 1.0]
    parts = [slice(3, 3 + K), slice(3 + K, 3 + K + L)]
    for _ in range(2000):
        w = np.exp(C @ mu + 0.5 * np.einsum("ij,jk,ik->i", C, Sigma, C))
        M = np.diag(np.r_[np.full(3, 1e-10), np.full(K, tau[0]), np.full(L, tau[1])])
        Sigma = np.linalg.inv((C.T * w) @ C + M)
        mu = mu + Sigma @ (C.T @ (y - w) - M @ mu)
        for r, part in enumerate(parts):
            u2 = mu[part] @ mu[part] + np.trace(Sigma[part, part])
            tau[r] = (part.stop - part.start + 1) / (2 * inv_a[r] + u2)
            inv_a[r] = 1 / (tau[r] + 1e-10)
    np.testing.assert_allclose(np.r_[model.intercept_, model.coef_], mu[:3], rtol=1e-5)
    np.testing.assert_allclose(model.coef_cov_, Sigma[:3, :3], rtol=1e-5)
    for r, part in enumerate(parts):
        np.testing.assert_allclose(model.ranef_[r], mu[part], atol=1e-5)
        shape = model.q_sigma2_[0, r]
        np.testing.assert_allclose(shape / model.q_sigma2_[1, r], tau[r], rtol=1e-4)
    assert model.term_names_ == ["first", "second"]
    predicted, std = model.predict(x, groups=labels, return_std=True)
    v = np.einsum("ij,jk,ik->i", C, Sigma, C)
    np.testing.assert_allclose(predicted, np.exp(C @ mu + v / 2), rtol=1e-5)
    np.testing.assert_allclose(std, predicted * np.sqrt(np.expm1(v)), rtol=1e-4)


def small_bound(parameters, y, X, Z, family, tau, sigma_beta):
    """-(S + ln|Sigma| / 2) for coefficients with known variances, by its own quadrature."""
    C = np.hstack([X, Z])
    d = C.shape[1]
    mu, L = parameters[:d], np.zeros((d, d))
    L[np.tril_indices(d)] = parameters[d:]
    Sigma = L @ L.T
    m, v = C @ mu, np.einsum("ij,jk,ik->i", C, Sigma, C)
    grid = np.linspace(-8, 8, 801)
    weight = norm.pdf(grid) * (grid[1] - grid[0])
    eta = m[:, None] + np.sqrt(v)[:, None] * grid
    S = (FAMILIES[family](y[:, None], eta) @ weight).sum()
    prior = np.r_[np.full(X.shape[1], sigma_beta**-2.0), np.full(Z.shape[1], tau)]
    S -= 0.5 * (prior * (mu**2 + np.diag(Sigma))).sum()
    return -(S + np.log(np.abs(np.diag(L))).sum())


@pytest.mark.parametrize("family", FAMILIES)
def test_fixed_point_is_where_an_optimiser_ends(family):
    """The Gaussian at the end maximises S + ln|Sigma|/2 given the variance it ended with."""
    rng = np.random.default_rng(7)
    groups = np.repeat(np.arange(4), 10)
    x = rng.normal(size=(40, 1))
    y = rng.poisson(np.exp(0.5 + 0.5 * x[:, 0])).astype(float)
    y = (y > 1).astype(float) if family == "binomial" else y
    model = VariationalMixedModel(family, sigma_beta=3.0, A=1.0, dispersion=0.5, tol=1e-15)
    model.set_params(quadrature=60, max_iter=3000).fit(x, y, groups=groups)
    tau = model.q_sigma2_[0, 0] / model.q_sigma2_[1, 0]
    X = np.column_stack([np.ones(40), x])
    mean = np.r_[model.intercept_, model.coef_, model.ranef_[0]]
    cov = model.posterior_covariance()
    start = np.r_[mean + 0.05, np.linalg.cholesky(cov * 1.1)[np.tril_indices(6)]]
    found = minimize(
        small_bound,
        start,
        (y, X, indicator(groups), family, tau, 3.0),
        method="L-BFGS-B",
        options={"maxiter": 500, "ftol": 1e-15, "gtol": 1e-7, "maxfun": 10**5},
    )
    L = np.zeros((6, 6))
    L[np.tril_indices(6)] = found.x[6:]
    np.testing.assert_allclose(mean, found.x[:6], atol=2e-4)
    np.testing.assert_allclose(cov, L @ L.T, atol=2e-4)
    ours = np.r_[mean, np.linalg.cholesky(cov)[np.tril_indices(6)]]
    args = (y, X, indicator(groups), family, tau, 3.0)
    assert small_bound(ours, *args) <= found.fun + 1e-7


def test_gaussian_with_known_limits():
    """Balanced one-way normal data: the closed forms of shrinkage hold at the fitted variances."""
    rng = np.random.default_rng(8)
    groups = np.repeat(np.arange(40), 5)
    y = 3.0 + rng.normal(0, 2.0, 40)[groups] + rng.normal(size=200)
    X = np.zeros((200, 1))
    X[:, 0] = rng.normal(size=200)
    model = VariationalMixedModel("gaussian", tol=1e-14, max_iter=5000).fit(X, y, groups=groups)
    tau = model.q_sigma2_[0, 0] / model.q_sigma2_[1, 0]
    noise = model.q_noise_variance_[0] / model.q_noise_variance_[1]
    Z = np.eye(40)[groups]
    C = np.column_stack([np.ones(200), X, Z])
    prior = np.r_[1e-10, 1e-10, np.full(40, tau)]
    precision = noise * C.T @ C + np.diag(prior)
    exact = np.linalg.solve(precision, noise * C.T @ y)
    np.testing.assert_allclose(model.intercept_, exact[0], rtol=1e-6)
    np.testing.assert_allclose(model.ranef_[0], exact[2:], atol=1e-6)
    np.testing.assert_allclose(model.posterior_covariance(), np.linalg.inv(precision), atol=1e-9)


def test_dispersion_maximises_the_bound():
    rng = np.random.default_rng(9)
    groups = np.repeat(np.arange(30), 10)
    x = rng.normal(size=(300, 1))
    mean = np.exp(1.0 + 0.3 * x[:, 0] + rng.normal(0, 0.4, 30)[groups])
    y = rng.poisson(mean * rng.gamma(2.0, 0.5, 300)).astype(float)
    free = VariationalMixedModel("negbinomial", tol=1e-13).fit(x, y, groups=groups)
    assert 0.25 < free.dispersion_ < 1.0
    for factor in (0.9, 1.1):
        fixed = VariationalMixedModel("negbinomial", dispersion=factor * free.dispersion_)
        assert fixed.fit(x, y, groups=groups).lower_bound_ < free.lower_bound_
    assert (np.diff(free.lower_bounds_) >= 0).all()


def test_a_user_family_equals_the_built_in_one():
    x, y, groups = poisson_data(10)

    def log_likelihood(y, eta):
        return y * eta - np.exp(eta) - gammaln(y + 1), y - np.exp(eta)

    ours = VariationalMixedModel(tol=1e-13).fit(x, y, groups=groups)
    theirs = VariationalMixedModel(log_likelihood, tol=1e-13).fit(x, y, groups=groups)
    np.testing.assert_allclose(theirs.lower_bound_, ours.lower_bound_, rtol=1e-8)
    np.testing.assert_allclose(theirs.coef_cov_, ours.coef_cov_, rtol=1e-5)


def test_steps_are_damped_where_the_bound_would_fall():
    """Few huge counts beside zeros: full steps from the start overshoot."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=(60, 3)) * 20
    y = np.zeros(60)
    y[:3] = [1e4, 3e5, 2e3]
    model = VariationalMixedModel(max_iter=2000, sigma_beta=10.0)
    model.fit(x, y, groups=np.arange(60) % 7)
    assert (np.diff(model.lower_bounds_) >= 0).all()
    assert np.isfinite(model.coef_).all()


def test_logistic_limit_of_no_groups():
    """Without random effects and with many rows the posterior is the maximum-likelihood one."""
    rng = np.random.default_rng(12)
    x = rng.normal(size=(20000, 2))
    y = (rng.random(20000) < expit(0.3 + x @ [1.0, -0.5])).astype(float)
    model = VariationalMixedModel("binomial").fit(x, y)
    X = np.column_stack([np.ones(20000), x])
    beta = np.zeros(3)
    for _ in range(20):
        p = expit(X @ beta)
        beta += np.linalg.solve((X.T * (p * (1 - p))) @ X, X.T @ (y - p))
    np.testing.assert_allclose(np.r_[model.intercept_, model.coef_], beta, atol=1e-3)
    fisher = np.linalg.inv((X.T * (p * (1 - p))) @ X)
    np.testing.assert_allclose(model.coef_cov_, fisher, rtol=1e-2, atol=1e-7)
    assert model.ranef_ == []
    assert model.sigma2_.shape == (0,)


@pytest.mark.parametrize("spread", [1e5, 0.7])
def test_variance_marginal_is_exact_for_a_known_noise(spread):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), 4)
    x = rng.normal(size=(48, 1))
    y = 0.3 + x[:, 0] + rng.normal(0, 0.6, 12)[groups] + rng.normal(size=48)

    def unit_normal(y, eta):
        return -0.5 * (y - eta) ** 2, y - eta

    model = VariationalMixedModel(unit_normal, sigma_beta=10.0, A=spread)
    marginal = model.fit(x, y, groups=groups).variance_marginal()
    X, Z = np.column_stack([np.ones(48), x]), indicator(groups)
    grid = np.exp(np.linspace(-16, 6, 4001))
    covs = np.eye(48) + 100.0 * X @ X.T + grid[:, None, None] * (Z @ Z.T)
    log_density = -0.5 * np.linalg.slogdet(covs)[1] - 0.5 * np.einsum(
        "i,kij,j->k", y, np.linalg.inv(covs), y
    )
    exact = np.exp(log_density - log_density.max()) / (np.sqrt(grid) * (1 + grid / spread**2))
    exact /= np.trapezoid(exact, grid)
    assert np.trapezoid(np.abs(marginal.density(grid) - exact), grid) < 2e-3
    np.testing.assert_allclose(marginal.mean, np.trapezoid(grid * exact, grid), rtol=3e-3)
    shape, rate = model.q_sigma2_[:, 0]
    assert marginal.sd > invgamma(shape, scale=rate).std()


def test_variance_marginal_of_one_of_two_terms():
    rng = np.random.default_rng(1)
    groups = {"a": np.repeat(np.arange(15), 8), "b": np.tile(np.arange(8), 15)}
    x = rng.random((120, 1))
    eta = 1.0 + rng.normal(0, 0.5, 15)[groups["a"]] + rng.normal(0, 0.3, 8)[groups["b"]]
    model = VariationalMixedModel().fit(x, rng.poisson(np.exp(eta)), groups=groups)
    for name, mean in zip(("a", "b"), model.sigma2_):
        marginal = model.variance_marginal(f"sigma2[{name}]")
        assert 0.8 < marginal.mean / mean < 1.6
    with pytest.raises(ValueError, match=r"param must be one of \['sigma2\[a\]', 'sigma2\[b\]'\]"):
        model.variance_marginal("sigma2")
    slopes = VariationalMixedModel(random_slopes=[0]).fit(x, rng.poisson(np.exp(eta)), groups["a"])
    with pytest.raises(ValueError, match="covariance matrix of 2 columns"):
        slopes.variance_marginal()
