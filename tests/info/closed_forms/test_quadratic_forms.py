"""Distribution functions of quadratic forms: scipy's distributions, simulation, bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from octavo.info import quadform_cdf


def test_one_weight_is_a_noncentral_chi_square():
    assert_allclose(
        quadform_cdf([1.0, 5.0], [2.0], 1.5), stats.ncx2.cdf([0.5, 2.5], 1, 1.5), atol=3e-9
    )


def test_no_weight_is_a_normal_and_infinities_are_certain():
    assert_allclose(quadform_cdf(1.0, [0.0], sigma2=4.0), stats.norm.cdf(0.5), atol=3e-9)
    assert_array_equal(quadform_cdf([-np.inf, np.inf], [1.0]), [0, 1])


def test_equal_weights_are_more_degrees_of_freedom():
    x = np.array([[0.5, 3.0], [7.0, 20.0]])
    found = quadform_cdf(x, [1.5, 1.5, 1.5], [1.0, 0.0, 2.0])
    assert_allclose(found, stats.ncx2.cdf(x / 1.5, 3, 3.0), atol=3e-9)


def test_a_form_in_correlated_variables_by_its_principal_axes():
    """x'Mx with x normal: the notes of the docstring, against 200,000 draws."""
    rng = np.random.default_rng(0)
    M = np.array([[1.0, 0.5, 0.0], [0.5, -2.0, 0.3], [0.0, 0.3, 0.5]])
    L, mean = np.tril(rng.normal(size=(3, 3))) + 2 * np.eye(3), np.array([1.0, -0.5, 0.2])
    weights, axes = np.linalg.eigh(L.T @ M @ L)
    ncp = (axes.T @ np.linalg.solve(L, mean)) ** 2
    X = mean + rng.normal(size=(200_000, 3)) @ L.T
    drawn = np.einsum("ni,ij,nj->n", X, M, X)
    for x in np.quantile(drawn, [0.05, 0.5, 0.9]):
        share = np.mean(drawn <= x)
        assert abs(quadform_cdf(x, weights, ncp) - share) < 4 * np.sqrt(0.25 / len(drawn))


def test_bad_input_is_refused_in_words():
    for name, bad in {"ncp": -1.0, "sigma2": -1.0}.items():
        with pytest.raises(ValueError, match=f"{name} must be finite and not negative"):
            quadform_cdf(1.0, [1.0], **{name: bad})
    with pytest.raises(ValueError, match="ncp must be finite"):
        quadform_cdf(1.0, [1.0], ncp=np.nan)
    with pytest.raises(ValueError, match="weights must be a vector"):
        quadform_cdf(1.0, [[1.0]])
    with pytest.raises(ValueError, match="NaN"):
        quadform_cdf(np.nan, [1.0])


@pytest.mark.parametrize("x", [1e4, 1e6, 1e155, 1e300])
def test_far_from_the_mean(x):
    assert_allclose(quadform_cdf([x, -x], [1.0]), [1, 0], atol=1e-9)
    assert_allclose(quadform_cdf([x, -x], [1.0, -1.0], 2.0, 3.0), [1, 0], atol=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e-155, 1e155, 1e300])
def test_units_do_not_matter(scale):
    assert_allclose(
        quadform_cdf(2.5 * scale, [scale, scale / 2], 1.5), quadform_cdf(2.5, [1.0, 0.5], 1.5)
    )


@pytest.mark.parametrize("ncp", [1e10, 1e50, 1e300])
def test_large_noncentrality_is_a_normal(ncp):
    # (Z + √ν)² - ν = Z² + 2√ν Z: within 1/√ν of a symmetric normal
    assert abs(quadform_cdf(ncp, [1.0], ncp) - 0.5) < 1 / np.sqrt(ncp) + 1e-9


def test_tolerances_nobody_reaches_and_overflow_are_told():
    assert_allclose(quadform_cdf(0.7, [1.0], tol=1e-308), stats.chi2.cdf(0.7, 1), atol=1e-10)
    with pytest.raises(ValueError, match="tol must be"):
        quadform_cdf(1.0, [1.0], tol=np.nan)
    with pytest.raises(ValueError, match="overflows"):
        quadform_cdf(1.0, [1e200], 1e200)
    with pytest.raises(ValueError, match="complex"):
        quadform_cdf(1.0, [1j])
