"""Closed forms against numerical integration, simulation and each other."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import dblquad, quad

from octavo._names import UnknownNameError
from octavo.info import (
    Exponential,
    KnnRenyiEntropy,
    KnnShannonEntropy,
    Normal,
    Uniform,
    analytical_value,
    quick_test,
)
from octavo.info.closed_forms.analytical import _FORMS
from octavo.info.closed_forms.families import log_power_integral, mean_distance, mixture_power

PAIRS = {
    "normal": (Normal(0.2, 1.3), Normal(-0.5, 2.0)),
    "uniform": (Uniform(0.5, 1.5), Uniform(0.0, 3.0)),
    "exponential": (Exponential(2.0), Exponential(1.2)),
}


def densities(name):
    p, q = PAIRS[name]
    if name == "normal":
        f, g = (stats.norm(x.mean[0], math.sqrt(x.cov[0, 0])) for x in (p, q))
        return f.pdf, g.pdf, [-14.0, 0.0, 14.0]
    if name == "uniform":
        f, g = (stats.uniform(x.low[0], x.high[0] - x.low[0]) for x in (p, q))
        return f.pdf, g.pdf, [0.0, 0.5, 1.5, 3.0]
    f, g = (stats.expon(scale=1 / x.rate[0]) for x in (p, q))
    return f.pdf, g.pdf, [0.0, 3.0, 25.0]


def integral(h, points):
    pieces = itertools.pairwise(points)
    return sum(quad(h, a + 1e-12, b - 1e-12, limit=200, epsabs=1e-11)[0] for a, b in pieces)


def log(x):
    return math.log(x) if x > 0 else 0.0


INTEGRALS = {
    ("entropy", "shannon", ()): lambda p, q: -p * log(p),
    ("cross_entropy", "shannon", ()): lambda p, q: -p * log(q),
    ("divergence", "kl", ()): lambda p, q: p * (log(p) - log(q)) if p > 0 else 0.0,
    ("divergence", "euclidean", ()): lambda p, q: (p - q) ** 2,
    ("divergence", "chi2", ()): lambda p, q: (p - q) ** 2 / q if q > 0 else 0.0,
    ("divergence", "k", ()): lambda p, q: p * log(2 * p / (p + q)) if p > 0 else 0.0,
    ("divergence", "bregman", (("alpha", 1.7),)): lambda p, q: (
        q**1.7 + p**1.7 / 0.7 - 1.7 / 0.7 * p * q**0.7
    ),
    ("divergence", "tsallis", (("alpha", 0.6),)): lambda p, q: (p**0.6 * q**0.4 - p) / -0.4,
    ("kernel", "probability_product", (("rho", 0.7),)): lambda p, q: (p * q) ** 0.7,
    ("kernel", "bhattacharyya", ()): lambda p, q: math.sqrt(p * q),
    ("divergence", "jensen_shannon", (("weight", 0.3),)): lambda p, q: (
        -(0.3 * p + 0.7 * q) * log(0.3 * p + 0.7 * q) + 0.3 * p * log(p) + 0.7 * q * log(q)
    ),
    ("divergence", "jensen_tsallis", (("alpha", 2.0), ("weight", 0.3))): lambda p, q: (
        -((0.3 * p + 0.7 * q) ** 2) + (0.3 * p) ** 2 + (0.7 * q) ** 2
        + (0.3 - 0.09) * p + (0.7 - 0.49) * q
    ),
}  # fmt: skip


@pytest.mark.parametrize("family", PAIRS)
@pytest.mark.parametrize("key", INTEGRALS, ids=lambda key: "-".join(key[:2]))
def test_values_equal_numerical_integrals(family, key):
    kind, measure, params = key
    p, q = PAIRS[family]
    f, g, points = densities(family)
    expected = integral(lambda x: INTEGRALS[key](float(f(x)), float(g(x))), points)
    arguments = (p,) if kind == "entropy" else (p, q)
    try:
        found = analytical_value(kind, measure, *arguments, **dict(params))
    except NotImplementedError:
        assert (measure in ("k", "jensen_shannon") and family != "uniform") or (
            measure == "jensen_tsallis" and family == "exponential"
        )
        return
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("family", PAIRS)
def test_functions_of_the_same_integral_agree(family):
    p, q = PAIRS[family]
    I = math.exp(log_power_integral(p, 0.6))
    assert analytical_value("entropy", "renyi", p, alpha=0.6) == pytest.approx(math.log(I) / 0.4)
    assert analytical_value("entropy", "tsallis", p, alpha=0.6) == pytest.approx((I - 1) / 0.4)
    sharma = analytical_value("entropy", "sharma_mittal", p, alpha=0.6, beta=0.6)
    assert sharma == pytest.approx((I - 1) / 0.4)
    B = analytical_value("kernel", "bhattacharyya", p, q)
    assert analytical_value("divergence", "bhattacharyya", p, q) == pytest.approx(-math.log(B))
    assert analytical_value("divergence", "hellinger", p, q) == pytest.approx(math.sqrt(1 - B))
    renyi = analytical_value("divergence", "renyi", p, q, alpha=0.5)
    assert renyi == pytest.approx(-2 * math.log(B))
    j = analytical_value("divergence", "kl", p, q)
    assert analytical_value("divergence", "f", p, q, curvature=2.0) == pytest.approx(
        analytical_value("divergence", "chi2", p, q)
    )
    assert analytical_value("divergence", "renyi", p, q, alpha=1 - 1e-7) == pytest.approx(j, 1e-4)
    squared = analytical_value("divergence", "l2", p, q, squared=True)
    bregman = analytical_value("divergence", "bregman", p, q, alpha=2.0)
    assert bregman == pytest.approx(squared)
    symmetric = analytical_value("divergence", "bregman_symmetric", p, q, alpha=2.0)
    assert symmetric == pytest.approx(2 * squared)


def test_the_renyi_divergence_of_normals_in_its_usual_form():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 3, 3))
    S1, S2 = A @ A.T + np.eye(3), B @ B.T + 4 * np.eye(3)
    gap = np.array([0.3, -0.2, 1.0])
    alpha = 0.7
    S = (1 - alpha) * S1 + alpha * S2
    logdet = lambda M: np.linalg.slogdet(M)[1]  # noqa: E731
    expected = alpha / 2 * gap @ np.linalg.solve(S, gap) - (
        logdet(S) - (1 - alpha) * logdet(S1) - alpha * logdet(S2)
    ) / (2 * (alpha - 1))
    p, q = Normal(gap, S1), Normal(np.zeros(3), S2)
    assert analytical_value("divergence", "renyi", p, q, alpha=alpha) == pytest.approx(expected)


def test_chi2_of_normals_does_not_exist_for_thin_tails():
    wide, thin = Normal(0, 3.0), Normal(0, 1.0)
    assert analytical_value("divergence", "chi2", wide, thin) == math.inf
    assert math.isfinite(analytical_value("divergence", "chi2", thin, wide))


def test_boxes_that_do_not_lie_in_each_other():
    p, q = Uniform(0, 1), Uniform(0.5, 1.5)
    assert analytical_value("divergence", "kl", p, q) == math.inf
    assert analytical_value("divergence", "chi2", p, q) == math.inf
    assert analytical_value("kernel", "bhattacharyya", p, q) == pytest.approx(0.5)
    assert analytical_value("kernel", "bhattacharyya", p, Uniform(2, 3)) == 0.0
    assert analytical_value("divergence", "jensen_shannon", p, Uniform(2, 3)) == pytest.approx(
        math.log(2)
    )


@pytest.mark.parametrize("family", PAIRS)
def test_mean_distance_by_simulation(family):
    p, q = PAIRS[family]
    x, y = p.sample(200_000, 0), q.sample(200_000, 1)
    gaps = np.abs(x - y)
    assert mean_distance(p, q) == pytest.approx(gaps.mean(), abs=5 * gaps.std() / 200_000**0.5)
    energy = analytical_value("divergence", "energy", p, q)
    assert energy > 0
    assert analytical_value("divergence", "energy", p, p) == pytest.approx(0.0, abs=1e-12)


def test_energy_distance_by_its_integral():
    """2 ∫ (F - G)²."""
    p, q = PAIRS["normal"]
    F, G = stats.norm(0.2, 1.3**0.5).cdf, stats.norm(-0.5, 2.0**0.5).cdf
    expected = 2 * quad(lambda x: (F(x) - G(x)) ** 2, -15, 15)[0]
    assert analytical_value("divergence", "energy", p, q) == pytest.approx(expected, rel=1e-7)


@pytest.mark.slow
def test_expected_kernel_by_integration():
    p, q = PAIRS["normal"]
    f, g = stats.norm(0.2, 1.3**0.5).pdf, stats.norm(-0.5, 2.0**0.5).pdf
    expected = dblquad(
        lambda x, y: f(x) * g(y) * math.exp(-((x - y) ** 2) / (2 * 0.8**2)), -9, 9, -9, 9
    )[0]
    found = analytical_value("kernel", "expected", p, q, bandwidth=0.8)
    assert found == pytest.approx(expected, rel=1e-6)


def test_association_by_simulation():
    """Quadrant and rank correlations of a million draws; five standard errors."""
    p = Normal([1, 2], [[4, 1.2], [1.2, 1]])
    X = p.sample(1_000_000, 0)
    above = X > [1, 2]
    blomqvist = 2 * (above[:, 0] == above[:, 1]).mean() - 1
    assert analytical_value("association", "blomqvist", p) == pytest.approx(blomqvist, abs=5e-3)
    spearman = stats.spearmanr(X[:200_000]).statistic
    for i in (1, 2, 3, 4):
        found = analytical_value("association", f"spearman{i}", p)
        assert found == pytest.approx(spearman, abs=5 / 200_000**0.5)
    with pytest.raises(NotImplementedError):
        analytical_value("association", "blomqvist", Normal(np.zeros(3), np.eye(3)))


@pytest.mark.parametrize("alpha", [0.3, 0.8, 1.5, 2.0])
def test_powers_of_mixtures_of_normals(alpha):
    p, q = PAIRS["normal"]
    f, g, points = densities("normal")
    expected = integral(lambda x: (0.4 * f(x) + 0.6 * g(x)) ** alpha, points)
    assert mixture_power(p, q, 0.4, alpha) == pytest.approx(math.log(expected), rel=1e-6, abs=1e-7)


def test_quadratic_power_of_a_mixture_in_the_plane():
    """∫ (wp + vq)² is a sum of three Gaussian integrals."""
    p, q = Normal([0, 0], [[1, 0.3], [0.3, 1]]), Normal([0.5, 0], [[1.2, 0], [0, 1.2]])
    cross = 2 * 0.4 * 0.6 * math.exp(log_power_integral(p, 1, q, 1))
    own = 0.16 * math.exp(log_power_integral(p, 2)) + 0.36 * math.exp(log_power_integral(q, 2))
    assert mixture_power(p, q, 0.4, 2.0) == pytest.approx(math.log(own + cross), rel=1e-12)


def test_mixtures_of_normals_by_simulation():
    p, q = Normal([0, 0], [[1, 0.3], [0.3, 1]]), Normal([0.5, 0], [[1.2, 0], [0, 1.2]])
    X, Y = p.sample(400_000, 0), q.sample(400_000, 1)
    at_x, at_y = (p.log_density(X), q.log_density(X)), (p.log_density(Y), q.log_density(Y))
    terms = [f - np.logaddexp(f, g) + math.log(2) for f, g in (at_x, at_y[::-1])]
    found = analytical_value("divergence", "jensen_shannon", p, q)
    error = math.sqrt(sum(t.var() / t.size for t in terms)) / 2
    assert found == pytest.approx(sum(t.mean() for t in terms) / 2, abs=4 * error)
    with pytest.raises(NotImplementedError, match="two variables of one scale"):
        mixture_power(Normal(np.zeros(3), np.eye(3)), Normal(np.ones(3), np.eye(3)), 0.5, 1.5)


def test_mutual_information_of_a_normal():
    p = Normal([0, 0], [[2, 0.8], [0.8, 1]])
    r2 = 0.64 / 2
    assert analytical_value("mutual_info", "shannon", p) == pytest.approx(-0.5 * math.log(1 - r2))
    assert analytical_value("mutual_info", "chi2", p) == pytest.approx(r2 / (1 - r2))
    independent = Normal([0, 0], [[2, 0], [0, 1]])
    for measure, params in (("renyi", {"alpha": 0.7}), ("tsallis", {"alpha": 0.7}), ("l2", {})):
        value = analytical_value("mutual_info", measure, independent, **params)
        assert value == pytest.approx(0.0, abs=1e-7)


def test_every_estimator_of_these_kinds_has_a_closed_form():
    from octavo.info import list_estimators

    for kind in ("entropy", "divergence", "cross_entropy"):
        for record in list_estimators(kind):
            if record.name.startswith(("Knn", "Jensen")):
                assert (kind, record.measure) in _FORMS, record.name


def test_families_draw_what_they_say():
    p = Normal([1, -1], [[2, 0.5], [0.5, 1]])
    X = p.sample(100_000, 0)
    np.testing.assert_allclose(X.mean(axis=0), p.mean, atol=5 * 1.5 / 100_000**0.5)
    np.testing.assert_allclose(np.cov(X.T), p.cov, atol=5 * 3 / 100_000**0.5)
    box = Uniform([0, 5], [1, 7]).sample(1000, 0)
    assert ((box >= [0, 5]) & (box <= [1, 7])).all()
    waits = Exponential([1.0, 4.0]).sample(100_000, 0)
    np.testing.assert_allclose(waits.mean(axis=0), [1, 0.25], rtol=5 / 100_000**0.5)


def test_quick_test_uses_the_parameters_of_the_estimator():
    p = Normal(0, 1)
    result = quick_test(KnnRenyiEntropy(alpha=0.5, n_neighbors=4), p, n=200, n_repeats=3)
    assert result.truth == pytest.approx(analytical_value("entropy", "renyi", p, alpha=0.5))
    assert result.estimates.shape == (3,)
    assert result.bias == pytest.approx(result.mean - result.truth)
    again = quick_test(KnnShannonEntropy(), p, n=200, n_repeats=3)
    np.testing.assert_array_equal(
        again.estimates, quick_test(KnnShannonEntropy(), p, n=200, n_repeats=3).estimates
    )


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: Normal([0, 0], 1.0), ValueError, r"shape \(2, 2\)"),
        (lambda: Normal(0, -1.0), ValueError, "positive definite"),
        (lambda: Uniform(1, 0), ValueError, "low < high"),
        (lambda: Exponential(0.0), ValueError, "positive"),
        (
            lambda: analytical_value("divergence", "kl", Normal(), Uniform()),
            NotImplementedError,
            "with Uniform",
        ),
        (
            lambda: analytical_value("divergence", "kl", Normal(), Normal([0, 0], np.eye(2))),
            ValueError,
            "same dimension",
        ),
        (lambda: analytical_value("entropy", "shanon", Normal()), UnknownNameError, "shannon"),
        (
            lambda: analytical_value("mutual_info", "shannon", Uniform([0, 0], [1, 1])),
            NotImplementedError,
            "dependence for Uniform",
        ),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()
