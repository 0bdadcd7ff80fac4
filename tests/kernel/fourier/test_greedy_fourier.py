"""Greedy Fourier features against closed forms, ridge regression and finite differences."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from sklearn.datasets import make_friedman1
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.preprocessing import StandardScaler

from octavo.engine.smooth.holdout_gradient import fold_starts, holdout_gradient
from octavo.kernel import GreedyFourierFeatures, GreedyFourierRegressor
from octavo.kernel.fourier.gcv_ridge import ridge_gcv
from octavo.kernel.fourier.greedy_descent import BasisObjective, WaveObjective, greedy_descent
from octavo.kernel.fourier.trig_sums import waves

RNG = np.random.default_rng(11)
X = RNG.standard_normal((300, 3))
Y = np.sin(X @ [1.0, 0.5, -0.7]) + 0.3 * X[:, 0] + 0.1 * RNG.standard_normal(300)
F = 0.5 + 0.2 * X[:, 1]
STARTS = fold_starts(300, 5)
TANH = (np.tanh, lambda a: 1.0 - np.tanh(a) ** 2)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e5, 1e7])
def test_waves_are_sine_and_cosine(scale):
    phase = RNG.uniform(-scale, scale, 10_000)
    sine, cosine = waves(phase)
    # One unit in the last place of one, for the phase's own rounding aside.
    np.testing.assert_allclose(sine, np.sin(phase), rtol=0, atol=2.3e-16)
    np.testing.assert_allclose(cosine, np.cos(phase), rtol=0, atol=2.3e-16)


def test_one_step_recovers_a_frequency():
    X = RNG.standard_normal((1000, 1))
    model = GreedyFourierRegressor(1, 1, random_state=0).fit(X, np.cos(3 * X[:, 0]))
    assert abs(model.frequencies_[0, 0]) == pytest.approx(3.0, abs=1e-3)
    np.testing.assert_allclose(model.predict(X), np.cos(3 * X[:, 0]), atol=1e-3)


def test_fused_objective_is_the_general_one():
    w, alpha = np.array([0.7, -0.4, 0.9]), 0.02
    value, gradient = WaveObjective(X, Y, F, STARTS)(np.append(w, np.log(alpha)))
    sine, cosine = np.sin(X @ w), np.cos(X @ w)
    general = holdout_gradient(np.column_stack([F, sine, cosine]), Y, STARTS, alpha, train_on="one")
    pull = general.weights[:, 1] * cosine - general.weights[:, 2] * sine
    assert value == pytest.approx(general.error, rel=1e-12)
    np.testing.assert_allclose(gradient[:3], pull @ X, rtol=1e-9, atol=1e-12)
    assert gradient[3] == pytest.approx(alpha * general.slope, rel=1e-9)


@pytest.mark.parametrize("basis", [None, TANH], ids=["cos", "tanh"])
def test_gradient_is_the_finite_difference(basis):
    if basis is None:
        objective, size = WaveObjective(X, Y, F, STARTS), 3
    else:
        lifted = np.column_stack([X, np.ones(300)])
        objective, size = BasisObjective(lifted, Y, F, STARTS, basis), 4
    theta = np.append(RNG.standard_normal(size), np.log(1e-2))
    _, gradient = objective(theta)
    h = 1e-5
    for j in range(len(theta)):
        step = h * np.eye(len(theta))[j]
        slope = (objective(theta + step)[0] - objective(theta - step)[0]) / (2 * h)
        assert gradient[j] == pytest.approx(slope, abs=1e-8)


def test_final_model_is_ridge_on_the_features():
    model = GreedyFourierRegressor(2, 5, random_state=0).fit(X, Y)
    features = GreedyFourierFeatures(2, 5, random_state=0).fit(X, Y)
    Z = features.transform(X)
    np.testing.assert_array_equal(features.frequencies_, model.frequencies_)
    ridge = Ridge(model.alpha_).fit(Z, Y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(Z), atol=1e-6)
    assert Z.shape == (300, 2 * len(model.frequencies_))
    half = len(model.frequencies_)
    np.testing.assert_allclose(model.amplitudes_, np.hypot(model.coef_[:half], model.coef_[half:]))


def test_gcv_is_its_definition():
    """The score by the hat matrix, and the chosen penalty no worse than any on a fine grid."""
    W = RNG.standard_normal((6, 3))
    Z = np.hstack(waves(X @ W.T))
    fit = ridge_gcv(lambda A: np.hstack(waves(A @ W.T)), X, Y)
    Zc = Z - Z.mean(axis=0)

    def score(alpha):
        hat = Zc @ np.linalg.solve(Zc.T @ Zc + alpha * np.eye(12), Zc.T) + 1.0 / 300
        return 300 * ((Y - hat @ Y) ** 2).sum() / (300 - np.trace(hat)) ** 2

    assert fit.score == pytest.approx(score(fit.alpha), rel=1e-8)
    grid = fit.alpha * np.logspace(-4, 4, 81)
    assert fit.score <= min(map(score, grid)) * (1 + 1e-8)
    given_alpha = ridge_gcv(lambda A: np.hstack(waves(A @ W.T)), X, Y, 0.7)
    theirs = Ridge(0.7).fit(Z, Y)
    np.testing.assert_allclose(given_alpha.coef, theirs.coef_, atol=1e-9)
    assert given_alpha.intercept == pytest.approx(theirs.intercept_, abs=1e-9)


def test_no_penalty_is_least_squares():
    W = RNG.standard_normal((4, 3))
    Z = np.hstack(waves(X @ W.T))
    fit = ridge_gcv(lambda A: np.hstack(waves(A @ W.T)), X, Y, 0.0)
    exact = np.linalg.lstsq(np.column_stack([Z, np.ones(300)]), Y, rcond=None)[0]
    np.testing.assert_allclose(np.append(fit.coef, fit.intercept), exact, atol=1e-8)


@pytest.mark.parametrize("basis", [None, TANH], ids=["cos", "tanh"])
def test_error_never_rises_along_a_descent(basis):
    for seed in range(3):
        descent = greedy_descent(
            X,
            Y,
            np.ones(300),
            np.random.RandomState(seed),
            basis=basis,
            max_descent_steps=6,
            tol=0.0,
        )
        assert (np.diff(descent.errors) <= 1e-14).all()
        assert len(descent.frequencies) == 6


def test_beats_random_features_at_equal_count():
    A, b = make_friedman1(3000, noise=1.0, random_state=1)
    A = StandardScaler().fit_transform(A)
    model = GreedyFourierRegressor(random_state=0).fit(A[:2000], b[:2000])
    greedy = ((model.predict(A[2000:]) - b[2000:]) ** 2).mean()
    size = 2 * len(model.frequencies_)
    random = min(_random_error(A, b, size, gamma) for gamma in (0.003, 0.01, 0.03, 0.1))
    assert greedy < 0.7 * random


def _random_error(A, b, size, gamma):
    sampler = RBFSampler(gamma=gamma, n_components=size, random_state=0).fit(A)
    ridge = RidgeCV(np.logspace(-6, 2, 9)).fit(sampler.transform(A[:2000]), b[:2000])
    return ((ridge.predict(sampler.transform(A[2000:])) - b[2000:]) ** 2).mean()


def test_a_basis_of_ones_own():
    y = np.tanh(2 * X[:, 0] - 1.0)
    model = GreedyFourierRegressor(1, 3, basis=TANH, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.999
    features = GreedyFourierFeatures(1, 3, basis=TANH, random_state=0).fit(X, y)
    Z = features.transform(X)
    np.testing.assert_allclose(Z, np.tanh(X @ features.frequencies_.T + features.phases_))
    assert features.get_feature_names_out().shape == (Z.shape[1],)


def test_a_second_pass_starts_from_the_first_model():
    A, b = make_friedman1(1500, noise=0.1, random_state=2)
    A = StandardScaler().fit_transform(A)
    one = GreedyFourierRegressor(2, 6, 1, random_state=0).fit(A, b)
    two = GreedyFourierRegressor(2, 6, 2, random_state=0).fit(A, b)
    assert len(two.descent_errors_) == 4
    assert two.descent_errors_[2][0] < one.descent_errors_[0][0] / 2
    assert two.gcv_ < one.gcv_


def test_features_do_not_depend_on_jobs():
    one = GreedyFourierRegressor(2, 2, random_state=0).fit(X, Y)
    with parallel_config(backend="threading"):
        two = GreedyFourierRegressor(2, 2, n_jobs=2, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@settings(max_examples=8, deadline=None)
@given(scale=st.floats(1e-3, 1e6), shift=st.floats(-1e3, 1e3))
def test_units_of_the_target_do_not_matter(scale, shift):
    model = GreedyFourierRegressor(1, 2, max_iter=15, random_state=0).fit(X, Y)
    moved = GreedyFourierRegressor(1, 2, max_iter=15, random_state=0).fit(X, shift + scale * Y)
    spread = scale * np.std(Y)
    np.testing.assert_allclose(
        moved.predict(X), shift + scale * model.predict(X), atol=1e-3 * spread
    )


def test_useless_features_are_dropped():
    model = GreedyFourierRegressor(1, 3, prune=10.0, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.frequencies_, np.zeros((1, 3)))
    np.testing.assert_allclose(model.predict(X), Y.mean(), atol=1e-8)


def test_a_constant_target_gives_the_intercept():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GreedyFourierRegressor().fit(X, np.full(300, 2.5))
    np.testing.assert_array_equal(model.predict(X), np.full(300, 2.5))
    assert GreedyFourierFeatures().fit(X, np.full(300, 2.5)).transform(X).shape == (300, 2)


@pytest.mark.parametrize("factor", [1e3, 1e-3])
def test_unscaled_columns_warn(factor):
    with pytest.warns(UserWarning, match="StandardScaler"):
        GreedyFourierRegressor(1, 1, max_iter=2).fit(factor * X, Y)


def test_tiny_folds_are_refused():
    with pytest.raises(ValueError, match="min_fold_size=20 rows; a sample of 90 rows"):
        GreedyFourierRegressor().fit(X[:90], Y[:90])
    GreedyFourierRegressor(1, 1, min_fold_size=10).fit(X[:90], Y[:90])


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"basis": "sin"}, "'basis'"),
        ({"basis": (np.sin,)}, "pair of functions"),
        ({"tol": 1.0}, "'tol'"),
        ({"n_workers": 0}, "'n_workers'"),
        ({"alpha": -1.0}, "'alpha'"),
    ],
)
def test_parameters_out_of_range_are_refused(keywords, words):
    with pytest.raises(ValueError, match=words):
        GreedyFourierRegressor(**keywords).fit(X, Y)


def test_nan_is_refused():
    with pytest.raises(ValueError, match="NaN"):
        GreedyFourierRegressor().fit(np.where(X > 2, np.nan, X), Y)
