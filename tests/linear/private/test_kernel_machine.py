"""Random features against the kernels they stand for, and the private model on top of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_circles
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from octavo.linear import (
    PrivateKernelClassifier,
    PrivateLinearClassifier,
    calibrate_perturbation,
    random_fourier_map,
)

pytestmark = pytest.mark.filterwarnings("ignore::octavo.linear.ReproducibleNoiseWarning")


def cauchy_kernel(X, gamma):
    return np.prod(1 / (1 + gamma * (X[:, None] - X[None]) ** 2), axis=2)


KERNELS = {
    "rbf": lambda X, gamma: rbf_kernel(X, gamma=gamma),
    "laplacian": lambda X, gamma: laplacian_kernel(X, gamma=gamma),
    "cauchy": cauchy_kernel,
}


@pytest.mark.parametrize("features", ["cosine", "fourier"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_random_features_are_unbiased(kernel, features):
    """The mean of D products lies within 6 standard errors, each at most 1/√D (Hoeffding)."""
    X = np.random.default_rng(0).normal(size=(8, 3))
    D = 40_000
    weights, offset = random_fourier_map(kernel, 0.4, 3, D, features=features, random_state=1)
    V = np.sqrt(2 / D) * np.cos(X @ weights + offset)
    np.testing.assert_allclose(V @ V.T, KERNELS[kernel](X, 0.4), atol=6 / np.sqrt(D) * np.sqrt(2))


@pytest.mark.parametrize(("features", "bound"), [("cosine", np.sqrt(2)), ("fourier", 1.0)])
def test_features_stay_within_the_norm_that_the_noise_assumes(features, bound):
    rng = np.random.default_rng(2)
    model = PrivateKernelClassifier(
        n_components=2, features=features, epsilon=0.5, alpha=1.0, random_state=0
    )
    X = 100 * rng.normal(size=(5000, 2))
    y = np.arange(5000) % 2
    model.fit(X, y)
    norms = np.linalg.norm(model._train_features(X), axis=1)
    assert norms.max() <= bound * (1 + 1e-12)
    assert norms.max() > 0.99 * bound  # with two features the bound is nearly reached
    expected = calibrate_perturbation(
        "objective", n_samples=5000, alpha=1.0, epsilon=0.5, data_norm=bound
    )
    assert model.noise_scale_ == pytest.approx(expected.noise_scale)


def test_it_is_the_linear_model_on_released_features():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 3))
    y = rng.integers(0, 2, 80)
    model = PrivateKernelClassifier(
        "laplacian", 0.3, 20, epsilon=0.8, random_state=4, feature_random_state=9
    ).fit(X, y)
    weights, offset = random_fourier_map("laplacian", 0.3, 3, 20, random_state=9)
    np.testing.assert_array_equal(model.random_weights_, weights)
    V = np.sqrt(2 / 20) * np.cos(X @ weights + offset)
    linear = PrivateLinearClassifier(0.8, data_norm=np.sqrt(2), random_state=4).fit(V, y)
    np.testing.assert_allclose(model.coef_, linear.coef_)
    np.testing.assert_allclose(model.decision_function(X), linear.decision_function(V))
    sparse = sp.csr_array(X)
    np.testing.assert_allclose(model.decision_function(sparse), model.decision_function(X))


def test_a_seed_for_the_features_keeps_the_noise_secret():
    X, y = make_circles(200, noise=0.05, random_state=0)
    one, other = (PrivateKernelClassifier(feature_random_state=0).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.random_weights_, other.random_weights_)
    assert (one.coef_ != other.coef_).any()
    third = PrivateKernelClassifier().fit(X, y)
    assert (third.random_weights_ != one.random_weights_).any()


@pytest.mark.parametrize("kernel", KERNELS)
def test_it_learns_what_a_linear_model_cannot(kernel):
    X, y = make_circles(4000, noise=0.05, factor=0.4, random_state=0)
    common = {"epsilon": 5.0, "alpha": 1e-3, "random_state": 0}
    model = PrivateKernelClassifier(kernel, 1.0, 30, loss="huber", **common)
    assert model.fit(X, y).score(X, y) > 0.9
    linear = PrivateLinearClassifier(clip="clip", fit_intercept=True, **common)
    assert linear.fit(X, y).score(X, y) < 0.65


def test_default_gamma_is_one_over_the_number_of_features():
    X, y = make_circles(50, random_state=0)
    default = PrivateKernelClassifier(feature_random_state=0, random_state=0).fit(X, y)
    half = PrivateKernelClassifier(gamma=0.5, feature_random_state=0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(default.coef_, half.coef_)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kernel": "poly"}, "kernel"),
        ({"gamma": 0.0}, "gamma"),
        ({"gamma": "scale"}, "gamma"),
        ({"n_components": 0}, "n_components"),
        ({"features": "fourier", "n_components": 3}, "even n_components"),
        ({"epsilon": -1}, "epsilon"),
    ],
)
def test_bad_parameters(change, words):
    X, y = make_circles(20, random_state=0)
    with pytest.raises(ValueError, match=words):
        PrivateKernelClassifier(**change).fit(X, y)
