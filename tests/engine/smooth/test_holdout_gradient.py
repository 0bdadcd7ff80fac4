"""Hold-out errors against scikit-learn's Ridge, gradients against finite differences."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from octavo.engine.smooth.holdout_gradient import (
    fit_and_judge,
    fold_moments,
    fold_starts,
    holdout_gradient,
)

RNG = np.random.default_rng(7)
X = RNG.standard_normal((60, 3))
Y = np.sin(X @ [1.0, -0.5, 0.3]) + 0.1 * RNG.standard_normal(60)
STARTS = fold_starts(60, 5)


def features(W):
    return np.hstack([np.sin(X @ W.T), np.cos(X @ W.T)])


def by_ridge(Z, alpha, train_on):
    errors = []
    for j in range(5):
        mine = np.zeros(60, dtype=bool)
        mine[STARTS[j] : STARTS[j + 1]] = True
        train = mine if train_on == "one" else ~mine
        model = Ridge(alpha * train.sum(), fit_intercept=False).fit(Z[train], Y[train])
        errors.append(((model.predict(Z[~train]) - Y[~train]) ** 2).mean())
    return np.mean(errors)


@pytest.mark.parametrize("train_on", ["one", "rest"])
@pytest.mark.parametrize("alpha", [1e-3, 0.3])
def test_error_is_that_of_ridge(train_on, alpha):
    Z = features(RNG.standard_normal((2, 3)))
    found = holdout_gradient(Z, Y, STARTS, alpha, train_on=train_on)
    assert found.error == pytest.approx(by_ridge(Z, alpha, train_on), rel=1e-8)


@pytest.mark.parametrize("train_on", ["one", "rest"])
def test_gradient_is_the_finite_difference(train_on):
    W = RNG.standard_normal((2, 3))
    alpha = 0.05
    found = holdout_gradient(features(W), Y, STARTS, alpha, train_on=train_on)
    phase = X @ W.T
    pull = found.weights[:, :2] * np.cos(phase) - found.weights[:, 2:] * np.sin(phase)
    gradient = pull.T @ X

    def error(V, a):
        return holdout_gradient(features(V), Y, STARTS, a, train_on=train_on).error

    h = 1e-5
    for place in np.ndindex(W.shape):
        step = np.zeros_like(W)
        step[place] = h
        slope = (error(W + step, alpha) - error(W - step, alpha)) / (2 * h)
        # Central differences err by h² times a third derivative and rounding over h.
        assert gradient[place] == pytest.approx(slope, abs=1e-8 * max(1, np.abs(gradient).max()))
    slope = (error(W, alpha + h) - error(W, alpha - h)) / (2 * h)
    assert found.slope == pytest.approx(slope, rel=1e-6)


def test_moments_of_others_are_sums_over_the_rest():
    Z = features(RNG.standard_normal((2, 3)))
    rest = fold_moments(Z, Y, STARTS).others()
    keep = np.ones(60, dtype=bool)
    keep[STARTS[1] : STARTS[2]] = False
    np.testing.assert_allclose(rest.gram[1], Z[keep].T @ Z[keep])
    np.testing.assert_allclose(rest.cross[1], Z[keep].T @ Y[keep])
    assert rest.size[1] == keep.sum()
    assert rest.square[1] == pytest.approx((Y[keep] ** 2).sum())


def test_collinear_features_keep_a_solution():
    Z = np.repeat(features(RNG.standard_normal((1, 3))), 2, axis=1)
    moments = fold_moments(Z, Y, STARTS)
    fit = fit_and_judge(moments.others(), moments, 0.0)
    assert np.isfinite(fit.c).all()
    assert np.isfinite(fit.error).all()


def test_folds_cover_all_rows_once():
    starts = fold_starts(17, 5)
    assert starts[0] == 0
    assert starts[-1] == 17
    assert np.ptp(np.diff(starts)) <= 1
