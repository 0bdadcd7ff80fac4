"""Linear control against scipy's equations, simulation and closed forms."""

import numpy as np
import pytest
from scipy.linalg import solve_discrete_are

from octavo.rl import (
    LinearProblem,
    LinearSystem,
    make_cart_pole,
    make_n_link_pendulum,
    solve_lqr,
)


def cart():
    return make_cart_pole("perfect", off_policy=True)


def test_gains_solve_the_riccati_equation():
    system = cart().system
    root = np.sqrt(system.gamma)
    M = solve_discrete_are(root * system.F, root * system.G, system.Q, system.N)
    inner = system.N + system.gamma * system.G.T @ M @ system.G
    K = -np.linalg.solve(inner, system.gamma * system.G.T @ M @ system.F)
    np.testing.assert_allclose(system.optimal_gain_, K, rtol=1e-7)


def test_scalar_gain_is_the_golden_section():
    np.testing.assert_allclose(
        solve_lqr([[1.0]], [[1.0]], [[1.0]], [[1.0]]), -0.6180339887, rtol=1e-9
    )


def test_no_other_gain_is_better():
    system = cart().system
    best = system.value(system.optimal_gain_).matrix
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = system.value(system.optimal_gain_ + 0.2 * rng.normal(size=(1, 4))).matrix
        assert np.linalg.eigvalsh(other - best).min() > -1e-8


def test_value_equals_simulated_returns():
    problem = cart()
    system, K, noise = problem.system, problem.gain, problem.action_noise
    value = system.value(K, noise)
    rng, n, start = np.random.default_rng(0), 20_000, np.array([0.1, 0.0, 0.5, 0.0])
    states, total = np.tile(start, (n, 1)), np.zeros(n)
    for t in range(250):  # 0.95 ** 250 < 3e-6
        actions = states @ K.T + np.sqrt(noise) * rng.normal(size=(n, 1))
        total += 0.95**t * problem.rewards(states, actions)
        states = states @ system.F.T + actions @ system.G.T
        states[:, 3] += 0.1 * rng.normal(size=n)
    error = total.std() / np.sqrt(n)
    assert abs(total.mean() - value.at(start)[0]) < 5 * error


def test_value_solves_the_bellman_equation():
    problem = cart()
    exact = problem.objectives()
    theta = exact.minimiser("mse")
    assert exact.mse(theta) < 1e-18
    assert exact.msbe(theta) < 1e-18


def test_stationary_covariance_is_left_alone_by_a_step():
    problem = cart()
    system, noise = problem.system, problem.behaviour_noise
    C, closed = system.state_covariance(problem.gain, noise), system.closed_loop(problem.gain)
    np.testing.assert_allclose(closed @ C @ closed.T + system.step_covariance(noise), C, rtol=1e-9)


@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_perfect_features_have_one_fixed_point_for_every_lam(lam):
    exact = cart().objectives(lam)
    assert exact.mse(exact.minimiser("mspbe")) < 1e-16


def test_imperfect_features_gain_by_traces():
    problem = make_cart_pole()
    errors = []
    for lam in (0.0, 0.5, 0.9, 1.0):
        exact = problem.objectives(lam)
        errors.append(exact.mse(exact.minimiser("mspbe")))
    assert errors == sorted(errors, reverse=True)
    best = problem.objectives().minimiser("mse")
    assert errors[-1] == pytest.approx(problem.objectives().mse(best), rel=1e-9)


def test_quadrature_equals_a_large_sample():
    problem = make_cart_pole()
    rng = np.random.default_rng(0)
    states = (
        rng.normal(size=(400_000, 4))
        @ np.linalg.cholesky(problem.system.state_covariance(problem.gain) + 1e-15 * np.eye(4)).T
    )
    raw = problem.transform(states)
    np.testing.assert_allclose(raw.T @ raw / len(raw), problem.objectives().gram, atol=0.05)
    np.testing.assert_allclose(raw[:, 1:].mean(axis=0), 0.0, atol=0.02)


def test_physical_model_is_the_linearised_swing_up():
    from octavo.rl.problems.swing_up import _accelerations

    F, G = make_cart_pole().system.F, make_cart_pole().system.G
    h = 1e-6
    for k, column in ((0, 0), (1, 1), (3, 3)):
        state = np.zeros(4)
        state[column] = h
        turn, slide = _accelerations(state[0], state[1], state[3], 0.0)
        assert (F[1, k] - (k == 1)) / 0.1 == pytest.approx(turn / h, abs=1e-4)
        assert (F[3, k] - (k == 3)) / 0.1 == pytest.approx(slide / h, abs=1e-4)
    turn, slide = _accelerations(0.0, 0.0, 0.0, h)
    np.testing.assert_allclose(G.ravel() / 0.1, [0, turn / h, 0, slide / h], atol=1e-6)


def test_published_matrices_are_kept_for_comparison():
    F = make_cart_pole(variant="as_published").system.F
    assert F[3, 1] == pytest.approx(-4 * 0.1 / 1.5)
    assert F[1, 0] == pytest.approx(0.1 * 3 * 1.0 / (0.6 * 1.5))


def test_links_are_held_upright():
    problem = make_n_link_pendulum(20, n_states=500)
    closed = problem.system.closed_loop(problem.gain)
    assert np.abs(np.linalg.eigvals(problem.system.F)).max() > 1  # it falls when left alone
    assert np.abs(np.linalg.eigvals(closed)).max() < 1
    assert problem.features_.shape[1] == 41


def test_single_link_matches_its_formula():
    problem = make_n_link_pendulum(1, mass=0.5, length=0.6)
    # ψ¨ = (m g l ψ + a) / (m l²)
    assert problem.system.F[1, 0] == pytest.approx(0.1 * 9.81 / 0.6)
    assert problem.system.G[1, 0] == pytest.approx(0.1 / (0.5 * 0.6**2))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LinearSystem([[1.0]], [[1.0]], np.eye(2), [[1.0]], [[1.0]]), "Q must have shape"),
        (lambda: LinearSystem([[1.0]], [[1.0]], [[1.0]], [[1.0]], [[1.0]], 1.0), "gamma"),
        (lambda: solve_lqr([[2.0]], [[0.0]], [[1.0]], [[1.0]]), "cannot be controlled"),
        (lambda: cart().system.value(np.zeros((1, 4))), "grow faster than they are discounted"),
        (lambda: cart().system.state_covariance(np.zeros((1, 4))), "no stationary state"),
        (lambda: LinearProblem(cart().system, 0.0, 0.1), "noise in both policies"),
        (lambda: cart().sample(0), "n_steps must be at least 1"),
    ],
)
def test_bad_input(make, words):
    with pytest.raises(ValueError, match=words):
        make()
