import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from octavo.engine.projections.metric_cone import shortest_paths
from octavo.engine.transport.network_simplex import (
    is_semimetric,
    new_trees,
    transport_costs,
    transport_plans,
)


def linear_program(r, c, M):
    d = len(r)
    rows = np.vstack([np.kron(np.eye(d), np.ones(d)), np.kron(np.ones(d), np.eye(d))])
    return linprog(M.ravel(), A_eq=rows[:-1], b_eq=np.concatenate([r, c])[:-1]).fun


def histograms(n, d, kind, rng):
    if kind == "counts":  # equal masses everywhere: as degenerate as it gets
        return rng.multinomial(6, np.full(d, 1.0 / d), n) / 6.0
    R = rng.dirichlet(np.ones(d), n)
    if kind == "sparse":
        R[rng.random(R.shape) < 0.5] = 0.0
        R[:, 0] += 0.1
    return R / R.sum(axis=1, keepdims=True)


def costs_of(kind, d, rng):
    A = rng.random((d, d)) * 10.0
    if kind == "any":
        return A - 3.0
    A = np.round(A) if kind == "ties" else A
    A = (A + A.T) * (1.0 - np.eye(d))
    return shortest_paths(A)


def all_pairs(n):
    return np.column_stack(np.triu_indices(n, 1))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 8),
    st.sampled_from(["dense", "sparse", "counts"]),
    st.sampled_from(["metric", "ties", "any"]),
)
def test_equals_the_linear_program(seed, d, rows, kind):
    rng = np.random.default_rng(seed)
    R, M, pairs = histograms(4, d, rows, rng), costs_of(kind, d, rng), all_pairs(4)
    found = transport_costs(M, R, R, pairs).costs
    expected = [linear_program(R[i], R[j], M) for i, j in pairs]
    np.testing.assert_allclose(found, expected, atol=1e-8)  # HiGHS's feasibility is 1e-7 at most


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["dense", "sparse", "counts"]),
    st.sampled_from(["metric", "ties", "any"]),
)
def test_a_restart_ends_where_a_start_ends(seed, rows, kind):
    rng = np.random.default_rng(seed)
    R, M, pairs = histograms(8, 12, rows, rng), costs_of(kind, 12, rng), all_pairs(8)
    shared = kind != "any"
    trees = new_trees(len(pairs), 12, shared)
    transport_costs(M, R, R, pairs, trees=trees, shared=shared)
    other = costs_of(kind, 12, rng)
    warm = transport_costs(other, R, R, pairs, trees=trees, shared=shared)
    cold = transport_costs(other, R, R, pairs)
    np.testing.assert_allclose(warm.costs, cold.costs, atol=1e-12)
    for t, (i, j) in enumerate(pairs):
        X = transport_plans(R, R, pairs[t : t + 1], trees[t : t + 1], np.ones(1), shared=shared)
        assert X.min() >= 0.0
        np.testing.assert_allclose(X.sum(axis=1), R[i], atol=1e-14)
        np.testing.assert_allclose(X.sum(axis=0), R[j], atol=1e-14)
        assert np.sum(X * other) == pytest.approx(warm.costs[t], abs=1e-12)


def test_mass_in_common_stays_under_a_metric_only():
    rng = np.random.default_rng(0)
    R, M = histograms(6, 9, "dense", rng), costs_of("metric", 9, rng)
    assert is_semimetric(M)
    one, two = (transport_costs(M, R, R, all_pairs(6), shared=s).costs for s in (True, False))
    np.testing.assert_allclose(one, two, atol=1e-14)
    longer = M.copy()
    longer[0, 1] = longer[1, 0] = 100.0
    assert not is_semimetric(longer)
    assert not is_semimetric(M + np.eye(9))


def test_the_example_of_section_2_costs_125_and_not_120():
    a, b = np.array([60.0, 20, 14, 6]), np.array([13.0, 7, 56, 24])
    M = np.array([[0.0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]])
    found = transport_costs(M, a[None], b[None], np.array([[0, 0]])).costs[0]
    assert found == pytest.approx(125.0)
    assert linear_program(a, b, M) == pytest.approx(125.0)


def test_threads_change_nothing():
    rng = np.random.default_rng(1)
    R, M, pairs = histograms(40, 10, "dense", rng), costs_of("metric", 10, rng), all_pairs(40)
    one, two = (transport_costs(M, R, R, pairs, n_jobs=n).costs for n in (None, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("scale", [1e-150, 1e-5, 1e5, 1e150])
def test_costs_scale(scale):
    rng = np.random.default_rng(2)
    R, M, pairs = histograms(6, 10, "dense", rng), costs_of("metric", 10, rng), all_pairs(6)
    one = transport_costs(M, R, R, pairs).costs
    np.testing.assert_allclose(transport_costs(scale * M, R, R, pairs).costs, scale * one)


def test_equals_pot():
    ot = pytest.importorskip("ot")
    rng = np.random.default_rng(3)
    R, M, pairs = histograms(10, 40, "dense", rng), costs_of("any", 40, rng), all_pairs(10)
    expected = [ot.emd2(R[i], R[j], M) for i, j in pairs]
    np.testing.assert_allclose(transport_costs(M, R, R, pairs).costs, expected, atol=1e-12)
