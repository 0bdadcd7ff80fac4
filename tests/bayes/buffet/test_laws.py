"""The prior, the samplers and the bounds against enumeration, quadrature and closed forms."""

import itertools
import warnings

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from numpy.testing import assert_allclose
from scipy.special import betaln, digamma, logsumexp
from scipy.stats import multivariate_normal, poisson

from octavo.bayes import (
    IBPCategorical,
    IBPLinearGaussian,
    ibp_expected_features,
    ibp_log_prob,
    ibp_sample,
)
from octavo.bayes.buffet import patterns
from octavo.bayes.buffet.chain import BuffetChain
from octavo.bayes.buffet.linear_gaussian import gaussian_log_evidence
from octavo.bayes.buffet.patterns import column_log_probs, fit_weights
from octavo.bayes.buffet.variational import VariationalBuffet, stick_terms, update_features
from octavo.data import make_hidden_causes
from octavo.engine.mcmc.diagnostics import monte_carlo_error
from octavo.engine.smooth.em import climb


def classes(n, most):
    """Yield a matrix of each left-ordered class of n rows with at most so many columns."""
    for K in range(most + 1):
        for columns in itertools.combinations_with_replacement(range(1, 2**n), K):
            yield np.array([[(c >> i) & 1 for c in columns] for i in range(n)]).reshape(n, K)


@pytest.mark.parametrize("n", [2, 3])
def test_the_prior_sums_to_one(n):
    most = 11 if n == 2 else 8
    total = sum(np.exp(ibp_log_prob(Z, 0.7)) for Z in classes(n, most))
    tail = poisson.sf(most, ibp_expected_features(n, 0.7))
    assert_allclose(total, 1.0 - tail, rtol=1e-10)


@pytest.mark.parametrize("method", ["restaurant", "stick_breaking"])
def test_numbers_of_features_are_poisson(method):
    draws = [ibp_sample(5, 1.3, random_state=i, method=method) for i in range(2000)]
    sizes = np.array([Z.shape[1] for Z in draws])
    mean = 1.3 * (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5)
    assert abs(sizes.mean() - mean) < 4.5 * np.sqrt(mean / 2000)
    assert abs(sizes.var() - mean) < 4.5 * np.sqrt((mean + 2 * mean**2) / 2000)
    rows = np.array([Z.sum(axis=1) for Z in draws])  # every row has Poisson(alpha) features
    assert (np.abs(rows.mean(axis=0) - 1.3) < 4.5 * np.sqrt(1.3 / 2000)).all()


def compare(found, law):
    for k in range(4):
        hit = (found == k).astype(float)
        error = float(np.max(monte_carlo_error(hit[None, :, None])))
        assert abs(hit.mean() - law[k]) < 5 * error, (k, hit.mean(), law[k])


def law_of_sizes(log_density, n, most):
    logs = np.array([(Z.shape[1], log_density(Z)) for Z in classes(n, most)])
    law = np.exp(logs[:, 1] - logs[:, 1].max())
    return np.bincount(logs[:, 0].astype(int), law / law.sum(), minlength=most + 1)


def test_chain_equals_enumeration():
    X, levels = np.array([[0, 1], [1, 1], [1, 0.0]]), np.array([2, 2])
    law = law_of_sizes(
        lambda Z: ibp_log_prob(Z, 1.0) + sum(fit_weights(Z, X, levels, 1.0, 1.0)[2]), 3, 6
    )
    chain = BuffetChain(X, levels, np.ones((3, 1), int), np.random.default_rng(0), max_new=6)
    sizes = []
    for _ in range(6000):
        chain.sweep()
        sizes.append(chain.n_features)
    compare(np.array(sizes), law)


def test_chain_of_mixed_columns_keeps_its_evidence():
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(0, 3, 25), rng.integers(-1, 2, 25), rng.normal(size=25)]
    X[3, 2] = np.nan
    levels = np.array([3, 2, 0])
    chain = BuffetChain(X, levels, rng.integers(0, 2, (25, 2)), rng)
    for _ in range(15):
        chain.sweep()
        exact = sum(fit_weights(chain.Z, X, levels, 1.0, 1.0)[2])
        assert abs(chain.log_evidence - exact) < 1e-3
        assert (chain.Z.sum(axis=0) == chain.m[: chain.n_features]).all()


def test_numbers_equal_enumeration():
    X = np.array([[1.0, -0.5], [1.4, 0.1], [-0.7, 0.3]])
    law = law_of_sizes(lambda Z: ibp_log_prob(Z, 1.0) + gaussian_log_evidence(X, Z, 0.8, 1.0), 3, 6)
    model = IBPLinearGaussian(sigma_x=0.8, n_iter=20_000, burn_in=100, max_new=6, random_state=0)
    compare(model.fit(X).k_draws_, law)


def test_evidence_of_numbers_is_a_normal_density():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(4, 2)), rng.integers(0, 2, (4, 3))
    cov = 0.49 * np.eye(4) + 1.44 * Z @ Z.T
    exact = sum(multivariate_normal(np.zeros(4), cov).logpdf(x) for x in X.T)
    assert_allclose(gaussian_log_evidence(X, Z, 0.7, 1.2), exact, rtol=1e-12)
    found = fit_weights(Z, X, np.array([0, 0]), 1.44, 0.49)[2]
    cov += 1.44  # with a bias
    exact = [multivariate_normal(np.zeros(4), cov).logpdf(x) for x in X.T]
    assert_allclose(found, exact, rtol=1e-12)


def test_bound_rises_and_each_update_is_a_maximum():
    rng = np.random.default_rng(1)
    X = rng.integers(-1, 3, (40, 5))
    model = VariationalBuffet(X, np.full(5, 3), 1.0, 1.0, np.zeros(40, bool))
    q = model.start(rng.random((40, 3)), [rng.normal(size=(4, 3)) for _ in range(5)])
    run = climb(model.expect, model.maximize, q, max_iter=30, tol=0.0)
    assert run.fall <= 1e-9 * abs(run.objective)


def test_bound_and_posterior_beside_enumeration():
    """All 64 features of six rows, weights by quadrature: u = b_1 - b_0 is N(0, 2) for each."""
    X = np.repeat([[0], [1]], 3, axis=0) * np.ones((1, 8), int)
    X[0, 0], X[4, 1] = 1, 0
    nodes, w = hermegauss(40)
    b, c = np.meshgrid(np.sqrt(2) * nodes, np.sqrt(2) * nodes)
    p, w = 1 / (1 + np.exp(-np.stack([b, b + c]))), np.outer(w, w) / w.sum() ** 2
    all_z = np.array(list(itertools.product((0, 1), repeat=6)))
    logs = []
    for z in all_z:
        total = betaln(1 + z.sum(), 7 - z.sum())  # v is uniform
        for x in X.T:
            like = np.prod([p[k] if i else 1 - p[k] for i, k in zip(x, z, strict=True)], axis=0)
            total += np.log((w * like).sum())
        logs.append(total)
    exact = np.exp(logs - logsumexp(logs))
    models = [
        IBPCategorical(
            engine="variational", max_features=1, init=init, n_iter=2000, random_state=0
        ).fit(X)
        for init in ("random", np.repeat([[0], [1]], 3, axis=0))
    ]
    assert all((np.diff(m.lower_bounds_) > -1e-9).all() for m in models)
    assert all(m.lower_bound_ < logsumexp(logs) for m in models)
    same = np.array([np.outer(z, z) + np.outer(1 - z, 1 - z) for z in all_z])
    truth = np.tensordot(exact, same, 1)  # that two rows are alike: the same for complements
    nu = models[1].feature_posterior_[:, 0]
    found = np.outer(nu, nu) + np.outer(1 - nu, 1 - nu)
    np.fill_diagonal(found, 1.0)
    assert np.abs(found - truth).max() < 0.1, (found, truth)


def test_rows_of_three_features_by_products_written_out():
    """ν = σ(A) feature by feature, and the rows' terms, with every product over features plain."""
    rng = np.random.default_rng(2)
    N, K, levels = 5, 3, np.array([2, 3, 3, 2])
    X = rng.integers(0, levels, (N, 4))
    X[0, 1] = X[3, 0] = -1
    phi, s2 = rng.normal(size=(K + 1, 4, 3)), rng.uniform(0.1, 0.5, (K + 1, 4, 3))
    E, prior, fixed = np.exp(phi + 0.5 * s2), rng.normal(size=K), np.arange(N) == 4
    start = rng.uniform(0.1, 0.9, (N, K))
    nu, xi = start.copy(), np.empty((N, 4))
    room = np.empty((K + 1, 4, 3)), np.empty((4, 3))
    total = update_features(X, levels, nu, prior, phi, E, *room, xi, fixed)

    def mass(v, d):  # Σ_r E_0r Π_k (1 - ν_k + ν_k E_kr)
        used = E[:, d, : levels[d]]
        return float((used[0] * np.prod(1 + v[:, None] * (used[1:] - 1), axis=0)).sum())

    expected, want = start.copy(), 0.0
    for n in range(N):
        seen, v = [d for d in range(4) if X[n, d] >= 0], expected[n]
        for k in range(0 if fixed[n] else K):
            score = prior[k]
            for d in seen:  # the mass is linear in ν_k
                slope = mass(np.where(np.arange(K) == k, 1.0, v), d)
                slope -= mass(np.where(np.arange(K) == k, 0.0, v), d)
                score += phi[k + 1, d, X[n, d]] - slope / mass(v, d)
            v[k] = 1.0 / (1.0 + np.exp(-score))
        want += sum(phi[0, d, X[n, d]] + v @ phi[1:, d, X[n, d]] - np.log(mass(v, d)) for d in seen)
        for d in range(4):
            assert xi[n, d] == pytest.approx(1.0 / mass(v, d) if d in seen else 0.0)
    assert_allclose(nu, expected, rtol=1e-12)
    assert_allclose(nu[4], start[4])
    assert total == pytest.approx(want, rel=1e-12)


def test_multinomial_bound_of_sticks():
    tau = np.array([[2.0, 1.0], [1.5, 3.0]])
    on, off, lam = stick_terms(tau)
    assert_allclose(on, np.cumsum(digamma(tau[:, 0]) - digamma(tau.sum(axis=1))))
    assert_allclose(off[0], digamma(1.0) - digamma(3.0))  # one stick: exact
    draws = np.random.default_rng(0).beta(*tau.T, size=(200_000, 2)).prod(axis=1)
    assert off[1] <= np.log1p(-draws).mean() + 0.01
    assert_allclose(lam.sum(axis=1), 1.0)


def test_predictive_of_one_more_row():
    rng = np.random.default_rng(0)
    Z, x = rng.integers(0, 2, (30, 1)), rng.integers(0, 2, 30).astype(float)
    levels = np.array([2])
    weights, covs, logs = fit_weights(Z, x[:, None], levels, 1.0, 1.0)
    found = column_log_probs(np.array([[1]]), weights[0], covs[0])[0]
    for level in (0, 1):
        more = fit_weights(np.r_[Z, [[1]]], np.r_[x, level][:, None], levels, 1.0, 1.0)[2][0]
        assert abs(found[level] - (more - logs[0])) < 0.01  # second order; terms of 1/n² are left


@pytest.mark.parametrize("engine", ["gibbs", "variational"])
def test_probabilities_of_rows_sum_to_one(engine):
    rng = np.random.default_rng(3)
    Z = rng.integers(0, 2, (120, 2))[:, [0, 1, 0, 1, 0]]
    X = np.where(rng.random(Z.shape) < 0.9, 2 * Z, rng.integers(0, 3, Z.shape))
    model = IBPCategorical(
        engine=engine, max_features=4, n_iter=30, burn_in=10, init="random", random_state=0, tol=0.0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    assert model.n_features_ >= 1
    rows = np.array(list(itertools.product(*model.levels_)), dtype=float)
    logs = model.score_samples(rows)
    assert_allclose(logsumexp(logs), 0.0, atol=1e-12)
    first = model.levels_[0]
    missing = rows[:: len(rows) // len(first)].copy()  # one row for each answer of the first column
    missing[:, 1:] = np.nan
    apart = logsumexp(logs.reshape(len(first), -1), axis=1)
    assert_allclose(model.score_samples(missing), apart, atol=1e-12)


def test_probabilities_over_some_patterns_are_too_small_at_most(monkeypatch):
    X, _ = make_hidden_causes(80, n_columns=4, n_features=3, n_levels=2, random_state=0)
    model = IBPCategorical(
        init=np.random.default_rng(0).integers(0, 2, (80, 5)), n_iter=2, burn_in=1, random_state=0
    ).fit(X)
    rows = np.array(list(itertools.product(*model.levels_)))
    whole = model.score_samples(rows)
    monkeypatch.setattr(patterns, "MOST_LISTED", 0)
    part = model.score_samples(rows)
    assert (part <= whole + 1e-12).all()
    assert -0.2 < logsumexp(part) <= 1e-12


def test_missing_row_has_the_prior():
    rng = np.random.default_rng(0)
    X = np.r_[np.tile([0.0, 0, 0, 0], (20, 1)), np.tile([1.0, 1, 1, 1], (20, 1))]
    X = np.abs(X - (rng.random(X.shape) < 0.05))
    model = IBPCategorical(n_iter=20, burn_in=10, random_state=0).fit(X)
    found = model.transform(np.full((1, 4), np.nan))
    assert_allclose(found[0], model.Z_.sum(axis=0) / 41.0)
