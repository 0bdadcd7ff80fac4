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
    # The mean of 4000 chi-square averages: a relative deviation of sqrt(2 / 5 / 4000) = 0.01.
    assert squares[sample.is_inlier].mean() == pytest.approx(9.0, rel=0.05)
    assert squares[~sample.is_inlier].mean() == pytest.approx(4.0, rel=0.05)


def test_default_inliers_have_unit_variance_and_cube_is_a_cube():
    sample = make_outlier_subspace(4000, 500, 8, 4, random_state=0)
    inside = sample.X[sample.is_inlier] @ sample.basis
    np.testing.assert_allclose(np.cov(inside.T), np.eye(4), atol=0.1)
    outliers = sample.X[~sample.is_inlier]
    assert outliers.min() >= 0
    assert outliers.max() <= 1


def test_asymmetric_outliers_have_a_wide_spectrum():
    X = make_outlier_subspace(0, 4000, 6, 2, outliers="asymmetric", random_state=0).X
    values = np.linalg.eigvalsh(X.T @ X)
    assert values[-1] / values[0] == pytest.approx(100.0, rel=0.2)


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
