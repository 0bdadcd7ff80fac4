"""The perceptron over nonzeros is scikit-learn's."""

import numpy as np
import pytest
from sklearn.linear_model import Perceptron

from octavo.engine.streams.perceptron_passes import fit_perceptron


@pytest.mark.parametrize("n_labels", [2, 5])
@pytest.mark.parametrize("share", [0.2, 0.9])
@pytest.mark.parametrize("whole", [True, False])
def test_weights_are_those_of_scikit_learn(n_labels, share, whole):
    rng = np.random.default_rng(n_labels)
    X = (rng.uniform(size=(400, 20)) < share) * (1.0 if whole else rng.normal(size=(400, 20)))
    y = rng.integers(0, n_labels, 400)
    ours = fit_perceptron(X, y, n_passes=200, seed=7)
    theirs = Perceptron(max_iter=200, tol=None, random_state=7).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
