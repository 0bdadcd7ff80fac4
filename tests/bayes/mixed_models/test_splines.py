"""O'Sullivan splines: roughness is what it says, lines are free, ends go on straight."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import BSpline, CubicSpline

from octavo.bayes import OSullivanSplines
from octavo.bayes.mixed_models.splines import roughness


def test_roughness_equals_numerical_integration():
    knots = np.concatenate([np.zeros(4), [0.2, 0.35, 0.8], np.ones(4)])
    omega = roughness(knots)
    second = BSpline(knots, np.eye(7), 3).derivative(2)
    for i in range(7):
        for j in range(i + 1):
            ends = pairwise([0, 0.2, 0.35, 0.8, 1])

            def product(x, i=i, j=j):
                return second(x)[i] * second(x)[j]

            value = sum(quad(product, a, b)[0] for a, b in ends)
            np.testing.assert_allclose(omega[i, j], value, rtol=1e-9, atol=1e-9)
    values = np.linalg.eigvalsh(omega)
    assert (values > 1e-9 * values[-1]).sum() == 5  # nullity two


@pytest.mark.parametrize("n_basis", [2, 5, 18])
def test_squared_coefficients_add_up_to_the_roughness(n_basis):
    rng = np.random.default_rng(n_basis)
    x = np.sort(rng.normal(3.0, 20.0, 200))
    splines = OSullivanSplines(n_basis).fit(x[:, None])
    u = rng.normal(size=n_basis)
    fine = np.linspace(x[0], x[-1], 200_001)
    f = splines.transform(fine[:, None]) @ u
    second = CubicSpline(fine, f)(fine, 2)
    assert splines.transform(x[:, None]).shape == (200, n_basis)
    np.testing.assert_allclose(np.trapezoid(second**2, fine), u @ u, rtol=1e-4)


def test_with_lines_the_columns_span_cubic_splines():
    x = np.linspace(0, 1, 300)[:, None]
    splines = OSullivanSplines(10).fit(x)
    C = np.column_stack([np.ones(300), x, splines.transform(x)])
    B = BSpline.design_matrix(x[:, 0], splines.bases_[0].knots, 3).toarray()
    residual = B - C @ np.linalg.lstsq(C, B)[0]
    assert np.abs(residual).max() < 1e-9


def test_straight_beyond_the_data():
    x = np.linspace(0, 1, 50)[:, None]
    splines = OSullivanSplines(8).fit(x)
    h = 1e-4
    for edge, side in ((0.0, -1), (1.0, 1)):
        points = edge + side * np.array([0.0, h, 1.0, 2.0, 3.0])
        Z = splines.transform(points[:, None])
        inside = splines.transform([[edge - side * h]])[0]
        np.testing.assert_allclose(Z[4] - Z[3], Z[3] - Z[2], atol=1e-9)
        np.testing.assert_allclose(Z[1] - Z[0], Z[0] - inside, atol=1e-6)


def test_constant_features_have_no_columns_and_names_match():
    X = np.column_stack([np.ones(30), np.arange(30.0)])
    splines = OSullivanSplines(4).fit(X)
    assert splines.transform(X).shape == (30, 4)
    assert list(splines.get_feature_names_out(["a", "b"])) == [f"b_spline{k}" for k in range(4)]
    with pytest.raises(ValueError, match="length equal"):
        splines.get_feature_names_out(["a"])


def test_two_distinct_values_are_enough():
    Z = OSullivanSplines(18).fit_transform(np.array([[0.0], [1.0], [0.0], [1.0]]))
    assert np.isfinite(Z).all()
