"""Searches without gradients, on functions with known optima and on estimates."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from octavo.info import HSIC, MMD, EnergyDistance, optimize_estimate

BOTH = pytest.mark.parametrize("method", ["nelder_mead", "cross_entropy"])


@BOTH
def test_a_quadratic_has_its_minimum_found(method):
    target = np.array([0.3, -40.0])

    def bowl(x):
        return float((((x - target) / [1, 100]) ** 2).sum())

    found = optimize_estimate(
        bowl,
        lambda x: x,
        [0, 0],
        spread=[1, 100],
        method=method,
        tol=1e-3,
        max_evaluations=2000,
        random_state=0,
    )
    np.testing.assert_allclose(found.x / [1, 100], target / [1, 100], atol=5e-3)
    assert found.converged
    assert found.value == bowl(found.x)


def test_cross_entropy_leaves_a_side_valley():
    def hills(x):  # a side minimum near 0, the lowest at 3
        return 0.1 * (x[0] - 3) ** 2 - np.cos(2 * np.pi * x[0])

    found = optimize_estimate(
        hills, lambda x: x, [0.0], spread=3.0, method="cross_entropy", random_state=0
    )
    assert found.x[0] == pytest.approx(3.0, abs=0.01)
    stuck = optimize_estimate(hills, lambda x: x, [0.0], spread=0.1)
    assert stuck.x[0] < 1


@BOTH
def test_the_shift_between_two_samples(method):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((300, 1)), rng.standard_normal((300, 1)) + 1.3
    for estimator in (EnergyDistance(), MMD(bandwidth=1.0)):
        found = optimize_estimate(
            estimator, lambda w: (X + w, Y), [0.0], method=method, random_state=0, tol=1e-3
        )
        # The difference of the means has the standard error √(2/300) = 0.08.
        assert found.x[0] == pytest.approx(1.3, abs=4 * 0.082)


def test_maximising_is_minimising_the_negative_and_the_trace_is_monotone():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 2))

    def turned(w):
        c, s = np.cos(w[0]), np.sin(w[0])
        return X @ np.array([[c, -s], [s, c]])

    up = optimize_estimate(HSIC(bandwidth=1.0), turned, [0.0], maximize=True)
    down = optimize_estimate(lambda Z: -HSIC(bandwidth=1.0).estimate(Z), turned, [0.0])
    np.testing.assert_allclose(up.x, down.x)
    assert up.value == pytest.approx(-down.value)
    assert (np.diff(up.trace) >= 0).all()
    assert len(up.trace) == up.n_evaluations


@BOTH
def test_stopping_early_warns_with_the_value(method):
    with pytest.warns(ConvergenceWarning, match=r"after 7 estimates.*best estimate is"):
        optimize_estimate(
            lambda x: float(x @ x), lambda x: x, [5.0, 5.0], method=method, max_evaluations=7
        )


def test_bad_arguments_are_named():
    def search(**options):
        start = options.pop("start", [0.0])
        return optimize_estimate(lambda x: float(x @ x), lambda x: x, start, **options)

    with pytest.raises(ValueError, match="start must be"):
        search(start=[np.nan])
    with pytest.raises(ValueError, match="spread must be positive"):
        search(spread=0.0)
    with pytest.raises(ValueError, match="method must be one of"):
        search(method="gradient")
    with pytest.raises(ValueError, match="max_evaluations"):
        search(max_evaluations=0)
    with pytest.raises(ValueError, match="estimate is nan"):
        optimize_estimate(lambda x: np.nan, lambda x: x, [0.0])
