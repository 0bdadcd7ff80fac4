"""Likelihood terms against scipy's densities, differences and adaptive quadrature."""

import numpy as np
import pytest
from scipy import integrate, stats

from octavo.engine.sparse_gaussian.likelihoods import FAMILIES, UserLikelihood

Y = {
    "gaussian": [0.3, -2.0, 5.0],
    "probit": [1, 0, 1],
    "logit": [1, 0, 1],
    "step": [-1, 1, 1],
    "poisson": [0, 3, 40],
    "binomial": [0, 3, 12],
    "negative-binomial": [0, 3, 40],
    "student-t": [0.3, -2.0, 9.0],
    "laplace": [0.3, -2.0, 5.0],
    "stochastic-volatility": [0.01, 1.0, -8.0],
    "exponential": [0.1, 2.0, 30.0],
    "weibull": [0.1, 2.0, 30.0],
}
PARAMETERS = {
    "gaussian": {"variance": 0.3},
    "negative-binomial": {"dispersion": 0.4},
    "student-t": {"df": 3.0, "scale": 0.5},
    "laplace": {"scale": 0.7},
    "weibull": {"shape": 1.7},
}
SIDE = {
    "poisson": {"exposure": [1.0, 2.0, 0.5]},
    "negative-binomial": {"exposure": [1.0, 2.0, 0.5]},
    "binomial": {"n_trials": [4, 3, 20]},
}
each_family = pytest.mark.parametrize("name", FAMILIES)
smooth = pytest.mark.parametrize("name", [n for n, f in FAMILIES.items() if f.smooth])


def terms(name):
    return FAMILIES[name](**PARAMETERS.get(name, {})).bind(Y[name], **SIDE.get(name, {}))


def scipy_density(name, x):
    y = np.asarray(Y[name], dtype=float)
    sign = np.where(y > 0, 1, -1)
    mu = np.exp(x) * np.asarray(SIDE.get(name, {}).get("exposure", 1.0))
    p = PARAMETERS.get(name, {})
    return {
        "gaussian": lambda: stats.norm.logpdf(y, x, np.sqrt(0.3)),
        "probit": lambda: stats.norm.logcdf(sign * x),
        "logit": lambda: stats.logistic.logcdf(sign * x),
        "step": lambda: np.log((sign * x >= 0).astype(float)),
        "poisson": lambda: stats.poisson.logpmf(y, mu),
        "binomial": lambda: stats.binom.logpmf(y, SIDE["binomial"]["n_trials"], 1 / (1 + 1 / mu)),
        "negative-binomial": lambda: stats.nbinom.logpmf(y, 2.5, 2.5 / (2.5 + mu)),
        "student-t": lambda: stats.t.logpdf(y, p["df"], x, p["scale"]),
        "laplace": lambda: stats.laplace.logpdf(y, x, 0.7),
        "stochastic-volatility": lambda: stats.norm.logpdf(y, 0, np.exp(x / 2)),
        "exponential": lambda: stats.expon.logpdf(y, scale=1 / mu),
        "weibull": lambda: stats.weibull_min.logpdf(y, 1.7, scale=mu ** (-1 / 1.7)),
    }[name]()


@each_family
def test_log_density_is_scipys(name):
    for x in (np.array([0.4, -1.2, 2.0]), np.array([-3.0, 0.1, 1.0])):
        with np.errstate(divide="ignore"):
            assert np.allclose(terms(name).log_density(x), scipy_density(name, x), rtol=1e-12)


@smooth
def test_derivatives_are_differences(name):
    x, step = np.array([0.4, -1.2, 2.0]), 1e-5
    bound = terms(name)
    first, second = bound.derivatives(x)
    above, below = bound.log_density(x + step), bound.log_density(x - step)
    scale = 1 + abs(second)
    assert np.all(abs(first - (above - below) / (2 * step)) < 1e-8 * scale)
    slope_above, slope_below = bound.derivatives(x + step)[0], bound.derivatives(x - step)[0]
    assert np.all(abs(second - (slope_above - slope_below) / (2 * step)) < 1e-8 * scale)


def by_quad(bound, j, mean, variance, power):
    one, sd = bound.take(np.array([j])), np.sqrt(variance)

    def log_product(x):
        x = np.asarray(x, dtype=float)
        return power * one.log_density(x[..., None])[..., 0] - 0.5 * (x - mean) ** 2 / variance

    near, wide = mean + sd * np.linspace(-9, 9, 8001), np.linspace(-30, 30, 60001)
    grid = np.unique(np.concatenate([near, wide]))
    log = log_product(grid)
    shift = log.max()
    inside = grid[log > shift - 45]
    low, high = inside[0] - 0.1 * sd, inside[-1] + 0.1 * sd
    kinks = (0.0, one.data.get("y", np.zeros(1))[0], mean, grid[log.argmax()])
    points = sorted({float(p) for p in kinks if low < p < high})
    m = [
        integrate.quad(
            lambda x, k=k: np.exp(log_product(x) - shift) * x**k,
            *(low, high),
            points=points,
            limit=800,
            epsabs=0,
            epsrel=1e-12,
        )[0]
        for k in range(3)
    ]
    log_mass = shift + np.log(m[0]) - 0.5 * np.log(2 * np.pi * variance)
    return log_mass, m[1] / m[0], m[2] / m[0] - (m[1] / m[0]) ** 2


@each_family
@pytest.mark.parametrize("power", [1.0, 0.5])
@pytest.mark.parametrize(("mean", "variance"), [(0.0, 1.0), (2.0, 25.0), (-3.0, 0.04)])
def test_tilted_moments_are_integrals(name, power, mean, variance):
    bound = terms(name)
    m, v = np.full(3, mean), np.full(3, variance)
    found = bound.tilted(m, v, power, 32)
    for j in range(3):
        log_mass, new_mean, new_variance = by_quad(bound, j, mean, variance, power)
        assert found.log_mass[j] == pytest.approx(log_mass, abs=2e-8)
        sd = np.sqrt(new_variance)
        assert abs(found.mean[j] - new_mean) < 1e-7 * sd + 1e-9
        assert found.variance[j] == pytest.approx(new_variance, rel=1e-6)


def test_probit_far_in_the_tail_stays_finite():
    bound = FAMILIES["probit"]().bind([1, 1, 1])
    found = bound.tilted(np.array([-30.0, -1e3, -1e6]), np.ones(3))
    assert np.isfinite(found.log_mass).all()
    assert (found.variance > 0).all()
    assert (found.variance < 1).all()
    # Φ cuts the tail at zero with unit slope: the tilted mean tends to half of the cavity's.
    assert np.allclose(found.mean / [-30.0, -1e3, -1e6], 0.5, atol=2e-3)


@smooth
def test_expected_values_and_their_gradients(name):
    if name == "student-t":
        pytest.skip("32 Gauss-Hermite nodes do not resolve a density narrower than the Gaussian")
    bound = terms(name)
    mean, variance, step = np.array([0.2, 0.5, 1.0]), np.array([0.3, 0.1, 0.2]), 1e-5
    value, first, second = bound.expected(mean, variance)
    up, down = bound.expected(mean + step, variance)[0], bound.expected(mean - step, variance)[0]
    assert np.allclose(first, (up - down) / (2 * step), rtol=1e-6, atol=1e-7)
    up, down = bound.expected(mean, variance + step)[0], bound.expected(mean, variance - step)[0]
    assert np.allclose(0.5 * second, (up - down) / (2 * step), rtol=1e-5, atol=1e-6)
    for j in range(3):
        one = bound.take(np.array([j]))
        exact = integrate.quad(
            lambda x, one=one, j=j: (
                one.log_density(np.array([x]))[0] * stats.norm.pdf(x, mean[j], np.sqrt(variance[j]))
            ),
            mean[j] - 10 * np.sqrt(variance[j]),
            mean[j] + 10 * np.sqrt(variance[j]),
            epsabs=1e-12,
        )[0]
        assert value[j] == pytest.approx(exact, rel=1e-8, abs=1e-8)


def test_user_likelihood_equals_the_family():
    user = UserLikelihood(lambda y, x: y * x - np.exp(x)).bind([0.0, 3.0, 40.0])
    family = FAMILIES["poisson"]().bind([0.0, 3.0, 40.0])
    m, v = np.array([0.0, 1.0, -2.0]), np.array([1.0, 4.0, 0.5])
    a, b = user.tilted(m, v), family.tilted(m, v)
    assert np.allclose(a.mean, b.mean, rtol=1e-7)
    assert np.allclose(a.variance, b.variance, rtol=1e-6)
    assert np.allclose(a.log_mass, b.log_mass - family.data["constant"], atol=1e-7)
    for got, exact in zip(user.derivatives(m), family.derivatives(m), strict=True):
        assert np.allclose(got, exact, rtol=1e-5, atol=1e-5)


def test_censored_times():
    bound = FAMILIES["weibull"](shape=1.5).bind(np.array([[2.0, 1.0], [2.0, 0.0]]))
    x = np.array([0.3, 0.3])
    scale = np.exp(-0.3 / 1.5)
    exact = [
        stats.weibull_min.logpdf(2, 1.5, scale=scale),
        stats.weibull_min.logsf(2, 1.5, 0, scale),
    ]
    assert np.allclose(bound.log_density(x), exact)


@pytest.mark.parametrize(
    ("name", "y", "side", "sentence"),
    [
        ("probit", [0, 1, 2], {}, "labels 0 and 1, or -1 and .1, got 2 in row 2"),
        ("logit", [-1, 0, 1], {}, "labels -1 and .1, as other rows have them, got 0 in row 1"),
        ("poisson", [0, -1], {}, "whole counts >= 0, got -1 in row 1"),
        ("poisson", [0.5, 1], {}, "whole counts >= 0, got 0.5 in row 0"),
        ("binomial", [3], {"n_trials": [2]}, "at most n_trials successes, got 3 in row 0"),
        ("poisson", [1], {"exposure": [0.0]}, "positive values of exposure, got 0 in row 0"),
        ("poisson", [1], {"n_trials": [1]}, "n_trials means nothing to the likelihood 'poisson'"),
        ("poisson", [1], {"exposure": [1.0, 2.0]}, r"exposure should have shape \(1,\)"),
        ("exponential", [0.0], {}, "positive times, got 0 in row 0"),
        ("weibull", [[1.0, 2.0]], {}, "events 0 or 1, got 2 in row 0"),
        ("gaussian", [np.inf], {}, "finite observations, got inf in row 0"),
    ],
)
def test_bad_observations(name, y, side, sentence):
    with pytest.raises(ValueError, match=sentence):
        FAMILIES[name]().bind(np.asarray(y, dtype=float), **side)


def test_bad_parameters():
    with pytest.raises(ValueError, match="variance should be a positive number, got -1"):
        FAMILIES["gaussian"](variance=-1)
