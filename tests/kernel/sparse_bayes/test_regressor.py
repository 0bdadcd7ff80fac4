import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from octavo.engine.mcmc.enumeration import all_subsets, exact_law, frequencies, total_variation
from octavo.kernel import SparseBayesKernelRegressor
from octavo.kernel.sparse_bayes.predictive import mixture_quantiles
from tests.kernel.sparse_bayes.problems import dense_covariance, small_kernel

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
HELD = {"a_g": 1e9, "b_g": 2e9, "a_eta": 1e9, "b_eta": 1e9}  # g = 0.5 and η = 1


def model(**options):
    settings = {"n_iter": 4_000, "burn_in": 500, "thin": 1, "k_max": 20, "random_state": 0}
    return SparseBayesKernelRegressor(**settings | options)


def curve(n=30, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(X[:, 0]) + noise * rng.normal(size=n)


def test_all_samples_active_is_a_gaussian_process():
    """Mean and variance beside scikit-learn's closed form, at the same covariance."""
    X, y = curve()
    new = np.linspace(-4, 4, 9)[:, None]
    kernel = ConstantKernel(2.0) * RBF(1.2 / np.sqrt(2)) + ConstantKernel(1.0)
    exact = GaussianProcessRegressor(kernel, alpha=0.3, optimizer=None).fit(X, y)
    mean, sd = exact.predict(new, return_std=True)
    fitted = model(model="bgkm", width=1.2, noise_variance=0.3, n_iter=20_000, **HELD).fit(X, y)
    ours, ours_sd = fitted.predict(new, return_std=True)
    # β lives on the samples: a degenerate process, equal in mean; far away its variance is smaller.
    error = 4 * sd / np.sqrt(19_500)
    assert np.all(np.abs(ours - mean) < error)
    at_samples, spread = fitted.predict(X, return_std=True)
    exact_mean, exact_sd = exact.predict(X, return_std=True)
    assert np.all(np.abs(at_samples - exact_mean) < 4 * exact_sd / np.sqrt(19_500))
    np.testing.assert_allclose(spread, np.sqrt(exact_sd**2 + 0.3), rtol=0.03)


@pytest.mark.slow
def test_active_sets_are_those_of_exact_enumeration():
    """2⁶ marginal likelihoods in closed form."""
    n = 6
    X, K = small_kernel(n, seed=3, width=1.2)
    y = np.random.default_rng(1).normal(size=n)
    states = all_subsets(n)
    law = exact_law(
        lambda mask: (
            stats.multivariate_normal(
                np.zeros(n), dense_covariance(K, mask, 0.5, 1.0, 1 / 0.4)
            ).logpdf(y)
            + betaln(mask.sum() + 1, n - mask.sum() + 1)
        ),
        states,
    )
    fitted = model(
        kernel="precomputed", k_max=n, noise_variance=0.4, n_moves=3, n_iter=40_500, **HELD
    ).fit(K, y)
    masks = np.zeros((40_000, n), dtype=bool)
    for mask, (index, *_) in zip(masks, fitted.draws_):
        mask[index] = True
    assert total_variation(frequencies(masks, states), law) < 0.03


@pytest.mark.slow
def test_the_noise_is_found():
    X, y = curve(200, noise=0.3)
    fitted = model(n_iter=3_000).fit(X, y)
    assert np.sqrt(fitted.noise_variance_) == pytest.approx(0.3, rel=0.2)
    assert fitted.score(X, y) > 0.8
    assert "noise_variance" in fitted.traces_
    low, high = fitted.predict_interval(X, [0.05, 0.95]).T
    assert 0.8 < np.mean((low < y) & (y < high)) < 0.98


@pytest.mark.slow
def test_forms_agree_in_their_means():
    """β drawn, or its conditional mean: the same predictive mean, one with less noise."""
    X, y = curve(60)
    drawn = model(n_iter=6_000).fit(X, y).predict(X)
    mean = model(model="sgpc", n_iter=6_000).fit(X, y).predict(X)
    np.testing.assert_allclose(drawn, mean, atol=0.03)


@pytest.mark.parametrize("scale", [1e-4, 1e5])
def test_units_of_the_target_are_learnt(scale):
    X, y = curve(60)
    assert (
        model(b_noise=0.1 * scale**2).fit(X, scale * y + 3 * scale).score(X, scale * y + 3 * scale)
        > 0.9
    )


def test_quantiles_of_a_mixture():
    rng = np.random.default_rng(0)
    means, sds = rng.normal(size=(3, 5)), rng.uniform(0.2, 2.0, (3, 5))
    levels = np.array([0.1, 0.5, 0.99])
    found = mixture_quantiles(means, sds, levels)
    back = stats.norm.cdf(found[:, :, None], means[:, None], sds[:, None]).mean(axis=2)
    np.testing.assert_allclose(back, np.broadcast_to(levels, (3, 3)), atol=1e-8)


@pytest.mark.parametrize("value", [0.0, -1.0, "ml"])
def test_a_wrong_noise_variance_is_refused(value):
    with pytest.raises(ValueError, match="noise_variance"):
        model(noise_variance=value).fit(*curve())
