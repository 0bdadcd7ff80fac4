"""Expected likelihoods against integration, variance components against their definitions."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, invgamma, nbinom, norm, poisson

from octavo.engine.variational import expected_likelihoods as el
from octavo.engine.variational.gaussian_step import inverse_of_positive, natural_step
from octavo.engine.variational.variance_components import (
    as_vector,
    bound_terms,
    from_vector,
    new_component,
    updated,
)


def poisson_user(y, eta):
    return poisson.logpmf(y, np.exp(eta)), y - np.exp(eta)


CASES = {
    "poisson": (el.poisson_terms, lambda y, e: poisson.logpmf(y, np.exp(e)), 3.0),
    "binomial": (
        lambda y, m, v: el.binomial_terms(y, m, v, 40),
        lambda y, e: binom.logpmf(y, 1, 1 / (1 + np.exp(-e))),
        1.0,
    ),
    "negbinomial": (
        lambda y, m, v: el.negative_binomial_terms(y, m, v, 0.4, 40),
        lambda y, e: nbinom.logpmf(y, 2.5, 2.5 / (2.5 + np.exp(e))),
        3.0,
    ),
    "user": (
        lambda y, m, v: el.quadrature_terms(y, m, v, poisson_user, 40),
        lambda y, e: poisson.logpmf(y, np.exp(e)),
        2.0,
    ),
}


@pytest.mark.parametrize("family", CASES)
@pytest.mark.parametrize(("m", "v"), [(0.3, 0.5), (-1.0, 1.5), (1.2, 1e-3), (0.5, 1e-12)])
def test_terms_equal_integrals(family, m, v):
    terms, log_density, y = CASES[family]

    def integral(m, v):
        sd = np.sqrt(v)
        return quad(lambda z: log_density(y, m + sd * z) * norm.pdf(z), -9, 9, epsabs=1e-12)[0]

    found = [part[0] for part in terms(np.array([y]), np.array([m]), np.array([v]))]
    np.testing.assert_allclose(found[0], integral(m, v), rtol=1e-7)
    h = 1e-4
    slope = (integral(m + h, v) - integral(m - h, v)) / (2 * h)
    np.testing.assert_allclose(found[1], slope, rtol=1e-5, atol=1e-6)
    h = 1e-3
    bend = (integral(m + h, v) - 2 * integral(m, v) + integral(m - h, v)) / h**2
    np.testing.assert_allclose(found[2], -bend, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("n_nodes", [5, 20])
def test_curvature_is_the_derivative_of_the_computed_bound(n_nodes):
    """d(E l)/dv = -h/2 exactly, whatever the quadrature: what is climbed is what is reported."""
    m, v, y = np.array([0.4]), np.array([9.0]), np.array([1.0])
    h = 1e-4
    up, down = (el.binomial_terms(y, m, v + s, n_nodes).value[0] for s in (h, -h))
    curvature = el.binomial_terms(y, m, v, n_nodes).curvature[0]
    np.testing.assert_allclose((up - down) / (2 * h), -0.5 * curvature, rtol=1e-7)


def test_one_variance_is_half_cauchy():
    """The pair (sigma^2, a) integrates to a Half-Cauchy density of sigma."""
    A, sigma = 2.0, np.array([0.3, 1.0, 4.0])
    for s in sigma:

        def joint(log_a, s=s):
            a = np.exp(log_a)
            law = invgamma.pdf(s**2, 0.5, scale=1 / a) * invgamma.pdf(a, 0.5, scale=A**-2.0)
            return law * a * 2 * s

        density = quad(joint, -30, 30, limit=200)[0]
        np.testing.assert_allclose(density, 2 / (np.pi * A * (1 + (s / A) ** 2)), rtol=1e-5)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_updates_raise_the_bound_to_a_maximum(q):
    rng = np.random.default_rng(q)
    u = rng.normal(size=(30, q)) @ rng.normal(size=(q, q))
    moment = u.T @ u
    component = new_component(30, q, 2.0, 1.0)
    values = [bound_terms(component, moment)]
    for _ in range(200):
        component = updated(component, moment)
        values.append(bound_terms(component, moment))
    assert (np.diff(values) > -1e-10).all()
    best = as_vector(component)
    np.testing.assert_allclose(from_vector(component, best).scale, component.scale, rtol=1e-12)
    for j in range(len(best)):
        for step in (-0.02, 0.02):
            moved = best.copy()
            moved[j] += step
            assert bound_terms(from_vector(component, moved), moment) < values[-1]


def test_a_step_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="must be finite"):
        natural_step(np.zeros(1), np.array([[np.inf]]), np.zeros(1), np.eye(1))
    with pytest.raises(ValueError, match="Sigma must be positive definite"):
        natural_step(np.zeros(1), np.array([[-1.0]]), np.zeros(1), -np.eye(1))
    assert inverse_of_positive(np.array([[0.0]])) is None
