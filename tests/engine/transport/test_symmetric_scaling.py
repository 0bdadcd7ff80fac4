"""Symmetric scaling reaches row sums of one, and total support is decided by enumeration."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from octavo.engine.transport.symmetric_scaling import has_total_support, symmetric_scaling


def by_permutations(K):
    n = len(K)
    on_diagonal = np.zeros((n, n), bool)
    for order in permutations(range(n)):
        if all(K[i, j] > 0 for i, j in enumerate(order)):
            on_diagonal[range(n), order] = True
    return bool((on_diagonal == (K > 0)).all())


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_total_support_and_scaling(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    A = rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < rng.uniform(0.2, 0.8))
    K = A + A.T
    assume((K.sum(axis=1) > 0).all())
    assert has_total_support(K) == by_permutations(K) == has_total_support(sp.csr_array(K))
    if by_permutations(K):
        found = symmetric_scaling(K)
        np.testing.assert_allclose(found.x * (K @ found.x), 1.0, atol=1e-11)


@pytest.mark.parametrize("spread", [0, 6])
def test_badly_scaled_and_bipartite(spread):
    rng = np.random.default_rng(0)
    d = 10.0 ** rng.uniform(-spread, spread, size=40)
    ring = np.roll(np.eye(40), 1, axis=0)
    K = (ring + ring.T + 0.01 * np.eye(40)) * np.outer(d, d)
    found = symmetric_scaling(K)
    assert found.residual <= 1e-11
    np.testing.assert_allclose(found.x * (K @ found.x), 1.0, atol=1e-11)
