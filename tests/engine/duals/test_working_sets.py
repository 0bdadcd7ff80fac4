"""Steps of one and of two variables against brute force; every strategy against the optimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from octavo.engine.duals import working_sets as ws
from octavo.engine.duals.smo import BoxMemory, kernel_product, solve_box

STRATEGIES = [-1, 0, 1, 2, 3, 4, 5, 7, 8, 16, 32, 64, 128, 256, 512, 515, 519, 1024, 1031, 2055]
DOMINATING = [-1, 0, 1, 2, 4, 7, 8, 32, 64, 128, 512, 1024, 1031]  # at least the best single step


def problem(seed, n=60, C=2.0, gamma=0.7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    return rbf_kernel(X, gamma=gamma), y, np.minimum(C * y, 0), np.maximum(C * y, 0)


def convex_optimum(K, linear, lower, upper):
    cp = pytest.importorskip("cvxpy")
    beta = cp.Variable(linear.size)
    root = np.linalg.cholesky(K + 1e-12 * np.eye(len(K)))
    objective = linear @ beta - 0.5 * cp.sum_squares(root.T @ beta)
    solved = cp.Problem(cp.Maximize(objective), [beta >= lower, beta <= upper])
    solved.solve(solver="CLARABEL")
    return solved.value


def brute_force_gain(b, h, K, lower, upper, resolution=201):
    """The largest gain over a grid of the box."""
    first, second = (np.linspace(lower[t], upper[t], resolution) - b[t] for t in (0, 1))
    d, e = np.meshgrid(first, second, indexing="ij")
    gain = d * h[0] + e * h[1] - 0.5 * (K[0, 0] * d**2 + K[1, 1] * e**2) - K[0, 1] * d * e
    return gain.max()


@pytest.mark.parametrize("correlation", [-1.0, -0.6, 0.0, 0.4, 0.999, 1.0])
@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, -1)])
def test_pair_step_is_the_best_in_the_box(correlation, signs):
    rng = np.random.default_rng([int(100 * correlation) + 100, signs[0] + 1, signs[1] + 1])
    for scale in (1.0, 3.0):
        K = np.array([[1.0, correlation * scale], [correlation * scale, scale**2]])
        for _ in range(15):
            C = rng.uniform(0.2, 2.0, 2)
            lower, upper = np.minimum(signs * C, 0), np.maximum(signs * C, 0)
            b = rng.uniform(lower, upper)
            others = rng.normal(scale=1.5)  # what the rest of the samples says about this pair
            # collinear samples have gradients that fit: linear − Kβ with the same rest
            linear = np.array(signs, dtype=float)
            h = linear - K @ b - others * np.array([1.0, np.sign(correlation) * scale])
            if abs(correlation) < 1:
                h += rng.normal(size=2)
            di, dj, gain = ws._pair_step(
                b[0], b[1], h[0], h[1], K[0, 0], K[1, 1], K[0, 1],
                lower[0], upper[0], lower[1], upper[1],
            )  # fmt: skip
            assert lower[0] - 1e-12 <= b[0] + di <= upper[0] + 1e-12
            assert lower[1] - 1e-12 <= b[1] + dj <= upper[1] + 1e-12
            exact = di * h[0] + dj * h[1]
            exact -= 0.5 * (K[0, 0] * di**2 + K[1, 1] * dj**2) + K[0, 1] * di * dj
            assert gain == pytest.approx(exact, abs=1e-10)
            best = brute_force_gain(b, h, K, lower, upper)
            assert gain >= best - 1e-10
            # W moves by at most |gradient| and curvature over one cell of the grid
            cell = 2.0 / 200
            slack = cell * (np.abs(h).sum() + 4 * scale**2) * scale**2
            assert gain <= best + slack


def test_duplicates_share_their_weight():
    di, dj, _ = ws._pair_step(0.3, 0.0, 0.5, 0.5, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0)
    assert 0.3 + di == pytest.approx(0.4)
    assert dj == pytest.approx(0.4)
    # unequal bounds: what one cannot take the other does
    di, dj, _ = ws._pair_step(0.0, 0.0, 0.9, 0.9, 1.0, 1.0, 1.0, 0.0, 0.2, 0.0, 1.0)
    assert (di, dj) == pytest.approx((0.2, 0.7))


@pytest.mark.parametrize("working_set", STRATEGIES)
def test_every_strategy_reaches_the_optimum(working_set):
    K, y, lower, upper = problem(0)
    expected = convex_optimum(K, y, lower, upper)
    result = solve_box(K, y, lower, upper, working_set=working_set, stopping="gap", tol=1e-8)
    assert result.converged
    assert 0 <= result.duality_gap <= 1e-8
    assert result.dual_objective == pytest.approx(expected, rel=1e-7)


def test_general_linear_term_and_box_match_a_conic_solver():
    rng = np.random.default_rng(3)
    A = rng.normal(size=(40, 40))
    K = A @ A.T
    linear = rng.normal(size=40)
    lower, upper = -rng.uniform(0, 1, 40), rng.uniform(0, 1, 40)
    expected = convex_optimum(K, linear, lower, upper)
    for working_set in (-1, 7, 128, 1031):
        result = solve_box(
            K, linear, lower, upper, working_set=working_set, stopping="gap", tol=1e-9
        )
        assert result.dual_objective == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("working_set", [-1, 1, 2, 4, 7, 8, 32, 64, 128, 512, 1024])
def test_columns_on_request_give_the_same_result(working_set):
    K, y, lower, upper = problem(1)
    options = {"working_set": working_set, "tol": 0.0, "stopping": "gap", "max_iter": 40}
    dense = solve_box(K, y, lower, upper, memory=BoxMemory.new(60), **options)
    lazy = solve_box(
        lambda i: K[i], y, lower, upper, diagonal=np.ones(60), memory=BoxMemory.new(60), **options
    )
    assert lazy.n_iter == dense.n_iter == 40
    assert np.allclose(lazy.alpha, dense.alpha, rtol=1e-9, atol=1e-12)


def test_strategies_that_need_the_matrix_say_so():
    K, y, lower, upper = problem(1)
    for working_set in (0, 16, 256, 2048 + 7):
        with pytest.raises(ValueError, match="need it whole"):
            solve_box(
                lambda i: K[i], y, lower, upper, diagonal=np.ones(60), working_set=working_set
            )
    with pytest.raises(ValueError, match="between -1 and 4095"):
        solve_box(K, y, lower, upper, working_set=4096)


def test_zero_diagonal_goes_to_its_bound():
    K = np.array([[1.0, 0.0], [0.0, 0.0]])
    y = np.array([1.0, -1.0])
    for working_set in (-1, 7, 32, 128):
        result = solve_box(
            K, y, np.array([0.0, -3.0]), np.array([2.0, 0.0]), working_set=working_set,
            stopping="gap", tol=1e-12,
        )  # fmt: skip
        assert np.array_equal(result.alpha, [1.0, -3.0])


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 14),
    C=st.floats(0.01, 50.0),
    working_set=st.sampled_from(STRATEGIES),
    max_iter=st.integers(0, 30),
)
@settings(max_examples=150, deadline=None)
def test_invariants_after_any_number_of_steps(seed, n, C, working_set, max_iter):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)).round(0)  # with duplicates of either label
    K, y = rbf_kernel(X), rng.choice([-1.0, 1.0], n)
    lower, upper = np.minimum(C * y, 0), np.maximum(C * y, 0)
    result = solve_box(
        K, y, lower, upper, working_set=working_set, tol=1e-9 * C, stopping="gap",
        max_iter=max_iter, trace=True,
    )  # fmt: skip
    beta, h = result.alpha, result.gradient
    assert np.all((beta >= lower) & (beta <= upper))
    assert np.abs(h - (y - K @ beta)).max() <= 1e-10 * (1 + C * n)
    value = y @ beta - 0.5 * beta @ K @ beta
    assert result.dual_objective == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert np.all(np.diff(result.trace[:, 0]) >= 0)
    assert result.trace[-1, 0] == pytest.approx(value, rel=1e-9, abs=1e-9)
    primal = 0.5 * beta @ K @ beta + C * np.maximum(0, 1 - y * (K @ beta)).sum()
    assert result.primal_objective == pytest.approx(primal, rel=1e-9, abs=1e-9)
    assert result.duality_gap >= -1e-9 * (1 + C * n)
    assert result.clipped_gap <= result.duality_gap + 1e-9 * (1 + C * n)
    # Lemma 3: the gap is the sum of what single variables promise
    promised = np.maximum((upper - beta) * h, (lower - beta) * h).sum()
    assert result.duality_gap == pytest.approx(promised, rel=1e-9, abs=1e-9)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 10), C=st.floats(0.05, 5.0))
@settings(max_examples=60, deadline=None)
def test_lemma_4_relates_promise_and_gain(seed, n, C):
    rng = np.random.default_rng(seed)
    K, y = rbf_kernel(rng.normal(size=(n, 2))), rng.choice([-1.0, 1.0], n)
    lower, upper = np.minimum(C * y, 0), np.maximum(C * y, 0)
    beta = rng.uniform(lower, upper)
    h = y - K @ beta
    gains = np.empty(n)
    ws._single_gains_unit(beta, h, lower, upper, gains)
    promised = np.maximum((upper - beta) * h, (lower - beta) * h)
    assert np.all(gains <= promised + 1e-12)
    assert np.all(gains >= 0.5 * promised * np.minimum(1, promised / C**2) - 1e-12)
    i, j = 0, n - 1
    if i != j:
        gain = ws._pair_step(
            beta[i], beta[j], h[i], h[j], 1.0, 1.0, K[i, j], lower[i], upper[i], lower[j], upper[j]
        )[2]
        both = promised[i] + promised[j]
        assert both + 1e-12 >= gain >= 0.5 * both * min(1, both / (4 * C**2)) - 1e-12
        assert gain >= max(gains[i], gains[j]) - 1e-12


def test_single_gains_with_and_without_unit_diagonal():
    K, y, lower, upper = problem(4)
    rng = np.random.default_rng(0)
    beta = rng.uniform(lower, upper)
    h = y - K @ beta
    plain, general = np.empty(60), np.empty(60)
    ws._single_gains_unit(beta, h, lower, upper, plain)
    ws._single_gains(beta, h, lower, upper, np.ones(60), np.ones(60), general)
    target = np.clip(beta + h, lower, upper)
    expected = (target - beta) * (h - 0.5 * (target - beta))
    assert plain.min() >= 0
    assert np.array_equal(plain, general)
    assert np.allclose(plain, expected, rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize("n", [1, 7, 16, 17, 200, 1500, 1601])
def test_halves_find_the_best_of_each(n):
    rng = np.random.default_rng(n)
    memory = BoxMemory.new(n, seed=1)
    member = np.repeat(memory.side, ws.BLOCK if n < 1500 else ws.LARGE_BLOCK)[:n]
    for _ in range(20):
        gain = rng.uniform(size=n).round(1)
        i, other = ws.halves(gain, memory.side)
        assert gain[i] == gain.max()
        if member.all() or not member.any():
            assert other == -1
        else:
            assert gain[other] == gain[member != member[i]].max()


def test_nearest_are_those_of_a_full_sort():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    K = X @ X.T  # a diagonal that is not constant
    found, room = np.full(10, -2), np.empty(50)
    ws._nearest_by_kernel(4, K[4], K.diagonal().copy(), np.zeros(50), np.ones(50), found, room)
    distance = ((X - X[4]) ** 2).sum(axis=1)
    assert np.array_equal(found, np.argsort(distance)[1:11])
    fixed = np.ones(50)
    fixed[found[:5]] = 0.0  # held out: they cannot move
    again = np.full(10, -2)
    ws._nearest_by_kernel(4, K[4], K.diagonal().copy(), np.zeros(50), fixed, again, room)
    assert np.array_equal(again[:5], found[5:])
    few = np.full(50, -2)
    ws._nearest_by_kernel(4, K[4], K.diagonal().copy(), np.zeros(50), fixed, few, room)
    assert sorted(few[:44]) == sorted(set(range(50)) - {4} - set(found[:5]))
    assert np.all(few[44:] == -1)


def test_shrinking_changes_nothing_but_the_cost():
    K, y, lower, upper = problem(6, n=700, C=50.0, gamma=0.3)
    short = solve_box(K, y, lower, upper, stopping="gap", tol=1e-6, shrinking=True)
    long = solve_box(K, y, lower, upper, stopping="gap", tol=1e-6, shrinking=False)
    assert short.converged
    assert long.converged
    assert abs(short.dual_objective - long.dual_objective) <= 1e-6
    assert np.abs(short.gradient - (y - K @ short.alpha)).max() < 1e-9


def test_a_sample_held_out_is_predicted():
    K, y, lower, upper = problem(7)
    lower[:20] = upper[:20] = 0.0
    result = solve_box(K, y, lower, upper, stopping="kkt", tol=1e-9)
    alone = solve_box(
        np.ascontiguousarray(K[20:, 20:]), y[20:], lower[20:], upper[20:], stopping="kkt", tol=1e-9
    )
    assert np.abs((y - result.gradient)[:20] - K[:20, 20:] @ alone.alpha).max() < 1e-6


def test_the_gradient_is_refreshed():
    K, y, lower, upper = problem(8, C=1e4, gamma=0.01)
    result = solve_box(K, y, lower, upper, working_set=-1, stopping="gap", tol=1.0, max_iter=20_000)
    assert result.n_iter > 50 * 60
    exact = y - kernel_product(K, result.alpha, 60)
    assert np.abs(result.gradient - exact).max() < 1e-16 * 50 * 60 * np.abs(result.alpha).max()


def test_an_indefinite_matrix_ends():
    K = np.array([[1.0, 3.0], [3.0, 1.0]])
    y = np.array([1.0, 1.0])
    result = solve_box(K, y, np.zeros(2), np.full(2, 5.0), tol=1e-9, stopping="gap", max_iter=1000)
    assert result.n_iter <= 1000
    assert np.all((result.alpha >= 0) & (result.alpha <= 5))


def test_watch_can_stop():
    K, y, lower, upper = problem(6, n=700, C=500.0, gamma=0.3)
    result = solve_box(K, y, lower, upper, tol=1e-9, stopping="gap", watch=lambda: True)
    assert result.n_iter == 1000
    assert not result.converged
