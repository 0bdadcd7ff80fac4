"""The oracle: against a conic program, finite differences, and its own promises."""

import numpy as np
import pytest

from octavo.kernel import vskl_oracle
from octavo.kernel.vskl.kernel_groups import as_kernel_groups
from octavo.kernel.vskl.oracle import IndefiniteKernels, kernel_forms
from tests.kernel.vskl.problems import features_of, kernels_of

QS = [1.0, 1.5, 2.0, 3.0, np.inf]
C = 20.0


def definite(blocks):
    """Return strictly positive kernels, which the paper asks for at q = ∞ (footnote 4)."""
    return kernels_of(blocks) + 1e-3 * np.eye(len(blocks[0])) / len(blocks[0])


def interior(groups, rng):
    lam = rng.uniform(0.2, 1.0, size=len(groups))
    for j in np.unique(groups):
        lam[groups == j] /= lam[groups == j].sum()
    return lam


def primal_at(blocks, groups, y, lam, q):
    """Return min over w of C Σ hinge + ½ [Σ_j (Σ_k |w_jk|²/λ_jk)^q]^(1/q), by cvxpy."""
    cvxpy = pytest.importorskip("cvxpy")
    v = [cvxpy.Variable(block.shape[1]) for block in blocks]  # w = √λ v
    b = cvxpy.Variable()
    f = sum(np.sqrt(share) * (block @ part) for share, block, part in zip(lam, blocks, v)) + b
    lengths = cvxpy.hstack(
        [
            cvxpy.norm(cvxpy.hstack([v[m] for m in np.flatnonzero(groups == j)]))
            for j in np.unique(groups)
        ]
    )
    size = cvxpy.max(lengths) if q == np.inf else cvxpy.pnorm(lengths, 2 * q)
    risk = cvxpy.sum(cvxpy.pos(1 - cvxpy.multiply(y, f)))
    problem = cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.square(size) + C * risk))
    problem.solve(solver="CLARABEL")
    return float(problem.value)


@pytest.mark.parametrize("q", QS)
def test_value_equals_the_conic_program(q):
    blocks, groups, y = features_of(0)
    lam = interior(groups, np.random.default_rng(1))
    found = vskl_oracle(kernels_of(blocks), groups, lam, y, C, q, tol=1e-9)
    exact = primal_at(blocks, groups, y, lam, q)
    assert abs(found.objective - exact) <= 1e-6 * exact
    assert found.objective <= exact + 1e-6 * exact
    assert found.objective + found.gap >= exact - 1e-6 * exact


@pytest.mark.parametrize("q", [1.5, 2.0, np.inf])
def test_half_steps_never_fall_and_gamma_is_on_the_boundary(q):
    blocks, groups, y = features_of(1)
    lam = interior(groups, np.random.default_rng(2))
    found = vskl_oracle(definite(blocks), groups, lam, y, C, q, tol=1e-10)
    assert (np.diff(found.objectives) >= -1e-9 * found.objective).all()
    assert len(found.objectives) == 2 * found.n_svm_calls
    power = 1.0 if q == np.inf else q / (q - 1.0)
    assert abs((found.gamma**power).sum() - 1.0) < 1e-12
    assert (found.alpha >= 0.0).all()
    assert (found.alpha <= C).all()
    assert abs(found.alpha @ y) < 1e-9


@pytest.mark.parametrize("q", QS)
def test_gradient_is_that_of_finite_differences(q):
    blocks, groups, y = features_of(2)
    K = definite(blocks)
    lam = interior(groups, np.random.default_rng(3))

    def value(at):
        return vskl_oracle(K, groups, at, y, C, q, tol=1e-12).objective

    gradient = vskl_oracle(K, groups, lam, y, C, q, tol=1e-12).gradient
    h = 1e-5
    for first, second in ((0, 1), (3, 4), (5, 7)):  # weight moves within a group
        direction = np.zeros(len(lam))
        direction[first], direction[second] = 1.0, -1.0
        numeric = (value(lam + h * direction) - value(lam - h * direction)) / (2 * h)
        # central differences of a function of about 1e2 known to 1e-12 of itself: 1e-5
        assert abs(numeric - gradient @ direction) <= 1e-3 * np.abs(gradient).max()


@pytest.mark.parametrize("q", QS)
def test_g_is_convex_along_segments(q):
    blocks, groups, y = features_of(3)
    K, rng = kernels_of(blocks), np.random.default_rng(4)
    for _ in range(3):
        a, b = interior(groups, rng), interior(groups, rng)
        ends = [vskl_oracle(K, groups, at, y, C, q, tol=1e-9).objective for at in (a, b)]
        middle = vskl_oracle(K, groups, 0.5 * (a + b), y, C, q, tol=1e-9)
        assert middle.objective <= 0.5 * sum(ends) + 1e-7 * max(ends)


def test_lists_and_vectors_of_weights_are_the_same():
    blocks, groups, y = features_of(0)
    order = np.array([3, 0, 5, 1, 6, 4, 2, 7])
    K, lam = kernels_of(blocks), interior(groups, np.random.default_rng(0))
    plain = vskl_oracle(K, groups, lam, y, C, 2.0)
    listed = vskl_oracle(K, groups, [lam[groups == j] for j in range(3)], y, C, 2.0)
    assert plain.objective == listed.objective
    mixed = vskl_oracle(K[order], groups[order], lam[order], y, C, 2.0)
    np.testing.assert_allclose(mixed.objective, plain.objective, rtol=1e-6)
    np.testing.assert_allclose(mixed.gradient, plain.gradient[order], rtol=1e-2, atol=1e-3)


def test_forms_are_the_plain_products():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 30, 4))
    K = A @ A.transpose(0, 2, 1)
    which = np.array([4, 0, 3])
    for share in (0.2, 1.0):
        a = rng.normal(size=30) * (rng.random(30) < share)
        expected = [a @ K[m] @ a for m in which]
        np.testing.assert_allclose(kernel_forms(K, which, a), expected, rtol=1e-10)
    K[3] -= 100.0 * np.eye(30)
    with pytest.raises(IndefiniteKernels):
        kernel_forms(K, which, a)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lam": [0.5, 0.6]}, "sum to one"),
        ({"lam": [1.0]}, "2 weights"),
        ({"lam": [[1.0], [0.0]], "groups": "each"}, "sum to one"),
        ({"lam": [[0.5, 0.5], [1.0]]}, "one vector per group"),
        ({"q": 0.4}, "at least 0.5"),
        ({"C": 0.0}, "positive"),
        ({"y": [1, 1, 1, 1]}, "both -1 and 1"),
        ({"y": [0, 1, 0, 1]}, "-1 or 1"),
        ({"groups": [0]}, "one label per kernel"),
        ({"groups": [[0, 1], []]}, "is empty"),
        ({"groups": [[0], [0, 1]]}, "exactly once"),
        ({"groups": [[0]]}, "no group"),
        ({"groups": "all"}, "must be one label"),
        ({"tol": 0.0}, "tol must be"),
    ],
)
def test_bad_input(change, message):
    options = {"groups": "one", "lam": [0.5, 0.5], "y": [1, -1, 1, -1], "C": 1.0, "q": 2.0}
    with pytest.raises(ValueError, match=message):
        vskl_oracle(np.array([np.eye(4), np.eye(4)]), **{**options, **change})


def test_indefinite_kernels_are_refused():
    K = np.array([np.eye(4), -np.eye(4)])
    with pytest.raises(ValueError, match="kernel 1 is not"):
        vskl_oracle(K, "one", [0.9, 0.1], [1, -1, 1, -1], 1.0, 2.0)


def test_groups_in_every_form():
    assert as_kernel_groups(None, 3).sizes == [3]
    assert as_kernel_groups("each", 3).sizes == [1, 1, 1]
    labelled = as_kernel_groups(["b", "a", "b"], 3)
    assert labelled.names == ["b", "a"]
    assert labelled.order.tolist() == [0, 2, 1]
    by_columns = as_kernel_groups(None, 3, ["features 0", "all features", "features 0"])
    assert [m.tolist() for m in by_columns.members] == [[0, 2], [1]]
    assert as_kernel_groups([[2], [0, 1]], 3).order.tolist() == [2, 0, 1]
    with pytest.raises(ValueError, match="missing"):
        as_kernel_groups([1.0, np.nan], 2)
    with pytest.raises(ValueError, match="0 to 1"):
        as_kernel_groups([[0], [2]], 2)
