"""The generator of points on a subspace among outliers."""

import numpy as np
import pytest

from octavo.data import make_outlier_subspace


@pytest.mark.parametrize("outliers", ["cube", "haystack", "asymmetric"])
def test_inliers_lie_on_the_subspace(outliers):
    sample = make_outlier_subspace(200, 300, 12, 3, outliers=outliers, random_state=0)
    assert sample.X.shape == (500, 12)
    np.testing.assert_allclose(sample.basis.T @ sample.basis, np.eye(3), atol=1e-12)
    inliers = sample.X[sample.is_inlier]
    np.testing.assert_allclose(inliers @ sample.basis @ sample.basis.T, inliers, atol=1e-12)
    assert sample.is_inlier.sum() == 200


def test_scales_are_root_mean_square_norms():
    sample = make_outlier_subspace(
        4000, 4000, 20, 5, inlier_scale=3.0, outlier_scale=2.0, outliers="haystack", random_state=0
    )
    squares = (sample.X**2).sum(axis=1)
    # The mean of 4000 chi-square averages: relative deviations of √(2 / 5 / 4000) and, of twenty
    # coordinates, half of that.
    error = np.sqrt(2 / 5 / 4000)
    assert squares[sample.is_inlier].mean() == pytest.approx(9.0, rel=4.5 * error)
    assert squares[~sample.is_inlier].mean() == pytest.approx(4.0, rel=2.25 * error)


def test_default_inliers_have_unit_variance_and_cube_is_a_cube():
    sample = make_outlier_subspace(4000, 500, 8, 4, random_state=0)
    inside = sample.X[sample.is_inlier] @ sample.basis
    # variances of 4000 rows have an error of √(2 / 4000)
    np.testing.assert_allclose(np.cov(inside.T), np.eye(4), atol=4.5 * np.sqrt(2 / 4000))
    outliers = sample.X[~sample.is_inlier]
    assert outliers.min() >= 0
    assert outliers.max() <= 1


def test_asymmetric_outliers_have_a_wide_spectrum():
    X = make_outlier_subspace(
        0, 40_000, 6, 2, outliers="asymmetric", outlier_scale=3.0, random_state=0
    ).X
    values = np.linalg.eigvalsh(X.T @ X / 40_000)
    # Two orders of magnitude, evenly in logarithms; below N(0, 9 I / 6). An eigenvalue of 40,000
    # rows has a relative error of √(2 / 40,000); neighbours, a factor of 2.5 apart, move it by
    # less than a thousandth.
    np.testing.assert_allclose(values, 1.5 * np.geomspace(0.01, 1.0, 6), rtol=0.001 + 4.5 / 141)


def test_noise():
    exact, noisy = (
        make_outlier_subspace(50, 50, 10, 2, noise=eta, random_state=0) for eta in (0.0, 0.1)
    )
    assert (noisy.X - exact.X).std() == pytest.approx(0.1, rel=0.1)


def test_bad_input():
    with pytest.raises(ValueError, match="d must be below D=4"):
        make_outlier_subspace(5, 5, 4, 4)
    with pytest.raises(ValueError, match="'outliers'"):
        make_outlier_subspace(5, 5, 4, 2, outliers="none")
