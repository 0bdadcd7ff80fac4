"""Conjugate blocks against scipy's densities, quadrature and Monte Carlo."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import gammaln

from octavo.engine.conjugate.dirichlet import Dirichlet
from octavo.engine.conjugate.gaussian_wishart import GaussianGamma, GaussianWishart
from octavo.engine.conjugate.sticks import Sticks, new_sticks

RNG = np.random.RandomState(0)
X = RNG.normal(1.0, 2.0, (12, 2))
PRIOR = GaussianWishart(np.array([[0.5, -0.5]]), np.array([0.7]), np.array([4.0]), np.eye(2)[None])
DIAGONAL = GaussianGamma(np.array([[0.5, -0.5]]), np.array([0.7]), np.array([3.0]), np.ones((1, 2)))


def identity(prior, table, weights):
    """log p(rows) two ways: Σ E log p - KL, and chained predictives. Equal for conjugate blocks."""
    q = prior.update(table, weights)
    return (weights * q.expected_log_density(table)).sum(axis=0) - q.divergence(prior)


def chained(prior, table):
    """log p(x_1) + log p(x_2 | x_1) + ... by predictive densities."""
    total, now = 0.0, prior
    for i in range(table.shape[0]):
        row = table[[i]]
        total += float(now.predictive_log_density(row)[0, 0])
        now = now.update(row, np.ones((1, 1)))
    return total


@pytest.mark.parametrize("prior", [PRIOR, DIAGONAL], ids=["wishart", "gamma"])
def test_evidence_of_gaussians_is_the_product_of_predictives(prior):
    weights = np.ones((len(X), 1))
    assert_allclose(identity(prior, X, weights)[0], chained(prior, X), rtol=1e-10)


def test_evidence_of_counts_is_the_product_of_predictives():
    counts = sp.csr_array(RNG.poisson(1.0, (9, 4)).astype(float))
    prior = Dirichlet(np.array([[0.3, 0.7, 1.0, 0.2]]))
    weights = np.ones((9, 1))
    assert_allclose(identity(prior, counts, weights)[0], chained(prior, counts), rtol=1e-10)
    dense = identity(prior, counts.toarray(), weights)
    assert_allclose(dense, identity(prior, counts, weights), rtol=1e-12)


def test_predictive_of_a_gaussian_is_students_t():
    q = PRIOR.update(X, np.ones((len(X), 1)))
    freedom = q.dof[0] - 1.0
    shape = q.scatter[0] * (1.0 + q.beta[0]) / q.beta[0] / freedom
    expected = stats.multivariate_t(q.mean[0], shape, freedom).logpdf(X)
    assert_allclose(q.predictive_log_density(X)[:, 0], expected, rtol=1e-10)


def test_expected_log_density_by_monte_carlo():
    q = PRIOR.update(X, np.ones((len(X), 1)))
    scale = np.linalg.inv(q.scatter[0])
    draws = stats.wishart(q.dof[0], scale).rvs(20_000, random_state=1)
    rng = np.random.RandomState(2)
    noise = rng.normal(size=(20_000, 2))
    values = np.empty(20_000)
    for i, L in enumerate(draws):
        mean = q.mean[0] + np.linalg.solve(np.linalg.cholesky(q.beta[0] * L).T, noise[i])
        d = X[0] - mean
        values[i] = 0.5 * (np.linalg.slogdet(L)[1] - 2 * np.log(2 * np.pi) - d @ L @ d)
    error = values.std() / np.sqrt(values.size)
    assert abs(values.mean() - q.expected_log_density(X[:1])[0, 0]) < 5 * error


def test_diagonal_is_the_product_of_columns():
    q = DIAGONAL.update(X, np.ones((len(X), 1)))
    parts = []
    for j in range(2):
        one = GaussianWishart(
            DIAGONAL.mean[:, [j]], DIAGONAL.beta, DIAGONAL.dof, DIAGONAL.scatter[:, [j], None]
        )
        after = one.update(X[:, [j]], np.ones((len(X), 1)))
        parts.append((after.expected_log_density(X[:, [j]]), after.divergence(one)))
    assert_allclose(q.expected_log_density(X), parts[0][0] + parts[1][0], rtol=1e-10)
    assert_allclose(q.divergence(DIAGONAL), parts[0][1] + parts[1][1], rtol=1e-10)


@pytest.mark.parametrize("block", [PRIOR, DIAGONAL, Dirichlet(np.ones((1, 3)))])
def test_a_prior_is_at_no_distance_from_itself(block):
    assert_allclose(block.divergence(block), 0.0, atol=1e-12)


def test_rows_far_from_the_origin_keep_their_digits():
    far = GaussianWishart(PRIOR.mean + 1e7, *PRIOR[1:])
    near, away = (p.update(x, np.ones((12, 1))) for p, x in ((PRIOR, X), (far, X + 1e7)))
    assert_allclose(away.scatter, near.scatter, rtol=1e-6)  # 1e7 leaves nine digits of the rows


def test_dirichlet_divergence_is_scipys_integral():
    q, p = Dirichlet(np.array([[2.0, 3.0]])), Dirichlet(np.array([[1.0, 0.5]]))
    x = np.linspace(0, 1, 200_001)[1:-1]
    a, b = stats.beta(2.0, 3.0), stats.beta(1.0, 0.5)
    expected = np.trapezoid(a.pdf(x) * (a.logpdf(x) - b.logpdf(x)), x)
    assert_allclose(q.divergence(p)[0], expected, atol=1e-6)  # the trapezoid's own error


class TestSticks:
    def test_weights_sum_to_one_and_match_draws(self):
        sticks = Sticks(np.array([2.0, 1.0]), np.array([3.0, 4.0]), 1.0, 1.0)
        assert_allclose(sticks.weights().sum(), 1.0)
        rng = np.random.RandomState(0)
        v = rng.beta(sticks.one, sticks.two, (50_000, 2))
        logs = np.stack([np.log(v[:, 0]), np.log(v[:, 1]) + np.log(1 - v[:, 0]),
                         np.log(1 - v).sum(axis=1)], axis=1)  # fmt: skip
        error = logs.std(axis=0) / np.sqrt(len(logs))
        assert (np.abs(logs.mean(axis=0) - sticks.expected_log_weights()) < 5 * error).all()

    def test_update_never_lowers_the_bound(self):
        counts, prior = np.array([5.0, 2.0, 0.5, 0.1]), (0.01, 0.01)
        sticks, last = new_sticks(4, prior), -np.inf
        for _ in range(20):
            sticks = sticks.update(counts, prior)
            bound = float(counts @ sticks.expected_log_weights()) - sticks.divergence(prior)
            assert bound >= last - 1e-9
            last = bound

    def test_divergence_at_a_known_concentration_is_that_of_betas(self):
        # a Gamma of shape 1e8 is a number, for which q and p of the concentration agree
        sticks = Sticks(np.array([2.0]), np.array([3.0]), 1e8, 1e8)
        x = np.linspace(0, 1, 100_001)[1:-1]
        a, b = stats.beta(2.0, 3.0), stats.beta(1.0, 1.0)
        expected = np.trapezoid(a.pdf(x) * (a.logpdf(x) - b.logpdf(x)), x)
        assert_allclose(sticks.divergence((1e8, 1e8)), expected, atol=1e-5)


def test_multinomial_rows_without_the_coefficient():
    q = Dirichlet(np.array([[1.5, 2.5]]))
    row = np.array([[3.0, 1.0]])
    expected = stats.dirichlet_multinomial([1.5, 2.5], 4).logpmf([3, 1])
    coefficient = gammaln(5) - gammaln(4) - gammaln(2)
    assert_allclose(q.predictive_log_density(row)[0, 0], expected - coefficient, rtol=1e-10)
