"""The l1/linf path against HiGHS, closed forms, its own certificate, and degenerate matrices."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import hadamard
from scipy.optimize import linprog

from octavo.engine.linear_programs.l1_homotopy import certificate, l1_path, l1_solutions


def shortest_by_highs(S, g, alpha):
    """Return linprog's answer to  min ||β||₁, ||Sβ − g||∞ ≤ λ."""
    return linprog(
        np.ones(2 * len(g)),
        A_ub=np.block([[S, -S], [-S, S]]),
        b_ub=np.concatenate([alpha + g, alpha - g]),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )


def correlations(n_samples, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, d)) + 0.7 * rng.standard_normal((n_samples, 1))
    return np.corrcoef(X.T)


def unit(d, i):
    return np.eye(d)[i]


def assert_certified(S, g, path, alpha, tol=1e-9):
    gap, violation = certificate(S, g, alpha, path.at(alpha), path.dual_at(alpha))
    assert abs(gap) <= tol * max(1.0, np.abs(path.at(alpha)).sum())
    assert violation <= tol


@pytest.mark.parametrize(("n_samples", "d"), [(60, 10), (60, 30), (20, 40), (12, 24)])
def test_objective_equals_highs_at_breakpoints_and_between(n_samples, d):
    S = correlations(n_samples, d, seed=n_samples + d)
    for i in (0, d // 2):
        path = l1_path(S, unit(d, i))
        some = path.alphas[1 :: max(1, len(path.alphas) // 5)]
        for alpha in np.concatenate([some, (some[1:] + some[:-1]) / 2]):
            expected = shortest_by_highs(S, unit(d, i), alpha)
            beta = path.at(alpha)
            assert np.abs(beta).sum() == pytest.approx(expected.fun, abs=1e-8, rel=1e-8)
            assert np.abs(S @ beta - unit(d, i)).max() <= alpha + 1e-9


@pytest.mark.parametrize(("n_samples", "d"), [(12, 24), (20, 40)])
def test_ends_at_the_smallest_feasible_lam_and_proves_it(n_samples, d):
    S = correlations(n_samples, d, seed=3)
    for i in range(0, d, 5):
        g = unit(d, i)
        path = l1_path(S, g)
        assert path.status == "infeasible"
        # min over (β, λ) of λ subject to ||Sβ − g||∞ ≤ λ, by HiGHS
        ones = np.ones((d, 1))
        least = linprog(
            np.concatenate([np.zeros(d), [1.0]]),
            A_ub=np.block([[S, -ones], [-S, -ones]]),
            b_ub=np.concatenate([g, -g]),
            bounds=[(None, None)] * d + [(0, None)],
            method="highs",
        )
        assert path.alpha_end == pytest.approx(least.fun, abs=1e-8)
        # The ray: S v = 0 and g'v = λ||v||₁, so that no smaller λ can be feasible.
        assert np.abs(S @ path.ray).max() <= 1e-9 * np.abs(path.ray).max()
        assert g @ path.ray == pytest.approx(path.alpha_end * np.abs(path.ray).sum(), rel=1e-9)
        with pytest.raises(ValueError, match="no smaller alpha is feasible"):
            path.at(path.alpha_end * 0.999)


@pytest.mark.parametrize("n_samples", [25, 100])
def test_whole_path_is_certified_convex_and_continuous(n_samples):
    d = 30
    S = correlations(n_samples, d, seed=1)
    path = l1_path(S, unit(d, 3))
    alphas = path.alphas
    assert (np.diff(alphas) < 0).all()
    assert alphas[0] == 1.0
    assert not path.at(1.0).any()
    for high, low in pairwise(alphas):
        for alpha in (low, (high + low) / 2):
            assert_certified(S, unit(d, 3), path, alpha)
        just_above, just_below = path.at(low * (1 + 1e-12)), path.at(max(low, path.alpha_end))
        np.testing.assert_allclose(just_above, just_below, atol=1e-6)
    length = np.array([np.abs(path.at(alpha)).sum() for alpha in alphas])
    slope = np.diff(length) / np.diff(alphas)
    assert (slope < 0).all()
    assert (np.diff(slope) <= 1e-7 * np.abs(slope[1:])).all()  # convex in λ
    # y is constant on a piece, and the slope of ||β||₁ there is −||y||₁
    middles = (alphas[1:] + alphas[:-1]) / 2
    np.testing.assert_allclose(
        slope, [-np.abs(path.dual_at(alpha)).sum() for alpha in middles], rtol=1e-6
    )


def test_identity_and_diagonal_have_closed_forms():
    path = l1_path(np.eye(5), unit(5, 2))
    for alpha in (0.9, 0.37, 0.0):
        np.testing.assert_allclose(path.at(alpha), (1 - alpha) * unit(5, 2), atol=1e-15)
    diagonal = np.array([0.5, 2.0, 7.0])
    for i in range(3):
        path = l1_path(np.diag(diagonal), unit(3, i))
        np.testing.assert_allclose(path.at(0.25), 0.75 / diagonal[i] * unit(3, i), atol=1e-15)


def test_two_by_two_has_a_closed_form():
    rho = 0.6
    S = np.array([[1.0, rho], [rho, 1.0]])
    path = l1_path(S, unit(2, 0))
    bend = rho / (1 + rho)  # where the second row becomes tight
    np.testing.assert_allclose(path.alphas, [1.0, bend, 0.0], atol=1e-15)
    np.testing.assert_allclose(path.at(0.8), [0.2, 0.0], atol=1e-15)
    alpha = 0.1  # both rows tight: Sβ = (1 − λ, λ)
    np.testing.assert_allclose(path.at(alpha), np.linalg.solve(S, [1 - alpha, alpha]), atol=1e-14)


def test_at_zero_it_is_the_inverse():
    S = correlations(100, 12, seed=5)
    inverse = np.linalg.inv(S)
    for i in range(12):
        path = l1_path(S, unit(12, i))
        assert path.status == "complete"
        np.testing.assert_allclose(path.at(0.0), inverse[i], atol=1e-9)


def equicorrelated(d, rho):
    return np.full((d, d), rho) + (1 - rho) * np.eye(d)


DEGENERATE = {
    "equicorrelated": equicorrelated(60, 0.5),
    "strongly equicorrelated": equicorrelated(30, 0.95),
    "negatively equicorrelated": equicorrelated(30, -0.5 / 29),
    "blocks": np.kron(np.eye(6), equicorrelated(5, 0.5)),
    "toeplitz": 0.5 ** np.abs(np.subtract.outer(np.arange(30), np.arange(30))),
    "duplicated": np.kron(np.ones((2, 2)), correlations(60, 8, 0)),
    "negated": np.kron([[1, -1], [-1, 1]], correlations(60, 8, 0)),
    "ones": np.ones((6, 6)),
    "zero": np.zeros((6, 6)),
    "hadamard": hadamard(16)[:, :12].T @ hadamard(16)[:, :12] / 16.0,
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_ties_neither_cycle_nor_mislead(name):
    S = DEGENERATE[name]
    d = len(S)
    for g in (unit(d, 0), unit(d, d // 2), S @ np.round(np.linspace(-3, 3, d))):
        if not g.any():
            continue
        path = l1_path(S, g)
        assert path.status in ("complete", "infeasible")
        assert path.n_pivots <= 5 * d
        for share in (0.5, 0.2, 0.03):
            alpha = share * np.abs(g).max()
            expected = shortest_by_highs(S, g, alpha)
            if alpha < path.alpha_end * (1 - 1e-9):
                assert expected.status == 2  # infeasible
            else:
                assert np.abs(path.at(alpha)).sum() == pytest.approx(expected.fun, rel=1e-8)
                assert_certified(S, g, path, alpha)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_small_integer_problems_agree_with_highs(data):
    """Integer data are full of ties."""
    n = data.draw(st.integers(1, 6))
    d = data.draw(st.integers(1, 6))
    entries = st.lists(st.integers(-2, 2), min_size=n * d, max_size=n * d)
    X = np.array(data.draw(entries), dtype=float).reshape(n, d)
    target = data.draw(st.lists(st.integers(-3, 3), min_size=d, max_size=d).filter(any))
    S, g = X.T @ X, np.array(target, dtype=float)
    path = l1_path(S, g)
    for share in (0.7, 0.4, 0.1):
        alpha = share * np.abs(g).max()
        expected = shortest_by_highs(S, g, alpha)
        if abs(alpha - path.alpha_end) < 1e-7:
            continue
        if alpha < path.alpha_end:
            assert expected.status == 2
        else:
            assert np.abs(path.at(alpha)).sum() == pytest.approx(expected.fun, rel=1e-7, abs=1e-8)
            assert_certified(S, g, path, alpha)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), stretch=st.sampled_from([1e-6, 0.3, 1.0, 50.0, 1e7]))
def test_scaling_and_permuting_carry_through(seed, stretch):
    d = 9
    S, g = correlations(30, d, seed), np.random.default_rng(seed).standard_normal(d)
    path = l1_path(S, g, 0.05)
    scaled = l1_path(stretch * S, 3.0 * g, 0.15)
    np.testing.assert_allclose(scaled.alphas, 3.0 * path.alphas, rtol=1e-9)
    np.testing.assert_allclose(
        scaled.at(0.6), 3.0 / stretch * path.at(0.2), rtol=1e-7, atol=1e-10 / stretch
    )
    order = np.random.default_rng(seed + 1).permutation(d)
    permuted = l1_path(S[np.ix_(order, order)], g[order], 0.05)
    np.testing.assert_allclose(permuted.at(0.2), path.at(0.2)[order], atol=1e-9)


def test_solutions_on_a_grid_are_points_of_the_path():
    S, g = correlations(50, 20, seed=2), unit(20, 4)
    path = l1_path(S, g)
    alphas = np.array([1.5, 1.0, 0.7, 0.31, 0.3, 0.12, 0.12, 0.01])
    some = l1_solutions(S, g, alphas)
    np.testing.assert_array_equal(some.alphas, alphas)
    for k, alpha in enumerate(alphas):
        np.testing.assert_allclose(some.coefs.toarray()[k], path.at(alpha), atol=1e-10)
        gap, _ = certificate(S, g, alpha, some.coefs.toarray()[k], some.duals.toarray()[k])
        assert abs(gap) <= 1e-9


def test_solutions_stop_where_no_smaller_lam_is_feasible():
    S = correlations(10, 20, seed=2)
    end = l1_path(S, unit(20, 0)).alpha_end
    some = l1_solutions(S, unit(20, 0), np.array([0.9, end * 1.01, end * 0.99, 0.0]))
    assert len(some.alphas) == 2
    assert some.status == "infeasible"
    assert some.alpha_end == pytest.approx(end, abs=1e-12)


def test_a_bound_on_breakpoints_cuts_the_path():
    S = correlations(50, 20, seed=2)
    whole, cut = l1_path(S, unit(20, 0)), l1_path(S, unit(20, 0), max_breakpoints=4)
    assert len(whole.alphas) > 4
    assert cut.status == "truncated"
    np.testing.assert_allclose(cut.alphas, whole.alphas[:4], rtol=1e-12)
    with pytest.raises(ValueError, match="number of breakpoints"):
        cut.at(whole.alphas[5])


def test_a_bound_on_pivots_stalls():
    path = l1_path(correlations(50, 20, seed=2), unit(20, 0), max_iter=3)
    assert path.status == "stalled"
    assert path.n_pivots == 3


def test_long_paths_do_not_drift():
    """Thousands of pivots on one inverse: n < d down to the last feasible λ."""
    d = 150
    S = correlations(75, d, seed=0)
    path = l1_path(S, unit(d, 0))
    assert path.n_pivots > 300
    for alpha in path.alphas[:: len(path.alphas) // 20]:
        assert_certified(S, unit(d, 0), path, alpha)
    assert_certified(S, unit(d, 0), path, path.alpha_end, tol=1e-8)


def test_infeasible_is_claimed_only_with_a_proof():
    """Variances that span eleven orders of magnitude: a pivot of 1e-10 may be all there is."""
    from sklearn.datasets import load_breast_cancer

    S = np.cov(load_breast_cancer().data.T)  # regular: every λ is feasible
    for i in range(5):
        path = l1_path(S, unit(30, i))
        assert path.status in ("complete", "stalled")
        assert not path.ray.any()


def test_certificate_cannot_be_fooled():
    S, g = correlations(50, 6, seed=2), unit(6, 0)
    path = l1_path(S, g)
    beta, y = path.at(0.2), path.dual_at(0.2)
    assert certificate(S, g, 0.2, 1.1 * beta, y)[0] > 1e-2  # too long
    assert certificate(S, g, 0.2, 0.9 * beta, y)[1] > 1e-2  # violates its constraints
    assert certificate(S, g, 0.2, beta, 2.0 * y)[0] > -1e-12  # y infeasible: no credit for it
    assert certificate(S, g, 0.2, beta, 0.5 * y)[0] > 1e-2
