"""Oracles: many starts of a local optimiser, the quadratic eigenproblem, optimality conditions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse.linalg import aslinearoperator
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.linalg.sphere_quadratic import (
    minimize_quadratic_on_sphere,
    secular_root,
    tridiagonal_form,
    tridiagonal_root,
)


def problem(seed, n):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    return (A + A.T) / 2.0, rng.standard_normal(n), float(rng.uniform(0.1, 5.0)), rng


def multistart(S, b, R, basis=None, start=None, n_starts=25):
    """Minimise over w with z = start + R̂ · basis · w/‖w‖: no sphere constraint is left."""
    n = len(b)
    basis = np.eye(n) if basis is None else basis
    start = np.zeros(n) if start is None else start
    room = np.sqrt(R**2 - start @ start)

    def value(w):
        length = np.linalg.norm(w)
        u = w / length
        z = start + room * basis @ u
        gradient = room * basis.T @ (2 * (S @ z - b))
        return z @ S @ z - 2 * b @ z, (gradient - u * (u @ gradient)) / length

    rng = np.random.default_rng(0)
    starts = rng.standard_normal((n_starts, basis.shape[1]))
    return min(minimize(value, w, jac=True, method="BFGS", tol=1e-12).fun for w in starts)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n", [2, 5, 12])
def test_no_start_of_a_local_optimiser_finds_less(seed, n):
    S, b, R, _ = problem(seed, n)
    found = minimize_quadratic_on_sphere(S, b, R)
    best = multistart(S, b, R)
    assert found.objective == pytest.approx(best, rel=1e-10, abs=1e-10)
    assert np.linalg.norm(found.z) == pytest.approx(R, rel=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_linear_constraints_hold_and_the_minimum_is_global(seed):
    S, b, R, rng = problem(seed, 8)
    L = rng.standard_normal((8, 3))
    d = L.T @ (rng.standard_normal(8) * 0.2 * R / np.sqrt(8))
    found = minimize_quadratic_on_sphere(S, b, R, L, d)
    Q = np.linalg.qr(L, mode="complete")[0]
    start = L @ np.linalg.solve(L.T @ L, d)
    assert np.allclose(L.T @ found.z, d, atol=1e-12)
    assert found.objective == pytest.approx(multistart(S, b, R, Q[:, 3:], start), abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_solvers_agree(seed):
    S, b, R, _ = problem(seed, 15)
    secular = minimize_quadratic_on_sphere(S, b, R)
    eigenvalue = minimize_quadratic_on_sphere(S, b, R, solver="eigenvalue")
    free = minimize_quadratic_on_sphere(aslinearoperator(S), b, R, solver="cg")
    assert np.allclose(secular.z, eigenvalue.z, atol=1e-7)
    assert np.allclose(secular.z, free.z, atol=1e-7)
    assert secular.multiplier == pytest.approx(eigenvalue.multiplier, abs=1e-7)
    assert secular.n_iter <= 12


@pytest.mark.parametrize("solver", ["secular", "cg"])
def test_hard_case(solver):
    # b lies outside the eigenspace of −2, and what it asks for is shorter than R.
    S, b = np.diag([1.0, -2.0, 4.0]), np.array([1.0, 0.0, 3.0])
    found = minimize_quadratic_on_sphere(S, b, 2.0, solver=solver)
    rest = np.array([1 / 3, 0.0, 3 / 6])
    assert found.hard_case
    assert found.multiplier == pytest.approx(-2.0)
    assert np.allclose(found.z, [1 / 3, np.sqrt(4 - rest @ rest), 0.5], atol=1e-9)
    assert found.objective == pytest.approx(multistart(S, b, 2.0), abs=1e-9)
    # The same b with a small sphere is not hard.
    small = minimize_quadratic_on_sphere(S, b, 0.3, solver=solver)
    assert not small.hard_case
    assert small.objective == pytest.approx(multistart(S, b, 0.3), abs=1e-9)


def test_without_a_linear_term_it_is_the_smallest_eigenvector():
    S, _, _, _ = problem(3, 9)
    values, vectors = np.linalg.eigh(S)
    found = minimize_quadratic_on_sphere(S, np.zeros(9), 2.0)
    assert found.hard_case
    assert found.multiplier == pytest.approx(values[0])
    assert abs(found.z @ vectors[:, 0]) == pytest.approx(2.0)
    assert found.z[np.argmax(np.abs(found.z))] > 0


def test_multiple_smallest_eigenvalue():
    S, b = np.diag([-1.0, -1.0, 3.0]), np.array([0.3, -0.4, 1.0])
    found = minimize_quadratic_on_sphere(S, b, 1.5)
    assert found.objective == pytest.approx(multistart(S, b, 1.5), abs=1e-10)
    assert found.z[0] / found.z[1] == pytest.approx(0.3 / -0.4)


@pytest.mark.parametrize("tiny", [1e-3, 1e-6, 1e-9, 1e-12])
def test_almost_hard(tiny):
    # The gap σ_min − µ is about tiny / R; nothing must cancel.
    S, b, R = np.diag([-2.0, 0.0, 1.0]), np.array([-tiny, 0.5, 0.5]), 3.0
    found = minimize_quadratic_on_sphere(S, b, R)
    z1 = -np.sqrt(R**2 - (0.5 / 2) ** 2 - (0.5 / 3) ** 2)
    assert not found.hard_case
    assert found.z[0] == pytest.approx(z1, rel=2 * tiny + 1e-13)


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 14), power=st.integers(-6, 6))
def test_optimality_conditions_hold(seed, n, power):
    S, b, R, _ = problem(seed, n)
    b = b * 10.0**power
    found = minimize_quadratic_on_sphere(S, b, R)
    scale = np.linalg.norm(S) * R + np.linalg.norm(b)
    assert np.linalg.norm(S @ found.z - found.multiplier * found.z - b) <= 1e-11 * scale
    # Global: S − µI has no negative eigenvalue.
    assert np.linalg.eigvalsh(S)[0] >= found.multiplier - 1e-11 * scale / R
    assert np.linalg.norm(found.z) == pytest.approx(R, rel=1e-12)


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), hard=st.booleans(), power=st.integers(-8, 3))
def test_tridiagonal_form_gives_the_same_as_eigenvectors(seed, hard, power):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 30))
    U = np.linalg.qr(rng.standard_normal((n, n)))[0]
    beta = np.sort(rng.uniform(0.0, 1.0, n) ** 3)
    q = rng.standard_normal(n) * 10.0**power
    if hard:
        q -= U[:, -1] * (U[:, -1] @ q)
        q = U @ np.append((U.T @ q)[:-1], 0.0)
    form = tridiagonal_form((U * beta) @ U.T)
    root, free = tridiagonal_root(form, q, 1.0)
    exact = secular_root(np.where(np.arange(n) == n - 1, 0.0, U.T @ q) if hard else U.T @ q,
                         np.ones(n), beta, 1.0)  # fmt: skip
    assert root.hard_case == exact.hard_case
    ours, theirs = U.T @ root.coordinates, exact.coordinates
    if root.hard_case:
        ours[-1], theirs[-1] = abs(ours[-1]), abs(theirs[-1])
        assert abs(free @ U[:, -1]) == pytest.approx(1.0, abs=1e-8)
    # An eigenvalue close to the largest makes its coordinate as uncertain as their gap is small.
    assert np.allclose(ours, theirs, atol=1e-11 / (beta[-1] - beta[-2]))


def test_rotating_the_problem_rotates_the_answer():
    S, b, R, rng = problem(5, 7)
    Q = np.linalg.qr(rng.standard_normal((7, 7)))[0]
    plain = minimize_quadratic_on_sphere(S, b, R)
    turned = minimize_quadratic_on_sphere(Q @ S @ Q.T, Q @ b, R)
    assert np.allclose(turned.z, Q @ plain.z, atol=1e-10)


def test_constraints_that_leave_one_point():
    found = minimize_quadratic_on_sphere(np.eye(2), [1.0, 0.0], 5.0, np.eye(2), [3.0, 4.0])
    assert np.allclose(found.z, [3.0, 4.0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"radius": -1.0}, "positive"),
        ({"radius": np.nan}, "positive"),
        ({"S": [[1.0, 2.0], [0.0, 1.0]]}, "symmetric"),
        ({"S": np.eye(3)}, r"\(n, n\)"),
        ({"b": [np.nan, 1.0]}, "finite"),
        ({"solver": "newton"}, "secular"),
        ({"L": np.ones((2, 2))}, "independent"),
        ({"L": np.ones((3, 1))}, "2 rows"),
        ({"L": np.eye(2)[:, :1], "d": [1.0, 2.0]}, "one entry a column"),
        ({"L": np.eye(2)[:, :1], "d": [2.0]}, "minimal radius"),
        ({"S": aslinearoperator(np.eye(2))}, "LinearOperator"),
    ],
)
def test_bad_input(change, words):
    arguments = {"S": np.eye(2), "b": [1.0, 0.0], "radius": 1.0, **change}
    with pytest.raises(ValueError, match=words):
        minimize_quadratic_on_sphere(**arguments)


def test_the_eigenvalue_form_refuses_the_hard_case():
    S, b = np.diag([1.0, -2.0, 4.0]), np.array([1.0, 0.0, 3.0])
    with pytest.raises(ValueError, match="hard case"):
        minimize_quadratic_on_sphere(S, b, 2.0, solver="eigenvalue")


def test_a_bad_answer_warns():
    # An operator that is not symmetric has no minimum of this kind.
    S, b, R, rng = problem(0, 6)
    skew = aslinearoperator(S + np.triu(rng.standard_normal((6, 6))))
    with pytest.warns(ConvergenceWarning, match="KKT"):
        minimize_quadratic_on_sphere(skew, b, R, solver="cg")


def test_equal_eigenvalues_have_no_tridiagonal_form():
    # Of such matrices LAPACK finds fewer eigenvalues than were asked for, here and there.
    for n in range(8, 60):
        v = np.random.default_rng(n).normal(size=n)
        v /= np.linalg.norm(v)
        assert tridiagonal_form(0.87 * np.eye(n) - 0.78 * np.outer(v, v)) is None
