"""Mirror descent on a product of simplices: against projections, linear programs and cvxpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.proximal.mirror_descent import MirrorDescent, mirror_descent_product_simplex


def project_to_simplex(v):
    """The Euclidean projection, by sorting."""
    u = np.sort(v)[::-1]
    excess = (np.cumsum(u) - 1.0) / np.arange(1, len(v) + 1)
    return np.maximum(v - excess[np.flatnonzero(u > excess)[-1]], 0.0)


def quadratic(Q, b):
    return lambda x: (0.5 * float(x @ Q @ x) - float(b @ x), Q @ x - b)


@pytest.mark.parametrize("schedule", ["adaptive", "sqrt"])
@pytest.mark.parametrize("seed", range(3))
def test_finds_the_nearest_point(schedule, seed):
    rng = np.random.default_rng(seed)
    sizes = [5, 1, 9]
    near = rng.normal(size=15)
    parts = np.split(near, np.cumsum(sizes)[:-1])
    expected = np.concatenate([project_to_simplex(part) for part in parts])
    found = mirror_descent_product_simplex(
        quadratic(np.eye(15), near), sizes, 5000, tol=1e-6, schedule=schedule
    )
    value = 0.5 * expected @ expected - near @ expected
    # strong convexity: half the squared distance is at most the gap
    assert found.objective - value <= found.gap + 1e-14
    assert 0.5 * ((found.x - expected) ** 2).sum() <= found.gap + 1e-14
    if schedule == "adaptive":
        assert found.converged
    assert found.gap <= 1e-2


@pytest.mark.parametrize("seed", range(3))
def test_quadratic_program_equals_cvxpy(seed):
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(8, 12))
    Q, b = A.T @ A, rng.normal(size=12)
    x = cvxpy.Variable(12)
    problem = cvxpy.Problem(
        cvxpy.Minimize(0.5 * cvxpy.sum_squares(A @ x) - b @ x),
        [x >= 0, cvxpy.sum(x[:4]) == 1, cvxpy.sum(x[4:]) == 1],
    )
    problem.solve(solver="CLARABEL")
    found = mirror_descent_product_simplex(quadratic(Q, b), [4, 8], 3000, tol=1e-7)
    assert found.converged
    assert abs(found.objective - problem.value) <= found.gap + 1e-7


def test_the_gap_is_valid_at_every_iterate():
    rng = np.random.default_rng(0)
    planes, heights = rng.normal(size=(20, 10)), rng.normal(size=20)

    def highest(x):
        values = planes @ x + heights
        return values.max(), planes[values.argmax()]

    from scipy.optimize import linprog

    cost = np.append(np.zeros(10), 1.0)
    sums = np.zeros((2, 11))
    sums[0, :6], sums[1, 6:10] = 1.0, 1.0
    exact = linprog(
        cost,
        A_ub=np.hstack([planes, -np.ones((20, 1))]),
        b_ub=-heights,
        A_eq=sums,
        b_eq=[1.0, 1.0],
        bounds=[(0, None)] * 10 + [(None, None)],
    ).fun
    for schedule in ("adaptive", "sqrt"):
        found = mirror_descent_product_simplex(highest, [6, 4], 400, tol=1e-9, schedule=schedule)
        values, lower, gaps = found.history.T
        assert (lower <= exact + 1e-9).all()
        assert (values >= exact - 1e-9).all()
        assert (np.minimum.accumulate(values) - exact <= gaps + 1e-9).all()
        assert (np.diff(gaps) <= 1e-12).all()
    assert found.gap < 0.2  # not smooth: the rate of the proved schedule, 1/√t


def test_the_proved_schedule_is_the_papers():
    """The logarithms fall by A √(ln n_max) g / (max |g| √t), block by block normalised."""
    g = np.array([3.0, -1.0, 0.5, 2.0, 2.5])
    descent = MirrorDescent([3, 2], step=1.5, schedule="sqrt")
    x = np.array([1 / 3, 1 / 3, 1 / 3, 1 / 2, 1 / 2])
    for t in (1, 2, 3):
        x = x * np.exp(-1.5 * np.sqrt(np.log(3)) * g / (3.0 * np.sqrt(t)))
        x[:3] /= x[:3].sum()
        x[3:] /= x[3:].sum()
        descent.move(g, float(g @ x))
        np.testing.assert_allclose(descent.x, x, rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(1e-3, 1e3), st.floats(-5, 5))
def test_scale_and_offset_of_f_do_not_matter(seed, factor, offset):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(7, 7)), rng.normal(size=7)
    plain = quadratic(A.T @ A, b)

    def scaled(x):
        value, gradient = plain(x)
        return factor * value + offset, factor * gradient

    one, two = MirrorDescent([4, 3]), MirrorDescent([4, 3])
    for _ in range(5):
        one.move(*plain(one.x)[::-1])
        two.move(*scaled(two.x)[::-1])
    np.testing.assert_allclose(one.x, two.x, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("power", [-200, -20, 20, 200])
def test_the_unit_of_the_function_changes_nothing(power):
    rng = np.random.default_rng(4)
    A, b = rng.normal(size=(9, 9)), rng.normal(size=9)
    Q, unit = A @ A.T, 2.0**power  # a power of two: no rounding
    one = mirror_descent_product_simplex(quadratic(Q, b), [3, 4, 2], 3000)
    other = mirror_descent_product_simplex(quadratic(unit * Q, unit * b), [3, 4, 2], 3000)
    assert one.converged
    assert other.converged
    np.testing.assert_array_equal(one.x, other.x)
    assert other.gap == unit * one.gap


def test_zero_gradient_stays():
    found = mirror_descent_product_simplex(lambda x: (3.0, np.zeros(4)), [2, 2])
    assert found.converged
    assert found.n_iter == 1
    np.testing.assert_array_equal(found.x, 0.5)


def test_huge_gradients_do_not_overflow():
    found = mirror_descent_product_simplex(lambda x: (1e200 * x[0], 1e200 * np.eye(3)[0]), [3], 50)
    assert found.x[0] <= 1e-6  # f is at most the gap, 1e-6 of its largest value
    assert np.isfinite(found.x).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": [2, 0]}, "needs a coordinate"),
        ({"sizes": []}, "whole numbers"),
        ({"sizes": [1.5, 2]}, "whole numbers"),
        ({"sizes": [2, 2], "x": [0.5, 0.5, 1.0]}, "4 coordinates"),
        ({"sizes": [2, 2], "x": [0.5, 0.6, 1.0, 0.0]}, "sum to one"),
        ({"sizes": [2], "schedule": "fast"}, "schedule must be one of"),
        ({"sizes": [2], "step": -1.0}, "step must be"),
        ({"sizes": [2], "max_iter": 0}, "max_iter"),
        ({"sizes": [3]}, "3 entries"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        mirror_descent_product_simplex(lambda x: (0.0, np.zeros(2)), **options)


def test_a_function_that_returns_one_thing():
    with pytest.raises(ValueError, match="two things"):
        mirror_descent_product_simplex(lambda x: np.zeros(5), [2])
    with pytest.raises(ValueError, match="finite"):
        mirror_descent_product_simplex(lambda x: (np.nan, np.zeros(2)), [2])
