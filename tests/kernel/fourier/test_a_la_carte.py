"""À la carte against finite differences and ridge regression."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from octavo.kernel import AlaCarteRegressor
from octavo.kernel.fourier.a_la_carte import SpectrumObjective, starting_spectrum

RNG = np.random.default_rng(3)
X = RNG.standard_normal((200, 2))
Y = np.cos(2.0 * X[:, 0]) + 0.5 * np.sin(X[:, 1]) + 0.05 * RNG.standard_normal(200)


@pytest.mark.parametrize("n_components", [1, 3])
def test_gradient_is_the_finite_difference(n_components):
    rng = np.random.RandomState(0)
    u = rng.standard_normal((7, 2))
    component = np.arange(7) % n_components
    objective = SpectrumObjective(X, Y, u, component, n_components)
    theta = starting_spectrum(X, n_components, rng).pack()
    _, gradient = objective(theta)
    h = 1e-5
    for j in range(len(theta)):
        step = h * np.eye(len(theta))[j]
        slope = (objective(theta + step)[0] - objective(theta - step)[0]) / (2 * h)
        assert gradient[j] == pytest.approx(slope, abs=1e-8 * max(1.0, np.abs(gradient).max()))


def test_gradient_where_a_component_has_no_weight():
    """The features are even in ν, so that at ν = 0 the derivative is 0, not 0/0."""
    component = np.arange(6) % 2
    rng = np.random.RandomState(1)
    objective = SpectrumObjective(X, Y, rng.standard_normal((6, 2)), component, 2)
    spectrum = starting_spectrum(X, 2, rng)
    spectrum.weights[1] = 0.0
    _, gradient = objective(spectrum.pack())
    assert np.isfinite(gradient).all()
    assert gradient[-2] == 0.0


def test_final_model_is_ridge_on_its_features():
    model = AlaCarteRegressor(2, 10, 2, max_iter=10, alpha=0.3, random_state=0).fit(X, Y)
    size = model.weights_[model.component_] ** 2
    phase = X @ model.frequencies_.T
    Z = np.hstack([np.sin(phase) * size, np.cos(phase) * size])
    theirs = Ridge(0.3).fit(Z, Y)
    np.testing.assert_allclose(model.predict(X), theirs.predict(Z), atol=1e-8)


def test_learning_lowers_the_cross_validated_error():
    start = AlaCarteRegressor(2, 20, 1, restart_iter=1, max_iter=0, random_state=0).fit(X, Y)
    model = AlaCarteRegressor(2, 20, 1, restart_iter=1, max_iter=60, random_state=0).fit(X, Y)
    assert model.objective_ < start.objective_
    assert model.score(X, Y) > 0.97
    more = AlaCarteRegressor(2, 20, 4, restart_iter=5, max_iter=0, random_state=0).fit(X, Y)
    one = AlaCarteRegressor(2, 20, 1, restart_iter=5, max_iter=0, random_state=0).fit(X, Y)
    assert more.objective_ <= one.objective_


def test_one_gaussian_finds_a_line_spectrum():
    """y = cos 3x has all its spectrum at ±3: the mean goes there and the scale to nothing."""
    x = RNG.standard_normal((300, 1))
    model = AlaCarteRegressor(1, 20, 5, random_state=0).fit(x, np.cos(3 * x[:, 0]))
    assert model.score(x, np.cos(3 * x[:, 0])) > 0.99999


def test_too_few_features_are_refused():
    with pytest.raises(ValueError, match="n_features=3 frequencies cannot be shared"):
        AlaCarteRegressor(5, 3).fit(X, Y)


@pytest.mark.parametrize("name", ["n_components", "n_features", "n_restarts", "alpha"])
def test_parameters_out_of_range_are_refused(name):
    with pytest.raises(ValueError, match=f"'{name}'"):
        AlaCarteRegressor(**{name: -1}).fit(X, Y)
