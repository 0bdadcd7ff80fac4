"""The minimiser against scipy and closed forms; its line search against the Wolfe conditions."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from octavo.engine.smooth.lbfgs import CurvaturePairs, lbfgs, wolfe_step
from octavo.engine.smooth.losses import make_loss


class MatrixOracle:
    """A regularised linear model in memory, written plainly."""

    def __init__(self, X, y, alpha, loss="log"):
        self.X, self.y, self.alpha, self.loss = X, y, alpha, make_loss(loss)
        self.probes = self.gradients = self.looks = 0

    def full(self, x):
        value, slope, bend = self.loss.evaluate(self.X @ x, self.y)
        value += 0.5 * self.alpha * x @ x
        return value, self.X.T @ slope + self.alpha * x, (self.X**2).T @ bend + self.alpha

    def start(self, x):
        self.x = x
        return self.full(x)

    def at(self, step):
        value, gradient, _ = self.full(self.x + step * self.d)
        return value, float(gradient @ self.d), gradient

    def probe(self, direction, step, gradient):
        self.probes += 1
        self.d = direction
        return self.at(step)

    def look(self, step):
        self.looks += 1
        return self.at(step)[:2]

    def gradient(self, step):
        self.gradients += 1
        return self.at(step)[2]

    def move(self, step):
        self.x = self.x + step * self.d


def problem(seed=0, n=150, d=12, scales=2.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-scales, scales, d)
    y = np.where(X[:, 0] / np.abs(X[:, 0]).max() + rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


@pytest.mark.parametrize("precondition", [True, False])
@pytest.mark.parametrize("loss", ["log", "squared_hinge", "squared", "huber"])
def test_the_minimum_is_scipys(loss, precondition):
    X, y = problem(scales=0.5)
    oracle = MatrixOracle(X, y, 0.5, loss)
    ours = lbfgs(oracle, np.zeros(12), tol=0.0, gtol=1e-7, max_iter=2000, precondition=precondition)
    theirs = minimize(
        lambda x: oracle.full(x)[:2], np.zeros(12), jac=True, method="L-BFGS-B",
        options={"gtol": 1e-9, "ftol": 1e-16, "maxiter": 5000},
    )  # fmt: skip
    assert ours.converged
    assert ours.value <= theirs.fun + 1e-9 * abs(theirs.fun)
    assert np.abs(ours.gradient).max() <= 1e-6
    np.testing.assert_allclose(ours.value, oracle.full(ours.x)[0], rtol=1e-12)
    assert len(ours.path) == ours.n_iter + 1


def test_the_path_never_rises_and_the_guess_is_mostly_taken():
    X, y = problem(1)
    oracle = MatrixOracle(X, y, 1.0)
    found = lbfgs(oracle, np.zeros(12), tol=1e-12, max_iter=500)
    assert (np.diff(found.path) <= 1e-13 * abs(found.value)).all()
    assert oracle.probes == found.n_iter
    assert oracle.gradients <= 0.5 * found.n_iter, "most iterations should cost one pass"


def test_jacobi_undoes_the_scales_of_features():
    """On a separable quadratic the Hessian is its diagonal: one step reaches the minimum."""
    X = np.diag(10.0 ** np.arange(-2.0, 4.0))
    oracle = MatrixOracle(X, np.ones(6), 0.0, "squared")
    found = lbfgs(oracle, np.zeros(6), tol=1e-14, max_iter=5)
    assert found.n_iter <= 2
    np.testing.assert_allclose(X @ found.x, 1.0, rtol=1e-6)
    plain = lbfgs(MatrixOracle(X, np.ones(6), 0.0, "squared"), np.zeros(6), tol=1e-14,
                  max_iter=5, precondition=False)  # fmt: skip
    assert plain.value > 100 * max(found.value, 1e-12)


def test_features_without_curvature_stay_where_they_are():
    X, y = problem(2)
    X[:, 3] = 0.0
    found = lbfgs(MatrixOracle(X, y, 0.0), np.zeros(12), max_iter=30)
    assert found.x[3] == 0.0
    assert np.isfinite(found.x).all()


def test_reasons_to_stop():
    X, y = problem(3)
    assert lbfgs(MatrixOracle(X, y, 1.0), np.zeros(12), max_iter=1).reason == "max_iter"
    assert not lbfgs(MatrixOracle(X, y, 1.0), np.zeros(12), max_iter=1).converged
    assert lbfgs(MatrixOracle(X, y, 1.0), np.zeros(12), tol=1e-5, max_iter=500).reason == "gain"
    assert lbfgs(MatrixOracle(X, y, 1.0), np.zeros(12), gtol=1e9).reason == "gradient"
    stopped = lbfgs(MatrixOracle(X, y, 1.0), np.zeros(12), on_step=lambda x, value: True)
    assert (stopped.reason, stopped.n_iter) == ("callback", 1)
    best = lbfgs(MatrixOracle(X, y, 1.0), np.zeros(12), tol=0, max_iter=5000)
    assert best.reason == "rounding"
    assert best.converged


@settings(max_examples=200, deadline=None)
@given(
    a=st.floats(0.01, 100), shift=st.floats(-50, 50), first=st.floats(1e-3, 1e3),
    power=st.sampled_from([2, 4]), curvature=st.sampled_from([0.9, 0.1]),
)  # fmt: skip
def test_steps_meet_the_wolfe_conditions(a, shift, first, power, curvature):
    def look(t):
        return (a * (t - shift)) ** power + t, power * a * (a * (t - shift)) ** (power - 1) + 1

    value, slope = look(0.0)
    assume(slope < -1e-3 and np.isfinite(value))
    step, new = wolfe_step(look, value, slope, (first, *look(first)), curvature)
    now, tilt = look(step)
    assert now == new
    assert now <= value + 1e-4 * step * slope + 1e-14 * abs(value)
    assert abs(tilt) <= curvature * abs(slope)


def test_overflowing_steps_are_shortened():
    def look(t):
        value = np.inf if t > 1e3 else (t - 1.0) ** 2
        return value, np.inf if t > 1e3 else 2 * (t - 1.0)

    step, value = wolfe_step(look, 1.0, -2.0, (1e6, *look(1e6)))
    assert value < 1.0
    assert step < 10


def test_two_loop_recursion_is_the_dense_update():
    rng = np.random.default_rng(0)
    d = 5
    A = rng.normal(size=(d, d))
    A = A @ A.T + np.eye(d)
    diagonal = rng.uniform(0.5, 2, d)
    pairs = CurvaturePairs(4, diagonal)
    H = np.diag(diagonal)
    kept = []
    for _ in range(4):
        s = rng.normal(size=d)
        pairs.add(s, A @ s)
        kept.append((s, A @ s))
    for s, y in kept:
        rho = 1 / (s @ y)
        V = np.eye(d) - rho * np.outer(y, s)
        H = V.T @ H @ V + rho * np.outer(s, s)
    g = rng.normal(size=d)
    np.testing.assert_allclose(pairs.descent(g), -H @ g, rtol=1e-10)
    pairs.add(np.ones(d), -np.ones(d))  # negative curvature is not learnt
    np.testing.assert_allclose(pairs.descent(g), -H @ g, rtol=1e-10)
