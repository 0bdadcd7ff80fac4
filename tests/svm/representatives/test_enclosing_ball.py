"""The enclosing ball against cvxpy, geometry and brute force."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from octavo.svm import MinimumEnclosingBall


def smallest_circle(X):
    """Radius of the smallest circle, by trying every pair and triple of points."""
    best = np.inf
    for k in (2, 3):
        for corners in combinations(X, k):
            base = corners[0]
            along = np.array(corners[1:]) - base
            half = 0.5 * np.sum(along**2, axis=1)
            shift = np.linalg.lstsq(along, half, rcond=None)[0]
            radius = np.linalg.norm(shift)
            if np.linalg.norm(X - base - shift, axis=1).max() <= radius * (1 + 1e-9):
                best = min(best, radius)
    return best


@pytest.mark.parametrize("seed", range(4))
def test_linear_kernel_in_the_plane_against_all_triples(seed):
    X = np.random.default_rng(seed).normal(size=(15, 2)) + 5.0
    ball = MinimumEnclosingBall("linear", tol=1e-12).fit(X)
    assert ball.radius_ == pytest.approx(smallest_circle(X), rel=1e-8)
    assert len(ball.support_) <= 4


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_radius_against_cvxpy(kernel):
    import cvxpy as cp

    X = np.random.default_rng(0).normal(size=(25, 3))
    ball = MinimumEnclosingBall(kernel, gamma=0.3, degree=2, tol=1e-10).fit(X)
    K = rbf_kernel(X, gamma=0.3) if kernel == "rbf" else (0.3 * X @ X.T + 1.0) ** 2
    a = cp.Variable(25)
    root = np.linalg.cholesky(K + 1e-12 * np.eye(25))
    goal = cp.Maximize(K.diagonal() @ a - cp.sum_squares(root.T @ a))
    best = cp.Problem(goal, [a >= 0, cp.sum(a) == 1]).solve(solver="CLARABEL")
    assert ball.radius_**2 == pytest.approx(best, rel=1e-6)
    assert ball.duality_gap_ <= 1e-10 * best + 1e-12 * K.max()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 60), st.sampled_from([0.1, 1.0, 30.0]))
def test_the_ball_holds_every_row_and_its_support_lies_on_it(seed, n, gamma):
    X = np.random.default_rng(seed).integers(0, 4, (n, 2)) / 3.0
    ball = MinimumEnclosingBall(gamma=gamma).fit(X)
    far = ball.distance(X)
    assert far.max() <= ball.radius_ + 1e-7
    assert ball.dual_coef_.min() > 0
    assert ball.dual_coef_.sum() == pytest.approx(1.0)
    # The weighted mean of the support's distances² is the dual value: radius² less the gap.
    mean = ball.dual_coef_ @ ball.distance(X[ball.support_]) ** 2
    assert mean >= ball.radius_**2 - ball.duality_gap_ - 1e-9


def test_many_rows_sparse_rows_and_moved_rows_agree():
    X = np.random.default_rng(0).uniform(size=(3000, 3))
    ball = MinimumEnclosingBall("linear").fit(X)
    sparse = MinimumEnclosingBall("linear").fit(sp.csr_array(X))
    moved = MinimumEnclosingBall("linear").fit(2.0 * X[::-1] + 7.0)
    assert sparse.radius_ == pytest.approx(ball.radius_, rel=2e-6)
    assert moved.radius_ == pytest.approx(2.0 * ball.radius_, rel=2e-6)


def test_too_few_rounds_are_told():
    X = np.random.default_rng(0).normal(size=(500, 5))
    with pytest.warns(ConvergenceWarning, match=r"in 1 rounds: radius² .* too large"):
        MinimumEnclosingBall(gamma=0.5, max_iter=1).fit(X)


@pytest.mark.parametrize(
    ("params", "words"),
    [({"tol": 0.0}, "'tol'"), ({"kernel": "sigmoid"}, "'kernel'"), ({"max_iter": 0}, "'max_iter'")],
)
def test_bad_parameters_are_refused(params, words):
    with pytest.raises(ValueError, match=words):
        MinimumEnclosingBall(**params).fit(np.eye(3))
