"""Bounds on moments against the distances that samples really have."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from octavo.svm import (
    accuracy_to_kappa,
    bootstrap_deviation,
    class_moments,
    largest_uncertainty,
    moment_deviation,
    moment_uncertainty,
    worst_case_error,
)


def in_ball(rng, n, d=3):
    """Return points of norm at most one, far from normal: a corner and a thin shell."""
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X[rng.random(n) < 0.3] = np.eye(d)[0]
    return X


@pytest.mark.parametrize("m", [5, 50])
def test_samples_are_as_near_as_the_bound_says(m):
    rng = np.random.default_rng(0)
    true = in_ball(rng, 200_000)
    mean, cov = true.mean(axis=0), np.cov(true.T, bias=True)
    delta, far = 0.2, []
    for _ in range(400):
        _, one = class_moments(np.r_[[[0.0] * 3], in_ball(rng, m)], [0] + [1] * m)
        far.append((np.linalg.norm(one.mean - mean), np.linalg.norm(one.cov - cov)))
    bound = [moment_deviation(m, 1.0, delta, kind) for kind in ("mean", "cov")]
    assert np.all(np.mean(np.array(far) <= bound, axis=0) >= 1 - delta)


def test_published_formulas_at_a_worked_point():
    # R = 3, m = 16, δ = 2/e²: 2/δ = e², so that √(2 ln 2/δ) = 2
    delta = 2 / np.e**2
    assert_allclose(moment_deviation(16, 3.0, delta, "cov"), 2 * 9 / 4 * (2 + 2))
    assert_allclose(moment_deviation(16, 3.0, delta / 2, "mean"), 3 / 4 * (2 + 2))
    found = moment_uncertainty([16, 64], 3.0, delta)
    assert_allclose(found.inflation, [18.0, 9.0])  # Eq. (3.14)
    assert_allclose(found.offset, 2 * found.inflation)  # T = 2A + κ²A


def test_union_splits_delta_among_four_bounds():
    delta = 0.03
    found = moment_uncertainty([25, 100], 2.0, delta, bound="union")
    factor = np.array([2 / 5, 2 / 10])
    assert_allclose(found.offset, 8 * factor * (2 + np.sqrt(2 * np.log(4 / delta))))
    assert_allclose(found.inflation, 4 * factor * (2 + np.sqrt(2 * np.log(8 / delta))))


def test_largest_uncertainty_is_where_the_offsets_fill_the_distance():
    full = moment_uncertainty([40, 90], 2.0)
    nu = largest_uncertainty(1.7, full)
    assert_allclose(np.sqrt(full.times(nu).offset).sum(), 1.7)


def test_bootstrap_is_near_the_true_quantile_and_below_the_bound():
    rng = np.random.default_rng(1)
    m, delta = 200, 0.1
    true = in_ball(rng, 200_000)
    cov = np.cov(true.T, bias=True)
    far = []
    for _ in range(400):
        X = in_ball(rng, m)
        far.append(
            (
                np.linalg.norm(X.mean(axis=0) - true.mean(axis=0)),
                np.linalg.norm(np.cov(X.T, bias=True) - cov),
            )
        )
    quantiles = np.quantile(far, 1 - delta, axis=0)
    guesses = [bootstrap_deviation(in_ball(rng, m), delta, 300, seed) for seed in range(10)]
    # A quantile of 300 resamples has a relative spread of about 5 %, ten of them less than 2 %;
    # the sample's own moments move it by some 1/√200 more.
    assert_allclose(np.mean(guesses, axis=0), quantiles, rtol=0.1)
    assert np.all(
        np.max(guesses, axis=0) < [moment_deviation(m, 1, delta, k) for k in ("mean", "cov")]
    )


def test_chebyshev_is_attained_by_two_points():
    kappa = np.array([0.5, 1.0, 3.0])
    p = worst_case_error(kappa)
    # Mass p at distance κ beyond the plane, the rest at -1/κ: mean 0, variance 1.
    assert_allclose(p * kappa + (1 - p) * (-1 / kappa), 0, atol=1e-15)
    assert_allclose(p * kappa**2 + (1 - p) / kappa**2, 1)
    assert worst_case_error(-2.0) == 1.0
    assert_allclose(worst_case_error(accuracy_to_kappa(0.37)), 0.63)


def test_moments_are_numpys_and_weights_are_repetitions():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(30, 4)) + 5, rng.random(30) < 0.4
    zero, one = class_moments(X, y)
    assert_allclose(one.mean, X[y].mean(axis=0))
    assert_allclose(zero.cov, np.cov(X[~y].T, bias=True), atol=1e-14)
    counts = rng.integers(1, 4, 30)
    repeated = class_moments(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    weighted = class_moments(X, y, counts.astype(float))
    from_csr = class_moments(sp.csr_array(X), y, counts.astype(float))
    for a, b, c in zip(repeated, weighted, from_csr):
        assert a.n == b.n == c.n
        for field in ("mean", "cov"):
            assert_allclose(getattr(a, field), getattr(b, field), atol=1e-13)
            # A sparse covariance is a difference of squares of size 25.
            assert_allclose(getattr(a, field), getattr(c, field), atol=1e-12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: moment_deviation(0), "at least one row"),
        (lambda: moment_deviation(5, delta=1.0), "strictly between 0 and 1"),
        (lambda: moment_deviation(5, radius=-1.0), "radius"),
        (lambda: moment_deviation(5, kind="median"), "'mean' or 'cov'"),
        (lambda: moment_uncertainty([5, 5], bound="hope"), "'thesis' or 'union'"),
        (lambda: bootstrap_deviation(np.ones((3, 2)), delta=0.0), "strictly between"),
        (lambda: bootstrap_deviation(np.ones((3, 2)), n_bootstrap=0), "at least 1"),
        (lambda: accuracy_to_kappa(1.0), r"\[0, 1\)"),
        (lambda: class_moments([[1.0], [2.0]], [1, 1]), "Both classes"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
