"""Draws in arviz's form: every sampler's, with arviz as it is installed."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from octavo.bayes import LatentGaussianModel, VariationalMixedModel, ar1
from octavo.kernel import SparseBayesKernelClassifier

arviz = pytest.importorskip("arviz")


def test_latent_field():
    y = np.array([1.0, -0.5, 0.3, 0.2])
    model = LatentGaussianModel("gaussian", prior=ar1(4, 0.5)).fit(y)
    draws = model.to_arviz(50, random_state=0).posterior["x"]
    assert draws.shape == (1, 50, 4)
    np.testing.assert_array_equal(draws.values[0], model.sample(50, random_state=0))


def test_mixed_model():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(60, 1)), np.repeat(np.arange(6), 10)
    model = VariationalMixedModel().fit(X, rng.poisson(2.0, 60), groups=groups)
    posterior = model.to_arviz(40, random_state=0).posterior
    assert posterior["coef"].shape == (1, 40, 2)
    assert {name.split("_")[0] for name in posterior.data_vars} >= {"coef", "ranef", "sigma2"}


@pytest.mark.parametrize("n_chains", [1, 2])
def test_chains_of_the_kernel_machine(n_chains):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    model = SparseBayesKernelClassifier(n_iter=60, burn_in=20, n_chains=n_chains, random_state=0)
    with pytest.warns(ConvergenceWarning, match="come to rest"):
        model.fit(X, X[:, 0] > 0)
    posterior = model.to_arviz().posterior
    assert posterior["n_active"].shape[0] == n_chains
    assert set(posterior.data_vars) == set(model.traces_)
