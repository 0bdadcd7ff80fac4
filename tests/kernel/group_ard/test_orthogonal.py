"""Closed forms of orthogonal designs against simulation, scipy and direct search."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.stats import ncx2

from octavo.kernel import ard_orthogonal, eb_mse, orthogonal_mse, zero_probability


def objective(lam, r, k, n, sigma2, gamma, method):
    """Eq. (4) or (12) of one group where GᵀG = nI, up to constants: k equal eigenvalues."""
    size = sigma2 + n * lam
    logdet = 0.5 * k * np.log(size) if method == "pard" else 0.0
    return logdet + 0.5 * n * r**2 * (sigma2 / size) / sigma2 + gamma * lam


@pytest.mark.parametrize("method", ["pard", "group-lasso"])
@pytest.mark.parametrize("r", [0.05, 0.4, 3.0])
@pytest.mark.parametrize("gamma", [1e-7, 0.3, 20.0])
def test_variance_minimises_the_objective(r, gamma, method):
    k, n, sigma2 = 3, 25, 2.0
    lam = float(ard_orthogonal(r, k, n, sigma2, gamma, method=method))
    arguments = (r, k, n, sigma2, gamma, method)
    found = minimize_scalar(
        objective, bounds=(0, 4 * lam + 1), args=arguments, method="bounded", options={"xatol": 0}
    )
    assert objective(lam, *arguments) <= found.fun + 1e-12
    assert lam == pytest.approx(found.x, abs=1e-6 * max(1.0, found.x))


def test_gamma_zero_is_the_limit():
    limit = ard_orthogonal(2.0, 4, 10, 1.0, 0.0)
    assert limit == pytest.approx(2.0**2 / 4 - 1.0 / 10, abs=1e-15)  # below Eq. (18)
    assert ard_orthogonal(2.0, 4, 10, 1.0, 1e-12) == pytest.approx(float(limit), abs=1e-10)


def test_printed_form_of_equation_18():
    r, k, n, sigma2, gamma = 1.7, 5, 40, 3.0, 0.8
    printed = (np.sqrt(k**2 + 8 * gamma * r**2) - (k + 4 * sigma2 * gamma / n)) / (4 * gamma)
    assert ard_orthogonal(r, k, n, sigma2, gamma) == pytest.approx(printed, rel=1e-12)


@pytest.mark.parametrize("method", ["pard", "group-lasso"])
def test_zero_probability_is_that_of_simulated_groups(method):
    rng = np.random.default_rng(0)
    k, n, sigma2, gamma, draws = 4, 30, 2.0, 25.0, 40_000
    theta = np.array([0.3, -0.2, 0.0, 0.1])
    estimates = theta + np.sqrt(sigma2 / n) * rng.normal(size=(draws, k))
    zero = ard_orthogonal(np.linalg.norm(estimates, axis=1), k, n, sigma2, gamma, method=method)
    chance = float(zero_probability(np.linalg.norm(theta), k, n, sigma2, gamma, method))
    error = np.sqrt(chance * (1 - chance) / draws)
    assert 0.05 < chance < 0.95
    assert abs((zero == 0).mean() - chance) < 4 * error


def test_zero_probability_is_scipys_noncentral_chi_square():
    gammas = np.array([0.0, 1.0, 50.0])
    ours = zero_probability(0.7, 6, 20, 1.5, gammas)
    np.testing.assert_allclose(ours, ncx2.cdf(6 + 2 * gammas * 1.5 / 20, 6, 0.49 * 20 / 1.5))


@pytest.mark.parametrize("method", ["pard", "group-lasso"])
@pytest.mark.parametrize("norm", [0.0, 0.8, 3.0])
def test_error_of_the_whole_procedure_is_that_of_simulated_groups(norm, method):
    rng = np.random.default_rng(1)
    k, n, sigma2, gamma = 10, 2, 1.0, 3.0
    theta = np.zeros(k)
    theta[0] = norm
    draws = theta + np.sqrt(sigma2 / n) * rng.normal(size=(100_000, k))
    lam = ard_orthogonal(np.linalg.norm(draws, axis=1), k, n, sigma2, gamma, method=method)
    errors = (((lam / (lam + sigma2 / n))[:, None] * draws - theta) ** 2).sum(axis=1)
    exact = float(orthogonal_mse(norm, k, n, sigma2, gamma, method=method))
    assert abs(errors.mean() - exact) < 4 * errors.std() / np.sqrt(len(errors))


def test_group_lasso_without_penalty_is_least_squares():
    assert orthogonal_mse(2.0, 7, 3, 1.5, 0.0, method="group-lasso") == pytest.approx(7 * 0.5)
    assert np.isinf(ard_orthogonal(2.0, 7, 3, 1.5, 0.0, method="group-lasso"))


def test_mse_is_that_of_simulated_posterior_means():
    rng = np.random.default_rng(2)
    G, theta, sigma2 = rng.normal(size=(12, 5)), rng.normal(size=5), 0.7
    lam = np.array([0.5, 0.5, 0.0, 2.0, 2.0])
    smoother = np.linalg.solve(lam[:, None] * (G.T @ G) + sigma2 * np.eye(5), lam[:, None] * G.T)
    y = (G @ theta)[:, None] + np.sqrt(sigma2) * rng.normal(size=(12, 50_000))
    errors = ((smoother @ y - theta[:, None]) ** 2).sum(axis=0)
    assert abs(errors.mean() - eb_mse(lam, G, theta, sigma2)) < 4 * errors.std() / np.sqrt(50_000)


def test_mse_in_the_papers_second_form():
    rng = np.random.default_rng(3)
    G, theta, sigma2 = rng.normal(size=(9, 4)), rng.normal(size=4), 1.3
    lam = rng.uniform(0.2, 2.0, size=4)
    A, inverse = G.T @ G, np.diag(1 / lam)
    middle = A + sigma2 * inverse @ np.outer(theta, theta) @ inverse
    outer = np.linalg.inv(A + sigma2 * inverse)
    printed = np.trace(sigma2 * outer @ middle @ outer)
    assert eb_mse(lam, G, theta, sigma2) == pytest.approx(printed, rel=1e-10)


def test_corollary_8_is_the_best_variance():
    rng = np.random.default_rng(4)
    G = np.linalg.qr(rng.normal(size=(20, 6)))[0] * np.sqrt(20)
    theta = rng.normal(size=6)
    best = np.repeat([theta[:2] @ theta[:2] / 2, theta[2:] @ theta[2:] / 4], [2, 4])
    least = eb_mse(best, G, theta, 2.0)
    for factor in (0.5, 0.9, 1.1, 2.0):
        for part in (slice(0, 2), slice(2, 6)):
            other = best.copy()
            other[part] *= factor
            assert eb_mse(other, G, theta, 2.0) > least


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ard_orthogonal(-1.0, 2, 3, 1.0), "ls_norm must be at least 0"),
        (lambda: ard_orthogonal(1.0, 2, 3, 0.0), "sigma2 must be greater than 0"),
        (lambda: zero_probability(1.0, 0, 3, 1.0, 0.0), "k must be at least 1"),
        (lambda: zero_probability(1.0, 2, 3, 1.0, -0.5), "gamma must be at least 0, got -0.5"),
        (lambda: zero_probability(1.0, 2, 3, 1.0, 0.0, method="lasso"), "method must be one of"),
        (lambda: eb_mse([1.0], np.eye(2), [1.0, 1.0], 1.0), "lam must hold one value per column"),
        (lambda: eb_mse([1.0, -1.0], np.eye(2), [1.0, 1.0], 1.0), r"lam\[1\] is -1"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("method", ["pard", "group-lasso"])
@pytest.mark.parametrize("norm", [0.0, 3.1622776601683795])
def test_curves_of_figure_4_are_exact(norm, method):
    """Against Stein's unbiased risk, integrated over scipy's non-central χ².

    For θ̂ = h(q) x with x ~ N(θ, σ²I) and q = ‖x‖² the risk is the mean of
    (1 - h)² q + 2σ²(k h + x·∇h) - σ²k, in which θ does not occur.
    """
    k, sigma2, gamma = 10, 0.5, 2.0

    def shrink(q):
        lam = ard_orthogonal(np.sqrt(q), k, 1, sigma2, gamma, method=method)
        return float(lam / (lam + sigma2))

    def risk(v):
        q = sigma2 * v
        h, step = shrink(q), 1e-5 * q
        slope = 2 * q * (shrink(q + step) - shrink(q - step)) / (2 * step)  # x·∇h
        excess = (1 - h) ** 2 * q + 2 * sigma2 * (k * h + slope) - sigma2 * k
        return excess * ncx2.pdf(v, k, norm**2 / sigma2 if norm else 1e-300)

    threshold = (k if method == "pard" else 0.0) + 2 * gamma * sigma2
    parts = [(1e-9, threshold * (1 - 1e-4)), (threshold * (1 + 1e-4), 150.0)]
    total = sum(quad(risk, *part, epsabs=1e-9, limit=400)[0] for part in parts)
    exact = float(orthogonal_mse(norm, k, 1, sigma2, gamma, method=method))
    # the gap around the kink and the differences leave about 1e-4 of it
    assert exact == pytest.approx(total, abs=1e-3)


def test_pard_zeroes_more_at_the_error_of_the_group_lasso():
    gammas = np.logspace(-2, 2, 100)
    errors, chances = {}, {}
    for method in ("pard", "group-lasso"):
        errors[method] = orthogonal_mse(np.sqrt(10.0), 10, 1, 0.5, gammas, method=method)
        chances[method] = zero_probability(0.0, 10, 1, 0.5, gammas, method)
    first = int(np.argmin(errors["group-lasso"]))  # from there on its error rises too
    for error in (4.0, 4.5, 5.0, 6.0):
        pard = np.interp(error, errors["pard"], chances["pard"])
        lasso = np.interp(error, errors["group-lasso"][first:], chances["group-lasso"][first:])
        assert pard > lasso + 0.04
