"""Isotonic regression against linear and quadratic programs, scikit-learn and brute force."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.isotonic import isotonic_regression

from octavo.engine.projections.isotonic import isotonic_chain, isotonic_forest


def forest(n, seed, depth=None):
    rng = np.random.default_rng(seed)
    parents = np.array(
        [-1 if i == 0 or rng.random() < 0.1 else rng.integers(0, i) for i in range(n)]
    )
    names = rng.permutation(n)  # node numbers say nothing about the order
    out = np.empty(n, int)
    for i, p in enumerate(parents):
        out[names[i]] = -1 if p < 0 else names[p]
    return out


def l1_by_linprog(x, w, parents):
    n = len(x)
    kids = np.flatnonzero(parents >= 0)
    m = len(kids)
    D = sp.csr_matrix(
        (np.r_[np.ones(m), -np.ones(m)], (np.r_[:m, :m], np.r_[kids, parents[kids]])), (m, n)
    )
    A = sp.vstack(
        [
            sp.hstack([sp.eye(n), -sp.eye(n)]),
            sp.hstack([-sp.eye(n), -sp.eye(n)]),
            sp.hstack([-D, sp.csr_matrix((m, n))]),
        ]
    )
    found = linprog(np.r_[np.zeros(n), w], A, np.r_[x, -x, np.zeros(m)], bounds=(None, None))
    return found.fun


def l2_by_kkt(x, w, parents, z, tol=1e-9):
    """Check optimality: within the tree, multipliers of the tight edges are non-negative."""
    flow = w * (z - x)  # what a node's subtree sends up
    order, depth = [], {}
    for i in range(len(x)):
        d, k = 0, i
        while parents[k] >= 0:
            k, d = parents[k], d + 1
        depth[i] = d
    for i in sorted(range(len(x)), key=lambda i: -depth[i]):
        p = parents[i]
        if p < 0 or z[i] > z[p] + tol:
            assert abs(flow[i]) < 1e-7  # nothing crosses a loose edge
        else:
            assert flow[i] >= -1e-7  # the child is pushed up by its parent
            flow[p] += flow[i]
            flow[i] = 0
    return order


@given(st.integers(0, 10_000), st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_forests(seed, n):
    rng = np.random.default_rng(seed)
    parents = forest(n, seed)
    x, w = rng.integers(0, 7, n) + 0.5 * rng.integers(0, 2, n), rng.uniform(0.1, 3, n)
    has = parents >= 0
    z = isotonic_forest(x, parents, w).values
    assert (z[has] >= z[parents[has]] - 1e-12).all()
    l2_by_kkt(x, w, parents, z)
    z = isotonic_forest(x, parents, w, loss="l1").values
    assert (z[has] >= z[parents[has]]).all()
    assert (w * np.abs(z - x)).sum() == pytest.approx(l1_by_linprog(x, w, parents), abs=1e-7)


@given(st.integers(0, 10_000), st.integers(1, 60))
@settings(max_examples=40, deadline=None)
def test_chain_equals_scikit_learn_and_the_forest(seed, n):
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=n), rng.uniform(0.1, 3, n)
    z = isotonic_chain(x, w)
    np.testing.assert_allclose(z.values, isotonic_regression(x, sample_weight=w), atol=1e-12)
    np.testing.assert_allclose(
        z.values, isotonic_forest(x, np.arange(-1, n - 1), w).values, atol=1e-12
    )
    # a block's value is its mean
    for block in np.unique(z.blocks):
        rows = z.blocks == block
        assert z.values[rows][0] == pytest.approx(np.average(x[rows], weights=w[rows]))


def test_bad_forests():
    with pytest.raises(ValueError, match="circle"):
        isotonic_forest([1.0, 2.0], [1, 0])
    with pytest.raises(ValueError, match="from -1 to 1"):
        isotonic_forest([1.0, 2.0], [-1, 2])
    with pytest.raises(ValueError, match="positive"):
        isotonic_chain([1.0, 2.0], [1.0, 0.0])
