"""LEGO, POLA and LogDet projections against the problems that they solve."""

import numpy as np
import pytest
from scipy.optimize import minimize

from octavo.metric import lego, logdet_kernel, logdet_metric, pola


def logdet_divergence(W, V):
    M = W @ np.linalg.inv(V)
    return np.trace(M) - np.linalg.slogdet(M)[1] - len(W)


@pytest.mark.parametrize("step", [0.1, 10.0])
@pytest.mark.parametrize("y", [0.2, 30.0])
def test_a_step_of_lego_minimises_its_objective(step, y):
    rng = np.random.default_rng(0)
    B, a = rng.standard_normal((3, 3)), rng.standard_normal(3)
    V = B @ B.T + np.eye(3)
    W = lego(a[None], [y], step=step, init=V)

    def objective(M):
        return logdet_divergence(M, V) + 0.5 * step * (a @ M @ a - y) ** 2

    for _ in range(20):
        E = rng.standard_normal((3, 3))
        E = 1e-4 * (E + E.T)
        assert objective(W) <= objective(W + E) + 1e-12
    slope = np.linalg.inv(V) - np.linalg.inv(W) + step * (a @ W @ a - y) * np.outer(a, a)
    assert np.abs(slope).max() < 1e-8


def test_lego_passes_over_bounds_that_hold():
    np.testing.assert_array_equal(lego([[1.0, 0.0]], [2.0], [1]), np.eye(2))
    # D_ld(diag(w, 1), I) + ½ (w - 2)² is least where 1 - 1/w + w - 2 = 0: the golden ratio
    broken = lego([[1.0, 0.0]], [2.0], [-1])
    np.testing.assert_allclose(broken, np.diag([(1 + np.sqrt(5)) / 2, 1.0]), rtol=1e-12)
    np.testing.assert_array_equal(lego([[1.0, 0.0]], [0.5], [-1]), np.eye(2))


def test_pola_projects_onto_its_half_space_first():
    rng = np.random.default_rng(1)
    a = rng.standard_normal(3)
    V = 5.0 * np.eye(3)
    W, b = pola(a[None], [-1], init=0.1 * np.eye(3))
    assert a @ W @ a >= b + 1.0 - 1e-9 or b == 1.0
    # One similar pair from V: the projection onto aᵀWa ≤ b - 1 in the space of (W, b).
    W, b = pola(a[None], [1], init=V)

    def gap(x):
        return np.sum((x[:9].reshape(3, 3) - V) ** 2) + (x[9] - 1.0) ** 2

    met = {"type": "ineq", "fun": lambda x: x[9] - 1.0 - a @ x[:9].reshape(3, 3) @ a}
    best = minimize(gap, np.append(V.ravel(), 1.0), constraints=[met], options={"ftol": 1e-12})
    expected = best.x[:9].reshape(3, 3)
    values, vectors = np.linalg.eigh(0.5 * (expected + expected.T))
    expected = (vectors * np.maximum(values, 0)) @ vectors.T
    np.testing.assert_allclose(W, expected, atol=1e-4)
    assert b == pytest.approx(best.x[9], abs=1e-4)


def test_logdet_projections_solve_the_program():
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(2)
    A = rng.standard_normal((4, 3))
    now = (A**2).sum(axis=1)
    y, relation = now * [0.5, 2.0, 1.2, 0.8], np.array([1, -1, -1, 0])
    W = cvxpy.Variable((3, 3), PSD=True)
    quadratic = [cvxpy.trace(W @ np.outer(a, a)) for a in A]
    program = cvxpy.Problem(
        cvxpy.Minimize(cvxpy.trace(W) - cvxpy.log_det(W)),
        [
            quadratic[0] <= y[0],
            quadratic[1] >= y[1],
            quadratic[2] >= y[2],
            quadratic[3] == y[3],
        ],
    )
    program.solve(solver="CLARABEL")
    ours = logdet_metric(A, y, relation, tol=1e-12, max_iter=100_000)
    np.testing.assert_allclose(ours, W.value, atol=1e-5 * np.abs(W.value).max())


def test_slack_gives_itml(monkeypatch):
    metric_learn = pytest.importorskip("metric_learn")
    from sklearn.utils import validation

    def renamed(name):  # scikit-learn calls force_all_finite otherwise now
        def check(*args, force_all_finite=True, **options):
            return getattr(validation, name)(*args, ensure_all_finite=force_all_finite, **options)

        return check

    for name in ("check_X_y", "check_array"):
        monkeypatch.setattr(f"metric_learn._util.{name}", renamed(name))
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 4))
    pairs = rng.integers(0, 40, (60, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    kinds = np.where(np.arange(len(pairs)) % 2, 1, -1)
    model = metric_learn.ITML(tol=1e-12, max_iter=100_000, gamma=1.0, prior="identity")
    model.fit(X[pairs], kinds, bounds=[0.5, 6.0])
    order = np.argsort(-kinds, kind="stable")  # its positives come first
    D = (X[pairs[:, 0]] - X[pairs[:, 1]])[order]
    y = np.where(kinds[order] == 1, 0.5, 6.0)
    W = logdet_metric(D, y, kinds[order], gamma=1.0, tol=1e-12, max_iter=100_000)
    np.testing.assert_allclose(W, model.get_mahalanobis_matrix(), rtol=1e-5, atol=1e-8)


def test_the_kernel_keeps_its_range_and_meets_its_targets():
    rng = np.random.default_rng(4)
    G = rng.standard_normal((8, 3))
    pairs = [[0, 1], [2, 3], [4, 5]]
    H = logdet_kernel(G, pairs, [0.3, 5.0, 1.0], tol=1e-12, max_iter=100_000)
    np.testing.assert_allclose(
        [np.sum((H[i] - H[j]) ** 2) for i, j in pairs], [0.3, 5.0, 1.0], rtol=1e-6
    )
    assert np.linalg.matrix_rank(np.hstack([G, H])) == 3
    with pytest.raises(ValueError, match="entry 1 is 0"):
        logdet_kernel(G, pairs, [1.0, 0.0, 1.0])
