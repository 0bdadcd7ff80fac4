"""The geometric median and R1-PCA against direct minimisation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from octavo.decomposition import geometric_median, make_outlier_subspace, r1_pca


def total(X, y):
    return np.linalg.norm(X - y, axis=1).sum()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 5))
def test_median_minimises_the_sum_of_distances(seed, d):
    X = np.random.default_rng(seed).standard_t(2.0, (25, d))
    found = geometric_median(X)
    best = minimize(lambda y: total(X, y), np.median(X, axis=0), method="BFGS")
    assert total(X, found) <= best.fun * (1 + 1e-10)


def test_triangle_has_its_fermat_point():
    """From the Fermat point all sides are seen under 120 degrees."""
    X = np.array([[0.0, 0.0], [4.0, 0.0], [1.0, 3.0]])
    to = X - geometric_median(X)
    unit = to / np.linalg.norm(to, axis=1, keepdims=True)
    np.testing.assert_allclose((unit @ unit.T)[np.triu_indices(3, 1)], -0.5, atol=1e-9)


def test_wide_triangle_has_its_corner():
    """An angle above 120 degrees: the corner itself is the median."""
    X = np.array([[0.0, 0.0], [4.0, 0.1], [-4.0, 0.1]])
    np.testing.assert_array_equal(geometric_median(X), [0.0, 0.0])


def test_median_of_equal_rows_and_of_a_majority():
    np.testing.assert_array_equal(geometric_median(np.ones((4, 3))), np.ones(3))
    X = np.vstack([np.zeros((6, 2)), np.random.default_rng(0).standard_normal((5, 2))])
    np.testing.assert_array_equal(geometric_median(X), 0.0)


def test_median_says_when_it_is_not_reached():
    with pytest.warns(ConvergenceWarning, match="mean of norm"):
        geometric_median(np.random.default_rng(0).standard_normal((20, 2)), max_iter=1)
    with pytest.raises(ValueError, match="NaN"):
        geometric_median([[np.nan, 0.0]])


def test_r1_without_cutting_is_pca():
    X = np.random.default_rng(0).standard_normal((60, 5)) * [3.0, 2.0, 1.0, 0.5, 0.2]
    found = r1_pca(X, 2, cutoff=1e6)
    pca = PCA(2).fit(np.vstack([X, -X]))
    np.testing.assert_allclose(
        found.components.T @ found.components, pca.components_.T @ pca.components_, atol=1e-9
    )


def test_r1_objective_falls_and_is_stationary():
    """d = 1, D = 2: the direction is a local minimum of the scanned objective."""
    rng = np.random.default_rng(0)
    X = np.vstack([np.outer(rng.standard_normal(40), [2.0, 1.0]), rng.standard_normal((15, 2))])
    X += 0.05 * rng.standard_normal(X.shape)
    found = r1_pca(X, 1, tol=1e-14)
    assert found.converged
    assert np.diff(found.objectives).max() <= 1e-12

    def value(t):
        s = np.abs(X @ [-np.sin(t), np.cos(t)])
        c = found.cutoff
        return np.where(s > c, 2 * c * s - c**2, s**2).sum()

    angle = np.arctan2(found.components[0, 1], found.components[0, 0])
    assert value(angle) == pytest.approx(found.objectives[-1])
    around = [value(angle + step) for step in (-1e-3, 1e-3)]
    assert value(angle) <= min(around)


def test_r1_resists_more_than_pca():
    sample = make_outlier_subspace(100, 30, 8, 2, outliers="cube", random_state=0)

    def error(rows):
        return np.linalg.norm(rows.T @ rows - sample.basis @ sample.basis.T)

    plain = np.linalg.svd(sample.X, full_matrices=False)[2][:2]
    assert error(r1_pca(sample.X, 2).components) < error(plain)


def test_r1_bad_input():
    with pytest.raises(ValueError, match="must be below"):
        r1_pca(np.ones((5, 3)), 3)
    with pytest.warns(ConvergenceWarning, match="not converged"):
        r1_pca(np.random.default_rng(0).standard_normal((30, 4)), 2, tol=1e-15, max_iter=2)
