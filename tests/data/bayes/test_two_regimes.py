"""The generator of Section 5 against its own formulas."""

import numpy as np
import pytest
from scipy.stats import norm

from octavo.data import make_two_regimes, two_regimes_density, two_regimes_mean


def test_moments_and_truth():
    X, y = make_two_regimes(40_000, 5, random_state=0)
    covariance = np.cov(X.T)
    exact = np.zeros((5, 5))
    for group in ([0, 1, 3], [2, 4]):
        exact[np.ix_(group, group)] = 3.5
    exact[np.diag_indices(5)] = 4.0
    assert np.abs(covariance - exact).max() < 5 * 4 * np.sqrt(2 / 40_000)
    # of regimes around 4 and 6 with the precision 4, by Bayes' rule
    one, other = norm.pdf(X[:200, 0], 4, 0.5), norm.pdf(X[:200, 0], 6, 0.5)
    share = np.where(one + other > 0, one / np.maximum(one + other, 1e-300), X[:200, 0] < 5)
    by_hand = share * X[:200, 0] + (1 - share) * (4.5 + 0.1 * X[:200, 0])
    np.testing.assert_allclose(two_regimes_mean(X[:200]), by_hand, rtol=1e-12)
    rest = y - two_regimes_mean(X)
    assert abs(rest.mean()) < 5 * rest.std() / 200
    grid = np.linspace(-8, 16, 2401)
    density = two_regimes_density(X[:50], grid)
    assert np.allclose(density.sum(axis=1) * 0.01, 1.0)
    assert np.allclose((density * grid).sum(axis=1) * 0.01, two_regimes_mean(X[:50]))


def test_bad_sizes():
    with pytest.raises(ValueError, match="n_features"):
        make_two_regimes(10, 0)
