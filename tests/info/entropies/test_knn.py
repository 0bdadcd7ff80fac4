"""Entropies from neighbours: peers, brute force, exact invariances, closed forms."""

import math

import infomeasure
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.special import digamma, gamma

from octavo.info import (
    KnnGraphRenyiEntropy,
    KnnRenyiEntropy,
    KnnShannonEntropy,
    KnnSharmaMittalEntropy,
    KnnTsallisEntropy,
    Normal,
    Uniform,
    analytical_value,
    quick_test,
)

SAMPLES = [np.random.default_rng(d).normal(size=(120, d)) for d in (1, 2, 3, 6, 17)]
each_sample = pytest.mark.parametrize("X", SAMPLES, ids=lambda X: f"d={X.shape[1]}")


def radii(X, k):
    distances = cdist(X, X)
    return np.sort(distances, axis=1)[:, k]


def ball(d):
    return math.pi ** (d / 2) / math.gamma(d / 2 + 1)


@each_sample
def test_shannon_by_its_formula(X):
    n, d = X.shape
    expected = digamma(n) - digamma(4) + math.log(ball(d)) + d * np.log(radii(X, 4)).mean()
    assert KnnShannonEntropy(n_neighbors=4).estimate(X) == pytest.approx(expected, rel=1e-12)


@each_sample
def test_shannon_equals_infomeasure(X):
    theirs = infomeasure.entropy(X, approach="metric", k=4, base="e", minkowski_p=2, noise_level=0)
    assert KnnShannonEntropy(n_neighbors=4).estimate(X) == pytest.approx(float(theirs), rel=1e-12)


@each_sample
@pytest.mark.parametrize("alpha", [0.5, 1.5])
def test_orders_equal_infomeasure(X, alpha):
    theirs = infomeasure.entropy(X, approach="renyi", k=4, base="e", alpha=alpha)
    assert KnnRenyiEntropy(alpha, 4).estimate(X) == pytest.approx(float(theirs), rel=1e-10)
    theirs = infomeasure.entropy(X, approach="tsallis", k=4, base="e", q=alpha)
    assert KnnTsallisEntropy(alpha, 4).estimate(X) == pytest.approx(float(theirs), rel=1e-10)


@each_sample
@pytest.mark.parametrize("alpha", [0.5, 0.8, 1.5, 3.0])
def test_power_entropies_by_their_formula(X, alpha):
    n, d = X.shape
    k = 4
    C = (gamma(k) / gamma(k + 1 - alpha)) ** (1 / (1 - alpha))
    power = (((n - 1) * C * ball(d) * radii(X, k) ** d) ** (1 - alpha)).mean()
    renyi = KnnRenyiEntropy(alpha, k).estimate(X)
    assert renyi == pytest.approx(math.log(power) / (1 - alpha), rel=1e-10)
    tsallis = KnnTsallisEntropy(alpha, k).estimate(X)
    assert tsallis == pytest.approx((1 - power) / (alpha - 1), rel=1e-10)
    sharma = KnnSharmaMittalEntropy(alpha, 0.3, k).estimate(X)
    assert sharma == pytest.approx((power ** (0.7 / (1 - alpha)) - 1) / 0.7, rel=1e-10)


@each_sample
@pytest.mark.parametrize("alpha", [0.6, 1.4])
def test_graph_of_neighbours_by_its_formula(X, alpha):
    n, d = X.shape
    k = 3
    lengths = np.sort(cdist(X, X), axis=1)[:, 1 : k + 1]
    limit = sum(gamma(j + 1 - alpha) / gamma(j) for j in range(1, k + 1))
    power = (((n - 1) * ball(d) * lengths**d) ** (1 - alpha)).sum(axis=1).mean() / limit
    found = KnnGraphRenyiEntropy(alpha, k).estimate(X)
    assert found == pytest.approx(math.log(power) / (1 - alpha), rel=1e-10)
    raw = KnnGraphRenyiEntropy(alpha, k, mult=False).estimate(X)
    constant = math.log(limit * ball(d) ** (alpha - 1)) / (1 - alpha)
    assert raw - found == pytest.approx(constant, rel=1e-9)


def test_graph_with_one_neighbour_is_the_first_neighbour():
    for X in SAMPLES:
        graph = KnnGraphRenyiEntropy(0.7, n_neighbors=1).estimate(X)
        assert graph == pytest.approx(KnnRenyiEntropy(0.7, n_neighbors=1).estimate(X), rel=1e-12)


@each_sample
def test_orders_near_one_approach_shannon(X):
    """ψ(N) against log(N - 1) is the difference of the two conventions."""
    n = X.shape[0]
    shannon = KnnShannonEntropy(n_neighbors=4).estimate(X) - digamma(n) + math.log(n - 1)
    assert KnnRenyiEntropy(1 + 1e-7, 4).estimate(X) == pytest.approx(shannon, abs=1e-4)
    assert KnnTsallisEntropy(1 - 1e-7, 4).estimate(X) == pytest.approx(shannon, abs=1e-4)


def test_sharma_mittal_holds_renyi_and_tsallis():
    X = SAMPLES[2]
    tsallis = KnnTsallisEntropy(0.7).estimate(X)
    assert KnnSharmaMittalEntropy(0.7, 0.7).estimate(X) == pytest.approx(tsallis, rel=1e-12)
    renyi = KnnRenyiEntropy(0.7).estimate(X)
    assert KnnSharmaMittalEntropy(0.7, 1 - 1e-9).estimate(X) == pytest.approx(renyi, rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 100.0), st.floats(-50, 50), st.integers(1, 4))
def test_scaling_moving_turning_and_reordering(seed, scale, shift, d):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, d))
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    moved = (scale * X @ turn + shift)[rng.permutation(40)]
    for estimator in (KnnShannonEntropy(), KnnRenyiEntropy(0.6), KnnGraphRenyiEntropy(0.6)):
        expected = estimator.estimate(X) + d * math.log(scale)
        assert estimator.estimate(moved) == pytest.approx(expected, abs=1e-8)


def theoretical_error(d, n, k):
    """Standard error for normals: the variance of log p is d/2, that of log Gamma(k) ψ'(k)."""
    from scipy.special import polygamma

    return math.sqrt((d / 2 + float(polygamma(1, k))) / n)


@pytest.mark.parametrize(("d", "n"), [(1, 4000), (2, 4000), (3, 8000)])
def test_shannon_lands_within_its_standard_error_on_normals(d, n):
    """Mean of 8 runs: 4 standard errors of the mean, and the bias of order (k/n)^(2/d) log n."""
    cov = 0.5 * np.eye(d) + 0.5
    result = quick_test(
        KnnShannonEntropy(n_neighbors=3), Normal(np.zeros(d), cov), n=n, n_repeats=8
    )
    error = theoretical_error(d, n, 3)
    assert result.deviation < 2 * error
    allowed = 4 * error / math.sqrt(8) + (3 / n) ** (2 / max(d, 2)) * math.log(n)
    assert abs(result.bias) < allowed


def test_error_falls_with_the_sample():
    p = Normal(np.zeros(2), np.eye(2))
    for estimator in (KnnShannonEntropy(), KnnRenyiEntropy(1.5, n_neighbors=5)):
        rms = [
            np.sqrt(((quick_test(estimator, p, n=n, n_repeats=10).estimates
                      - analytical_value("entropy", estimator.measure, p, **(
                          {"alpha": 1.5} if estimator.measure == "renyi" else {}))) ** 2).mean())
            for n in (250, 4000)
        ]  # fmt: skip
        assert rms[1] < rms[0] / 2  # 1/√16 is a quarter


@pytest.mark.parametrize("alpha", [0.6, 2.0])
def test_orders_on_the_uniform_distribution(alpha):
    """All entropies of the uniform distribution on a torus-like large box are log volume."""
    p = Uniform([0, 0], [2, 3])
    result = quick_test(KnnRenyiEntropy(alpha, n_neighbors=5), p, n=8000, n_repeats=5)
    assert result.truth == pytest.approx(math.log(6))
    # Boundary layer: 4 sides, width of the k-th neighbour, where half of the ball is outside.
    layer = 4 * math.sqrt(5 / (math.pi * 8000))
    assert abs(result.bias) < layer


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: KnnRenyiEntropy(alpha=1), "alpha=1 is the limit"),
        (lambda: KnnTsallisEntropy(alpha=1.0), "alpha=1 is the limit"),
        (lambda: KnnSharmaMittalEntropy(0.5, 1), "beta=1 is the limit"),
        (lambda: KnnRenyiEntropy(alpha=5, n_neighbors=3), "must exceed 4"),
        (lambda: KnnGraphRenyiEntropy(alpha=2.5), "must exceed 1.5"),
        (lambda: KnnRenyiEntropy(alpha=-1), "alpha"),
        (lambda: KnnShannonEntropy(n_neighbors=0), "'n_neighbors'"),
        (
            lambda: KnnShannonEntropy(n_neighbors=120),
            "n_neighbors=120 neighbours need at least 121 rows",
        ),
        (lambda: KnnShannonEntropy(jitter=-1), "jitter"),
    ],
)
def test_orders_and_neighbours_out_of_range(make, words):
    with pytest.raises(ValueError, match=words):
        make().estimate(SAMPLES[1])


def test_duplicates_are_named_or_broken():
    X = np.vstack([SAMPLES[1], SAMPLES[1]])
    with pytest.raises(ValueError, match="240 rows, 120 of them distinct"):
        KnnShannonEntropy(n_neighbors=1).estimate(X)
    assert np.isfinite(KnnShannonEntropy(n_neighbors=1, jitter=1e-10).estimate(X))
    assert np.isfinite(
        KnnShannonEntropy(n_neighbors=2).estimate(X)
    )  # the second neighbour is another point


def test_many_dimensions_do_not_underflow():
    X = np.random.default_rng(0).normal(size=(50, 400))
    truth = analytical_value("entropy", "shannon", Normal(np.zeros(400), np.eye(400)))
    assert KnnShannonEntropy().estimate(1e-3 * X) == pytest.approx(
        KnnShannonEntropy().estimate(X) + 400 * math.log(1e-3), rel=1e-10
    )
    assert np.isfinite(KnnRenyiEntropy(0.5).estimate(1e-3 * X))
    assert abs(KnnShannonEntropy().estimate(X) / truth - 1) < 0.5
