"""The parametric simplex method against HiGHS, on programs with and without a parameter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.linear_programs.l1_homotopy import l1_path
from octavo.linear import parametric_simplex, solve_lp


def by_highs(A, b, c):
    return linprog(-c, A_ub=A, b_ub=b, method="highs")


def status_by_highs(A, b, c):
    """Return what the program is; HiGHS confuses infeasible and unbounded (see below)."""
    if by_highs(A, b, c).status == 0:
        return "optimal"
    return "unbounded" if by_highs(A, b, np.zeros_like(c)).status == 0 else "infeasible"


def clime_program(S, i):
    """Equation (3) of the paper: A, b, c, b*, c*."""
    d = len(S)
    e = np.eye(d)[i]
    A = np.block([[S, -S], [-S, S]])
    return A, np.concatenate([e, -e]), -np.ones(2 * d), np.ones(2 * d), np.zeros(2 * d)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_small_integer_programs_agree_with_highs(data):
    """Feasible or not, bounded or not, and full of ties."""
    m, n = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))

    def integers(size, low, high):
        values = st.lists(st.integers(low, high), min_size=size, max_size=size)
        return np.array(data.draw(values), dtype=float)

    A, b, c = integers(m * n, -3, 3).reshape(m, n), integers(m, -3, 5), integers(n, -4, 4)
    expected, ours = by_highs(A, b, c), solve_lp(A, b, c)
    assert ours.status == status_by_highs(A, b, c)
    if ours.status == "optimal":
        assert ours.fun == pytest.approx(-expected.fun, abs=1e-9)
        assert abs(ours.duality_gap) <= 1e-9
        assert (ours.x >= 0).all()
        assert (A @ ours.x <= b + 1e-9).all()
        assert (ours.y >= 0).all()
        assert (A.T @ ours.y >= c - 1e-9).all()
    else:
        assert ours.fun == {"infeasible": -np.inf, "unbounded": np.inf}[ours.status]
        assert np.isnan(ours.x).all()


def test_unbounded_program_that_highs_calls_infeasible():
    """x = 0 is feasible and r = (1, 1, 0, 0) a ray: Ar = 0 and c'r = 1."""
    A = np.array([[-1.0, 1, 0, -1], [0, 0, 0, 0], [1, -1, 0, 1]])
    b, c, ray = np.array([0.0, 0, 1]), np.array([0.0, 1, 0, 1]), np.array([1.0, 1, 0, 0])
    assert (b >= 0).all()
    assert (A @ ray <= 0).all()
    assert c @ ray > 0
    assert solve_lp(A, b, c).status == "unbounded"


@pytest.mark.parametrize("seed", range(5))
def test_dense_programs_and_their_duals_agree_with_highs(seed):
    rng = np.random.default_rng(seed)
    m, n = 30, 20
    A, x = rng.standard_normal((m, n)), rng.uniform(size=n)
    b = A @ x + rng.uniform(size=m)  # feasible
    c = A.T @ rng.uniform(size=m) - rng.uniform(size=n)  # bounded
    expected, ours = by_highs(A, b, c), solve_lp(A, b, c)
    assert ours.fun == pytest.approx(-expected.fun, rel=1e-10)
    np.testing.assert_allclose(ours.x, expected.x, atol=1e-8)
    np.testing.assert_allclose(ours.y, -expected.ineqlin.marginals, atol=1e-8)


@pytest.mark.parametrize("size", [3, 6])
def test_assignment_is_solved_in_spite_of_its_ties(size):
    """Every vertex of the assignment polytope is highly degenerate."""
    rng = np.random.default_rng(size)
    value = rng.integers(0, 5, (size, size)).astype(float)
    rows = np.kron(np.eye(size), np.ones(size))
    columns = np.kron(np.ones(size), np.eye(size))
    ours = solve_lp(np.vstack([rows, columns]), np.ones(2 * size), value.ravel())
    expected = by_highs(np.vstack([rows, columns]), np.ones(2 * size), value.ravel())
    assert ours.fun == pytest.approx(-expected.fun)


def test_beales_cycling_example():
    """Dantzig's rule cycles on this one for ever (Beale, 1955)."""
    A = np.array([[0.25, -60, -1 / 25, 9], [0.5, -90, -1 / 50, 3], [0, 0, 1, 0]])
    ours = solve_lp(A, [0, 0, 1], [0.75, -150, 0.02, -6])
    assert ours.fun == pytest.approx(0.05)
    assert ours.n_pivots < 20


@pytest.mark.parametrize("seed", range(4))
def test_parametric_path_agrees_with_highs_at_every_lam(seed):
    rng = np.random.default_rng(seed)
    m, n = 12, 9
    A, x = rng.standard_normal((m, n)), rng.uniform(size=n)
    b = A @ x + rng.uniform(size=m)
    c = A.T @ rng.uniform(size=m) - rng.uniform(size=n)
    b_star, c_star = rng.uniform(0.1, 1, m), -rng.uniform(0.1, 1, n)
    path = parametric_simplex(A, b, c, b_star, c_star)
    assert path.status == "optimal"
    assert (np.diff(path.lambdas) < 0).all()
    assert path.lambdas[-1] == 0.0
    assert len(path.basis) == len(path.lambdas)
    middles = (path.lambdas[1:] + path.lambdas[:-1]) / 2
    for lam in np.concatenate([path.lambdas, middles, [2 * path.lambdas[0]]]):
        expected = by_highs(A, b + lam * b_star, c + lam * c_star)
        x = path.at(lam)
        assert (c + lam * c_star) @ x == pytest.approx(-expected.fun, abs=1e-9)
        assert (A @ x <= b + lam * b_star + 1e-9).all()
        y = path.dual_at(lam)
        assert (b + lam * b_star) @ y == pytest.approx((c + lam * c_star) @ x, abs=1e-9)
        assert (A.T @ y >= c + lam * c_star - 1e-9).all()


def test_infeasible_below_says_where():
    """x1 ≥ 3 − λ and x1 ≤ 1: feasible down to λ = 2."""
    path = parametric_simplex([[-1.0], [1.0]], [-3.0, 1.0], [-1.0], b_star=[1, 0])
    assert path.status == "infeasible"
    assert path.lambdas[-1] == 2.0
    np.testing.assert_allclose(path.at(2.0), [1.0])
    with pytest.raises(ValueError, match=r"below 2\.0.*infeasible"):
        path.at(1.999)


def test_unbounded_below_says_where():
    """max (5 − λ) x1 − x2, x1 ≤ 1 + 4 x2: unbounded once 5 − λ exceeds 1/4."""
    path = parametric_simplex([[1.0, -4.0]], [1.0], [5.0, -1.0], c_star=[-1.0, 0.0])
    assert path.status == "unbounded"
    assert path.lambdas[-1] == pytest.approx(4.75)
    np.testing.assert_allclose(path.at(4.8), [1.0, 0.0])
    with pytest.raises(ValueError, match="unbounded"):
        path.at(4.7)


@pytest.mark.parametrize(("n_samples", "d"), [(60, 15), (8, 12)])
def test_dictionary_and_homotopy_walk_the_same_path(n_samples, d):
    S = np.corrcoef(np.random.default_rng(d).standard_normal((n_samples, d)).T)
    for i in (0, 7):
        path = parametric_simplex(*clime_program(S, i), lam_min=0.01)
        other = l1_path(S, np.eye(d)[i], 0.01)
        assert path.status == {"complete": "optimal"}.get(other.status, other.status)
        np.testing.assert_allclose(path.lambdas, other.alphas, atol=1e-9)
        for lam in path.lambdas:
            x = path.at(lam)
            np.testing.assert_allclose(
                x[:d] - x[d:], other.at(max(lam, other.alpha_end)), atol=1e-7
            )


def test_rows_of_very_different_scale():
    rng = np.random.default_rng(0)
    A, b, c = rng.standard_normal((8, 5)), rng.uniform(1, 2, 8), rng.standard_normal(5)
    A[0] = 1.0  # bounded
    rows, columns = 10.0 ** rng.uniform(-6, 6, 8), 10.0 ** rng.uniform(-6, 6, 5)
    plain = solve_lp(A, b, c)
    scaled = solve_lp(rows[:, None] * A * columns, rows * b, c * columns)
    assert scaled.fun == pytest.approx(plain.fun, rel=1e-9)
    np.testing.assert_allclose(scaled.x * columns, plain.x, atol=1e-9)


def test_many_pivots_do_not_drift():
    rng = np.random.default_rng(3)
    m, n = 120, 120
    A, x = rng.standard_normal((m, n)), rng.uniform(size=n)
    b, c = A @ x + 0.1, A.T @ rng.uniform(size=m) - 0.1
    ours = solve_lp(A, b, c)
    assert ours.n_pivots > 100
    assert (A @ ours.x <= b + 1e-8).all()
    assert abs(ours.duality_gap) <= 1e-8 * abs(ours.fun)


def test_limit_on_pivots_warns_with_the_lam_reached():
    S = np.corrcoef(np.random.default_rng(0).standard_normal((40, 10)).T)
    with pytest.warns(ConvergenceWarning, match="after 2 pivots at lam="):
        path = parametric_simplex(*clime_program(S, 0), max_iter=2)
    assert path.status == "pivot limit"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"b": [1.0]}, r"b must have one entry per row of A, shape \(2,\), got \(1,\)"),
        ({"c": [1.0, 2.0, 3.0]}, "c must have one entry per column"),
        ({"A": [[1.0, np.nan], [0.0, 1.0]]}, "A contains NaN"),
        ({"b_star": [-1.0, 1.0]}, r"b_star must be >= 0 everywhere, got -1.0 at position 0"),
        ({"c_star": [0.0, 1.0]}, r"c_star must be <= 0 everywhere, got 1.0 at position 1"),
        ({"b_star": [1.0, 0.0]}, r"b_star must not be 0 where b is negative.*\[1\]"),
        ({"c_star": [0.0, 0.0]}, r"c_star must not be 0 where c is positive.*\[0\]"),
        ({"lam_min": np.nan}, "lam_min must be finite"),
    ],
)
def test_bad_programs_are_named(change, message):
    program = {"A": [[1.0, 1.0], [-1.0, 0.0]], "b": [2.0, -1.0], "c": [1.0, -1.0]}
    with pytest.raises(ValueError, match=message):
        parametric_simplex(**(program | change))
