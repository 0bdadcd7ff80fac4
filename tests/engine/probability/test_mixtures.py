"""Responsibilities in log space: far from one, at minus infinity, with weights of zero."""

import numpy as np
import pytest
from scipy.special import logsumexp

from octavo.engine.probability.mixtures import log_sum, responsibilities, safe_log


def test_log_sums_are_scipys_and_quiet_at_minus_infinity():
    values = np.random.default_rng(0).normal(size=(5, 4)) * 500
    values[1, 2] = values[2] = -np.inf
    np.testing.assert_allclose(log_sum(values), logsumexp(values, axis=1), rtol=1e-14)
    assert log_sum(values)[2] == -np.inf
    np.testing.assert_array_equal(safe_log(np.array([0.0, 1.0])), [-np.inf, 0.0])


@pytest.mark.parametrize("shift", [0.0, -1e6])
def test_responsibilities_are_bayes_rule(shift):
    rng = np.random.default_rng(1)
    weights, density = rng.dirichlet(np.ones(3)), rng.gamma(1.0, size=(6, 3))
    share, total = responsibilities(weights, np.log(density) + shift)
    joint = weights * density
    np.testing.assert_allclose(share, joint / joint.sum(axis=1, keepdims=True), rtol=1e-9)
    np.testing.assert_allclose(total, np.log(joint.sum(axis=1)) + shift, rtol=1e-12)


def test_what_nothing_explains_keeps_the_weights():
    weights = np.array([0.3, 0.7, 0.0])
    share, total = responsibilities(weights, np.array([[-np.inf] * 3, [-1.0, -np.inf, 5.0]]))
    np.testing.assert_array_equal(share[0], weights)
    assert total[0] == -np.inf
    np.testing.assert_allclose(share[1], [1.0, 0.0, 0.0])
    np.testing.assert_allclose(total[1], np.log(0.3) - 1.0)
