"""The combined map against Dykstra's alternation, cvxpy and its own optimality conditions."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from octavo.engine.proximal.matrices import shrink_singular_values, soft_threshold
from octavo.engine.proximal.nuclear_l1 import SingularShrinker, cut_entries, shrink_both
from octavo.engine.proximal.nuclear_l1_newton import _bend, _derivative, _Shrunk


def matrix(n=20, m=14, seed=0):
    rng = np.random.RandomState(seed)
    return rng.standard_normal((n, 3)) @ rng.standard_normal((3, m)) + 0.3 * rng.standard_normal(
        (n, m)
    )


def dykstra(Y, tau, gamma, nonneg, n_iter=20_000):
    X, P, Q = Y, np.zeros_like(Y), np.zeros_like(Y)
    for _ in range(n_iter):
        before = X + P
        Z = np.maximum(before - gamma, 0.0) if nonneg else soft_threshold(before, gamma)
        P = before - Z
        U, s, Vt = np.linalg.svd(Z + Q, full_matrices=False)
        X = (U * np.maximum(s - tau, 0.0)) @ Vt
        Q = Z + Q - X
        if np.linalg.norm(X - Z) < 1e-12:
            break
    return X


@pytest.mark.parametrize("nonneg", [False, True])
def test_equals_dykstra(nonneg):
    Y = matrix()
    found = shrink_both(Y, 1.0, 0.2, nonneg, tol=1e-12)
    assert found.sparse == pytest.approx(dykstra(Y, 1.0, 0.2, nonneg), abs=1e-8)
    assert found.low_rank == pytest.approx(found.sparse, abs=1e-8)
    assert (found.sparse == 0.0).any()
    assert np.linalg.matrix_rank(found.low_rank, tol=1e-9) == len(found.values) < 14


@pytest.mark.parametrize("nonneg", [False, True])
def test_the_objective_is_cvxpys(nonneg):
    cp = pytest.importorskip("cvxpy")
    Y = matrix(9, 7, seed=1)
    X = cp.Variable(Y.shape, nonneg=nonneg)
    cost = 0.5 * cp.sum_squares(X - Y) + 0.8 * cp.normNuc(X) + 0.1 * cp.sum(cp.abs(X))
    best = cp.Problem(cp.Minimize(cost)).solve(solver="CLARABEL")
    Z = shrink_both(Y, 0.8, 0.1, nonneg).sparse
    ours = 0.5 * ((Z - Y) ** 2).sum() + 0.8 * np.linalg.norm(Z, "nuc") + 0.1 * np.abs(Z).sum()
    assert ours == pytest.approx(best, rel=1e-6)


def test_each_penalty_alone_is_its_closed_form():
    Y = matrix()
    assert shrink_both(Y, 1.0, 0.0).sparse == pytest.approx(shrink_singular_values(Y, 1.0)[0])
    assert shrink_both(Y, 0.0, 0.3).sparse == pytest.approx(soft_threshold(Y, 0.3))
    assert shrink_both(Y, 0.0, 0.3, True).sparse == pytest.approx(np.maximum(Y - 0.3, 0.0))


@pytest.mark.parametrize("scale", [1e-5, 1e5])
def test_follows_the_scale_of_the_data(scale):
    Y = matrix()
    plain = shrink_both(Y, 1.0, 0.2).sparse
    assert shrink_both(scale * Y, scale, 0.2 * scale).sparse / scale == pytest.approx(
        plain, abs=1e-8
    )


def test_a_start_nearby_costs_fewer_steps():
    Y = matrix()
    cold = shrink_both(Y, 1.0, 0.2, True)
    warm = shrink_both(Y + 1e-6, 1.0, 0.2, True, dual=cold.dual, tol=1e-8)
    assert warm.n_iter < shrink_both(Y + 1e-6, 1.0, 0.2, True, tol=1e-8).n_iter


@pytest.mark.parametrize("shape", [(120, 90), (90, 120)])
def test_few_singular_values_by_krylov_are_all_of_them(shape):
    rng = np.random.RandomState(3)
    M = rng.standard_normal((shape[0], 6)) @ rng.standard_normal((6, shape[1]))
    M += 0.1 * rng.standard_normal(shape)
    shrink = SingularShrinker("randomized")
    for step in range(3):
        near = M + 0.01 * step
        X, values = shrink(near, 5.0)
        U, s, Vt = np.linalg.svd(near, full_matrices=False)
        assert pytest.approx((U * np.maximum(s - 5.0, 0.0)) @ Vt, abs=1e-7) == X
        assert np.sort(values) == pytest.approx(np.sort(s[s > 5.0] - 5.0))
    assert shrink.start is not None  # the Krylov space was used


def test_a_cold_block_does_not_end_before_it_has_met_the_largest_values():
    # a random block of a matrix of few large values sees only small ones at first
    rng = np.random.RandomState(5)
    groups = rng.randint(6, size=300)
    M = (groups[:, None] == groups) + 0.05 * rng.standard_normal((300, 300))
    X, values = SingularShrinker("randomized")(M, 20.0)
    U, s, Vt = np.linalg.svd(M)
    assert len(values) == (s > 20.0).sum() == 6
    assert pytest.approx((U * np.maximum(s - 20.0, 0.0)) @ Vt, abs=1e-7) == X


def test_many_values_above_widen_the_block():
    M = np.random.RandomState(4).standard_normal((200, 150))
    X, values = SingularShrinker("randomized")(M, 12.0)
    U, s, Vt = np.linalg.svd(M, full_matrices=False)
    assert len(values) == (s > 12.0).sum() > 10
    assert pytest.approx((U * np.maximum(s - 12.0, 0.0)) @ Vt, abs=1e-6) == X


def test_cut_entries():
    assert cut_entries(np.array([[-2.0, 2.0]]), 0.5, False).tolist() == [[-1.5, 1.5]]
    assert cut_entries(np.array([[-2.0, 2.0]]), 0.5, True).tolist() == [[0.0, 1.5]]


@pytest.mark.parametrize("shape", [(30, 30), (40, 15), (15, 40)])
@pytest.mark.parametrize("nonneg", [False, True])
def test_newton_equals_the_accelerated_gradient(shape, nonneg, monkeypatch):
    Y = matrix(*shape, seed=2)
    by_newton = shrink_both(Y, 2.0, 0.3, nonneg, tol=1e-12)
    monkeypatch.setattr("octavo.engine.proximal.nuclear_l1.NEWTON_SIDE", 0)
    by_slope = shrink_both(Y, 2.0, 0.3, nonneg, tol=1e-12, max_iter=50_000)
    assert by_newton.n_iter < by_slope.n_iter
    assert by_newton.sparse == pytest.approx(by_slope.sparse, abs=1e-8)
    assert by_newton.values == pytest.approx(by_slope.values, abs=1e-8)
    assert np.linalg.norm(by_newton.dual, 2) <= 2.0 + 1e-9


@pytest.mark.parametrize("kept", [1, 4])
@pytest.mark.parametrize("shape", [(6, 6), (8, 5), (70, 66)])  # the last by thin products
def test_the_derivative_of_shrinking_is_that_of_differences(shape, kept):
    rng = np.random.RandomState(4)
    M, D = rng.standard_normal(shape), rng.standard_normal(shape)
    tau = np.linalg.svd(M, compute_uv=False)[kept - 1 : kept + 1].mean()
    at = _Shrunk(M, tau)
    step, unit = 1e-6, np.linalg.norm(M)
    ahead, behind = (shrink_singular_values(M + s * step * D, tau)[0] for s in (1.0, -1.0))
    there, _ = shrink_singular_values(M, tau)
    slope = (ahead - behind) / (2 * step)
    assert there == pytest.approx(at.X, abs=1e-12)
    for dtype, within in ((np.float64, 1e-7), (np.float32, 1e-5)):
        derivative, bent = _derivative(at, unit, dtype), np.empty(shape, dtype)
        assert (derivative.V.shape[1] < shape[1]) == (shape[1] > 64)
        _bend(D.astype(dtype), derivative, dtype(0.25), bent)
        assert bent == pytest.approx(slope + 0.25 * D, abs=within * max(1.0, np.abs(slope).max()))


@pytest.mark.parametrize("seed", [22, 23])
def test_zeros_of_a_thin_matrix_are_found_in_few_steps(seed):
    # the dual matrix is not the only one, and a step that does not mind the bounds finds its
    # entries at bounds one by one: some sixty decompositions
    rng = np.random.RandomState(seed)
    Y = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 50))
    Y += 0.3 * rng.standard_normal((50, 50))
    found = shrink_both(Y, 8.0, 0.5, tol=1e-12)
    assert found.residual <= 1e-12 * np.linalg.norm(Y)
    assert found.n_iter <= 20


@pytest.mark.parametrize("nonneg", [False, True])
@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e150])
def test_units_do_not_matter(scale, nonneg):
    Y = matrix(30, 30, seed=2)
    expected = shrink_both(Y, 2.0, 0.3, nonneg, tol=1e-12)
    found = shrink_both(scale * Y, scale * 2.0, scale * 0.3, nonneg, tol=1e-12)
    assert found.residual <= 1e-12 * scale * np.linalg.norm(Y)
    assert found.sparse / scale == pytest.approx(expected.sparse, abs=1e-10)
    assert found.values / scale == pytest.approx(expected.values, abs=1e-10)


@pytest.mark.parametrize("tau", [0.02, 2.0, 12.0])  # decomposed itself, squared, few values left
@pytest.mark.parametrize("shape", [(40, 40), (60, 25), (25, 60)])
def test_neither_face_can_be_bettered(shape, tau):
    # Q and P are subgradients of the penalties at the answer, and add up to what was taken off Y
    Y = 3.0 * matrix(*shape, seed=5)
    found = shrink_both(Y, tau, 0.3, tol=1e-12)
    Q = Y - found.dual - found.low_rank
    size = np.linalg.norm(Y)
    assert found.residual <= 1e-12 * size
    assert np.linalg.norm(found.dual, 2) <= tau + 1e-11 * size
    assert np.abs(Q).max() <= 0.3 + 1e-11 * size
    norms = np.linalg.norm(found.sparse, "nuc"), np.abs(found.sparse).sum()
    taken = tau * norms[0] + 0.3 * norms[1]
    assert np.vdot(found.dual + Q, found.sparse) == pytest.approx(taken, rel=1e-9)


def test_where_nothing_is_left_the_answer_is_exactly_nothing():
    Y = np.random.RandomState(9).standard_normal((50, 50))
    found = shrink_both(Y, 8.0, 0.5, tol=1e-12)
    assert not found.sparse.any()
    assert not found.low_rank.any()
    assert len(found.values) == 0
    assert found.n_iter <= 10


STRICT = """
    import numpy as np, array_api_strict as xp, sklearn
    from octavo.engine.proximal.matrices import shrink_singular_values
    from octavo.engine.proximal.nuclear_l1 import shrink_both
    from octavo.network import SparseLowRankDenoiser, prox_nuclear_l1
    M = np.random.default_rng(0).standard_normal((17, 15))
    S = xp.asarray(M)
    for tau in (1.0, 1e-9):
        for one, other in ((M, S), (M.T, xp.asarray(M.T.copy()))):
            expected = shrink_singular_values(one, tau)
            with sklearn.config_context(array_api_dispatch=True):
                found = shrink_singular_values(other, tau)
            assert isinstance(found[0], type(S))
            for a, b in zip(expected, found):
                np.testing.assert_allclose(np.asarray(b), a, atol=1e-12)
    for nonneg in (False, True):
        expected = prox_nuclear_l1(M, 1.0, 0.2, nonneg)
        model = SparseLowRankDenoiser(1.0, 0.4, nonneg).fit(M)
        with sklearn.config_context(array_api_dispatch=True):
            found = prox_nuclear_l1(S, 1.0, 0.2, nonneg)
            single = prox_nuclear_l1(xp.asarray(M.astype('float32')), 1.0, 0.2, nonneg)
            other = SparseLowRankDenoiser(1.0, 0.4, nonneg).fit(S)
            halves = SparseLowRankDenoiser(1.0, 0.4, nonneg).fit(xp.stack([S / 2.0, S / 2.0]))
            scores = other.predict_scores([[0, 1], [2, 3]])
        np.testing.assert_allclose(np.asarray(found), expected, atol=1e-10)
        assert single.dtype == xp.float32
        np.testing.assert_allclose(np.asarray(single), expected, atol=1e-3)
        for one in (other, halves):
            assert isinstance(one.A_sparse_, type(S))
            np.testing.assert_allclose(one.objective_, model.objective_, atol=1e-7)
            np.testing.assert_allclose(np.asarray(one.A_next_), model.A_next_, atol=1e-7)
        np.testing.assert_allclose(scores, model.A_next_[[0, 2], [1, 3]], atol=1e-7)
    with sklearn.config_context(array_api_dispatch=True):
        for bad, words in ((xp.asarray([[1, 2]]), "floating"), (S[0, :], "matrix"),
                           (xp.asarray([[np.nan]]), "finite")):
            try:
                prox_nuclear_l1(bad, 1.0, 0.2)
            except ValueError as error:
                assert words in str(error), error
            else:
                raise AssertionError(words)
    print("done")
"""


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_the_array_api_gives_the_same_matrices(library):
    pytest.importorskip(library)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(STRICT.replace("array_api_strict", library))],
        capture_output=True,
        text=True,
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "done" in done.stdout
