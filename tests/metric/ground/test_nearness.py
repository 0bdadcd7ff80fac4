import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.projections.metric_cone import triangle_excess
from octavo.metric import metric_nearness
from tests.engine.projections.test_metric_cone import quadratic_program, symmetric


@pytest.mark.parametrize("total", [None, 1.0])
def test_equals_the_quadratic_program(total):
    H = symmetric(7, 1)
    M, info = metric_nearness(H, total=total)
    np.testing.assert_allclose(M, quadratic_program(H, total), atol=1e-6)
    assert info.converged
    assert info.duals.shape == (35, 3)
    assert info.duals.min() >= 0.0


def other_norm(H, norm, total, W):
    cvxpy = pytest.importorskip("cvxpy")
    d = len(H)
    M = cvxpy.Variable((d, d), symmetric=True)
    rules = [cvxpy.diag(M) == 0, M >= 0]
    rules += [M[i, j] <= M[i, k] + M[k, j] for i in range(d) for j in range(d) for k in range(d)]
    if total is not None:
        rules.append(cvxpy.sum(M) == total)
    terms = cvxpy.multiply(W, cvxpy.abs(M - H))
    cost = 0.5 * cvxpy.sum(terms) if norm == "l1" else cvxpy.max(terms)
    return cvxpy.Problem(cvxpy.Minimize(cost), rules).solve(solver="CLARABEL")


@pytest.mark.parametrize("norm", ["l1", "linf"])
@pytest.mark.parametrize("total", [None, 5.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_other_norms_equal_the_linear_program(norm, total, weighted):
    H, W = symmetric(6, 2), np.ones((6, 6))
    if weighted:
        W = np.random.default_rng(0).uniform(0.5, 2.0, (6, 6))
        W = W + W.T
    M, info = metric_nearness(H, norm, total, weights=W if weighted else None)
    assert info.objective == pytest.approx(
        other_norm(H, norm, total, W * (1 - np.eye(6))), abs=1e-5
    )
    assert info.duality_gap <= 1e-6
    assert triangle_excess(M) <= 1e-14


def test_weights_scale_the_objective_and_not_the_metric():
    H, W = symmetric(6, 0), np.full((6, 6), 3.0)
    one, plain = metric_nearness(H)
    two, weighted = metric_nearness(H, weights=W)
    np.testing.assert_allclose(one, two, atol=1e-9)
    assert weighted.objective == pytest.approx(3 * plain.objective)
    np.testing.assert_allclose(weighted.duals, 3 * plain.duals, atol=1e-7)


def test_asymmetric_and_diagonal():
    H = np.random.default_rng(0).standard_normal((5, 5))
    M, _ = metric_nearness(H)
    np.testing.assert_allclose(M, metric_nearness(0.5 * (H + H.T) + np.eye(5))[0], atol=1e-12)
    with pytest.raises(ValueError, match="symmetric"):
        metric_nearness(H, "l1")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"norm": "l3"}, "norm must be one of"),
        ({"total": -1.0}, "total must be"),
        ({"tol": -1.0}, "tol must be"),
        ({"max_sweeps": 0}, "max_sweeps must be"),
        ({"weights": np.zeros((4, 4))}, "weights must be"),
        ({"weights": np.ones((3, 3))}, "weights must be"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(ValueError, match=words):
        metric_nearness(np.ones((4, 4)), **options)


@pytest.mark.parametrize("H", [np.ones((2, 3)), np.ones(3), [[np.nan, 1], [1, 0]], [["a"]]])
def test_bad_matrices(H):
    with pytest.raises(ValueError, match="H must"):
        metric_nearness(H)


def test_one_bin_has_no_sum():
    with pytest.raises(ValueError, match="cannot be reached"):
        metric_nearness([[0.0]], total=1.0)


def test_a_stop_is_told():
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        metric_nearness(symmetric(8, 0), total=9.0, max_sweeps=1)
