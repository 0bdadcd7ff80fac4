"""LatentGaussianModel: exact cases, fixed points, limits, constraints, hyper-parameters, errors."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from octavo.bayes import (
    GaussianPrior,
    LatentGaussianModel,
    ar1,
    icar,
    make_likelihood,
    rw1,
    rw2,
)

EP = ("ep-g", "ep-l", "ep-fact", "ep-1step", "ep-full", "ep-opw")
LAPLACE = ("lm-g", "lm-l", "la-cm", "la-cm2", "la-tk", "la-fact")
Y = {
    "probit": [1, 0, 1, 1],
    "logit": [-1, 1, 1, -1],
    "step": [1, 1, 0, 1],
    "poisson": [0, 3, 1, 8],
    "binomial": [0, 1, 1, 0],
    "negative-binomial": [0, 3, 1, 8],
    "student-t": [0.3, -1.0, 6.0, 0.2],
    "laplace": [0.3, -1.0, 2.0, 0.2],
    "stochastic-volatility": [0.1, 1.0, -2.0, 0.5],
    "exponential": [0.1, 1.0, 3.0, 0.5],
    "weibull": [0.1, 1.0, 3.0, 0.5],
    "gaussian": [0.3, -1.0, 2.0, 0.2],
}


def random_covariance(n, seed=0):
    B = np.random.default_rng(seed).standard_normal((n, n + 1))
    return B @ B.T / n + 0.3 * np.eye(n)


# --- exact cases ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["precision", "covariance"])
@pytest.mark.parametrize("method", ["ep", "laplace"])
def test_gaussian_likelihood_is_exact_in_one_pass(form, method):
    n, m, v = 6, 8, 0.4
    rng = np.random.default_rng(1)
    K, mean, A = random_covariance(n), rng.standard_normal(n), rng.standard_normal((m, n))
    y = rng.standard_normal(m)
    matrix = K if form == "covariance" else np.linalg.inv(K)
    prior = GaussianPrior(**{form: matrix, "mean": mean})
    model = LatentGaussianModel(
        make_likelihood("gaussian", variance=v), prior=prior, method=method
    ).fit(y, A)
    S = A @ K @ A.T + v * np.eye(m)
    assert model.log_evidence_ == pytest.approx(
        stats.multivariate_normal.logpdf(y, A @ mean, S), abs=1e-8
    )
    gain = K @ A.T @ np.linalg.inv(S)
    assert np.allclose(model.mean_, mean + gain @ (y - A @ mean), atol=1e-8)
    V = K - gain @ A @ K
    assert np.allclose(model.var_, np.diag(V), atol=1e-8)
    assert np.allclose(np.linalg.inv(model.precision_.toarray()), V, atol=1e-7)
    # EP stops in its first pass; Newton needs a second to see that the first was exact.
    assert model.n_iter_ <= (1 if method == "ep" else 2)
    for name in EP if method == "ep" else LAPLACE:
        marginal = model.marginal(2, name)
        assert marginal.mean == pytest.approx(model.mean_[2], abs=1e-6)
        assert marginal.sd == pytest.approx(np.sqrt(V[2, 2]), rel=1e-4)  # grid of ±5 sd or more


@pytest.mark.parametrize("name", [n for n in Y if n != "binomial"])
def test_one_latent_ep_local_is_exact(name):
    family = make_likelihood(name)
    y = np.array(Y[name][:1], dtype=float)
    model = LatentGaussianModel(name, prior=[[0.5]]).fit(y)
    terms = family.bind(y)

    def density(x):
        return np.exp(terms.log_density(np.array([x]))[0]) * stats.norm.pdf(x, 0, np.sqrt(2))

    kinks = [0.0, float(y[0])]
    parts = [
        integrate.quad(lambda x, k=k: density(x) * x**k, -20, 20, points=kinks, limit=400)[0]
        for k in range(3)
    ]
    # With one term EP's evidence and moments are those of the tilted density: exact.
    assert model.log_evidence_ == pytest.approx(np.log(parts[0]), abs=1e-6)
    mean = parts[1] / parts[0]
    sd = np.sqrt(parts[2] / parts[0] - mean**2)
    assert model.mean_[0] == pytest.approx(mean, abs=1e-5 * sd)
    marginal = model.marginal(0, "ep-l")
    assert marginal.mean == pytest.approx(mean, abs=2e-3 * sd)
    x = np.linspace(mean - 3 * sd, mean + 3 * sd, 50)
    x = x[(abs(x) > 1e-3 * sd) & (abs(x - y[0]) > 1e-2 * sd)]
    true = np.array([density(s) for s in x]) / parts[0]
    assert abs(marginal.density(x) - true).max() < 5e-3 / sd


@pytest.mark.parametrize("name", ["probit", "poisson", "student-t", "laplace", "step"])
def test_two_latents_factorised_correction_is_exact(name):
    K = np.array([[1.0, 0.7], [0.7, 1.5]])
    y = np.array(Y[name][:2], dtype=float)
    model = LatentGaussianModel(name, prior=GaussianPrior(covariance=K)).fit(y)
    terms = make_likelihood(name).bind(y)
    grid = np.linspace(-12, 12, 2401) + 1e-7
    one, two = np.meshgrid(grid, grid, indexing="ij")
    pairs = np.stack([one, two], axis=-1)
    log = terms.log_density(pairs).sum(axis=-1)
    log += stats.multivariate_normal.logpdf(pairs, np.zeros(2), K)
    p = np.exp(log - log.max()).sum(axis=1)
    p /= np.trapezoid(p, grid)
    marginal = model.marginal(0, "ep-fact")
    found = 0.5 * np.trapezoid(abs(marginal.density(grid) - p), grid)
    # The spline of the correction and the two grids; EP-L is off by far more.
    local = 0.5 * np.trapezoid(abs(model.marginal(0, "ep-l").density(grid) - p), grid)
    assert found < 3e-3
    assert found < local


def test_independent_latents_need_no_correction_from_others():
    y = [1, 0, 1, 1]
    model = LatentGaussianModel("probit", prior=2.0 * np.eye(4)).fit(y)
    x = np.linspace(-4, 4, 401)
    p = stats.norm.cdf(x) * stats.norm.pdf(x, 0, np.sqrt(0.5))
    p /= np.trapezoid(p, x)
    for name in ("ep-l", "ep-fact", "ep-1step"):
        assert abs(model.marginal(0, name).density(x) - p).max() < 1e-4


# --- fixed points and limits ------------------------------------------------------------------


@pytest.mark.parametrize("name", Y)
@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_ep_is_stationary(name, alpha):
    K = random_covariance(4)
    model = LatentGaussianModel(name, prior=GaussianPrior(covariance=K), alpha=alpha).fit(Y[name])
    assert model.converged_
    h, q = model.site_params_
    cavity = 1 / (1 / model.var_ - alpha * q)
    mean = cavity * (model.mean_ / model.var_ - alpha * h)
    tilted = make_likelihood(name).bind(Y[name]).tilted(mean, cavity, alpha)
    assert abs(tilted.mean - model.mean_).max() < 1e-5
    assert abs(tilted.variance - model.var_).max() < 1e-5


def test_evidence_gradient_is_a_difference():
    """At EP's fixed point the derivative with respect to the prior sees the sites as constants."""
    K = random_covariance(4)
    D = np.diag([1.0, 0.5, 0.2, 0.1])
    fits = [
        LatentGaussianModel("probit", prior=GaussianPrior(covariance=K + s * D), tol=1e-10).fit(
            Y["probit"]
        )
        for s in (-1e-4, 0.0, 1e-4)
    ]
    h, q = fits[1].site_params_
    inner = np.linalg.inv(K + np.diag(1 / q))
    weights = h - q * fits[1].mean_
    gradient = 0.5 * np.sum((np.outer(weights, weights) - inner) * D)
    difference = (fits[2].log_evidence_ - fits[0].log_evidence_) / 2e-4
    assert gradient == pytest.approx(difference, rel=1e-5)


def test_small_power_approaches_the_variational_gaussian():
    K = random_covariance(3)
    y = [0, 3, 1]
    terms = make_likelihood("poisson").bind(y)
    gaps = []
    for alpha in (1.0, 0.3, 0.03):
        model = LatentGaussianModel("poisson", prior=GaussianPrior(covariance=K), alpha=alpha)
        model.fit(y)
        _, first, second = terms.expected(model.mean_, model.var_)
        # Opper and Archambeau: K⁻¹ m = E[f'], V⁻¹ = K⁻¹ - diag E[f''].
        V = np.linalg.inv(np.linalg.inv(K) - np.diag(second))
        gaps.append(abs(model.mean_ - K @ first).max() + abs(model.var_ - np.diag(V)).max())
    assert gaps[2] < 0.1 * gaps[0]


def test_bounds_hold_and_the_factorised_correction_lies_between():
    v, c = 1.0, 0.5
    K = v * ((1 - c) * np.eye(3) + c)
    model = LatentGaussianModel("probit", prior=GaussianPrior(covariance=K)).fit([1, 1, 1])
    bounds = model.bounds(0)
    node = model._nodes[0]
    correction = model._correction(node, np.eye(3)[0], True)
    scale = correction.own_log_masses()[1].sum()
    fact = np.exp(correction.fact(bounds.x) - scale)
    V = np.linalg.inv(model.precision_.toarray())
    rng = np.random.default_rng(0)
    z = rng.standard_normal((200_000, 2))
    for k, x in enumerate(bounds.x):
        mean = model.mean_[1:] + V[1:, 0] / V[0, 0] * (x - model.mean_[0])
        S = V[1:, 1:] - np.outer(V[1:, 0], V[0, 1:]) / V[0, 0]
        u = mean + z @ np.linalg.cholesky(S).T
        log_eps = correction.log_eps(correction.other_terms, u, correction.others).sum(axis=1)
        draws = np.exp(log_eps - scale)
        error = 4 * draws.std() / np.sqrt(len(draws))
        assert bounds.lower[k] <= draws.mean() + error
        assert bounds.upper[k] >= draws.mean() - error
        assert bounds.lower[k] <= fact[k] * (1 + 1e-9)
        assert fact[k] <= bounds.upper[k] * (1 + 1e-9)


# --- linear combinations, constraints, missing data -------------------------------------------


def test_terms_on_combinations_against_brute_force():
    A = np.array([[1.0, -1.0], [0.5, 2.0], [1.0, 0.0]])
    y = np.array([1.0, 0.0, 1.0])
    model = LatentGaussianModel("probit", prior=np.diag([0.5, 0.8])).fit(y, A)
    grid = np.linspace(-9, 9, 1201)
    pairs = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1)
    log = make_likelihood("probit").bind(y).log_density(pairs @ A.T).sum(axis=-1)
    log -= 0.5 * (0.5 * pairs[..., 0] ** 2 + 0.8 * pairs[..., 1] ** 2)
    p = np.exp(log)
    step = grid[1] - grid[0]
    log_z = np.log(p.sum() * step**2 * np.sqrt(0.5 * 0.8) / (2 * np.pi))
    assert model.log_evidence_ == pytest.approx(log_z, abs=0.02)
    for i, axis in ((0, 1), (1, 0)):
        q = p.sum(axis=axis) / p.sum() / step
        error = {
            name: 0.5 * np.trapezoid(abs(model.marginal(i, name).density(grid) - q), grid)
            for name in ("ep-g", "ep-fact", "ep-1step")
        }
        assert error["ep-fact"] < 0.5 * error["ep-g"]
        assert error["ep-1step"] < 0.5 * error["ep-g"]


@pytest.mark.parametrize("form", ["precision", "covariance"])
def test_constraints_hold_and_equal_a_reduced_model(form):
    K = random_covariance(4)
    C, b = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 0.0, 0.0]]), np.array([0.0, 0.3])
    matrix = K if form == "covariance" else np.linalg.inv(K)
    y = [1, 3, 0, 2]
    model = LatentGaussianModel(
        "poisson", prior=GaussianPrior(**{form: matrix}), constraints=(C, b)
    ).fit(y)
    assert np.allclose(C @ model.mean_, b, atol=1e-10)
    draws = model.sample(5, random_state=0)
    assert np.allclose(draws @ C.T, b, atol=1e-8)
    # x = x0 + N z parametrises what the constraints allow; its prior is the conditional one.
    gain = K @ C.T @ np.linalg.inv(C @ K @ C.T)
    mean, V = gain @ b, K - gain @ C @ K
    values, vectors = np.linalg.eigh(V)
    root = vectors[:, -2:] * np.sqrt(values[-2:])
    reduced = LatentGaussianModel("poisson", prior=np.eye(2))
    shifted = make_likelihood(lambda y, u: y * (u + mean) - np.exp(u + mean))
    reduced.set_params(likelihood=shifted).fit(y, root)
    assert np.allclose(model.mean_, mean + root @ reduced.mean_, atol=1e-5)
    V_reduced = root @ np.linalg.inv(reduced.precision_.toarray()) @ root.T
    assert np.allclose(model.var_, np.diag(V_reduced), atol=1e-5)
    constant = -np.sum([np.log(np.prod(np.arange(1, k + 1))) for k in y])
    assert model.log_evidence_ == pytest.approx(reduced.log_evidence_ + constant, abs=1e-4)


def test_family_of_corrections_by_plain_quadrature():
    V = 2.0 * (0.3 * np.eye(4) + 0.7)
    prior = GaussianPrior(covariance=V)
    model = LatentGaussianModel("logit", prior=prior, tol=1e-10).fit([1, 1, 0, 1])
    alphas = [0.0, 0.3, 1.0, 2.0, 3.0]
    family = model.correction_family(0, alphas)
    h, q = model.site_params_
    S = np.linalg.inv(np.linalg.inv(V) + np.diag(q))
    m = S @ h
    u = np.linspace(-14, 14, 4001)
    expected = np.ones((5, family.x.size))
    for j in (1, 2, 3):
        sign = 1.0 if j != 2 else -1.0
        log_eps = -np.logaddexp(0.0, -sign * u) - h[j] * u + 0.5 * q[j] * u**2
        log_eps -= np.log(
            np.trapezoid(stats.norm(m[j], np.sqrt(S[j, j])).pdf(u) * np.exp(log_eps), u)
        )
        sd = np.sqrt(S[j, j] - S[0, j] ** 2 / S[0, 0])
        for k, x in enumerate(family.x):
            density = stats.norm(m[j] + S[0, j] / S[0, 0] * (x - m[0]), sd).pdf(u)
            for row, alpha in enumerate(alphas):
                if alpha:
                    value = np.trapezoid(density * np.exp(alpha * log_eps), u) ** (1 / alpha)
                else:
                    value = np.exp(np.trapezoid(density * log_eps, u))
                expected[row, k] *= value
    np.testing.assert_allclose(family.values, expected, rtol=1e-4)
    assert (np.diff(family.values, axis=0) > -1e-9).all()
    bounds = model.bounds(0)
    np.testing.assert_allclose(family.values[[0, -1]], [bounds.lower, bounds.upper])
    with pytest.raises(ValueError, match="alphas should be numbers that are not negative"):
        model.correction_family(0, [-1.0])


@pytest.mark.parametrize("build", [lambda: rw1(7), lambda: rw2(7)])
def test_improper_priors_have_the_generalised_determinant(build):
    Q, v = build().toarray(), 0.3
    y = np.array([1.0, 2.0, 1.5, 3.0, 2.0, 4.0, 3.5])
    model = LatentGaussianModel(make_likelihood("gaussian", variance=v), prior=Q).fit(y)
    values = np.linalg.eigvalsh(Q)
    kept = values[values > 1e-9]
    P = Q + np.eye(7) / v
    m = np.linalg.solve(P, y / v)
    log_z = 0.5 * np.log(kept).sum() - 0.5 * kept.size * np.log(2 * np.pi)
    log_z += 3.5 * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(P)[1] + 0.5 * m @ (y / v)
    log_z += -0.5 * y @ y / v - 3.5 * np.log(2 * np.pi * v)
    assert model.log_evidence_ == pytest.approx(log_z, abs=1e-8)
    assert np.allclose(model.mean_, m, atol=1e-8)


def test_improper_prior_made_proper_by_a_constraint():
    ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
    Q, v = icar(ring).toarray(), 0.5
    y = np.array([1.0, 2.0, np.nan, 3.0, -2.0, 0.5])
    model = LatentGaussianModel(
        make_likelihood("gaussian", variance=v), prior=Q, constraints=(np.ones((1, 6)), [0.0])
    ).fit(y)
    K = np.linalg.pinv(Q)  # the covariance of the field that sums to zero
    keep = np.flatnonzero(~np.isnan(y))
    S = K[np.ix_(keep, keep)] + v * np.eye(5)
    exact = stats.multivariate_normal.logpdf(y[keep], np.zeros(5), S)
    assert model.log_evidence_ == pytest.approx(exact, abs=1e-8)
    assert np.allclose(model.mean_, K[:, keep] @ np.linalg.solve(S, y[keep]), atol=1e-8)


@pytest.mark.parametrize("method", ["ep", "laplace"])
@pytest.mark.parametrize("rows", [[], [0, 1], [0, 1, 2, 3]])
def test_constraints_fix_what_data_leave_free(method, rows):
    # Two rings: nothing but the sum of each fixes its level, as the data are differences.
    ring = np.roll(np.eye(4), 1, axis=0) + np.roll(np.eye(4), -1, axis=0)
    Q, v = icar(np.kron(np.eye(2), ring)).toarray(), 0.5
    C, b = np.kron(np.eye(2), np.ones((1, 4))), np.array([0.0, 2.0])
    A = np.diff(np.eye(8), axis=0)[[0, 1, 4, 6]]
    y = np.full(4, np.nan)
    y[rows] = np.array([0.3, -1.0, 0.8, 0.2])[rows]
    model = LatentGaussianModel(
        make_likelihood("gaussian", variance=v), prior=Q, constraints=(C, b), method=method
    ).fit(y, A=A)
    m, K = C.T @ b / 4, np.linalg.pinv(Q)
    S = A[rows] @ K @ A[rows].T + v * np.eye(len(rows))
    gain = K @ A[rows].T @ np.linalg.inv(S)
    mean, cov = m + gain @ (y[rows] - A[rows] @ m), K - gain @ A[rows] @ K
    assert np.allclose(model.mean_, mean, atol=1e-8)
    assert np.allclose(model.var_, np.diag(cov), atol=1e-8)
    if rows:
        exact = stats.multivariate_normal.logpdf(y[rows], A[rows] @ m, S)
        assert model.log_evidence_ == pytest.approx(exact, abs=1e-8)
    else:
        assert model.log_evidence_ == pytest.approx(0.0, abs=1e-8)
    draws = model.sample(40_000, random_state=0)
    assert np.allclose(draws @ C.T, b, atol=1e-8)
    assert np.abs(np.cov(draws.T) - cov).max() < 0.03
    assert np.abs(draws.mean(axis=0) - mean).max() < 0.02
    new = model.predict(np.eye(8)[:1])
    assert new.sd[0] == pytest.approx(np.sqrt(cov[0, 0]), abs=1e-6)
    assert model.marginal(0).sd == pytest.approx(np.sqrt(cov[0, 0]), rel=1e-3)


def test_missing_observations_are_no_terms():
    y = np.array([1.0, np.nan, 3.0, 0.0])
    Q = ar1(4, 0.8)
    a = LatentGaussianModel("poisson", prior=Q).fit(y)
    b = LatentGaussianModel("poisson", prior=Q).fit(y[[0, 2, 3]], np.eye(4)[[0, 2, 3]])
    assert np.allclose(a.mean_, b.mean_)
    assert a.log_evidence_ == pytest.approx(b.log_evidence_)
    assert a.site_params_[0].shape == (3,)


def test_exposure_and_trials():
    Q = ar1(3, 0.5)
    a = LatentGaussianModel("poisson", prior=Q).fit([1, 2, 3], exposure=[2.0, 2.0, 2.0])
    shifted = make_likelihood(lambda y, x: y * x - 2.0 * np.exp(x))
    b = LatentGaussianModel(shifted, prior=Q).fit([1, 2, 3])
    assert np.allclose(a.mean_, b.mean_, atol=1e-5)
    c = LatentGaussianModel("binomial", prior=Q).fit([1, 0, 1], n_trials=[1, 1, 1])
    d = LatentGaussianModel("logit", prior=Q).fit([1, 0, 1])
    assert np.allclose(c.mean_, d.mean_, atol=1e-5)


def test_pair_is_a_linear_part():
    Q, h = np.diag([2.0, 3.0]), np.array([1.0, -1.0])
    a = LatentGaussianModel("probit", prior=(Q, h)).fit([1, 0])
    b = LatentGaussianModel("probit", prior=GaussianPrior(Q, mean=np.linalg.solve(Q, h)))
    b.fit([1, 0])
    assert np.allclose(a.mean_, b.mean_)
    assert a.log_evidence_ == pytest.approx(b.log_evidence_)


@settings(max_examples=10, deadline=None)
@given(st.permutations(list(range(5))), st.integers(0, 100))
def test_permuting_latents_permutes_the_posterior(order, seed):
    order = np.array(order)
    K = random_covariance(5, seed)
    y = np.array([1, 0, 1, 1, 0])
    a = LatentGaussianModel("probit", prior=GaussianPrior(covariance=K)).fit(y)
    b = LatentGaussianModel("probit", prior=GaussianPrior(covariance=K[np.ix_(order, order)]))
    b.fit(y[order])
    assert np.allclose(a.mean_[order], b.mean_, atol=1e-6)
    assert a.log_evidence_ == pytest.approx(b.log_evidence_, abs=1e-7)


# --- hyper-parameters -------------------------------------------------------------------------


def hyper_model(**options):
    return LatentGaussianModel(
        make_likelihood("gaussian", variance=0.5),
        prior=lambda theta: np.exp(theta[0]) * np.eye(40),
        hyperprior=lambda theta: -0.5 * float(theta[0]) ** 2 / 4.0,
        theta0=[0.5],
        **options,
    )


def test_hyper_parameters_of_a_gaussian_model():
    y = np.random.default_rng(0).standard_normal(40) * 1.2
    model = hyper_model().fit(y)

    def log_posterior(t):
        v = np.exp(-t) + 0.5
        return stats.norm.logpdf(y[:, None], 0, np.sqrt(v)).sum(axis=0) - t**2 / 8

    t = np.linspace(-6, 8, 4001)
    log_p = log_posterior(t)
    p = np.exp(log_p - log_p.max())
    log_z = np.log(np.trapezoid(p, t)) + log_p.max()
    p /= np.trapezoid(p, t)
    assert model.theta_mode_[0] == pytest.approx(t[p.argmax()], abs=0.02)
    # A grid of unit steps integrates a smooth unimodal density to about a per cent.
    assert model.log_evidence_ == pytest.approx(log_z, abs=0.03)
    marginal = model.hyper_marginal(0)
    assert 0.5 * np.trapezoid(abs(marginal.density(t) - p), t) < 0.03
    assert model.theta_weights_.sum() == pytest.approx(1.0)
    shrink = 1 / (1 + 0.5 * np.exp(t))
    assert np.allclose(model.mean_, np.trapezoid(shrink * p, t) * y, rtol=0.03)
    # The marginal of a latent is the mixture over theta.
    x = np.linspace(-5, 5, 301)
    exact = np.trapezoid(
        stats.norm.pdf(x[:, None], shrink * y[3], np.sqrt(0.5 * shrink)) * p, t, axis=1
    )
    assert 0.5 * np.trapezoid(abs(model.marginal(3).density(x) - exact), x) < 0.03


def test_likelihood_of_theta():
    y = np.random.default_rng(0).standard_normal(30) * 2.0
    model = LatentGaussianModel(
        lambda theta: make_likelihood("gaussian", variance=np.exp(theta[0])),
        prior=4.0 * np.eye(30),
        theta0=[0.0],
    ).fit(y)
    assert model.theta_mode_[0] == pytest.approx(np.log(np.mean(y**2) - 0.25), abs=0.02)


def test_samples_have_the_posterior_moments():
    model = LatentGaussianModel("poisson", prior=ar1(5, 0.7)).fit([1, 0, 4, 2, 1])
    draws = model.sample(40_000, random_state=0)
    assert draws.shape == (40_000, 5)
    error = 4 * np.sqrt(model.var_ / 40_000)
    assert (abs(draws.mean(axis=0) - model.mean_) < error).all()
    assert np.allclose(draws.var(axis=0), model.var_, rtol=0.05)


def test_predictions_of_combinations():
    model = LatentGaussianModel("probit", prior=ar1(4, 0.9)).fit([1, 1, 0, 1])
    A = np.array([[1.0, 0, 0, 0], [0.5, 0.5, 0, -1.0]])
    found = model.predict(sp.csr_array(A))
    V = np.linalg.inv(model.precision_.toarray())
    assert np.allclose(found.mean, A @ model.mean_)
    assert np.allclose(found.sd, np.sqrt(np.diag(A @ V @ A.T)))
    same = model.marginal(0)
    assert np.allclose(found.marginals[0].pdf, same.pdf)
    assert found.marginals[1].sd == pytest.approx(found.sd[1], rel=0.1)


def test_marginals_is_a_word_and_a_call():
    model = LatentGaussianModel("probit", prior=np.eye(3)).fit([1, 0, 1])
    assert model.get_params()["marginals"] == "ep-fact"
    assert [round(m.mean, 6) for m in model.marginals([0, 1])] == [
        round(model.marginal(i).mean, 6) for i in (0, 1)
    ]
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.marginals([2])[0].mean == pytest.approx(model.marginal(2).mean)
    assert type(clone(model).marginals) is str


def test_not_converged_warns_with_its_residual():
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 iterations: its residual"):
        LatentGaussianModel("probit", prior=0.1 * np.eye(3), max_iter=1).fit([1, 0, 1])


# --- bad input --------------------------------------------------------------------------------

BAD = {
    "asymmetric": ({"prior": [[1.0, 0.5], [0.0, 1.0]]}, {}, r"symmetric matrix, got 0.5 at \(0, 1"),
    "indefinite": ({"prior": [[1.0, 2.0], [2.0, 1.0]]}, {}, "indefinite matrix"),
    "negative covariance": (
        {"prior": GaussianPrior(covariance=[[1.0, 2.0], [2.0, 1.0]])},
        {},
        "positive semi-definite, got one whose smallest",
    ),
    "three labels": ({}, {"y": [0, 2]}, "labels 0 and 1, or -1 and .1, got 2 in row 1"),
    "negative counts": ({"likelihood": "poisson"}, {"y": [-1, 0]}, "got -1 in row 0"),
    "half counts": ({"likelihood": "poisson"}, {"y": [0.5, 0]}, "got 0.5 in row 0"),
    "wide A": ({}, {"A": np.eye(3)[:2]}, r"A should have one column per latent \(2\), got 3"),
    "long A": ({}, {"A": np.eye(3)[:, :2]}, r"one row per observation \(2\), got 3"),
    "contradiction": (
        {"constraints": (np.ones((2, 2)), [0.0, 1.0])},
        {},
        "constraints contradict each other",
    ),
    "alpha": ({"alpha": 0.0}, {}, "'alpha'"),
    "alpha above": ({"alpha": 1.5}, {}, "'alpha'"),
    "laplace for step": ({"likelihood": "step", "method": "laplace"}, {}, "needs two derivatives"),
    "laplace squared": ({"likelihood": "laplace", "method": "laplace"}, {}, "two derivatives"),
    "precision of another shape": (
        {"prior": np.eye(3)[:2]},
        {"y": [0, 1, 1]},
        r"precision should be a square matrix, got shape \(2, 3\)",
    ),
    "improper": ({"prior": rw1(2)}, {"y": [np.nan, np.nan]}, "improper in 1 direction"),
    "improper rw2": ({"prior": rw2(4)}, {"y": [1, np.nan, np.nan, np.nan]}, "neither data nor"),
    "unknown": ({"likelihood": "cauchy"}, {}, "likelihood should be one of"),
    "marginals": ({"marginals": "la-cm"}, {}, "does not go with method='ep'"),
    "length": ({}, {"y": [1, 0, 1]}, r"one entry per latent \(2\)"),
    "no theta0": ({"prior": lambda theta: np.eye(2)}, {}, "theta0 is needed"),
    "exposure": ({}, {"exposure": [1.0, 1.0]}, "exposure means nothing"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    parameters, data, sentence = BAD[case]
    model = LatentGaussianModel(**{"prior": np.eye(2), **parameters})
    data = {"y": [1, 0], **data}
    with pytest.raises(ValueError, match=sentence):
        model.fit(data.pop("y"), data.pop("A", None), **data)


def test_marginals_of_the_other_method_are_refused():
    model = LatentGaussianModel("probit", prior=np.eye(2), method="laplace").fit([1, 0])
    with pytest.raises(ValueError, match="'ep-fact' does not go with method='laplace'"):
        model.marginal(0, "ep-fact")
    with pytest.raises(ValueError, match="method should be one of"):
        model.marginal(0, "magic")
    with pytest.raises(ValueError, match="below the number of latents, 2, got 7"):
        model.marginal(7)


def test_one_class_is_legal():
    model = LatentGaussianModel("probit", prior=np.eye(3)).fit([1, 1, 1])
    assert (model.mean_ > 0).all()
    other = LatentGaussianModel("probit", prior=np.eye(3)).fit([0, 0, 0])
    assert np.allclose(other.mean_, -model.mean_)
