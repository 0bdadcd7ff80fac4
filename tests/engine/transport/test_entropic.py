import numpy as np
import pytest
import sklearn

from octavo.engine.transport import entropic
from octavo.engine.transport.entropic import entropic_plans, entropic_transport
from octavo.engine.transport.network_simplex import transport_costs


def problem(n=6, d=7, seed=0, zeros=True):
    rng = np.random.default_rng(seed)
    R, C = rng.dirichlet(np.ones(d), n), rng.dirichlet(np.ones(d), n)
    if zeros:
        R[:, 1] = C[:, 3] = 0.0
        R, C = (Z / Z.sum(axis=1, keepdims=True) for Z in (R, C))
    M = rng.random((d, d))
    return (M + M.T) * (1 - np.eye(d)), R, C


def value(M, R, C, reg, **options):
    return entropic_transport(M, R, C, reg, tol=1e-13, max_iter=20_000, **options)


@pytest.mark.parametrize("reg", [0.5, 0.1])
def test_equals_the_convex_program(reg):
    cvxpy = pytest.importorskip("cvxpy")
    M, R, C = problem(2, 4, zeros=False)
    found = value(M, R, C, reg)
    for t in range(2):
        X = cvxpy.Variable((4, 4), nonneg=True)
        cost = cvxpy.sum(cvxpy.multiply(M, X)) + reg * cvxpy.sum(
            cvxpy.kl_div(X, np.outer(R[t], C[t]))
        )
        rules = [cvxpy.sum(X, axis=1) == R[t], cvxpy.sum(X, axis=0) == C[t]]
        best = cvxpy.Problem(cvxpy.Minimize(cost), rules).solve(solver="CLARABEL")
        assert found.values[t] == pytest.approx(best, abs=1e-6)
        plan = entropic_plans(M, reg, found.log_u[t : t + 1], found.log_v[t : t + 1], np.ones(1))
        np.testing.assert_allclose(plan, X.value, atol=1e-5)


def test_the_gradient_is_the_plan():
    M, R, C = problem()
    weights = np.random.default_rng(1).standard_normal(len(R))
    found = value(M, R, C, 0.1)
    G = entropic_plans(M, 0.1, found.log_u, found.log_v, weights)
    step = np.random.default_rng(2).random(M.shape)
    h = 1e-5
    up, down = (value(M + s * h * step, R, C, 0.1).values for s in (1, -1))
    assert weights @ (up - down) / (2 * h) == pytest.approx(np.sum(G * step), rel=1e-6)


def test_plans_have_their_margins():
    M, R, C = problem()
    found = value(M, R, C, 0.05)
    for t in range(len(R)):
        X = entropic_plans(M, 0.05, found.log_u[t : t + 1], found.log_v[t : t + 1], np.ones(1))
        np.testing.assert_allclose(X.sum(axis=1), R[t], atol=1e-12)
        np.testing.assert_allclose(X.sum(axis=0), C[t], atol=1e-12)
        assert np.sum(X * M) == pytest.approx(found.costs[t])


def test_little_smoothing_is_exact_transport():
    M, R, C = problem()
    pairs = np.column_stack([np.arange(len(R))] * 2)
    exact = transport_costs(M, R, C, pairs).costs
    found = entropic_transport(M, R, C, 1e-3, tol=1e-9, max_iter=100_000)
    assert M.max() / 1e-3 > 300  # logarithms
    np.testing.assert_allclose(found.costs, exact, atol=1e-2)
    assert (found.costs >= exact - 1e-7).all()


def test_scalings_and_logarithms_agree(monkeypatch):
    M, R, C = problem()
    one = value(M, R, C, 0.05)
    monkeypatch.setattr(entropic, "_range", lambda xp, dtype: 0.0)
    monkeypatch.setattr(entropic, "MOST_CELLS", 100)
    two = value(M, R, C, 0.05)
    np.testing.assert_allclose(two.values, one.values, atol=1e-11)
    np.testing.assert_allclose(two.costs, one.costs, atol=1e-11)
    weights = np.arange(len(R)) - 2.0
    plans = entropic_plans(M, 0.05, two.log_u, two.log_v, weights)
    monkeypatch.undo()
    np.testing.assert_allclose(
        plans, entropic_plans(M, 0.05, one.log_u, one.log_v, weights), atol=1e-11
    )


def test_a_restart_takes_fewer_iterations():
    M, R, C = problem(40, 20)
    cold = entropic_transport(M, R, C, 0.1, tol=1e-9)
    warm = entropic_transport(M * 1.001, R, C, 0.1, tol=1e-9, log_v=cold.log_v)
    assert warm.n_iter < cold.n_iter


def test_runs_in_another_namespace():
    strict = pytest.importorskip("array_api_strict")
    M, R, C = problem()
    weights = np.ones(len(R))
    for reg in (0.05, 1e-3):
        found = entropic_transport(M, R, C, reg)
        with sklearn.config_context(array_api_dispatch=True):
            arrays = [strict.asarray(Z) for Z in (M, R, C, weights)]
            other = entropic_transport(*arrays[:3], reg)
            G = entropic_plans(arrays[0], reg, other.log_u, other.log_v, arrays[3])
        np.testing.assert_allclose(np.asarray(other.values), found.values, rtol=1e-12)
        expected = entropic_plans(M, reg, found.log_u, found.log_v, weights)
        np.testing.assert_allclose(np.asarray(G), expected, atol=1e-12)


def test_single_precision_stays_single():
    M, R, C = (Z.astype(np.float32) for Z in problem())
    found = entropic_transport(M, R, C, 0.1, tol=1e-4)
    assert found.values.dtype == np.float32
    np.testing.assert_allclose(found.values, value(*problem(), 0.1).values, atol=1e-3)
