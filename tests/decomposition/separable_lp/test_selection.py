"""Algorithms 2, 4, 5 and 6, the conditioning of vertices and the bounds."""

import numpy as np
import pytest
from scipy.optimize import linprog

from octavo.decomposition import (
    cluster_diagonal,
    cluster_noise_bound,
    hottopixx_noise_bound,
    hybrid_selection,
    l1_fit_share,
    lp_noise_bound,
    outlier_noise_bound,
    robust_conicity,
    solve_separable_lp,
    split_outliers,
)


def cluster_by_hand(X, x, epsilon, r=None):
    """Algorithm 4 in plain loops; of equal balls, the one with the heaviest centre."""

    def argmax(w):
        return max(range(n), key=lambda i: (round(w[i], 10), x[i]))

    n = len(X)
    x = np.array(x, dtype=float)
    if r is None:
        r = int(np.ceil(x.sum() - 1e-6))
    else:
        x *= r / x.sum()
    D = [[np.abs(X[i] - X[j]).sum() for j in range(n)] for i in range(n)]
    furthest = max(map(max, D))
    K = best = sorted((k for k in range(n) if x[k] > r / (r + 1)), key=lambda k: -x[k])
    nu = best_nu = max(2 * epsilon, min(d for row in D for d in row if d > 0))
    while len(K) < r and nu < furthest:
        S = [{j for j in range(n) if D[i][j] <= nu} for i in range(n)]
        w, K = [sum(x[j] for j in S[i]) for i in range(n)], []
        while max(w) > r / (r + 1):
            k = argmax(w)
            K.append(k)
            w = [w[i] - sum(x[j] for j in S[k] & S[i]) for i in range(n)]
        if len(K) > len(best):
            best, best_nu = K, nu
        nu *= 2
    if len(best) < r:
        S = [{j for j in range(n) if D[i][j] <= best_nu} for i in range(n)]
        w, best = [sum(x[j] for j in S[i]) for i in range(n)], []
        while len(best) < r:
            k = argmax(w)
            best.append(k)
            for i in range(n):
                w[i] -= sum(((furthest - D[i][j]) / furthest) ** 0.1 * x[j] for j in S[k] & S[i])
            for i in best:
                w[i] = -np.inf
    return best[:r]


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("r", [None, 3])
def test_algorithm_4_by_hand(seed, r):
    rng = np.random.default_rng(seed)
    X = np.vstack([v + 0.05 * rng.random((4, 4)) for v in np.eye(4)])
    x = (rng.dirichlet(np.ones(4), 4) * rng.uniform(0.6, 1.0, (4, 1))).ravel()
    assert cluster_diagonal(X, x, 0.01, r).tolist() == cluster_by_hand(X, x, 0.01, r)


def test_a_weight_spread_over_duplicates_is_collected():
    X = np.vstack([np.eye(3), np.eye(3) + 0.001, [[1 / 3] * 3]])
    weights = np.r_[np.full(3, 0.5), np.full(3, 0.5), 0.0]
    found = cluster_diagonal(X, weights, 0.001)
    assert sorted(k % 3 for k in found) == [0, 1, 2]


def test_algorithm_6_takes_the_better_of_both():
    """The two largest weights are near duplicates; clusters see the third vertex."""
    X = np.array([[1.0, 0.0], [0.99, 0.01], [0.0, 1.0], [0.5, 0.5]])
    weights = [0.5, 0.5, 0.45, 0.0]
    by_weight = np.argsort(weights)[::-1][:2]
    assert set(by_weight) == {0, 1}
    found = hybrid_selection(X, [0.55, 0.5, 0.45, 0.1], 0.01, 2)
    other = {0, 1} if set(found.tolist()) != {0, 1} else {0, 2}
    left = {k: l1_fit_share(X, list(k)) for k in (tuple(sorted(found)), tuple(sorted(other)))}
    assert max(left, key=left.get) == tuple(sorted(found))


def test_the_share_is_a_linear_program():
    rng = np.random.default_rng(0)
    X, K = rng.random((8, 5)), [0, 3]
    left = 0.0
    for row in X:  # min Σu, -u ≤ row - h W ≤ u, h ≥ 0
        W, eye = X[K].T, np.eye(5)
        found = linprog(
            np.r_[np.zeros(2), np.ones(5)],
            A_ub=np.block([[W, -eye], [-W, -eye]]),
            b_ub=np.r_[row, -row],
        )
        left += found.fun
    assert l1_fit_share(X, K) == pytest.approx(1 - left / X.sum(), abs=1e-8)
    assert l1_fit_share(X, range(8)) == pytest.approx(1.0, abs=1e-9)


def with_outliers(seed, epsilon):
    """Vertices 0 to 2, outliers 3 and 4 in directions of their own, mixtures after them."""
    rng = np.random.default_rng(seed)
    W = np.hstack([rng.dirichlet(np.ones(6), 3), np.zeros((3, 2))])
    T = np.eye(8)[[6, 7]]
    mixed = rng.dirichlet(3 * np.ones(3), 12) @ W
    X = np.vstack([W, T, mixed])
    noise = rng.standard_normal(X.shape)
    return X + epsilon * noise / np.abs(noise).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("refit", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_outliers_are_what_nobody_needs(seed, refit):
    X = with_outliers(seed, 1e-4)
    Y = solve_separable_lp(X, 1e-4, rho=2.0).coupling
    split = split_outliers(X, Y, refit=refit)
    assert (split.selected.tolist(), split.outliers.tolist()) == ([0, 1, 2], [3, 4])
    units = np.random.default_rng(seed).uniform(0.1, 10.0, len(X))
    again = split_outliers(X * units[:, None], Y * units / units[:, None], refit=refit)
    np.testing.assert_allclose(again.row_sums, split.row_sums, atol=1e-6)


def test_conicity_of_known_cones():
    assert robust_conicity(np.eye(4)) == pytest.approx(1.0)
    assert robust_conicity([[1, 0], [0, 1], [0.5, 0.5]]) == pytest.approx(0.0, abs=1e-12)
    kappa, r = 0.6, 5  # Appendix B: W is κ-robustly conical
    W = np.hstack([kappa / 2 * np.eye(r), np.full((r, 1), 1 - kappa / 2)])
    assert robust_conicity(W) == pytest.approx(kappa)
    assert robust_conicity(1e-5 * W) == pytest.approx(1e-5 * kappa)
    assert robust_conicity([[3.0, 4.0]]) == pytest.approx(7.0)


def test_bounds_of_the_theorems():
    assert lp_noise_bound(1.0, 0.0, 1.0) == pytest.approx(1 / 15)  # Remark 5
    assert lp_noise_bound(1.0, 0.0, 2.0) == pytest.approx(1 / 20)
    assert lp_noise_bound(1.0, 0.0, 1.0, kind="necessary") == pytest.approx(15 / 2 / 15)
    rhos = np.linspace(0.1, 3, 30)
    for kind in ("sufficient", "improved"):
        bounds = [lp_noise_bound(0.5, 0.2, rho, kind=kind) for rho in rhos]
        assert rhos[np.argmax(bounds)] == pytest.approx(1.0)
    for rho in rhos:
        low, mid, high = (
            lp_noise_bound(0.5, 0.2, rho, kind=k) for k in ("sufficient", "improved", "necessary")
        )
        assert low < mid < high
    assert hottopixx_noise_bound(0.9, 0.0, 9) == pytest.approx(0.01)
    assert hottopixx_noise_bound(0.9, 0.0, 9, kind="necessary") == pytest.approx(0.1)
    assert cluster_noise_bound(1.0, 0.99, 0 + 1) == pytest.approx(0.005)
    assert outlier_noise_bound(1.0, 0.0, 6) == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: lp_noise_bound(1.5), "kappa must lie between 0 and 1"),
        (lambda: lp_noise_bound(0.5, 2.0), "beta must lie between 0 and 1"),
        (lambda: lp_noise_bound(0.5, 0.1, 0.0), "rho must be a finite positive"),
        (lambda: lp_noise_bound(0.5, kind="best"), "kind must be"),
        (lambda: hottopixx_noise_bound(0.5, 0.1, 0), "n_components must be at least 1"),
        (lambda: cluster_noise_bound(0.5, 3.0, 2), "omega must lie between 0 and 2"),
        (lambda: outlier_noise_bound(0.5, 0.1, 1), "n_points must be at least 2"),
        (lambda: cluster_diagonal(np.eye(2), [0, 0], 0.1), "All weights are zero"),
        (lambda: cluster_diagonal(np.eye(2), [1, -1], 0.1), "weights must be 2 finite"),
        (lambda: cluster_diagonal(np.eye(2), [1, 1], 0.1, 3), "n_components must be between"),
        (lambda: split_outliers(np.eye(2), np.eye(3)), "2 rows and columns"),
    ],
)
def test_bad_input_is_met_by_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
