"""From utilities to outcomes and curves: isotonic fits, their conditions, their truth."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from octavo.engine.survival.targets import survival_record
from octavo.survival import SurvivalCurveEstimator, TransformationFunction, kaplan_meier
from octavo.survival.minlip.reconstruction import monotone_surface


def test_transformation_is_isotonic_regression_with_straight_lines():
    rng = np.random.default_rng(0)
    u = rng.uniform(size=80)
    y = np.sqrt(u) + 0.1 * rng.normal(size=80)
    h = TransformationFunction().fit(u, y)
    steps = IsotonicRegression().fit(u, y)
    np.testing.assert_allclose(h.values_, np.unique(steps.predict(u)), atol=1e-10)
    assert (np.diff(h.values_) > 0).all()
    exact = TransformationFunction().fit(u, u**3)
    np.testing.assert_allclose(exact.predict(u), u**3, atol=1e-12)
    assert exact.lipschitz_ == pytest.approx(3.0, rel=0.1)
    with pytest.raises(ValueError, match="vector"):
        h.predict(np.ones((2, 2)))


def test_monotone_surface_equals_the_quadratic_program():
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(1)
    values, weight = rng.uniform(size=(6, 5)), rng.uniform(0.2, 2, size=(6, 5))
    z = cp.Variable((6, 5))
    problem = cp.Problem(
        cp.Minimize(cp.sum(cp.multiply(weight, cp.square(z - values)))),
        [z[1:] <= z[:-1], z[:, 1:] >= z[:, :-1]],
    )
    problem.solve(solver="CLARABEL")
    np.testing.assert_allclose(monotone_surface(values, weight, 1e-9), z.value, atol=1e-4)


def test_curves_without_features_are_kaplan_meier():
    """One bin with inverse-censoring weights is the product-limit estimate."""
    rng = np.random.default_rng(2)
    time, limit = rng.exponential(1.0, 300), rng.exponential(1.5, 300)
    y = survival_record(time <= limit, np.minimum(time, limit))
    curves = SurvivalCurveEstimator(n_times=1000, n_bins=1).fit(np.zeros(300), y)
    at = np.quantile(y["time"], [0.1, 0.3, 0.6])
    expected = kaplan_meier(y["event"], y["time"])(at)
    np.testing.assert_allclose(curves.predict([0.0], at)[0], expected, atol=0.01)
    plain = SurvivalCurveEstimator(n_times=1000, n_bins=1, weighting=False).fit(np.zeros(300), y)
    # what the paper's way does under censoring: too low
    assert (plain.predict([0.0], at[2:])[0] < expected[2:]).all()


def test_curves_are_monotone_and_find_the_truth():
    rng = np.random.default_rng(3)
    u = rng.normal(size=3000)
    time, limit = rng.exponential(np.exp(u)), rng.exponential(3.0, 3000)
    y = survival_record(time <= limit, np.minimum(time, limit))
    curves = SurvivalCurveEstimator().fit(u, y)
    grid, at = np.linspace(-1.5, 1.5, 7), np.array([0.2, 0.7, 1.5])
    found = curves.predict(grid, at)
    assert (np.diff(found, axis=1) <= 1e-9).all()
    assert (np.diff(found, axis=0) >= -1e-9).all()
    assert ((found >= 0) & (found <= 1)).all()
    truth = np.exp(-at / np.exp(grid)[:, None])
    assert np.abs(found - truth).mean() < 0.05
    assert curves.predict([0.0], [0.0]) == 1
    assert (curves.hazard([0.0]) >= 0).all()


def test_interval_data_and_errors():
    lower, upper = np.array([0.0, 1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0, np.inf])
    y = np.column_stack([lower, upper])
    curves = SurvivalCurveEstimator(n_bins=1).fit(np.arange(4.0), y)
    np.testing.assert_allclose(curves.times_, [1, 2, 3])
    with pytest.raises(ValueError, match="No event"):
        SurvivalCurveEstimator().fit([0.0, 1.0], [[1.0, np.inf], [2.0, np.inf]])
    with pytest.raises(ValueError, match="times must be"):
        curves.predict([0.0], [np.nan])
