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
