"""The general Gaussian step: exact for Gaussians, optimal for others, guarded everywhere."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

from octavo.bayes import (
    GaussianVariational,
    moment_parameters,
    natural_parameters,
    ncvmp_update,
    variational_accuracy,
)


def gaussian_target(seed, d=4):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(d, d))
    P, center = root @ root.T + np.eye(d), rng.normal(size=d)

    def S_and_grads(mu, Sigma):
        off = mu - center
        S = -0.5 * (off @ P @ off + np.trace(P @ Sigma))
        S += 0.5 * (np.linalg.slogdet(P)[1] - d * np.log(2 * np.pi))
        return S, -P @ off, -0.5 * P

    return S_and_grads, center, np.linalg.inv(P)


def poisson_regression(seed, d=3, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) / 2
    y = rng.poisson(np.exp(X @ rng.normal(size=d) + 0.5))

    def S_and_grads(mu, Sigma):
        w = np.exp(X @ mu + 0.5 * np.einsum("ij,jk,ik->i", X, Sigma, X))
        S = y @ X @ mu - w.sum() - 0.5 * (mu @ mu + np.trace(Sigma))
        return S, X.T @ (y - w) - mu, -0.5 * ((X.T * w) @ X + np.eye(d))

    return S_and_grads


def test_a_gaussian_needs_one_step_from_anywhere():
    S_and_grads, center, cov = gaussian_target(0)
    mu, Sigma = np.full(4, 30.0), 5.0 * np.eye(4)
    _, g, G = S_and_grads(mu, Sigma)
    mu, Sigma = ncvmp_update(g, G, mu, Sigma)
    np.testing.assert_allclose(mu, center, atol=1e-9)
    np.testing.assert_allclose(Sigma, cov, rtol=1e-9)
    model = GaussianVariational(S_and_grads).fit(np.zeros(4))
    # The exact posterior makes the bound tight: the log evidence of a density is zero.
    np.testing.assert_allclose(model.lower_bound_, 0.0, atol=1e-9)
    assert model.n_iter_ <= 2


def test_damping_mixes_natural_parameters():
    S_and_grads = poisson_regression(1)
    mu, Sigma = np.full(3, 0.1), 0.2 * np.eye(3)
    _, g, G = S_and_grads(mu, Sigma)
    full = natural_parameters(*ncvmp_update(g, G, mu, Sigma))
    old = natural_parameters(mu, Sigma)
    mixed = moment_parameters(0.7 * old + 0.3 * full)
    damped = ncvmp_update(g, G, mu, Sigma, damping=0.3)
    np.testing.assert_allclose(damped[0], mixed[0], rtol=1e-8)
    np.testing.assert_allclose(damped[1], mixed[1], rtol=1e-8)


@pytest.mark.parametrize("seed", [2, 3])
def test_optimum_is_where_an_optimiser_ends(seed):
    S_and_grads = poisson_regression(seed)
    model = GaussianVariational(S_and_grads, tol=1e-15).fit(np.zeros(3), np.eye(3))
    lower = np.tril_indices(3)

    def loss(parameters):
        L = np.zeros((3, 3))
        L[lower] = parameters[3:]
        S = S_and_grads(parameters[:3], L @ L.T)[0]
        return -(S + np.log(np.abs(np.diag(L))).sum() + 1.5 * (1 + np.log(2 * np.pi)))

    found = minimize(loss, np.r_[np.zeros(3), np.eye(3)[lower]], method="BFGS", tol=1e-9)
    L = np.zeros((3, 3))
    L[lower] = found.x[3:]
    np.testing.assert_allclose(model.lower_bound_, -found.fun, rtol=1e-8)
    np.testing.assert_allclose(model.mean_, found.x[:3], atol=1e-4)
    np.testing.assert_allclose(model.cov_, L @ L.T, atol=1e-4)
    assert (np.diff(model.lower_bounds_) >= 0).all()


def test_bound_is_below_the_evidence():
    def S_and_grads(mu, Sigma):
        m, v = mu[0], Sigma[0, 0]
        w = np.exp(m + v / 2)
        S = 3 * m - w - np.log(6) - 0.5 * (m**2 + v + np.log(2 * np.pi))
        return S, np.array([3 - w - m]), np.array([[-(w + 1) / 2]])

    model = GaussianVariational(S_and_grads).fit([0.0])
    exact = quad(lambda x: np.exp(3 * x - np.exp(x)) / 6 * norm.pdf(x), -10, 10)[0]
    assert np.log(exact) - 0.02 < model.lower_bound_ < np.log(exact)


def test_steps_are_shortened_until_the_precision_is_positive():
    """Student's log density is not concave: -2 dS/dSigma is negative far out."""
    _, Sigma = ncvmp_update([-0.1], [[5.0]], [10.0], [[1.0]])
    assert Sigma[0, 0] > 1.0


@pytest.mark.parametrize("damping", [0, 1.5, -1, "fast", None, np.nan])
def test_bad_damping(damping):
    with pytest.raises(ValueError, match="damping must be in"):
        ncvmp_update([0.0], [[-0.5]], [0.0], [[1.0]], damping)


def test_bad_shapes():
    with pytest.raises(ValueError, match="shapes"):
        ncvmp_update([0.0], [[-0.5]], [0.0, 1.0], [[1.0]])
    with pytest.raises(ValueError, match="shape of mu"):
        ncvmp_update([0.0, 0.0], -np.eye(2), [0.0], [[1.0]])
    with pytest.raises(ValueError, match="must return a number"):
        GaussianVariational(lambda mu, Sigma: (0.0, 0.0, 0.0)).fit([0.0])
    with pytest.raises(ValueError, match="positive definite"):
        GaussianVariational(gaussian_target(0)[0]).fit(np.zeros(4), -np.eye(4))
    with pytest.raises(ValueError, match="not finite at the start"):
        GaussianVariational(lambda m, S: (np.nan, m, S)).fit([0.0])


def test_too_few_iterations_warn():
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 iterations"):
        GaussianVariational(poisson_regression(4), max_iter=1).fit(np.zeros(3))


def test_accuracy_of_known_densities():
    draws = norm.ppf((np.arange(5000) + 0.5) / 5000)
    shifts = {0.0: 100.0, 0.5: 200 * norm.cdf(-0.25), 2.0: 200 * norm.cdf(-1.0), 50.0: 0.0}
    for shift, expected in shifts.items():
        found = variational_accuracy(norm(shift, 1).pdf, draws)
        assert abs(found - expected) < 1.5  # the kernel estimate smooths by a few per cent


def test_bad_samples():
    for wrong, words in (([1.0] * 20, "must vary"), ([1.0, 2.0], "at least 10"), ([], "")):
        with pytest.raises(ValueError, match=words):
            variational_accuracy(norm.pdf, wrong)
    with pytest.raises(ValueError, match="q_pdf must return"):
        variational_accuracy(lambda x: -x, np.arange(20.0))
