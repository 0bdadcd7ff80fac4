"""Predictive densities beside exact ones."""

import numpy as np
import pytest
from numpy.polynomial.hermite import hermgauss
from scipy.integrate import quad
from scipy.stats import multivariate_normal

from octavo.graphical.causal_orders.predictive import normal_laplace, predictive_log_density


def test_gaussian_sources_are_exact():
    rng = np.random.default_rng(0)
    C, psi, B = rng.standard_normal((3, 4)), np.array([0.3, 1.0, 2.0]), np.zeros((3, 3))
    B[1, 0] = 0.7
    X = rng.standard_normal((5, 3))
    found = predictive_log_density(X, C, psi, B=B, source="gaussian")
    law = multivariate_normal(np.zeros(3), C @ C.T + np.diag(psi))
    assert np.allclose(found, law.logpdf(X - X @ B.T), rtol=1e-10)


@pytest.mark.parametrize(("variance", "rate"), [(0.3, 1.0), (2.0, 0.2), (0.01, 30.0), (1e-4, 1.0)])
def test_normal_laplace_equals_an_integral(variance, rate):
    sd = np.sqrt(variance)
    for e in (0.0, 0.4, -3.0, 5.0):
        value = normal_laplace(np.array([e]), variance, rate)[0]

        def integrand(z, e=e):
            gauss = np.exp(-0.5 * (e - z) ** 2 / variance) / (sd * np.sqrt(2 * np.pi))
            return 0.5 * rate * np.exp(-rate * abs(z)) * gauss

        points = sorted({0.0, e, e - 6 * sd, e + 6 * sd})
        low, high = min(points[0], -1.0) - 5, max(points[-1], 1.0) + 5
        exact = quad(integrand, low, high, points=points, limit=400, epsabs=0, epsrel=1e-9)[0]
        if exact > 1e-290:
            assert np.isclose(value, np.log(exact), rtol=1e-5, atol=1e-5)


def test_monte_carlo_meets_the_closed_form():
    """One latent of Laplace's law on one variable, beside the same by draws of its scale."""
    X, psi = np.array([[0.2], [1.5]]), np.array([0.2])
    exact = predictive_log_density(X, [[0.8]], psi)
    # a second latent without a loading keeps the density, and needs draws
    C = np.array([[0.8, 1e-9]])
    drawn = predictive_log_density(X, C, psi, n_rep=200_000, random_state=0)
    assert np.allclose(drawn, exact, atol=0.02)


def test_two_factors_on_two_variables_equal_an_integral():
    """Little noise, where draws of scales must find the few that fit."""
    C, psi = np.array([[1.0, 0.9], [0.8, 1.0]]), np.array([0.01, 0.02])
    X = np.array([[0.3, -0.2], [2.0, 1.0], [4.0, 3.5]])
    found = predictive_log_density(X, C, psi, n_rep=400_000, random_state=0)
    inverse = np.linalg.inv(C)
    nodes, weights = hermgauss(60)  # the noise integrated out, not the factors
    first, second = np.meshgrid(nodes, nodes)
    noise = np.stack([first, second], axis=-1) * np.sqrt(2 * psi)
    mass = np.outer(weights, weights) / np.pi
    for x, value in zip(X, found, strict=True):
        laplace = np.exp(-np.abs((x - noise) @ inverse.T).sum(axis=-1)) / 4
        exact = np.log((mass * laplace).sum() * abs(np.linalg.det(inverse)))
        assert np.isclose(value, exact, atol=0.02)


def test_draws_are_averaged_as_densities():
    X, C = np.array([[0.5]]), np.array([[[1.0]], [[2.0]]])
    psi = np.array([[0.5], [0.1]])
    each = predictive_log_density(X, C, psi, per_draw=True)
    assert each.shape == (2, 1)
    both = predictive_log_density(X, C, psi)
    assert np.allclose(np.exp(both), np.exp(each).mean(axis=0))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"C": np.ones((2, 1))}, "C must have the shape"),
        ({"psi": [-1.0]}, "psi positive"),
        ({"source": ["laplace", "cauchy"]}, "each of the 1 latents"),
        ({"B": np.ones((2, 2))}, "B must be finite"),
        ({"X": [[np.nan]]}, "NaN"),
    ],
)
def test_bad_input(change, words):
    call = {"X": [[0.0]], "C": [[1.0]], "psi": [0.1]} | change
    with pytest.raises(ValueError, match=words):
        predictive_log_density(**call)
