"""Divergences and cross-entropy: formulas by brute force, identities, closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.special import digamma, gamma

from octavo.info import (
    AdaptiveKLDivergence,
    BregmanDivergence,
    Chi2Divergence,
    FDivergence,
    GrowingKnnKLDivergence,
    JDivergence,
    JensenRenyiDivergence,
    JensenShannonDivergence,
    JensenTsallisDivergence,
    KDivergence,
    KnnBhattacharyyaDistance,
    KnnCrossEntropy,
    KnnHellingerDistance,
    KnnKLDivergence,
    KnnL2Divergence,
    KnnRenyiDivergence,
    KnnShannonEntropy,
    KnnSharmaMittalDivergence,
    KnnTsallisDivergence,
    LDivergence,
    Normal,
    SymmetricBregmanDivergence,
    Uniform,
    analytical_value,
    quick_test,
)
from octavo.info.divergences.meta import mixture_sample

RNG = np.random.default_rng(0)
PAIRS = [(RNG.normal(size=(90, d)), RNG.normal(0.4, 1.2, size=(70, d))) for d in (1, 2, 4, 17)]
each_pair = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"d={pair[0].shape[1]}")


def radii(X, Y, k):
    """Return n V ρ^d in X and m V ν^d in Y."""
    d = X.shape[1]
    V = math.pi ** (d / 2) / math.gamma(d / 2 + 1)
    own = np.sort(cdist(X, X), axis=1)[:, k]
    other = np.sort(cdist(X, Y), axis=1)[:, k - 1]
    return (len(X) - 1) * V * own**d, len(Y) * V * other**d


@each_pair
def test_logarithmic_ones_by_their_formulas(pair):
    u, v = radii(*pair, 4)
    kl = KnnKLDivergence(n_neighbors=4).estimate(*pair)
    assert kl == pytest.approx(np.log(v / u).mean(), rel=1e-10)
    cross = KnnCrossEntropy(n_neighbors=4).estimate(*pair)
    assert cross == pytest.approx(np.log(v).mean() - digamma(4), rel=1e-10)


@each_pair
@pytest.mark.parametrize("alpha", [0.5, 0.8, 1.7])
def test_orders_by_their_formulas(pair, alpha):
    k = 5
    u, v = radii(*pair, k)
    B = gamma(k) ** 2 / (gamma(k - alpha + 1) * gamma(k + alpha - 1))
    integral = B * ((u / v) ** (1 - alpha)).mean()
    found = KnnRenyiDivergence(alpha, k).estimate(*pair)
    assert found == pytest.approx(math.log(integral) / (alpha - 1), rel=1e-9)
    found = KnnTsallisDivergence(alpha, k).estimate(*pair)
    assert found == pytest.approx((integral - 1) / (alpha - 1), rel=1e-9)
    found = KnnSharmaMittalDivergence(alpha, 0.4, k).estimate(*pair)
    expected = (integral ** (0.6 / (1 - alpha)) - 1) / -0.6
    assert found == pytest.approx(expected, rel=1e-9)


@each_pair
def test_l2_and_chi2_by_their_formulas(pair):
    k = 5
    u, v = radii(*pair, k)
    square = ((k - 1) / u - 2 * (k - 1) / v + u * (k - 2) * (k - 1) / (v**2 * k)).mean()
    found = KnnL2Divergence(k, squared=True, clip=False).estimate(*pair)
    assert found == pytest.approx(square, rel=1e-9, abs=1e-18)
    assert KnnL2Divergence(k).estimate(*pair) == pytest.approx(math.sqrt(max(square, 0)))
    chi2 = (k - 1) / k * (v / u).mean() - 1
    assert Chi2Divergence(k).estimate(*pair) == pytest.approx(chi2, rel=1e-9)
    assert FDivergence(0.25).estimate(*pair) == pytest.approx(chi2 / 8, rel=1e-9)


@each_pair
def test_half_order_gives_bhattacharyya_and_hellinger(pair):
    half = math.exp(-0.5 * KnnRenyiDivergence(0.5).estimate(*pair))
    assert KnnBhattacharyyaDistance().estimate(*pair) == pytest.approx(-math.log(half), rel=1e-9)
    square = KnnHellingerDistance(squared=True).estimate(*pair)
    assert square == pytest.approx(1 - half, rel=1e-9)
    found = KnnHellingerDistance().estimate(*pair)
    assert found == pytest.approx(math.sqrt(max(0.0, 1 - half)), rel=1e-9)


@each_pair
def test_bregman_by_its_formula(pair):
    X, Y = pair
    k, alpha = 5, 1.6
    u, v = radii(X, Y, k)
    w = radii(Y, X, k)[0]
    C = gamma(k) / gamma(k + 1 - alpha)

    def mean(values):
        return C * (values ** (1 - alpha)).mean()

    expected = mean(w) + mean(u) / 0.6 - alpha / 0.6 * mean(v)
    forth = BregmanDivergence(alpha, k).estimate(X, Y)
    assert forth == pytest.approx(expected, rel=1e-9, abs=1e-15)
    back = BregmanDivergence(alpha, k).estimate(Y, X)
    both = SymmetricBregmanDivergence(alpha, k).estimate(X, Y)
    assert both == pytest.approx(forth + back, rel=1e-9)


@each_pair
def test_adaptive_kl_by_counting(pair):
    X, Y = pair
    k = 3
    XX, XY = cdist(X, X), cdist(X, Y)
    rho, nu = np.sort(XX, axis=1)[:, k], np.sort(XY, axis=1)[:, k - 1]
    total = 0.0
    for i in range(len(X)):
        if rho[i] >= nu[i]:
            total += digamma(k) - digamma(1 + (XY[i] <= rho[i]).sum())
        else:
            total += digamma((XX[i] <= nu[i]).sum()) - digamma(k)  # x itself is the one more
    expected = total / len(X) + math.log(len(Y) / (len(X) - 1))
    assert AdaptiveKLDivergence(k).estimate(X, Y) == pytest.approx(expected, rel=1e-9)


def test_adaptive_kl_where_one_sample_sets_every_radius():
    X = np.random.default_rng(0).normal(size=(40, 2))
    dense = np.random.default_rng(1).normal(size=(4000, 2))
    far = AdaptiveKLDivergence().estimate(X, X + 100.0)  # all radii reach over to Y
    assert np.isfinite(far)
    assert far > 2.0
    assert np.isfinite(AdaptiveKLDivergence().estimate(X, dense))


def test_growing_kl_uses_roots_of_both_sizes():
    X, Y = PAIRS[1]
    u, _ = radii(X, Y, 9)
    _, v = radii(X, Y, 8)
    expected = np.log(v / u).mean() + digamma(9) - digamma(8)
    assert GrowingKnnKLDivergence().estimate(X, Y) == pytest.approx(expected, rel=1e-10)


@each_pair
def test_kl_is_cross_entropy_less_entropy(pair):
    """Exact up to ψ(N) against log(N - 1)."""
    X, Y = pair
    difference = KnnCrossEntropy(4).estimate(X, Y) - KnnShannonEntropy(4).estimate(X)
    convention = digamma(len(X)) - math.log(len(X) - 1)
    assert KnnKLDivergence(4).estimate(X, Y) == pytest.approx(difference + convention, rel=1e-9)


@each_pair
def test_orders_near_one_approach_kl(pair):
    kl = KnnKLDivergence(5).estimate(*pair)
    assert KnnRenyiDivergence(1 + 1e-7).estimate(*pair) == pytest.approx(kl, abs=1e-4)
    assert KnnTsallisDivergence(1 - 1e-7).estimate(*pair) == pytest.approx(kl, abs=1e-4)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 10.0), st.integers(1, 3))
def test_invariance_under_similarities_and_order(seed, scale, d):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(40, d)), rng.normal(0.5, 1.0, size=(35, d))
    turn = scale * np.linalg.qr(rng.normal(size=(d, d)))[0]
    moved = rng.permutation(X @ turn + 3), rng.permutation(Y @ turn + 3)
    for cls in (KnnKLDivergence, KnnRenyiDivergence, KnnHellingerDistance, AdaptiveKLDivergence):
        assert cls().estimate(*moved) == pytest.approx(cls().estimate(X, Y), abs=1e-8)


# --- meta -----------------------------------------------------------------------------------------


def test_j_is_symmetric_and_the_sum_of_both_directions():
    X, Y = PAIRS[1]
    expected = KnnKLDivergence().estimate(X, Y) + KnnKLDivergence().estimate(Y, X)
    assert JDivergence().estimate(X, Y) == pytest.approx(expected, rel=1e-12)
    assert JDivergence().estimate(Y, X) == pytest.approx(expected, rel=1e-12)
    adaptive = JDivergence(kl=AdaptiveKLDivergence()).estimate(X, Y)
    assert adaptive == pytest.approx(
        AdaptiveKLDivergence().estimate(X, Y) + AdaptiveKLDivergence().estimate(Y, X), rel=1e-12
    )


@pytest.mark.parametrize(("weight", "sizes"), [(0.5, (70, 70)), (0.25, (23, 70)), (0.9, (90, 10))])
def test_mixture_takes_as_many_points_as_there_are(weight, sizes):
    X, Y = PAIRS[0]
    mixed = mixture_sample(X, Y, weight, np.random.RandomState(0))
    from_x = np.isin(mixed, X).sum()
    assert (from_x, len(mixed) - from_x) == sizes
    assert len(np.unique(mixed)) == len(mixed)


P, Q = Uniform([0, 0], [1, 1]), Uniform([0.5, 0.0], [1.5, 1.0])


@pytest.mark.parametrize(
    "estimator",
    [
        JensenShannonDivergence(random_state=0),
        JensenShannonDivergence(weight=0.3, random_state=0),
        JensenRenyiDivergence(0.7, random_state=0),
        JensenTsallisDivergence(0.7, random_state=0),
        JensenTsallisDivergence(1.5, weight=0.3, random_state=0),
        KDivergence(random_state=0),
        LDivergence(random_state=0),
    ],
    ids=lambda e: f"{type(e).__name__}-{getattr(e, 'weight', '')}",
)
def test_mixtures_of_boxes_have_closed_forms(estimator):
    """Sides of a box blur over the k-th neighbour: 6 sides, width √(k/(π n))."""
    n = 4000
    result = quick_test(estimator, P, Q, n=n, n_repeats=4)
    blur = math.sqrt(3 / (math.pi * n))
    assert abs(result.bias) < 4 * result.deviation / 2 + 3 * blur


def test_jensen_divergences_of_a_sample_and_itself():
    X = PAIRS[1][0]
    assert JensenShannonDivergence().estimate(X, X.copy()) == 0.0
    assert JensenRenyiDivergence().estimate(X, X) == 0.0
    from octavo.info import KnnTsallisEntropy

    expected = (1 - 2**0.2) * KnnTsallisEntropy(0.8).estimate(X)
    assert JensenTsallisDivergence(0.8).estimate(X, X) == pytest.approx(expected)


# --- accuracy on normals --------------------------------------------------------------------------

NEAR = Normal([0, 0], [[1.0, 0.3], [0.3, 1.0]]), Normal([0.5, 0], [[1.2, 0], [0, 1.2]])


@pytest.mark.parametrize(
    "estimator",
    [
        KnnKLDivergence(),
        AdaptiveKLDivergence(),
        GrowingKnnKLDivergence(),
        KnnL2Divergence(),
        KnnRenyiDivergence(),
        KnnRenyiDivergence(1.5),
        KnnTsallisDivergence(),
        KnnSharmaMittalDivergence(),
        KnnBhattacharyyaDistance(),
        KnnHellingerDistance(squared=True),
        Chi2Divergence(),
        FDivergence(),
        BregmanDivergence(),
        SymmetricBregmanDivergence(1.5),
        KnnCrossEntropy(),
        JDivergence(),
    ],
    ids=lambda e: f"{type(e).__name__}-{getattr(e, 'alpha', '')}",
)
def test_normals_are_found(estimator):
    """Within two deviations of a single estimate: bias no larger than the noise at n = 3000."""
    result = quick_test(estimator, *NEAR, n=3000, n_repeats=6)
    assert abs(result.bias) < 2 * result.deviation + 4 * result.deviation / math.sqrt(6)
    assert result.deviation < 0.25 * max(1.0, abs(result.truth))


def test_error_falls_with_the_sample():
    truth = analytical_value("divergence", "kl", *NEAR)
    rms = []
    for n in (200, 3200):
        found = quick_test(KnnKLDivergence(), *NEAR, n=n, n_repeats=10).estimates
        rms.append(math.sqrt(((found - truth) ** 2).mean()))
    assert rms[1] < rms[0] / 2


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: KnnRenyiDivergence(alpha=1), "alpha=1 is the limit"),
        (lambda: KnnRenyiDivergence(alpha=7, n_neighbors=5), "must exceed 6"),
        (lambda: KnnRenyiDivergence(alpha=-4.5, n_neighbors=5), "must exceed 5.5"),
        (lambda: KnnL2Divergence(n_neighbors=2), "must exceed 2"),
        (lambda: KnnL2Divergence(clip=False), "squared=True"),
        (lambda: Chi2Divergence(n_neighbors=1), "must exceed 1"),
        (lambda: BregmanDivergence(alpha=1), "alpha=1 is the limit"),
        (lambda: KnnSharmaMittalDivergence(beta=1), "beta=1 is the limit"),
        (lambda: KnnKLDivergence(n_neighbors=71), "Y has 70 rows"),
        (lambda: FDivergence(curvature=0), "curvature"),
        (lambda: JensenShannonDivergence(weight=1.0), "weight"),
    ],
)
def test_settings_out_of_range(make, words):
    with pytest.raises(ValueError, match=words):
        make().estimate(*PAIRS[1])


def test_shared_points_are_counted():
    X, Y = PAIRS[1]
    shared = np.vstack([Y, X[:7]])
    with pytest.raises(ValueError, match="7 of the 90 rows of X stand 1 or more times in Y"):
        KnnKLDivergence(n_neighbors=1).estimate(X, shared)
    assert np.isfinite(KnnKLDivergence(n_neighbors=1, jitter=1e-10).estimate(X, shared))


def test_clipping_is_asked_for():
    X = np.random.default_rng(3).normal(size=(60, 2))
    for cls in (KnnKLDivergence, KnnRenyiDivergence):
        # Neighbours in a copy that hardly moved are far nearer than a sample's own.
        raw, clipped = (
            cls(n_neighbors=1, clip=clip).estimate(X, X + 1e-3) for clip in (False, True)
        )
        assert raw < 0
        assert clipped == 0
        raw, clipped = (
            cls(n_neighbors=1, clip=clip).estimate(X, X + 9.0) for clip in (False, True)
        )
        assert clipped == raw > 0


def test_samples_too_small_to_split():
    with pytest.raises(ValueError, match="needs at least 4 rows, got 3"):
        KDivergence().estimate(PAIRS[1][0][:3], PAIRS[1][1])
