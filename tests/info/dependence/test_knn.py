"""Mutual information: other implementations, brute force, closed forms."""

import math

import infomeasure
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.special import digamma
from sklearn.feature_selection import mutual_info_regression

from octavo.info import (
    Chi2MutualInformation,
    EdgeworthEntropy,
    KnnShannonEntropy,
    KSGMutualInformation,
    L2MutualInformation,
    MIFromDivergence,
    MIFromEntropy,
    Normal,
    RenyiMutualInformation,
    TsallisMutualInformation,
    analytical_value,
    quick_test,
)
from octavo.info.dependence.meta import joint_and_product


def sample(n=150, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, :1] + 0.7 * rng.normal(size=(n, d))


def ksg_by_counting(blocks, k, variant):
    """Equations (22) and (23) from all pairs."""
    n, m = len(blocks[0]), len(blocks)
    parts = [cdist(block, block, "chebyshev") for block in blocks]
    joint = np.max(parts, axis=0)
    np.fill_diagonal(joint, np.inf)
    order = np.argsort(joint, axis=1)[:, :k]
    total = 0.0
    for i in range(n):
        for part in parts:
            others = np.delete(part[i], i)
            if variant == 1:
                total += digamma((others < joint[i, order[i, -1]]).sum() + 1)
            else:
                total += digamma((others <= part[i, order[i]].max()).sum())
    first = digamma(k) + (m - 1) * digamma(n) - total / n
    return first if variant == 1 else first - (m - 1) / k


@pytest.mark.parametrize("variant", [1, 2])
@pytest.mark.parametrize("d", [1, 2])
def test_ksg_by_counting(variant, d):
    blocks = sample(d=d)
    expected = ksg_by_counting(blocks, 4, variant)
    found = KSGMutualInformation(n_neighbors=4, variant=variant).estimate(*blocks)
    assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("variant", [1, 2])
def test_ksg_of_three_groups_by_counting(variant):
    X, Y = sample(d=2)
    table = np.hstack([X, Y])
    groups = [[0], [1, 2], [3]]
    expected = ksg_by_counting([table[:, g] for g in groups], 3, variant)
    found = KSGMutualInformation(n_neighbors=3, variant=variant).estimate(table, groups=groups)
    assert found == pytest.approx(expected, rel=1e-10)


def test_ksg_equals_infomeasure():
    X, Y = sample(d=1)
    theirs = infomeasure.mutual_information(
        X[:, 0], Y[:, 0], approach="metric", k=4, base="e", noise_level=0
    )
    assert KSGMutualInformation(n_neighbors=4).estimate(X, Y) == pytest.approx(
        float(theirs), rel=1e-10
    )


def test_ksg_equals_scikit_learn_up_to_its_noise_and_scaling():
    X, Y = sample(n=400, d=1)
    X, Y = X / X.std(ddof=0), Y / Y.std(ddof=0)
    theirs = mutual_info_regression(X, Y[:, 0], n_neighbors=3, random_state=0)[0]
    assert KSGMutualInformation(n_neighbors=3).estimate(X, Y) == pytest.approx(theirs, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 10.0))
def test_ksg_is_symmetric_and_invariant(seed, scale):
    X, Y = sample(n=60, seed=seed)
    rows = np.random.default_rng(seed).permutation(60)
    value = KSGMutualInformation().estimate(X, Y)
    assert KSGMutualInformation().estimate(Y, X) == pytest.approx(value, abs=1e-9)
    moved = KSGMutualInformation().estimate(scale * X[rows] + 1, scale * Y[rows] - 2)
    assert moved == pytest.approx(value, abs=1e-9)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.001, 1000.0))
def test_scaled_columns_make_units_irrelevant(seed, scale):
    X, Y = sample(n=60, seed=seed)
    units = scale ** np.arange(2)
    by_deviation = KSGMutualInformation(scaling="deviation")
    expected = by_deviation.estimate(X, Y)
    assert by_deviation.estimate(X * units, Y * scale) == pytest.approx(expected, abs=1e-9)
    by_rank = KSGMutualInformation(scaling="copula")
    expected = by_rank.estimate(X, Y)
    assert by_rank.estimate(np.exp(X) * units, np.arctan(Y)) == pytest.approx(expected, abs=1e-9)


def test_three_entropies():
    X, Y = sample()
    H = KnnShannonEntropy(n_neighbors=4)
    expected = H.estimate(X) + H.estimate(Y) - H.estimate(np.hstack([X, Y]))
    assert MIFromEntropy(H).estimate(X, Y) == pytest.approx(expected, rel=1e-12)


def test_three_entropies_of_gaussians_by_edgeworth():
    """Exact up to third cumulants: -½ log(1 - r²) of the sample's correlation."""
    X = Normal([0, 0], [[1, 0.6], [0.6, 1]]).sample(2000, 0)
    r = np.corrcoef(X.T)[0, 1]
    found = MIFromEntropy(EdgeworthEntropy()).estimate(X)
    assert found == pytest.approx(-0.5 * math.log(1 - r * r), abs=20 / 2000)


def test_halves_are_apart_and_the_product_keeps_the_margins():
    X, Y = sample(n=101)
    joint, product = joint_and_product([X, Y], np.random.RandomState(0))
    assert len(joint) == 50
    assert len(product) == 51
    assert not np.isin(joint[:, 0], product[:, 0]).any()
    rows = {tuple(row) for row in np.hstack([X, Y])}
    assert all(tuple(row) in rows for row in joint)
    assert not {tuple(row) for row in product} <= rows
    for column in range(4):
        rest = np.setdiff1d(np.hstack([X, Y])[:, column], joint[:, column])
        np.testing.assert_array_equal(np.sort(product[:, column]), np.sort(rest))


P = Normal([0, 0], [[1, 0.5], [0.5, 1]])


@pytest.mark.parametrize(
    "estimator",
    [
        KSGMutualInformation(),
        KSGMutualInformation(variant=2),
        MIFromEntropy(),
        MIFromDivergence(random_state=0),
        L2MutualInformation(random_state=0),
        RenyiMutualInformation(random_state=0),
        TsallisMutualInformation(1.3, random_state=0),
        Chi2MutualInformation(random_state=0),
    ],
    ids=lambda e: f"{type(e).__name__}-{getattr(e, 'variant', '')}",
)
def test_normals_are_found(estimator):
    result = quick_test(estimator, P, n=4000, n_repeats=6)
    assert abs(result.bias) < 2 * result.deviation + 4 * result.deviation / math.sqrt(6)
    assert result.deviation < 0.1


def test_groups_of_a_normal():
    cov = np.array([[1, 0.3, 0.5, 0], [0.3, 1, 0, 0], [0.5, 0, 1, 0.2], [0, 0, 0.2, 1.0]])
    p = Normal(np.zeros(4), cov)
    groups = [[0, 1], [2, 3]]
    result = quick_test(KSGMutualInformation(), p, n=3000, n_repeats=4, groups=groups)
    S = cov
    expected = 0.5 * (
        np.linalg.slogdet(S[:2, :2])[1] + np.linalg.slogdet(S[2:, 2:])[1] - np.linalg.slogdet(S)[1]
    )
    assert result.truth == pytest.approx(expected)
    assert abs(result.bias) < 4 * result.deviation


def test_independent_variables_are_near_zero():
    rng = np.random.default_rng(0)
    values = [KSGMutualInformation().estimate(*rng.normal(size=(2, 500, 1))) for _ in range(20)]
    assert abs(np.mean(values)) < 4 * np.std(values) / math.sqrt(20)


def test_error_falls_with_the_sample():
    truth = analytical_value("mutual_info", "shannon", P)
    rms = []
    for n in (200, 3200):
        found = quick_test(KSGMutualInformation(), P, n=n, n_repeats=10).estimates
        rms.append(math.sqrt(((found - truth) ** 2).mean()))
    assert rms[1] < rms[0] / 2


def test_bad_input():
    X, Y = sample()
    with pytest.raises(ValueError, match="300 rows, 150 of them distinct"):
        KSGMutualInformation(n_neighbors=1).estimate(np.vstack([X, X]), np.vstack([Y, Y]))
    jittered = KSGMutualInformation(n_neighbors=1, jitter=1e-10)
    assert np.isfinite(jittered.estimate(np.vstack([X, X]), np.vstack([Y, Y])))
    with pytest.raises(ValueError, match="constant"):
        KSGMutualInformation().estimate(X, np.ones(150))
    with pytest.raises(ValueError, match="n_neighbors=150 neighbours need at least 151 rows"):
        KSGMutualInformation(n_neighbors=150).estimate(X, Y)
    with pytest.raises(ValueError, match="variant"):
        KSGMutualInformation(variant=3).estimate(X, Y)
    with pytest.raises(ValueError, match="linearly dependent"):
        MIFromEntropy().estimate(X, X)
    with pytest.raises(ValueError, match="alpha=1 is the limit"):
        RenyiMutualInformation(alpha=1).estimate(X, Y)
    with pytest.raises(ValueError, match="at least 4 rows, got 3"):
        MIFromDivergence().estimate(X[:3], Y[:3])


def test_more_shuffles_make_a_larger_product():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(100, 1)), rng.normal(size=(100, 2))
    joint, product = joint_and_product([X, Y], np.random.RandomState(0), 4)
    assert joint.shape == (50, 3)
    assert 190 < len(product) <= 200  # pairs that two shuffles make are kept once
    assert len(np.unique(product, axis=0)) == len(product)
    other = ~np.isin(X[:, 0], joint[:, 0])
    np.testing.assert_array_equal(np.unique(product[:, 0]), np.sort(X[other, 0]))


def test_shuffles_mend_the_thin_places_of_the_product():
    """χ² of a normal with correlation 1/2 is 1/3; one shuffle leaves it far below."""
    p = Normal([0, 0], [[1, 0.5], [0.5, 1]])
    one, ten = (
        quick_test(Chi2MutualInformation(n_shuffles=s, random_state=0), p, n=4000, n_repeats=8)
        for s in (1, 10)
    )
    assert one.bias < -0.04
    assert abs(ten.bias) < abs(one.bias)
